"""The pending step again, with a recap, for an agent that lost its context: nothing here can write."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.catalogue import CONTEXT_MISSING, STEP_WAITS
from handrail.contract.outcome import Fault, Json, NextCall, Success, refuse_argument
from handrail.contract.tokens.workflow import AckClaims, ChoiceClaims, StateClaims, WorkClaims
from handrail.engine.ask import standing_now
from handrail.engine.events import STATED_REPORTS
from handrail.engine.facts import run_place
from handrail.engine.history import History, Node, Run, is_older, is_session_point
from handrail.engine.reply import Recap, ReplyWarning, Tokens, reply_at
from handrail.engine.standing import standing_at
from handrail.engine.tips import find_newest_wait
from handrail.operations.checkpoints import reply_to_reread
from handrail.operations.handles import (
    Handle,
    mint_fresh_tokens,
    mint_new_node_tokens,
    mint_state_token,
    node_of,
    read_state,
    session_of,
)
from handrail.operations.position import add_closing, add_current_place
from handrail.operations.replies import (
    current_ledger,
    describe_closing,
    show_children,
    show_evidence,
    success_of,
    warn_of_nobody,
)
from handrail.operations.same_project import find_own_project, is_begun_here
from handrail.operations.source_drift import warn_of_drift
from handrail.operations.step_so_far import describe_step_so_far
from handrail.projections.recap import recap_at
from handrail.runtime.operation import OFFERED_CALL_BYTES
from handrail.runtime.runtime import RehydratePorts
from handrail.runtime.sessions import Session, load_pinned_workflow, require_healthy


class Reread(msgspec.Struct, frozen=True, kw_only=True):
    """A call that reads the pending step again."""

    state_token: str | UnsetType
    project: str | UnsetType
    """The directory that the call comes from."""
    not_stored: Mapping[str, Json]
    """The report that came without an ackToken, by the names of its parameters."""


def rehydrate(ports: RehydratePorts, request: Reread) -> Success:
    """Return the pending step, a recap and a fresh ack. It cannot write: none of its ports can."""
    if request.state_token is UNSET:
        raise Fault(
            CONTEXT_MISSING,
            "continue needs an ackToken, or a stateToken alone to read the pending step again.",
            details={"missing": ["ackToken", "stateToken"]},
            next_call=NextCall(operation="session.resume", params={}),
        )
    handle = read_state(ports.keys, request.state_token)
    session = session_of(ports.log, handle.claims)
    history = session.history
    if is_session_point(history, handle.claims.node_tag):
        return _reread_session(ports, request, session, handle)
    node = node_of(history, handle.claims)
    workflow = load_pinned_workflow(ports.log, history.runs[node.run_id].workflow_hash)
    standing = standing_now(history, workflow, node)
    if isinstance(handle.claims, WorkClaims):
        tokens = mint_new_node_tokens(ports.keys, history.session_id, standing)
    else:
        tokens = mint_fresh_tokens(ports.keys, ports.randomness, history.session_id, standing)
    children, tokens = show_children(
        ports.log, ports.keys, history, workflow, standing, tokens, is_present=True
    )
    if request.not_stored:
        require_healthy(session)
        raise _nothing_stored(request, tokens.ack)
    recap = recap_at(history, workflow, node.node_id)
    project, read_in = _place(ports, request, standing.run)
    reply = reply_at(
        standing,
        history.session_id,
        tokens,
        recap=add_current_place(
            add_closing(_tell(ports, request, history, node, recap, read_in), history, standing.run.run_id),
            ports.keys,
            history,
            workflow,
            node.node_id,
        ),
        warnings=(
            *session.warnings,
            *handle.warnings,
            *(warn_of_nobody(history, standing.run) if standing.leaf is not None else ()),
            *(_warn_of_old_rules(standing.run) if standing.leaf is not None else ()),
            *warn_of_drift(ports.library, ports.workspace, request.project, standing.run),
            *_warn_of_other_files(ports, request, history, node),
        ),
        project=project,
        is_healthy=session.is_sound,
        children=children,
        closing=describe_closing(history, workflow, node),
        evidence=show_evidence(history, node),
    )
    return success_of(reply, current_ledger(history, node.run_id))


def _warn_of_old_rules(run: Run) -> tuple[ReplyWarning, ...]:
    """Return the warning for a run from when commands and lists of files in reports were still compared."""
    if run.rules >= STATED_REPORTS:
        return ()
    message = (
        "This run began under an older version. Its evidence is no longer judged: reports are accepted as "
        "stated. `handrail prove` shows what the change proves."
    )
    return (ReplyWarning(code="EVIDENCE_NOT_WEIGHED", message=message),)


def _tell(
    ports: RehydratePorts, request: Reread, history: History, node: Node, recap: Recap, read_in: str
) -> Recap:
    """Return the recap with the directory that it is read in, and what happened since the step began."""
    own = find_own_project(ports.workspace, ports.places, history.runs[node.run_id], request.project)
    so_far = describe_step_so_far(ports, history, node, own)
    return msgspec.structs.replace(recap, read_in=read_in, since_step=so_far)


def _warn_of_other_files(
    ports: RehydratePorts, request: Reread, history: History, node: Node
) -> tuple[ReplyWarning, ...]:
    if not history.trees or not is_older(history, node):
        return ()
    from handrail.operations.kept_trees import warn_of_present  # noqa: PLC0415 - few steps are older ones

    run = history.runs[node.run_id]
    own = find_own_project(ports.workspace, ports.places, run, request.project)
    return warn_of_present(ports, history, node, own)


def _place(ports: RehydratePorts, request: Reread, run: Run) -> tuple[str, str]:
    """Return the directory of the run's project, if the call comes from there; else the project's name.

    Also return the project of the call, if that is known to be another.
    """
    begun = run_place(run)
    try:
        project = ports.workspace.project("" if request.project is UNSET else request.project)
        is_here = is_begun_here(ports.workspace, begun, project)
    except Fault:  # a missing directory is no reason to withhold the step
        return begun.name, ""
    if is_here:
        return project, ""
    return begun.name, project if begun.directory or begun.repository else ""


def _reread_session(
    ports: RehydratePorts, request: Reread, session: Session, handle: Handle[StateClaims | WorkClaims]
) -> Success:
    """Return the session that the token names: its notes, its runs and a fresh token for more notes."""
    if request.not_stored:
        raise refuse_argument(
            "This token names a session without a run, where no step is pending: nothing was stored.",
            "ackToken",
            "missing",
            hint="The call offered here reads it; its checkpointToken keeps notes, a start makes a run.",
            next_call=NextCall(operation="run.continue", params={"stateToken": request.state_token}),
        )
    tag = handle.claims.node_tag
    return reply_to_reread(ports.keys, ports.randomness, session, tag, handle.warnings)


def _nothing_stored(request: Reread, fresh_ack: str) -> Fault:
    """Return the refusal of output or context without an ack: whether to read or to
    advance is never guessed.
    """
    sent = list(request.not_stored)
    message = f"{' and '.join(sent)} came without an ackToken: nothing was stored."
    params = {"ackToken": fresh_ack, **request.not_stored}
    hint = "Make the call offered here if the pending step is done; it stores what you sent."
    if not fresh_ack:
        params = {}
        hint = (
            "If a choice is pending, answer with the token of an option; "
            "if the run is complete, start a new one for new work."
        )
    elif len(msgspec.json.encode(params)) > OFFERED_CALL_BYTES:
        params = {"stateToken": request.state_token}
        hint = "Read the step with the call offered here, then send the same content with its ackToken."
    call = NextCall(operation="run.continue", params=params) if params else None
    return refuse_argument(message, "ackToken", "missing", hint=hint, next_call=call, not_stored=sent)


def add_children(ports: RehydratePorts, claims: AckClaims | ChoiceClaims, fault: Fault) -> Fault:
    """Return the refusal of a waiting step, with its child runs and the first open one's call."""
    history = session_of(ports.log, claims).history
    node = find_newest_wait(history, node_of(history, claims))
    workflow = load_pinned_workflow(ports.log, history.runs[node.run_id].workflow_hash)
    standing = standing_at(history, workflow, node, "rehydrate")
    children, tokens = show_children(
        ports.log, ports.keys, history, workflow, standing, Tokens(state=""), is_present=True
    )
    token = tokens.work if standing.is_waiting else mint_state_token(ports.keys, history.session_id, node)
    call = NextCall(operation="run.continue", params={"stateToken": token})
    details = fault.details | {"children": msgspec.to_builtins(children)}
    return Fault(STEP_WAITS, fault.message, details=details, next_call=call)
