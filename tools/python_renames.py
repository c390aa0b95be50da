"""The part of docs/reference/renames.md about Python, from the recorded run beside jedi, rope and pyright."""

from __future__ import annotations

from collections.abc import Sequence

from tests.referees.code_oracle.python_outcome import (
    VERDICTS,
    Beside,
    PythonRecord,
    PythonRow,
    read_python_record,
)
from tests.referees.code_oracle.python_replaces import read_replaced
from tools.page_parts import table

_INTRODUCTION = """How renames in Python agree with jedi, rope and pyright's language server on real packages.
`uv run python -m tests.referees.code_oracle.python_oracle` asks again; `--record` keeps the outcome.
Names are chosen by Python's own parser.

`missing` means that the other tool edits places that we leave, `more` the other way round, `both` both.
`no answer` means that the other tool fails or refuses.
An edit is wrong in four cases:
a file compiles no more, or the compiler's own tables have a name in another scope,
or none of the three makes the edit and nothing below explains it, or one of the package's own tests fails."""
_OWN_TESTS = "The packages' own tests, before and after renames of that many names, one after the other."

_REPLACES = """Definitions are replaced by texts, and Python's compiler judges the outcome.
`same` definitions got their own text without its indentation, and no byte changed.
Then a line of that text was left out or shifted: what we accept has to compile.
Own tests ran after the first ten functions of each file had got their own text with `pass` at the end.
`uv run python -m tests.referees.code_oracle.python_replaces` repeats it."""


def python_renames() -> list[str]:
    return [_INTRODUCTION, *_outcome(read_python_record())]


def _outcome(record: PythonRecord) -> list[str]:
    refused = ", ".join(f"{count} as `{code}`" for code, count in record.refusals.items())
    parts = [
        f"{record.renames} renames, {record.wrong} wrong edits.\n"
        f"We refuse {sum(record.refusals.values())}: {refused}.",
    ]
    for name, beside in record.beside.items():
        parts.append(f"Beside {name} {record.tools[name]}:")
        parts += _beside(record, beside)
    own = [
        (
            each.package,
            *map(str, (each.renamed, each.refused, each.members, each.passed_before, each.passed_after)),
        )
        for each in record.own_tests
    ]
    titles = ("package", "renamed", "refused", "members", "tests passed before", "after")
    return [*parts, _OWN_TESTS, table(titles, own)]


def python_replaces() -> list[str]:
    titles = ("package", "same", "accepted", "refused", "do not compile", "tests passed before", "after")
    rows = [
        (
            each.package,
            *map(str, (each.same, each.accepted, each.refused, each.broken)),
            *((str(each.passed_before), str(each.passed_after)) if each.passed_before else ("", "")),
        )
        for each in read_replaced()
    ]
    return [_REPLACES, table(titles, rows)]


def _beside(record: PythonRecord, beside: Beside) -> list[str]:
    packages = [(f"{row.name} {record.versions[row.name]}", row) for row in beside.packages]
    kinds = [(row.name, row) for row in beside.kinds]
    causes = [(each.why, str(each.renames), each.example) for each in beside.causes]
    return [
        _verdicts("package", [*packages, ("together", _add(beside.packages))]),
        _verdicts("kind of name", kinds),
        table(("cause of a difference", "renames", "for example"), causes),
    ]


def _verdicts(title: str, rows: Sequence[tuple[str, PythonRow]]) -> str:
    return table(
        (title, *VERDICTS), [(name, *(str(row.counts[each]) for each in VERDICTS)) for name, row in rows]
    )


def _add(rows: Sequence[PythonRow]) -> PythonRow:
    return PythonRow(
        name="together", counts={each: sum(row.counts[each] for row in rows) for each in VERDICTS}
    )
