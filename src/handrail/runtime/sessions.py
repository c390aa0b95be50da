"""Sessions: reading one, locking it, and appending to it.

The problem: command lines, servers and the threads of a server work on the same session, and each of them
may die at any point. A call must decide from the newest events, append exactly what it decided, and never
add to a log that is not proven whole. Folding a long log again in every call would take too long, so folded
histories are kept: in memory by a server (`HotLog`), and next to the log for a new process (`remember`,
`recall`).

The idea: read without the lock, decide under it. `read_session` folds what is committed, starting from a
kept history if the log still begins with it. `healthy_session` takes the lock of the session, adds what was
committed in between, refuses a log that is not whole, and gives a `Witness`. Only with that witness can
`commit` append, at the head that the caller decided on. If the log has moved, `commit` returns None and the
caller decides again, at most `COMMIT_TRIES` times; `decide_and_commit` is that loop.

The invariants: a kept history counts only while the chain digest proves that the log continues it
(`_continues`), so a stale, lost or wrong cache changes the time of an answer, never its content. The hold in
a witness dies with its scope. A session that was read with events is locked by `hold_existing`, so a deleted
one is never created again. Node tags are unique in a session (`_write_drafts`), because a token names its
node by the tag. `Commits` learns of a change directly after the append; from there on the call has
succeeded.

What would break it: comparing heads instead of digests, because a writer takes back a commit that its disk
refused, and the same index can then have another event; deciding before the lock, because two calls could
answer one attempt; keeping a damaged session, because the next call would build on events that are not
proven; ending a call after the append, because the caller would learn that nothing was changed.
"""

# ruff: noqa: PLC0415 - few sessions are long enough to be kept folded, and fewer are damaged

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, TypeAlias, assert_never, cast

import msgspec

from handrail.contract.catalogue import (
    INVARIANT_VIOLATION,
    SESSION_LOCKED,
    SESSION_NOT_FOUND,
    TOKEN_SESSION_LOCKED,
    TOKEN_UNKNOWN_NODE,
)
from handrail.contract.ids import BlobRef, SessionId, WorkflowHash, node_tag
from handrail.contract.json.canonical import chain_digest
from handrail.contract.outcome import Fault, NextCall, Notice
from handrail.engine.events import (
    Event,
    EvidenceRecorded,
    NodeCreated,
    PlannedEvent,
    SessionCreated,
    TreeRecorded,
    encode_event,
    must_be_proven,
)
from handrail.engine.folding import extend, fold
from handrail.engine.history import History
from handrail.engine.owners import drop_imported_resolutions
from handrail.engine.reply import ReplyWarning, imported_warnings
from handrail.ports.log import (
    Blob,
    Committed,
    Conflict,
    Draft,
    EventLog,
    EventReader,
    Health,
    Loaded,
    Origin,
    Remembered,
    Replayed,
    SessionHold,
    SessionStamp,
    Vouched,
)
from handrail.runtime.damaged_sessions import (
    describe_damage,
    refuse_lost_work,
    refuse_unsound,
    unsound_notices,
    unsound_warnings,
)
from handrail.runtime.recent import Recent
from handrail.runtime.runtime import NoticeDue, WritePorts
from handrail.workflows.compiled import CompiledWorkflow, decode_compiled

if TYPE_CHECKING:
    from handrail.contract.ids import Actor
    from handrail.ports.process import Interruptions

# Reading, holding and appending

LOCK_WAIT_MS = 5_000
"""How long a call waits for a writer that does not finish; a commit takes milliseconds, so it is stuck."""
LAST_WORK_MS = 5_000
"""Part of a call's time that is reserved for its work after it got the lock."""
COMMIT_TRIES = 20
TAG_SALTS = 16
FEWEST_NEW_EVENTS = 256
"""Fewest events between two folded sessions that are kept on disk."""

PlanWith: TypeAlias = Callable[[int], Sequence[PlannedEvent]]
_OF_TOKENS = {SESSION_LOCKED: TOKEN_SESSION_LOCKED, SESSION_NOT_FOUND: TOKEN_UNKNOWN_NODE}


class Session(msgspec.Struct, frozen=True, kw_only=True):
    """A loaded session: what its records say, and whether they are sound."""

    history: History
    health: Health = Health()

    @property
    def is_sound(self) -> bool:
        """Whether the whole log is proven; only then the session may continue."""
        return self.health.state == "healthy"

    @property
    def banner(self) -> str:
        """Return the warning for a reader of a damaged session, with a remedy; empty if it is sound."""
        if self.is_sound:
            return ""

        return describe_damage(self.history.session_id, self.health, self.history.head)

    @property
    def warnings(self) -> tuple[ReplyWarning, ...]:
        """Return the warnings that begin every reply about the session; empty if it is sound and was begun
        here.
        """
        imported = imported_warnings(self.history)
        if self.is_sound:
            return imported

        return (*unsound_warnings(self.history.session_id, self.health, self.history.head), *imported)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Return the same as notices, for an answer about something else."""
        if self.is_sound:
            return ()

        return unsound_notices(self.history.session_id, self.health, self.history.head)


class Witness(msgspec.Struct, frozen=True, kw_only=True):
    """Proof that this caller has the lock of a healthy session; only `healthy_session` makes one.

    It dies with the hold inside it: after the scope the log refuses before any I/O.
    """

    hold: SessionHold


def read_session(reader: EventReader, session_id: SessionId) -> Session | None:
    """Return the session as committed right now, without a lock; None if it is not in this store."""
    known = memory_of(reader).get_folded(session_id) or _recall_history(reader, session_id)
    tail = None if known is None else reader.load_since(session_id, known.head)
    if known is not None and tail is not None and _continues(known, tail):
        history = judge_origin(reader, extend(known, tail.records))
        return _keep_if_sound(reader, Session(history=history, health=tail.health))
    loaded = reader.load(session_id)
    if loaded is None:
        return None
    history = judge_origin(reader, fold(session_id, loaded.records))
    return _keep_if_sound(reader, Session(history=history, health=loaded.health))


def judge_origin(reader: EventReader, history: History) -> History:
    """Return the history with the store's statement about events whose origin it cannot prove."""
    if not history.unsigned:
        return history
    origin = reader.origin(history.session_id, history.head_digest)
    judged = msgspec.structs.replace(history, listed=origin.listed, is_adopted=origin.is_adopted)
    return drop_imported_resolutions(judged)


def load_last_seen(reader: EventReader, session_id: SessionId) -> Session | None:
    """Return the session as this process read it last.

    Only for starting a hold, which brings it up to date.
    """
    known = memory_of(reader).get_folded(session_id)
    return None if known is None else Session(history=known)


def load_history_before(reader: EventReader, history: History, index: int) -> History:
    """Return the history as it was right before one of its events.

    Raise Fault STORE_HISTORY_LOST if the log no longer has it.
    """
    loaded = reader.load(history.session_id)
    if loaded is None or loaded.head < index:
        raise refuse_lost_work(history.session_id, 0 if loaded is None else loaded.head)
    before = fold(history.session_id, loaded.records[:index])
    return msgspec.structs.replace(before, listed=history.listed, is_adopted=history.is_adopted)


def empty_session(session_id: SessionId) -> Session:
    """Return a session that has not been created yet."""
    return Session(history=fold(session_id, ()))


@contextmanager
def healthy_session(rt: WritePorts, session: Session, *, by_token: bool) -> Iterator[tuple[Session, Witness]]:
    """Lock the session, bring it up to date, and yield the witness that committing needs.

    A session that was read with events and is gone now was deleted, and is not created again. Raise Fault
    SESSION_NOT_HEALTHY, TOKEN_SESSION_LOCKED or SESSION_LOCKED if the lock stays busy, and
    TOKEN_UNKNOWN_NODE or SESSION_NOT_FOUND.
    """
    try:
        rt.interruptions.end_here()
        with wait_for_hold(rt.log, session.history, rt.interruptions) as hold:
            rt.interruptions.end_here()  # the wait for the lock may have been long
            current = _bring_up_to_date(hold, session)
            require_healthy(current)
            yield current, Witness(hold=hold)
    except Fault as fault:
        # Token-driven operations answer only TOKEN_* for such trouble (the catalogue's token rule).
        if by_token and fault.kind in _OF_TOKENS:
            raise Fault(_OF_TOKENS[fault.kind], fault.message, details=fault.details) from fault
        raise


@contextmanager
def wait_for_hold(log: EventLog, known: History, interruptions: Interruptions) -> Iterator[SessionHold]:
    """Lock the session. While others commit, wait as long as the call has time; give up on a stuck writer.

    Raise Fault SESSION_LOCKED, SESSION_NOT_FOUND, and what ends the call.
    """
    session_id, head = known.session_id, known.head
    take = log.hold_existing if head else log.hold
    given_ms = interruptions.ms_left()
    total_ms = LOCK_WAIT_MS
    if given_ms is not None:  # before the deadline, which could not say what the call waited for
        total_ms = max(min(LOCK_WAIT_MS, given_ms * 3 // 4), given_ms - LAST_WORK_MS)
    waited_ms = 0
    with ExitStack() as stack:
        while True:
            wait_ms = min(LOCK_WAIT_MS, total_ms - waited_ms)
            try:
                hold = stack.enter_context(take(session_id, wait_ms, known.head))
                break
            except Fault as fault:
                if fault.kind is not SESSION_LOCKED:
                    raise
                interruptions.end_here()
                waited_ms += max(1, wait_ms)
                moved = log.load_since(session_id, head) if waited_ms < total_ms else None
                if moved is None or moved.head <= head:
                    fault.details["waited_ms"] = waited_ms
                    raise
                head = moved.head
        yield hold


def wait_for_writer(rt: WritePorts, session_id: SessionId) -> None:
    """Wait until no other process writes to the session. Raise Fault SESSION_LOCKED, SESSION_NOT_FOUND."""
    with rt.log.hold_existing(session_id, LOCK_WAIT_MS):
        return


def require_healthy(session: Session) -> None:
    """Raise Fault SESSION_NOT_HEALTHY unless the whole log is proven."""
    if not session.is_sound:
        raise refuse_unsound(session.history.session_id, session.health, session.history.head)


def call_to_resume(session_id: SessionId) -> NextCall:
    """Return the call that shows the state of a session and how to continue it; every interface offers it."""
    return NextCall(operation="session.resume", params={"query": session_id})


def commit(
    rt: WritePorts,
    witness: Witness,
    session: Session,
    plan_with: PlanWith,
    blobs: Sequence[Blob] = (),
) -> Session | None:
    """Append a plan and fold it in; return None if another process was faster, and the caller decides again.

    `plan_with(salt)` makes the plan; another salt renames the new node if its tag is taken.
    """
    drafts = _write_drafts(session.history, plan_with, rt.clock.now(), rt.actor)
    reads_back = call_to_resume(session.history.session_id)
    rt.interruptions.end_here()  # the last point at which nothing has been changed
    match witness.hold.append(session.history.head, drafts, blobs):
        case Committed(records=records):
            rt.commits.note(reads_back)
            if rt.commits.notify is not None and rt.trees_due is not None:
                notify, own = rt.commits.notify, session.history.session_id
                rt.trees_due.append(NoticeDue(session_id=own, records=records, notify=notify))
            grown = Session(history=extend(session.history, records), health=session.health)
            if _is_worth_remembering(session.history.head, grown.history.head, witness.hold.remembers_from):
                from handrail.runtime.history_cache import encode_history

                witness.hold.remember(encode_history(grown.history))
            return _keep_if_sound(rt.log, grown)
        case Conflict() | Replayed():
            return None
        case never:
            assert_never(never)


def decide_and_commit(
    rt: WritePorts,
    session: Session,
    decide: Callable[[Session], PlanWith | None],
    blobs: Sequence[Blob] = (),
    *,
    by_token: bool,
) -> tuple[Session, bool]:
    """Decide about the session as it is under the lock, and append the result; repeat if another was faster.

    `decide` returns None if nothing is left to append. Return the session after that, and whether this call
    appended to it.
    """
    for _ in range(COMMIT_TRIES):
        with healthy_session(rt, session, by_token=by_token) as (session, witness):
            plan_with = decide(session)
            if plan_with is None:
                return session, False
            committed = commit(rt, witness, session, plan_with, blobs)
        if committed is not None:
            return committed, True
    raise refuse_moving(session)


def refuse_moving(session: Session) -> Fault:
    """Return the refusal of a call that lost to other writers in each of its tries."""
    details = {"session_id": session.history.session_id}
    return Fault(INVARIANT_VIOLATION, "The log kept changing during this call.", details=details)


def _bring_up_to_date(hold: SessionHold, session: Session) -> Session:
    """Return the session with what was committed between the reading without the lock and the hold."""
    tail = hold.load_since(session.history.head)
    if tail is None:
        if session.history.head:
            session_id = session.history.session_id
            message = f"Session {session_id} is not in this store."
            raise Fault(SESSION_NOT_FOUND, message, details={"session_id": session_id})
        return session
    if not _continues(session.history, tail):
        # What was read without the lock is gone: a writer took back a commit that its disk had refused.
        whole = hold.load()
        assert whole is not None, "nothing is deleted under a hold"
        before = session.history
        history = fold(before.session_id, whole.records)
        history = msgspec.structs.replace(history, listed=before.listed, is_adopted=before.is_adopted)
        return Session(history=history, health=whole.health)
    return Session(history=extend(session.history, tail.records), health=tail.health)


def _continues(history: History, tail: Loaded) -> bool:
    """Whether a tail continues the history; each record proves the one before it."""
    if not tail.records:
        return (tail.head, tail.digest) == (history.head, history.head_digest)
    first = tail.records[0]
    return first.digest == chain_digest(history.head_digest, first.dedupe_key, first.body)


def _recall_history(reader: EventReader, session_id: SessionId) -> History | None:
    """Return what an earlier process folded, if the log still begins with it."""
    remembered = reader.recall(session_id)
    if remembered is None:
        return None
    from handrail.runtime.history_cache import decode_history

    history = decode_history(remembered.content)
    if history is None or history.session_id != session_id:
        return None
    is_same = (history.head, history.head_digest) == (remembered.head, remembered.digest)
    return history if is_same else None


def _is_worth_remembering(before: int, after: int, begin: int) -> bool:
    """Whether to store the folded session; less often the longer the session is.

    A cold start then folds a few hundred events, or a quarter of the session.
    """
    if after < begin:
        return False
    step = max(FEWEST_NEW_EVENTS, (1 << (after.bit_length() - 1)) // 8)
    return before // step != after // step


def _keep_if_sound(reader: EventReader, session: Session) -> Session:
    """Remember a sound session for the next call, if the reader can."""
    memory = memory_of(reader)
    if session.is_sound:
        memory.keep(session.history)
    else:
        memory.forget(session.history.session_id)
    return session


def _write_drafts(history: History, plan_with: PlanWith, at: str, actor: Actor | None) -> list[Draft]:
    for salt in range(TAG_SALTS):
        plan = plan_with(salt)
        drafts = [
            Draft(
                dedupe_key=one.dedupe_key, body=encode_event(one, at, actor), vouched=_find_vouched(one.data)
            )
            for one in plan
        ]
        nodes = [place for place, one in enumerate(plan) if isinstance(one.data, NodeCreated)]
        digests = _chain(history.head_digest, drafts[: nodes[-1] + 1] if nodes else [])
        if not any(node_tag(digests[place]) in history.by_tag for place in nodes):
            return drafts
    raise Fault(
        INVARIANT_VIOLATION, "No free node tag was found.", details={"session_id": history.session_id}
    )


def _find_vouched(data: Event) -> Vouched:
    if isinstance(data, SessionCreated | EvidenceRecorded | TreeRecorded):
        return "wanted"
    return "needed" if must_be_proven(data) else ""


def _chain(digest: str, drafts: Sequence[Draft]) -> list[str]:
    """Return the chain digest after each of these events."""
    found = []
    for draft in drafts:
        digest = chain_digest(digest, draft.dedupe_key, draft.body)
        found.append(digest)
    return found


# Sessions that a running server keeps folded, so that a call folds only what is new
#
# Nothing here is authoritative: a caller that takes a history from here asks the log for what follows it,
# and the answer shows whether the session still begins with that history.

MOST_SESSIONS: Final = 16_384
MOST_BYTES: Final = 64 * 1024 * 1024
"""Most bytes of folded sessions in the memory of a process on the user's machine."""
MOST_TEAM_BYTES: Final = 256 * 1024 * 1024
"""The same for a team server, over all its workspaces."""
_BYTES_PER_READ: Final = 2
"""Factor from stored to folded bytes. A folded event takes 1.4 times its bytes; 2 also covers short ones."""
ALWAYS_KEPT: Final = 4
"""Number of latest sessions that stay, however long they are: folding one in every call is expensive."""
MOST_WORKFLOWS: Final = 64
LARGEST_WORKFLOW_BYTES: Final = 256 * 1024


KeptHistories: TypeAlias = Recent[tuple[str, SessionId], History]
"""Kept histories by the log that they belong to, and by session."""


def make_histories(
    most_bytes: int = MOST_BYTES, most_sessions: int = MOST_SESSIONS, always_kept: int = ALWAYS_KEPT
) -> KeptHistories:
    """Return a memory for folded sessions; several logs may share it."""
    return Recent(most_sessions, most_bytes, always_kept)


class HotLog:
    """`ports.EventLog` on top of another one; it also remembers folded sessions and compiled workflows.

    Safe between threads: histories and workflows never change, and the memory is guarded.
    """

    def __init__(self, log: EventLog, histories: KeptHistories | None = None, name: str = "") -> None:
        """Create it; `name` distinguishes the log from others that share the memory."""
        self.log = log
        self._name = name
        self._histories = make_histories() if histories is None else histories
        self._workflows: Recent[WorkflowHash, CompiledWorkflow] = Recent(MOST_WORKFLOWS)

    def load(self, session_id: SessionId) -> Loaded | None:
        return self.log.load(session_id)

    def load_since(self, session_id: SessionId, index: int) -> Loaded | None:
        return self.log.load_since(session_id, index)

    def recall(self, session_id: SessionId) -> Remembered | None:
        return self.log.recall(session_id)

    def list_sessions(self, most: int = 0) -> Sequence[SessionStamp]:
        return self.log.list_sessions(most)

    def get_blob(self, ref: BlobRef) -> bytes:
        return self.log.get_blob(ref)

    def load_pinned(self, workflow_hash: WorkflowHash) -> CompiledWorkflow:
        """Return the workflow of a run, decoded once: content never changes under its hash.

        The log proves each time that it still has it, so a running server and a new process agree on what is
        damaged.
        """
        content = self.log.get_blob(BlobRef(workflow_hash))
        workflow = self._workflows.get(workflow_hash)
        if workflow is None:
            workflow = decode_compiled(content)
            if len(content) <= LARGEST_WORKFLOW_BYTES:
                self._workflows.put(workflow_hash, workflow)
        return workflow

    def origin(self, session_id: SessionId, digest: str) -> Origin:
        return self.log.origin(session_id, digest)

    def hold(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        return self.log.hold(session_id, wait_ms, known)

    def hold_existing(
        self, session_id: SessionId, wait_ms: int, known: int | None = None
    ) -> AbstractContextManager[SessionHold]:
        return self.log.hold_existing(session_id, wait_ms, known)

    def get_folded(self, session_id: SessionId) -> History | None:
        """Return the history as kept last; it then counts as the most recently used one."""
        return self._histories.get((self._name, session_id))

    def keep(self, history: History) -> None:
        """Remember a history for the next call, and drop those that were used longest ago."""
        weight = _BYTES_PER_READ * history.read_bytes
        self._histories.put((self._name, history.session_id), history, weight)

    def forget(self, session_id: SessionId) -> None:
        self._histories.take((self._name, session_id))

    def get_memory(self) -> HotLog:
        return self

    def __len__(self) -> int:
        """Return the number of kept sessions, of every log that shares the memory."""
        return len(self._histories)


def memory_of(reader: EventReader) -> HotLog:
    """Return the memory of a reader; for one without memory, a temporary one."""
    # The reader itself is asked: it may be one that is loaded on first use.
    found = getattr(reader, "get_memory", None)
    return HotLog(cast("EventLog", reader)) if found is None else cast(HotLog, found())


def load_pinned_workflow(reader: EventReader, workflow_hash: WorkflowHash) -> CompiledWorkflow:
    """Return the compiled workflow that a run is pinned to, whatever its source file says today."""
    return memory_of(reader).load_pinned(workflow_hash)
