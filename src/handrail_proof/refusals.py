"""A disk that refuses: every single call fails once, and then every call from there on."""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import Final

from handrail.contract.outcome import Fault
from handrail.ports.store import ProofPart
from handrail_proof.disks import CountingDisk, QuietDisk, RefusingDisk
from handrail_proof.scratch import make_empty
from handrail_proof.workload import (
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

ONCE: Final = ((errno.EIO, 1), (errno.ENOSPC, sys.maxsize))
"""The error of the disk, and how many calls it refuses."""
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


class _QuietRefusingDisk(RefusingDisk):
    """Refuses calls, but skips syncs, which prove nothing here."""

    def sync(self, descriptor: int) -> None:
        del descriptor
        self.before("sync")

    def sync_names(self, descriptor: int) -> None:
        del descriptor
        self.before("sync_names")


def check_refusals(place: str, ways: Sequence[tuple[int, int]], seed: int) -> ProofPart:
    """Refuse the k-th call of each script, for every k and in each of these ways."""
    cases = refused = 0
    problems: list[str] = []
    for script, first_step in _DISTURBED:
        undisturbed = run_undisturbed(script, World(make_empty(f"{place}/undisturbed"), QuietDisk(), seed))
        before, calls = _calls_of(script, first_step, f"{place}/counted", seed)
        for number, most in ways:
            for call in range(before + 1, calls + 1):
                disk = _QuietRefusingDisk(number, call, min(call + most - 1, sys.maxsize))
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
