"""What an agent sends, within its limits, and what a decision about it needs from outside the log.

A report is the goal of a session, then notes, artifacts and context. Everything else that a decision needs
is read before the session is locked.
"""

from typing import Annotated, Any, cast

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import CONTEXT_BUDGET_EXCEEDED, VALIDATION_ERROR, Kind
from handrail.contract.ids import Autonomy, Confirmations, ObservationKey, PresetName, RiskPolicy, blob_ref
from handrail.contract.json.canonical import canonical_bytes, digest
from handrail.contract.outcome import Fault, Json, refuse_argument
from handrail.contract.redaction import Secrets
from handrail.engine.decide import find_refused_values, plan_attempt_look
from handrail.engine.events import PreferencesDelta
from handrail.engine.facts import (
    PRESETS,
    RECAP_EXCERPT_BYTES,
    Helper,
    WorkDone,
    encode_project,
    find_long_notes,
)
from handrail.engine.gathered import Gathered
from handrail.engine.history import History, Node, Run, context_at, merge_context
from handrail.engine.judge.arrival import may_ask, named_confirmer
from handrail.engine.judge.artifacts import check_context_change
from handrail.engine.judge.report_frame import find_marks
from handrail.engine.navigate import Running, leaf_at
from handrail.engine.owners import refuse_context
from handrail.operations.handles import LONGEST_WORKER, WORKER_RULE, Prepared, is_worker
from handrail.operations.proof_trees import gather_proof_facts
from handrail.operations.replies import load_handed
from handrail.operations.same_project import find_own_project, settle_project
from handrail.ports.log import Blob, EventReader
from handrail.runtime.operation import Input
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.sessions import Session, load_pinned_workflow
from handrail.workflows.compiled import CompiledWorkflow, Step

NOTES_LIMIT_BYTES = 65_536
CONTEXT_LIMIT_BYTES = 262_144
MOST_ARTIFACTS = 32
ARTIFACT_LIMIT_BYTES = 65_536
ARTIFACTS_LIMIT_BYTES = 262_144
MOST_UNFILLED = 10
"""Most unfilled places that one refusal names."""
_FORBIDDEN_KEYS = ("__proto__", "constructor", "prototype")


class Output(Input, frozen=True, kw_only=True):
    """The report of an agent: the only way to write something durable."""

    notes_markdown: Annotated[str, msgspec.Meta(description="This step alone; Markdown up to 64 KB.")] = ""
    artifacts: Annotated[
        list[dict[str, Any]],
        msgspec.Meta(description="What the step asks for, each with a kind."),
    ] = []


def read_report(
    output: Output | msgspec.UnsetType,
    context: dict[str, Any] | msgspec.UnsetType,
    secrets: Secrets,
    option: int | None = None,
) -> WorkDone:
    """Return the report in the form that decisions take, without the secrets that this process knows.

    Raise Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED; then nothing was stored.
    """
    notes = "" if output is msgspec.UNSET else secrets.redact_text(output.notes_markdown)
    artifacts = [] if output is msgspec.UNSET else cast("list[Any]", secrets.redact_json(output.artifacts))
    delta = {} if context is msgspec.UNSET else cast("dict[str, Any]", secrets.redact_json(context))
    problems = [*_notes_problems(notes), *_artifact_problems(artifacts)]
    if problems:
        raise refuse_report(problems)
    check_context(delta)
    check_filled_in(notes, artifacts, delta)
    is_long = len(notes.encode()) > RECAP_EXCERPT_BYTES
    return WorkDone(
        input_digest=_input_digest(notes, delta, artifacts, option),
        notes=notes,
        notes_ref=blob_ref(notes.encode()) if is_long else None,
        context=delta,
        artifacts=tuple(artifacts),
        option=option,
    )


def blobs_of(work: WorkDone) -> tuple[Blob, ...]:
    """Return the blobs of a report: notes that are too long for an event."""
    return () if work.notes_ref is None else (Blob(ref=work.notes_ref, content=work.notes.encode()),)


def check_context(context: dict[str, Any]) -> None:
    """Raise Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED if the context is not acceptable."""
    forbidden = sorted(key for key in context if key in _FORBIDDEN_KEYS)
    if forbidden:
        raise refuse_report([{"param": f"context.{key}", "problem": "reserved name"} for key in forbidden])
    size = _canonical_size(("context",), context)
    if size > CONTEXT_LIMIT_BYTES:
        raise _too_large("The context has", size)


def check_merged(history: History, node: Node, delta: dict[str, Any]) -> None:
    """Check that the context of a branch stays within the limit that also applies to one call.

    Raise Fault CONTEXT_BUDGET_EXCEEDED. If an older log has more than the limit, the context may only
    shrink.
    """
    if not delta:
        return
    held = context_at(history, node.node_id)
    size = len(canonical_bytes(merge_context(held, delta)))
    if size > CONTEXT_LIMIT_BYTES and size > len(canonical_bytes(held)):
        raise _too_large("With what was sent before, the context would have", size)


def _too_large(what: str, size: int) -> Fault:
    return Fault(
        CONTEXT_BUDGET_EXCEEDED,
        f"{what} {size} bytes, {CONTEXT_LIMIT_BYTES} at most; nothing was stored. Null deletes a key.",
        details={"measured": size, "limit": CONTEXT_LIMIT_BYTES, "method": "RFC 8785 bytes"},
    )


MOST_GOAL_BYTES = 4_096
"""Most bytes of a goal. It is stored whole; lists show its beginning."""
Goal = Annotated[str, msgspec.Meta(description="What the user wants.", max_length=MOST_GOAL_BYTES)]


def check_goal_size(given: str | msgspec.UnsetType) -> str:
    """Return the goal; empty if none is given.

    Raise Fault VALIDATION_ERROR if it is too long.
    """
    goal = "" if given is msgspec.UNSET else given.strip()
    size = len(goal.encode("utf-8", "replace"))
    if size > MOST_GOAL_BYTES:
        most = f"{MOST_GOAL_BYTES} bytes at most"
        raise refuse_argument("The goal is too long.", "goal", f"{size} bytes", most)
    return goal


def read_preferences(
    preset: PresetName | UnsetType,
    autonomy: Autonomy | UnsetType,
    risk_policy: RiskPolicy | UnsetType,
    kind: Kind = VALIDATION_ERROR,
) -> PreferencesDelta:
    """Return the preferences that the caller asks for.

    Raise a Fault of this kind if a preset comes together with a value that it sets.
    """
    if preset is UNSET:
        return PreferencesDelta(autonomy=autonomy or None, risk_policy=risk_policy or None)
    if autonomy is not UNSET or risk_policy is not UNSET:
        message = "A preset sets autonomy and risk policy; give it alone, or the two without it."
        raise refuse_argument(message, "preset", "sets both already", "the preset alone", kind=kind)
    return PreferencesDelta(autonomy=PRESETS[preset].autonomy, risk_policy=PRESETS[preset].risk_policy)


def check_filled_in(notes: str, artifacts: list[dict[str, Any]], context: dict[str, Any]) -> None:
    """Refuse a frame or an example that came back unchanged, because it is not a report.

    Raise Fault VALIDATION_ERROR that names every such place.
    """
    sent = [
        *find_marks(notes, "output.notesMarkdown"),
        *find_marks(artifacts, "output.artifacts"),
        *find_marks(context, "context"),
    ]
    if sent:
        expected = "your own value; an optional one can be left out"
        problems: list[dict[str, Json]] = [
            {"param": name, "problem": f"still holds the placeholder {mark}", "expected": expected}
            for name, mark in list(dict(sent).items())[:MOST_UNFILLED]
        ]
        raise refuse_report(problems)


def check_change(history: History, workflow: CompiledWorkflow, node: Node, work: WorkDone) -> None:
    """Check a change of context against the declared inputs and the values that a person gave.

    Raise Fault VALIDATION_ERROR with every problem.
    """
    problems = find_refused_values(history, workflow, node, work)
    problems += check_context_change(workflow.inputs, work.context)
    if problems:
        raise refuse_context(problems)


def refuse_report(problems: list[dict[str, Json]]) -> Fault:
    """Return the refusal that names the first problem and counts the others."""
    first = problems[0]
    more = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
    message = f"{first['param']}: {first['problem']}{more}; nothing was stored."
    return Fault(VALIDATION_ERROR, message, details={"problems": problems})


def _notes_problems(notes: str) -> list[dict[str, Json]]:
    try:
        size = len(notes.encode())
    except UnicodeEncodeError as error:
        return [
            {
                "param": "output.notesMarkdown",
                "problem": f"character {error.start + 1} is half of a surrogate pair",
                "expected": "Unicode text",
            }
        ]
    if size <= NOTES_LIMIT_BYTES:
        return []
    return [
        {
            "param": "output.notesMarkdown",
            "problem": f"{size} bytes are more than {NOTES_LIMIT_BYTES}",
            "expected": "shorter notes, or a file that the notes name",
        }
    ]


def _artifact_problems(artifacts: list[dict[str, Any]]) -> list[dict[str, Json]]:
    if len(artifacts) > MOST_ARTIFACTS:
        problem = f"{len(artifacts)} artifacts are more than {MOST_ARTIFACTS}"
        return [{"param": "output.artifacts", "problem": problem, "expected": "fewer artifacts"}]
    problems: list[dict[str, Json]] = []
    total = 0
    for place, body in enumerate(artifacts):
        param = f"output.artifacts[{place}]"
        kind = body.get("kind")
        if not isinstance(kind, str) or not kind or len(kind) > 128:
            expected = "the kind of artifact that the step asks for"
            problem = "not a text of 1 to 128 characters" if kind else "missing"
            problems.append({"param": f"{param}.kind", "problem": problem, "expected": expected})
        size = _canonical_size(("output", "artifacts", str(place)), body)
        total += size
        if size > ARTIFACT_LIMIT_BYTES:
            problem = f"{size} bytes are more than {ARTIFACT_LIMIT_BYTES}"
            problems.append({"param": param, "problem": problem, "expected": "a smaller artifact"})
    if total > ARTIFACTS_LIMIT_BYTES and not problems:
        problem = f"{total} bytes together are more than {ARTIFACTS_LIMIT_BYTES}"
        problems.append({"param": "output.artifacts", "problem": problem, "expected": "fewer of them"})
    return problems


def _canonical_size(path: tuple[str, ...], value: Json) -> int:
    """Return the size of a part of the call in RFC 8785 bytes.

    Raise Fault E_VALIDATION that names the place in the whole call, not in the part.
    """
    try:
        return len(canonical_bytes(value))
    except Fault:
        for name in reversed(path):
            value = {name: value}
        return len(canonical_bytes(value))  # refused again below, with its place in the whole call


def _input_digest(
    notes: str, context: dict[str, Any], artifacts: list[dict[str, Any]], option: int | None
) -> str:
    sent: dict[str, Json] = {"notesMarkdown": notes, "context": context}
    if artifacts:
        sent["artifacts"] = list(artifacts)
    if option is not None:
        sent["option"] = option
    return digest(sent)


# Gathering


def observe_surroundings(
    rt: ReadPorts, own_project: str | None, project: str | UnsetType
) -> dict[ObservationKey, str]:
    """Return branch, head and repository of the run's project, or of the caller's if that is not available.

    They help to find work again. Empty if the directory is gone: a report must not fail because of that.
    """
    try:
        return rt.workspace.observations(own_project or project_of(rt, project))
    except Fault:
        return {}


def _name_worker(rt: ReadPorts, worker: str | UnsetType) -> str:
    """Return the helper's own name: from the call, else from HANDRAIL_WORKER."""
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
    """Load the workflow of an attempt, and read the files that its report names.

    Raise Fault VALIDATION_ERROR if a helper gives its name in a run that was not delegated, or gives an
    empty name.
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
        expected = "a run that was delegated: a step with children names its work tokens"
        raise refuse_report(
            [{"param": "worker", "problem": "this run is no delegated work", "expected": expected}]
        )
    gathered = Gathered(
        workflow=workflow,
        work=work,
        seen=observe_surroundings(rt, own, project),
        kept_notes=load_kept_notes(rt.log, history, node),
        confirmations=find_confirmations(rt, workflow, node, run, own),
        can_ask=rt.can_ask,
        has_confirmer=_has_confirmer(rt, history, workflow, node),
        handed=load_handed(rt.log, history, run, workflow),
        helper=helper,
    )
    leaf = leaf_at(workflow, node.state) if isinstance(node.state, Running) else None
    if isinstance(leaf, Step) and leaf.proof is not None:
        gathered = msgspec.structs.replace(gathered, proof_facts=gather_proof_facts(rt, run, own))
    prepared = Prepared(gathered=gathered, blobs=blobs_of(work), project=own)
    wanted = plan_attempt_look(history, workflow, node, work.artifacts)
    if wanted is None:
        return prepared
    from handrail.operations.looking import look  # noqa: PLC0415 - notes alone name no file

    seen = look(rt, history, node, wanted, own)
    sighting = msgspec.structs.replace(seen.sighting, machine=rt.team_client)
    gathered = msgspec.structs.replace(gathered, sighting=sighting)
    return msgspec.structs.replace(prepared, gathered=gathered, tree=seen.tree)


def _has_confirmer(rt: WritePorts, history: History, workflow: CompiledWorkflow, node: Node) -> bool:
    """Whether an account in the workspace may give the confirmation that the step's author requires."""
    if rt.members is None or not isinstance(node.state, Running):
        return False
    from handrail.runtime.who_confirms import has_confirmer  # noqa: PLC0415 - only a team has accounts

    return has_confirmer(rt, history, node, named_confirmer(leaf_at(workflow, node.state)))


def find_confirmations(
    rt: ReadPorts, workflow: CompiledWorkflow, node: Node, run: Run, project: str | None
) -> Confirmations:
    """Return whose approval the pending step needs, if it may ask for a confirmation.

    A setting from the start of the run stays in force; a stricter one now counts too. A project whose
    settings cannot be read adds nothing to the user's own.
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


def load_kept_notes(reader: EventReader, history: History, node: Node) -> str:
    """Return the notes of the blocked attempt that a retry reuses, if the event has only a part of them."""
    ref = find_long_notes(history, node)
    return "" if ref is None else reader.get_blob(ref).decode()
