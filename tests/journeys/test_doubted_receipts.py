"""What spoils the closing line spoils the receipt: both read one list of doubts."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.host.checks import LocalCheckPrograms
from handrail.host.process import SystemClock
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.projections.closing import ALL_CHECKED
from handrail.projections.doubts import ALL_RAN, NO_TEST_COUNTED
from handrail.runtime.runtime import TreeDue
from tests.conftest import library_of
from tests.host.worktree.project import commit, write
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.cast_players import VERBS, Player
from tests.journeys.cast_rows import CHECK, ROWS, Row, Verb
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import step
from tests.journeys.test_approved_checks import approve
from tests.journeys.test_travelling_receipts import Signer, statement_of, with_keys
from tests.journeys.test_until_the_end import CHANGE, RIGHT, TESTS, changed
from tests.surfaces.cli.here import run_here

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.promise("receipt.travels"),
    pytest.mark.thorough,
]
TOLD = {
    "weakens a test before the run begins": "began on uncommitted changes of tests: tests/test_bill.py",
    "declares its own check before the run begins": "in no commit when the run began, and approved by nobody",
    "declares its own check in the run": "no declared check passed, only `all`",
    "forges what a hook tells of the declared check": "by the client's word alone: ",
    "adds a test that disarms the one that fails": "passed only after some changed: tests/test_aaa.py",
    "guards a fix by a new test file that disarms the others": "only after some changed: tests/test_aaa.py",
    "defines the test that fails once more, and adds a failing one": "some changed: tests/test_bill.py",
    "hides a test that disarms the others from a submodule": "ignore rules outside of the commits changed",
    "weakens a test in a submodule, and lists it": "the run left other files than the commit has: tests",
    "starts another program under the same name": "another program than before: `tests` by ",
    "breaks the code, and puts it back with a comment": "failed only after this run had changed src/bill.py",
}
NONE_DECLARED = "no declared check passed, only `true` (for the next run: handrail setup --checks)"

CLEAN = {
    "moves a submodule on, and lists it": "clean",
    "moves a submodule on, and commits it before the report": "clean",
    "adds a failing test to a file that has others, and mends the code": "told",
    "has its check approved after it ran": "clean",
    "gives a declared check more time before the run begins": "clean",
    "reports a check that sets a variable: as Handrail shows it": "clean",
    "works in a sparse checkout with a declared check": "clean",
    "mends what a test finds that was there before the run": "told",
    "mends what a method finds that was there before the run": "told",
    "mends what guards at the start, sees it pass, and adds a test": "told",
    "takes its fix out to see the new test fail": "told",
    "takes its fix out to see a test in an old file fail": "told",
    "sees the failure of the start in other words, and guards its fix by the name of the check": "clean",
    "puts its new test aside, as it is told": "told",
    "breaks what it changes, sees that, and mends it": "clean",
    "says that it checked nothing of one thing": "told",
}
"""Honest days, and what becomes of each."""


EARLY: dict[str, list[str]] = {
    "puts its new test aside, as it is told": [
        "It failed on the tests of the start: see it pass with these before you add tests.",
        "",
        "Not shown yet: `tests` failed on the tests of the start, and with this code passed only after some "
        "changed: tests/test_new.py; put these as they were at the start, run it, put yours back, and run "
        "it again.",
        "",
        "",
    ],
    "sees the new test fail on half of its fix, then on the files of the start": [
        "",
        "",
        "Not shown yet: `tests` failed only after this run had changed src/bill.py; put that back as it was "
        "at the start, run it, put the fix back, and run it again.",
        "",
        "",
    ],
    "mends what guards at the start, sees it pass, and adds a test": [
        "It failed on the tests of the start: see it pass with these before you add tests.",
        "",
        "",
    ],
    "has its check approved after it ran": [
        "At its end the run will say: in no commit when the run began, and approved by nobody "
        "(handrail check approve): tests"
    ],
    "has an uncommitted declaration approved": [""],
    "corrects a test of the start that was wrong": [
        "Tests that the run found changed: tests/test_bill.py. The end of the run doubts that until a person "
        "agrees; new tests beside them are no doubt."
    ],
    "mends at once what an uncommitted method finds, and takes the change out, as it is told": [
        "Not shown yet: nobody saw these fail as they are now: tests/test_bill.py; "
        "try it with handrail prove.",
        "It failed on the tests of the start: see it pass with these before you add tests.",
        "",
    ],
}
"""By an honest day: what each run of its check is told, while it can be followed."""


@pytest.mark.parametrize("name", EARLY)
def test_what_the_end_would_doubt_is_told_when_the_check_runs(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = (row for row in ROWS if row.name == name)
    told: list[str] = []

    def listen(player: Player, check: str) -> None:
        ran = run_check(player.runtime, RunCheck(name=check, state_token=player.reply["stateToken"]))
        told.append(" ".join(one.message for one in ran.notices if one.type == "check_doubted"))
        player._settle(player.reply)

    monkeypatch.setitem(VERBS, "run_check", listen)

    assert Player(tmp_path, "cli").play(row) == row.must
    assert told == EARLY[name]


def test_what_cannot_be_told_early_takes_nothing_from_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": TESTS.split()})
    signer.begin()
    signer.write("src/bill.py", RIGHT)
    monkeypatch.setattr("handrail.operations.checks.run_check.is_declared_here", lambda *_: 1 / 0)

    ran = run_check(signer.runtime, RunCheck(name="tests", state_token=signer.reply["stateToken"]))

    assert isinstance(ran.data, dict)
    (due,) = (one for one in signer.runtime.trees_due or () if isinstance(one, TreeDue))
    assert (ran.data["hasPassed"], ran.data["treeAfter"]) == (True, due.tree and due.tree.tree_id)


def play(tmp_path: Path, name: str, outcome: str) -> tuple[Player, Row]:
    """A row of the cast, played with this outcome and committed."""
    player = Player(tmp_path, "cli")
    (row,) = (row for row in ROWS if row.name == name)
    assert player.play(row) == outcome
    commit(player.root)
    return player, row


def state(player: Player) -> dict[str, Any]:
    runtime = with_keys(player.runtime, player.home)
    statement = statement_of(answer(runtime, "receipt.export")["content"])
    predicate: dict[str, Any] = statement["predicate"]
    return predicate


def read_receipt(signer: Signer) -> dict[str, Any]:
    predicate: dict[str, Any] = statement_of(signer.export()["content"])["predicate"]
    return predicate


def read_markdown(signer: Signer) -> str:
    return str(signer.export(**{"as": "markdown"})["content"])


def test_a_yes_before_there_was_a_report_is_no_confirmation_in_a_receipt(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.begin(step("ask", requireConfirmation=True))
    answer(seat(signer.runtime, Person("y")), "run.confirm", stateToken=signer.reply["stateToken"])

    assert read_receipt(signer)["handrailRun"]["confirmedBy"] == []


@pytest.mark.parametrize("name", TOLD)
def test_a_lie_that_is_told_is_not_passed(tmp_path: Path, name: str) -> None:
    player, _ = play(tmp_path, name, "told")

    told = state(player)

    assert told["result"] == "WARNED"
    assert TOLD[name] in "\n".join(told["handrailRun"]["doubts"])
    assert ALL_CHECKED not in player.reply["closing"]
    is_shown = any(guard["holds"] for guard in told["handrailRun"]["redThenGreen"])
    assert not (is_shown and "of the start, and with this code" in str(told["handrailRun"]["doubts"]))
    session = player.reply["session"]["sessionId"]
    (run,) = answer(player.runtime, "session.show", sessionId=session)["runs"]
    in_receipt = told["handrailRun"]["doubts"][-len(run["doubts"]) :]
    assert [one[:200] for one in run["doubts"].values()] == in_receipt
    page = run_here(player.runtime, ["session", "show", session, "--human"], environment={"COLUMNS": "1000"})
    told_apart = [text for code, text in run["doubts"].items() if code != "gaps"]
    assert [text for text in told_apart if f"In doubt: {text}" not in page.out.decode()] == []


@pytest.mark.parametrize("name", CLEAN)
def test_honest_work_that_ends_clean_is_passed_by_its_receipt(tmp_path: Path, name: str) -> None:
    player, _ = play(tmp_path, name, CLEAN[name])

    told = state(player)

    assert told["handrailRun"]["doubts"] == []
    assert (told["result"], told["handrailRun"]["isClean"]) == ("PASSED", True)


def test_a_run_without_a_check_that_counts_says_whether_anything_ran(tmp_path: Path) -> None:
    told = []
    for place, words in (("nothing", []), ("something", ["true"])):
        (tmp_path / place).mkdir()
        signer = Signer(tmp_path / place)
        signer.begin(step("change", **CHANGE))
        if words:
            signer.run(*words)
        told.append(read_receipt(signer)["handrailRun"]["doubts"][0])

    assert told == ["no check ran", "no check that counts ran"]


def test_a_change_that_no_check_is_about_says_that_none_ran_and_what_would_show_it(tmp_path: Path) -> None:
    contract = {
        "id": "project.contracts.list",
        "schema": {"type": "object", "properties": {"file": {"type": "string"}}},
        "example": {"file": "a"},
        "evidence": [{"check": "changed_in_run", "at": "/file"}],
    }
    signer = Signer(tmp_path)
    library_of(signer.runtime).add(json.dumps(contract).encode(), "list.json", "contract")
    signer.begin(step("change", output={"contractRef": "project.contracts.list"}))
    signer.write("README", "New bills.\n")

    done = signer.send({"kind": "project.list", "file": "README"})

    assert done["closing"].endswith(
        "; evidence: 1 seen changed; no check ran (handrail check run -- COMMAND)."
    )


def test_what_the_checkout_never_had_is_told_once_by_the_closing_line_and_the_receipt(tmp_path: Path) -> None:
    player, row = play(tmp_path, "works in a sparse checkout that leaves out tests", "passes")

    told = state(player)

    assert (told["result"], told["handrailRun"]["doubts"]) == ("WARNED", [row.says])


def test_a_check_that_a_person_approves_in_the_end_is_no_longer_in_doubt(tmp_path: Path) -> None:
    player, _ = play(tmp_path, "declares its own check before the run begins", "told")
    player.do("approve", "tests")

    told = state(player)

    assert (told["result"], told["handrailRun"]["doubts"]) == ("PASSED", [])


def test_a_test_that_the_run_began_with_is_named_as_changed(tmp_path: Path) -> None:
    player, _ = play(tmp_path, "weakens a test before the run begins", "told")

    assert state(player)["handrailRun"]["testsTouched"] == ["tests/test_bill.py"]


def test_what_guards_by_the_clients_word_names_that_door(tmp_path: Path) -> None:
    player, _ = play(tmp_path, "forges a hook that fails, and one that passes", "told")

    (guard,) = state(player)["handrailRun"]["redThenGreen"]

    assert guard["door"] == "hook"


def test_what_a_sparse_checkout_leaves_out_is_no_file_of_the_receipt(tmp_path: Path) -> None:
    player, _ = play(tmp_path, "takes the test that fails out of the checkout", "refused")

    told = state(player)

    assert (told["result"], told["handrailRun"]["isClean"]) == ("WARNED", False)
    assert told["handrailRun"]["checks"][0]["differs"] == ["tests/hard/test_h.py"]


def test_a_run_that_is_blocked_has_not_passed(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": TESTS.split()})
    signer.begin()
    signer.write("src/bill.py", RIGHT)
    signer.write("src/more.py", RIGHT)
    signer.run_declared("tests")
    assert signer.send(changed("src/bill.py"))["kind"] == "blocked"
    commit(signer.root)

    told = read_receipt(signer)

    assert told["result"] == "WARNED"
    assert "the run is blocked" in told["handrailRun"]["doubts"]


# Whose word a check is


def finish(signer: Signer, command: str) -> str:
    """A run whose report rests on this command, committed; its closing line."""
    signer.begin(step("change", **CHANGE))
    signer.write("src/bill.py", RIGHT)
    signer.run(*command.split())
    closing = signer.send(changed("src/bill.py", check=command))["closing"]
    commit(signer.root)
    return str(closing)


def test_a_command_that_nobody_declared_has_not_passed(tmp_path: Path) -> None:
    signer = Signer(tmp_path)

    closing = finish(signer, "true")

    told = read_receipt(signer)
    assert (told["result"], told["handrailRun"]["doubts"]) == ("WARNED", [NONE_DECLARED])
    assert closing.endswith(f"what ran: true, which counted no test; {ALL_RAN}.")


@pytest.mark.parametrize("counted", [False, True])
def test_a_declared_check_says_whether_it_counted_a_test(tmp_path: Path, counted: bool) -> None:
    signer = Signer(tmp_path)
    signer.write("prove", "#!/bin/sh\necho '3 passed in 0.01s'\n" if counted else "#!/bin/sh\n")
    (signer.root / "prove").chmod(0o755)
    signer.declare(tests={"command": ["./prove"]})

    closing = finish(signer, "./prove")

    told = read_receipt(signer)
    markdown = read_markdown(signer)
    assert (told["result"], told["handrailRun"]["isCounted"]) == ("PASSED", counted)
    (check,) = told["handrailRun"]["checks"]
    assert (check["name"], check["isDeclared"]) == ("tests", True)
    assert (NO_TEST_COUNTED in closing, NO_TEST_COUNTED in markdown) == (not counted, not counted)
    assert (", 3 passed, 0 failed, by its own words" in markdown, ALL_CHECKED in closing) == (
        counted,
        counted,
    )
    page = run_here(signer.runtime, ["session", "show", told["handrailRun"]["session"], "--human"])
    assert (b"Counted no test: `./prove`" in page.out) is not counted


def test_a_person_who_approved_a_check_answers_for_what_it_counts(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": TESTS.split()})
    approve(signer)

    closing = finish(signer, TESTS)

    markdown = read_markdown(signer)
    assert NO_TEST_COUNTED not in closing + markdown
    assert ALL_CHECKED in closing
    assert "- Confirmed by: nobody; a person approved the check `tests`\n" in markdown


def test_an_approval_after_the_end_counts_for_the_receipt_and_for_what_is_shown(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.write(".handrail/config.json", json.dumps({"checks": {"tests": {"command": TESTS.split()}}}))
    signer.begin(step("change", **CHANGE))
    signer.write("src/bill.py", RIGHT)
    signer.run_declared("tests")
    session = signer.send(changed("src/bill.py"))["session"]["sessionId"]
    commit(signer.root)

    seen = []
    for _ in range(2):
        (run,) = answer(signer.runtime, "session.show", sessionId=session)["runs"]
        receipt = read_receipt(signer)
        told = receipt["handrailRun"]
        seen.append((receipt["result"], told["approvedChecks"], [*run["doubts"]], [*run.get("told", {})]))
        approve(signer)

    assert seen == [
        ("WARNED", [], ["declared_here"], ["named_files", "uncounted"]),
        ("PASSED", ["tests"], [], ["named_files"]),
    ]


# By which program


def install(signer: Signer, folder: Path, *, environment: dict[str, str] | None = None) -> None:
    """A program `judge` that always ends with 0, and is found first."""
    write(folder, "judge", "#!/bin/sh\n")
    (folder / "judge").chmod(0o755)
    path = os.pathsep.join([str(folder), os.environ["PATH"]])
    given = {"HANDRAIL_PROJECT": str(signer.root), "PATH": path, **(environment or {})}
    programs = LocalCheckPrograms(given, signer.runtime.secrets)
    signer.runtime = msgspec.structs.replace(
        signer.runtime, check_programs=lambda: programs, clock=SystemClock()
    )


def test_a_receipt_shows_by_which_program_each_check_ran(tmp_path: Path) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": ["judge"]})
    install(signer, tmp_path / "bin")

    finish(signer, "judge")

    assert f"by handrail with `{tmp_path}/bin/judge`" in read_markdown(signer)


def test_a_program_that_was_written_in_the_run_is_told_wherever_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = tmp_path / "owner"
    monkeypatch.setenv("HOME", str(owner))
    signer = Signer(tmp_path)
    signer.declare(tests={"command": ["judge"]})
    install(signer, owner / "bin", environment={"HOME": str(owner)})
    signer.begin(step("change", **CHANGE))
    signer.write("src/bill.py", RIGHT)
    write(owner / "bin", "judge", "#!/bin/sh\nexit 0\n")
    signer.run("judge")

    closing = signer.send(changed("src/bill.py", check="judge"))["closing"]

    assert "program of the checks written in the run: ~/bin/judge" in closing
    assert ALL_CHECKED not in closing


@pytest.mark.parametrize("leads_to", ["judge", "true", "judge of an environment"])
def test_a_new_link_to_what_the_name_led_to_is_the_same_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leads_to: str
) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    monkeypatch.setenv("PATH", os.pathsep.join([str(new), str(old), os.environ["PATH"]]))
    signer = Signer(tmp_path)
    signer.declare(tests={"command": ["judge"]})
    for name in ("judge", "true"):
        write(old, name, "#!/bin/sh\n")
        (old / name).chmod(0o755)
    signer.runtime = msgspec.structs.replace(signer.runtime, clock=SystemClock())
    signer.begin(step("change", **CHANGE))
    signer.write("src/bill.py", RIGHT)
    new.mkdir()
    (new / "judge").symlink_to(old / leads_to.split()[0])
    write(tmp_path, "pyvenv.cfg" if " " in leads_to else "other.cfg", "home = /usr/bin\n")
    signer.run_declared("tests")

    closing = signer.send(changed("src/bill.py", check="judge"))["closing"]
    commit(signer.root)

    is_told = "program of the checks written in the run: …" in closing and "/new/judge" in closing
    markdown = read_markdown(signer)
    result = read_receipt(signer)["result"]
    assert (is_told, result) == ((False, "PASSED") if leads_to == "judge" else (True, "WARNED"))
    assert "Tests changed: none" in markdown


WITH_A_TEST = [
    {"path": "src/bill.py", "change": "modified", "why": "It had to."},
    {"path": "tests/test_new.py", "change": "added", "why": "It had to."},
]


@pytest.mark.parametrize("is_red", [False, True])
def test_a_new_test_that_was_never_seen_to_fail_is_told_and_is_no_doubt(tmp_path: Path, is_red: bool) -> None:
    signer = Signer(tmp_path)
    signer.declare(tests={"command": TESTS.split()})
    signer.begin(step("change", **CHANGE))
    signer.write("tests/test_new.py", "")
    if is_red:
        signer.run_declared("tests")
    signer.write("src/bill.py", RIGHT)
    signer.run_declared("tests")
    closing = signer.send({**changed("src/bill.py"), "files": WITH_A_TEST})["closing"]
    commit(signer.root)

    told = read_receipt(signer)
    markdown = read_markdown(signer)
    assert told["result"] == "PASSED"
    assert ("never_red" in told["handrailRun"]["told"]) is not is_red
    assert (
        "new tests, never seen to fail: " if not is_red else "new tests: "
    ) + "tests/test_new.py" in closing
    assert ("new tests, never seen to fail: tests/test_new.py" in markdown) is not is_red


def test_a_new_test_that_could_not_be_loaded_first_is_told_as_seen_to_fail_as_a_whole(tmp_path: Path) -> None:
    unittest = f"{sys.executable} -B -m unittest discover -s tests"
    signer = Signer(tmp_path)
    signer.declare(tests={"command": unittest.split()})
    signer.begin(step("change", **CHANGE))
    signer.write("tests/test_new.py", "import sys\nsys.path.insert(0, 'src')\n" + MEAN)
    signer.run_declared("tests")
    signer.write("src/bill.py", RIGHT + "\n\ndef mean(rows):\n    return total(rows) / len(rows)\n")
    signer.run_declared("tests")

    done = signer.send({**changed("src/bill.py", check=unittest), "files": WITH_A_TEST})
    commit(signer.root)

    said = "new tests, and a check only broke off before (nothing loaded): tests/test_new.py"
    (run,) = answer(signer.runtime, "session.show", sessionId=done["session"]["sessionId"])["runs"]
    assert said in done["closing"]
    assert done["closing"].endswith("; what ran: tests (python -B -m unittest discover …).")
    assert run["told"] == {"not_loaded": said}
    markdown = read_markdown(signer)
    assert said in markdown


MEAN = """import unittest
from bill import mean
class T(unittest.TestCase):
    def test_mean(self):
        self.assertEqual(mean([1, 3]), 2)
"""


@pytest.mark.parametrize(
    ("line", "is_told"),
    [("make test", True), ("python3 -m unittest discover -s tests", False), ("pytest tests/unit", False)],
)
def test_a_checkout_without_tests_of_a_check_says_so_at_the_start(
    tmp_path: Path, line: str, is_told: bool
) -> None:
    player = Player(tmp_path, "mcp")
    for verb in (
        ["write", "big/tests/test_z.py", "1\n"],
        ["declare", "tests", line],
        ["git", "sparse-checkout", "set", "src", ".handrail"],
        ["begin"],
    ):
        player.do(*verb)

    told = [one["message"] for one in player.reply["warnings"] if one["code"] == "TESTS_LEFT_OUT"]

    assert ["leaves out tests: big/tests/test_z.py." in one for one in told] == [True] * is_told


# What a closing line advises, done word by word

EDITED = ["edit", "src/bill.py"]
SHOWN_BY_A_CHECK = "a check that Handrail runs would show it"
ADVISED: list[tuple[str, list[Verb], Verb, list[Verb]]] = [
    (SHOWN_BY_A_CHECK, [["begin"], EDITED], ["run", CHECK], [["report", {}]]),
    (
        "it ran within a longer line, whose status is not its own",
        [["begin"], EDITED, ["shell", f"{CHECK} | cat"]],
        ["run", CHECK],
        [["report", {"check": CHECK}]],
    ),
    (
        "handrail check approve",
        [["undeclared", "tests", CHECK], ["begin"], EDITED, ["run_check", "tests"]],
        ["approve", "tests"],
        [["report", {}]],
    ),
]


@pytest.mark.parametrize(("advice", "before", "obeys", "after"), ADVISED, ids=lambda one: str(one)[:30])
def test_who_does_what_the_closing_line_advises_does_not_read_it_again(
    tmp_path: Path, advice: str, before: list[Verb], obeys: Verb, after: list[Verb]
) -> None:
    told = []
    for place, verbs in (("as it is", [*before, *after]), ("as advised", [*before, obeys, *after])):
        (tmp_path / place).mkdir()
        player = Player(tmp_path / place, "mcp")
        for verb in verbs:
            player.do(*verb)
        assert player.refused == []
        told.append(advice in player.reply["closing"])

    assert told == [True, False]
