"""A disk that refuses, once or from a call on; and hostile clocks, by which nothing may be deleted."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets
from handrail.event_log.files.upkeep.whole_store import check_store
from handrail.host.process import AuditFiles, ConfirmedTokenFiles
from handrail.ports.store import ProofPart
from tests.store_proof.disks import CountingDisk, QuietDisk, RefusingDisk
from tests.store_proof.scratch import make_empty, read_tree
from tests.store_proof.workload import (
    AUDIT_LINE,
    COLLECTION,
    IMPORT,
    RUNS,
    AnswerLost,
    Broken,
    Progress,
    Reference,
    Script,
    World,
    find_troubles,
    run_undisturbed,
)

EVERY_WAY: Final = tuple((number, most) for number in (errno.EIO, errno.ENOSPC) for most in (1, sys.maxsize))
_COMMITTED: Final = "committed"
NAMED: Final = ("STORE_IO_ERROR", "KEYRING_INVALID", _COMMITTED)
_SHORT_RUNS: Final = Script(name="runs", steps=RUNS.steps[:5])
_DISTURBED: Final = (
    (_SHORT_RUNS, 0),
    (COLLECTION, len(COLLECTION.steps) - 1),
    (IMPORT, len(IMPORT.steps) - 1),
)
"""Scripts, and the first step with refusals: earlier steps are covered by the first script."""


def check_refusals(place: str, ways: Sequence[tuple[int, int]], seed: int) -> ProofPart:
    """Refuse the k-th call of each script, for every k and in each of these ways."""
    cases = refused = 0
    problems: list[str] = []
    for script, first_step in _DISTURBED:
        undisturbed = run_undisturbed(script, World(make_empty(f"{place}/undisturbed"), QuietDisk(), seed))
        before, calls = _calls_of(script, first_step, f"{place}/counted", seed)
        for number, most in ways:
            for call in range(before + 1, calls + 1):
                disk = RefusingDisk(number, call, min(call + most - 1, sys.maxsize))
                found, was_refused = _disturbed(undisturbed, make_empty(f"{place}/refused"), disk, seed)
                where = f"{script.name}, {errno.errorcode[number]} from call {call} on"
                problems += [f"{where}: {problem}" for problem in found]
                cases += 1
                refused += was_refused
    facts = {"answered_with_an_error": refused}
    return ProofPart(name="refusals", cases=cases, facts=facts, problems=tuple(problems))


def _calls_of(script: Script, first_step: int, home: str, seed: int) -> tuple[int, int]:
    """How many calls are made before a step, and in all."""
    disk = CountingDisk()
    progress = Progress(script, World(make_empty(home), disk, seed))
    for _ in range(first_step):
        progress.step()
    before = disk.calls
    progress.run()
    return before, disk.calls


def _disturbed(undisturbed: Reference, home: str, disk: RefusingDisk, seed: int) -> tuple[list[str], bool]:
    """What is wrong after a script with a refusal, and whether an answer reported the refusal."""
    progress = Progress(undisturbed.script, World(home, disk, seed))
    code = _run(progress)
    if code and code not in NAMED:
        return [f"the trouble is called {code}"], True
    # A refused collection may have been nearly done; repeating it clears what it set aside.
    acknowledged = len(progress.replies)
    return find_troubles(undisturbed, World(home, QuietDisk(), seed), acknowledged), bool(code)


def _run(progress: Progress) -> str:
    """The code of the failure that ended the script; empty when none did."""
    try:
        progress.run()
    except Broken as broken:
        return broken.code
    except Fault as fault:
        return fault.kind.code
    except AnswerLost:
        return _COMMITTED  # the step is in the log, and a repeat gets the reply
    return ""


_YEAR: Final = 365 * 86_400
_START: Final = 1_767_225_600
HOURS: Final = {
    "the beginning of the count": 0,
    "a year back": _START - _YEAR,
    "two years ahead": _START + 2 * _YEAR,
    "the last year of four digits": 253_402_300_000,
}
_MONTHS: Final = tuple(f"2025-{month:02}" for month in range(1, 11))
"""With the month of the work and of the moved clock, exactly as many as are kept."""
_KEEP: Final = 12


class _MovedDisk(QuietDisk):
    """A disk with a clock that can be set."""

    def __init__(self) -> None:
        self.seconds = _START

    def now_ns(self) -> int:
        return self.seconds * 1_000_000_000


def check_clocks(place: str, seed: int) -> ProofPart:
    """Run each step under each clock, with an audit, a used token and a removal plan."""
    cases = 0
    problems: list[str] = []
    for name, seconds in HOURS.items():
        for moved in range(len(RUNS.steps)):
            problems += [
                f"{name}, from step {moved}: {one}" for one in _troubles(place, moved, seconds, seed)
            ]
            cases += 1
    return ProofPart(name="clocks", cases=cases, facts={"clocks": len(HOURS)}, problems=tuple(problems))


def _troubles(place: str, moved: int, seconds: int, seed: int) -> list[str]:
    """Run one step with another clock; before and after it the clock is right."""
    home = make_empty(f"{place}/clocks")
    disk = _MovedDisk()
    world = World(home, disk, seed)
    progress = Progress(RUNS, world)
    audit, used = AuditFiles(home, Secrets()), ConfirmedTokenFiles(home)
    for month in _MONTHS:
        audit.record(msgspec.structs.replace(AUDIT_LINE, at=f"{month}-15T00:00:00.000Z"), _KEEP)
    used.claim("a" * 64, expires_at=_START + 900, now=_START)
    for number in range(len(RUNS.steps)):
        disk.seconds = world.clock.seconds = seconds if number == moved else _START + number
        before = set(read_tree(home))
        known = {stamp.session_id for stamp in world.log.list_sessions()}
        old = world.runtime.keeper().plan_removal(90).sessions
        progress.step()
        audit.record(msgspec.structs.replace(AUDIT_LINE, at=world.clock.now()), _KEEP)
        used.claim(f"{number:064}", expires_at=disk.seconds + 900, now=disk.seconds)
        disk.seconds = _START + number
        old += world.runtime.keeper().plan_removal(90).sessions
        gone = sorted(before - set(read_tree(home)))
        # A session that a late clock starts is as old as that clock says: nothing else is known.
        aged = [session.session_id for session in old if session.session_id in known]
        if gone or aged:
            return [f"{gone[0]} was deleted" if gone else f"{aged[0]} counts as old"]
    found = [
        f"{one.what} {one.id}: {one.reason}" for one in check_store(World(home, disk, seed).log).problems
    ]
    if used.claim("a" * 64, expires_at=_START + 900, now=_START).state != "already_used":
        found.append("a used token is good again")
    return found
