"""Hostile clocks: work goes on while the clock jumps, and nothing is deleted because of what it says."""

from __future__ import annotations

from typing import Final

import msgspec

from handrail.contract.redaction import Secrets
from handrail.event_log.files.upkeep.verify import check_store
from handrail.host.audit import AuditFiles
from handrail.host.confirmed_tokens import ConfirmedTokenFiles
from handrail.ports.store import ProofPart
from handrail_proof.disks import QuietDisk
from handrail_proof.scratch import make_empty, read_tree
from handrail_proof.workload import AUDIT_LINE, RUNS, Progress, World

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
