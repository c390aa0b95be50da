"""One fact is one gap, and who settles it has agreed to what it tells: all three readers say who."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.projections.closing import ALL_CHECKED
from tests.host.worktree.project import commit
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer, refusal
from tests.journeys.doors import events_of, of_kind, tool_call
from tests.journeys.given_workflows import step
from tests.journeys.test_confirmations import at_console
from tests.journeys.test_told_where_it_is import words_of
from tests.journeys.test_travelling_receipts import Signer, statement_of
from tests.journeys.test_until_the_end import CHANGE, VERIFY, changed, verified
from tests.surfaces.cli.here import run_here

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.promise("gaps.settled"),
    pytest.mark.thorough,
]
TESTS = f"{sys.executable} -B -m unittest discover -s tests"
TEST = """import sys, unittest
sys.path.insert(0, "src")
from bill import total
class T(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), {})
    def test_nothing(self):
        self.assertEqual(total([]), 0)
"""
FIX = {"output": {"contractRef": "wr.contracts.bug_fix"}}
TOLD = "failed before and passes now, and only tests differ: tests/test_bill.py"
NOTE = "The test was wrong."


def fixed(guard: str) -> dict[str, Any]:
    return {**changed("tests/test_bill.py", check=guard), "kind": "wr.bug_fix", "guard": guard}


def play(tmp_path: Path, *, is_fix: bool = False, reruns: bool = False) -> Signer:
    """A run in which only a test was mended, to its end."""
    signer = Signer(tmp_path)
    signer.write("tests/test_bill.py", TEST.format(4))
    signer.declare(tests={"command": TESTS.split()})
    signer.begin(step("change", **(FIX if is_fix else CHANGE)), step("verify", **VERIFY))
    signer.run_declared("tests")
    signer.write("tests/test_bill.py", TEST.format(3))
    signer.run_declared("tests")
    signer.send(fixed("tests") if is_fix else changed("tests/test_bill.py", check="tests"))
    if reruns:
        signer.run_declared("tests")
    signer.send(verified({"source": "command", "ref": "tests", "result": "It ran."}))
    assert signer.reply["isComplete"] is True
    return signer


def list_gaps(signer: Signer) -> list[dict[str, Any]]:
    return [one["data"] for one in of_kind(events_of(signer.runtime, signer.reply), "gap_recorded")]


def settle(signer: Signer, door: str = "terminal") -> None:
    for gap in list_gaps(signer):
        at_door = at_console(signer.runtime) if door == "console" else seat(signer.runtime, Person("y"))
        answer(at_door, "session.settle_gap", gap=gap["gapId"], note=NOTE)


def show(signer: Signer) -> dict[str, Any]:
    session = signer.reply["session"]["sessionId"]
    (run,) = answer(signer.runtime, "session.show", sessionId=session)["runs"]
    return dict(run)


def receipt(signer: Signer) -> tuple[dict[str, Any], str]:
    commit(signer.root)
    predicate: dict[str, Any] = statement_of(signer.export()["content"])["predicate"]
    return predicate, str(signer.export(**{"as": "markdown"})["content"]).replace("\\", "")


@pytest.mark.parametrize("reruns", [False, True])
@pytest.mark.parametrize("is_fix", [False, True])
def test_one_fact_is_one_gap_and_is_told_once(tmp_path: Path, is_fix: bool, reruns: bool) -> None:
    signer = play(tmp_path, is_fix=is_fix, reruns=reruns)

    (gap,) = list_gaps(signer)
    assert gap["summary"] == f"`tests` {TOLD}."
    assert signer.reply["closing"].count(TOLD) == 1
    assert "tests of the checks changed" not in signer.reply["closing"]
    assert [*show(signer)["doubts"]] == ["gaps"]
    predicate, markdown = receipt(signer)
    assert predicate["result"] == "WARNED"
    assert markdown.count(TOLD) == 1
    guards = "not shown: `" if is_fix else "nothing\n"
    assert f"- Failed before, passes now: {guards}" in markdown


@pytest.mark.parametrize("door", ["terminal", "console"])
@pytest.mark.parametrize("is_fix", [False, True])
def test_who_settles_the_gap_has_agreed_and_all_three_say_who(
    tmp_path: Path, is_fix: bool, door: str
) -> None:
    signer = play(tmp_path, is_fix=is_fix)
    settle(signer, door)

    run, who = show(signer), signer.runtime.workspace.account()
    predicate, markdown = receipt(signer)
    again = tool_call(signer.runtime, "continue_workflow", stateToken=signer.reply["stateToken"]).structured

    at = "at a terminal" if door == "terminal" else "in the Console"
    assert (run["status"], run["doubts"], predicate["result"]) == ("complete", {}, "PASSED")
    assert run["told"]["settled"] == f"settled by {who} {at}: {NOTE}"
    assert run["told"]["agreed"] == "tests of the checks changed: tests/test_bill.py, and a person agreed"
    assert f"- Confirmed by: {who} ({door}): {NOTE}" in markdown
    assert [one["settled"] for one in predicate["handrailRun"]["confirmedBy"]] == [
        list_gaps(signer)[0]["gapId"]
    ]
    assert f"settled by {who} {at}: {NOTE[:-1]}; " in again["closing"]
    assert again["closing"].endswith("; what ran: tests (python -B -m unittest discover …).")
    page = run_here(signer.runtime, ["session", "show", run_of(signer), "--human"]).out.decode()
    assert f"  Settled by {who} {at}: {NOTE}\n" in page
    assert page.count(NOTE) == 1


def run_of(signer: Signer) -> str:
    return str(signer.reply["session"]["sessionId"])


def test_who_settles_another_gap_has_not_agreed_to_changed_tests(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.write("tests/test_bill.py", TEST.format(3))
    signer.declare(tests={"command": TESTS.split()})
    signer.begin(step("change", **CHANGE))
    signer.write("tests/test_bill.py", TEST.format(3).replace("test_nothing", "test_none"))
    signer.write("src/more.py", "MORE = 1\n")
    signer.run_declared("tests")
    report = changed("tests/test_bill.py", check="tests")
    assert signer.send(report)["kind"] == "blocked"
    signer.send(report)
    settle(signer)

    run = show(signer)

    assert run["status"] == "complete"
    assert [*run["doubts"]] == ["changed_checks"], "what the person was shown is the file that is not listed"
    assert receipt(signer)[0]["result"] == "WARNED"


def end_in_doubt(tmp_path: Path) -> Signer:
    """A run that ends without a gap, after a test was changed."""
    signer = Signer(tmp_path)
    signer.write("tests/test_bill.py", TEST.format(3))
    signer.declare(tests={"command": TESTS.split()})
    signer.begin(step("change", **CHANGE))
    signer.run_declared("tests")
    signer.write("tests/test_bill.py", TEST.format(3).replace("test_nothing", "test_none"))
    signer.run_declared("tests")
    return signer


DOUBTED = "tests of the checks changed: tests/test_bill.py"


@pytest.mark.parametrize("door", ["terminal", "console"])
def test_a_person_agrees_to_what_is_in_doubt_at_the_end(tmp_path: Path, door: str) -> None:
    signer = end_in_doubt(tmp_path)
    signer.send(changed("tests/test_bill.py", check="tests"))
    before, session = show(signer), signer.reply["session"]["sessionId"]
    assert (list_gaps(signer), before["doubts"]) == (
        [],
        {"changed_checks": f"{DOUBTED}, and no person agreed (handrail session settle)"},
    )
    person = Person("y")
    page = words_of(signer.runtime, f"/sessions/{session}")
    assert DOUBTED in page
    assert "Agree to it" in page
    if door == "console":
        at_door, named = at_console(signer.runtime), {"gap": before["doubts_id"], "session": session}
    else:
        at_door, named = seat(signer.runtime, person), {"gap": before["id"]}
    told = answer(at_door, "session.settle_gap", note=NOTE, **named)
    again = answer(at_door, "session.settle_gap", note="Twice.", **named)

    assert door == "console" or DOUBTED in person.shown[0]
    assert (told["is_new"], again) == (True, told | {"is_new": False})
    run, predicate = show(signer), receipt(signer)[0]
    assert (run["status"], run["doubts"], predicate["result"]) == ("complete", {}, "PASSED")
    assert "doubts_id" not in run
    assert run["told"]["agreed"] == f"{DOUBTED}, and a person agreed"
    who = signer.runtime.workspace.account()
    assert [(one["who"], one["note"]) for one in predicate["handrailRun"]["confirmedBy"]] == [(who, NOTE)]
    assert f"{DOUBTED}, and a person agreed" in words_of(signer.runtime, f"/sessions/{session}")


def test_only_a_person_agrees_at_the_end_and_to_what_was_shown(tmp_path: Path) -> None:
    signer = end_in_doubt(tmp_path)
    run_id = show(signer)["id"]
    early = refusal(seat(signer.runtime, Person("y")), "session.settle_gap", note=NOTE, gap=run_id)
    signer.send(changed("tests/test_bill.py", check="tests"))
    shown = show(signer)["doubts_id"]
    by_agent = refusal(signer.runtime, "session.settle_gap", note=NOTE, gap=run_id)
    note = {
        "checkpointToken": signer.reply["checkpointToken"],
        "output": {"notesMarkdown": "One more thing."},
    }
    answer(signer.runtime, "run.checkpoint", **note)
    late = refusal(at_console(signer.runtime), "session.settle_gap", note=NOTE, gap=shown)

    assert early.message.startswith("The run is not finished.")
    assert by_agent.kind.code == "E_HUMAN_REQUIRED"
    assert late.message.startswith("More was recorded since you were shown")
    assert "changed_checks" in show(signer)["doubts"]


def test_a_person_agrees_to_tests_that_failed_beside_what_was_reported(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.write("tests/test_bill.py", TEST.format(3))
    signer.write(
        "old/test_old.py",
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.fail()\n",
    )
    signer.declare(tests={"command": TESTS.split()})
    signer.begin(step("change", **CHANGE))
    signer.run(*TESTS.replace("tests", "old").split())
    signer.write("src/bill.py", "def total(rows):\n    return sum(rows)  # all\n")
    signer.run_declared("tests")
    signer.send(changed("src/bill.py", check="tests"))
    before = show(signer)
    assert [*before["doubts"]] == ["left_failing"]
    assert receipt(signer)[0]["result"] == "WARNED"

    answer(seat(signer.runtime, Person("y")), "session.settle_gap", gap=before["id"], note=NOTE)

    assert show(signer)["doubts"] == {}
    assert receipt(signer)[0]["result"] == "PASSED"


def test_nobody_agrees_to_a_check_that_fails(tmp_path: Path) -> None:
    signer = end_in_doubt(tmp_path)
    signer.write("src/bill.py", "def total(rows):\n    return 0\n")
    signer.run_declared("tests")
    signer.send(changed("tests/test_bill.py", "src/bill.py", check="tests", status=1))
    assert signer.reply["isComplete"] is True
    answer(seat(signer.runtime, Person("y")), "session.settle_gap", gap=show(signer)["id"], note=NOTE)

    assert [*show(signer)["doubts"]] == ["gaps"], "which is settled by itself"
    assert receipt(signer)[0]["result"] == "FAILED"


def test_a_test_that_changes_after_it_was_settled_is_told_again(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.write("tests/test_bill.py", TEST.format(4))
    signer.declare(tests={"command": TESTS.split()})
    signer.begin(step("change", **CHANGE), step("more", **CHANGE), step("tell"))
    signer.run_declared("tests")
    signer.write("tests/test_bill.py", TEST.format(3))
    signer.run_declared("tests")
    signer.send(changed("tests/test_bill.py", check="tests"))
    settle(signer)
    signer.send(changed("tests/test_bill.py", check="tests"))
    assert len(list_gaps(signer)) == 2, "the gap and what settled it: on the same files nothing is new"
    signer.write("tests/test_bill.py", TEST.format("total([1, 2])"))
    signer.run_declared("tests")
    signer.send()

    assert ALL_CHECKED not in signer.reply["closing"]
    assert receipt(signer)[0]["result"] == "WARNED"
