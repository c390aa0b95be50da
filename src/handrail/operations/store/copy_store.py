"""`store.copy`: copy sessions from one store into another, event by event, and compare them. Gated.

Keys are never copied, so tokens work only in their own store; `session.resume` returns new ones in the copy.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_CONFLICT, E_HUMAN_REQUIRED, E_NOT_FOUND, E_VALIDATION
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Fault, NextCall, Success, refuse_argument
from handrail.contract.parameters import MintedId, PathText
from handrail.contract.wording import format_count
from handrail.engine.events import PlannedEvent, Scope, SessionAdopted
from handrail.ports.store import CopyWay, SessionCopy
from handrail.runtime.batch import SCHEMA_OF_TARGETS, BatchResult, run_batch, targets_of
from handrail.runtime.operation import Maybe, Operation
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import PlanWith, Session, decide_and_commit, read_session
from handrail.runtime.who_confirms import require_yes
from handrail.runtime.write_permission import (
    Change,
    DryRun,
    GatedInput,
    Plan,
    dry_run_of,
    mark_unreached,
    preview_or_write,
)

_Found: TypeAlias = tuple[SessionCopy, ...]


class CopyStore(GatedInput, frozen=True, kw_only=True):
    """The source, the target, and the sessions to copy."""

    source: Maybe[
        Annotated[PathText, Meta(description="The home to copy from; default: this one.", max_length=4096)]
    ] = msgspec.field(default=UNSET, name="from")
    target: Maybe[
        Annotated[PathText, Meta(description="The home to copy into; default: this one.", max_length=4096)]
    ] = msgspec.field(default=UNSET, name="to")
    ids: Maybe[
        Annotated[
            list[MintedId],
            Meta(description="Session ids; default: all.", extra_json_schema=SCHEMA_OF_TARGETS),
        ]
    ] = UNSET
    adopt: Maybe[
        Annotated[
            bool,
            Meta(description="Adopt what the source recorded; a person is asked at the terminal."),
        ]
    ] = UNSET
    continue_on_error: Maybe[
        Annotated[bool, Meta(description="Continue after an item that failed; default yes.")]
    ] = UNSET


class CopiedStore(BatchResult, frozen=True, kw_only=True):
    """The result for each session."""

    event_count: int
    """Number of events that the target lacked and has now."""


def copy_store(rt: Runtime, request: CopyStore) -> DryRun | Success:
    """Return the preview, or make the copy; a repeat after an interruption continues.

    Raise Fault E_HUMAN_REQUIRED if the person does not agree to adopt, E_VALIDATION if the places are the
    same, E_NOT_FOUND if no id is known, and what the gate raises.
    """
    way = _way(request)
    if request.adopt is True and way.target:
        message = "A session is adopted by the store that is in use; leave out --to."
        raise refuse_argument(message, "adopt", "is for another store", "from alone", kind=E_VALIDATION)
    if request.adopt is True and request.confirm is not UNSET:
        _ask(rt, way)
    ids = () if request.ids is UNSET else targets_of(request.ids, "ids")

    def resolve() -> Plan[_Found]:
        is_persistent = request.continue_on_error is not False
        return _plan(way, _plan_sessions(rt, way, ids), continue_on_error=is_persistent)

    def write(found: _Found) -> CopiedStore:
        return _copy(rt, request, way, found)

    return preview_or_write(rt, OPERATION, request, workspace="", resolve=resolve, write=write)


def _way(request: CopyStore) -> CopyWay:
    way = CopyWay(
        source="" if request.source is UNSET else request.source,
        target="" if request.target is UNSET else request.target,
    )
    for param, given in (("from", way.source), ("to", way.target)):
        if "://" in given:
            expected = "the path of a Handrail home; HANDRAIL_STORE names a database as the other end"
            message = f"{param} is an address; expected {expected}."
            raise refuse_argument(message, param, "is an address", expected, kind=E_VALIDATION)
    return way


def _plan_sessions(rt: Runtime, way: CopyWay, ids: tuple[str, ...]) -> _Found:
    known = [SessionId(one) for one in ids if is_session_id(one)]
    if ids and not known:
        found: dict[str, SessionCopy] = {}
    else:
        found = {one.session_id: one for one in rt.keeper().plan_copy(way, known)}
    nameless = [SessionId(one) for one in ids if one not in found]
    unknown = {
        one: SessionCopy(session_id=one, trouble="SESSION_NOT_FOUND", detail="This is not a session id.")
        for one in nameless
    }
    return tuple((found | unknown)[one] for one in ids) if ids else tuple(found.values())


def _plan(way: CopyWay, sessions: _Found, *, continue_on_error: bool) -> Plan[_Found]:
    changes = tuple(_change(session) for session in sessions)
    if not continue_on_error:
        changes = mark_unreached(changes, {session.session_id for session in sessions if session.trouble})
    copied = {change.id for change in changes if change.action != "none"}
    missing = sum(session.missing for session in sessions if session.session_id in copied)
    obstacle = None
    if sessions and all(session.trouble == "SESSION_NOT_FOUND" for session in sessions):
        obstacle = Fault(
            E_NOT_FOUND,
            "None of these sessions is in the store to copy from.",
            details={"resource": "session", "id": ", ".join(one.session_id for one in sessions)[:200]},
            next_call=None if way.source else NextCall(operation="session.list", params={}),
        )
    if twice := [one.session_id for one in sessions if one.trouble == E_CONFLICT.code]:
        obstacle = Fault(
            E_CONFLICT,
            f"Two workspaces hold different sessions as {', '.join(twice)[:200]}. Nothing was copied.",
            details={"reason": "held_twice"},
            hint="Export each of the two in the Console, delete one, then copy; or name other --ids.",
        )
    return Plan(
        action="copy sessions",
        changes=changes,
        targets=tuple(session.session_id for session in sessions),
        versions={one.session_id: f"{one.head_digest or one.trouble} {one.missing}" for one in sessions},
        blast_radius=f"{format_count(missing, 'event')} of {format_count(len(copied), 'session')}; "
        "nothing is overwritten or removed.",
        found=sessions,
        obstacle=obstacle,
    )


def _change(session: SessionCopy) -> Change:
    if session.trouble:
        after: dict[str, Any] = {"reason": session.detail}
        return Change(action="none", resource="session", id=session.session_id, after=after)
    facts = {"events": session.events, "missing": session.missing, "head": session.head_digest}
    if session.missing == 0:
        return Change(action="none", resource="session", id=session.session_id, after=facts)
    if session.missing < session.events:
        return Change(action="update", resource="session", id=session.session_id, after=facts)
    return Change(action="create", resource="session", id=session.session_id, after=facts)


def _copy(rt: Runtime, request: CopyStore, way: CopyWay, found: _Found) -> CopiedStore:
    keeper = rt.keeper()
    sessions: dict[str, SessionCopy] = {one.session_id: one for one in found}
    added: list[int] = []

    def act(session_id: str) -> None:
        session = sessions[session_id]
        keeper.copy_session(way, session)
        rt.commits.note(dry_run_of(OPERATION, request))
        if request.adopt is True:
            _adopt(rt, session.session_id)
        added.append(session.missing)

    is_persistent = request.continue_on_error is not False
    result = run_batch(rt, list(sessions), act, what="sessions copied", continue_on_error=is_persistent)
    return CopiedStore(**msgspec.structs.asdict(result), event_count=sum(added))


def _ask(rt: Runtime, way: CopyWay) -> None:
    """Ask a person to adopt the sessions. Raise Fault E_HUMAN_REQUIRED."""
    text = (
        f"\nAnswers and check results in the sessions of {flatten_text(way.source)} will count as recorded "
        "here.\nDo not adopt what somebody else gave you.\nAdopt them? [y/n] "
    )
    command = "handrail store copy --from HOME --adopt --confirm CONFIRM_TOKEN"
    require_yes(rt, text, command=command, resume="handrail session list")


def _adopt(rt: Runtime, session_id: SessionId) -> None:
    """Record in the session itself that a person adopted it, if there is anything to adopt."""
    session = read_session(rt.log, session_id)
    assert session is not None, "it was copied just now"
    adopted = SessionAdopted(source="terminal", who=rt.workspace.account())

    def decide(current: Session) -> PlanWith | None:
        if not current.history.unsigned:
            return None
        key = f"session_adopted:{current.history.head}"
        return lambda _: [PlannedEvent(dedupe_key=key, scope=Scope(), data=adopted)]

    decide_and_commit(rt, session, decide, by_token=False)


OPERATION = Operation(
    name="store.copy",
    effect="gated",
    where="client",
    summary="Copy sessions from one store into another and compare them event by event.",
    input=CopyStore,
    output=CopiedStore,
    perform=copy_store,
    why_only_local="This operation takes history from another store as it is, so no server offers it.",
    shape=Shape(levels={"minimal": ("items", "summary", "skipped", "event_count")}),
    errors=(E_HUMAN_REQUIRED.code,),
)
