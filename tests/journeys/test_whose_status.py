"""A status belongs to the program that counts: no line around it turns a red test green, at any door."""

from __future__ import annotations

import os
import shutil
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Success
from handrail.engine.judge.run_claims import suggest_command
from handrail.engine.judge.witnessed import Witnessed
from handrail.host.checks import LocalCheckPrograms
from handrail.host.workspace import LocalWorkspace
from handrail.operations.checks.note_command import NoteCommand, note_command
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.runtime.hub import perform
from tests.host.worktree.project import commit
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


@pytest.mark.promise("evidence.whose-status")
def test_a_shell_that_hides_a_failure_proves_nothing_by_a_check(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)

    answer = site.run("sh", "-c", "false || true")

    assert answer["hasPassed"] is False
    verdict, fact = ran(site, "false || true")
    assert verdict == "unknown"
    assert "whose status is not its own" in fact


@pytest.mark.promise("evidence.whose-status")
def test_a_line_that_the_project_declares_keeps_its_status(site: Site) -> None:
    site.declare(piped={"command": ["sh", "-c", "true | cat"]})
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    site.run_declared("piped")

    assert ran(site, "piped")[0] == "holds"


@pytest.mark.promise("evidence.whose-status")
@pytest.mark.parametrize(
    ("line", "claimed"),
    [("cd src && true", "cd src && true"), ("cd src && true", "cd ./src && true"), ("true", "true")],
)
def test_a_command_behind_cd_is_the_command_there(site: Site, line: str, claimed: str) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    site.write("src/bill.py", RIGHT)
    told(site, line)

    assert ran(site, claimed)[0] == "holds"


@pytest.mark.promise("evidence.whose-status")
def test_a_suggestion_names_one_program_to_run() -> None:
    suggested = suggest_command(Witnessed(), "cd src && pytest -q | tee log").line

    assert suggested == "handrail check run -- pytest -q"


@pytest.mark.promise("evidence.whose-status")
def test_the_program_to_run_alone_is_found_before_what_a_shell_gets_beside_its_script(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("tell"))

    params = {"argv": ["sh", "-c", "git status | cat", "--human"], "project": str(site.root)}
    outcome = perform(site.runtime, "check.run", params)

    assert isinstance(outcome, Success)
    assert [one.message for one in outcome.notices if one.type == "status_not_own"] == [
        "Its line starts several programs, so its status is not that of one; run git status alone."
    ]


# What a run of a check says about its surroundings, and the closing line about what was not checked


def test_a_check_under_a_variable_that_steers_it_says_so_at_once(site: Site) -> None:
    environment = {"HANDRAIL_PROJECT": str(site.root), "PATH": os.environ["PATH"], "MAKEFLAGS": "-i"}
    programs = LocalCheckPrograms(environment, site.runtime.secrets)
    site.runtime = msgspec.structs.replace(site.runtime, check_programs=lambda: programs)
    reply = site.begin()

    told = run_check(site.runtime, RunCheck(argv=["true"], state_token=reply["stateToken"]))

    (notice,) = [one for one in told.notices if one.type == "check_steered"]
    assert notice.message == "It ran under MAKEFLAGS, so it stands for no declared check."


def test_a_check_of_one_project_in_a_repository_of_several_runs_in_its_own(site: Site) -> None:
    folder = site.root / "services" / "bills"
    site.write("services/bills/here.txt", "x\n")
    site.write("services/bills/.handrail/config.json", "{}")
    commit(site.root)
    workspace = LocalWorkspace({"HANDRAIL_PROJECT": str(folder), "PATH": os.environ["PATH"]})
    site.runtime = msgspec.structs.replace(site.runtime, workspace=workspace)
    reply = site.begin()

    for around in (str(site.root), str(folder)):
        request = RunCheck(argv=["test", "-f", "here.txt"], state_token=reply["stateToken"], project=around)
        told = run_check(site.runtime, request)
        data = dict(told.data)
        assert (data["exitStatus"], data["directory"]) == (0, "."), around
        assert "check_elsewhere" not in [one.type for one in told.notices]
