"""The tables of a run beside jedi, rope and pyright, and its record."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from tests.referees.code_oracle.python_comparing import PythonJudged, PythonVerdict
from tests.referees.code_oracle.python_packages import PYTHON_PACKAGES

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_renames.json")
VERDICTS: tuple[PythonVerdict, ...] = ("identical", "refused", "missing", "more", "both", "no answer")


class PythonRow(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    counts: dict[str, int]
    """By verdict."""


class PythonCause(msgspec.Struct, frozen=True, kw_only=True):
    why: str
    renames: int
    example: str


class Beside(msgspec.Struct, frozen=True, kw_only=True):
    """What came of all renames beside one of the others."""

    packages: tuple[PythonRow, ...]
    kinds: tuple[PythonRow, ...]
    causes: tuple[PythonCause, ...]


class OwnTests(msgspec.Struct, frozen=True, kw_only=True):
    """A package's own tests before and after many renames of its names."""

    package: str
    renamed: int
    refused: int
    members: int
    passed_before: int
    passed_after: int


class PythonRecord(msgspec.Struct, frozen=True, kw_only=True):
    tools: dict[str, str]
    versions: dict[str, str]
    renames: int
    wrong: int
    beside: dict[str, Beside]
    refusals: dict[str, int]
    """Renames that we refuse, by the code of the refusal."""
    own_tests: tuple[OwnTests, ...]


def summarize_python(
    judged: Sequence[PythonJudged], own_tests: Sequence[OwnTests], tools: dict[str, str]
) -> PythonRecord:
    names = {each.package for each in judged}
    return PythonRecord(
        tools=tools,
        versions={each.name: each.version for each in PYTHON_PACKAGES if each.name in names},
        renames=len(judged),
        wrong=sum(1 for each in judged if each.wrong),
        beside={name: _beside(name, judged) for name in tools},
        refusals=dict(sorted(Counter(each.refusal for each in judged if each.refusal).items())),
        own_tests=tuple(own_tests),
    )


def _beside(referee: str, judged: Sequence[PythonJudged]) -> Beside:
    packages = [each.name for each in PYTHON_PACKAGES if any(one.package == each.name for one in judged)]
    kinds = sorted({each.question.kind for each in judged})
    causes: dict[str, list[PythonJudged]] = {}
    for each in judged:
        for why in each.causes.get(referee, ()):
            causes.setdefault(why, []).append(each)
    return Beside(
        packages=tuple(
            _row(referee, name, (each for each in judged if each.package == name)) for name in packages
        ),
        kinds=tuple(
            _row(referee, kind, (each for each in judged if each.question.kind == kind)) for kind in kinds
        ),
        causes=tuple(
            PythonCause(
                why=why, renames=len(found), example=f"{found[0].question.name} in {found[0].question.file}"
            )
            for why, found in sorted(causes.items())
        ),
    )


def _row(referee: str, name: str, judged: Iterable[PythonJudged]) -> PythonRow:
    counts = Counter(each.verdicts[referee] for each in judged)
    return PythonRow(name=name, counts={verdict: counts[verdict] for verdict in VERDICTS})


def tabulate_python(record: PythonRecord) -> list[str]:
    lines = []
    for referee, beside in record.beside.items():
        lines += [
            "",
            f"## {referee} {record.tools.get(referee, '')}",
            "",
            "| | " + " | ".join(VERDICTS) + " |",
        ]
        for row in (*beside.packages, *beside.kinds):
            lines.append(f"| {row.name} | " + " | ".join(str(row.counts[each]) for each in VERDICTS) + " |")
        lines += [f"{each.renames} × {each.why} ({each.example})" for each in beside.causes]
    return [*lines, "", f"Renames: {record.renames}, wrong: {record.wrong}"]


def write_python_record(record: PythonRecord) -> None:
    with open(RECORD, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")
