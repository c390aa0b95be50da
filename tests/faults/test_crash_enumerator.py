"""The crash enumerator accepts the store as it is, and finds every sync that is taken out on purpose."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from handrail.event_log.files.upkeep.keeper import RemovingDisk
from tests.store_proof.disks import CALLS, PASSIVE_CALLS
from tests.store_proof.power_failures import (
    Count,
    PowerDisk,
    check_power_failures,
    check_recording,
    record_script,
)
from tests.store_proof.scratch import find_memory_directory
from tests.store_proof.workload import COLLECTION, RUNS, Script

pytestmark = pytest.mark.thorough

SEED = 20261115
FEW = 6
ENOUGH_TO_FIND = 3
"""States per moment that show a sync left out; the selftest tries many more."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    """Where nothing waits for a disk, if there is such a place."""
    with tempfile.TemporaryDirectory(dir=find_memory_directory(str(tmp_path))) as directory:
        yield directory


def test_power_failure_loses_doubles_and_hides_nothing(place: str) -> None:
    part = check_power_failures(place, FEW, SEED)

    print(f"seed {SEED}: {part}")
    assert part.problems == ()
    assert part.cases > 300
    assert part.facts["moments"] > 100


def test_the_same_seed_tries_the_same_number_of_states(place: str) -> None:
    script = Script(name="short", steps=RUNS.steps[:2])

    counts = []
    for name in ("one", "two"):
        count = Count()
        recording = record_script(script, f"{place}/{name}", SEED)
        assert check_recording(recording, f"{place}/state", FEW, SEED, count) == []
        counts.append((count.moments, count.sampled_moments, count.states))

    assert counts[0] == counts[1]


def test_every_call_of_the_disk_is_one_that_the_model_knows() -> None:
    """A new call needs a place in the model, or the enumerator would not see what it does."""
    known = {
        *("open", "open_directory", "write", "cut", "sync", "sync_names", "make", "rename", "unlink"),
        *("remove_directory", "set_modified", "status", "status_of", "read", "names", "is_empty", "lock_now"),
        *PASSIVE_CALLS,
    }
    names = {name for name in dir(RemovingDisk) if not name.startswith("_")}
    offered = {name for name in names if callable(getattr(RemovingDisk, name))}

    assert offered <= known
    assert set(CALLS) <= known


class ForgetfulDisk(PowerDisk):
    """Reports some syncs as done and does not do them."""

    forgets: Callable[[str], bool] = staticmethod(lambda path: False)

    def note_sync(self, descriptor: int) -> None:
        if self.forgets(os.readlink(f"/proc/self/fd/{descriptor}")):
            self.tick()
        else:
            super().note_sync(descriptor)


def forgetful(forgets: Callable[[str], bool]) -> type[ForgetfulDisk]:
    return type("Planted", (ForgetfulDisk,), {"forgets": staticmethod(forgets)})


PLANTED: dict[str, tuple[Script, Callable[[str], bool]]] = {
    "the sync of the manifest": (RUNS, lambda path: path.endswith("/manifest.jsonl")),
    "the sync of the events": (RUNS, lambda path: "/events-" in path),
    "the sync of a blob": (RUNS, lambda path: "/blobs/" in path and len(os.path.basename(path)) == 64),
    "the sync of the names of blobs": (RUNS, lambda path: os.path.basename(os.path.dirname(path)) == "blobs"),
    "the sync of the names of sessions": (RUNS, lambda path: path.endswith("/sessions")),
    "the sync of the names in a session": (RUNS, lambda path: os.path.basename(path).startswith("ses_")),
    "the sync of the key file": (RUNS, lambda path: "/keyring.json." in path),
    "the sync of the names of key files": (RUNS, lambda path: path.endswith("/keys")),
    "the sync before a removed session is emptied": (COLLECTION, lambda path: path.endswith("/sessions")),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_sync_that_is_left_out_is_found(place: str, name: str) -> None:
    script, forgets = PLANTED[name]
    recording = record_script(script, f"{place}/recorded", SEED, forgetful(forgets))
    recording.disk.moments.reverse()  # what never reaches the disk is missing to the end

    problems = check_recording(recording, f"{place}/state", ENOUGH_TO_FIND, SEED, Count(), enough=1)

    assert problems != []


def test_a_store_that_acknowledges_too_early_is_found(place: str) -> None:
    script = Script(name="short", steps=RUNS.steps[:2])
    recording = record_script(script, f"{place}/recorded", SEED)
    recording.disk.moments[:] = [(2, snapshot) for _, snapshot in recording.disk.moments]

    problems = check_recording(recording, f"{place}/state", FEW, SEED, Count(), enough=1)

    assert any("events instead of" in problem for problem in problems)
