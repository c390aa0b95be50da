"""Statements of a report, and how each is known. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.ids import NodeId
from handrail.contract.outcome import Answer, make_from
from handrail.engine.events import Artifact, ReportStatement
from handrail.engine.history import History
from handrail.projections.evidence import caveat_of, describe_level, is_from_elsewhere, level_of
from handrail.projections.plain_words import describe_statement
from handrail.projections.run_graph import completed_step


class StatementRow(Answer, frozen=True, kw_only=True):
    """One place of a report, who recorded it, and the result of checking it."""

    text: str
    """What the report states there, shortened."""
    level: str
    """How it is known: executed, observed, approved, found or stated. The first three count as proof."""
    level_text: str
    """The level in words for people, with any remark about this statement."""
    verdict: str
    fact: str
    """What Handrail found, if that differs from or adds to what the report states."""
    step_id: str
    contract_ref: str
    pointer: str
    check: str
    is_imported: bool
    """Whether another store recorded it."""
    refs: list[str]


def make_statement_row(
    history: History, node_id: NodeId, statement: ReportStatement, artifacts: Sequence[Artifact]
) -> StatementRow:
    """Return the row of one statement; `artifacts` are those of its report."""
    is_imported = is_from_elsewhere(history, node_id)
    caveat = caveat_of(history) if is_imported else ""
    return make_from(
        StatementRow,
        statement,
        text=describe_statement(statement, artifacts),
        level=level_of(statement),
        level_text=", ".join(filter(None, (describe_level(statement), caveat))),
        step_id=completed_step(history, history.nodes[node_id]),
        is_imported=is_imported,
        refs=list(statement.refs),
    )
