"""A server on stdin and stdout in a git repository: the files of its steps, as `code` shows them."""

from __future__ import annotations

import json
import select
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.forked import ForkServer
from tests.conftest import THREE_STEPS
from tests.journeys.test_code_of_nodes import Work
from tests.surfaces.cli.test_signals_while_waiting import wait_until
from tests.surfaces.mcp.conversations import opening, request, tool
from tests.worktree.project import picture, write

SECONDS = 60

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Server:
    """A process that serves one client, which waits for each answer."""

    def __init__(self, work: Work) -> None:
        self._process = subprocess.Popen(
            [*work.tool.command, "mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=work.root,
            env=work.tool.environment,
        )
        self._number = 0
        hello, ready = opening()
        self._send(hello)
        self._hear()
        self._send(ready)

    def call(self, name: str, **arguments: Any) -> Any:
        self._number += 1
        self._send(request(self._number, "tools/call", tool(name, **arguments)))
        return self._hear()["result"]["structuredContent"]

    def end(self) -> int:
        """Close its input, as a client does that leaves; the exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        return self._process.wait(SECONDS)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _hear(self) -> Any:
        assert self._process.stdout is not None
        assert select.select([self._process.stdout], [], [], SECONDS)[0], "the server says nothing"
        return json.loads(self._process.stdout.readline())


@contextmanager
def served(work: Work) -> Iterator[Server]:
    server = Server(work)
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture
def work(tmp_path: Path, fork_server: ForkServer) -> Work:
    prepared = Work(tmp_path, fork_server)
    write(prepared.root, ".handrail/workflows/three_steps.json", THREE_STEPS)
    return prepared


@pytest.mark.thorough
def test_files_of_every_step_outlive_a_client_that_leaves(work: Work) -> None:
    repository = picture(work.root / ".git")
    with served(work) as server:
        started = server.call("start_workflow", workflowId="project.three_steps")
        wait_until(lambda: len(work.events(started, "tree_recorded")) == 1)
        write(work.root, "a.py", "a = 2\n")
        output = {"notesMarkdown": "Done."}
        server.call("continue_workflow", ackToken=started["ackToken"], output=output)
        assert server.end() == 0

    first, second = [one["data"]["nodeId"] for one in work.events(started, "tree_recorded")]
    shown = work.tool.data("code", "diff", first, second)

    assert [(file["path"], file["added"], file["removed"]) for file in shown["files"]] == [("a.py", 1, 1)]
    assert "-a = 1\n+a = 2\n" in shown["diff"]
    assert picture(work.root / ".git") == repository


@pytest.mark.thorough
def test_older_step_read_again_names_its_files(work: Work) -> None:
    with served(work) as server:
        started = server.call("start_workflow", workflowId="project.three_steps")
        output = {"notesMarkdown": "Done."}
        second = server.call("continue_workflow", ackToken=started["ackToken"], output=output)
        assert server.end() == 0
    write(work.root, "a.py", "a = 2\n")

    with served(work) as server:
        older = server.call("continue_workflow", stateToken=started["stateToken"])
        newest = server.call("continue_workflow", stateToken=second["stateToken"])

    told = [one["message"] for one in older["warnings"] if one["code"] == "FILES_DIFFER"]
    node = work.events(started, "tree_recorded")[0]["data"]["nodeId"]
    assert told == [
        "1 file of the project differs from what this step saw. "
        f"To bring them back: handrail code restore {node} --dry-run"
    ]
    assert [one for one in newest.get("warnings", []) if one["code"] == "FILES_DIFFER"] == []


@pytest.mark.thorough
def test_kill_between_reply_and_tree_loses_no_step(work: Work, tmp_path: Path) -> None:
    """Git hangs when the tree of the step is taken, and the server is killed then."""
    waits = hang_git(work, tmp_path)
    with served(work) as server:
        started = server.call("start_workflow", workflowId="project.three_steps")
        step = {"ackToken": started["ackToken"], "output": {"notesMarkdown": "Done before the kill."}}
        waits.touch()
        write(work.root, "a.py", "a = 2\n")
        told = server.call("continue_workflow", **step)
        wait_until(lambda: waits.read_text(encoding="utf-8") != "")
        server.kill()
    waits.unlink()
    trees = len(work.events(started, "tree_recorded"))

    with served(work) as server:
        again = server.call("continue_workflow", **step)
        server.call("continue_workflow", ackToken=told["ackToken"], output=step["output"])
        assert server.end() == 0

    assert again == told
    assert len(work.events(started, "advance_recorded")) == 2
    assert (trees, len(work.events(started, "tree_recorded"))) == (1, 2)
    assert work.tool.data("store", "verify")["problems"] == []


def hang_git(work: Work, place: Path) -> Path:
    """While this file exists, git notes in it that it was started, and does nothing."""
    folder, waits = place / "programs", place / "waits"
    folder.mkdir()
    hangs = f"[ -e {waits} ] && echo started >> {waits} && exec sleep {SECONDS}"
    write(folder, "git", f'#!/bin/sh\n{hangs}\nexec {shutil.which("git")} "$@"\n').chmod(0o755)
    work.tool.environment["PATH"] = f"{folder}:{work.tool.environment['PATH']}"
    return waits
