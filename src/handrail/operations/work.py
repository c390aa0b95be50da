"""What an agent reports: notes, artifacts and context, checked against their limits before a decision.

Also what comes with a report: the project of its run, the surroundings of the caller, and the rule that the
tokens of one call come from one reply.
"""

from typing import Annotated, Any, cast

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import CONTEXT_BUDGET_EXCEEDED, TOKEN_SCOPE_MISMATCH, VALIDATION_ERROR
from handrail.contract.ids import Confirmations, ObservationKey, blob_ref
from handrail.contract.json.canonical import canonical_bytes, digest
from handrail.contract.outcome import Fault, Json
from handrail.contract.redaction import Secrets
from handrail.contract.tokens.workflow import AckClaims, CheckpointClaims, ChoiceClaims, WorkClaims
from handrail.contract.wording import quote
from handrail.engine.ask import find_refused_values, may_ask
from handrail.engine.decide import Gathered, plan_attempt_look
from handrail.engine.facts import RECAP_EXCERPT_BYTES, Helper, WorkDone, encode_project, find_long_notes
from handrail.engine.history import History, Node, Run, context_at, merge_context
from handrail.engine.judge.artifacts import check_context_change
from handrail.engine.judge.report_frame import find_marks
from handrail.engine.navigate import Running, leaf_at
from handrail.engine.owners import refuse_context
from handrail.engine.reply import ReplyWarning
from handrail.operations.handles import AttemptClaims, Handle, Prepared, node_of, session_of
from handrail.operations.replies import load_handed, load_pinned_workflow
from handrail.operations.same_project import is_project
from handrail.ports.log import Blob, EventReader
from handrail.ports.process import Keys
from handrail.ports.workspace import ProjectPlaces, Workspace
from handrail.runtime.operation import Input, ValueRule
from handrail.runtime.runtime import Runtime, project_of
from handrail.runtime.sessions import Session
from handrail.workflows.compiled import CompiledWorkflow

REQUEST_ID_PATTERN = r"^[A-Za-z0-9._:-]{1,128}$"
LONGEST_WORKER = 64
Worker = Annotated[
    str, msgspec.Meta(description="Your name, of work handed to you.", max_length=LONGEST_WORKER)
]
"""What a helper calls itself: its own word, and shown as such."""


def is_worker(name: object) -> bool:
    is_text = isinstance(name, str) and name.isascii() and name[:1].isalnum()
    return is_text and all(one.isalnum() or one in "._:@-" for one in str(name))


WORKER_RULE = ValueRule(
    fits=is_worker,
    problem="is no name of a helper",
    expected="letters, digits and . _ : @ - after a letter or digit",
)

# The project of a run is the one that it was begun in, whichever directory a call comes from or names
#
# Its files are looked at, its settings count and its trees are kept: no call escapes them by naming another.


def find_own_project(
    workspace: Workspace, places: ProjectPlaces, run: Run, asked: str | UnsetType
) -> str | None:
    """The directory of the run's project; None: it is not at hand.

    Logs of older versions do not tell it: then the directory of the call stands for it.
    """
    begun = run.project
    if begun is not None and run.parent is not None:  # a child has one directory, and no clone of it
        begun = msgspec.structs.replace(begun, identity="")
    for named in dict.fromkeys(("" if asked is UNSET else asked, "")):
        project = _resolve(workspace, named)
        if project is not None and (begun is None or is_project(workspace, begun, project)):
            return project
    kept = None if begun is None else places.find(begun.directory)
    project = None if kept is None else _resolve(workspace, kept)
    if project is None or begun is None or not is_project(workspace, begun, project):
        return None
    return project


def warn_of_other_project(workspace: Workspace, run: Run, asked: str | UnsetType) -> tuple[ReplyWarning, ...]:
    """What a reply says to a call that names another project; from the call and the log, as its replay."""
    if asked is UNSET or run.project is None:
        return ()
    project = _resolve(workspace, asked)
    if project is not None and is_project(workspace, run.project, project):
        return ()
    message = f"The run belongs to the project {quote(run.project.name)}; {quote(asked)} was not used."
    details = {"project": run.project.name}
    return (ReplyWarning(code="PROJECT_NOT_USED", message=message[:500], details=details),)


def _resolve(workspace: Workspace, named: str) -> str | None:
    try:
        return workspace.project(named)
    except Fault:
        return None


# Surroundings: help to find work again, and are never required


def observe_surroundings(
    rt: Runtime, own_project: str | None, project: str | UnsetType
) -> dict[ObservationKey, str]:
    """Branch, head and repository of the run's project, or where the call comes from if that is not at hand.

    Empty if the directory is gone: a report must not fail because of that.
    """
    try:
        return rt.workspace.observations(own_project or project_of(rt, project))
    except Fault:
        return {}


# Gathering: everything that a decision needs is read before the session is held


def gather(
    rt: Runtime,
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
        from handrail.operations.child_projects import settle_project  # noqa: PLC0415 - few runs were handed out

        settled = settle_project(rt, run, project, own)
        own = settled or own
        place = None if settled is None else encode_project(settled)
        helper = Helper(project=place, worker=rt.secrets.redact_text(_name_worker(rt, worker)))
    elif worker is not UNSET:
        expected = "a run that was handed out: a step with children names its work tokens"
        raise _refuse([{"param": "worker", "problem": "nobody handed out this run", "expected": expected}])
    gathered = Gathered(
        workflow=workflow,
        work=work,
        seen=observe_surroundings(rt, own, project),
        kept_notes=_load_kept_notes(rt.log, history, node),
        confirmations=find_confirmations(rt, workflow, node, run, own),
        can_ask=rt.can_ask,
        handed=load_handed(rt.log, history, run, workflow),
        helper=helper,
    )
    prepared = Prepared(gathered=gathered, blobs=blobs_of(work), project=own)
    wanted = plan_attempt_look(history, workflow, node, work.artifacts, work.context)
    if wanted is None:
        return prepared
    from handrail.operations.looking import look  # noqa: PLC0415 - notes alone name no file

    seen = look(rt, history, node, wanted, own)
    sighting = msgspec.structs.replace(seen.sighting, machine=rt.companion)
    gathered = msgspec.structs.replace(gathered, sighting=sighting)
    return msgspec.structs.replace(prepared, gathered=gathered, tree=seen.tree)


def find_confirmations(
    rt: Runtime, workflow: CompiledWorkflow, node: Node, run: Run, project: str | None
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


# Two tokens in one call must come from one reply


def require_one_reply(
    reader: EventReader,
    keys: Keys,
    handle: Handle[AckClaims | ChoiceClaims] | Handle[CheckpointClaims],
    operation: str,
    request: Input,
) -> None:
    """Raises Fault TOKEN_SCOPE_MISMATCH unless the tokens of a call come from one reply."""
    acting = handle.claims
    for state in handle.beside:
        if isinstance(state, WorkClaims):
            _require_child(reader, acting, state)
        elif (state.session_id, state.node_tag) != (acting.session_id, acting.node_tag):
            from handrail.operations.mixed_tokens import refuse_mixed_tokens  # noqa: PLC0415 - only this

            raise refuse_mixed_tokens(reader, keys, acting, state, operation, request)


def _require_child(reader: EventReader, acting: AttemptClaims, work: WorkClaims) -> None:
    """Raises Fault TOKEN_SCOPE_MISMATCH unless a token is of the run that was handed out."""
    if acting.session_id == work.session_id:
        history = session_of(reader, work).history
        if node_of(history, acting).run_id == node_of(history, work).run_id:
            return
    message = "The tokens of this call are of different runs; nothing was done."
    hint = "Send the work token alone as stateToken to read its step, and the ackToken of that reply."
    raise Fault(TOKEN_SCOPE_MISMATCH, message, hint=hint)


# The report

NOTES_LIMIT_BYTES = 65_536
CONTEXT_LIMIT_BYTES = 262_144
MOST_ARTIFACTS = 32
ARTIFACT_LIMIT_BYTES = 65_536
ARTIFACTS_LIMIT_BYTES = 262_144
MOST_UNFILLED = 10
"""Unfilled places that one refusal names."""
_FORBIDDEN_KEYS = ("__proto__", "constructor", "prototype")


class Output(Input, frozen=True, kw_only=True):
    """The one durable write path of an agent."""

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
    """The report in the form that decisions take, without the secrets that this process knows.

    Raises Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED; nothing was stored then.
    """
    notes = "" if output is msgspec.UNSET else secrets.redact_text(output.notes_markdown)
    artifacts = [] if output is msgspec.UNSET else cast("list[Any]", secrets.redact_json(output.artifacts))
    delta = {} if context is msgspec.UNSET else cast("dict[str, Any]", secrets.redact_json(context))
    problems = [*_notes_problems(notes), *_artifact_problems(artifacts)]
    if problems:
        raise _refuse(problems)
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
    """The blobs that a report brings: notes too long for an event."""
    return () if work.notes_ref is None else (Blob(ref=work.notes_ref, content=work.notes.encode()),)


def _load_kept_notes(reader: EventReader, history: History, node: Node) -> str:
    """The notes of the blocked attempt that a retry here counts, if the event has only a part of them."""
    ref = find_long_notes(history, node)
    return "" if ref is None else reader.get_blob(ref).decode()


def check_context(context: dict[str, Any]) -> None:
    """Raises Fault VALIDATION_ERROR or CONTEXT_BUDGET_EXCEEDED."""
    forbidden = sorted(key for key in context if key in _FORBIDDEN_KEYS)
    if forbidden:
        raise _refuse([{"param": f"context.{key}", "problem": "reserved name"} for key in forbidden])
    size = _canonical_size(("context",), context)
    if size > CONTEXT_LIMIT_BYTES:
        raise _too_large("The context has", size)


def check_merged(history: History, node: Node, delta: dict[str, Any]) -> None:
    """The context of a branch has the same limit as that of a call.

    Raises Fault CONTEXT_BUDGET_EXCEEDED. What an older log holds beyond the limit may only shrink.
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
"""A goal is stored whole; lists show its beginning."""
Goal = Annotated[
    str, msgspec.Meta(description="What the user wants; up to 4096 bytes.", max_length=MOST_GOAL_BYTES)
]


def check_goal_size(goal: str) -> str:
    """The goal itself.

    Raises Fault VALIDATION_ERROR where it is too long.
    """
    size = len(goal.encode("utf-8", "replace"))
    if size > MOST_GOAL_BYTES:
        expected = f"{MOST_GOAL_BYTES} bytes at most"
        problem = {"param": "goal", "problem": f"{size} bytes", "expected": expected}
        raise Fault(VALIDATION_ERROR, "The goal is too long.", details={"problems": [problem]})
    return goal


def check_filled_in(notes: str, artifacts: list[dict[str, Any]], context: dict[str, Any]) -> None:
    """Refuse a frame or an example that came back unchanged: it is not a report.

    Raises Fault VALIDATION_ERROR that names every place.
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
        raise _refuse(problems)


def check_change(history: History, workflow: CompiledWorkflow, node: Node, work: WorkDone) -> None:
    """A change of context against the declared inputs, and against whose values are in force.

    Raises Fault VALIDATION_ERROR with every problem.
    """
    problems = find_refused_values(history, workflow, node, work)
    problems += check_context_change(workflow.inputs, work.context)
    if problems:
        raise refuse_context(problems)


def _name_worker(rt: Runtime, worker: str | UnsetType) -> str:
    """What a helper calls itself: with the call, else by HANDRAIL_WORKER."""
    if worker is not UNSET:
        return worker
    named = rt.workspace.worker()
    if named and (len(named) > LONGEST_WORKER or not is_worker(named)):
        told: dict[str, Json] = {"param": "HANDRAIL_WORKER", "problem": WORKER_RULE.problem}
        raise _refuse([told | {"expected": f"{WORKER_RULE.expected}, at most {LONGEST_WORKER}"}])
    return named


def _refuse(problems: list[dict[str, Json]]) -> Fault:
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
    """How many RFC 8785 bytes a part of the call has.

    Raises Fault E_VALIDATION that names the place in the whole call, not in the part.
    """
    try:
        return len(canonical_bytes(value))
    except Fault:
        from handrail.contract.json.trouble import explain_refused_value  # noqa: PLC0415 - only a refused value pays

        for name in reversed(path):
            value = {name: value}
        raise explain_refused_value(value) from None


def _input_digest(
    notes: str, context: dict[str, Any], artifacts: list[dict[str, Any]], option: int | None
) -> str:
    sent: dict[str, Json] = {"notesMarkdown": notes, "context": context}
    if artifacts:
        sent["artifacts"] = list(artifacts)
    if option is not None:
        sent["option"] = option
    return digest(sent)
