"""Finds a run or a session by id, for reading, even one that cannot be continued."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from handrail.contract.catalogue import SESSION_NOT_FOUND, STORE_IO_ERROR, STORE_PERMISSION_DENIED
from handrail.contract.ids import (
    RunId,
    SessionId,
    is_node_id,
    is_run_id,
    is_session_id,
    older_session_id_for_request,
    run_id_for,
    session_id_for_request,
)
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.engine.events import AnswerSource
from handrail.engine.facts import Place, encode_project, is_same_place, place_of, run_place, session_place
from handrail.engine.history import Run
from handrail.ports.log import EventReader, Loaded
from handrail.projections.overview import imported_from, latest_run
from handrail.runtime.damaged_sessions import pass_over
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, empty_session, read_session

# Runs: by run id, or the latest run of a session by session id


class FoundRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run and its session."""

    session: Session
    run: Run


def find_run(rt: ReadPorts, text: str) -> FoundRun:
    """Return the run that the text names.

    A run id does not name its session, so the newest sessions are read first. A session imported as new has
    the runs of its source. If both are here, the source is meant, and the copy is found by its own session
    id.

    Raise Fault SESSION_NOT_FOUND, and STORE_IO_ERROR or STORE_PERMISSION_DENIED if the named session cannot
    be read.
    """
    copied: FoundRun | None = None
    for session in read_candidates(rt, text):
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
        f"No session of this store has the run {quote(text)}.",
        details={"session_id": text[:128]},
        hint="List the sessions; session show lists the runs of one.",
        next_call=NextCall(operation="session.list", params={}),
    )


def read_candidates(rt: ReadPorts, text: str) -> Iterator[Session]:
    """Yield the sessions that may have a run, a node or a session.

    One that cannot be read does not stop the others.
    """
    for session_id in _list_candidates(rt, text):
        rt.interruptions.end_here()
        try:
            session = read_session(rt.log, session_id)
        except Fault as fault:
            pass_over(fault)
            if is_session_id(text) and fault.kind in (STORE_IO_ERROR, STORE_PERMISSION_DENIED):
                raise  # the disk refused, so "not found" would be untrue
            continue
        if session is not None:
            yield session


def _list_candidates(rt: ReadPorts, text: str) -> Iterator[SessionId]:
    """Yield the named session; for a run or a node, the latest ones, then those that the index lists."""
    if is_session_id(text):
        yield SessionId(text)
    elif is_run_id(text) or is_node_id(text):
        latest = [stamp.session_id for stamp in rt.log.list_sessions(_MOST_TRIED)]
        yield from latest
        from handrail.operations.stored_sessions import list_with_word  # noqa: PLC0415 - few runs are older

        yield from (one for one in list_with_word(rt, text) if one not in latest)


_MOST_TRIED = 5
"""Sessions that are read before the index is queried for those that have a run."""

# Sessions

_MOST_IMPORTED = 8
"""Most copies of one request id's session that were imported from a bundle; even one is rare."""
_MOST_READ = 200
_MOST_NEAR = 40
"""Number of latest sessions among which a mistyped id is looked for."""
REQUESTED = "request:"
"""Prefix of the key of a run that a request id names."""


def find_session(rt: ReadPorts, asked: str) -> Session:
    """Return the session as far as it is proven.

    Raise Fault SESSION_NOT_FOUND.
    """
    session = read_session(rt.log, SessionId(asked)) if is_session_id(asked) else None
    if session is None:
        raise refuse_unknown(asked, [stamp.session_id for stamp in rt.log.list_sessions(_MOST_NEAR)])
    return session


def read_or_pass_over(reader: EventReader, session_id: SessionId) -> Session | None:
    """Return the session; None if it is missing or cannot be read, so that a caller can read the others."""
    try:
        return read_session(reader, session_id)
    except Fault as fault:
        pass_over(fault)
        return None


def find_records(rt: ReadPorts, asked: str) -> Loaded:
    """Return the records of a session without decoding them, even if this version cannot read one of them.

    Raise Fault SESSION_NOT_FOUND.
    """
    loaded = rt.log.load(SessionId(asked)) if is_session_id(asked) else None
    if loaded is None:
        raise refuse_unknown(asked, [stamp.session_id for stamp in rt.log.list_sessions(_MOST_NEAR)])
    return loaded


def find_requested(rt: ReadPorts, request_id: str, project: str) -> Session:
    """Return the session of a start with this request id in this project, or an empty one under its name.

    A request id is valid in this store alone, so an imported session is never returned.
    """
    here = place_of(project, rt.workspace.observations(project), rt.workspace.identity(project))
    older = _older_requested(rt, request_id, here)
    if older is not None:  # checked first, so that the replay of an old start does not create the key
        return older
    key, directory = rt.keys.request_key(), here.repository or here.directory
    root = here.identity or directory
    if here.identity:
        earlier = read_session(rt.log, session_id_for_request(key, directory, request_id))
        if earlier is not None and earlier.history.imported is None:  # before projects had an identity
            return earlier
    for salt in range(_MOST_IMPORTED):
        session_id = session_id_for_request(key, root, request_id, salt)
        found = read_session(rt.log, session_id)
        if found is None:
            return empty_session(session_id)
        if found.history.imported is None:
            return found
    raise AssertionError("imports cannot be named by a key that they do not know")


def find_begun(rt: ReadPorts, request_id: str, project: str) -> Session | None:
    """Return the session of a start with this request id in a deleted directory.

    Only the newest ones are read.
    """
    where = encode_project(project).directory
    for stamp in rt.log.list_sessions(_MOST_READ):
        found = read_or_pass_over(rt.log, stamp.session_id)
        history = empty_session(stamp.session_id).history if found is None else found.history
        run = history.runs.get(run_id_for(stamp.session_id, REQUESTED + request_id))
        is_there = run is not None and run.project is not None and run.project.directory == where
        if is_there and history.imported is None:
            return found
    return None


def _older_requested(rt: ReadPorts, request_id: str, here: Place) -> Session | None:
    """Return a session that an older version named by the account; it counts only in its own project."""
    found = read_session(rt.log, older_session_id_for_request(rt.workspace.account(), request_id))
    if found is None or found.history.imported is not None:
        return None
    runs = sorted(found.history.runs.values(), key=lambda run: run.index)
    begun = run_place(runs[0]) if runs else session_place(found.history)
    is_elsewhere = begun != Place() and here != Place() and not is_same_place(begun, here)
    return None if is_elsewhere else found


def refuse_unknown(asked: str, known: Sequence[str] | None = None) -> Fault:
    """Return the refusal of a session that is not here, with an existing one that may be meant."""
    near = {} if known is None else {"did_you_mean": find_nearest(asked, known)}
    return Fault(
        SESSION_NOT_FOUND,
        f"There is no session {quote(asked)} in this store.",
        details={"session_id": asked[:128], **near},
        next_call=NextCall(operation="session.list", params={}),
    )


def name_answerer(rt: ReadPorts, source: AnswerSource) -> str:
    """Return who answers, for the record: the name of the account, and never its number."""
    account = rt.workspace.account()
    if not account.isdigit():
        return account
    return "somebody in the Console" if source == "console" else "somebody at the terminal"
