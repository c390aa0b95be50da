"""`store selftest` on a disk: kills and crowds in a scratch directory, and what is wrong with a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.event_log.files import selftest
from handrail.event_log.files.log import FileLog
from handrail.event_log.files.selftest import ScratchProof
from handrail.event_log.files.selftest_writers import WriterOrder, find_problems
from handrail.ports.store import ProofOrder, ProofPart
from tests.event_log.log_promises import A, append, plan
from tests.store_proof.writers import COMMAND, run_writers


@pytest.mark.thorough
def test_kills_are_counted_and_harmless(tmp_path: Path) -> None:
    order = WriterOrder(what="kills", place=str(tmp_path / "data"), seed=1, count=12)

    part = run_writers(order)

    assert (part.name, part.cases, part.problems) == ("kills", 12, ())


def test_writers_that_cannot_run_are_a_problem_and_not_a_pass(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    order = WriterOrder(what="crowd", place=str(tmp_path / "file" / "data"), seed=1, count=1)

    part = run_writers(order)

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


def test_kills_then_two_crowds_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[WriterOrder] = []

    def stand_in(order: WriterOrder, *_: object) -> ProofPart:
        asked.append(order)
        return ProofPart(name=order.what, cases=1, facts={}, problems=("a problem",) * 30)

    monkeypatch.setattr(selftest, "run_order", stand_in)
    order = ProofOrder(kills=50, seed=7, directory=str(tmp_path))

    parts = list(ScratchProof("/nowhere", COMMAND, {}).run(order))

    assert [part.name for part in parts] == ["kills", "crowd_in_one_session", "crowd_in_many_sessions"]
    assert [one.count for one in asked] == [50, 20, 20]
    assert [one.is_shared for one in asked if one.what == "crowd"] == [True, False]
    assert {one.seed for one in asked} == {7}
    assert all(one.place.startswith(str(tmp_path)) for one in asked)
    assert {len(part.problems) for part in parts} == {20}
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    order = ProofOrder(kills=1, seed=1, directory=str(tmp_path / "nowhere"))

    with pytest.raises(Exception, match="E_VALIDATION"):
        tuple(ScratchProof(str(tmp_path), COMMAND, {}).run(order))

    assert list(tmp_path.iterdir()) == []
