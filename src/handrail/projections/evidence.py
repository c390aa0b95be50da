"""What a run proved: the claims on the way to a node, each once, and what they are worth. Pure.

Only what was accepted counts. Where several checks are about one place, the worst of them decides. There is
no single number: that a command ran, that a file changed, that a person agreed and that a place exists are
different things, and only the first three prove anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
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
from handrail.engine.code_trees import find_tree
from handrail.engine.events import (
    Claim,
    ConfirmationDoor,
    ConfirmationRecorded,
    EvidenceRecorded,
    EvidenceVerdict,
    GapRecorded,
    ReceiptRecorded,
)
from handrail.engine.facts import answer_to
from handrail.engine.history import (
    Confirmation,
    History,
    Node,
    attached_to,
    claims_at,
    confirmation_of,
    confirms_nothing,
    gaps_at,
    list_receipts,
    way_to,
)
from handrail.engine.judge.arrival import CHOSEN
from handrail.engine.messages import explain_gap
from handrail.engine.owners import has_imported_facts, is_imported
from handrail.engine.receipts import ReceiptSource, describe_outcome
from handrail.workflows.problem import value_at

_NOT_SEEN_AGAIN = "the files could not be seen again at the last look: "
UNANSWERED = "failed on the tests of the start, and with this code passed only after some changed"
_WORST_FIRST: tuple[EvidenceVerdict, ...] = ("contradicted", "stale", "missing", "unknown", "holds")


_CONTROL = frozenset(
    kind.replace("wr.", "wr.contracts.", 1)
    for kind in (LOOP_CONTROL, ASSESSMENT, GAP, WORKFLOW_DIVERGENCE, CAPABILITY_OBSERVATION)
)
"""Contracts of what steers a run or discloses something: none of them claims anything."""

Thing: TypeAlias = tuple[str, ...]
Level: TypeAlias = Literal["ran", "seen", "confirmed", "exists", "claimed"]
Worth: TypeAlias = Literal["ran", "seen", "confirmed", "exists", "claimed", "contradicted", "stale"]
PROOF: tuple[Level, ...] = ("ran", "seen", "confirmed")
"""What may be shown in the word and the colour of proof, where it holds."""


class EvidenceSum(msgspec.Struct, frozen=True, kw_only=True):
    """The claims of the reports by what they are worth; each is counted once."""

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
    """What the reports on the way to a node were worth, in the order of the log.

    A receipt that was found to be of other files later on proves nothing any more. What was stale or only
    said is told no more once a later report shows it.
    """
    if not history.evidence:
        return []
    way = [node for node in way_to(history, node_id) if node.kind != "blocked_attempt"]
    last, unseen = _find_last_look(history, way)
    found = [
        PlacedClaim(node_id=node.node_id, claim=claim)
        for at, node in enumerate(way)
        for claims in [claims_at(history, node.node_id)]
        for claim in worst_of_each_place(
            _doubt(claims, unseen) if unseen is not None and at < last else claims
        )
        for claim in [_doubt_unanswered(claim)]
        if claim.contract_ref not in _CONTROL
    ]
    old = {ref for placed in found if placed.claim.verdict == "stale" for ref in placed.claim.refs}
    standing = [
        placed for placed in found if placed.claim.verdict != "holds" or old.isdisjoint(placed.claim.refs)
    ]
    own = receipts_by_id(history, node_id)
    order = {node.node_id: at for at, node in enumerate(way)}
    shown = {thing: order[one.node_id] for one in standing for thing in _list_shown(history, own, one)}
    return [
        placed
        for placed in standing
        if all(shown.get(thing, 0) <= order[placed.node_id] for thing in _list_unshown(history, own, placed))
    ]


Receipts: TypeAlias = Mapping[str, ReceiptRecorded]


def _list_shown(history: History, own: Receipts, placed: PlacedClaim) -> list[Thing]:
    """What a command shows that ran: itself with this end, and the same line in an earlier such report."""
    claim, receipt = placed.claim, last_receipt(own, placed.claim)
    if claim.check != "ran" or claim.verdict != "holds" or receipt is None:
        return []
    line = claim.contract_ref, text_of(history, placed)
    return [_name_run(receipt), line, (*line, receipt.directory)]


def _list_unshown(history: History, own: Receipts, placed: PlacedClaim) -> list[Thing]:
    """As which things a later report may show what this one does not; none where the world contradicts it."""
    claim = placed.claim
    if claim.check != "ran" or claim.verdict not in ("stale", "missing", "unknown"):
        return []
    receipt = last_receipt(own, claim) if claim.verdict == "stale" else None
    line = claim.contract_ref, text_of(history, placed)
    return [line] if receipt is None else [(*line, receipt.directory), _name_run(receipt)]


def _name_run(receipt: ReceiptRecorded) -> Thing:
    return receipt.argv_digest, receipt.directory, describe_outcome(receipt.outcome)


def _find_last_look(history: History, way: Sequence[Node]) -> tuple[int, EvidenceRecorded | None]:
    """The newest report for which all files were to be seen: if they were not, what came before is in doubt.

    A later step that saw them settles it: the end of a run holds the same claims against them.
    """
    for at in reversed(range(len(way))):
        recorded = history.evidence.get(way[at].node_id)
        if recorded is not None and recorded.unseen:
            return at, recorded
        if recorded is not None and recorded.tree and way[at].kind == "step":
            break
    return 0, None


def _doubt(claims: tuple[Claim, ...], look: EvidenceRecorded) -> tuple[Claim, ...]:
    """What was seen before a look that saw nothing; where it saw the files, only changes are in doubt."""
    return tuple(
        msgspec.structs.replace(claim, level="claimed", verdict="unknown", fact=_NOT_SEEN_AGAIN + look.unseen)
        if claim.verdict == "holds"
        and claim.level in ("observed", "ran")
        and (not look.tree or claim.check == "changed_in_run")
        else claim
        for claim in claims
    )


def _doubt_unanswered(claim: Claim) -> Claim:
    """A guard whose failure only other tests answered guards nothing that is known."""
    if claim.check != "red_then_green" or not claim.unanswered:
        return claim
    return msgspec.structs.replace(claim, level="claimed", verdict="unknown", fact=UNANSWERED)


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
    claims = [placed for placed in list_claims(history, node_id) if not is_arrival(placed.claim)]
    return sum_claims(history, node_id, claims) if claims else None


def sum_claims(history: History, node_id: NodeId, claims: Sequence[PlacedClaim]) -> EvidenceSum:
    own = receipts_by_id(history, node_id)
    counted = [placed for placed in claims if placed.claim.check != "covers_change"]  # names no place
    things = {(worth_of(placed.claim), _name_thing(history, own, placed)) for placed in counted}
    return EvidenceSum(**Counter[str](worth for worth, _ in things))


def _name_thing(history: History, own: Receipts, placed: PlacedClaim) -> Thing:
    """What a claim is about: a file, a place or a command is one, whichever reports name it."""
    claim = placed.claim
    receipt = last_receipt(own, claim) if claim.check == "ran" else None
    if receipt is not None:
        return _name_run(receipt)
    is_whole = claim.pointer == "/" or bool(claim.paths)  # of a report, and each report is its own
    if is_whole or claim.check not in ("changed_in_run", "path_exists", "place_exists", "ran"):
        return placed.node_id, claim.contract_ref, claim.pointer
    text = text_of(history, placed)
    parts = [part for part in text.split("/") if part not in ("", ".")]  # `./a` is `a`
    return (claim.check, text.strip()) if claim.check == "ran" else (claim.check, *parts)


def is_unshown(claim: Claim) -> bool:
    """Of a guard that ran, and failed in no way that shows anything: a doubt says why."""
    return claim.check == "red_then_green" and bool(claim.refs) and worth_of(claim) == "claimed"


def list_words(history: History, claims: Sequence[PlacedClaim]) -> list[str]:
    """What is only the agent's word, and no doubt of its own."""
    own = [one for one in claims if not is_arrival(one.claim) and not is_unshown(one.claim)]
    return list(dict.fromkeys(text_of(history, one) for one in own if worth_of(one.claim) == "claimed"))


def is_arrival(claim: Claim) -> bool:
    """What came with commits of others, was left by another branch, or ran before files changed: it is told,
    and nobody claims it."""
    is_beside = claim.check == "changed_in_run" or not claim.contract_ref
    return is_beside and claim.pointer.endswith("/-")


def is_of_another_run(claim: Claim) -> bool:
    """Of what nobody claims: that a child which was open then may have changed it."""
    return claim.pointer.endswith("/-/-")


def level_of(claim: Claim) -> Level:
    """How it is known. What the world contradicts, or nobody saw, is the agent's word."""
    if claim.verdict not in ("holds", "stale"):
        return "claimed"
    if claim.level == "observed":
        return "seen" if claim.check == "changed_in_run" else "exists"
    return claim.level


def worth_of(claim: Claim) -> Worth:
    """Under which word it counts."""
    return claim.verdict if claim.verdict in ("contradicted", "stale") else level_of(claim)


def is_contradicted(history: History, node_id: NodeId) -> bool:
    """Whether the newest report under some contract says what the world contradicts.

    No word of the agent settles that: only a later report under the same contract does, or a person who
    settled a gap of that very report. What was passed against the word of a person stays so.
    """
    if not history.evidence:
        return False
    way, judged = way_to(history, node_id), list_judged(history, node_id)
    seen: set[str] = set()
    for node in reversed(way):
        if node.kind == "blocked_attempt":
            continue
        claims = [
            claim
            for claim in claims_at(history, node.node_id)
            if claim.check == "person" or claim.contract_ref not in seen
        ]
        if node.node_id not in judged and any(claim.verdict == "contradicted" for claim in claims):
            return True
        seen |= {claim.contract_ref for claim in claims}
    return False


def list_judged(history: History, node_id: NodeId) -> set[NodeId]:
    """Reports of which a person settled a gap."""
    way = [(node.node_id, attached_to(history, node.node_id).gaps) for node in way_to(history, node_id)]
    settled = {gap.resolves_gap_id for gap in list_settlements(history, node_id)}
    return {place for place, gaps in way if any(gap.gap_id in settled for gap in gaps)}


def list_settlements(history: History, node_id: NodeId) -> list[GapRecorded]:
    """What people said who settled gaps on the way."""
    return [gap for gap in gaps_at(history, node_id) if gap.reason == "settled_by_person"]


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


def describe_sum(evidence: EvidenceSum | None) -> str:
    """The sum in words; empty where there is none."""
    if evidence is None:
        return ""
    counts = msgspec.structs.asdict(evidence)
    parts = [f"{counts[name]} {words}" for name, words in WORTH_WORDS.items() if counts[name]]
    return "evidence: " + ", ".join(parts)


def describe_sum_at(history: History, node_id: NodeId) -> str:
    """The sum at a node in words; of an imported session it says that another store saw what came before."""
    text = describe_sum(sum_evidence(history, node_id))
    return ", ".join(filter(None, (text, caveat_of(history)))) if text else ""


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


# Who says so, and of which files

Door: TypeAlias = Literal[
    "handrail", "companion", "hook", "agent", "account", "console", "terminal", "client"
]
RECEIPT_DOORS: dict[ReceiptSource, Door] = {
    "handrail": "handrail",
    "companion": "companion",
    "client_hook": "hook",
}
PERSON_DOORS: dict[ConfirmationDoor, Door] = {
    "terminal": "terminal",
    "elicitation": "client",
    "console": "console",
    "account": "account",
}


def door_of(history: History, placed: PlacedClaim) -> Door:
    """Through which door it came: the strongest of what it rests on."""
    match level_of(placed.claim):
        case "claimed":
            return "agent"
        case "confirmed":
            answer = _confirmed_before(history, placed.node_id)
            return "agent" if answer is None else PERSON_DOORS[answer.door]
        case "ran":
            receipt = receipt_of(history, placed)
            return "handrail" if receipt is None else RECEIPT_DOORS[receipt.by]
        case "seen" | "exists":
            return "companion" if machine_of(history, placed) else "handrail"
        case never:
            assert_never(never)


def machine_of(history: History, placed: PlacedClaim) -> str:
    """The machine whose companion saw it or ran it; empty: nobody else's."""
    receipt = receipt_of(history, placed) if level_of(placed.claim) == "ran" else None
    recorded = history.evidence.get(placed.node_id)
    return receipt.machine if receipt is not None else recorded.machine if recorded is not None else ""


def files_of(history: History, placed: PlacedClaim) -> str:
    """The commit that it is true of, or the tree where that has other files; empty: not known."""
    receipt = receipt_of(history, placed) if level_of(placed.claim) == "ran" else None
    recorded = history.evidence.get(placed.node_id)
    tree_id = receipt.tree_after if receipt is not None else recorded.tree if recorded is not None else ""
    tree = find_tree(history, tree_id) if tree_id else None
    is_clean = tree is not None and tree.fact.head and not tree.fact.listed
    return tree.fact.head if tree is not None and is_clean else tree_id


DOORS: dict[ConfirmationDoor, str] = {
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
    text = f"A person {spell_answer(history, answer)} {DOORS[fact.door]}, as {name_person(fact.who)}"
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
    """A gap, or how a person settled one, in a line of a report."""
    if gap.reason != "settled_by_person":
        return f"Gap ({gap.severity}): {explain_gap(gap, title)}"
    return f"Gap settled by {describe_settler(gap)}: {gap.summary}"


def describe_settler(gap: GapRecorded) -> str:
    """Who settled a gap, and where."""
    return f"{name_person(gap.who)} {DOORS[gap.door]}" if gap.door else name_person(gap.who)


def _weakness(claim: Claim) -> tuple[int, int]:
    return _rank(claim), get_args(Level).index(level_of(claim))


def _rank(claim: Claim) -> int:
    return _WORST_FIRST.index(claim.verdict)


def receipt_of(history: History, placed: PlacedClaim) -> ReceiptRecorded | None:
    """The last receipt that a claim rests on."""
    own = receipts_by_id(history, placed.node_id) if placed.claim.refs else {}
    return last_receipt(own, placed.claim)


def list_ran(history: History, claims: Sequence[PlacedClaim]) -> list[tuple[PlacedClaim, ReceiptRecorded]]:
    """Claims that rest on a command which ran, each with its receipt."""
    ran = ((one, receipt_of(history, one)) for one in claims if worth_of(one.claim) == "ran")
    return [(one, receipt) for one, receipt in ran if receipt is not None]


def receipts_by_id(history: History, node_id: NodeId) -> dict[str, ReceiptRecorded]:
    run_id = history.nodes[node_id].run_id
    return {held.fact.receipt_id: held.fact for held in list_receipts(history, run_id)}


def last_receipt(own: Receipts, claim: Claim) -> ReceiptRecorded | None:
    return next((own[ref] for ref in reversed(claim.refs) if ref in own), None)


def _confirmed_before(history: History, node_id: NodeId) -> ConfirmationRecorded | None:
    """A person answers at the step that is pending, which the accepted report left."""
    parent = history.nodes[node_id].parent
    found = None if parent is None else confirmation_of(history, parent)
    return None if found is None else found.fact
