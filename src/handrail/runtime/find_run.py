"""A run by its id, or the latest run of a session by the session's id."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from handrail.contract.catalogue import SESSION_NOT_FOUND, STORE_IO_ERROR, STORE_PERMISSION_DENIED
from handrail.contract.ids import RunId, SessionId, is_run_id, is_session_id
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.wording import quoted
from handrail.engine.history import Run
from handrail.projections.overview import imported_from, latest_run
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import Session, read_session


class FoundRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run in its session."""

    session: Session
    run: Run


def find_run(rt: Runtime, text: str) -> FoundRun:
    """The run that the text names. A run id does not say its session, so sessions are read, newest first.

    A session imported as new has the runs of its source; where both are here, the source is meant, and
    the copy answers to its own session id. Raises Fault SESSION_NOT_FOUND,
    and STORE_IO_ERROR or STORE_PERMISSION_DENIED when the session that is named cannot be read.
    """
    copied: FoundRun | None = None
    for session in _sessions(rt, text):
        run_id = latest_run(session.history) if is_session_id(text) else RunId(text)
        run = session.history.runs.get(run_id) if run_id is not None else None
        if run is None:
            continue
        if imported_from(session.history) in ("", session.history.session_id) or is_session_id(text):
            return FoundRun(session=session, run=run)
        copied = copied or FoundRun(session=session, run=run)
    if copied is not None:
        return copied
    raise Fault(
        SESSION_NOT_FOUND,
        f"No session of this store has the run {quoted(text)}.",
        details={"session_id": text[:128]},
        hint="List the sessions; session show tells the runs of one.",
        next_call=NextCall(operation="session.list", params={}),
    )


def _sessions(rt: Runtime, text: str) -> Iterator[Session]:
    """The sessions that may hold it; one that cannot be read does not hide the others."""
    if is_session_id(text):
        candidates = [SessionId(text)]
    else:
        candidates = [stamp.session_id for stamp in rt.log.list_sessions()] if is_run_id(text) else []
    for session_id in candidates:
        rt.interruptions.end_here()
        try:
            session = read_session(rt.log, session_id)
        except Fault as fault:
            if is_session_id(text) and fault.kind in (STORE_IO_ERROR, STORE_PERMISSION_DENIED):
                raise  # the disk refused; that the session is not there would be untrue
            continue
        if session is not None:
            yield session
