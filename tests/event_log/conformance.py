"""The promises of the log on the user's disk, compared call by call with the log in memory."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final

from handrail.contract.ids import SessionId, blob_ref
from handrail.contract.outcome import Fault
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.segments import SegmentLimits
from handrail.event_log.memory import MemoryLog
from handrail.ports.log import Blob, Draft, EventLog
from handrail.ports.store import ProofPart
from tests.store_proof.scratch import make_empty

SESSIONS: Final = tuple(SessionId(f"ses_00000000000{number}") for number in range(1, 4))
_WAIT_MS: Final = 5_000


def check_conformance(place: str, calls: int, seed: int) -> ProofPart:
    """Send the same random calls to the store in files and to the one in memory."""
    small = SegmentLimits(max_events=5, max_bytes=600)
    problems = []
    for number, limits in enumerate((SegmentLimits(), small)):
        chance = Random(seed + number)
        files = FileLog(make_empty(f"{place}/files-{number}"), limits=limits)
        problems += compare_logs(files, MemoryLog(), chance, calls)
    facts = {"sessions": len(SESSIONS), "stores": 2}
    return ProofPart(name="conformance", cases=2 * calls, facts=facts, problems=tuple(problems))


def compare_logs(log: EventLog, meaning: EventLog, chance: Random, calls: int) -> list[str]:
    """What the two answer differently to the same random calls."""
    problems = []
    known: list[str] = []
    for number in range(calls):
        session_id = chance.choice(SESSIONS)
        plan, blobs = _plan(chance, number, known)
        head = len(_records(meaning, session_id)) - (1 if chance.random() < 0.15 else 0)
        answers = [_append(one, session_id, head, plan, blobs) for one in (log, meaning)]
        known += [draft.dedupe_key for draft in plan]
        if answers[0] != answers[1]:
            problems.append(f"call {number}: append gives {answers[0]}, it means {answers[1]}")
        problems += _compare_reads(log, meaning, session_id, number, chance)
    return problems


def _compare_reads(
    log: EventLog, meaning: EventLog, session_id: SessionId, number: int, chance: Random
) -> list[str]:
    since = chance.randrange(8)
    found, wanted = (_read(one, session_id, since) for one in (log, meaning))
    return [f"call {number}: {name} differs" for name in wanted if found[name] != wanted[name]]


def _read(log: EventLog, session_id: SessionId, since: int) -> dict[str, object]:
    return {
        "load": log.load(session_id),
        f"load_since {since}": log.load_since(session_id, since),
        "list_sessions": [stamp.session_id for stamp in log.list_sessions()],
    }


def _plan(chance: Random, number: int, known: Sequence[str]) -> tuple[list[Draft], list[Blob]]:
    first = chance.choice(known) if known and chance.random() < 0.15 else f"k:{number}"
    keys = [first, *(f"k:{number}:{part}" for part in range(chance.randrange(3)))]
    body = b'{"t":"%s"}' % (b"x" * chance.choice((0, 10, 700)))
    contents = [b"shared", b"%d" % number][: chance.randrange(3)]
    blobs = [Blob(ref=blob_ref(content), content=content) for content in contents]
    return [Draft(dedupe_key=key, body=body) for key in keys], blobs


def _append(
    log: EventLog, session_id: SessionId, head: int, plan: Sequence[Draft], blobs: Sequence[Blob]
) -> object:
    """Append, and return the answer with the blobs read back."""
    with log.hold(session_id, _WAIT_MS) as hold:
        answer = hold.append(head, plan, blobs)
    return answer, [_read_back(log, blob) for blob in blobs]


def _read_back(log: EventLog, blob: Blob) -> bytes | str:
    try:
        return log.get_blob(blob.ref)
    except Fault as fault:
        return fault.kind.code


def _records(log: EventLog, session_id: SessionId) -> Sequence[object]:
    loaded = log.load(session_id)
    return () if loaded is None else loaded.records
