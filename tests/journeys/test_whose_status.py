"""A status belongs to the program that counts: no line around it turns a red test green, at any door."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from handrail.contract.outcome import Success
from handrail.engine.judge.run_claims import Witnessed, suggest_command
from handrail.operations.checks.note_command import NoteCommand, note_command
from handrail.runtime.hub import perform
from tests.journeys.given_workflows import step
from tests.journeys.test_until_the_end import CHANGE, RIGHT, Site, changed, site

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
__all__ = ["site"]


def told(site: Site, line: str, status: int = 0) -> None:
    note_command(site.runtime, NoteCommand(argv=[line], status=status, directory=str(site.root)))


def ran(site: Site, command: str) -> tuple[str, str]:
    """What the evidence says to the command of a list of changes: verdict and fact."""
    site.send(changed("src/bill.py", check=command))
    found: list[Any] = [one for one in site.claims() if one[0] == "/checks/0/command"]
    return found[0][1], found[0][2]


@pytest.mark.parametrize("line", ["false | cat", "false || true", "false; true", "bash -lc 'false | cat'"])
def test_a_line_that_hides_a_failure_proves_nothing_by_a_hook(site: Site, line: str) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    told(site, line)

    assert ran(site, line)[0] == "unknown"


def test_a_shell_that_hides_a_failure_proves_nothing_by_a_check(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)

    answer = site.run("sh", "-c", "false || true")

    assert answer["hasPassed"] is False
    verdict, fact = ran(site, "false || true")
    assert verdict == "unknown"
    assert "whose status is not its own" in fact


def test_a_line_that_the_project_declares_keeps_its_status(site: Site) -> None:
    site.declare(piped={"command": ["sh", "-c", "true | cat"]})
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    site.run_declared("piped")

    assert ran(site, "piped")[0] == "holds"


@pytest.mark.parametrize(
    ("line", "claimed"),
    [("cd src && true", "cd src && true"), ("cd src && true", "cd ./src && true"), ("true", "true")],
)
def test_a_command_behind_cd_is_the_command_there(site: Site, line: str, claimed: str) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    told(site, line)

    assert ran(site, claimed)[0] == "holds"


def test_a_suggestion_names_one_program_to_run() -> None:
    suggested = suggest_command(Witnessed(), "cd src && pytest -q | tee log")

    assert suggested == "handrail check run -- pytest -q"


def test_the_program_to_run_alone_is_found_before_what_a_shell_gets_beside_its_script(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("tell"))

    params = {"argv": ["sh", "-c", "git status | cat", "--human"], "project": str(site.root)}
    outcome = perform(site.runtime, "check.run", params)

    assert isinstance(outcome, Success)
    assert [one.message for one in outcome.notices if one.type == "status_not_own"] == [
        "Its line starts several programs, so its status is not that of one; run git status alone."
    ]
