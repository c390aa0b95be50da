"""What is known of the reports of a run, place by place: observed, approved or stated. Pure.

Only what was accepted counts. Where several checks are about one place, the worst of them decides. A log of
an earlier version has more kinds of claims; they are shown as recorded, and nothing judges them again.
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
    Claim,
    ConfirmationRecorded,
    EvidenceVerdict,
    GapRecorded,
)
from handrail.engine.facts import answer_to
from handrail.engine.history import (
    Confirmation,
    History,
    attached_to,
    claims_at,
    confirms_nothing,
    way_to,
)
from handrail.engine.judge.arrival import CHOSEN
from handrail.engine.messages import explain_gap
from handrail.engine.owners import has_imported_facts, is_imported
from handrail.workflows.problem import value_at

_WORST_FIRST: tuple[EvidenceVerdict, ...] = ("contradicted", "stale", "missing", "unknown", "holds")


_CONTROL = frozenset(
    kind.replace("wr.", "wr.contracts.", 1)
    for kind in (LOOP_CONTROL, ASSESSMENT, GAP, WORKFLOW_DIVERGENCE, CAPABILITY_OBSERVATION)
)
"""Contracts of what steers a run or discloses something: none of them claims anything."""

Level: TypeAlias = Literal["ran", "seen", "confirmed", "exists", "claimed"]
Worth: TypeAlias = Literal["ran", "seen", "confirmed", "exists", "claimed", "contradicted", "stale"]
PROOF: tuple[Level, ...] = ("ran", "seen", "confirmed")
"""What may be shown in the word and the colour of proof, where it holds."""


class EvidenceSum(msgspec.Struct, frozen=True, kw_only=True):
    """The statements of the reports by how they are supported; each is counted once."""

    ran: int = 0
    seen: int = 0
    confirmed: int = 0
    exists: int = 0
    claimed: int = 0
    contradicted: int = 0
    stale: int = 0


class PlacedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, and the node whose report made it."""

    node_id: NodeId
    claim: Claim


def list_claims(history: History, node_id: NodeId) -> list[PlacedClaim]:
    """How the reports on the way to a node were supported, in the order of the log."""
    if not history.evidence:
        return []
    return [
        PlacedClaim(node_id=node.node_id, claim=claim)
        for node in way_to(history, node_id)
        if node.kind != "blocked_attempt"
        for claim in worst_of_each_place(claims_at(history, node.node_id))
        if claim.contract_ref not in _CONTROL and not _is_beside(claim)
    ]


def _is_beside(claim: Claim) -> bool:
    """Of an earlier version: what came with commits of others or ran before, which nobody claims."""
    is_beside = claim.check == "changed_in_run" or not claim.contract_ref
    return is_beside and claim.pointer.endswith("/-")


def worst_of_each_place(claims: tuple[Claim, ...]) -> list[Claim]:
    """One claim per place: the check that saw the least decides; of those that hold, what proves most."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        place = (claim.contract_ref, claim.pointer)
        held = found.get(place)
        if held is None or _weakness(claim) < _weakness(held):
            found[place] = claim
    return list(found.values())


def worst_claim(claims: tuple[Claim, ...]) -> Claim | None:
    """The claim of a report that was seen to hold least; None where nothing was checked."""
    return min(claims, key=lambda claim: (_rank(claim), claim.level != "claimed"), default=None)


def sum_evidence(history: History, node_id: NodeId) -> EvidenceSum | None:
    """The sum at a node, of things and not of mentions; None where no report could be checked."""
    claims = list_claims(history, node_id)
    if not claims:
        return None
    counted = [placed for placed in claims if placed.claim.check != "covers_change"]  # names no place
    things = {(worth_of(placed.claim), _name_thing(history, placed)) for placed in counted}
    return EvidenceSum(**Counter[str](worth for worth, _ in things))


def _name_thing(history: History, placed: PlacedClaim) -> tuple[str, ...]:
    """What a claim is about: a file, a place or a command is one, whichever reports name it."""
    claim = placed.claim
    is_whole = claim.pointer == "/"  # of a report, and each report is its own
    if is_whole or claim.check not in ("changed_in_run", "path_exists", "place_exists", "ran"):
        return placed.node_id, claim.contract_ref, claim.pointer
    text = text_of(history, placed)
    parts = [part for part in text.split("/") if part not in ("", ".")]  # `./a` is `a`
    return (claim.check, text.strip()) if claim.check == "ran" else (claim.check, *parts)


def level_of(claim: Claim) -> Level:
    """How it is known. What the world contradicts, or nobody saw, is only stated."""
    if claim.verdict not in ("holds", "stale"):
        return "claimed"
    if claim.level == "observed":
        return "seen" if claim.check == "changed_in_run" else "exists"
    return claim.level


def worth_of(claim: Claim) -> Worth:
    """Under which word it counts."""
    return claim.verdict if claim.verdict in ("contradicted", "stale") else level_of(claim)


def is_proven(evidence: Mapping[str, int]) -> bool:
    """Whether all that was claimed ran, was seen to change, or was confirmed by a person."""
    return any(evidence.values()) and not any(count for name, count in evidence.items() if name not in PROOF)


WORTH_WORDS: dict[Worth, str] = {
    "ran": "executed",
    "seen": "observed",
    "confirmed": "approved by a person",
    "exists": "place found",
    "claimed": "stated by the agent",
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


def describe_level(claim: Claim) -> str:
    """How a claim is known, as people read it."""
    worth = worth_of(claim)
    words = WORTH_WORDS[worth]
    match worth:
        case "contradicted" | "stale" | "claimed":
            return f"{words}: {claim.fact}" if claim.fact else words
        case "ran":
            return f"executed, {claim.fact}, on the files of this report"
        case "seen" | "confirmed" | "exists":
            return words
        case never:
            assert_never(never)


# Which text a claim is about


def text_of(history: History, placed: PlacedClaim) -> str:
    """What the report says at the place of a claim; of a report as a whole, its kind."""
    claim = placed.claim
    kept = [held.artifact for held in attached_to(history, placed.node_id).artifacts]
    for artifact in sorted(kept, key=lambda one: one.contract_ref != claim.contract_ref):
        found = value_at(artifact.body, claim.pointer)
        if isinstance(found, str):
            return found
    if claim.check == "person" and claim.pointer == CHOSEN:
        answer = answer_to(history, placed.node_id)
        return f"a person chose {answer.option_id}" if answer and answer.option_id else "a person chose"
    if claim.check == "person":
        return "a person agreed"
    return claim.contract_ref.rpartition(".")[2].replace("_", " ") or "the check of the step"


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


def _weakness(claim: Claim) -> tuple[int, int]:
    return _rank(claim), get_args(Level).index(level_of(claim))


def _rank(claim: Claim) -> int:
    return _WORST_FIRST.index(claim.verdict)
