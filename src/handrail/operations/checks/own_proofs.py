"""Proves a change inside `run.continue`: Handrail runs approved, short checks before it judges the report.

No session is locked while a check runs. Only a process that the user's client or shell started does this,
and only for exactly the declaration that a person approved on this machine.
"""

from __future__ import annotations

from handrail.engine.history import Node
from handrail.engine.judge.proofs import find_base, find_word
from handrail.engine.navigate import Running, leaf_at
from handrail.engine.shared_files import shares_directory
from handrail.evidence.proof import Proof
from handrail.operations.checks.compared_ends import FoundCheck, Untried, find_declared_checks, find_ends
from handrail.operations.checks.prove_in_run import ProvenRun, record_proofs
from handrail.operations.checks.trial_runs import ProofAsk, prove_check
from handrail.operations.declared_checks import digest_check
from handrail.operations.handles import Prepared
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.runtime.sessions import Session, read_session
from handrail.workflows.compiled import Step

MOST_MS = 40_000
"""Most milliseconds for all checks of one call."""
USUAL_RUNS = 3
"""How often a check runs in the proof of a fix."""
SPARED_MS = 2_000
"""Milliseconds of the call that are reserved for judging and answering."""


def prove_for_report(rt: WritePorts, session: Session, prepared: Prepared, node: Node) -> Session | None:
    """Prove the change of a step that needs a proof and has none; return the session with what was
    recorded. None if nothing was recorded, so that the gathered facts are still valid.
    """
    project, facts = prepared.project, prepared.gathered.proof_facts
    if project is None or facts is None or not facts.head or rt.is_served:
        return None
    if shares_directory(session.history, node):
        return None  # the step that joins the child runs is asked instead
    assert isinstance(node.state, Running), "a step that wants a proof is pending"
    leaf = leaf_at(prepared.gathered.workflow, node.state)
    demand = leaf.proof if isinstance(leaf, Step) else None
    # Read again: `handrail prove` may have recorded a proof since this process read the session.
    session = read_session(rt.log, session.history.session_id) or session
    base = find_base(session.history, node.node_id, demand)
    if find_word(session.history, node, base, facts.head)[0] is not None:
        return None
    proofs = _prove_short_checks(rt, project, base)
    if not proofs:
        return None
    target = ProvenRun(session=session, node=node, base=base, step_id=leaf.id)
    return record_proofs(rt, target, proofs)


def _prove_short_checks(rt: WritePorts, project: str, base: str) -> list[Proof]:
    """Return the proofs of the approved checks that fit into the call; empty if none does."""
    try:
        ends = find_ends(rt, project, "", "", base)
        found = find_declared_checks(rt, project, ends, ())
    except Untried as trouble:
        return [Proof(word="not_tried", reason=str(trouble))]
    left_ms = _find_time_left(rt)
    proofs: list[Proof] = []
    with rt.interruptions.defer():
        for one in found:
            if not _is_short(rt, project, one, left_ms):
                continue
            rt.progress.write(f"handrail: proving the change with the approved check {one.check.name}\n")
            began = rt.clock.monotonic_ms()
            proof = prove_check(rt, project, ProofAsk(found=one, ends=ends, most_ms=left_ms))
            spent_ms = rt.clock.monotonic_ms() - began
            if rt.interruptions.stop_reason():
                break
            if spent_ms >= left_ms:  # out of time: the reply has the command instead
                rt.known_checks().keep_run(project, digest_check(one.check), None)
                break
            left_ms -= spent_ms
            proofs.append(proof)
    return proofs


def _find_time_left(rt: ReadPorts) -> int:
    left = rt.interruptions.ms_left()
    return MOST_MS if left is None else min(MOST_MS, left - SPARED_MS)


def _is_short(rt: ReadPorts, project: str, found: FoundCheck, left_ms: int) -> bool:
    """Whether a check is approved as declared, and is known to fit into the rest of the call."""
    known = rt.known_checks().find(project, digest_check(found.check))
    return known.is_approved and known.duration_ms is not None and USUAL_RUNS * known.duration_ms <= left_ms
