"""What a run proved: the claims on the way to a node, each once, and their sum. Pure.

Only what was accepted counts. Where several checks are about one place, the worst of them decides, so that
nothing is called verified that one of them could not see.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import msgspec

from handrail.contract.ids import NodeId
from handrail.engine.events import (
    Claim,
    ConfirmationDoor,
    ConfirmationRecorded,
    EvidenceRecorded,
    EvidenceVerdict,
)
from handrail.engine.history import History, Node, claims_at, way_to

_NOT_SEEN_AGAIN = "the files could not be seen again at the last look: "
_WORST_FIRST: tuple[EvidenceVerdict, ...] = ("contradicted", "stale", "missing", "unknown", "holds")


class EvidenceSum(msgspec.Struct, frozen=True, kw_only=True):
    """How many places of the reports were seen by somebody else than the agent."""

    verified: int = 0
    unverified: int = 0
    contradicted: int = 0
    stale: int = 0


class PlacedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, and the node whose report made it."""

    node_id: NodeId
    claim: Claim


def list_claims(history: History, node_id: NodeId) -> list[PlacedClaim]:
    """What the reports on the way to a node were worth, in the order of the log.

    A receipt that was found to be of other files later on proves nothing any more.
    """
    if not history.evidence:
        return []
    way = [node for node in way_to(history, node_id) if node.kind != "blocked_attempt"]
    last, unseen = _find_last_look(history, way)
    found = [
        PlacedClaim(node_id=node.node_id, claim=claim)
        for at, node in enumerate(way)
        for told in [claims_at(history, node.node_id)]
        for claim in worst_of_each_place(_doubt(told, unseen) if unseen is not None and at < last else told)
    ]
    old = {ref for placed in found if placed.claim.verdict == "stale" for ref in placed.claim.refs}
    return [
        placed for placed in found if placed.claim.verdict != "holds" or old.isdisjoint(placed.claim.refs)
    ]


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


def worst_of_each_place(claims: tuple[Claim, ...]) -> list[Claim]:
    """One claim per place: the check that saw the least decides."""
    found: dict[tuple[str, str], Claim] = {}
    for claim in claims:
        place = (claim.contract_ref, claim.pointer)
        held = found.get(place)
        if held is None or _rank(claim) < _rank(held):
            found[place] = claim
    return list(found.values())


def worst_claim(claims: tuple[Claim, ...]) -> Claim | None:
    """The claim of a report that was seen to hold least; None where nothing was checked."""
    return min(claims, key=lambda claim: (_rank(claim), claim.level != "claimed"), default=None)


def sum_evidence(history: History, node_id: NodeId) -> EvidenceSum | None:
    """The sum at a node; None where no report could be checked."""
    claims = list_claims(history, node_id)
    if not claims:
        return None
    counts = {"verified": 0, "unverified": 0, "contradicted": 0, "stale": 0}
    for placed in claims:
        counts[_standing_of(placed.claim)] += 1
    return EvidenceSum(**counts)


def is_contradicted(history: History, node_id: NodeId) -> bool:
    """Whether the newest report under some contract says what the world contradicts.

    No word of the agent settles that: only a later report under the same contract does. What was passed
    against the word of a person stays so.
    """
    if not history.evidence:
        return False
    seen: set[str] = set()
    for node in reversed(way_to(history, node_id)):
        if node.kind == "blocked_attempt":
            continue
        claims = [
            claim
            for claim in claims_at(history, node.node_id)
            if claim.check == "person" or claim.contract_ref not in seen
        ]
        if any(claim.verdict == "contradicted" for claim in claims):
            return True
        seen |= {claim.contract_ref for claim in claims}
    return False


def is_verified(evidence: EvidenceSum | None) -> bool:
    """Whether somebody else than the agent has seen everything that was claimed."""
    return (
        evidence is not None and evidence.verified > 0 and evidence == EvidenceSum(verified=evidence.verified)
    )


def describe_sum(evidence: EvidenceSum | None) -> str:
    """The sum in words; empty where there is none."""
    if evidence is None:
        return ""
    parts = [
        f"{evidence.verified} verified",
        f"{evidence.unverified} unverified",
        *([f"{evidence.contradicted} contradicted"] if evidence.contradicted else []),
        *([f"{evidence.stale} stale"] if evidence.stale else []),
    ]
    return "evidence: " + ", ".join(parts)


def describe_sum_at(history: History, node_id: NodeId) -> str:
    """The sum at a node in words; of an imported session it says that another store saw what came before."""
    told = describe_sum(sum_evidence(history, node_id))
    return ", ".join(filter(None, (told, caveat_of(history)))) if told else ""


def caveat_of(history: History) -> str:
    """What is true of every level and count of an imported session; empty for others."""
    return "" if history.imported is None else "as another store recorded it before the import"


def is_from_elsewhere(history: History, node_id: NodeId) -> bool:
    """Whether another store recorded the node: what it says was seen, was not seen here."""
    return history.imported is not None and history.nodes[node_id].index < history.imported.index


def describe_level(claim: Claim) -> str:
    """How a claim is known, as people read it."""
    match claim.verdict:
        case "contradicted":
            return f"contradicted: {claim.fact}"
        case "stale":
            return f"stale: {claim.fact}"
        case "missing" | "unknown":
            return f"well-formed, unverified{f': {claim.fact}' if claim.fact else ''}"
        case "holds":
            match claim.level:
                case "claimed":
                    return "well-formed, unverified"
                case "observed":
                    return "observed"
                case "ran":
                    return f"ran, {claim.fact}, on these files"
                case "confirmed":
                    return "confirmed by a person"
                case never:
                    assert_never(never)
        case never:
            assert_never(never)


_DOORS: dict[ConfirmationDoor, str] = {
    "terminal": "at a terminal",
    "elicitation": "in the form of the client",
    "console": "in the console",
}


def describe_answer(said: ConfirmationRecorded) -> str:
    """What a person answered, where, and under which account."""
    what = f"chose {said.option_id}" if said.option_id else f"{said.answer} it"
    note = f": {said.note}" if said.note else ""
    return f"A person {what} {_DOORS[said.door]}, as {said.who}{note}"


def _rank(claim: Claim) -> int:
    return _WORST_FIRST.index(claim.verdict)


def _standing_of(claim: Claim) -> str:
    if claim.verdict in ("contradicted", "stale"):
        return claim.verdict
    return "verified" if claim.verdict == "holds" and claim.level != "claimed" else "unverified"
