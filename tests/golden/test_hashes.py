"""The same source has the same hash as last year: a run that was pinned then still finds its workflow.

A change here is a change for every user; if it is meant, write the hashes anew (tests/golden/hashes_of.py).
"""

from __future__ import annotations

from tests.cases import every_case
from tests.golden.hashes_of import BUNDLED, bundled_hashes, hash_of, read, small_sources


@every_case("name", sorted(small_sources()))
def test_a_small_source_keeps_its_hash(name: str) -> None:
    held = small_sources()[name]

    assert hash_of(held["source"]) == held["workflowHash"]


def test_every_bundled_workflow_has_the_hash_that_was_reviewed(home: str) -> None:
    assert bundled_hashes(home) == read(BUNDLED)
