"""The steps of `action.yml` as GitHub runs them, with its environment files and a stand-in for its API."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.hostile.repository.checkout import run_git
from tests.worktree.project import commit, write

pytestmark = pytest.mark.thorough

ROOT = Path(__file__).resolve().parents[2]
TEST = f"{shlex.quote(sys.executable)} -m unittest"
_OLD = "def add(a, b):\n    return a - b\n"
_NEW = "def add(a, b):\n    return a + b\n"
_CASE = "import unittest, calc\nclass A(unittest.TestCase):\n    def test_{0}(self): {1}\n"


class Api:
    """The comments of one pull request."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.refuses_writing = False
        self.calls: list[str] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                api.calls.append(f"{self.command} {self.path.partition('?')[0]}")
                size = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(size) or b"null")
                is_known = self.headers["Authorization"] == "Bearer the-token"
                status = 200 if is_known and not (body and api.refuses_writing) else 403
                if body and status == 200:
                    api.write(self.path, body["body"])
                content = json.dumps(api.comments).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PATCH = _answer

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def write(self, path: str, body: str) -> None:
        number = int(path.rpartition("/")[2]) if "/issues/comments/" in path else 0
        known = [one for one in self.comments if one["id"] == number]
        if known:
            known[0]["body"] = body
        else:
            self.comments.append({"id": 100 + len(self.comments), "user": {"type": "Bot"}, "body": body})


@pytest.fixture
def api() -> Iterator[Api]:
    api = Api()
    yield api
    api.server.shutdown()
    api.server.server_close()


class Runner:
    """Runs the steps of the action in a folder, as the documentation of GitHub says."""

    def __init__(self, tmp_path: Path, api: Api) -> None:
        self.workspace = tmp_path / "workspace"
        self.api = api
        self.files = tmp_path / "runner"
        self.files.mkdir()
        self.pull_request: dict[str, Any] = {}

    def commit(self, files: dict[str, str]) -> str:
        if not self.workspace.exists():
            self.workspace.mkdir()
            run_git(self.workspace, "init", "-q", "-b", "main", ".")
            write(self.workspace, ".gitignore", "__pycache__\n")
        for path, content in files.items():
            write(self.workspace, path, content)
        return commit(self.workspace)

    def run(self, **inputs: str) -> int:
        """Run each step; the exit status of the one that failed, or 0."""
        action = YAML(typ="safe").load(ROOT / "action.yml")
        given = {name: str(one.get("default", "")) for name, one in action["inputs"].items()} | inputs
        given["token"] = "the-token" if "github.token" in given["token"] else given["token"]
        outputs = {"install": {"python": sys.executable}}
        for step in action["runs"]["steps"]:
            if (
                step["id"] == "install"
            ):  # it needs the network; `test_action_installs_its_own_checkout` has it
                continue
            status = self._run_step(step, given, outputs)
            if status:
                return status
        return 0

    def _run_step(self, step: dict[str, Any], given: dict[str, str], outputs: dict[str, Any]) -> int:
        def fill(found: re.Match[str]) -> str:
            words = found[1].split(".")
            return given[words[1]] if words[0] == "inputs" else str(outputs[words[1]][words[3]])

        own = {name: re.sub(r"\$\{\{ (.*?) \}\}", fill, text) for name, text in step.get("env", {}).items()}
        event = self.files / "event.json"
        event.write_text(
            json.dumps({"pull_request": self.pull_request} if self.pull_request else {}), encoding="utf-8"
        )
        for name in ("output", "summary"):
            (self.files / name).write_text("", encoding="utf-8")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.files),
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_API_URL": f"http://127.0.0.1:{self.api.server.server_port}",
                "GITHUB_EVENT_PATH": str(event),
                "GITHUB_OUTPUT": str(self.files / "output"),
                "GITHUB_REPOSITORY": "owner/project",
                "GITHUB_STEP_SUMMARY": str(self.files / "summary"),
                "GITHUB_WORKSPACE": str(self.workspace),
                "RUNNER_TEMP": str(self.files),
                **own,
            },
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        self.log = done.stdout + done.stderr
        return done.returncode

    @property
    def summary(self) -> str:
        return (self.files / "summary").read_text(encoding="utf-8")

    @property
    def output(self) -> str:
        return (self.files / "output").read_text(encoding="utf-8")


@pytest.fixture
def runner(tmp_path: Path, api: Api) -> Runner:
    return Runner(tmp_path, api)


def _make_fix(runner: Runner) -> None:
    base = runner.commit({"calc.py": _OLD, "test_calc.py": _CASE.format("none", "pass")})
    head = runner.commit({"calc.py": _NEW, "test_more.py": _CASE.format("add", "assert calc.add(1, 2) == 3")})
    runner.pull_request = {"number": 7, "base": {"sha": base}, "head": {"sha": head}}


def test_fix_is_proved_in_summary_comment_and_output(runner: Runner, api: Api) -> None:
    _make_fix(runner)

    status = runner.run(command=TEST)

    assert status == 0, runner.log
    assert runner.summary.startswith("**PROVED**")
    assert runner.output == "word=proved\n"
    assert [one["body"] for one in api.comments] == [f"<!-- handrail prove -->\n{runner.summary[:-1]}"]
    assert api.calls == [
        "GET /repos/owner/project/issues/7/comments",
        "POST /repos/owner/project/issues/7/comments",
    ]
    assert run_git(runner.workspace, "status", "--porcelain") == b""


def test_second_push_renews_the_comment(runner: Runner, api: Api) -> None:
    _make_fix(runner)
    api.comments = [
        {"id": 1, "user": {"type": "User"}, "body": "<!-- handrail prove -->\na person"},
        {"id": 2, "user": {"type": "Bot"}, "body": "<!-- handrail prove -->\nold"},
    ]

    assert runner.run(command=TEST) == 0
    assert [one["body"].splitlines()[1][:10] for one in api.comments] == ["a person", "**PROVED**"]


def test_failing_check_fails_the_job(runner: Runner, api: Api) -> None:
    base = runner.commit({"calc.py": _NEW, "test_calc.py": _CASE.format("add", "assert calc.add(1, 2) == 3")})
    head = runner.commit({"calc.py": _OLD})
    runner.pull_request = {"number": 7, "base": {"sha": base}, "head": {"sha": head}}

    status = runner.run(command=TEST)

    assert status == 1
    assert runner.output == "word=fails\n"
    assert "**FAILS**" in api.comments[0]["body"]
    assert run_git(runner.workspace, "status", "--porcelain") == b""


def test_token_that_cannot_write_leaves_the_summary(runner: Runner, api: Api) -> None:
    _make_fix(runner)
    api.refuses_writing = True

    assert runner.run(command=TEST) == 0
    assert api.comments == []
    assert "::notice::No comment was written: GitHub answered 403." in runner.log
    assert runner.summary.startswith("**PROVED**")


def test_uncommitted_files_do_not_fail_the_job(runner: Runner) -> None:
    _make_fix(runner)
    write(runner.workspace, "left.txt", "by an earlier step")

    assert runner.run(command=TEST, comment="false") == 0
    assert runner.output == "word=not_tried\n"
    assert "uncommitted changes" in runner.summary


def test_push_compares_with_the_merge_commit_of_github(runner: Runner, api: Api) -> None:
    """Of a merge commit that GitHub made, the first parent is the start, whatever the event says."""
    runner.commit({"calc.py": _OLD, "test_calc.py": _CASE.format("none", "pass")})
    run_git(runner.workspace, "checkout", "-q", "-b", "topic")
    head = runner.commit({"calc.py": _NEW, "test_more.py": _CASE.format("add", "assert calc.add(1, 2) == 3")})
    run_git(runner.workspace, "checkout", "-q", "main")
    runner.commit({"other.py": "x = 1\n"})
    run_git(runner.workspace, "merge", "-q", "--no-edit", "topic")
    runner.pull_request = {"number": 7, "base": {"sha": "0" * 40}, "head": {"sha": head}}

    assert runner.run(command=TEST) == 0, runner.log
    assert runner.output == "word=proved\n"


def _read_blocks(language: str) -> list[str]:
    text = (ROOT / "docs/how-to/prove-in-ci.md").read_text(encoding="utf-8")
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", text)


def test_page_shows_a_workflow_that_the_action_takes() -> None:
    action = YAML(typ="safe").load(ROOT / "action.yml")
    github, gitlab = (YAML(typ="safe").load(block) for block in _read_blocks("yaml"))
    steps = github["jobs"]["prove"]["steps"]
    table = re.findall(
        r"(?m)^\| `(\w+)` \|", (ROOT / "docs/how-to/prove-in-ci.md").read_text(encoding="utf-8")
    )

    assert set(steps[-1]["with"]) <= set(action["inputs"])
    assert set(table) == set(action["inputs"])
    assert github["permissions"]["pull-requests"] == "write"
    assert gitlab["prove"]["script"][-1].startswith("/opt/handrail/bin/handrail prove --in-place --base ")


def test_action_installs_its_own_checkout(tmp_path: Path) -> None:
    """With a stand-in for Python that notes what it is called with."""
    stand_in = tmp_path / "bin" / "python3"
    stand_in.parent.mkdir()
    stand_in.write_text(
        "#!/bin/sh\n"
        f'echo "$@" >> {tmp_path}/calls\n'
        'if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi\n',
        encoding="utf-8",
    )
    stand_in.chmod(0o755)
    environment = {
        "PATH": f"{stand_in.parent}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "RUNNER_TEMP": str(tmp_path),
    }
    action = YAML(typ="safe").load(ROOT / "action.yml")
    install = next(step for step in action["runs"]["steps"] if step["id"] == "install")

    subprocess.run(["bash", "-eo", "pipefail", "-c", install["run"]], env=environment, check=True)

    calls = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert calls[1:] == [f"-m venv {tmp_path}/handrail-prove", f"-m pip install --quiet {ROOT}"]
    assert (tmp_path / "output").read_text(
        encoding="utf-8"
    ) == f"python={tmp_path}/handrail-prove/bin/python\n"
