"""docs/reference/renames.md: how renames compare with TypeScript's service, from the recorded run."""

from __future__ import annotations

from collections.abc import Sequence

from tests.referees.code_oracle.outcome import Outcome, Record, Row, read_record
from tools.page_parts import page, table

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


def renames_page() -> str:
    record = read_record()
    return page(
        "# Renames",
        _INTRODUCTION,
        _MEANING,
        "## Names keep their other side",
        _KEEP,
        *_outcome(record, record.keep),
        "## Names are followed",
        _FOLLOW,
        *_outcome(record, record.follow),
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
