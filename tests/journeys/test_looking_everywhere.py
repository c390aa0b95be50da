"""What a look, a receipt and a restore are about: branches, other folders and stores, rewritten files."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.host.worktree import local_worktree
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime
from tests.host.worktree.project import commit, make_project
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import advance, answer, rehydrate
from tests.journeys.doors import command, tool_call, worth
from tests.journeys.given_workflows import step
from tests.journeys.test_confirmations import at_third, insist
from tests.journeys.test_moving_sessions import exported, imported
from tests.journeys.workplace import (
    CHANGE,
    RIGHT,
    TESTS,
    VERIFY,
    Site,
    blocker,
    changed,
    do_honest_change,
    site,
    verified,
)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
__all__ = ["site"]
PLANNED = (step("plan"), step("change", **CHANGE), step("verify", **VERIFY))


def go_back(site: Site, reply: dict[str, Any]) -> None:
    """Read an older step again, to continue it on a branch of its own."""
    token = reply["stateToken"]
    site.reply = tool_call(site.runtime, "continue_workflow", stateToken=token).structured


# Branches


@pytest.mark.promise("evidence.left-by-branch")
def test_a_file_that_another_branch_left_is_shown_where_it_is_not_listed(site: Site) -> None:
    first = site.begin(*PLANNED)
    site.write("src/bill.py", "BACKDOOR\n")
    site.send()
    go_back(site, first)
    site.send()
    site.write("README", "The bills, rounded.\n")
    site.run("true")

    went_on = site.send(changed("README", check="true"))

    fact = "left by another branch of this run and not listed: src/bill.py"
    assert went_on["kind"] == "ok"
    assert ("/files/-", "unknown", fact) in site.claims()
    done = site.send(verified())
    assert worth(done) == {"ran": 1, "seen": 1, "exists": 1}  # what nobody claims is told, and no claim
    assert fact in site.shown()


@pytest.mark.promise("evidence.left-by-branch")
def test_what_changed_before_the_branches_parted_is_demanded_of_both(site: Site) -> None:
    site.begin(step("look"), *PLANNED)
    site.write("src/bill.py", "BACKDOOR\n")
    fork = site.send()
    site.send()
    go_back(site, fork)
    site.send()
    site.write("README", "The bills, rounded.\n")

    refused = site.send(changed("README", check="true"))

    assert "changed in this run and not listed: src/bill.py" in blocker(refused)["message"]


# Receipts of other places


@pytest.mark.promise("check.declared-counts")
def test_a_receipt_from_outside_of_the_project_stands_for_no_declared_check(
    site: Site, tmp_path: Path
) -> None:
    site.declare(tests={"command": TESTS.split()})
    site.begin()
    site.write("src/bill.py", "return 42\n")
    outside = tmp_path / "outside"
    (outside / "src").mkdir(parents=True)
    (outside / "src/bill.py").write_text(RIGHT, encoding="utf-8")
    asked = RunCheck(argv=TESTS.split(), state_token=site.reply["stateToken"], project=str(outside))
    receipt = dict(run_check(site.runtime, asked).data)["receiptId"]
    assert site.runtime.trees_due is not None
    site.runtime.trees_due.clear()

    listed = changed("src/bill.py")
    listed["checks"][0]["receiptId"] = receipt
    refused = site.send(listed)

    told = blocker(refused)
    assert told["code"] == "MISSING_REQUIRED_OUTPUT"
    assert "Handrail has not seen the check tests run" in told["message"]


@pytest.mark.promise("receipt.imported")
def test_a_receipt_that_came_with_a_bundle_proves_nothing_new(site: Site) -> None:
    site.begin()
    do_honest_change(site)
    bundle = exported(site.runtime, site.reply["session"]["sessionId"])
    site.runtime = msgspec.structs.replace(site.runtime, log=memory_runtime().log)
    session = imported(site.runtime, bundle)["session_id"]
    _, found = command(site.runtime, "session", "resume", session)
    go_back(site, found["data"]["items"][0]["nextCall"]["params"])

    site.send(verified({"source": "command", "ref": TESTS, "result": "It ended with 0."}))

    (told,) = [one for one in site.claims() if one[0] == "/claims/0/evidence/0/ref"]
    assert told[1:] == ("unknown", "it ran (exit 0), as another store recorded it before the import")


@pytest.mark.promise("receipt.imported")
def test_a_yes_that_came_with_a_bundle_was_not_given_here(runtime: Runtime) -> None:
    insist(runtime)
    third = at_third(runtime)
    waiting = advance(runtime, third)
    session = third["session"]["sessionId"]
    answer(seat(runtime, Person("y")), "run.confirm", session=session)
    here = memory_runtime()
    copied = imported(here, exported(runtime, session))["session_id"]
    (found,) = answer(here, "session.resume", query=copied)["items"]

    blocked = advance(here, rehydrate(here, found["nextCall"]["params"]))

    assert waiting["kind"] == "blocked"
    assert blocked["blockers"][0]["code"] == "USER_ONLY_DEPENDENCY"


@pytest.mark.promise("evidence.other-repository")
def test_a_change_in_another_repository_makes_a_check_stale_and_is_told_at_the_end(
    site: Site,
) -> None:
    make_project(site.root / "lib")
    site.begin(step("change", **CHANGE))
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())
    (site.root / "lib/run.sh").write_text("evil\n", encoding="utf-8")

    refused = site.send(changed("src/bill.py"))
    site.run(*TESTS.split())
    done = site.send(changed("src/bill.py"))

    assert blocker(refused)["message"].endswith("ran (exit 0) before files changed: lib")
    told = [one for at, verdict, one in site.claims() if (at, verdict) == ("/checks/0/command", "holds")]
    assert [one for one in told if "lib" in one] == []
    assert "another repository in it changed: lib" in done["closing"]


@pytest.mark.promise("evidence.other-repository")
def test_a_repository_that_nobody_looked_into_is_named_with_a_run_that_holds(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_worktree, "_MOST_INSIDE", 0)
    make_project(site.root / "lib")
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())

    site.send(changed("src/bill.py"))

    told = [one for at, verdict, one in site.claims() if (at, verdict) == ("/checks/0/command", "holds")]
    assert any(one.startswith("exit 0; nobody looked into lib (another repository)") for one in told)


# Files that checks write


def write_script(site: Site, name: str, text: str) -> None:
    site.write(name, f"with open('gen.txt', 'w', encoding='utf-8') as file:\n    file.write('{text}')\n")


@pytest.mark.promise("receipt.rewritten-files")
def test_checks_that_rewrite_each_others_files_are_told_the_cause_and_pass_as_unknown(site: Site) -> None:
    write_script(site, "one.py", "1")
    write_script(site, "two.py", "2")
    site.write("gen.txt", "0")
    commit(site.root)
    site.begin()
    site.write("src/bill.py", RIGHT)
    lines = [
        "python3 one.py",
        "python3 two.py",
    ]  # the path of this one may be too long to be told
    report = changed("src/bill.py", "gen.txt", check=lines[0])
    report["checks"].append({"command": lines[1], "exitCode": 0, "summary": "It ran."})
    for line in lines:
        site.run(*line.split())

    first = blocker(site.send(report))
    site.run(*lines[0].split())
    went_on = site.send(report)

    assert f"{lines[0]} ran (exit 0) before files changed: gen.txt" in first["message"]
    assert went_on["kind"] == "ok"
    cause = f"each check rewrites gen.txt: {lines[1]} and {lines[0]}"
    advice = "; let git ignore it, or run both as one check"
    assert ("/checks/1/command", "unknown", cause + advice) in site.claims()
    (gap,) = [one for one in went_on["warnings"] if one["code"] == "GAP_RECORDED"]
    assert gap["message"].startswith("Each check rewrites gen.txt: ")


@pytest.mark.promise("receipt.rewritten-files")
def test_who_does_not_run_a_stale_check_again_goes_on_with_a_gap_and_no_excuse(site: Site) -> None:
    write_script(site, "two.py", "2")
    site.write("gen.txt", "0")
    commit(site.root)
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())
    site.run("python3", "two.py")
    report = changed("src/bill.py", "gen.txt")

    assert site.send(report)["kind"] == "blocked"
    went_on = site.send(report)

    assert went_on["kind"] == "ok"
    (gap,) = [one for one in went_on["warnings"] if one["code"] == "GAP_RECORDED"]
    assert "rests on what did not pass on the present files" in gap["message"]
    assert ("/checks/0/command", "stale") in [one[:2] for one in site.claims()]


@pytest.mark.promise("evidence.code.by-products")
def test_a_check_that_leaves_bytecode_behind_is_proof_at_once(site: Site) -> None:
    site.begin()
    site.write("src/bill.py", RIGHT)
    words = [sys.executable, "-c", "import src.bill"]
    (site.root / "src/__pycache__").mkdir()
    (site.root / "src/__pycache__/old.cpython-311.pyc").write_bytes(b"old")
    site.run(*words)
    (site.root / "src/__pycache__/new.cpython-311.pyc").write_bytes(b"new")

    went_on = site.send(changed("src/bill.py", check=shlex.join(words)))

    assert went_on["kind"] == "ok"
    assert ("/checks/0/command", "holds", "exit 0") in site.claims()


@pytest.mark.promise("receipt.files-changed-meanwhile")
def test_a_check_that_writes_its_own_files_is_told_to_have_them_ignored(site: Site) -> None:
    write_script(site, "one.py", "1")
    commit(site.root)
    site.begin()
    asked = RunCheck(argv=[sys.executable, "one.py"], state_token=site.reply["stateToken"])

    (notice,) = run_check(site.runtime, asked).notices

    assert notice.message.startswith("gen.txt changed while it ran")
    assert notice.message.endswith("What the check writes itself belongs into .gitignore.")


# What a refusal advises


@pytest.mark.promise("evidence.last-files")
def test_a_stale_check_names_what_changed_however_many_commands_ran_since(site: Site) -> None:
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run(*TESTS.split())
    for number in range(5):
        site.write("README", f"The bills, {number}.\n")
        site.run("test", str(number))

    refused = site.send(changed("src/bill.py", "README"))

    assert f"{TESTS} ran (exit 0) before files changed: README" in blocker(refused)["message"]


@pytest.mark.promise("receipt.report-of-this-run")
def test_a_check_whose_report_was_not_written_is_to_be_run_again(site: Site) -> None:
    site.declare(tests={"command": TESTS.split(), "report": {"path": "report.xml", "format": "junit"}})
    site.begin()
    site.write("src/bill.py", RIGHT)
    site.run_declared("tests")

    told = blocker(site.send(changed("src/bill.py", check="tests")))

    assert "so nothing shows that a test ran" in told["message"]
    assert told["suggestedFix"].startswith("Run handrail check run tests --session ")


# A restore, and its undo


@pytest.mark.promise("evidence.code.there-and-back")
def test_the_undo_of_a_restore_leaves_an_ignored_file_that_the_restore_left(site: Site) -> None:
    site.write(".gitignore", "*.log\n")
    commit(site.root)
    site.begin()
    site.write("keep.txt", "v1\n")
    tree = site.run("true")["treeAfter"]
    site.write(".gitignore", "*.log\nkeep.txt\n")
    site.write("keep.txt", "v2, ignored\n")

    undo = _restore(site, tree)["undo"]
    back = _restore(site, undo)

    assert (site.root / "keep.txt").read_text(encoding="utf-8") == "v2, ignored\n"
    assert (site.root / ".gitignore").read_text(encoding="utf-8") == "*.log\nkeep.txt\n"
    assert [one["path"] for one in back["left_out"]] == ["keep.txt"]


def _restore(site: Site, tree: str) -> dict[str, Any]:
    words = ["code", "restore", tree, "--session", site.reply["session"]["sessionId"]]
    _, shown = command(site.runtime, *words, "--dry-run")
    status, done = command(site.runtime, *words, "--confirm", shown["data"]["confirm_token"])
    assert status == 0, json.dumps(done)
    told: dict[str, Any] = done["data"]
    return told
