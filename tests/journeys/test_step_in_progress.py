"""What a new chat is told about the step in progress: files, checks and checkpoints since it began."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import Runtime
from handrail.worktree.git_trees import GitTrees
from tests.journeys.conversation import answer
from tests.journeys.given_workflows import step
from tests.journeys.interfaces import tool_call
from tests.journeys.test_wanted_proofs import ProvenSite


@pytest.fixture
def site(tmp_path: Path) -> ProvenSite:
    site = ProvenSite(tmp_path)
    site.declare(tests={"command": ["true"]})
    site.begin(step("fix"), step("end"))
    return site


def read_again(runtime: Runtime, reply: dict[str, Any]) -> str:
    """What a read without an ack says of the step."""
    recap = answer(runtime, "run.continue", stateToken=reply["stateToken"]).get("recap", {})
    return str(recap.get("sinceStep", ""))


def test_step_without_work_says_that_no_file_changed(site: ProvenSite) -> None:
    assert read_again(site.runtime, site.reply) == "Since this step began: no file changed."


def test_files_checks_and_checkpoints_are_named(site: ProvenSite) -> None:
    site.write("src/bill.py", "changed = True\n")
    site.write("tests/test_bill.py", "new = True\n")
    site.run_declared("tests")
    site.run("false")
    token = site.reply["checkpointToken"]
    answer(site.runtime, "run.checkpoint", checkpointToken=token, output={"notesMarkdown": "Half."})

    assert read_again(site.runtime, site.reply) == (
        "Since this step began: 2 files changed (src/bill.py, tests/test_bill.py); check tests: exit 0; "
        "check false: exit 1; 1 checkpoint."
    )


def test_the_next_step_begins_afresh(site: ProvenSite) -> None:
    site.write("src/bill.py", "changed = True\n")
    site.run_declared("tests")
    site.send()

    assert read_again(site.runtime, site.reply) == "Since this step began: no file changed."


def test_a_file_that_was_changed_back_is_not_named(site: ProvenSite) -> None:
    before = (site.root / "src/bill.py").read_text(encoding="utf-8")
    site.write("src/bill.py", "changed = True\n")
    assert "1 file changed" in read_again(site.runtime, site.reply)
    site.write("src/bill.py", before)

    assert "no file changed" in read_again(site.runtime, site.reply)


def test_resuming_says_it_of_the_first_candidate(site: ProvenSite) -> None:
    site.write("src/bill.py", "changed = True\n")

    (found,) = answer(site.runtime, "session.resume")["items"]
    told = tool_call(site.runtime, "resume_session").text

    assert found["sinceStep"] == "Since this step began: 1 file changed (src/bill.py)."
    assert found["sinceStep"] in told


class SlowTrees(GitTrees):
    """Trees of a project whose files cannot be compared in time."""

    def list_changed(self, project: str, tree: str, seconds: float = 0.2) -> tuple[str, ...] | Unseen:
        del project, tree, seconds
        return Unseen(reason="it took too long")


def test_files_that_cannot_be_compared_are_said_so(site: ProvenSite) -> None:
    slow = SlowTrees(str(site.home), {"PATH": "/usr/bin:/bin"})
    runtime = msgspec.structs.replace(site.runtime, trees=lambda: slow)

    assert read_again(runtime, site.reply) == "Since this step began: files not compared."
