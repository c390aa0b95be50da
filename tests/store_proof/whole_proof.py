"""Everything that the store is put through: `uv run python -m tests.store_proof.whole_proof SEED`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator

from handrail.event_log.files.selftest_writers import WriterOrder
from handrail.ports.store import ProofPart
from tests.event_log.conformance import check_conformance
from tests.store_proof.damages import SEVERAL_BITS, check_bit_rot, check_damages
from tests.store_proof.faults import EVERY_WAY, check_clocks, check_refusals
from tests.store_proof.power_failures import check_power_failures
from tests.store_proof.scratch import find_memory_directory
from tests.store_proof.writers import run_writers

CALLS = 2_000
STATES = 2_000
"""Per moment of a power failure."""
STRETCHES = 80
KILLS = 3_000


def parts(place: str, quiet: str, seed: int) -> Iterator[ProofPart]:
    """Each part when it is done; in `quiet` nothing waits for a disk."""
    yield check_conformance(place, CALLS, seed)
    yield check_power_failures(quiet, STATES, seed)
    yield check_bit_rot(quiet, SEVERAL_BITS, seed)
    yield check_damages(quiet, STRETCHES, 1, seed)
    yield check_clocks(quiet, seed)
    yield check_refusals(quiet, EVERY_WAY, seed)
    yield run_writers(WriterOrder(what="kills", place=f"{place}/kills", seed=seed, count=KILLS))
    for number, is_shared in enumerate((True, False)):
        crowd = f"{place}/crowd-{number}"
        order = WriterOrder(what="crowd", place=crowd, seed=seed, count=50, writers=16, is_shared=is_shared)
        yield run_writers(order)


def main(seed: int) -> int:
    """Print every part as it ends. 1 if one of them found a problem."""
    found = 0
    with (
        tempfile.TemporaryDirectory() as place,
        tempfile.TemporaryDirectory(dir=find_memory_directory(place)) as quiet,
    ):
        for part in parts(place, quiet, seed):
            print(part, flush=True)
            found += len(part.problems)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
