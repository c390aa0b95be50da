"""The whole proof in one scratch directory: `ports.StoreProof`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import msgspec

from handrail.contract.catalogue import E_IO, E_VALIDATION
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.ports.store import Effort, ProofOrder, ProofPart
from handrail_proof.conformance import check_conformance
from handrail_proof.damages import ONE_BIT, SEVERAL_BITS, check_bit_rot, check_damages
from handrail_proof.faults import EVERY_WAY, ONCE, check_clocks, check_refusals
from handrail_proof.kills import WriterOrder, run_order
from handrail_proof.power_failures import MOST_PROBLEMS, check_power_failures
from handrail_proof.scratch import find_memory_directory


class _Amount(msgspec.Struct, frozen=True, kw_only=True):
    """How much of everything."""

    calls: int
    states_per_moment: int
    masks: tuple[int, ...]
    small_stretches: int
    every_stretch: int
    ways: tuple[tuple[int, int], ...]
    commits: int


_AMOUNTS: Final[dict[Effort, _Amount]] = {
    "quick": _Amount(
        calls=100,
        states_per_moment=12,
        masks=ONE_BIT,
        small_stretches=4,
        every_stretch=7,
        ways=ONCE,
        commits=5,
    ),
    "full": _Amount(
        calls=2_000,
        states_per_moment=2_000,
        masks=SEVERAL_BITS,
        small_stretches=80,
        every_stretch=1,
        ways=EVERY_WAY,
        commits=50,
    ),
}
_CROWD: Final = 16


class ScratchProof:
    """Proves the store on the disk of the user's own store, or in the directory of the order."""

    def __init__(self, home: str) -> None:
        self._home = home

    def run(self, order: ProofOrder) -> Iterator[ProofPart]:
        with ExitStack() as scope:
            place = scope.enter_context(_scratch(order.directory or _existing(self._home)))
            quiet = scope.enter_context(_scratch(find_memory_directory(place)))
            for part in _parts(order, place, quiet):
                yield msgspec.structs.replace(part, problems=part.problems[:MOST_PROBLEMS])


def _parts(order: ProofOrder, place: str, quiet: str) -> Iterator[ProofPart]:
    amount = _AMOUNTS[order.effort]
    seed = order.seed
    yield check_conformance(place, amount.calls, seed)
    yield check_power_failures(quiet, amount.states_per_moment, seed)
    yield check_bit_rot(quiet, amount.masks, seed)
    yield check_damages(quiet, amount.small_stretches, amount.every_stretch, seed)
    yield check_clocks(quiet, seed)
    yield check_refusals(quiet, amount.ways, seed)
    kills = WriterOrder(what="kills", place=f"{place}/kills", seed=seed, count=order.kills)
    yield run_order("kills", kills)
    for name, is_shared in (("crowd_in_one_session", True), ("crowd_in_many_sessions", False)):
        crowd = WriterOrder(
            what="crowd",
            place=f"{place}/{name}",
            seed=seed,
            count=amount.commits,
            writers=_CROWD,
            is_shared=is_shared,
        )
        yield run_order(name, crowd)


@contextmanager
def _scratch(directory: str) -> Iterator[str]:
    """A private directory in this one, removed afterwards."""
    if not os.path.isdir(directory):
        raise Fault(
            E_VALIDATION,
            f"{quote(directory)} is not a directory.",
            details={"param": "dir", "expected": "an existing directory on the disk to prove"},
        )
    try:
        place = tempfile.mkdtemp(prefix="handrail-selftest-", dir=directory)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        message = f"No scratch directory could be made in {quote(directory)}: {why}."
        raise Fault(E_IO, message, details={"reason": "unwritable"}) from error
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _existing(path: str) -> str:
    """The nearest directory that exists: there may be no store yet."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path
