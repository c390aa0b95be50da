"""How the statements of a run's reports are known: executed, observed, approved or stated. Pure.

Only accepted reports count. If several checks are about one place, the weakest result decides. A log of an
earlier version has more kinds of statements; they are shown as recorded and not judged again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Literal, TypeAlias, assert_never, get_args

import msgspec

from handrail.contract.ids import NodeId
from handrail.contract.wording import name_person
from handrail.engine.artifact_shapes import (
    ASSESSMENT,
    CAPABILITY_OBSERVATION,
    GAP,
    LOOP_CONTROL,
    WORKFLOW_DIVERGENCE,
)
from handrail.engine.ask import describe_unchecked
from handrail.engine.events import (
    AnswerSource,
    ConfirmationRecorded,
    EvidenceLevel,
    EvidenceVerdict,
    GapRecorded,
    ReportStatement,
)
from handrail.engine.history import (
    Confirmation,
    History,
    attached_to,
    confirms_nothing,
    statements_at,
    way_to,
)
from handrail.engine.messages import explain_gap
from handrail.engine.owners import has_imported_facts, is_imported
from handrail.workflows.problem import value_at

_WORST_FIRST: tuple[EvidenceVerdict, ...] = ("contradicted", "stale", "missing", "unknown", "holds")


_CONTROL = frozenset(
    kind.replace("wr.", "wr.contracts.", 1)
    for kind in (LOOP_CONTROL, ASSESSMENT, GAP, WORKFLOW_DIVERGENCE, CAPABILITY_OBSERVATION)
)
"""Contracts that steer a run or disclose something. They state no facts."""

Level: TypeAlias = Literal["executed", "observed", "approved", "found", "stated"]
EvidenceWord: TypeAlias = Literal[Level, "contradicted", "stale"]
_LEVELS: dict[EvidenceLevel, Level] = {
    "claimed": "stated",
    "observed": "observed",
    "ran": "executed",
    "confirmed": "approved",
}
PROOF: tuple[Level, ...] = ("executed", "observed", "approved")
"""Levels that interfaces may show with the word and the colour of proof, if the statement holds."""


class EvidenceSum(msgspec.Struct, frozen=True, kw_only=True):
    """Number of statements by how they are known; each is counted once."""

    executed: int = 0
    observed: int = 0
    approved: int = 0
    found: int = 0
    stated: int = 0
    contradicted: int = 0
    stale: int = 0


class PlacedStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement, and the node with the report that made it."""

    node_id: NodeId
    statement: ReportStatement


def list_statements(history: History, node_id: NodeId) -> list[PlacedStatement]:
    """Return the statements of the reports on the way to a node, in the order of the log."""
    if not history.evidence:
        return []
    return [
        PlacedStatement(node_id=node.node_id, statement=statement)
        for node in way_to(history, node_id)
        if node.kind != "blocked_attempt"
        for statement in worst_of_each_place(statements_at(history, node.node_id))
        if statement.contract_ref not in _CONTROL and not _is_beside(statement)
    ]


def _is_beside(statement: ReportStatement) -> bool:
    """Whether the statement is of an earlier version, about commits of others or earlier runs that no
    report states.
    """
    is_beside = statement.check == "changed_in_run" or not statement.contract_ref
    return is_beside and statement.pointer.endswith("/-")


def worst_of_each_place(statements: tuple[ReportStatement, ...]) -> list[ReportStatement]:
    """Return one statement per place: the one with the weakest verdict, and among those that hold the best
    proven.
    """
    found: dict[tuple[str, str], ReportStatement] = {}
    for statement in statements:
        place = (statement.contract_ref, statement.pointer)
        held = found.get(place)
        if held is None or _weakness(statement) < _weakness(held):
            found[place] = statement
    return list(found.values())


def worst_statement(statements: tuple[ReportStatement, ...]) -> ReportStatement | None:
    """Return the statement of a report with the weakest verdict; None if nothing was checked."""
    return min(
        statements, key=lambda statement: (_rank(statement), statement.level != "claimed"), default=None
    )


def sum_evidence(history: History, node_id: NodeId) -> EvidenceSum | None:
    """Return the counts at a node, each thing counted once; None if no report could be checked."""
    statements = list_statements(history, node_id)
    if not statements:
        return None
    counted = [placed for placed in statements if placed.statement.check != "covers_change"]  # names no place
    things = {(evidence_word(placed.statement), _name_thing(history, placed)) for placed in counted}
    return EvidenceSum(**Counter[str](word for word, _ in things))


def _name_thing(history: History, placed: PlacedStatement) -> tuple[str, ...]:
    """Return a key for the subject of a statement: the same file, place or command has one key in all
    reports.
    """
    statement = placed.statement
    is_whole = statement.pointer == "/"  # about a whole report, and each report is a thing of its own
    if is_whole or statement.check not in ("changed_in_run", "path_exists", "place_exists", "ran"):
        return placed.node_id, statement.contract_ref, statement.pointer
    text = _read_place(history, placed)
    parts = [part for part in text.split("/") if part not in ("", ".")]  # `./a` is the same file as `a`
    return (statement.check, text.strip()) if statement.check == "ran" else (statement.check, *parts)


def _read_place(history: History, placed: PlacedStatement) -> str:
    """Return the text at the place of a statement; the name of its contract if there is none."""
    statement = placed.statement
    kept = [held.artifact for held in attached_to(history, placed.node_id).artifacts]
    for artifact in sorted(kept, key=lambda one: one.contract_ref != statement.contract_ref):
        found = value_at(artifact.body, statement.pointer)
        if isinstance(found, str):
            return found
    return statement.contract_ref


def level_of(statement: ReportStatement) -> Level:
    """Return how a statement is known. One that the files contradict, or that was not observed, is only
    stated.
    """
    if statement.verdict not in ("holds", "stale"):
        return "stated"
    if statement.level == "observed":
        return "observed" if statement.check == "changed_in_run" else "found"
    return _LEVELS[statement.level]


def evidence_word(statement: ReportStatement) -> EvidenceWord:
    """Return the word under which a statement is counted."""
    return statement.verdict if statement.verdict in ("contradicted", "stale") else level_of(statement)


def is_proven(evidence: Mapping[str, int]) -> bool:
    """Whether everything was executed, observed in the changes, or approved by a person."""
    return any(evidence.values()) and not any(count for name, count in evidence.items() if name not in PROOF)


EVIDENCE_WORDS: dict[EvidenceWord, str] = {
    "executed": "executed",
    "observed": "observed",
    "approved": "approved by a person",
    "found": "place found",
    "stated": "stated by the agent",
    "contradicted": "contradicted",
    "stale": "stale",
}


def caveat_of(history: History) -> str:
    """Return a caveat for every level and count of an imported session; empty for other sessions."""
    if history.imported is not None:
        return "as another store recorded it before the import"
    return "as another store recorded it" if has_imported_facts(history) else ""


def is_from_elsewhere(history: History, node_id: NodeId) -> bool:
    """Whether another store recorded the node, so that this one did not observe what it states."""
    return is_imported(history, history.nodes[node_id].index)


def describe_level(statement: ReportStatement) -> str:
    """Return how a statement is known, in words for people."""
    word = evidence_word(statement)
    words = EVIDENCE_WORDS[word]
    match word:
        case "contradicted" | "stale" | "stated":
            return f"{words}: {statement.fact}" if statement.fact else words
        case "executed":
            return f"executed, {statement.fact}, on the files of this report"
        case "observed" | "approved" | "found":
            return words
        case never:
            assert_never(never)


# Answers of people

SOURCE_WORDS: dict[AnswerSource, str] = {
    "terminal": "at a terminal",
    "elicitation": "in the client's form",
    "console": "in the Console",
    "account": "with their account",
}


def summarize_answer(history: History, answer: Confirmation, *, with_note: bool = False) -> str:
    """Return an answer in a few words, and who gave it; `with_note` adds what the person wrote."""
    fact = answer.fact
    text = fact.value or fact.option_id or ("yes" if fact.answer == "confirmed" else "no")
    if fact.asked == "give" and fact.answer == "confirmed" and not fact.value:
        text = "done"
    text = "yes, before there was a report" if confirms_nothing(fact) else text
    note = f" ({fact.note})" if with_note and fact.note else ""
    where = _describe_import(history, answer)
    return f"answered by {name_person(fact.who)}{where}: {text}{note}{describe_unchecked(fact)}"


def _describe_import(history: History, answer: Confirmation) -> str:
    """Return a note that an answer was given in another store; empty if it was given in this one."""
    return " in another store" if is_imported(history, answer.index) else ""


def describe_answer(history: History, answer: Confirmation) -> str:
    """Return what a person answered, where, and under which account."""
    fact = answer.fact
    note = f": {fact.note}" if fact.note else ""
    text = f"A person {spell_answer(history, answer)} {SOURCE_WORDS[fact.source]}, as {name_person(fact.who)}"
    return f"{text}{describe_unchecked(fact)}{note}"


def spell_answer(history: History, answer: Confirmation) -> str:
    """Return what a person did, and whether another store recorded it."""
    return _spell_answer(answer.fact) + _describe_import(history, answer)


def _spell_answer(answer: ConfirmationRecorded) -> str:
    """Return what the person did: chose an option, gave a value, did the work, confirmed or declined."""
    if answer.option_id:
        return f"chose “{answer.value or answer.option_id}”"
    if answer.asked == "give" and answer.answer == "confirmed":
        return f"gave {answer.value}" if answer.value else "said that it is done"
    if confirms_nothing(answer):
        return "said yes before there was a report"
    return f"{answer.answer} it"


def describe_gap(gap: GapRecorded, title: str = "") -> str:
    """Return a line about a gap, or about how a person resolved one."""
    if gap.reason != "settled_by_person":
        return f"Gap ({gap.severity}): {explain_gap(gap, title)}"
    return f"Gap resolved by {describe_resolver(gap)}: {gap.summary}"


def describe_resolver(gap: GapRecorded) -> str:
    """Return who resolved a gap, and where."""
    return f"{name_person(gap.who)} {SOURCE_WORDS[gap.source]}" if gap.source else name_person(gap.who)


def _weakness(statement: ReportStatement) -> tuple[int, int]:
    return _rank(statement), get_args(Level).index(level_of(statement))


def _rank(statement: ReportStatement) -> int:
    return _WORST_FIRST.index(statement.verdict)
