"""The line for the user when a run has ended: what was done, what it is worth, and what is left. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.contract.fence import flatten_text
from handrail.contract.ids import NodeId
from handrail.contract.wording import MOST_NAMED, end_sentence, format_count, list_names
from handrail.engine.children.tips import open_gaps
from handrail.engine.code_trees import find_baseline
from handrail.engine.events import Claim, EvidenceCheck, ReceiptRecorded
from handrail.engine.history import History, not_run_at
from handrail.engine.judge.run_claims import write_line
from handrail.engine.messages import explain_gap
from handrail.projections.check_names import cut_name, name_check, name_line, tick, without_folder
from handrail.projections.doubts import (
    ALL_RAN,
    NO_TEST_COUNTED,
    OWN_RUNS,
    Doubt,
    FactCode,
    RunEnd,
    describe_doubt,
    describe_fact,
    gather_end,
    list_doubts,
    list_facts,
)
from handrail.projections.evidence import (
    PlacedClaim,
    describe_sum_at,
    is_unshown,
    list_words,
    text_of,
    worth_of,
)

Facts = Mapping[FactCode, Sequence[str]]
_IN_SUM, _OF_WHAT_RAN = ("contradicted", "imported"), ("undeclared", "elsewhere")
"""Doubts and facts that have their own words in this line."""
_LEFT: tuple[FactCode, ...] = ("unchecked", "not_run", "old_runs")
"""What could be checked, and was not: to name it is honest, and no doubt."""
_OTHER_TESTS: tuple[FactCode, ...] = ("grown", "new_tests", "never_red", "not_loaded", "agreed")
"""Beside these nobody saw the tests of the start pass with the code of the end."""


def closing_line(history: History, name: str, node_id: NodeId) -> str:
    """How the run of the workflow of this name ended: what was done, what did not run, what is left."""
    not_run, gaps = not_run_at(history, node_id), open_gaps(history, node_id)
    end = gather_end(history, node_id)
    doubts, facts = list_doubts(end), list_facts(end)
    word = _describe_unproven(history, end.claims)
    ran = "" if word else _describe_what_ran(end, doubts, facts)
    total = describe_sum_at(history, node_id)
    elsewhere: set[str] = {"gaps", *(_IN_SUM if total else ()), *(_OF_WHAT_RAN if ran else ())}
    elsewhere |= {"uncounted"} if ran and _counts_none(end, facts) else set()
    parts = [
        f"{format_count(history.nodes[node_id].steps_done, 'step')} done",
        f"{not_run.total} skipped" if not_run.total else "",
        total,
        *(describe_fact(code, names) for code, names in facts.items() if code not in elsewhere),
        *(describe_doubt(one) for one in doubts if one.code not in elsewhere),
        word or ran,
        f"{format_count(len(gaps), 'open gap')}, the first: {explain_gap(gaps[0])}" if gaps else "",
    ]
    line = "; ".join(part.removesuffix(".") for part in parts if part)
    return end_sentence(f"{flatten_text(name)} is finished: {line}")


# What rests on the agent's word alone, at the end

ALL_CHECKED = "everything that can be checked was checked"
_NOT_LOOKED = "nobody looked at the files"
_NOTHING_SHOWS = "no check is about it"
_PROOFS: dict[EvidenceCheck, str] = {
    "ran": "a check that Handrail runs would show it",
    "red_then_green": "a check that Handrail runs would show it",
    "person": "a person's answer would show it",
    "changed_in_run": _NOT_LOOKED,
    "path_exists": _NOT_LOOKED,
    "place_exists": _NOT_LOOKED,
    "shape": _NOTHING_SHOWS,
}
"""What would show it, or why nothing did."""


def _describe_unproven(history: History, claims: Sequence[PlacedClaim]) -> str:
    """What rests on the agent's word alone, where some of it need not."""
    own = [one for one in claims if _could_be_proven(one.claim) and not is_unshown(one.claim)]
    if not own:
        return ""
    named: dict[str, str] = {}
    for one in own:
        named.setdefault(_describe_claim(history, one), _describe_proof(history, one))
    # Beside it, what nothing could show, so that the names are as many as the sum counts.
    shown = {text_of(history, one) for one in own}
    for text in list_words(history, claims):
        named |= {} if text in shown else {text: _NOTHING_SHOWS}
    proofs: dict[str, list[str]] = {}
    for text, proof in list(named.items())[:MOST_NAMED]:
        proofs.setdefault(proof, []).append(cut_name(text))
    listed = "; ".join(f"{', '.join(texts)} ({proof})" for proof, texts in proofs.items())
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    return f"only the agent's word: {listed}{more}"


def _describe_proof(history: History, placed: PlacedClaim) -> str:
    """What would show it; where it ran, or was looked at, and nobody can tell all the same: why."""
    claim = placed.claim
    if claim.check == "changed_in_run" and find_baseline(history, placed.node_id) is None:
        return _NOT_LOOKED
    why = claim.fact if claim.refs or claim.verdict == "unknown" else ""
    return why.removeprefix(f"{text_of(history, placed)}: ") or _PROOFS[claim.check]


def _describe_claim(history: History, placed: PlacedClaim) -> str:
    text = text_of(history, placed)
    return without_folder(text) if placed.claim.check in OWN_RUNS else text


def _describe_what_ran(end: RunEnd, doubts: Sequence[Doubt], facts: Facts) -> str:
    """That everything was checked says no more than these commands look at; empty where there is a doubt."""
    worths = {worth_of(placed.claim) for placed in end.claims}
    if any(one.code != "undeclared" for one in doubts) or worths.isdisjoint(("ran", "confirmed")):
        return ""
    names = list(dict.fromkeys(_name_with_command(one) for _, one in end.ran))
    which = f", which {NO_TEST_COUNTED}" if _counts_none(end, facts) else ""
    is_known = not which and facts.keys().isdisjoint((*_LEFT, *_OTHER_TESTS))
    is_all = not doubts and (is_known or "confirmed" in worths)
    parts = [f"what ran: {list_names(names)}{which}"] if names else []
    return "; ".join([*parts, *([ALL_RAN] if doubts else []), *([ALL_CHECKED] if is_all else [])])


def _counts_none(end: RunEnd, facts: Facts) -> bool:
    """Whether nothing that ran counted a test: any program can end with 0."""
    ran = {tick(name_check(one)) for _, one in end.ran}
    return bool(ran) and ran <= {*facts.get("uncounted", ())}


def _name_with_command(receipt: ReceiptRecorded) -> str:
    """A name says nothing about what it starts."""
    started = f" ({name_line(write_line(receipt))})" if receipt.check else ""
    return name_check(receipt) + started


def _could_be_proven(claim: Claim) -> bool:
    """Of a report as a whole, and of a place that is still to be made, nobody has to show anything."""
    is_planned = claim.check in ("path_exists", "place_exists") and claim.verdict == "missing"
    is_whole = claim.check == "shape" and claim.pointer == "/"
    return worth_of(claim) == "claimed" and claim.check in _PROOFS and not is_planned and not is_whole
