"""A project is the same on every machine: by its name, or by the first commit of its repository."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.conformance.forked import ForkedTool, ForkServer
from tests.conftest import GivenWorkspace
from tests.hostile.repository.checkout import run_git
from tests.journeys.conversation import answer, start
from tests.journeys.given_workflows import give, step
from tests.worktree.project import commit, write

pytestmark = [
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]
START = ("run", "start", "wr.small_change", "--goal", "g", "--request-id", "k")


def session(reply: Any) -> str:
    return str(reply["session"]["sessionId"])


class Places:
    """One repository, cloned and checked out a second time, and a stranger."""

    def __init__(self, folder: Path, server: ForkServer) -> None:
        self.tool = ForkedTool(str(folder), server)
        self.own = Path(self.tool.project)
        run_git(self.own, "init", "-q", ".")
        write(self.own, "part/a.py", "a = 1\n")
        commit(self.own)
        self.clone, self.worktree, self.other = (folder / name for name in ("clone", "beside", "other"))
        run_git(folder, "clone", "-q", str(self.own), str(self.clone))
        run_git(self.own, "worktree", "add", "-q", str(self.worktree))
        self.other.mkdir()
        run_git(self.other, "init", "-q", ".")
        write(self.other, "b.py", "b = 1\n")
        commit(self.other, "of somebody else")

    def run(self, place: Path, *words: str) -> Any:
        return self.tool.data(*words, "--project", str(place))


@pytest.fixture
def places(tmp_path: Path, fork_server: ForkServer) -> Places:
    return Places(tmp_path, fork_server)


@pytest.mark.thorough
def test_request_id_means_the_same_run_in_every_clone(places: Places) -> None:
    begun = session(places.run(places.own, *START))

    assert session(places.run(places.clone, *START)) == begun
    assert session(places.run(places.worktree, *START)) == begun
    assert session(places.run(places.other, *START)) != begun
    assert session(places.run(places.own / "part", *START)) != begun, "a folder of it is its own project"
    assert session(places.run(places.clone / "part", *START)) == session(
        places.run(places.own / "part", *START)
    )


@pytest.mark.thorough
def test_who_joins_a_session_of_another_project_is_told(places: Places, tmp_path: Path) -> None:
    begun = session(places.run(places.own, *START))
    bare = tmp_path / "bare"
    bare.mkdir()

    def join(place: Path, key: str) -> list[str]:
        line = (*START[:-1], key, "--session", begun)
        replies = [places.run(place, *line) for _ in range(2)]
        told = [[one["code"] for one in held.get("warnings", [])] for held in replies]
        assert told[0] == told[1]
        return [code for code in told[0] if code == "OTHER_PROJECT"]

    assert join(places.other, "a") == join(bare, "b") == ["OTHER_PROJECT"]
    assert join(places.own, "c") == join(places.clone, "d") == join(places.worktree, "e") == []


def test_work_is_found_and_looked_at_in_another_clone(places: Places) -> None:
    begun = places.run(places.own, *START)

    ran = places.tool.data("check", "run", "--mvi", "full", "--project", str(places.clone), "--", "true")
    line = ("run", "continue", "--ack", begun["ackToken"], "--notes", "done")
    there = places.run(places.clone, *line)
    again = places.run(places.other, *line)

    assert ran["sessionId"] == session(begun), "the only run in progress here"
    assert "PROJECT_NOT_USED" not in [one["code"] for one in there.get("warnings", [])]
    assert "PROJECT_NOT_USED" in [one["code"] for one in again["warnings"]]


def test_the_name_in_its_settings_comes_before_the_repository(places: Places) -> None:
    for place in (places.own, places.other):
        write(place, ".handrail/config.json", '{"project": "shop"}')

    assert session(places.run(places.own, *START)) == session(places.run(places.other, *START))
    assert session(places.run(places.clone, *START)) != session(places.run(places.own, *START))


def test_another_repository_in_the_same_place_is_another_project(places: Places) -> None:
    begun = session(places.run(places.clone, *START))
    shutil.rmtree(places.clone)
    run_git(places.own.parent, "clone", "-q", str(places.other), str(places.clone))

    assert session(places.run(places.clone, *START)) != begun
    assert session(places.run(places.own, *START)) == begun


def test_start_of_an_older_version_answers_its_request_id(runtime: Runtime) -> None:
    workspace = runtime.workspace
    assert isinstance(workspace, GivenWorkspace)
    workflow = give(runtime, step("one"))
    before = start(runtime, workflowId=workflow, requestId="one", project="/here")
    workspace.identities["/here"] = "0123456789abcdef0123456789abcdef"

    after = start(runtime, workflowId=workflow, requestId="one", project="/here")
    events = answer(runtime, "session.events", sessionId=session(before))

    assert session(after) == session(before)
    assert "identity" not in str(events)
