"""Whether a step's proof shows what the step requires, and what follows if it does not. Pure.

The problem: a step may require that its change is proven, but a proof cannot be forced if the checks cannot
run here.

The idea: a proof is about two trees. It counts for a step if it begins where the change of the step begins
(`find_base`) and ends with the current files, so one comparison finds a stale one. A step that wants a
proof where possible blocks a run once. A step that requires one blocks it until the word is right or a
person accepts the gap. What cannot be tried, and what only a person can judge (REWROTE, NEW RULES), blocks
no run: it is a gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from handrail.contract.ids import Autonomy, NodeId, ProofWant, RunId
from handrail.contract.wording import list_names
from handrail.engine.events import GapRecorded, GapSeverity
from handrail.engine.facts import list_blockers
from handrail.engine.history import (
    History,
    Node,
    attached_to,
    gaps_at,
    instance_of,
    kept_in_instance,
    list_proofs,
    path_to,
)
from handrail.engine.judge.resolving import list_unresolved
from handrail.engine.navigate import frames_of
from handrail.engine.owners import is_imported
from handrail.engine.reasons import FIX_BYTES, Reason, WaitsFor, WorkflowStep, shorten_message
from handrail.engine.shared_files import shares_directory
from handrail.evidence.proof import (
    FOR_REVIEW,
    LABELS,
    SATISFIED_BY,
    WORST_FIRST,
    Proof,
    ProofWord,
    choose_worst,
)
from handrail.evidence.rendering import describe
from handrail.workflows.compiled import ProofDemand, Step

GAP_NAME = "proof"
"""End of the id of a gap about a proof."""
NO_CHECK = "no check is declared"

_WENT_WRONG: frozenset[ProofWord] = frozenset({"fails", "flaky", "new_rules", "rewrote"})

WANTED: dict[ProofWant, str] = {
    "proved": "PROVED: a test fails without the change and passes with it, and every old test still passes",
    "kept": "KEPT or PROVED: every old test still passes",
    "passes": "a check that passes",
}
"""What a step requires, as the end of a sentence."""

_FIXES: dict[ProofWord | None, str] = {
    None: "Run `{command}` after your last edit, or ask the user to; then send the report again.",
    "kept": "Add a test that fails without your change, run `{command}`, then send the report again.",
    "rewrote": "Bring the old tests back or tell the user why they changed, then send the report again.",
    "fails": "Fix what fails, run `{command}`, then send the report again.",
    "new_rules": "Take the new check rules out or tell the user why, then send the report again.",
    "unseen": "Let the check run the changed files, run `{command}`, then send the report again.",
    "flaky": "Make the test give one answer, run `{command}`, then send the report again.",
    "not_tried": "Ask the user to make `{command}` possible, then send the report again.",
}


class ProofFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What was observed for a step that requires a proof."""

    head: str = ""
    """The git tree of the current files; empty if it is not known."""
    untried: str = ""
    """Why nothing can be tried here; empty if it can."""


class ProofVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What follows from the proofs of a step."""

    reasons: tuple[Reason, ...] = ()
    """Reasons that block the report."""
    gaps: tuple[GapRecorded, ...] = ()
    """Gaps to disclose if the report is accepted."""
    held: tuple[GapRecorded, ...] = ()
    """Gaps that a person can accept while the report is blocked."""
    resolved: tuple[GapRecorded, ...] = ()


NOTHING_WANTED = ProofVerdict()


def find_base(history: History, node_id: NodeId, demand: ProofDemand | None = None) -> str:
    """Return the git tree at which the change of the step at a node begins; empty if it is not known.

    In a loop, that is the entry of the round, unless the step says `base: run`. Otherwise it is the start
    of the run, or the files that were last restored on the way.
    """
    path = path_to(history, node_id)
    frames = frames_of(history.nodes[node_id].state)
    if frames and (demand is None or not demand.base):
        entry = next(node for node in path if frames_of(node.state)[: len(frames)] == frames)
        return _first_tree(history, entry)
    restored = [
        held.fact.git_tree
        for node in path
        for held in history.trees.get(node.node_id, ())
        if held.fact.cause == "restore" and held.fact.git_tree
    ]
    return restored[-1] if restored else _first_tree(history, path[0])


def _first_tree(history: History, node: Node) -> str:
    held = history.trees.get(node.node_id, ())
    return next((one.fact.git_tree for one in held if one.fact.git_tree), "")


def find_word(history: History, node: Node, base: str, head: str) -> tuple[ProofWord | None, list[Proof]]:
    """Return the word of the newest proofs of a step instance for these files, and the proofs, those with
    that word first.

    A proof of another step of the run counts too if it is about the same two trees. For the step's own
    proofs, an unknown base or head matches anything. The word is None if no proof counts.
    """
    instance = instance_of(history, node.node_id)
    own = {instance.node_id, *(kept.node_id for kept in kept_in_instance(history, instance))}
    newest: dict[str, Proof] = {}
    for held in list_proofs(history, node.run_id) if history.proofs else ():
        if is_imported(history, held.index):
            continue  # another store recorded it
        proof, is_own = held.fact.proof, held.fact.node_id in own
        if (proof.base, proof.head) == (base, head) or (is_own and _is_about(proof, base, head)):
            newest[proof.check] = proof
    word = choose_for_step(list(newest.values()))
    order = sorted(newest.values(), key=lambda proof: (proof.word != word, WORST_FIRST.index(proof.word)))
    return word, order


def choose_for_step(proofs: Sequence[Proof]) -> ProofWord | None:
    """Return the word of several checks for a step, or None without a proof.

    A check that went wrong decides for all. Otherwise, one check that proves the change is enough: others,
    such as a style check, need not be affected by it.
    """
    words = [proof.word for proof in proofs]
    wrong = [word for word in words if word in _WENT_WRONG]
    if wrong or not words:
        return choose_worst(wrong) if wrong else None
    return max(words, key=WORST_FIRST.index)


def _is_about(proof: Proof, base: str, head: str) -> bool:
    sides = ((proof.base, base), (proof.head, head))
    return all(not wanted or not own or own == wanted for own, wanted in sides)


def judge_proof(
    history: History, node: Node, step: Step, autonomy: Autonomy, facts: ProofFacts
) -> ProofVerdict:
    """Return what follows from the proofs of a step; nothing if it requires no proof.

    Nothing follows either if children share a directory: it cannot be observed whose change it is, so their
    join is judged.
    """
    demand = step.proof
    if demand is None or shares_directory(history, node):
        return NOTHING_WANTED
    base = find_base(history, node.node_id, demand)
    word, proofs = find_word(history, node, base, facts.head)
    waits = WaitsFor(
        kind="proof",
        state="missing" if word is None else "invalid",
        values={
            "step": step.id,
            "wants": demand.wants,
            "word": word or "",
            "base": base,
            "command": name_command(node.run_id),
        },
    )
    if word is not None and word in SATISFIED_BY[demand.wants]:
        resolved = tuple(resolve_proof_gaps(gaps_at(history, node.node_id), word, base))
        review = word in FOR_REVIEW and not _is_open(history, node, waits)
        gaps = (_make_gap(step, waits, proofs, "warning"),) if review else ()
        return ProofVerdict(gaps=gaps, resolved=resolved)
    if _is_accepted(history, node):
        return NOTHING_WANTED
    lack = describe_lack(demand.wants, word, proofs, facts.untried)
    command = waits.values["command"]
    reason = Reason(
        name="contract_violation:invalid_required_output",
        pointer=WorkflowStep(step_id=step.id),
        waits_for=waits,
        message=shorten_message(f"This step wants {lack}"),
        fix=shorten_message(_FIXES[word].format(command=command), FIX_BYTES),
    )
    if demand.is_required:
        held = () if _is_held(history, node) else (_make_gap(step, waits, proofs, "critical", lack),)
        return ProofVerdict(reasons=(reason,), held=held)
    if _is_open(history, node, waits):
        return NOTHING_WANTED
    is_for_others = bool(facts.untried) or word == "not_tried" or word in FOR_REVIEW
    if autonomy != "full_auto_never_stop" and not is_for_others and not _was_blocked(history, node):
        return ProofVerdict(reasons=(reason,))
    severity: GapSeverity = "info" if word is None and facts.untried else "warning"
    return ProofVerdict(gaps=(_make_gap(step, waits, proofs, severity, lack),))


def name_command(run_id: RunId) -> str:
    """Return the command that proves the change of a run and records the proof there."""
    return f"handrail prove --run {run_id}"


def write_wish(history: History, node: Node, demand: ProofDemand) -> str:
    """Return what the prompt of a step says about its proof; empty if nothing can be tried."""
    checks = history.runs[node.run_id].checks
    if not checks or shares_directory(history, node):
        return ""
    since = " since the start of the run" if demand.base and frames_of(node.state) else ""
    wish = f"This step wants {WANTED[demand.wants]}{since}."
    if all(check.is_approved for check in checks):
        return f"{wish} Handrail tries it when you report; leave your change in place."
    return (
        f"{wish} After your last edit, run: {name_command(node.run_id)}. It works in copies, so leave your "
        "change in place."
    )


def describe_lack(
    wants: ProofWant, word: ProofWord | None, proofs: Sequence[Proof], untried: str = ""
) -> str:
    """Return what a step requires and what it has instead: the end of a sentence, and another sentence."""
    wanted = f"{WANTED[wants]}."
    if word is None:
        return f"{wanted} NOT TRIED: {untried}." if untried else f"{wanted} The present files are not proven."
    worst = proofs[0]
    return f"{wanted} {_describe_proof(worst)}"


def _describe_proof(proof: Proof) -> str:
    names = f": {list_names(proof.names)}" if proof.names and proof.word in FOR_REVIEW else ""
    return f"{LABELS[proof.word]}. {describe(proof)}{names}."


def resolve_proof_gaps(gaps: Iterable[GapRecorded], word: ProofWord, base: str) -> Iterable[GapRecorded]:
    """Yield resolutions of the open proof gaps about the change since this base that a word satisfies."""
    every = list(gaps)
    closed = {gap.resolves_gap_id for gap in every}
    for gap in every:
        held = gap.waits_for
        if held is None or held.kind != "proof" or gap.gap_id in closed or held.values.get("base") != base:
            continue
        satisfying = next(
            (words for want, words in SATISFIED_BY.items() if want == held.values.get("wants")), ()
        )
        if word in satisfying and word not in FOR_REVIEW:
            yield GapRecorded(
                gap_id="",
                severity="info",
                reason="reported",
                summary=f"A later proof says {LABELS[word]}.",
                resolves_gap_id=gap.gap_id,
            )


def _make_gap(
    step: Step, waits: WaitsFor, proofs: Sequence[Proof], severity: GapSeverity, lack: str = ""
) -> GapRecorded:
    return GapRecorded(
        gap_id=GAP_NAME,
        severity=severity,
        reason="reported" if severity == "info" else "contract_violation:invalid_required_output",
        summary=shorten_message(f"“{step.title}” wants {lack}" if lack else _describe_proof(proofs[0])),
        waits_for=msgspec.structs.replace(waits, values=waits.values | {"title": step.title}),
    )


def _is_open(history: History, node: Node, waits: WaitsFor) -> bool:
    """Whether an earlier step required the same of the same change, and its gap is still open."""
    names = ("wants", "word", "base")
    for gap in list_unresolved(gaps_at(history, node.node_id)):
        held = gap.waits_for
        is_of_proof = held is not None and held.kind == "proof"
        if held and is_of_proof and all(held.values.get(name) == waits.values[name] for name in names):
            return True
    return False


def _was_blocked(history: History, node: Node) -> bool:
    blockers = list_blockers(history, node)
    return any(one.waits_for is not None and one.waits_for.kind == "proof" for one in blockers)


def _list_held(history: History, node: Node) -> list[GapRecorded]:
    """Return the proof gaps of a step instance that were recorded while its reports were blocked."""
    instance = instance_of(history, node.node_id)
    nodes = (instance, *kept_in_instance(history, instance))
    every = [gap for one in nodes for gap in attached_to(history, one.node_id).gaps]
    return [gap for gap in every if gap.waits_for is not None and gap.waits_for.kind == "proof"]


def _is_held(history: History, node: Node) -> bool:
    return bool(_list_held(history, node))


def _is_accepted(history: History, node: Node) -> bool:
    """Whether a person accepted that the proof of this step is missing or not right."""
    held = {gap.gap_id for gap in _list_held(history, node)}
    return any(
        gap.resolves_gap_id in held and gap.reason == "settled_by_person"
        for gap in gaps_at(history, node.node_id)
    )
