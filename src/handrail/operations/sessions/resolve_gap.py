"""`session.resolve_gap`: a person resolves a gap; no agent's tool can.

The person agrees to what the terminal or the Console's page shows.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_HUMAN_REQUIRED, E_NOT_FOUND
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Answer, Fault, NextCall, refuse_argument
from handrail.contract.parameters import MintedId
from handrail.contract.wording import quote
from handrail.engine.events import AnswerSource, GapRecorded
from handrail.engine.history import History, Node
from handrail.engine.messages import explain_gap
from handrail.engine.plans import plan_resolution
from handrail.operations.finding import find_session, name_answerer
from handrail.operations.stored_sessions import Sessions, ask_sessions, facet
from handrail.projections.run_graph import run_graph
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit, read_session, require_healthy
from handrail.runtime.who_confirms import require_yes

LONGEST_NOTE = 500


class ResolveGap(Input, frozen=True, kw_only=True):
    """The gap, and the reason for resolving it."""

    gap: Annotated[
        MintedId,
        Meta(
            description="The id of the gap.",
            min_length=1,
            max_length=200,
        ),
    ]
    note: Annotated[str, Meta(description="The reason.", min_length=1, max_length=LONGEST_NOTE)]
    session: Maybe[Annotated[MintedId, Meta(description="Its session; else all are searched.")]] = UNSET


class ResolvedGap(Answer, frozen=True, kw_only=True):
    """The recorded resolution; `is_new` is false if the gap was resolved before this call."""

    session_id: str
    run_id: str
    gap_id: str
    summary: str
    """Summary of the gap."""
    note: str
    source: str
    who: str
    status: str
    """Present status of the run."""
    is_new: bool


def resolve_gap(rt: WritePorts, request: ResolveGap) -> ResolvedGap:
    """Ask the person once, and record that the gap is resolved.

    Raise Fault E_HUMAN_REQUIRED if no person can be asked or the person does not agree, VALIDATION_ERROR for
    what cannot be resolved, and E_NOT_FOUND for an unknown gap.
    """
    session = _find(rt, request)
    found = _gap_in(session.history, request.gap)
    if found is None:
        raise _unknown(request.gap)
    node, gap = found
    resolved = _find_resolution(session.history, gap.gap_id)
    if resolved is not None:
        return _describe(session.history, node, gap, resolved, is_new=False)
    note = request.note.strip()
    at_page: AnswerSource = "console" if rt.principal is None else "account"
    source = at_page if rt.is_at_console else _ask(rt, session, gap, note)
    resolution = GapRecorded(
        gap_id="",
        severity="info",
        reason="settled_by_person",
        summary=note,
        resolves_gap_id=gap.gap_id,
        source=source,
        who=name_answerer(rt, source),
        node_id=node.node_id,
    )

    def decide(now: Session) -> PlanWith:
        plan = plan_resolution(now.history, resolution)
        return lambda _: plan

    committed, _ = decide_and_commit(rt, session, decide, by_token=False)
    resolved = _find_resolution(committed.history, gap.gap_id)
    assert resolved is not None, "it was recorded a moment ago"
    return _describe(committed.history, node, gap, resolved, is_new=True)


def _find(rt: ReadPorts, request: ResolveGap) -> Session:
    """Return the session that has the gap."""
    if request.session is not UNSET:
        named = find_session(rt, request.session)
        require_healthy(named)
        return named
    for session_id in ask_sessions(rt, _list_with_gaps):
        session = read_session(rt.log, session_id)
        if session is not None and session.is_sound and _gap_in(session.history, request.gap):
            return session
    raise _unknown(request.gap)


def _list_with_gaps(sessions: Sessions) -> list[SessionId]:
    ids = (stamp.session_id for stamp in sessions.find([(facet("gap_count"),)]))
    return [held for held in ids if sessions.facts(held).gap_count]


def _gap_in(history: History, gap_id: str) -> tuple[Node, GapRecorded] | None:
    for node_id, held in history.attached.items():
        for gap in held.gaps:
            if gap.gap_id == gap_id and not gap.resolves_gap_id:
                return history.nodes[node_id], gap
    return None


def _find_resolution(history: History, gap_id: str) -> GapRecorded | None:
    gaps = (gap for held in history.attached.values() for gap in held.gaps)
    return next((gap for gap in gaps if gap.resolves_gap_id == gap_id), None)


def _unknown(gap_id: str) -> Fault:
    message = f"There is no gap {quote(gap_id)} to resolve."
    call = NextCall(operation="session.gaps", params={})
    return Fault(E_NOT_FOUND, message, details={"resource": "gap", "id": gap_id[:128]}, next_call=call)


def _ask(rt: WritePorts, session: Session, gap: GapRecorded, note: str) -> AnswerSource:
    """Ask a person at the terminal itself, so that a command line that an agent runs resolves nothing."""
    told = explain_gap(gap)
    shown = flatten_text(rt.secrets.redact_text(told))
    if shown != flatten_text(told):
        raise refuse_argument(
            "A secret was found in this gap, so nobody can resolve it.",
            "gap",
            "holds a secret",
            "a gap without one",
        )
    text = (
        f"\nA gap ({gap.severity}): {shown}\nReason: {flatten_text(note)}\n\n"
        "It is kept in the log of the session, with your account.\nResolve this gap? [y/n] "
    )
    named = f"{gap.gap_id} --session {session.history.session_id}"
    command = f"handrail session resolve {named} --note TEXT"
    return require_yes(rt, text, command=command, resume="handrail session inbox")


def _describe(
    history: History, node: Node, gap: GapRecorded, resolved: GapRecorded, *, is_new: bool
) -> ResolvedGap:
    return ResolvedGap(
        session_id=history.session_id,
        run_id=node.run_id,
        gap_id=gap.gap_id,
        summary=explain_gap(gap),
        note=resolved.summary,
        source=resolved.source or "",
        who=resolved.who,
        status=run_graph(history, node.run_id).status,
        is_new=is_new,
    )


OPERATION = Operation(
    name="session.resolve_gap",
    effect="record",
    summary="Resolve a gap as a person, at a terminal or in the Console.",
    input=ResolveGap,
    output=ResolvedGap,
    perform=resolve_gap,
    is_persons=True,
    shape=Shape(
        levels={"minimal": ("gap_id", "status", "is_new")},
        id_field="gap_id",
        untrusted=("summary", "note"),
    ),
    errors=(
        E_HUMAN_REQUIRED.code,
        "SESSION_NOT_FOUND",
        "SESSION_LOCKED",
        "SESSION_NOT_HEALTHY",
        "STORE_UNSUPPORTED_VERSION",
    ),
)
