"""A session by its id, for reading: also one that cannot be continued."""

from __future__ import annotations

from handrail.contract.catalogue import SESSION_NOT_FOUND
from handrail.contract.ids import (
    SessionId,
    is_session_id,
    older_session_id_for_request,
    session_id_for_request,
)
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.suggest import nearest
from handrail.contract.wording import quoted
from handrail.engine.place import Place, begun_at, is_same_place, opened_at, place_of
from handrail.ports import Loaded
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import Session, empty_session, read_session

_MOST_IMPORTED = 8
"""Sessions under the name of one request id that were copied back from a bundle; one is rare already."""


def find_session(rt: Runtime, asked: str) -> Session:
    """The session as far as it is proven.

    Raises Fault SESSION_NOT_FOUND.
    """
    session = read_session(rt.log, SessionId(asked)) if is_session_id(asked) else None
    if session is None:
        raise _not_found(rt, asked)
    return session


def find_records(rt: Runtime, asked: str) -> Loaded:
    """Its records alone, without what they tell: also where this version cannot read one of them.

    Raises Fault SESSION_NOT_FOUND.
    """
    loaded = rt.log.load(SessionId(asked)) if is_session_id(asked) else None
    if loaded is None:
        raise _not_found(rt, asked)
    return loaded


def find_requested(rt: Runtime, request_id: str, project: str) -> Session:
    """The session that a start with this request id made in this project, or an empty one under its name.

    A request id is a promise of this store, so it never answers with a session that was imported.
    """
    here = place_of(project, rt.workspace.observations(project))
    older = _older_requested(rt, request_id, here)
    if older is not None:  # looked for first: the replay of an old start does not even make the key
        return older
    root, key = here.repository or here.directory, rt.keys.request_key()
    for salt in range(_MOST_IMPORTED):
        session_id = session_id_for_request(key, root, request_id, salt)
        found = read_session(rt.log, session_id)
        if found is None:
            return empty_session(session_id)
        if found.history.imported is None:
            return found
    raise AssertionError("imports cannot be named by a key that they do not know")


def _older_requested(rt: Runtime, request_id: str, here: Place) -> Session | None:
    """A session of a version that named it by the account; it counts only in the project it was begun in."""
    found = read_session(rt.log, older_session_id_for_request(rt.workspace.account(), request_id))
    if found is None or found.history.imported is not None:
        return None
    runs = sorted(found.history.runs.values(), key=lambda run: run.index)
    begun = begun_at(runs[0]) if runs else opened_at(found.history)
    is_elsewhere = begun != Place() and here != Place() and not is_same_place(begun, here)
    return None if is_elsewhere else found


def _not_found(rt: Runtime, asked: str) -> Fault:
    known = [stamp.session_id for stamp in rt.log.list_sessions()]
    return Fault(
        SESSION_NOT_FOUND,
        f"There is no session {quoted(asked)} in this store.",
        details={"session_id": asked[:128], "did_you_mean": nearest(asked, known[:1000])},
        next_call=NextCall(operation="session.list", params={}),
    )
