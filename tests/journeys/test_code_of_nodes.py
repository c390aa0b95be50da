"""The code of every node: taken after the reply, kept once, off where somebody says so, and optional."""

from __future__ import annotations

import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail import Handrail
from handrail.contract.outcome import Success
from handrail.operations.kept_trees import take_for_command
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import TreeDue
from handrail.wiring import build_runtime
from tests.conformance.forked import ForkedTool, ForkServer
from tests.conftest import THREE_STEPS
from tests.hostile.repository.checkout import run_git
from tests.journeys.conversation import answer
from tests.worktree.project import commit, picture, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Work:
    """A project with a repository, and a run in it."""

    def __init__(self, folder: Path, server: ForkServer) -> None:
        self.tool = ForkedTool(str(folder), server)
        self.root = Path(self.tool.project)
        run_git(self.root, "init", "-q", ".")
        write(self.root, "a.py", "a = 1\n")
        write(self.root, ".gitignore", "*.log\n")
        commit(self.root)

    def start(self) -> Any:
        return self.tool.data("run", "start", "wr.small_change", "--goal", "g", "--request-id", "k")

    def save(self, reply: Any, notes: str) -> Any:
        token = reply["checkpointToken"]
        return self.tool.data("run", "checkpoint", "--checkpoint", token, "--notes", notes)

    def events(self, reply: Any, kind: str) -> list[dict[str, Any]]:
        place = Path(self.tool.home, "data", "sessions", reply["session"]["sessionId"])
        lines = [
            line
            for part in sorted(place.glob("events-*"))
            for line in part.read_text(encoding="utf-8").splitlines()
        ]
        told = [json.loads(line)["event"] for line in lines if line]
        return [event for event in told if event["data"]["kind"] == kind]

    def kept(self, reply: Any) -> list[dict[str, Any]]:
        return self.events(reply, "tree_recorded")


@pytest.fixture
def work(tmp_path: Path, fork_server: ForkServer) -> Work:
    return Work(tmp_path, fork_server)


@pytest.mark.thorough
def test_each_node_leaves_the_tree_that_it_was_made_with(work: Work) -> None:
    before = picture(work.root / ".git")
    started = work.start()
    write(work.root, "a.py", "a = 2\n")
    write(work.root, "noise.log", "ignored")
    saved = work.save(started, "half way")

    first, second = work.events(started, "tree_recorded")

    assert [first["data"]["cause"], second["data"]["cause"]] == ["start", "checkpoint"]
    assert first["data"]["treeId"] != second["data"]["treeId"]
    assert "listRef" not in first["data"]
    assert second["data"]["listed"] == 1
    assert "nodeId" not in second["scope"]
    assert picture(work.root / ".git") == before
    assert saved["session"]["sessionId"] == started["session"]["sessionId"]
    assert work.tool.data("store", "verify")["problem_count"] == 0


@pytest.mark.thorough
def test_a_tree_counts_what_changed_in_all_and_in_its_step(work: Work) -> None:
    started = work.start()
    write(work.root, "a.py", "a = 1\nb = 2\nc = 3\n")
    planned = work.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "Planned.")
    write(work.root, "new.py", "d = 4\n")
    work.save(planned, "half way")

    counts = [(one["data"].get("changed"), one["data"].get("changedInStep")) for one in work.kept(started)]

    of_first = {"files": 1, "added": 2}
    in_all, in_step = {"files": 2, "added": 3}, {"files": 1, "added": 1}
    assert counts == [(None, None), (of_first, of_first), (in_all, in_step)]
    (row,) = work.tool.data("session", "list", "--mvi", "full")["items"]
    assert row["changed"] == in_all


@pytest.mark.thorough
def test_a_receipt_leaves_the_tree_that_its_program_ran_on(work: Work) -> None:
    started = work.start()
    write(work.root, "a.py", "a = 2\n")

    ran = work.tool.data("check", "run", "--mvi", "full", "--quiet", "--", "true")

    last = work.events(started, "tree_recorded")[-1]["data"]
    assert (last["cause"], last["treeId"]) == ("receipt", ran["treeAfter"])


@pytest.mark.thorough
def test_files_seen_for_a_report_are_not_read_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    started = work.start()
    planned = work.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "Planned.")
    write(work.root, "a.py", "a = 2\n")
    due: list[TreeDue] = []
    runtime = msgspec.structs.replace(
        build_runtime(work.tool.environment, home=work.tool.home), trees_due=due
    )
    checks = [{"command": "make test", "exitCode": 0, "summary": "It passed."}]
    body = {"kind": "wr.changed_files", "checks": checks}
    files = [{"path": "a.py", "change": "modified", "why": "It counts from two now."}]
    output = {"notesMarkdown": "Done.", "artifacts": [body | {"files": files}]}
    answer(runtime, "run.continue", ackToken=planned["ackToken"], output=output, project=str(work.root))

    monkeypatch.delattr("handrail.worktree.git_trees.GitTrees.take")
    told = [take_for_command(runtime, one, 60) for one in due]

    assert told == [""]
    last = work.events(started, "tree_recorded")[-1]["data"]
    assert (last.get("cause", "advance"), last["listed"]) == ("advance", 1)


def warned(reply: dict[str, Any]) -> list[str]:
    """What a start warns of, beside that nothing can be proven in a project without a check."""
    return [one["code"] for one in reply.get("warnings", []) if one["code"] != "CHECK_NOT_DECLARED"]


def test_the_first_look_is_made_before_the_start_is_answered(work: Work) -> None:
    due: list[TreeDue] = []
    runtime = msgspec.structs.replace(
        build_runtime(work.tool.environment, home=work.tool.home), trees_due=due
    )

    started = answer(runtime, "run.start", workflowId="wr.small_change", goal="g", project=str(work.root))

    (tree,) = work.events(started, "tree_recorded")
    assert (tree["data"]["cause"], due, warned(started)) == ("start", [], [])


def test_first_look_that_fails_is_in_the_start_and_its_repeat(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = msgspec.structs.replace(build_runtime(work.tool.environment, home=work.tool.home), trees_due=[])
    given: list[float] = []

    def look(self: object, project: str, seconds: float, *, is_anywhere: bool) -> Unseen:
        given.append(seconds)
        return Unseen(reason="not today")

    monkeypatch.setattr("handrail.worktree.git_trees.GitTrees.take", look)
    asked = {"workflowId": "wr.small_change", "goal": "g", "requestId": "k", "project": str(work.root)}
    first, again = (answer(runtime, "run.start", **asked) for _ in range(2))

    assert warned(first) == ["FIRST_LOOK_MISSING"]
    assert (first["warnings"], given) == (again["warnings"], [10.0])


@pytest.mark.thorough
def test_fresh_clone_of_ten_thousand_files_is_known_at_start(work: Work, tmp_path: Path) -> None:
    names = [f"src/{number % 100}/{number}.py" for number in range(10_000)]
    added = "".join(f"M 644 inline {name}\ndata 6\na = 1\n\n" for name in names)
    head = "commit refs/heads/big\ncommitter a <a@example.org> 1700000000 +0000\ndata 1\nx\n"
    run_git(work.root, "fast-import", "--quiet", given=(head + added).encode())
    clone = tmp_path / "clone"
    run_git(tmp_path, "clone", "-q", "-b", "big", str(work.root), str(clone))
    runtime = msgspec.structs.replace(build_runtime(work.tool.environment, home=work.tool.home), trees_due=[])

    started = answer(runtime, "run.start", workflowId="wr.small_change", goal="g", project=str(clone))

    (tree,) = work.events(started, "tree_recorded")
    assert (tree["data"]["cause"], warned(started)) == ("start", [])


def test_the_library_keeps_the_files_of_a_step_too(work: Work) -> None:
    store = Handrail(home=work.tool.home, environment=work.tool.environment)
    asked = {"workflowId": "wr.small_change", "goal": "g", "requestId": "k", "project": str(work.root)}

    started = store.call("run.start", asked)
    write(work.root, "a.py", "a = 2\n")
    output = {"notesMarkdown": "Planned."}
    store.call("run.continue", {"ackToken": started["ackToken"], "output": output, "project": str(work.root)})

    told = [one["data"] for one in work.events(started, "tree_recorded")]
    assert [(one.get("cause", "advance"), one.get("listed", 0)) for one in told] == [
        ("start", 0),
        ("advance", 1),
    ]


def test_the_library_says_why_it_kept_nothing(work: Work) -> None:
    write(work.root, ".git/config", "[core\nbroken")
    store = Handrail(home=work.tool.home, environment=work.tool.environment)

    outcome = store.outcome("run.start", {"workflowId": "wr.small_change", "project": str(work.root)})

    assert isinstance(outcome, Success)
    (notice,) = [one for one in outcome.notices if one.type == "tree_skipped"]
    assert "git refused to read the repository" in notice.message


def test_what_is_kept_can_be_read_by_its_user_alone(work: Work) -> None:
    write(work.root, ".env", "PASSWORD=correct-horse-battery-staple\n")
    work.start()

    home = Path(work.tool.home)
    shared = [path for path in home.rglob("*") if path.stat().st_mode & 0o077]

    assert [path.name for path in home.rglob("*") if path.parent.name == "blobs"] != []
    assert shared == []


def test_a_setting_turns_it_off(work: Work) -> None:
    write(Path(work.tool.home), "config.json", json.dumps({"code": {"snapshots": "off"}}))

    assert work.events(work.start(), "tree_recorded") == []


def test_project_keeps_its_contents_out_of_the_store(work: Work) -> None:
    write(work.root, ".handrail/config.json", json.dumps({"code": {"snapshots": "off"}}))
    write(work.root, "secret.txt", "kept nowhere\n")
    started = work.start()

    work.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "Planned.")

    trees = [one["data"] for one in work.events(started, "tree_recorded")]
    assert trees[0]["cause"] == "start"
    blobs = [path.read_bytes() for path in Path(work.tool.home).rglob("blobs/*") if path.is_file()]
    assert [one for one in blobs if zlib.compress(b"kept nowhere\n")[2:8] in one] == []


def test_a_project_cannot_turn_on_what_its_user_turned_off(work: Work) -> None:
    write(Path(work.tool.home), "config.json", json.dumps({"code": {"snapshots": "off"}}))
    write(work.root, ".handrail/config.json", json.dumps({"code": {"snapshots": "always"}}))

    error = work.tool.error("run", "start", "wr.small_change", "--goal", "g", "--request-id", "k")

    assert error["code"] == "E_CONFIG"


def test_fork_and_its_replay_count_the_files_that_differ(work: Work) -> None:
    write(work.root, ".handrail/workflows/three_steps.json", THREE_STEPS)
    started = work.tool.data("run", "start", "project.three_steps", "--request-id", "k")
    work.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "The first way.")
    write(work.root, "a.py", "a = 2\n")
    write(work.root, "b.py", "b = 1\n")
    again = work.tool.data("run", "continue", "--state", started["stateToken"])
    line = ("run", "continue", "--ack", again["ackToken"], "--notes", "Another way.")

    forked = work.tool.data(*line)
    write(work.root, "a.py", "a = 3\n")
    (work.root / "b.py").unlink()
    replayed = work.tool.data(*line)

    (warning,) = [one for one in forked["warnings"] if one["code"] == "FILES_DIFFER"]
    node = work.events(started, "tree_recorded")[0]["data"]["nodeId"]
    assert warning["message"].startswith("2 files of the project differ from what this step saw.")
    assert warning["details"] == {
        "differing": 2,
        "nodeId": node,
        "command": f"handrail code restore {node} --dry-run",
    }
    assert replayed == forked
    shown = work.tool.data(*warning["details"]["command"].split()[1:])
    assert {change["id"] for change in shown["preview"]["changes"]} == {"a.py"}


def test_a_fork_on_the_same_files_says_nothing(work: Work) -> None:
    write(work.root, ".handrail/workflows/three_steps.json", THREE_STEPS)
    started = work.tool.data("run", "start", "project.three_steps", "--request-id", "k")
    work.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "The first way.")
    again = work.tool.data("run", "continue", "--state", started["stateToken"])

    forked = work.tool.data("run", "continue", "--ack", again["ackToken"], "--notes", "Another way.")

    assert [one for one in forked.get("warnings", []) if one["code"] == "FILES_DIFFER"] == []


def differing(reply: Any) -> list[int]:
    return [one["details"]["differing"] for one in reply.get("warnings", []) if one["code"] == "FILES_DIFFER"]


def test_older_step_counts_the_files_that_differ_now(work: Work) -> None:
    write(work.root, ".handrail/workflows/three_steps.json", THREE_STEPS)
    started = work.tool.data("run", "start", "project.three_steps", "--request-id", "k")
    second = work.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "One.")
    write(work.root, "a.py", "a = 2\n")
    before = work.events(started, "tree_recorded")

    older = work.tool.data("run", "continue", "--state", started["stateToken"])
    newest = work.tool.data("run", "continue", "--state", second["stateToken"])
    write(work.root, "a.py", "a = 1\n")
    as_it_was = work.tool.data("run", "continue", "--state", started["stateToken"])

    assert (differing(older), differing(newest), differing(as_it_was)) == ([1], [], [])
    node = before[0]["data"]["nodeId"]
    assert older["warnings"][-1]["message"] == (
        "1 file of the project differs from what this step saw. "
        f"To bring them back: handrail code restore {node} --dry-run"
    )
    assert work.events(started, "tree_recorded") == before


def test_other_branch_is_older_when_read_and_when_continued(work: Work) -> None:
    write(work.root, ".handrail/workflows/three_steps.json", THREE_STEPS)
    started = work.tool.data("run", "start", "project.three_steps", "--request-id", "k")
    left = work.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "One way.")
    again = work.tool.data("run", "continue", "--state", started["stateToken"])
    write(work.root, "b.py", "b = 1\n")
    work.tool.data("run", "continue", "--ack", again["ackToken"], "--notes", "Another way.")

    read = work.tool.data("run", "continue", "--state", left["stateToken"])
    continued = work.tool.data("run", "continue", "--ack", left["ackToken"], "--notes", "The first again.")
    saved = work.save(continued, "Half way.")
    write(work.root, "c.py", "c = 1\n")

    assert (differing(read), differing(continued)) == ([1], [1])
    assert differing(work.tool.data("run", "continue", "--state", saved["stateToken"])) == []


def test_a_look_that_takes_too_long_or_fails_withholds_no_step(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(work.root, ".handrail/workflows/three_steps.json", THREE_STEPS)
    started = work.tool.data("run", "start", "project.three_steps", "--request-id", "k")
    work.tool.data("run", "continue", "--ack", started["ackToken"], "--notes", "One.")
    write(work.root, "a.py", "a = 2\n")
    runtime = build_runtime(work.tool.environment, home=work.tool.home)
    params = {"stateToken": started["stateToken"], "project": str(work.root)}

    with_line = answer(runtime, "run.continue", **params)
    monkeypatch.setattr("handrail.operations.kept_trees.REREAD_SECONDS", 0.0)
    without = answer(build_runtime(work.tool.environment, home=work.tool.home), "run.continue", **params)
    write(work.root, ".git/config", "[core\nbroken")
    broken = answer(runtime, "run.continue", **params)

    assert (differing(with_line), differing(without), differing(broken)) == ([1], [], [])
    assert broken["pending"] == without["pending"] == with_line["pending"]


def test_unreadable_repository_costs_one_notice(work: Work) -> None:
    write(work.root, ".git/config", "[core\nbroken")

    ran = work.tool.run("run", "start", "wr.small_change", "--goal", "g", "--request-id", "k")

    assert ran.status == 0
    assert json.loads(ran.out)["ok"] is True
    assert b"tree_skipped" in ran.out


def test_a_bundle_with_code_brings_the_files_of_a_step_elsewhere(
    work: Work, tmp_path: Path, fork_server: ForkServer
) -> None:
    write(work.root, "a.py", "a = 'edited'\n")
    write(work.root, "new.bin", b"\0\1\xff")
    started = work.start()
    session = started["session"]["sessionId"]
    bundle = str(tmp_path / "work.json")
    work.tool.data("session", "export", session, "--with-code", "--out", bundle)
    (tmp_path / "other").mkdir()
    other = ForkedTool(str(tmp_path / "other"), fork_server)
    shutil.copytree(work.root, Path(other.project), dirs_exist_ok=True)
    run_git(Path(other.project), "checkout", "-q", "--", ".")
    (Path(other.project) / "new.bin").unlink()
    shown = other.data("session", "import", bundle, "--dry-run")
    other.data("session", "import", bundle, "--confirm", shown["confirm_token"])

    node = work.events(started, "tree_recorded")[0]["data"]["nodeId"]
    shown = other.data("code", "restore", node, "--dry-run")
    other.data("code", "restore", node, "--confirm", shown["confirm_token"])

    assert json.loads(Path(bundle).read_text(encoding="utf-8"))["bundleSchemaVersion"] == 2
    assert (Path(other.project) / "a.py").read_bytes() == b"a = 'edited'\n"
    assert (Path(other.project) / "new.bin").read_bytes() == b"\0\1\xff"
    assert other.data("store", "verify")["problem_count"] == 0


def test_a_session_without_its_code_imports_verifies_and_goes_on(
    work: Work, tmp_path: Path, fork_server: ForkServer
) -> None:
    write(work.root, "a.py", "secret = 'unpublished'\n")
    started = work.start()
    bundle = str(tmp_path / "work.json")
    work.tool.data("session", "export", started["session"]["sessionId"], "--out", bundle)
    (tmp_path / "other").mkdir()
    other = ForkedTool(str(tmp_path / "other"), fork_server)
    shown = other.data("session", "import", bundle, "--dry-run")
    other.data("session", "import", bundle, "--confirm", shown["confirm_token"])

    found = other.data("session", "show", started["session"]["sessionId"])

    assert found["health"]["state"] == "healthy"
    assert other.data("store", "verify")["problem_count"] == 0
    assert "unpublished" not in Path(bundle).read_text(encoding="utf-8")
    assert json.loads(Path(bundle).read_text(encoding="utf-8"))["bundleSchemaVersion"] == 1
