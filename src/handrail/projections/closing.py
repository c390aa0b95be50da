"""The line for the user when a run has ended: what was done, what it is worth, and what is left. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.fence import flatten_text
from handrail.contract.ids import NodeId
from handrail.contract.wording import format_count
from handrail.engine.children.tips import open_gaps
from handrail.engine.code_trees import find_baseline
from handrail.engine.events import Claim, EvidenceCheck, ReceiptRecorded
from handrail.engine.history import History, not_run_at
from handrail.engine.judge.named_places import Use, names_ignore_rules, sort_by_use
from handrail.engine.judge.run_claims import (
    OF_ANOTHER_RUN,
    is_command_of,
    name_folder,
    write_line,
)
from handrail.engine.messages import explain_gap
from handrail.engine.progress import count_not_run
from handrail.projections.doubts import (
    ALL_RAN,
    MOST_NAMED,
    NO_TEST_COUNTED,
    OWN_RUNS,
    UNRUN,
    Code,
    cut_name,
    is_uncounted,
    is_unshown,
    list_doubts,
    list_facts,
    list_grown,
    list_names,
    list_programs,
    list_still_failing,
    list_unchecked,
    name_check,
    say_doubt,
    without_folder,
)
from handrail.projections.evidence import (
    PlacedClaim,
    describe_sum_at,
    is_arrival,
    list_claims,
    receipt_of,
    receipts_by_id,
    text_of,
    worth_of,
)


def closing_line(history: History, name: str, node_id: NodeId) -> str:
    """How the run of the workflow of this name ended: what was done, what did not run, what is left."""
    not_run = not_run_at(history, node_id)
    gaps = open_gaps(history, node_id)
    parts = [
        f"{format_count(history.nodes[node_id].steps_done, 'step')} done",
        *([f"{count_not_run(not_run)} skipped"] if not_run.total else []),
        *filter(None, (tell(history, node_id) for tell in _OF_EVIDENCE)),
        *([f"{format_count(len(gaps), 'open gap')}, the first: {explain_gap(gaps[0])}"] if gaps else []),
    ]
    told = "; ".join(parts)
    return f"{flatten_text(name)} is finished: {told}" + ("" if told.endswith(".") else ".")


# What rests on the agent's word alone, at the end

ALL_CHECKED = "everything that can be checked was checked"
_WHAT_RAN = "what ran: "
_NOT_LOOKED = "nobody looked at the files"
_PROOFS: dict[EvidenceCheck, str] = {
    "ran": "a check that Handrail runs would show it",
    "red_then_green": "a check that Handrail runs would show it",
    "person": "a person's answer would show it",
    "changed_in_run": _NOT_LOOKED,
    "path_exists": _NOT_LOOKED,
    "place_exists": _NOT_LOOKED,
}
"""What would show it, or why nothing did. What no check is about is nobody's to prove."""


def describe_unproven(history: History, node_id: NodeId) -> str:
    """What rests on the agent's word alone and need not; or that everything was checked."""
    claims = [placed for placed in list_claims(history, node_id) if not is_arrival(placed.claim)]
    named: dict[str, str] = {}
    unprovable: dict[str, str] = {}
    for placed in claims:
        if is_unshown(placed.claim):  # a doubt, which says so
            continue
        if _could_be_proven(placed.claim):
            named.setdefault(_say_claim(history, placed), _say_proof(history, placed))
        elif worth_of(placed.claim) == "claimed":
            unprovable.setdefault(text_of(history, placed), "no check is about it")
    if not named:
        return _say_all_checked(history, node_id, claims)
    # Beside it, what nothing could show, so that the names are as many as the sum counts.
    named |= {text: proof for text, proof in unprovable.items() if text not in named}
    proofs: dict[str, list[str]] = {}
    for text, proof in list(named.items())[:MOST_NAMED]:
        proofs.setdefault(proof, []).append(cut_name(text))
    told = "; ".join(f"{', '.join(texts)} ({proof})" for proof, texts in proofs.items())
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return f"only the agent's word: {told}{more}"


def _say_proof(history: History, placed: PlacedClaim) -> str:
    """What would show it; where it ran, or was looked at, and nobody can tell all the same: why."""
    claim = placed.claim
    if claim.check == "changed_in_run" and find_baseline(history, placed.node_id) is None:
        return _NOT_LOOKED
    why = claim.fact if claim.refs or claim.verdict == "unknown" else ""
    return why.removeprefix(f"{text_of(history, placed)}: ") or _PROOFS[claim.check]


def _say_claim(history: History, placed: PlacedClaim) -> str:
    text = text_of(history, placed)
    return without_folder(text) if placed.claim.check in OWN_RUNS else text


def _say_all_checked(history: History, node_id: NodeId, claims: Sequence[PlacedClaim]) -> str:
    """What ran: that everything was checked says no more than these commands look at."""
    doubts = list_doubts(history, node_id)
    if any(one.code != "undeclared" for one in doubts):
        return ""
    if not doubts and {"ran", "confirmed"}.isdisjoint(worth_of(placed.claim) for placed in claims):
        return ""
    ran = _list_ran(history, claims)
    is_counted = not is_uncounted(history, node_id, ran)  # any program can end with 0
    which = "" if is_counted else f", which {NO_TEST_COUNTED}"
    is_known = is_counted and not list_facts(history, node_id)[UNRUN]
    is_all = not doubts and (is_known or any(worth_of(one.claim) == "confirmed" for one in claims))
    said = [f"{_WHAT_RAN}{list_names(_name_each(ran))}{which}"] if ran else []
    return "; ".join([*said, *([ALL_RAN] if doubts else []), *([ALL_CHECKED] if is_all else [])])


_SAID_ELSEWHERE: tuple[Code, ...] = (
    "blocked",
    "unfinished",
    "contradicted",
    "gaps",
    "imported",
    "unchecked",
    "failing",
    "changed_checks",
    "written_program",
    "undeclared",
)
"""Doubts that have their own words in this line; every other one is told as it is."""


def describe_doubts(history: History, node_id: NodeId) -> str:
    """Why it is not clean, where nothing else in the line says so."""
    told = [one for one in list_doubts(history, node_id) if one.code not in _SAID_ELSEWHERE]
    return "; ".join(say_doubt(one) for one in told)


def _list_ran(history: History, claims: Sequence[PlacedClaim]) -> list[ReceiptRecorded]:
    ran = [receipt_of(history, one) for one in claims if worth_of(one.claim) == "ran"]
    return [one for one in ran if one is not None]


def _name_each(ran: Sequence[ReceiptRecorded]) -> list[str]:
    return list(dict.fromkeys(map(_name_with_command, ran)))


def _name_with_command(receipt: ReceiptRecorded) -> str:
    """A name says nothing about what it starts."""
    started = f" ({cut_name(without_folder(write_line(receipt)))})" if receipt.check else ""
    return name_check(receipt) + started


def _list_ran_elsewhere(history: History, claims: Sequence[PlacedClaim]) -> list[str]:
    """Of those that ran: what did so in another folder than the project's own."""
    return _name_each([one for one in _list_ran(history, claims) if name_folder(one)])


def describe_beside(history: History, node_id: NodeId) -> str:
    """What nobody claims and a reader must know: tests that changed, what came by commits, what was left."""
    placed = list_claims(history, node_id)
    claims = [one.claim for one in placed]
    ran = {path for one in claims if one.check in OWN_RUNS and one.verdict == "holds" for path in one.paths}
    grown = list_grown(placed)
    arrived = [one for one in claims if is_arrival(one)]
    others = {path for one in arrived if one.fact.startswith(OF_ANOTHER_RUN) for path in one.paths}
    came = {path for one in arrived for path in one.paths if not names_ignore_rules(path)} - others
    uses = _OF_CHECKS | ({} if _are_counted(history, placed) else {"tests": _NOT_COUNTED})
    own = sort_by_use(sorted(ran - grown), list_programs(history, placed))
    facts = list_facts(history, node_id)
    told = {uses.get(use, f"{use} of the checks changed"): paths for use, paths in own.items()} | {
        **{what: names for what, names in facts.items() if what != NO_TEST_COUNTED},
        "not listed, by a commit or another branch": sorted(came),
        f"not listed, {OF_ANOTHER_RUN}": sorted(others),
        "passed without checking": list_unchecked(history, node_id),
    }
    is_all_told = describe_unproven(history, node_id).startswith(_WHAT_RAN)
    runs = {
        "failed, and did not pass since": list_still_failing(history, placed),
        "in another folder": [] if is_all_told else _list_ran_elsewhere(history, placed),
    }
    cut = {what: [cut_name(name) for name in names] for what, names in told.items()}
    return "; ".join(f"{what}: {list_names(names)}" for what, names in (cut | runs).items() if names)


_OF_CHECKS: dict[Use, str] = {"program": "program of the checks written in the run"}
_NOT_COUNTED = "tests of the checks changed, and nobody counted them before"


def _are_counted(history: History, claims: Sequence[PlacedClaim]) -> bool:
    """Whether it would be told if fewer ran than before: a command that reports rest on counted its tests on
    other files, too."""
    for placed in claims:
        shown = receipt_of(history, placed) if placed.claim.check in OWN_RUNS else None
        own = () if shown is None else receipts_by_id(history, placed.node_id).values()
        if len({one.tree_after for one in own if one.counts and shown and is_command_of(one, shown)}) > 1:
            return True
    return False


def describe_late_look(history: History, node_id: NodeId) -> str:
    """Of a run whose first look was not made before its start was answered."""
    first = find_baseline(history, node_id)
    is_late = first is not None and first.fact.cause != "start"
    return "the files of its start were not recorded" if is_late else ""


def _could_be_proven(claim: Claim) -> bool:
    is_planned = claim.check in ("path_exists", "place_exists") and claim.verdict == "missing"
    return worth_of(claim) == "claimed" and claim.check in _PROOFS and not is_planned


_OF_EVIDENCE = (
    describe_sum_at,
    describe_late_look,
    describe_beside,
    describe_doubts,
    describe_unproven,
)
