"""What decides about a check besides the code is told where it changed: tests, configuration, the runner."""

from __future__ import annotations

import json
import os
import shlex
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
from handrail.projections.doubts import ALL_RAN
from handrail.runtime.sessions import HotLog
from handrail.workflows.builtins.contracts import CONTRACTS
from tests.filled_in import in_own_words
from tests.host.worktree.project import commit
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.doors import command, events_of, of_kind, worth
from tests.journeys.given_workflows import step
from tests.journeys.test_until_the_end import CHANGE, RIGHT, Site, changed, site

__all__ = ["site"]
pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
    pytest.mark.promise("evidence.worth"),
    pytest.mark.thorough,
]
TESTS = "tests/test_bill.py"
CHECK = {"command": ["grep", "-rq", "round", "src", "tests"]}
"""It passes on code that rounds, and on a test that was changed so that it does."""


@pytest.fixture
def tested(site: Site) -> Site:
    site.write(TESTS, "assert total([1]) == 1\n")
    site.declare(tests=CHECK)
    return site


def changed_and(path: str, change: str, check: str) -> dict[str, Any]:
    """The report of the code and of one more file."""
    report = changed("src/bill.py", check=check)
    report["files"].append({"path": path, "change": change, "why": "It had to."})
    return report


def list_gaps(site: Site) -> list[str]:
    return [one["data"]["summary"] for one in of_kind(events_of(site.runtime, site.reply), "gap_recorded")]


def test_a_test_that_was_emptied_until_it_passed_is_a_gap_in_the_first_attempt(tested: Site) -> None:
    tested.begin(step("change", **CHANGE), step("tell"))
    tested.run_declared("tests")
    tested.write(TESTS, "pass  # round\n")
    tested.run_declared("tests")

    accepted = tested.send(changed(TESTS, check="tests"))
    done = tested.send()

    told = f"`tests` failed before and passes now, and only tests differ: {TESTS}."
    assert accepted["kind"] == "ok"
    assert list_gaps(tested) == [told]
    assert told in str(accepted["warnings"])
    assert done["closing"].endswith(f"; 1 open gap, the first: {told}")
    assert ALL_CHECKED not in done["closing"]


@pytest.mark.parametrize(
    "name", [TESTS, "conftest.py", "pyproject.toml", "pytest.py", "unittest/__init__.py"]
)
def test_not_everything_was_checked_where_what_the_checks_are_made_of_changed(
    tested: Site, name: str
) -> None:
    tested.begin(step("change", **CHANGE))
    tested.write("src/bill.py", RIGHT)
    tested.write(name, "x = 1\n")
    tested.run_declared("tests")

    done = tested.send(changed_and(name, "modified" if name == TESTS else "added", check="tests"))

    assert worth(done)["ran"] == 1
    assert list_gaps(tested) == []
    assert name in done["closing"].partition("of the checks changed")[2]
    assert ALL_CHECKED not in done["closing"]


def test_a_test_that_is_only_new_leaves_everything_checked(tested: Site) -> None:
    tested.begin(step("change", **CHANGE))
    tested.write("tests/test_more.py", "assert False\n")
    tested.run_declared("tests")
    tested.write("src/bill.py", RIGHT)
    tested.write("tests/test_more.py", "assert True\n")
    tested.run_declared("tests")

    done = tested.send(changed_and("tests/test_more.py", "added", check="tests"))

    assert list_gaps(tested) == []
    assert "; new tests: tests/test_more.py; what ran: tests (" in done["closing"]
    assert done["closing"].endswith("), which counted no test.")


LINE = "grep -rq round src/bill.py tests/test_bill.py"
OLD = "def total(rows):\n    return sum(rows)\n"


def fixed(*files: str) -> dict[str, Any]:
    return changed(*files, check=LINE) | {"kind": "wr.bug_fix", "guard": LINE}


def begin_fix(site: Site) -> None:
    site.write(TESTS, "assert total([1]) == 1\n")
    commit(site.root)
    site.begin(step("fix", output={"contractRef": "wr.contracts.bug_fix"}), step("tell"))
    site.run(*LINE.split())


def test_a_test_that_changed_after_it_failed_is_a_gap_until_the_same_test_fails_and_passes(
    site: Site,
) -> None:
    begin_fix(site)
    site.write("src/bill.py", RIGHT)
    site.write(TESTS, "assert total([1]) >= 1\n")
    site.run(*LINE.split())

    accepted = site.send(fixed("src/bill.py", TESTS))
    (gap,) = list_gaps(site)
    assert (accepted["kind"], f"what it tests by changed in between: {TESTS}" in gap) == ("ok", True)
    for text in (OLD, RIGHT):
        site.write("src/bill.py", text)
        site.run(*LINE.split())
    done = site.send()

    assert "open gap" not in done["closing"]
    assert len(list_gaps(site)) == 2
    assert "failed before, passes now" in site.shown()


def test_a_green_run_alone_settles_no_gap_about_a_guard(site: Site) -> None:
    begin_fix(site)
    site.write("src/bill.py", RIGHT)
    site.write(TESTS, "assert total([1]) >= 1\n")
    site.run(*LINE.split())
    site.send(fixed("src/bill.py", TESTS))
    site.run(*LINE.split())

    done = site.send()

    assert "1 open gap" in done["closing"]


def test_a_server_that_was_there_before_the_checks_ran_elsewhere_judges_by_them(site: Site) -> None:
    elsewhere = site.runtime
    server = msgspec.structs.replace(elsewhere, log=HotLog(elsewhere.log))
    site.runtime = server
    site.begin(step("fix", output={"contractRef": "wr.contracts.bug_fix"}), step("tell"))
    for text in (OLD, RIGHT):
        site.write("src/bill.py", text)
        site.runtime = elsewhere
        site.run(*LINE.split())
    site.runtime = server

    accepted = site.send(changed("src/bill.py", check=LINE) | {"kind": "wr.bug_fix", "guard": LINE})
    done = site.send()

    assert accepted["kind"] == "ok"
    assert "could not be found" not in done["closing"]
    assert worth(done) == {"ran": 2, "seen": 1}


def test_a_person_who_confirms_the_report_has_seen_which_tests_changed(tested: Site) -> None:
    tested.write(".handrail/config.json", json.dumps({"checks": {"tests": CHECK}, "confirmations": "person"}))
    commit(tested.root)
    begun = tested.begin(step("change", requireConfirmation=True, **CHANGE))
    tested.write("src/bill.py", RIGHT)
    tested.write(TESTS, "assert total([1.005]) == 1\n")
    tested.run_declared("tests")
    report = changed("src/bill.py", TESTS, check="tests")
    assert tested.send(report)["kind"] == "blocked"
    seated = seat(tested.runtime, Person("y"))
    command(seated, "run", "confirm", "--session", begun["session"]["sessionId"])

    done = tested.send(report)

    assert worth(done)["confirmed"] == 1
    assert f"tests of the checks changed: {TESTS}" in done["closing"]
    assert done["closing"].endswith(f"; {ALL_CHECKED}.")


# What ran is named beside the sentence that everything was checked


def test_who_reads_that_everything_was_checked_reads_by_what_and_where(site: Site) -> None:
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT)
    asked = RunCheck(argv=["true"], state_token=site.reply["stateToken"], directory="src")
    receipt = dict(run_check(site.runtime, asked).data)["receiptId"]
    report = changed("src/bill.py", check="true")
    report["checks"][0]["receiptId"] = receipt

    done = site.send(report)

    assert done["closing"].endswith(f"; what ran: true in src, which counted no test; {ALL_RAN}.")


def test_where_this_machine_keeps_a_program_leaves_room_for_what_it_does(site: Site) -> None:
    program = site.root / "a-folder-with-a-rather-long-name" / "proof"
    program.parent.mkdir()
    program.symlink_to(shutil.which("true") or "/bin/true")
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT)
    asked = RunCheck(argv=[str(program), "all", "cases"], state_token=site.reply["stateToken"])
    receipt = dict(run_check(site.runtime, asked).data)["receiptId"]
    report = changed("src/bill.py", check=f"{program} all cases")
    report["checks"][0]["receiptId"] = receipt

    done = site.send(report)

    assert "what ran: proof all cases, " in done["closing"]


def test_a_variable_in_front_of_a_check_starts_and_counts_in_both_spellings(site: Site) -> None:
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT)

    ran = site.run("LC_ALL=C", "grep", "-q", "round", "src/bill.py")
    done = site.send(changed("src/bill.py", check="LC_ALL=C grep -q round src/bill.py"))

    assert ran["status"] == "exit 0"
    assert (worth(done)["ran"], done["isComplete"]) == (1, True)


# A test that failed, and is another one when it passes

FIXED = {"output": {"contractRef": "wr.contracts.bug_fix"}}
NEW = "tests/test_more.py"
GUARD = ["sh", "-e", "guard.sh"]
EXAMPLE = next(one.example for one in CONTRACTS if one.artifact_kind == "wr.bug_fix")


def fix(site: Site, **files: str) -> dict[str, Any]:
    """A guard that fails is run, then files are changed until it passes, and that is reported."""
    site.write("guard.sh", "! grep -rqs False tests\n")
    commit(site.root)
    site.begin(step("fix", **FIXED))
    site.write(NEW, "assert False\n")
    site.run(*GUARD)
    site.write("src/bill.py", RIGHT)
    if files:
        site.write(NEW, files["test"])
    else:
        (site.root / NEW).unlink()
    site.run(*GUARD)
    listed = [("src/bill.py", "modified"), *([(NEW, "added")] if files else [])]
    told = {
        "files": [{"path": path, "change": change, "why": "It had to."} for path, change in listed],
        "checks": [{"command": " ".join(GUARD), "exitCode": 0, "summary": "It ran."}],
        "guard": " ".join(GUARD),
    }
    return site.send(in_own_words(EXAMPLE) | {"kind": "wr.bug_fix"} | told)


@pytest.mark.promise("evidence.red-is-the-change")
def test_a_new_test_that_was_weakened_until_it_passed_is_named_at_the_end(site: Site) -> None:
    done = fix(site, test="assert True\n")

    assert done["isComplete"], done
    assert f"what it tests by changed in between: {NEW}" in done["closing"]
    assert (worth(done)["ran"], worth(done)["claimed"]) == (1, 1)
    assert ALL_CHECKED not in done["closing"]


@pytest.mark.promise("evidence.red-is-the-change")
def test_a_test_that_failed_and_was_taken_away_shows_no_correction(site: Site) -> None:
    done = fix(site)

    gone = f"tests of then are gone: {NEW}"
    assert any(gone in one for one in list_gaps(site))
    assert gone in done["closing"]
    assert ALL_CHECKED not in done["closing"]


# A runner that is a file of the project


def put_runner(root: Path, name: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho '4 passed in 0.01s'\n", encoding="utf-8")
    path.chmod(0o755)


def search_first(site: Site, folder: str) -> None:
    path = os.pathsep.join([str(site.root / folder), os.environ["PATH"]])
    programs = LocalCheckPrograms({"HANDRAIL_PROJECT": str(site.root), "PATH": path}, site.runtime.secrets)
    site.runtime = msgspec.structs.replace(
        site.runtime, check_programs=lambda: programs, clock=SystemClock()
    )  # the file system tells the time of a change


@pytest.mark.parametrize(
    ("folder", "line"),
    [("bin", "pytest -q"), (".venv/bin", "pytest -q"), (".venv/bin", "sh -e .venv/bin/pytest")],
    ids=["listed", "ignored", "given"],
)
def test_a_runner_that_appeared_in_the_project_is_named_and_not_everything_was_checked(
    site: Site, folder: str, line: str
) -> None:
    site.write(".gitignore", ".venv/\n")
    commit(site.root)
    search_first(site, folder)
    site.begin(step("change", **CHANGE))
    put_runner(site.root, f"{folder}/pytest")
    site.write("src/bill.py", RIGHT)
    site.run(*line.split())
    report = changed("src/bill.py", check=line)
    if folder == "bin":
        report = changed_and("bin/pytest", "added", check=line)

    done = site.send(report)

    assert done["kind"] == "ok", done
    assert f"program of the checks written in the run: {folder}/pytest" in done["closing"]
    assert ALL_CHECKED not in done["closing"]


def test_an_environment_that_is_made_in_the_run_is_one_doubt_and_told_by_the_check(site: Site) -> None:
    site.write(".gitignore", ".venv/\n")
    commit(site.root)
    search_first(site, ".venv/bin")
    site.begin(step("change", **CHANGE))
    put_runner(site.root, ".venv/bin/pytest")
    site.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    site.write(".venv/lib/python3.13/site-packages/more.pth", "import sys\n")
    site.write("src/bill.py", RIGHT)
    ran = run_check(site.runtime, RunCheck(argv=["pytest", "-q"], state_token=site.reply["stateToken"]))

    done = site.send(changed("src/bill.py", check="pytest -q"))

    (warning,) = [one.message for one in ran.notices if one.type == "check_doubted"]
    assert warning.startswith("Its program was written in this run: ./.venv/bin/pytest.")
    assert "program of the checks written in the run: .venv/bin/pytest" in done["closing"]
    assert "more.pth" not in done["closing"]


def test_a_runner_that_the_run_found_in_the_project_is_as_good_as_any(site: Site) -> None:
    site.write(".gitignore", ".venv/\n")
    put_runner(site.root, ".venv/bin/pytest")
    commit(site.root)
    search_first(site, ".venv/bin")
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT)
    site.run("pytest", "-q")

    done = site.send(changed("src/bill.py", check="pytest -q"))

    (receipt,) = of_kind(events_of(site.runtime, done), "receipt_recorded")
    assert receipt["data"]["program"] == "./.venv/bin/pytest"
    assert done["closing"].endswith(f"; {ALL_RAN}.")


# How many tests ran before and after tells a new test from one that was taken away

PYTEST = (sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
TWO = "def test_a():\n    assert True\n\ndef test_b():\n    assert True\n"
SKIPPED = "import pytest\n" + TWO.replace("def test_b", "@pytest.mark.skip\ndef test_b")
MORE = TWO + "\ndef test_c():\n    assert True\n"
ENDS_WELL = "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"


@pytest.mark.parametrize(
    ("body", "told"),
    [(SKIPPED, ": 1 test ran, 2 at the start of the run; 1 skipped, 0 at the start of the run"), (MORE, "")],
    ids=["skipped", "one-more"],
)
def test_a_test_that_is_skipped_reads_otherwise_than_one_that_is_added(
    site: Site, body: str, told: str
) -> None:
    site.write(TESTS, TWO)
    commit(site.root)
    site.begin(step("change", **CHANGE))
    site.run(*PYTEST)
    site.write("src/bill.py", RIGHT)
    site.write(TESTS, body)
    site.run(*PYTEST)

    done = site.send(changed("src/bill.py", TESTS, check=shlex.join(PYTEST)))

    assert f"; tests of the checks changed: {TESTS}" in done["closing"]
    assert ("at the start of the run" in done["closing"]) == bool(told)
    assert told in done["closing"]


def test_a_configuration_that_sets_the_status_does_not_hide_that_a_test_failed(site: Site) -> None:
    site.write(TESTS, TWO.replace("True", "False"))
    commit(site.root)
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT)
    site.write("conftest.py", ENDS_WELL)
    ran = site.run(*PYTEST)

    refused = site.send(changed_and("conftest.py", "added", check=shlex.join(PYTEST)))

    assert (ran["status"], ran["counts"]["failed"]) == ("exit 0", 2)
    assert refused["kind"] == "blocked"
    assert "its report counts no test that passed, or one that failed" in json.dumps(refused["blockers"])
