"""Damaged stretches and hostile clocks: the store passes, and a store that forgets is caught."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from handrail.event_log.files import commit, history, manifest
from handrail.event_log.files.upkeep import keeper
from handrail.host.process import AuditFiles
from tests.store_proof import damages, faults
from tests.store_proof.crash_states import Tree

SEED = 20261115


@pytest.mark.thorough
def test_no_damaged_stretch_loses_anything_in_silence(place: str) -> None:
    part = damages.check_damages(place, 4, 7, SEED)

    print(f"seed {SEED}: {part}")
    assert part.problems == ()
    assert part.cases > 100
    assert part.facts.get("false_alarm", 0) == 0
    told = {fact.split(" ")[0] for fact in part.facts if fact.endswith(" told")}
    harmless = {fact.split(" ")[0] for fact in part.facts if fact.endswith(" harmless")}
    assert told == {"blob", "events", "keys", "manifest", "key"}
    assert harmless - {"key"} == {
        "audit",
        "cache",
        "lock",
        "keys",
    }  # what keys request ids is asked for by starts only
    # A store key that is gone loses proof and no event; one that is damaged is told.


@pytest.mark.thorough
def test_store_that_takes_garbage_for_a_torn_line_is_caught(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = damages.list_damages

    def manifests_first(tree: Tree, older: Tree, small: int, chance: Random) -> Iterator[damages.Damage]:
        """Of the other files each tenth damage is enough here."""
        for number, damage in enumerate(every(tree, older, small, chance)):
            if damages.file_kind_of(damage.path) == "manifest" or number % 10 == 0:
                yield damage

    monkeypatch.setattr(damages, "list_damages", manifests_first)
    monkeypatch.setattr(history, "_compare_with_note", lambda attested, start, content, note: attested)
    monkeypatch.setattr(manifest, "_is_begun_line", lambda text: True)
    monkeypatch.setattr(history, "is_one_commit", lambda orphans, planned=b"": True)
    monkeypatch.setattr(commit, "is_one_commit", lambda orphans, planned=b"": True)

    problems = damages.check_damages(place, 4, 7, SEED).problems

    assert problems != ()
    assert all("manifest.jsonl: " in problem for problem in problems)


def test_every_stretch_of_every_file_is_tried() -> None:
    tree: dict[str, bytes | None] = {"data": None, "data/a": b"text " * 1_000, "data/b": b"x"}

    found = list(damages.list_damages(tree, {"data/a": b"old"}, 3, Random(1)))

    assert {damage.path for damage in found} == {"data/a", "data/b"}
    assert {damage.what.split(" ")[0] for damage in found} == {"all", *damages.KINDS}
    assert all(damage.content != tree[damage.path] for damage in found)
    large = [damage.what for damage in found if damage.path == "data/a"]
    assert len([what for what in large if "512 bytes" in what]) == 5 * 10
    assert len([what for what in large if "4096 bytes" in what]) == 5 * 2


@pytest.mark.thorough
def test_no_clock_deletes_anything_or_makes_a_session_old(place: str) -> None:
    part = faults.check_clocks(place, SEED)

    assert part.problems == ()
    assert part.cases == 36


@pytest.mark.thorough
def test_a_collection_that_believes_its_clock_is_caught(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "min", lambda now, newest: now, raising=False)

    problems = faults.check_clocks(place, SEED).problems

    assert any("counts as old" in problem for problem in problems)


@pytest.mark.thorough
def test_an_audit_that_believes_its_clock_is_caught(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def forget_what_is_long_ago(self: AuditFiles, count: int, current: str) -> None:
        if current > "2027":
            Path(self._directory, "audit-2025-06.jsonl").unlink()

    monkeypatch.setattr(AuditFiles, "_keep_newest", forget_what_is_long_ago)

    problems = faults.check_clocks(place, SEED).problems

    assert any("audit-2025-06.jsonl was deleted" in problem for problem in problems)
