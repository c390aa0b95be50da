"""Handrail proves a change itself inside `run.continue`: which checks it runs, and when it leaves them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.operations.checks import own_proofs
from handrail.runtime.runtime import NeverInterrupted
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.conversation import answer
from tests.journeys.proved_projects import FIXED, NEW_TEST
from tests.journeys.test_proofs_of_runs import ProvedRun

pytestmark = pytest.mark.thorough


class OwnProofs(ProvedRun):
    """A run whose fix is written and not yet reported."""

    def approve(self, duration_ms: int | None = 100) -> None:
        told = answer(seat(self.runtime, Person("y")), "check.approve")
        if duration_ms is not None:
            self.keep_run(told["checks"][0]["digest"], duration_ms)

    def keep_run(self, digest: str, duration_ms: int) -> None:
        self.runtime.known_checks().keep_run(str(self.root), digest, duration_ms)

    def replace(self, **ports: Any) -> None:
        self.runtime = msgspec.structs.replace(self.runtime, **ports)


@pytest.fixture
def project(tmp_path: Path) -> OwnProofs:
    project = OwnProofs(tmp_path)
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})
    return project


def test_report_is_proven_without_another_call(project: OwnProofs) -> None:
    project.approve()

    done = project.send()

    assert (done["kind"], done["pending"]["stepId"]) == ("ok", "end"), done
    (recorded,) = project.events("proof_recorded")
    assert (recorded["proof"]["word"], recorded["proof"]["newTests"]) == ("proved", 1)
    assert not any(project.is_gap_open())


def test_blocked_report_is_proven_once_per_tree(project: OwnProofs) -> None:
    project.approve()
    project.change({"test_bills.py": NEW_TEST.replace("== 1", "== 2")})

    blocked = project.send()
    again = project.send()

    assert "FAILS" in blocked["blockers"][0]["message"]
    assert again["kind"] == "ok"
    assert len(project.events("proof_recorded")) == 1


def leave_unapproved(project: OwnProofs) -> None:
    del project


def never_run(project: OwnProofs) -> None:
    project.approve(duration_ms=None)


def take_long(project: OwnProofs) -> None:
    project.approve(duration_ms=own_proofs.MOST_MS // own_proofs.USUAL_RUNS + 1)


def serve(project: OwnProofs) -> None:
    project.approve()
    project.replace(is_served=True)


class NoTimeLeft(NeverInterrupted):
    """A call that must answer at once."""

    def ms_left(self) -> int | None:
        return own_proofs.SPARED_MS


def leave_no_time(project: OwnProofs) -> None:
    project.approve()
    project.replace(interruptions=NoTimeLeft())


@pytest.mark.thorough
@pytest.mark.parametrize("prepare", [leave_unapproved, never_run, take_long, serve, leave_no_time])
def test_reply_has_the_command_otherwise(project: OwnProofs, prepare: Callable[[OwnProofs], None]) -> None:
    prepare(project)

    blocked = project.send()

    assert f"Run `handrail prove --run {project.run_id}`" in blocked["blockers"][0]["suggestedFix"]
    assert project.events("proof_recorded") == []


def test_check_that_lasts_exactly_as_long_is_run(project: OwnProofs) -> None:
    project.approve(duration_ms=own_proofs.MOST_MS // own_proofs.USUAL_RUNS)

    assert project.send()["kind"] == "ok"


@pytest.mark.thorough
def test_check_that_takes_too_long_is_ended(project: OwnProofs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_proofs, "MOST_MS", 1)
    project.approve(duration_ms=0)

    blocked = project.send()

    assert blocked["kind"] == "blocked"
    assert project.events("proof_recorded") == []
    monkeypatch.undo()
    assert project.send()["kind"] == "ok"  # it is not tried again, and the step stops a run once
    assert project.events("proof_recorded") == []


@pytest.mark.thorough
def test_dry_run_starts_nothing(project: OwnProofs) -> None:
    project.approve()

    told = answer(
        project.runtime,
        "run.continue",
        ackToken=project.reply["ackToken"],
        output={"notesMarkdown": "Done."},
        dryRun=True,
    )

    assert told["verdict"] == "would_block"
    assert project.events("proof_recorded") == []


def test_prove_lets_handrail_know_how_long_a_check_takes(project: OwnProofs) -> None:
    project.approve(duration_ms=None)
    answer(project.runtime, "check.prove")
    project.change({"bills.py": FIXED + "\n# later\n"})

    assert project.send()["kind"] == "ok"
    assert len(project.events("proof_recorded")) == 2


def test_agent_without_a_shell_asks_a_person(project: OwnProofs) -> None:
    project.replace(client="claude-ai")

    done = project.send()

    assert done["kind"] == "ok"
    shown = answer(project.runtime, "session.show", sessionId=project.session_id)
    (gap,) = shown["runs"][0]["gaps"]
    assert f"NOT TRIED: ask a person to run: handrail prove --run {project.run_id}." in gap["summary"]


@pytest.mark.thorough
def test_prompt_of_an_approved_check_names_no_command(tmp_path: Path) -> None:
    project = OwnProofs(tmp_path)
    project.approve()

    begun = answer(project.runtime, "run.start", workflowId="project.fix", requestId="two")

    assert "Handrail tries it when you report" in begun["pending"]["prompt"]
