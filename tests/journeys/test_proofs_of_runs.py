"""`handrail prove` while a run is in progress: it begins where the run began, and is recorded there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure
from handrail.operations.kept_trees import take_due_tree
from handrail.projections.summary import MOST_CHARACTERS
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime, TreeDue
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import step
from tests.journeys.proved_projects import FIXED, NEW_TEST, Proved
from tests.surfaces.cli.here import run_here

pytestmark = pytest.mark.thorough

WANTED = [step("fix", proof="proved"), step("end")]


class ProvedRun(Proved):
    """A project with a run that wants its fix proven."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        about = {"id": "project.fix", "name": "Fix", "description": "For a proof."}
        self.change({".handrail/workflows/fix.json": json.dumps(about | {"steps": WANTED})})
        self.declare()
        path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        variables = {"PATH": path, "HOME": str(self.home), "HANDRAIL_PROJECT": str(self.root)}
        runtime = build_runtime(variables, home=str(self.home))
        self.runtime: Runtime = msgspec.structs.replace(runtime, trees_due=[], incidents=KeptIncidents())
        self.reply = answer(self.runtime, "run.start", workflowId="project.fix", requestId="one")
        self.run_id = self.reply["session"]["runId"]
        self.session_id = self.reply["session"]["sessionId"]

    def send(self) -> dict[str, Any]:
        token = self.reply["retryAckToken" if self.reply["kind"] == "blocked" else "ackToken"]
        output = {"notesMarkdown": "Done."}
        self.reply = answer(self.runtime, "run.continue", ackToken=token, output=output)
        return self.reply

    def events(self, kind: str) -> list[dict[str, Any]]:
        listed = answer(self.runtime, "session.events", sessionId=self.session_id, kinds=[kind])
        return [one["data"] for one in listed["items"]]

    def is_gap_open(self) -> list[bool]:
        shown = answer(self.runtime, "session.show", sessionId=self.session_id)
        return [gap["is_open"] for gap in shown["runs"][0]["gaps"]]


@pytest.fixture
def project(tmp_path: Path) -> ProvedRun:
    return ProvedRun(tmp_path)


def test_a_proof_is_recorded_in_the_run_in_progress(project: ProvedRun) -> None:
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})

    proven = answer(project.runtime, "check.prove")
    done = project.send()

    assert (proven["word"], proven["runId"], proven["stepId"]) == ("proved", project.run_id, "fix"), proven
    (recorded,) = project.events("proof_recorded")
    assert (recorded["proof"]["word"], recorded["proof"]["newTests"]) == ("proved", 1)
    assert recorded["proof"]["base"] == project.events("tree_recorded")[0]["gitTree"]
    assert (done["kind"], done["pending"]["stepId"]) == ("ok", "end")


def test_a_later_proof_closes_the_gap_of_a_run(project: ProvedRun) -> None:
    assert project.send()["kind"] == "blocked"
    replies = [project.send(), project.send()]
    assert replies[-1]["isComplete"]
    assert project.is_gap_open() == [True]
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})

    proven = answer(project.runtime, "check.prove", run=project.run_id)

    assert (proven["word"], proven["runId"], "stepId" in proven) == ("proved", project.run_id, False)
    assert not any(project.is_gap_open())


@pytest.mark.thorough
def test_a_typed_command_is_not_recorded(project: ProvedRun) -> None:
    told = answer(project.runtime, "check.prove", argv=["true"])
    refused = perform(project.runtime, "check.prove", {"argv": ["true"], "run": project.run_id})

    assert "runId" not in told
    assert isinstance(refused, Failure)
    assert project.events("proof_recorded") == []


@pytest.mark.thorough
def test_a_terminal_says_where_a_proof_is_recorded(project: ProvedRun) -> None:
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})

    ran = run_here(project.runtime, ["prove", "--human", "--quiet"])

    assert ran.out.decode().rstrip().endswith(f"Recorded in {project.run_id} for the step fix.")


@pytest.mark.thorough
def test_an_unknown_run_is_refused(project: ProvedRun) -> None:
    refused = perform(project.runtime, "check.prove", {"run": "run_nobody000001"})

    assert isinstance(refused, Failure)
    assert refused.kind.code == "SESSION_NOT_FOUND"


def test_a_summary_says_what_proves_the_run(project: ProvedRun) -> None:
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})
    answer(project.runtime, "check.prove")
    project.send()

    summary = project.send()["closing"]

    assert summary == (
        "Done: 2 steps, 2 files (+5 −1). PROVED: 1 new test fails without the change and passes with it. "
        "For review: nothing."
    )


@pytest.mark.thorough
def test_a_summary_names_the_step_of_a_proof_that_no_step_wanted(project: ProvedRun) -> None:
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})
    answer(project.runtime, "check.prove")
    project.send()
    answer(project.runtime, "check.prove")

    summary = project.send()["closing"]

    assert "PROVED during End: " in summary
    assert len(summary) <= MOST_CHARACTERS


@pytest.mark.thorough
def test_a_summary_names_what_is_left_to_review(project: ProvedRun) -> None:
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})
    answer(project.runtime, "check.prove")
    project.change({"bills.py": FIXED + "\n# later\n"})
    project.send()
    project.send()

    summary = project.send()["closing"]

    assert "For review: " in summary
    assert len(summary) <= MOST_CHARACTERS


def list_kept(project: ProvedRun) -> list[str]:
    return [path.parent.name for path in project.home.rglob("refs/kept/*/*")]


def take_due(project: ProvedRun) -> None:
    for due in project.runtime.trees_due or ():
        if isinstance(due, TreeDue):
            take_due_tree(project.runtime, due, 10.0)


def test_the_start_of_a_run_is_kept_until_it_ends(project: ProvedRun) -> None:
    begun = list_kept(project)
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})
    answer(project.runtime, "check.prove")
    project.send()
    take_due(project)
    during = list_kept(project)

    assert project.send()["isComplete"]
    take_due(project)

    assert begun == during == [project.run_id]
    assert list_kept(project) == []


def test_an_open_gap_keeps_the_start_of_its_run(project: ProvedRun) -> None:
    project.send()
    project.send()
    assert project.send()["isComplete"]
    take_due(project)

    assert list_kept(project) == [project.run_id]
