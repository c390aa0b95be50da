"""A session by its id, for reading: also one that cannot be continued."""

from __future__ import annotations

from handrail.contract.catalogue import SESSION_NOT_FOUND
from handrail.contract.ids import SessionId, is_session_id
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.suggest import nearest
from handrail.contract.wording import quoted
from handrail.ports import Loaded
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import Session, read_session


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


def _not_found(rt: Runtime, asked: str) -> Fault:
    known = [stamp.session_id for stamp in rt.log.list_sessions()]
    return Fault(
        SESSION_NOT_FOUND,
        f"There is no session {quoted(asked)} in this store.",
        details={"session_id": asked[:128], "did_you_mean": nearest(asked, known[:1000])},
        next_call=NextCall(operation="session.list", params={}),
    )
