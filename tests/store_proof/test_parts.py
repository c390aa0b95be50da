"""Each part of the proof passes on the store as it is, counts what it did, and fails on a broken one."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from handrail.event_log.files.log import FileHold, FileLog
from tests.event_log import conformance
from tests.store_proof import damages, faults
from tests.store_proof.scratch import read_tree, write_tree


@pytest.mark.thorough
def test_the_log_conforms_on_this_disk(place: str) -> None:
    part = conformance.check_conformance(place, 60, 1)

    assert part.problems == ()
    assert part.cases == 120


@pytest.mark.thorough
def test_log_that_takes_an_old_head_does_not_conform(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    original = FileHold.append

    def careless(self: FileHold, head: int, drafts: Any, blobs: Any = ()) -> Any:
        loaded = self.load()
        return original(self, 0 if loaded is None else loaded.head, drafts, blobs)

    monkeypatch.setattr(FileHold, "append", careless)

    assert conformance.check_conformance(place, 60, 1).problems != ()


@pytest.mark.thorough
def test_a_flipped_byte_anywhere_is_detected_or_harmless(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A third of the bytes; tests/event_log/test_file_damage.py changes every one."""
    monkeypatch.setattr(damages, "range", lambda size: range(0, size, 3), raising=False)

    part = damages.check_bit_rot(place, damages.ONE_BIT, 1)

    assert part.problems == ()
    assert part.facts["detected"] + part.facts["harmless"] == part.cases
    assert part.cases > 700
    assert part.facts["harmless"] < part.cases / 20
    # events, manifest, lock, blob, keyring, secret of the request ids, store key and its lock
    assert part.facts["files"] == 8


@pytest.mark.thorough
def test_reader_that_checks_no_blobs_is_caught(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def trusting(self: FileLog, ref: str) -> bytes:
        digest = ref.removeprefix("sha256:")
        return Path(self.blobs, digest[:2], digest).read_bytes()

    def blobs_first(files: Iterable[tuple[str, bytes | None]]) -> list[tuple[str, bytes | None]]:
        """Of the other files one byte each is enough here."""
        return [(path, data if "/blobs/" in path else data and data[:1]) for path, data in sorted(files)]

    monkeypatch.setattr(FileLog, "get_blob", trusting)
    monkeypatch.setattr(damages, "sorted", blobs_first, raising=False)

    problems = damages.check_bit_rot(place, damages.ONE_BIT, 1).problems

    assert problems != ()
    assert all("data/blobs/" in problem for problem in problems)


@pytest.mark.thorough
def test_refused_call_has_a_named_outcome_and_loses_nothing(place: str) -> None:
    part = faults.check_refusals(place, [(errno.EIO, 1)], 1)

    assert part.problems == ()
    assert part.cases > 300
    assert 0.8 * part.cases < part.facts["answered_with_an_error"] < part.cases  # a listing goes on


@pytest.mark.thorough
def test_a_trouble_without_a_name_is_reported(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_DISTURBED", faults._DISTURBED[-1:])

    part = faults.check_refusals(place, [(errno.EACCES, 1)], 1)

    assert any("the trouble is called STORE_PERMISSION_DENIED" in problem for problem in part.problems)


def test_a_tree_is_written_exactly_whatever_was_there(tmp_path: Path) -> None:
    root = str(tmp_path / "root")
    trees: list[dict[str, bytes | None]] = [
        {"a": None, "a/b": b"1", "c": b"2"},
        {"a": b"now a file"},
        {"a": None, "a/b": None, "a/b/c": b""},
        {},
    ]

    for tree in trees:
        write_tree(root, tree)

        assert read_tree(root) == tree
