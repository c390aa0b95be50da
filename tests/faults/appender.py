"""Writers in processes of their own, to be killed or to race: started once, then forked per writer.

Run as `python -m tests.faults.appender <what> <data> <seed> <count>`; prints one JSON report. Forking
from this small single-threaded process is what makes hundreds of kills cheap.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from handrail.event_log.disk import Disk
from handrail.event_log.files import FileLog
from handrail.event_log.segments import SegmentLimits
from handrail.ports import Committed, SessionHold
from tests.event_log.conformance import A, append_with_retry, blob, plan
from tests.faults.disks import CountingDisk, KillingDisk

LIMITS = SegmentLimits(max_events=40, max_bytes=20_000)
WAIT_MS = 20_000
READ_SECONDS = 20
LIVES_PER_STORE = 25
"""A session that stays short keeps the kills within commits instead of within reading."""


def kill_at_random(data: str, seed: int, count: int) -> dict[str, Any]:
    """Kill a writer again and again at a random moment; after each death the session must be whole."""
    chance = random.Random(seed)
    acknowledged: list[str] = []
    problems: list[str] = []
    in_the_middle = 0
    for life in range(count):
        place = f"{data}-{life // LIVES_PER_STORE}"
        acknowledged = acknowledged if life % LIVES_PER_STORE else []
        read_end, pid = in_a_child(partial(append_for_ever, place, life))
        acknowledged += killed_after(pid, read_end, chance.randrange(4), chance.uniform(0, 0.004))
        in_the_middle += has_orphans(place)
        problems += check_store(place, acknowledged)
    return {"kills": count, "middle": in_the_middle, "problems": problems}


def kill_at_every_call(data: str, seed: int, count: int) -> dict[str, Any]:
    """Kill a writer before its first call to the disk, before its second, and so on.

    Once in a store that does not exist yet and `count` times in one that grows.
    """
    acknowledged: list[str] = []
    problems: list[str] = []
    kills = 0
    counting = CountingDisk()
    append_once(f"{data}-counted", 0, counting)
    for life, call in itertools.product(range(1 + count), range(1, counting.calls + 1)):
        place = data if life else f"{data}-{call}"
        read_end, pid = in_a_child(partial(append_and_tell, place, 1000 * life + call, KillingDisk(call)))
        answers = all_answers(read_end)
        kills += os.waitpid(pid, 0)[1] == signal.SIGKILL
        acknowledged += answers if life else []
        problems += check_store(place, acknowledged if life else answers)
    return {"kills": kills, "acknowledged": len(acknowledged), "problems": problems}


def race(data: str, seed: int, count: int) -> dict[str, Any]:
    """Two processes append to one session, each retrying on conflict."""
    children = [in_a_child(partial(append_many, data, name, count)) for name in "pq"]
    answers = [answer for read_end, _ in children for answer in all_answers(read_end)]
    statuses = [os.waitpid(pid, 0)[1] for _, pid in children]
    return {"statuses": statuses, "acknowledged": len(answers), "problems": check_store(data, answers)}


def append_for_ever(data: str, life: int, write_end: int) -> None:
    log = FileLog(data, limits=LIMITS)
    for number in itertools.count(1_000_000 * life):
        with log.hold(A, WAIT_MS) as hold:
            for part in range(5):
                tell(write_end, append_to(hold, 10 * number + part))


def append_and_tell(data: str, number: int, disk: Disk, write_end: int) -> None:
    tell(write_end, append_once(data, number, disk))


def append_once(data: str, number: int, disk: Disk) -> list[str]:
    with FileLog(data, disk, LIMITS).hold(A, WAIT_MS) as hold:
        return append_to(hold, number)


def append_to(hold: SessionHold, number: int) -> list[str]:
    """One commit at whatever head the session has; the keys that were acknowledged."""
    drafts = plan(*(f"k:{number}:{part}" for part in range(1 + number % 3)))
    blobs = [blob(b"shared"), blob(b"%d" % number)] if number % 4 == 0 else []
    loaded = hold.load()
    answer = hold.append(0 if loaded is None else loaded.head, drafts, blobs)
    assert isinstance(answer, Committed)
    return [draft.dedupe_key for draft in drafts]


def append_many(data: str, name: str, count: int, write_end: int) -> None:
    log = FileLog(data, limits=LIMITS)
    for number in range(count):
        key = f"{name}:{number}"
        assert isinstance(append_with_retry(log, A, plan(key)), Committed)
        tell(write_end, [key])


def tell(write_end: int, keys: list[str]) -> None:
    os.write(write_end, b"".join(key.encode() + b"\n" for key in keys))


def in_a_child(work: Callable[[int], None]) -> tuple[int, int]:
    """Fork; the child works and ends without coming back. The pipe to read from, and its pid."""
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
    return read_end, pid


def killed_after(pid: int, read_end: int, answers: int, seconds: float) -> list[str]:
    """Let the child give some answers, wait a little, kill it; everything it acknowledged."""
    content = b""
    while content.count(b"\n") < answers and (part := read_within(read_end, READ_SECONDS)):
        content += part
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        content += read_within(read_end, left)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return content.decode().splitlines() + all_answers(read_end, content[content.rfind(b"\n") + 1 :])


def all_answers(read_end: int, begun: bytes = b"") -> list[str]:
    assert begun == b"", "an answer is written in one piece"
    content = b""
    while part := os.read(read_end, 65536):
        content += part
    os.close(read_end)
    return content.decode().splitlines()


def read_within(read_end: int, seconds: float) -> bytes:
    ready, _, _ = select.select([read_end], [], [], seconds)
    return os.read(read_end, 65536) if ready else b""


def has_orphans(data: str) -> bool:
    """Whether the kill struck between the first byte of a commit and its acknowledgement."""
    loaded = FileLog(data).load(A)
    session = f"{data}/sessions/{A}"
    if loaded is None or not os.path.exists(f"{session}/manifest.jsonl"):
        return False
    with open(f"{session}/manifest.jsonl", "rb") as file:
        lines = file.read().splitlines()
    last = json.loads(lines[-1]) if lines and lines[-1].endswith(b"}") else {"to": -1, "segment": ""}
    path = f"{session}/{last['segment']}"
    return not os.path.isfile(path) or os.path.getsize(path) != last["to"]


def check_store(data: str, acknowledged: list[str]) -> list[str]:
    """What is wrong with the session, as sentences."""
    loaded = FileLog(data).load(A)
    if loaded is None:
        return ["an acknowledged session is gone"] if acknowledged else []
    found = [record.dedupe_key for record in loaded.records]
    problems = []
    if loaded.health.state != "healthy":
        problems.append(f"the session is {loaded.health}")
    if missing := set(acknowledged) - set(found):
        problems.append(f"acknowledged and lost: {sorted(missing)[:5]}")
    if len(set(found)) != len(found):
        problems.append("an event is there twice")
    if [record.index for record in loaded.records] != list(range(loaded.head)):
        problems.append("the indexes have a gap")
    return problems


def main(arguments: list[str]) -> None:
    what, data, seed, count = arguments
    work = {"kills": kill_at_random, "calls": kill_at_every_call, "race": race}[what]
    json.dump(work(data, int(seed), int(count)), sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
