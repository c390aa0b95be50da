"""What is known of the reports of a run, place by place: observed, approved or stated. Pure.

Only what was accepted counts. Where several checks are about one place, the worst of them decides. A log of
an earlier version has more kinds of statements; they are shown as recorded, and nothing judges them again.
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
"""Contracts of what steers a run or discloses something: none of them states a fact."""

Level: TypeAlias = Literal["executed", "observed", "approved", "found", "stated"]
EvidenceWord: TypeAlias = Literal[Level, "contradicted", "stale"]
_LEVELS: dict[EvidenceLevel, Level] = {
    "claimed": "stated",
    "observed": "observed",
    "ran": "executed",
    "confirmed": "approved",
}
PROOF: tuple[Level, ...] = ("executed", "observed", "approved")
"""What may be shown in the word and the colour of proof, where it holds."""


class EvidenceSum(msgspec.Struct, frozen=True, kw_only=True):
    """The statements of the reports by how they are supported; each is counted once."""

    executed: int = 0
    observed: int = 0
    approved: int = 0
    found: int = 0
    stated: int = 0
    contradicted: int = 0
    stale: int = 0


class PlacedStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement, and the node whose report made it."""

    node_id: NodeId
    statement: ReportStatement


def list_statements(history: History, node_id: NodeId) -> list[PlacedStatement]:
    """How the reports on the way to a node were supported, in the order of the log."""
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
    """Of an earlier version: what came with commits of others or ran before, which no report states."""
    is_beside = statement.check == "changed_in_run" or not statement.contract_ref
    return is_beside and statement.pointer.endswith("/-")


def worst_of_each_place(statements: tuple[ReportStatement, ...]) -> list[ReportStatement]:
    """One statement per place: the check that saw the least decides; of those that hold, what proves most."""
    found: dict[tuple[str, str], ReportStatement] = {}
    for statement in statements:
        place = (statement.contract_ref, statement.pointer)
        held = found.get(place)
        if held is None or _weakness(statement) < _weakness(held):
            found[place] = statement
    return list(found.values())


def worst_statement(statements: tuple[ReportStatement, ...]) -> ReportStatement | None:
    """The statement of a report that was seen to hold least; None where nothing was checked."""
    return min(
        statements, key=lambda statement: (_rank(statement), statement.level != "claimed"), default=None
    )


def sum_evidence(history: History, node_id: NodeId) -> EvidenceSum | None:
    """The sum at a node, of things and not of mentions; None where no report could be checked."""
    statements = list_statements(history, node_id)
    if not statements:
        return None
    counted = [placed for placed in statements if placed.statement.check != "covers_change"]  # names no place
    things = {(evidence_word(placed.statement), _name_thing(history, placed)) for placed in counted}
    return EvidenceSum(**Counter[str](word for word, _ in things))


def _name_thing(history: History, placed: PlacedStatement) -> tuple[str, ...]:
    """What a statement is about: a file, a place or a command is one, whichever reports name it."""
    statement = placed.statement
    is_whole = statement.pointer == "/"  # of a report, and each report is its own
    if is_whole or statement.check not in ("changed_in_run", "path_exists", "place_exists", "ran"):
        return placed.node_id, statement.contract_ref, statement.pointer
    text = _read_place(history, placed)
    parts = [part for part in text.split("/") if part not in ("", ".")]  # `./a` is `a`
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
    """How it is known. What the files contradict, or nobody observed, is only stated."""
    if statement.verdict not in ("holds", "stale"):
        return "stated"
    if statement.level == "observed":
        return "observed" if statement.check == "changed_in_run" else "found"
    return _LEVELS[statement.level]


def evidence_word(statement: ReportStatement) -> EvidenceWord:
    """Under which word it counts."""
    return statement.verdict if statement.verdict in ("contradicted", "stale") else level_of(statement)


def is_proven(evidence: Mapping[str, int]) -> bool:
    """Whether everything was executed, observed to change, or approved by a person."""
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
    """What is true of every level and count of an imported session; empty for others."""
    if history.imported is not None:
        return "as another store recorded it before the import"
    return "as another store recorded it" if has_imported_facts(history) else ""


def is_from_elsewhere(history: History, node_id: NodeId) -> bool:
    """Whether another store recorded the node: what it says was seen, was not seen here."""
    return is_imported(history, history.nodes[node_id].index)


def describe_level(statement: ReportStatement) -> str:
    """How a statement is known, as people read it."""
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


# What people answered

SOURCE_WORDS: dict[AnswerSource, str] = {
    "terminal": "at a terminal",
    "elicitation": "in the client's form",
    "console": "in the Console",
    "account": "with their account",
}


def summarize_answer(history: History, answer: Confirmation, *, with_note: bool = False) -> str:
    """An answer in a few words, with who gave it; `with_note`: and what they wrote."""
    fact = answer.fact
    text = fact.value or fact.option_id or ("yes" if fact.answer == "confirmed" else "no")
    if fact.asked == "give" and fact.answer == "confirmed" and not fact.value:
        text = "done"
    text = "yes, before there was a report" if confirms_nothing(fact) else text
    note = f" ({fact.note})" if with_note and fact.note else ""
    where = _describe_import(history, answer)
    return f"answered by {name_person(fact.who)}{where}: {text}{note}{describe_unchecked(fact)}"


def _describe_import(history: History, answer: Confirmation) -> str:
    """That an answer was given in another store; empty for one of this store."""
    return " in another store" if is_imported(history, answer.index) else ""


def describe_answer(history: History, answer: Confirmation) -> str:
    """What a person answered, where, and under which account."""
    fact = answer.fact
    note = f": {fact.note}" if fact.note else ""
    text = f"A person {spell_answer(history, answer)} {SOURCE_WORDS[fact.source]}, as {name_person(fact.who)}"
    return f"{text}{describe_unchecked(fact)}{note}"


def spell_answer(history: History, answer: Confirmation) -> str:
    """What a person did, and whether another store recorded it."""
    return _spell_answer(answer.fact) + _describe_import(history, answer)


def _spell_answer(answer: ConfirmationRecorded) -> str:
    """They chose an option, gave a value, said that it is done, confirmed or declined."""
    if answer.option_id:
        return f"chose “{answer.value or answer.option_id}”"
    if answer.asked == "give" and answer.answer == "confirmed":
        return f"gave {answer.value}" if answer.value else "said that it is done"
    if confirms_nothing(answer):
        return "said yes before there was a report"
    return f"{answer.answer} it"


def describe_gap(gap: GapRecorded, title: str = "") -> str:
    """A gap, or how a person resolved one, in a line of a report."""
    if gap.reason != "settled_by_person":
        return f"Gap ({gap.severity}): {explain_gap(gap, title)}"
    return f"Gap resolved by {describe_resolver(gap)}: {gap.summary}"


def describe_resolver(gap: GapRecorded) -> str:
    """Who resolved a gap, and where."""
    return f"{name_person(gap.who)} {SOURCE_WORDS[gap.source]}" if gap.source else name_person(gap.who)


def _weakness(statement: ReportStatement) -> tuple[int, int]:
    return _rank(statement), get_args(Level).index(level_of(statement))


def _rank(statement: ReportStatement) -> int:
    return _WORST_FIRST.index(statement.verdict)
