"""Loading a session, and the gate to changing it: lock, health, and the witness that appending needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

import msgspec

from handrail.contract.catalogue import (
    INVARIANT_VIOLATION,
    SESSION_LOCKED,
    SESSION_NOT_FOUND,
    TOKEN_SESSION_LOCKED,
    TOKEN_UNKNOWN_NODE,
)
from handrail.contract.chain import chain_digest
from handrail.contract.ids import SessionId, node_tag
from handrail.contract.outcome import Fault, NextCall, Notice
from handrail.engine.events import NodeCreated, PlannedEvent, encode_event
from handrail.engine.folding import extend, fold
from handrail.engine.history import History
from handrail.engine.remembering import decode_history, encode_history
from handrail.engine.reply import ReplyWarning, imported_warnings
from handrail.ports import (
    Blob,
    Committed,
    Conflict,
    Draft,
    EventReader,
    Health,
    Loaded,
    Replayed,
    SessionHold,
)
from handrail.runtime.hot_sessions import HotLog
from handrail.runtime.runtime import Runtime
from handrail.runtime.soundness import (
    is_sound,
    lost_work,
    not_sound,
    unsound_notices,
    unsound_warnings,
)

LOCK_WAIT_MS = 5_000
"""How long a call waits for another writer; a commit takes milliseconds, so this is a stuck disk."""
COMMIT_TRIES = 20
TAG_SALTS = 16
REMEMBERED_EVENTS = 2_048
"""From this length on it is quicker to recall a folded session than to fold it again."""

_OF_TOKENS = {SESSION_LOCKED: TOKEN_SESSION_LOCKED, SESSION_NOT_FOUND: TOKEN_UNKNOWN_NODE}


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded session: what its records tell, and how sound they are."""

    history: History
    health: Health = Health()

    @property
    def is_sound(self) -> bool:
        """Whether the whole log is proven; only then the session may go on."""
        return is_sound(self.health)

    @property
    def warnings(self) -> tuple[ReplyWarning, ...]:
        """What every reply about the session begins with; nothing when it is sound and was begun here."""
        unsound = unsound_warnings(self.history.session_id, self.health, self.history.head)
        return (*unsound, *imported_warnings(self.history))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The same beside an answer about something else."""
        return unsound_notices(self.history.session_id, self.health, self.history.head)


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """Proof that this caller holds the lock of a healthy session; only `healthy_session` makes one.

    It dies with the hold inside it: after the scope the log refuses before any I/O.
    """

    hold: SessionHold


def read_session(reader: EventReader, session_id: SessionId) -> Session | None:
    """The session as committed right now, without a lock; None when it is not in this store."""
    known = reader.folded(session_id) if isinstance(reader, HotLog) else None
    known = known or _recalled(reader, session_id)
    tail = None if known is None else reader.load_since(session_id, known.head)
    if known is not None and tail is not None and _continues(known, tail):
        return _kept(reader, Session(history=extend(known, tail.records), health=tail.health))
    loaded = reader.load(session_id)
    if loaded is None:
        return None
    return _kept(reader, Session(history=fold(session_id, loaded.records), health=loaded.health))


def last_seen(reader: EventReader, session_id: SessionId) -> Session | None:
    """The session as this process saw it last. Only good to begin a hold with, which brings it up to date."""
    known = reader.folded(session_id) if isinstance(reader, HotLog) else None
    return None if known is None else Session(history=known)


def history_before(reader: EventReader, history: History, index: int) -> History:
    """The history as it stood right before one of its events.

    Raises Fault STORE_HISTORY_LOST when the log no longer holds it.
    """
    loaded = reader.load(history.session_id)
    if loaded is None or loaded.head < index:
        raise lost_work(history.session_id, 0 if loaded is None else loaded.head)
    return fold(history.session_id, loaded.records[:index])


def empty_session(session_id: SessionId) -> Session:
    """A session that nobody has created yet."""
    return Session(history=fold(session_id, ()))


@contextmanager
def healthy_session(rt: Runtime, session: Session, *, by_token: bool) -> Iterator[tuple[Session, Witness]]:
    """Hold the session, bring it up to date, and hand out the witness that committing needs.

    One that was seen with events and is gone by now was deleted: nothing of it is made again. Raises Fault
    SESSION_NOT_HEALTHY, TOKEN_SESSION_LOCKED or SESSION_LOCKED when the lock stays busy, and
    TOKEN_UNKNOWN_NODE or SESSION_NOT_FOUND.
    """
    session_id = session.history.session_id
    take = rt.log.hold_existing if session.history.head else rt.log.hold
    try:
        rt.interruptions.end_here()
        with take(session_id, LOCK_WAIT_MS) as hold:
            rt.interruptions.end_here()  # it may have waited long
            current = _caught_up(hold, session)
            require_healthy(current)
            yield current, Witness(hold=hold)
    except Fault as fault:
        # Token-driven operations answer only TOKEN_* for such trouble (the catalogue's token rule).
        if by_token and fault.kind in _OF_TOKENS:
            raise Fault(_OF_TOKENS[fault.kind], fault.message, details=fault.details) from fault
        raise


def wait_for_writer(rt: Runtime, session_id: SessionId) -> None:
    """Whoever writes to it right now has finished. Raises Fault SESSION_LOCKED, SESSION_NOT_FOUND."""
    with rt.log.hold_existing(session_id, LOCK_WAIT_MS):
        return


def require_healthy(session: Session) -> None:
    """Raises Fault SESSION_NOT_HEALTHY unless the whole log is proven."""
    if not session.is_sound:
        raise not_sound(session.history.session_id, session.health, session.history.head)


def resuming(session_id: SessionId) -> NextCall:
    """The call that shows where a session stands and how it goes on; every surface offers it."""
    return NextCall(operation="session.resume", params={"query": session_id})


def commit(
    rt: Runtime,
    witness: Witness,
    session: Session,
    plan_with: Callable[[int], Sequence[PlannedEvent]],
    blobs: Sequence[Blob] = (),
) -> Session | None:
    """Append a plan and fold it in; None when another server was faster, so decide again.

    `plan_with(salt)` makes the plan; another salt renames the new node when its tag is taken.
    """
    drafts = _drafts(session.history, plan_with, rt.clock.now())
    reads_back = resuming(session.history.session_id)
    rt.interruptions.end_here()  # the last moment at which that is true: nothing was changed
    match witness.hold.append(session.history.head, drafts, blobs):
        case Committed(records=records):
            rt.commits.note(reads_back)
            grown = Session(history=extend(session.history, records), health=session.health)
            if _is_worth_remembering(session.history.head, grown.history.head):
                witness.hold.remember(encode_history(grown.history))
            return _kept(rt.log, grown)
        case Conflict() | Replayed():
            return None
        case never:
            assert_never(never)


def _caught_up(hold: SessionHold, session: Session) -> Session:
    """The session with what was committed between the unlocked look and the hold."""
    tail = hold.load_since(session.history.head)
    if tail is None:
        if session.history.head:
            session_id = session.history.session_id
            message = f"Session {session_id} is not in this store."
            raise Fault(SESSION_NOT_FOUND, message, details={"session_id": session_id})
        return session
    if not _continues(session.history, tail):
        # What was seen without the lock is gone: a writer took back a commit that its disk had refused.
        whole = hold.load()
        assert whole is not None, "nothing is deleted under a hold"
        return Session(history=fold(session.history.session_id, whole.records), health=whole.health)
    return Session(history=extend(session.history, tail.records), health=tail.health)


def _continues(history: History, tail: Loaded) -> bool:
    """Whether a tail follows on from the history; each record proves the one before it."""
    if not tail.records:
        return (tail.head, tail.digest) == (history.head, history.head_digest)
    first = tail.records[0]
    return first.digest == chain_digest(history.head_digest, first.dedupe_key, first.body)


def _recalled(reader: EventReader, session_id: SessionId) -> History | None:
    """What an earlier process folded, as far as the log still begins with it."""
    remembered = reader.recall(session_id)
    history = None if remembered is None else decode_history(remembered.content)
    if remembered is None or history is None or history.session_id != session_id:
        return None
    is_same = (history.head, history.head_digest) == (remembered.head, remembered.digest)
    return history if is_same else None


def _is_worth_remembering(before: int, after: int) -> bool:
    """Now and then, the rarer the longer the session is: a cold start folds at most a quarter of it."""
    if after < REMEMBERED_EVENTS:
        return False
    step = (1 << (after.bit_length() - 1)) // 8
    return before // step != after // step


def _kept(reader: EventReader, session: Session) -> Session:
    """Remember a sound session for the next call, where the reader can."""
    if isinstance(reader, HotLog):
        if session.is_sound:
            reader.keep(session.history)
        else:
            reader.forget(session.history.session_id)
    return session


def _drafts(history: History, plan_with: Callable[[int], Sequence[PlannedEvent]], at: str) -> list[Draft]:
    for salt in range(TAG_SALTS):
        drafts = []
        collides = False
        digest = history.head_digest
        for planned in plan_with(salt):
            body = encode_event(planned, at)
            digest = chain_digest(digest, planned.dedupe_key, body)
            collides = collides or (
                isinstance(planned.data, NodeCreated) and node_tag(digest) in history.by_tag
            )
            drafts.append(Draft(dedupe_key=planned.dedupe_key, body=body))
        if not collides:
            return drafts
    raise Fault(
        INVARIANT_VIOLATION, "No free node tag was found.", details={"session_id": history.session_id}
    )
