"""Gathering: everything that a decision needs from outside the log is read before the session is held."""

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.ids import Confirmations, ObservationKey
from handrail.contract.outcome import Fault
from handrail.engine.ask import may_ask
from handrail.engine.decide import Gathered, plan_attempt_look
from handrail.engine.facts import Helper, WorkDone, encode_project, find_long_notes
from handrail.engine.history import History, Node, Run
from handrail.engine.judge.arrival import named_confirmer
from handrail.engine.navigate import Running, leaf_at
from handrail.operations.handles import LONGEST_WORKER, WORKER_RULE, Prepared, is_worker
from handrail.operations.replies import load_handed, load_pinned_workflow
from handrail.operations.report import blobs_of, refuse_report
from handrail.operations.same_project import find_own_project, settle_project
from handrail.ports.log import EventReader
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.sessions import Session, read_session
from handrail.workflows.compiled import CompiledWorkflow


def observe_surroundings(
    rt: ReadPorts, own_project: str | None, project: str | UnsetType
) -> dict[ObservationKey, str]:
    """Branch, head and repository of the run's project, or where the call comes from if that is not at hand.

    They help to find work again. Empty if the directory is gone: a report must not fail because of that.
    """
    try:
        return rt.workspace.observations(own_project or project_of(rt, project))
    except Fault:
        return {}


def _name_worker(rt: ReadPorts, worker: str | UnsetType) -> str:
    """What a helper calls itself: with the call, else by HANDRAIL_WORKER."""
    if worker is not UNSET:
        return worker
    named = rt.workspace.worker()
    if named and (len(named) > LONGEST_WORKER or not is_worker(named)):
        expected = f"{WORKER_RULE.expected}, at most {LONGEST_WORKER}"
        raise refuse_report(
            [{"param": "HANDRAIL_WORKER", "problem": WORKER_RULE.problem, "expected": expected}]
        )
    return named


def gather(
    rt: WritePorts,
    session: Session,
    node: Node,
    work: WorkDone,
    project: str | UnsetType,
    worker: str | UnsetType = UNSET,
) -> Prepared:
    """Load the workflow of an attempt, and look at what its report names.

    Raises Fault VALIDATION_ERROR where a helper names itself in a run that nobody handed out, or by no name.
    """
    history = session.history
    run = history.runs[node.run_id]
    workflow = load_pinned_workflow(rt.log, run.workflow_hash)
    own = find_own_project(rt.workspace, rt.places, run, project)
    helper: Helper | None = None
    if run.parent is not None:
        settled = settle_project(rt, run, project, own)
        own = settled or own
        place = None if settled is None else encode_project(settled)
        helper = Helper(project=place, worker=rt.secrets.redact_text(_name_worker(rt, worker)))
    elif worker is not UNSET:
        expected = "a run that was handed out: a step with children names its work tokens"
        raise refuse_report(
            [{"param": "worker", "problem": "nobody handed out this run", "expected": expected}]
        )
    gathered = Gathered(
        workflow=workflow,
        work=work,
        seen=observe_surroundings(rt, own, project),
        kept_notes=_load_kept_notes(rt.log, history, node),
        confirmations=find_confirmations(rt, workflow, node, run, own),
        can_ask=rt.can_ask,
        has_confirmer=_has_confirmer(rt, history, workflow, node),
        handed=load_handed(rt.log, history, run, workflow),
        helper=helper,
    )
    prepared = Prepared(gathered=gathered, blobs=blobs_of(work), project=own)
    wanted = plan_attempt_look(history, workflow, node, work.artifacts, work.context)
    if wanted is None:
        return prepared
    from handrail.operations.declared_checks import list_approved  # noqa: PLC0415 - notes alone name no file
    from handrail.operations.looking import look  # noqa: PLC0415 - notes alone name no file

    # Not as this process saw it last: another one may have run the check of this step since.
    current = read_session(rt.log, history.session_id) or session
    seen = look(rt, current.history, current.history.nodes[node.node_id], wanted, own)
    approved = list_approved(rt, run, own)
    sighting = msgspec.structs.replace(seen.sighting, machine=rt.companion, approved=approved)
    gathered = msgspec.structs.replace(gathered, sighting=sighting)
    return msgspec.structs.replace(prepared, gathered=gathered, tree=seen.tree)


def _has_confirmer(rt: WritePorts, history: History, workflow: CompiledWorkflow, node: Node) -> bool:
    """Whether an account may give what the pending step wants of somebody whom its author names."""
    if rt.members is None or not isinstance(node.state, Running):
        return False
    from handrail.runtime.who_confirms import has_confirmer  # noqa: PLC0415 - only a team has accounts

    return has_confirmer(rt, history, node, named_confirmer(leaf_at(workflow, node.state)))


def find_confirmations(
    rt: ReadPorts, workflow: CompiledWorkflow, node: Node, run: Run, project: str | None
) -> Confirmations:
    """Whose word counts, where the pending step may ask for a confirmation.

    What was in force when the run began stays; what is stricter now counts too. A project whose settings
    cannot be read adds nothing to what its user set.
    """
    leaf = leaf_at(workflow, node.state) if isinstance(node.state, Running) else None
    if leaf is None or not may_ask(leaf):
        return "claimed"
    if run.confirmations == "person":
        return "person"
    try:
        return rt.settings.of(project or "").confirmations
    except Fault:
        return rt.settings.of().confirmations


def _load_kept_notes(reader: EventReader, history: History, node: Node) -> str:
    """The notes of the blocked attempt that a retry here counts, if the event has only a part of them."""
    ref = find_long_notes(history, node)
    return "" if ref is None else reader.get_blob(ref).decode()
