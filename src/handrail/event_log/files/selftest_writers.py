"""Writers in their own processes, killed or racing: how the proof starts them, and what they do.

`run_order` starts this module with an order, a JSON object, and reads a JSON report. That small
single-threaded process forks a child per writer, which makes hundreds of kills cheap. Only this
interpreter and this package are ever started.
"""

from __future__ import annotations

import itertools
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from random import Random
from typing import Final, Literal

import msgspec

from handrail.contract.ids import SessionId, blob_ref
from handrail.contract.outcome import Fault
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.segments import SegmentLimits
from handrail.ports.log import Blob, Committed, Draft, SessionHold
from handrail.ports.store import ProofPart

SESSION: Final = SessionId("ses_000000000001")
LIMITS: Final = SegmentLimits(max_events=40, max_bytes=20_000)
WAIT_MS: Final = 5_000
LIVES_PER_STORE: Final = 25
"""Number of kills in one store. Sessions stay short, so that kills happen within
commits and not while reading.
"""
_READ_SECONDS: Final = 20.0
_LOCKED: Final = "!SESSION_LOCKED"
"""What a writer reports instead of a key if it did not get the lock; then it tries again."""
_TRIES: Final = 10
LONGEST_SECONDS: Final = 1800


class WriterOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What to do in the directory `place`, how often, with how many writers."""

    what: Literal["kills", "crowd"]
    place: str
    seed: int
    count: int
    writers: int = 1
    is_shared: bool = True
    """For a crowd: whether all write to one session, or each to its own."""


# Starting the writers


def run_order(order: WriterOrder, command: Sequence[str], environment: Mapping[str, str]) -> ProofPart:
    """Carry out an order in another process, because forking a process with threads is unsafe."""
    text = msgspec.json.encode(order).decode()
    with subprocess.Popen(  # noqa: S603 - this interpreter and this package, no shell
        [*command, text],
        stdin=subprocess.DEVNULL,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            out, err = child.communicate(timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            return _failed(order.what, "they did not end in time")
        finally:
            if child.poll() is None:  # out of time, or a signal ended the call: end the writers too
                os.killpg(child.pid, signal.SIGKILL)
    if child.returncode:
        return _failed(order.what, err.decode(errors="replace").strip().rpartition("\n")[2])
    return msgspec.json.decode(out, type=ProofPart)


def _failed(name: str, why: str) -> ProofPart:
    return ProofPart(name=name, cases=0, facts={}, problems=(f"the writers could not run: {why}",))


# What the started process does


def kill_at_random(order: WriterOrder) -> ProofPart:
    """Kill a writer at random moments; after each kill the session must be whole."""
    chance = Random(order.seed)  # noqa: S311 - chance for a test, printed with its report
    acknowledged: list[str] = []
    problems: list[str] = []
    in_the_middle = total = 0
    for life in range(order.count):
        place = f"{order.place}-{life // LIVES_PER_STORE}"
        acknowledged = acknowledged if life % LIVES_PER_STORE else []
        child = _fork_writer(partial(_append_forever, place, life))
        heard = _kill_after(*child, chance.randrange(4), chance.uniform(0, 0.004))
        acknowledged += heard
        total += len(heard)
        in_the_middle += _has_unacknowledged(place, acknowledged) or _has_orphans(place)
        problems += find_problems(place, SESSION, acknowledged)
    facts = {"acknowledged": total, "writers": order.writers}
    facts |= {"within_a_commit": in_the_middle} if in_the_middle else {}
    return ProofPart(name=order.what, cases=order.count, facts=facts, problems=tuple(problems))


def race_writers(order: WriterOrder) -> ProofPart:
    """Let many processes append at once, to one session or each to its own."""
    own = [SessionId(f"ses_0000000001{number:02d}") for number in range(order.writers)]
    sessions = [SESSION] * order.writers if order.is_shared else own
    children = [
        _fork_writer(partial(_append_many, order.place, session_id, f"w{number}", order.count))
        for number, session_id in enumerate(sessions)
    ]
    answers = [_read_all_answers(read_end) for _, read_end in children]
    heard = [key for one in answers for key in one]
    statuses = [os.waitpid(pid, 0)[1] for pid, _ in children]
    problems = [f"a writer ended with status {status}" for status in statuses if status]
    keys = [key for key in heard if key != _LOCKED]
    wanted = order.count * order.writers
    if len(keys) != wanted:
        problems.append(f"{len(keys)} of {wanted} events were acknowledged")
    for session_id in dict.fromkeys(sessions):
        mine = [one for one, owner in zip(answers, sessions, strict=True) if owner == session_id]
        problems += find_problems(
            order.place, session_id, [key for one in mine for key in one if key != _LOCKED]
        )
    waits = len(heard) - len(keys)
    facts = {"acknowledged": len(keys), "writers": order.writers}
    facts |= {"told_to_try_again": waits} if waits else {}
    return ProofPart(name=order.what, cases=len(keys), facts=facts, problems=tuple(problems))


def find_problems(data: str, session_id: SessionId, acknowledged: list[str]) -> list[str]:
    """Return what is wrong with a session, as sentences."""
    loaded = FileLog(data).load(session_id)
    if loaded is None:
        return ["an acknowledged session is gone"] if acknowledged else []
    found = [record.dedupe_key for record in loaded.records]
    problems = []
    if loaded.health.state != "healthy":
        problems.append(f"the session is {loaded.health.state}: {loaded.health.reason}")
    if missing := set(acknowledged) - set(found):
        problems.append(f"acknowledged and lost: {sorted(missing)[:5]}")
    if len(set(found)) != len(found):
        problems.append("an event is there twice")
    if [record.index for record in loaded.records] != list(range(loaded.head)):
        problems.append("the indexes have a gap")
    return problems


def _append_forever(data: str, life: int, write_end: int) -> None:
    log = FileLog(data, limits=LIMITS)
    for number in itertools.count(1_000_000 * life):
        with log.hold(SESSION, WAIT_MS) as hold:
            for part in range(5):
                _report_keys(write_end, _append_to(hold, 10 * number + part))


def _append_to(hold: SessionHold, number: int) -> list[str]:
    """Commit once at the current head. Return the acknowledged keys."""
    contents = [b"shared", b"%d" % number] if number % 4 == 0 else []
    blobs = [Blob(ref=blob_ref(content), content=content) for content in contents]
    keys = [f"k:{number}:{part}" for part in range(1 + number % 3)]
    _append(hold, keys, blobs)
    return keys


def _append_many(data: str, session_id: SessionId, name: str, count: int, write_end: int) -> None:
    log = FileLog(data, limits=LIMITS)
    for key in (f"{name}:{number}" for number in range(count)):
        for _ in range(_TRIES):
            try:
                with log.hold(session_id, WAIT_MS) as hold:
                    _append(hold, [key])
            except Fault as fault:
                _report_keys(write_end, [f"!{fault.kind.code}"])
                continue
            _report_keys(write_end, [key])
            break


def _append(hold: SessionHold, keys: list[str], blobs: Sequence[Blob] = ()) -> None:
    drafts = [Draft(dedupe_key=key, body=b'{"key":"%s"}' % key.encode()) for key in keys]
    loaded = hold.load()
    answer = hold.append(0 if loaded is None else loaded.head, drafts, blobs)
    assert isinstance(answer, Committed), "the head was read under the hold"


def _report_keys(write_end: int, keys: list[str]) -> None:
    os.write(write_end, b"".join(key.encode() + b"\n" for key in keys))


def _fork_writer(work: Callable[[int], None]) -> tuple[int, int]:
    """Fork a child that works and exits. Return its pid, and the pipe to read from."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read_end)
            work(write_end)
            status = 0
        finally:
            os._exit(status)
    os.close(write_end)
    return pid, read_end


def _kill_after(pid: int, read_end: int, answers: int, seconds: float) -> list[str]:
    """Let the child give some answers, wait a little, kill it. Return everything it acknowledged."""
    content = b""
    while content.count(b"\n") < answers and (part := _read_within(read_end, _READ_SECONDS)):
        content += part
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        content += _read_within(read_end, left)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    assert content[content.rfind(b"\n") + 1 :] == b"", "an answer is written in one piece"
    return content.decode().splitlines() + _read_all_answers(read_end)


def _read_all_answers(read_end: int) -> list[str]:
    content = b""
    while part := os.read(read_end, 65536):
        content += part
    os.close(read_end)
    return content.decode().splitlines()


def _read_within(read_end: int, seconds: float) -> bytes:
    ready, _, _ = select.select([read_end], [], [], seconds)
    return os.read(read_end, 65536) if ready else b""


def _has_unacknowledged(data: str, acknowledged: list[str]) -> bool:
    """Whether the kill came between a commit and its acknowledgement: the last event is unknown."""
    loaded = FileLog(data).load(SESSION)
    return loaded is not None and loaded.records[-1].dedupe_key not in acknowledged


def _has_orphans(data: str) -> bool:
    """Whether the kill came between the first byte of a commit and the last."""
    session = f"{data}/sessions/{SESSION}"
    if FileLog(data).load(SESSION) is None or not os.path.exists(f"{session}/manifest.jsonl"):
        return False
    with open(f"{session}/manifest.jsonl", "rb") as file:
        lines = file.read().splitlines()
    last = msgspec.json.decode(lines[-1]) if lines and lines[-1].endswith(b"}") else {"to": -1, "segment": ""}
    path = f"{session}/{last['segment']}"
    return not os.path.isfile(path) or os.path.getsize(path) != last["to"]


def main(text: str) -> None:
    """Carry out one order and print its report."""
    order = msgspec.json.decode(text, type=WriterOrder)
    work = {"kills": kill_at_random, "crowd": race_writers}[order.what]
    os.write(1, msgspec.json.encode(work(order)) + b"\n")


if __name__ == "__main__":
    main(sys.argv[1])
