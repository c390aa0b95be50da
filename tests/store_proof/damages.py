"""Damages: bytes of every file are flipped; stretches are zeroed, overwritten, reset to older bytes or cut.

After a flipped byte a fresh program answers agents that come back, and verifies the store: the damage is
detected or harmless, and no answer is silently another one. After a stretch it reads everything, writes once,
and verifies the store: what was acknowledged is there byte for byte, or its loss is reported. A store that
calls itself healthy lacks nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from random import Random
from typing import Final, Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import INTERNAL_ERROR
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Failure, Json
from handrail.contract.redaction import Secrets
from handrail.engine.folding import fold
from handrail.event_log.files.segments import SegmentLimits
from handrail.event_log.files.upkeep.whole_store import check_store
from handrail.host.process import AuditFiles
from handrail.ports.log import Loaded, Record
from handrail.ports.store import ProofPart, StoreCheck
from handrail.runtime.history_cache import encode_history
from handrail.runtime.hub import perform
from tests.store_proof.crash_states import Tree
from tests.store_proof.disks import QuietDisk
from tests.store_proof.scratch import make_empty, read_tree, write_tree
from tests.store_proof.workload import (
    AUDIT_LINE,
    RUNS,
    TOKEN,
    Progress,
    Script,
    World,
    records_of,
    session_of,
)

Kind: TypeAlias = Literal["zero", "random", "older", "cut", "flip"]

_Read: TypeAlias = tuple[str, dict[str, Json]]
"""An operation and its params."""
KINDS: Final[tuple[Kind, ...]] = ("zero", "random", "older", "cut", "flip")
ONE_BIT: Final = (0x01,)
SEVERAL_BITS: Final = (0x01, 0x20, 0xFF)
_ROT_STEPS: Final = 2
_SIZES: Final = (512, 4_096)
_LARGEST_SMALL: Final = 64
_OLDER_STEPS: Final = 3
_LIMITS: Final = SegmentLimits(max_events=12)
"""So that a session has several segments."""
_NO_PROOF: Final = ("lock", "cache", "audit")
"""Files that can be damaged without any loss; an alarm about them is false."""
_DAMAGE_WORDS: Final = re.compile(
    rb"corrupt_tail|corrupt_head|unknown_version|history_lost|damaged|unreadable|rehydrate_only|SESSION_UNSOUND"
    rb"|no longer in the store"
)


class Damage(msgspec.Struct, frozen=True, kw_only=True):
    """One file with other bytes; None when it is removed."""

    path: str
    what: str
    content: bytes | None


class _Pristine(msgspec.Struct, frozen=True, kw_only=True):
    """The store before any damage, what it held some steps earlier, and what it answers."""

    tree: Tree
    older: Tree
    reads: tuple[_Read, ...]
    answers: tuple[bytes, ...]
    records: dict[SessionId, tuple[Record, ...]]
    acks: dict[SessionId, str]


class _Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one damage."""

    is_reported: bool
    problems: tuple[str, ...]


def check_bit_rot(place: str, masks: Sequence[int], seed: int) -> ProofPart:
    """Change every byte of a small store by each mask; what it can make again does not count."""
    pristine = _build_small(f"{place}/pristine", seed)
    kept = {path: content for path, content in pristine.tree.items() if not path.startswith("data/cache/")}
    facts = {"detected": 0, "harmless": 0, "files": sum(one is not None for one in kept.values())}
    problems: list[str] = []
    cases = 0
    for path, content in sorted(kept.items()):
        for at in range(len(content or b"")):
            assert content is not None, "only files have bytes"
            for mask in masks:
                flipped = content[:at] + bytes([content[at] ^ mask]) + content[at + 1 :]
                write_tree(f"{place}/rotten", {**pristine.tree, path: flipped})
                world = _world(f"{place}/rotten", seed)
                is_detected = bool(check_store(world.log).problems)
                is_reported, wrong = _read(world, pristine)
                facts["detected" if is_detected or is_reported else "harmless"] += not wrong
                problems += [f"byte {at} of {path}, changed by {mask:#04x}: {one}" for one in wrong[:1]]
                cases += 1
    return ProofPart(name="bit_rot", cases=cases, facts=facts, problems=tuple(problems))


def _build_small(home: str, seed: int) -> _Pristine:
    """The newest token comes first: it proves the most.

    If the end of the log is lost, an older token still gets the answer of a shorter, healthy log; the newest
    one exposes the loss.
    """
    progress = Progress(Script(name="rot", steps=RUNS.steps[:_ROT_STEPS]), _world(make_empty(home), seed))
    progress.run()
    tree = read_tree(home)
    tokens = [msgspec.json.decode(reply)["stateToken"] for reply in reversed(progress.replies)]
    reads: tuple[_Read, ...] = tuple(("run.continue", {"stateToken": token}) for token in tokens)
    answers = tuple(_answer(_world(home, seed), *read) for read in reads)
    return _Pristine(tree=tree, older={}, reads=reads, answers=answers, records={}, acks={})


def check_damages(place: str, small: int, every: int, seed: int) -> ProofPart:
    """Damage every sector, every page, the whole and `small` small stretches of each file, in every kind.

    Only one in `every` of all these.
    """
    chance = Random(seed)
    pristine = _build_pristine(place, seed)
    facts: dict[str, int] = {}
    problems: list[str] = []
    cases = 0
    for damage in islice(list_damages(pristine.tree, pristine.older, small, chance), 0, None, every):
        found = _try_damage(f"{place}/damaged", pristine, damage, seed)
        cases += 1
        verdict = _verdict(damage, found)
        for fact in (verdict, f"{file_kind_of(damage.path)} {verdict}"):
            facts[fact] = facts.get(fact, 0) + 1
        problems += [f"{damage.what} of {damage.path}: {problem}" for problem in found.problems]
    return ProofPart(
        name="stretches",
        cases=cases,
        facts=dict(sorted(facts.items())),
        problems=tuple(problems),
    )


def list_damages(tree: Tree, older: Tree, small: int, chance: Random) -> Iterator[Damage]:
    """Every damage that changes something, file by file."""
    for path, content in sorted(tree.items()):
        if content is None or path.endswith("keyring.lock"):
            continue
        yield Damage(path=path, what="all", content=None)
        for kind in KINDS:
            for name, start, end in _places(len(content), small, chance):
                after = _damage(content, older.get(path) or b"", kind, start, end, chance)
                if after != content:
                    yield Damage(path=path, what=f"{kind} {name} at {start}", content=after)


def file_kind_of(path: str) -> str:
    """What a file is for."""
    name = path.rpartition("/")[2]
    if name.startswith("events-"):
        return "events"
    for place, kind in (("blobs/", "blob"), ("cache/", "cache"), ("audit/", "audit"), ("keys/", "keys")):
        if place in path:
            return kind
    return "manifest" if name == "manifest.jsonl" else name


def _places(size: int, small: int, chance: Random) -> Iterator[tuple[str, int, int]]:
    yield "all", 0, size
    for unit in _SIZES:
        for start in range(0, size, unit):
            yield f"{unit} bytes", start, min(size, start + unit)
    for number in range(small):
        length = chance.randint(1, min(size, _LARGEST_SMALL)) if size else 0
        # The last commit is at the end of a file, so every other small stretch touches it.
        start = size - length if number % 2 else chance.randint(0, size - length)
        yield f"{length} bytes", start, start + length


def _damage(content: bytes, older: bytes, kind: Kind, start: int, end: int, chance: Random) -> bytes:
    before, stretch, after = content[:start], content[start:end], content[end:]
    match kind:
        case "zero":
            return before + bytes(len(stretch)) + after
        case "random":
            return before + chance.randbytes(len(stretch)) + after
        case "older":
            is_all = len(stretch) == len(content)
            return older if is_all else before + older[start:end].ljust(len(stretch), b"\0") + after
        case "cut":
            return before + after
        case "flip":
            flipped = bytearray(stretch)
            if flipped:
                flipped[chance.randrange(len(flipped))] ^= 1 << chance.randrange(8)
            return before + bytes(flipped) + after


def _build_pristine(place: str, seed: int) -> _Pristine:
    home = make_empty(f"{place}/pristine")
    progress = Progress(Script(name="stretches", steps=RUNS.steps), _world(home, seed))
    older: Tree = {}
    for number in range(len(RUNS.steps)):
        if number == _OLDER_STEPS:
            older = read_tree(home)
        progress.step()
    replies = [msgspec.json.decode(reply) for reply in progress.replies if reply.startswith(b"{")]
    acks = {session_of(msgspec.json.encode(one)): one["ackToken"] for one in replies if one.get("ackToken")}
    _remember(progress.world, session_of(progress.replies[0]))
    AuditFiles(home, Secrets()).record(AUDIT_LINE, 12)
    tree = read_tree(home)
    world = _world(home, seed)
    reads = tuple(_reads(sorted(acks), replies))
    records = {session_id: world.records(session_id) for session_id in sorted(acks)}
    answers = tuple(_answer(world, *read) for read in reads)
    write_tree(home, tree)
    return _Pristine(tree=tree, older=older, reads=reads, answers=answers, records=records, acks=acks)


def _world(home: str, seed: int) -> World:
    world = World(home, QuietDisk(), seed)
    world.log.limits = _LIMITS
    return world.at(len(RUNS.steps))


def _remember(world: World, session_id: SessionId) -> None:
    """Write a cache, as a writer of a long session does."""
    with world.log.hold(session_id, 0) as hold:
        loaded = hold.load()
        assert loaded is not None, "the session has been worked on"
        hold.remember(encode_history(fold(session_id, loaded.records)))


def _reads(sessions: list[SessionId], replies: list[dict[str, Json]]) -> Iterator[_Read]:
    """Every operation that reads, for each session if it takes one."""
    yield "session.list", {}
    yield "session.inbox", {}
    yield "store.du", {}
    for session_id in sessions:
        yield "session.show", {"sessionId": session_id}
        yield "session.events", {"sessionId": session_id, "after": 2, "limit": 5}
        yield "session.export", {"sessionId": session_id}
        yield "session.export", {"sessionId": session_id, "as": "markdown"}
        yield "session.resume", {"query": session_id}
        yield "preferences.show", {"session": session_id}
    for reply in (replies[0], replies[-1], replies[-2]):
        yield "run.continue", {"stateToken": reply["stateToken"]}
        session = reply["session"]
        assert isinstance(session, dict), "a reply names its session"
        yield "ledger.show", {"runId": session["runId"]}


def _answer(world: World, operation: str, params: dict[str, Json]) -> bytes:
    """The answer to a caller, with tokens masked, because another key signs them differently."""
    outcome = perform(world.runtime, operation, params)
    if isinstance(outcome, Failure):
        return b"refused: " + outcome.kind.code.encode()
    # Sorted, because the times of files mean nothing here.
    items = [] if outcome.page is None else sorted(map(msgspec.json.encode, outcome.page.items))
    content = b"".join((msgspec.json.encode(outcome.data), *items, msgspec.json.encode(outcome.notices)))
    return TOKEN.sub(b"TOKEN", content)


def _try_damage(home: str, pristine: _Pristine, damage: Damage, seed: int) -> _Finding:
    tree = {**pristine.tree, damage.path: damage.content}
    if damage.content is None:
        del tree[damage.path]
    write_tree(home, tree)
    is_reported, problems = _read(_world(home, seed), pristine)
    check = check_store(_world(home, seed).log)
    # If the keys are gone, a reading that gives out tokens creates new ones.
    if {path: content for path, content in read_tree(home).items() if "/keys/" not in path} != {
        path: content for path, content in tree.items() if "/keys/" not in path
    }:
        problems.append("reading changed a byte")
    problems += _find_losses(_world(home, seed), check, pristine)
    problems += _find_disagreements(home, check, seed)
    write_tree(home, tree)
    session_id = next((name for name in pristine.acks if name in damage.path), min(pristine.acks))
    problems += _try_write(home, tree, pristine, session_id, seed)
    return _Finding(is_reported=is_reported or bool(check.problems), problems=tuple(problems))


def _read(world: World, pristine: _Pristine) -> tuple[bool, list[str]]:
    """Whether some operation reported damage, and the answers that differ without saying so."""
    is_reported = False
    wrong = []
    for (operation, params), wanted in zip(pristine.reads, pristine.answers, strict=True):
        answer = _answer(world, operation, params)
        if answer == wanted or operation == "store.du":
            continue
        if answer == b"refused: " + INTERNAL_ERROR.code.encode():
            wrong.append(f"{operation} ends in a defect")
        elif answer.startswith(b"refused: ") or _DAMAGE_WORDS.search(answer):
            is_reported = True
        else:
            wrong.append(f"{operation} answers otherwise, and no word about damage")
    return is_reported, wrong


def _find_losses(world: World, check: StoreCheck, pristine: _Pristine) -> list[str]:
    """Sessions that are called healthy and lack what was acknowledged."""
    reported = {problem.id for problem in check.problems}
    found = []
    for session_id, records in pristine.records.items():
        loaded = world.log.load(session_id)
        if loaded is None:
            found.append(f"{session_id} is not there any more")
        elif loaded.health.state == "healthy" and records_of(loaded)[: len(records)] != records:
            found.append(f"{session_id} is called healthy and lacks acknowledged events")
        elif loaded.health.state != "healthy" and session_id not in reported:
            found.append(f"{session_id} is {loaded.health.state}, and the verification is silent")
        elif records_of(loaded) != records[: len(loaded.records)] and loaded.health.state != "healthy":
            found.append(f"{session_id} shows other events than were acknowledged")
    return found


def _find_disagreements(home: str, check: StoreCheck, seed: int) -> list[str]:
    """Sessions whose health differs between the ways to load them and the verification."""
    found = []
    reported = {problem.id for problem in check.problems}
    for stamp in _world(home, seed).log.list_sessions():
        session_id = stamp.session_id
        states = [
            _state(_world(home, seed).log.load(session_id)),
            _state(_world(home, seed).log.load_since(session_id, 1)),
            "corrupt" if session_id in reported else "healthy",
        ]
        with _world(home, seed).log.hold(session_id, 0) as hold:
            states.append(_state(hold.load()))
        if len(set(states)) > 1:
            found.append(f"readers disagree about the health of {session_id}: {states}")
    return found


def _state(loaded: Loaded | None) -> str:
    return "healthy" if loaded is None or loaded.health.state == "healthy" else "corrupt"


def _try_write(home: str, tree: Tree, pristine: _Pristine, session_id: SessionId, seed: int) -> list[str]:
    """What is wrong after an advance."""
    before = _world(home, seed).log.load(session_id)
    params: dict[str, Json] = {
        "ackToken": pristine.acks[session_id],
        "output": {"notesMarkdown": "After the damage it was measured."},
    }
    outcome = perform(_world(home, seed).runtime, "run.continue", params)
    found = []
    if isinstance(outcome, Failure) and outcome.kind is INTERNAL_ERROR:
        found.append("a write ends in a defect")
    world = _world(home, seed)
    after = world.log.load(session_id)
    if before is not None and before.health.state != "healthy":
        changed = [path for path, content in read_tree(home).items() if tree.get(path) != content]
        if any(session_id in path for path in changed if "sessions/" in path):
            found.append("a session that is not sound was changed")
    elif not isinstance(outcome, Failure) and (after is None or after.head <= (before.head if before else 0)):
        found.append("an acknowledged write is not in the log")
    return found + _find_losses(world, check_store(world.log), pristine)


def _verdict(damage: Damage, found: _Finding) -> str:
    if found.problems:
        return "wrong"
    if not found.is_reported:
        return "harmless"
    return "false_alarm" if file_kind_of(damage.path) in _NO_PROOF else "told"
