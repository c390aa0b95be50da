"""The table of an oracle run, its differences, and its record."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from tests.referees.code_oracle.judged import Judged, Verdict
from tests.referees.code_oracle.packages import PACKAGES, TYPESCRIPT

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "renames.json")
VERDICTS: tuple[Verdict, ...] = ("identical", "refused", "missing", "wrong")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    identical: int
    refused: int
    missing: int
    wrong: int


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    why: str
    renames: int
    example: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    packages: tuple[Row, ...]
    kinds: tuple[Row, ...]
    differences: tuple[Difference, ...]


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What the page shows: counts for both styles, and each cause of difference with one example."""

    typescript: str
    versions: dict[str, str]
    keep: Outcome
    follow: Outcome


def summarize(judged: Sequence[Judged]) -> Outcome:
    order = [package.name for package in PACKAGES]
    names = sorted({each.package for each in judged}, key=order.index)
    kinds = sorted({each.kind for each in judged})
    causes: dict[str, list[Judged]] = {}
    for each in judged:
        if each.verdict != "identical":
            causes.setdefault(_cause(each), []).append(each)
    return Outcome(
        packages=tuple(_row(name, (each for each in judged if each.package == name)) for name in names),
        kinds=tuple(_row(kind, (each for each in judged if each.kind == kind)) for kind in kinds),
        differences=tuple(
            Difference(why=why, renames=len(found), example=_place(found[0]))
            for why, found in sorted(causes.items())
        ),
    )


def _cause(each: Judged) -> str:
    if each.verdict == "refused":
        return f"refused: {each.why}"
    return each.why or f"{each.verdict}, unexplained"


def _place(each: Judged) -> str:
    return f"{each.package}: {each.name} in {each.path}"


def _row(name: str, judged: Iterable[Judged]) -> Row:
    counts = Counter(each.verdict for each in judged)
    return Row(
        name=name,
        identical=counts["identical"],
        refused=counts["refused"],
        missing=counts["missing"],
        wrong=counts["wrong"],
    )


def tabulate(judged: Sequence[Judged]) -> list[str]:
    outcome = summarize(judged)
    lines = []
    for title, rows in (("package", outcome.packages), ("kind", outcome.kinds)):
        lines += [f"| {title} | renames | {' | '.join(VERDICTS)} |", "|---" * 6 + "|"]
        for row in [*rows, _row("together", judged)]:
            counts = [row.identical, row.refused, row.missing, row.wrong]
            lines.append(f"| {row.name} | {sum(counts)} | {' | '.join(map(str, counts))} |")
        lines.append("")
    share = sum(each.verdict == "identical" for each in judged) / max(1, len(judged))
    return [*lines, f"Identical: {share:.2%}"]


def list_differences(judged: Sequence[Judged]) -> list[str]:
    return [
        f"{each.verdict}: {_place(each)} ({each.kind}, byte {each.start}): {_cause(each)}"
        f"{_listed(' ours only', each.extra)}{_listed(' service only', each.missing)}"
        for each in judged
        if each.verdict != "identical"
    ]


def _listed(title: str, places: Sequence[tuple[str, int, int]]) -> str:
    shown = ", ".join(f"{path}:{start}" for path, start, _ in places[:3])
    more = f" and {len(places) - 3} more" if len(places) > 3 else ""
    return f";{title}: {shown}{more}" if places else ""


def write_record(keep: Sequence[Judged], follow: Sequence[Judged]) -> None:
    names = {each.package for each in keep}
    record = Record(
        typescript=TYPESCRIPT,
        versions={package.name: package.version for package in PACKAGES if package.name in names},
        keep=summarize(keep),
        follow=summarize(follow),
    )
    with open(RECORD, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n")


def read_record() -> Record:
    with open(RECORD, "rb") as file:
        return msgspec.json.decode(file.read(), type=Record)
