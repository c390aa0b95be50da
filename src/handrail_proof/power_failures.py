"""The crash enumerator: the power fails after every change, and every possible disk state is opened."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import msgspec

from handrail.ports.store import ProofPart
from handrail_proof.crash_states import is_exhaustive, states_after
from handrail_proof.disks import QuietDisk
from handrail_proof.recording import PowerDisk, record_key_files
from handrail_proof.reference import Progress, Reference, find_troubles, run_undisturbed
from handrail_proof.scratch import make_empty, write_tree
from handrail_proof.workload import SCRIPTS, Script, World

MOST_PROBLEMS = 20


class Recording(msgspec.Struct, frozen=True, kw_only=True):
    """A script run once on a recorded disk."""

    reference: Reference
    disk: PowerDisk


class Count:
    """How much was tried."""

    def __init__(self) -> None:
        self.moments = 0
        self.sampled_moments = 0
        self.states = 0


def check_power_failures(place: str, limit: int, seed: int) -> ProofPart:
    """Check every script, with about `limit` states per moment at most."""
    count = Count()
    problems: list[str] = []
    for script in SCRIPTS:
        recording = record_script(script, f"{place}/recorded", seed)
        problems += check_recording(recording, f"{place}/state", limit, seed, count)
    facts = {"moments": count.moments, "moments_sampled": count.sampled_moments, "most_per_moment": limit}
    return ProofPart(
        name="power_failures", cases=count.states, facts=facts, problems=tuple(problems[:MOST_PROBLEMS])
    )


def record_script(
    script: Script, place: str, seed: int, disk_below: Callable[[str], PowerDisk] = PowerDisk
) -> Recording:
    """Run a script on a real disk and keep its model at every moment."""
    undisturbed = run_undisturbed(script, World(make_empty(f"{place}-undisturbed"), QuietDisk(), seed))
    home = make_empty(place)
    disk = disk_below(home)
    progress = Progress(script, World(home, disk, seed))
    disk.tick()
    with record_key_files(disk):
        for _ in script.steps:
            progress.step()
            disk.acknowledged += 1
            disk.tick()
    assert tuple(progress.replies) == undisturbed.replies, "a recording changes nothing"
    return Recording(reference=undisturbed, disk=disk)


def check_recording(
    recording: Recording, place: str, limit: int, seed: int, count: Count, enough: int = MOST_PROBLEMS
) -> list[str]:
    """Open each different state once per number of acknowledged steps, and return what is wrong.

    Ends at the first moment with `enough` problems.
    """
    chance = Random(seed)  # noqa: S311 - chance for a test, printed with its report
    problems: list[str] = []
    seen: set[int] = set()
    for moment, (acknowledged, snapshot) in enumerate(recording.disk.moments):
        count.moments += 1
        count.sampled_moments += not is_exhaustive(snapshot, limit, chance)
        for tree in states_after(snapshot, limit, chance):
            key = hash((acknowledged, frozenset(tree.items())))
            if key in seen:
                continue
            seen.add(key)
            count.states += 1
            write_tree(place, tree)
            found = find_troubles(recording.reference, World(place, QuietDisk(), seed), acknowledged)
            where = f"{recording.reference.script.name}, moment {moment}, {acknowledged} acknowledged"
            problems += [f"{where}: {problem}" for problem in found]
        if len(problems) >= enough:
            break
    return problems
