"""What an undisturbed run of a script gives, and what is wrong with a store after a disturbed one."""

from __future__ import annotations

import msgspec

from handrail.contract.ids import SessionId
from handrail.contract.outcome import Fault
from handrail.event_log.files.upkeep.verify import check_store
from handrail.ports.log import Record
from handrail_proof.workload import Broken, Replies, Script, Step, World


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


def sessions_of(reference: Reference) -> list[SessionId]:
    return sorted({session_id for records in reference.records for session_id in records})


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
    for session_id in sessions_of(reference):
        loaded = world.log.load(session_id)
        if loaded is not None and loaded.health.state != "healthy":
            found.append(f"session {session_id} is {loaded.health.state}: {loaded.health.reason}")
            continue
        records = () if loaded is None else loaded.records
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
