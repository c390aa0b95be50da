"""The work that the proof disturbs: real operations on a scratch store, with the same bytes in every repeat.

Time stands still and randomness depends only on the step, so a step that is repeated after a crash must give
the same reply as without one.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from handrail.contract.catalogue import STORE_IO_ERROR
from handrail.contract.ids import SessionId, SourceKind
from handrail.contract.outcome import Failure, Fault, Json
from handrail.contract.tokens.reading import ANY_KIND, read_token
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.contract.workflow_files import WorkflowFile
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.store_key import StoreKey
from handrail.event_log.files.upkeep.keeper import FileKeeper, RemovingDisk, plan_removal, remove
from handrail.event_log.files.upkeep.whole_store import check_store
from handrail.host.authored_files import ProjectFiles
from handrail.host.keyring import FileKeyring
from handrail.host.settings import LocalSettings
from handrail.ports.log import Loaded, Record
from handrail.ports.process import AuditLine, Claim
from handrail.ports.workspace import NamedWorkspace
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.runtime.sessions import HotLog

LONG_NOTES: Final = "Long notes go to a blob of their own. " * 120
"""Longer than an event may hold, and than one page of a disk."""
TOKEN: Final = re.compile(rb"\b(?:st1|ak1|ck1)[0-9a-z]{40,60}\b")
AUDIT_LINE: Final = AuditLine(
    at="2026-01-01T00:00:00.000Z",
    tool="proof",
    version="0",
    command="run start",
    account="proof",
    workspace="",
    effect="create",
)
_RULE: Final = {"type": "contains", "value": "measured", "message": "Say what was measured."}
_WORKFLOW: Final = msgspec.json.encode(
    {
        "id": "proof.four_steps",
        "name": "Four steps",
        "description": "Work for a proof.",
        "steps": [
            {"id": f"step_{n}", "title": f"Step {n}", "prompt": f"Do part {n} of the work."}
            | ({"validation": [_RULE]} if n == 2 else {})
            for n in range(4)
        ],
    }
)


class Broken(Exception):
    """An operation answered with a failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.kind.code}: {failure.message}")
        self.code = failure.kind.code


class AnswerLost(Exception):
    """An operation committed, but its answer could not be built."""


class StillClock:
    """Stays where it is set, at first at the beginning of 2026."""

    def __init__(self) -> None:
        self.seconds = 1_767_225_600

    def now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.seconds))

    def unix_seconds(self) -> int:
        return self.seconds

    def monotonic_ms(self) -> int:
        return 0

    def processor_ms(self) -> int:
        return 0


class _StepRandomness:
    """Randomness that depends only on the seed, the step and the length."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.step = 0

    def bytes(self, count: int) -> bytes:
        return hashlib.sha512(f"{self._seed} {self.step} {count}".encode()).digest()[:count]


class _OneWorkflow:
    def files(self, project: str) -> Sequence[WorkflowFile]:
        """The user's own file: for the files of others, a start also records whether their blob was there
        before, and an interrupted start may have left it."""
        del project
        return (WorkflowFile(source_kind="user", source_ref="four_steps.json", content=_WORKFLOW),)

    def content_now(self, project: str, source_kind: SourceKind, source_ref: str) -> bytes | None:
        del project, source_kind, source_ref
        return _WORKFLOW

    def named_files(self, directory: str, project: str) -> Sequence[WorkflowFile]:
        del directory, project
        return ()

    def refused_file(self, path: str, project: str) -> None:
        del path, project


class _Nowhere(NamedWorkspace):
    def project(self, asked: str) -> str:
        return asked or "/proof"


class _NoIncidents:
    """A defect shows as INTERNAL_ERROR in the report; the seed repeats it."""

    def record(self, traceback: str) -> str:
        del traceback
        return ""


class _UnusedTokens:
    """Other tests show that a confirm token works once; here a step is repeated with the same token."""

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        del fingerprint, expires_at, now
        return Claim(state="claimed")

    def is_used(self, fingerprint: str) -> bool:
        del fingerprint
        return False


class World:
    """A scratch store with everything that operations need."""

    def __init__(self, home: str, disk: RemovingDisk, seed: int) -> None:
        self.disk = disk
        self.clock = StillClock()
        self._randomness = _StepRandomness(seed)
        data = os.path.join(home, "data")
        # One name for the place, because the disk is opened again elsewhere.
        self.log = FileLog(data, disk, key=StoreKey(data, self._randomness.bytes, disk, "here"))
        self.keyring = FileKeyring(home, self._randomness)
        self.runtime = Runtime(
            log=HotLog(self.log),
            keys=self.keyring,
            clock=self.clock,
            randomness=self._randomness,
            library=_OneWorkflow(),
            workspace=_Nowhere("proof"),
            incidents=_NoIncidents(),
            confirmed=_UnusedTokens(),
            authored=ProjectFiles(),
            settings=LocalSettings(home, {}),
            keeper=lambda: FileKeeper(data, disk, lambda _: self.log.key),
        )

    def at(self, step: int) -> World:
        """Set the step that randomness depends on."""
        self._randomness.step = step
        return self

    def call(self, operation: str, params: dict[str, Json]) -> bytes:
        """Perform an operation and return its reply. Raises Broken or AnswerLost."""
        outcome = perform(self.runtime, operation, params)
        if isinstance(outcome, Failure):
            raise Broken(outcome)
        if isinstance(outcome.data, dict) and outcome.data.get("committed") is True:
            raise AnswerLost
        return msgspec.json.encode(outcome.data)

    def meaning(self, reply: bytes) -> bytes:
        """The reply with every token replaced by its claims, because a rotation changes signatures.

        Raises Fault when a token in it does not verify here.
        """
        keys = self.keyring.verifying_keys(WORKFLOW)

        def claim(found: re.Match[bytes]) -> bytes:
            return repr(read_token(keys, found[0].decode(), ANY_KIND).claims).encode()

        return TOKEN.sub(claim, reply)

    def records(self, session_id: SessionId) -> tuple[Record, ...]:
        loaded = self.log.load(session_id)
        return () if loaded is None else records_of(loaded)


def records_of(loaded: Loaded) -> tuple[Record, ...]:
    """Whoever made them: a refused or damaged key changes what is proven, never what is there."""
    return tuple(msgspec.structs.replace(record, is_ours=True) for record in loaded.records)


Replies = Sequence[bytes]


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One call that is acknowledged."""

    name: str
    act: Callable[[World, Replies], bytes]
    """`(world, replies of the steps before) -> reply`."""
    repeat: Callable[[World, Replies, bytes], bytes] | None = None
    """For a step that is not just sent again; it also gets the reply of the undisturbed run."""
    confirm: Callable[[World, Replies], bytes] | None = None
    """For a step that was acknowledged: what the store says now."""


class Script(msgspec.Struct, frozen=True, kw_only=True):
    """Steps in order, all in sessions that the first steps started."""

    name: str
    steps: tuple[Step, ...]
    no_return: int = 0
    """From this step on, earlier ones cannot be repeated, because it removes their session."""


def _start(request: str) -> Callable[[World, Replies], bytes]:
    params = {"workflowId": "proof.four_steps", "requestId": request, "goal": request}
    return lambda world, _: world.call("run.start", params)


def _advance(reply: int, notes: str, field: str = "ackToken") -> Callable[[World, Replies], bytes]:
    def act(world: World, replies: Replies) -> bytes:
        ack = _field(replies[reply], field)
        return world.call("run.continue", {"ackToken": ack, "output": {"notesMarkdown": notes}})

    return act


def _checkpoint(reply: int) -> Callable[[World, Replies], bytes]:
    def act(world: World, replies: Replies) -> bytes:
        token = _field(replies[reply], "checkpointToken")
        return world.call("run.checkpoint", {"checkpointToken": token, "output": {"notesMarkdown": "Here."}})

    return act


def _fork(reply: int) -> Callable[[World, Replies], bytes]:
    def act(world: World, replies: Replies) -> bytes:
        seen = world.call("run.continue", {"stateToken": _field(replies[reply], "stateToken")})
        params = {"ackToken": _field(seen, "ackToken"), "output": {"notesMarkdown": "Another way."}}
        return world.call("run.continue", params)

    return act


def _rotate(world: World, _: Replies) -> bytes:
    world.keyring.rotate()
    return _current_key(world, _)


def _rotate_once(world: World, replies: Replies, wanted: bytes) -> bytes:
    """A rotation that happened is not repeated, because that would drop the previous key."""
    return wanted if _current_key(world, replies) == wanted else _rotate(world, replies)


def _current_key(world: World, _: Replies) -> bytes:
    return hashlib.sha256(world.keyring.signing_key(WORKFLOW)).hexdigest().encode()


def _collect(world: World, replies: Replies) -> bytes:
    kept = session_of(replies[2])
    plan = plan_removal(world.log, world.disk.now_ns() + 1, keep=[kept], grace_ns=-1)
    if plan.blocked_by:
        raise Fault(STORE_IO_ERROR, "The plan names a session that it could not read.")
    remove(world.log, world.disk, plan, grace_ns=-1)
    return _list_left(world, replies)


def _import_copy(world: World, replies: Replies) -> bytes:
    exported = world.call("session.export", {"sessionId": session_of(replies[0])})
    text = msgspec.json.encode(msgspec.json.decode(exported)["content"]).decode()
    params: dict[str, Json] = {"bundle": {"source": "proof", "text": text}}  # its own id is taken
    shown = world.call("session.import", params | {"dryRun": True})
    world.call("session.import", params | {"confirm": _field(shown, "confirm_token")})
    return _list_left(world, replies)


def _list_left(world: World, _: Replies) -> bytes:
    return msgspec.json.encode(sorted(stamp.session_id for stamp in world.log.list_sessions()))


def session_of(reply: bytes) -> SessionId:
    return SessionId(str(msgspec.json.decode(reply)["session"]["sessionId"]))


def _field(reply: bytes, name: str) -> Any:
    return msgspec.json.decode(reply)[name]


RUNS: Final = Script(
    name="runs",
    steps=(
        Step(name="start", act=_start("first")),
        Step(name="advance", act=_advance(0, "Did the first part.")),
        Step(name="advance with long notes", act=_advance(1, LONG_NOTES)),
        Step(name="checkpoint", act=_checkpoint(2)),
        Step(name="blocked", act=_advance(2, "Did the third part.")),
        Step(name="fork", act=_fork(0)),
        Step(name="key rotation", act=_rotate, repeat=_rotate_once, confirm=_current_key),
        Step(name="retry after the rotation", act=_advance(4, "It was measured.", "retryAckToken")),
        Step(name="start of a second session", act=_start("second")),
    ),
)
COLLECTION: Final = Script(
    name="collection",
    steps=(
        Step(name="start", act=_start("old")),
        Step(name="advance with long notes", act=_advance(0, LONG_NOTES)),
        Step(name="start of a second session", act=_start("kept")),
        Step(
            name="collection",
            act=_collect,
            repeat=lambda world, replies, _: _collect(world, replies),
            confirm=_list_left,
        ),
    ),
    no_return=3,
)
IMPORT: Final = Script(
    name="import",
    steps=(
        Step(name="start", act=_start("moving")),
        Step(name="advance with long notes", act=_advance(0, LONG_NOTES)),
        Step(name="import", act=_import_copy, confirm=_list_left),
    ),
)
SCRIPTS: Final = (RUNS, COLLECTION, IMPORT)
"""Where the power fails. A new operation that writes becomes a step or a script here."""


# What an undisturbed run of the script gives, and what is wrong with a store after a disturbed one


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """The replies, and the events of every session after each number of acknowledged steps."""

    script: Script
    replies: tuple[bytes, ...]
    meanings: tuple[bytes, ...]
    """The replies without their signatures, which change with the key."""
    records: tuple[dict[SessionId, tuple[Record, ...]], ...]


class Progress:
    """A script in progress, with the replies so far."""

    def __init__(self, script: Script, world: World) -> None:
        self.script = script
        self.world = world
        self.replies: list[bytes] = []

    def run(self) -> None:
        """Run to the end. Raises Broken or what the disk raises."""
        while len(self.replies) < len(self.script.steps):
            self.step()

    def step(self) -> None:
        number = len(self.replies)
        self.replies.append(self.script.steps[number].act(self.world.at(number), self.replies))


def run_undisturbed(script: Script, world: World) -> Reference:
    """Run a script without any trouble."""
    progress = Progress(script, world)
    seen: list[dict[SessionId, tuple[Record, ...]]] = []
    for _ in script.steps:
        seen.append(_records(world))
        progress.step()
    seen.append(_records(world))
    return Reference(
        script=script,
        replies=tuple(progress.replies),
        meanings=tuple(world.meaning(reply) for reply in progress.replies),
        records=tuple(seen),
    )


def find_troubles(reference: Reference, world: World, acknowledged: int) -> list[str]:
    """Everything that is wrong, as sentences, after so many acknowledged steps and one that was begun.

    This finishes the script in the given world, so the store cannot be used again.
    """
    found = [
        *_lost_or_unreadable(reference, world, acknowledged),
        *(f"{problem.what} {problem.id}: {problem.reason}" for problem in check_store(world.log).problems),
    ]
    if found:
        return found
    try:
        found += _different_replies(reference, world, acknowledged)
    except (Broken, Fault) as trouble:
        return [f"a repeat is refused: {trouble}"]
    if not found and _records(world) != reference.records[-1]:
        found.append("after every step was repeated the store does not hold what it should")
    return found


def _lost_or_unreadable(reference: Reference, world: World, acknowledged: int) -> list[str]:
    """Each session must be as it was after the last acknowledged step, or after the one that was begun."""
    found = []
    allowed = reference.records[acknowledged : acknowledged + 2]
    for session_id in sorted(set().union(*reference.records)):
        loaded = world.log.load(session_id)
        if loaded is not None and loaded.health.state != "healthy":
            found.append(f"session {session_id} is {loaded.health.state}: {loaded.health.reason}")
            continue
        records = () if loaded is None else records_of(loaded)
        if not any(records == after.get(session_id, ()) for after in allowed):
            heads = [len(after.get(session_id, ())) for after in allowed]
            found.append(f"session {session_id} has {len(records)} events instead of {heads}")
    return found


def _different_replies(reference: Reference, world: World, acknowledged: int) -> list[str]:
    script = reference.script
    first = script.no_return if acknowledged >= script.no_return else 0
    found = []
    for number in range(first, len(script.steps)):
        wanted = reference.replies[number]
        is_known = number < acknowledged
        reply = _repeat_step(
            script.steps[number], world.at(number), reference.replies, wanted, is_known=is_known
        )
        if world.meaning(reply) != reference.meanings[number]:
            what = "was acknowledged and answers differently now" if is_known else "cannot be repeated"
            found.append(f"{script.steps[number].name} {what}")
    return found


def _repeat_step(step: Step, world: World, replies: Replies, wanted: bytes, *, is_known: bool) -> bytes:
    if is_known and step.confirm is not None:
        return step.confirm(world, replies)
    return step.act(world, replies) if step.repeat is None else step.repeat(world, replies, wanted)


def _records(world: World) -> dict[SessionId, tuple[Record, ...]]:
    return {stamp.session_id: world.records(stamp.session_id) for stamp in world.log.list_sessions()}
