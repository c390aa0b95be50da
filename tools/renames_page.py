"""docs/reference/renames.md: how edits fare on packages of others, from the recorded runs."""

from __future__ import annotations

from collections.abc import Sequence

from tests.referees.code_oracle.day import read_ways
from tests.referees.code_oracle.kept import read_rows
from tests.referees.code_oracle.outcome import Outcome, Record, Row, read_record
from tools.page_parts import page, table
from tools.python_renames import python_renames, python_replaces

_INTRODUCTION = """How renames agree with TypeScript's language service, place by place, on packages from npm.
`uv run python -m tests.referees.code_oracle` asks both again; `--record` keeps the outcome for this page."""
_MEANING = """`identical` means that both would edit exactly the same places.
`refused` means that we give a reason instead of an edit.
`missing` means that the service edits more places; each cause is below.
`wrong` means that we would edit a place that the service leaves alone."""
_KEEP = """The default: a declared name changes with its importers.
`{a}` becomes `{a: b}`, `export {a}` becomes `export {b as a}`, and a renamed import becomes `{a as b}`.
The service is asked with `providePrefixAndSuffixTextForRename`, as editors do."""
_FOLLOW = """The name changes on the other side of imports and exports too.
The service is asked without preferences, and then also renames properties that it knows by their types.
We have no types: such a name is split instead (`{a: b}`), which keeps the meaning of the program."""

_WORKING = """Declarations of a package are renamed, moved or extracted one after the other.
Each edit works on the outcome of the one before; a row has at most 60 moves or extractions.
Then somebody else judges: the package's own tests, Node that loads every module, or TypeScript's compiler.
`broken` counts what was good before and is not any more; a compiler judges all sources at once.
A refusal names its reason, such as a name that the old module does not export.
`uv run python -m tests.referees.code_oracle.own_tests` repeats the renames, and `….moving` the rest."""
_DAY = """One refactoring of `qs`: three functions leave a module, one is renamed, a fourth is extracted.
One way uses the tokens in the answers of `js-edit` and `js-scan`: no path and no name is typed twice.
One way names all five edits in a batch (`--changes`), looks at its preview and applies it.
One way uses grep and sed: the agent finds line numbers and writes patterns and imports itself.
Costs are in tokens of a model, by the estimator of the contract, which overstates JSON.
Continuation tokens are most of the cost of the first way.
`uv run python -m tests.referees.code_oracle.day` repeats them."""


def renames_page() -> str:
    record = read_record()
    return page(
        "# Renames and other edits",
        _INTRODUCTION,
        _MEANING,
        "## Names keep their other side",
        _KEEP,
        *_outcome(record, record.keep),
        "## Names are followed",
        _FOLLOW,
        *_outcome(record, record.follow),
        "## Packages that still work",
        _WORKING,
        _edits(),
        "## Python",
        *python_renames(),
        "## Replacing in Python",
        *python_replaces(),
        "## An agent's day",
        _DAY,
        _day(),
    )


def _edits() -> str:
    columns = ("edit", "package", "judged by", "edits", "refused", "good before", "broken")
    return table(
        columns,
        [
            (
                *(row.edit, row.package.replace("@", " "), row.judge),
                *map(str, (row.done, row.refused, row.good_before, row.broken)),
            )
            for row in read_rows()
        ],
    )


def _day() -> str:
    columns = ("way", "calls", "written", "read", "of that, continuation tokens", "test files that pass")
    return table(
        columns,
        [
            (
                *(way.name, str(way.calls), str(way.written), str(way.read), str(way.of_tokens)),
                f"{way.good_after} of {way.good_before}",
            )
            for way in read_ways()
        ],
    )


def _outcome(record: Record, outcome: Outcome) -> list[str]:
    total = _sum(outcome.packages)
    share = total.identical / max(1, _renames(total))
    packages = [(f"{row.name} {record.versions[row.name]}", row) for row in outcome.packages]
    kinds = [(row.name.replace("_", " "), row) for row in outcome.kinds]
    parts = [
        f"{total.identical} of {_renames(total)} renames are identical ({share:.1%}), {total.wrong} wrong, "
        f"beside {record.typescript.replace('@', ' ')}.",
        _table("package", [*packages, ("together", total)]),
        _table("kind of name", kinds),
    ]
    if outcome.differences:
        causes = [(each.why, str(each.renames), each.example) for each in outcome.differences]
        parts.append(table(("cause of a difference", "renames", "for example"), causes))
    return parts


def _table(title: str, rows: Sequence[tuple[str, Row]]) -> str:
    return table(
        (title, "renames", "identical", "refused", "missing", "wrong"),
        [
            (name, *map(str, (_renames(row), row.identical, row.refused, row.missing, row.wrong)))
            for name, row in rows
        ],
    )


def _renames(row: Row) -> int:
    return row.identical + row.refused + row.missing + row.wrong


def _sum(rows: Sequence[Row]) -> Row:
    return Row(
        name="together",
        identical=sum(row.identical for row in rows),
        refused=sum(row.refused for row in rows),
        missing=sum(row.missing for row in rows),
        wrong=sum(row.wrong for row in rows),
    )
