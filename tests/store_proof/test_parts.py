"""Each part of the proof passes on the store as it is, counts what it did, and fails on a broken one."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from handrail.event_log.files.log import FileHold, FileLog
from handrail.ports.store import ProofOrder, ProofPart
from handrail_proof import conformance, damages, faults, selftest
from handrail_proof.kills import WriterOrder, find_problems, run_order
from handrail_proof.log_promises import A, append, plan
from handrail_proof.scratch import read_tree, write_tree
from handrail_proof.selftest import ScratchProof


@pytest.mark.thorough
def test_the_log_conforms_on_this_disk(place: str) -> None:
    part = conformance.check_conformance(place, 60, 1)

    assert part.problems == ()
    assert part.cases == 120


@pytest.mark.thorough
def test_a_log_that_forgets_to_refuse_an_old_head_does_not_conform(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    assert part.facts["files"] == 6  # events, manifest, lock, blob, keyring, secret of the request ids


@pytest.mark.thorough
def test_a_reader_that_does_not_check_its_blobs_is_caught_by_bit_rot(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
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
def test_every_refused_call_has_a_named_outcome_and_loses_nothing(place: str) -> None:
    part = faults.check_refusals(place, [(errno.EIO, 1)], 1)

    assert part.problems == ()
    assert part.cases > 300
    assert 0.8 * part.cases < part.facts["answered_with_an_error"] < part.cases  # a listing goes on


@pytest.mark.thorough
def test_a_trouble_without_a_name_is_reported(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faults, "_DISTURBED", faults._DISTURBED[-1:])

    part = faults.check_refusals(place, [(errno.EACCES, 1)], 1)

    assert any("the trouble is called STORE_PERMISSION_DENIED" in problem for problem in part.problems)


@pytest.mark.thorough
def test_kills_are_counted_and_harmless(tmp_path: Path) -> None:
    order = WriterOrder(what="kills", place=str(tmp_path / "data"), seed=1, count=12)

    part = run_order("kills", order)

    assert (part.name, part.cases, part.problems) == ("kills", 12, ())


def test_writers_that_cannot_run_are_a_problem_and_not_a_pass(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    order = WriterOrder(what="crowd", place=str(tmp_path / "file" / "data"), seed=1, count=1)

    part = run_order("crowd", order)

    assert "could not run" in part.problems[0]


@pytest.mark.parametrize(
    ("acknowledged", "expected"),
    [
        (["a:1", "a:2"], []),
        (["a:1", "a:9"], ["acknowledged and lost: ['a:9']"]),
    ],
)
def test_what_was_acknowledged_and_is_not_there_is_named(
    tmp_path: Path, acknowledged: list[str], expected: list[str]
) -> None:
    append(FileLog(str(tmp_path)), A, 0, plan("a:1", "a:2"))

    assert find_problems(str(tmp_path), A, acknowledged) == expected


def test_an_acknowledged_session_that_is_gone_is_named(tmp_path: Path) -> None:
    assert find_problems(str(tmp_path), A, ["a:1"]) == ["an acknowledged session is gone"]


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


def test_the_whole_proof_is_every_part_in_its_order_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each part does has a test of its own."""
    asked: list[tuple[str, tuple[Any, ...]]] = []

    def stand_in(name: str) -> Any:
        def part(*given: Any) -> ProofPart:
            asked.append((name, given))
            told = given[0] if isinstance(given[1], WriterOrder) else name
            return ProofPart(name=told, cases=1, facts={}, problems=())

        return part

    in_process = ("conformance", "power_failures", "bit_rot", "stretches", "clocks", "refusals")
    for name in in_process:
        function = "check_damages" if name == "stretches" else f"check_{name}"
        monkeypatch.setattr(selftest, function, stand_in(name))
    monkeypatch.setattr(selftest, "run_order", stand_in("run_order"))
    order = ProofOrder(effort="quick", kills=50, seed=7, directory=str(tmp_path))

    parts = list(ScratchProof(str(tmp_path)).run(order))

    crowds = ("crowd_in_one_session", "crowd_in_many_sessions")
    assert [part.name for part in parts] == [*in_process, "kills", *crowds]
    processes = [given[1] for name, given in asked if name == "run_order"]
    assert [one.count for one in processes] == [50, 5, 5]
    assert [one.is_shared for one in processes if one.what == "crowd"] == [True, False]
    assert {one.seed for one in processes} == {7}
    assert all(one.place.startswith(str(tmp_path)) for one in processes)
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    order = ProofOrder(effort="quick", kills=1, seed=1, directory=str(tmp_path / "nowhere"))

    with pytest.raises(Exception, match="E_VALIDATION"):
        tuple(ScratchProof(str(tmp_path)).run(order))

    assert list(tmp_path.iterdir()) == []
