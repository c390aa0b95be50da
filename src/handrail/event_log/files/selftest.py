"""Tests what depends on the user's own disk in a scratch directory: `ports.StoreProof`.

Power failures, damage, refusals and clocks do not depend on it; `tests/store_proof/` tests those.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from handrail.contract.catalogue import E_IO, E_VALIDATION
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.event_log.files.selftest_writers import WriterOrder, run_order
from handrail.ports.store import ProofOrder, ProofPart

_CROWD: Final = 16
_COMMITS: Final = 20
"""Commits of each process in a crowd."""
_MOST_PROBLEMS: Final = 20


class ScratchProof:
    """Tests the disk of the user's own store, or the one with the requested directory."""

    def __init__(self, home: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
        """Create it; `command` runs the module `selftest_writers` in a process of its own."""
        self._home = home
        self._command = command
        self._environment = environment

    def run(self, order: ProofOrder) -> Iterator[ProofPart]:
        """Yield the results of killing a writer, then of two crowds of writers."""
        with _scratch(order.directory or _existing(self._home)) as place:
            for writers in _orders(order, place):
                part = run_order(writers, self._command, self._environment)
                yield ProofPart(
                    name=os.path.basename(writers.place),
                    cases=part.cases,
                    facts=part.facts,
                    problems=part.problems[:_MOST_PROBLEMS],
                )


def _orders(order: ProofOrder, place: str) -> Iterator[WriterOrder]:
    yield WriterOrder(what="kills", place=f"{place}/kills", seed=order.seed, count=order.kills)
    for name, is_shared in (("crowd_in_one_session", True), ("crowd_in_many_sessions", False)):
        yield WriterOrder(
            what="crowd",
            place=f"{place}/{name}",
            seed=order.seed,
            count=_COMMITS,
            writers=_CROWD,
            is_shared=is_shared,
        )


@contextmanager
def _scratch(directory: str) -> Iterator[str]:
    """Yield a private directory in this one, and remove it afterwards."""
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
    """Return the nearest existing directory, because there may be no store yet."""
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path
