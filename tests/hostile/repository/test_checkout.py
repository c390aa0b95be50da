"""Every command, every hook and the server in a checkout that wants its own programs started: none is.

The checkout has everything of `hostile.py` in it, the repository that the user took workflows from as well.
Each command is a process of its own with relative places first on its PATH, as the user's shell might have.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.host.programs import own_command
from handrail.surfaces.cli.hook import EVENTS
from handrail.surfaces.cli.reading.command_table import COMMANDS
from tests.conformance.leaves import LEAVES
from tests.conformance.seeded import Seeded, spelt
from tests.hostile.doors import RENAME, SETTLE, TOOLS, arguments_of
from tests.hostile.repository.checkout import (
    FILTERS,
    RELATIVE,
    Trap,
    make_repository,
    plant_directory,
    plant_every_trick,
    run_git,
)
from tests.surfaces.mcp.conversations import lines, opening, request

pytestmark = pytest.mark.thorough

DEADLINE_SECONDS = 120
REFUSING = "http://127.0.0.1:9/simple"
"""An index where nobody listens."""
CHECKS = ",".join(
    next(param["choices"] for param in COMMANDS["doctor"]["params"] if param["name"] == "checks")
)
LINES: dict[str, tuple[str, ...]] = {
    "demo": ("demo",),
    "doctor": ("doctor", "--offline", "--checks", CHECKS),
    "run answer": ("run", "answer", "--session", "SESSION_ID"),
    "session resolve": SETTLE,
    "session rename": RENAME,
    "setup": ("setup",),
    "store selftest": ("store", "selftest", "--kills", "1", "--timeout", "2"),
}
"""Where the line of the leaf does not reach as far as the command can."""
USAGE = 2
NO_DATABASE = "postgresql://nobody@127.0.0.1:9/none"
"""The exit status of a line that was not understood, so did not do its work."""
SERVERS = ("hook", "mcp", "serve", "console")


class Checkout:
    """The hostile project, a home that knows it, and a shell whose PATH begins with it."""

    def __init__(self, folder: Path, seeded: Seeded) -> None:
        tool = seeded.copy(folder)
        self.names = {**seeded.names, "HOME": tool.home}
        self.project = Path(tool.project)
        self.trap = Trap(folder / "trap")
        flows = folder / "flows"
        flows.mkdir()
        (flows / "a.json").write_text("{}", encoding="utf-8")
        commit = make_repository(flows)
        plant_every_trick(flows, self.trap)
        make_repository(self.project)
        # With a filter nothing is asked of git at all, so the project does without.
        plant_every_trick(self.project, self.trap, but=FILTERS)
        plant_directory(self.project, self.trap)
        settings = {
            "startSession": True,
            "update": {"index": REFUSING},
            "workflowSources": [{"kind": "git", "path": str(flows), "ref": commit}],
        }
        Path(tool.home, "config.json").write_text(json.dumps(settings), encoding="utf-8")
        self.environment = {
            "PATH": RELATIVE + os.pathsep + os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "HANDRAIL_HOME": tool.home,
            "HANDRAIL_PROJECT": str(self.project),
        }
        self.run(*self.line("run continue"))  # to the step that a person confirms
        receipt = self.run("receipt", "export", "--session", self.names["SESSION_ID"], "--format", "raw")
        (self.project / "of_this_checkout.json").write_bytes(receipt.stdout)

    def run(self, *arguments: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*own_command(), *arguments],
            input=given,
            capture_output=True,
            cwd=self.project,
            env=self.environment,
            timeout=DEADLINE_SECONDS,
            check=False,
            start_new_session=True,  # without a terminal nobody is asked
        )

    def line(self, path: str) -> list[str]:
        leaf = LEAVES.get(path)
        line = LINES.get(path) or (leaf.line if leaf is not None else tuple(path.split()))
        more = () if leaf is None else (*leaf.key, *leaf.dangerous)
        gate = ("--dry-run",) if COMMANDS[path]["effect"] in ("gated", "dangerous") else ()
        return spelt((*line, *more, *gate), self.names)


@pytest.fixture(scope="module")
def checkout(seeded: Seeded, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    return Checkout(tmp_path_factory.mktemp("hostile"), seeded)


@pytest.fixture(scope="module")
def hooked(seeded: Seeded, tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with one run: beside the runs that commands start, a hook would say that it does nothing."""
    return Checkout(tmp_path_factory.mktemp("hooked"), seeded)


def test_the_checkout_catches_whoever_is_careless(checkout: Checkout) -> None:
    def carelessly(*command: str) -> list[str]:
        subprocess.run(command, cwd=checkout.project, env=checkout.environment, check=False)
        return checkout.trap.started()

    by_import = carelessly(sys.executable, "-m", "handrail.main", "--version")
    by_path = carelessly("/bin/sh", "-c", "git status")
    run_git(checkout.project, "status")
    by_configuration = checkout.trap.started()

    assert all((by_import, by_path, by_configuration)), (by_import, by_path, by_configuration)


@pytest.mark.parametrize("path", [path for path in COMMANDS if path not in SERVERS])
def test_no_command_starts_anything_of_the_checkout(checkout: Checkout, path: str) -> None:
    line = list(checkout.line(path))
    if "--store" in line:
        line[line.index("--store") + 1] = NO_DATABASE
    if path == "store move":
        line += ["--to", "elsewhere"]
    if path == "login":
        line.append("http://127.0.0.1:9")
    ran = checkout.run(*line)

    assert checkout.trap.started() == []
    assert ran.stdout, ran.stderr
    assert ran.returncode != USAGE, ran.stdout


@pytest.mark.parametrize(
    ("event", "inside"),
    [*((event, "") for event in EVENTS), ("PreCompact", "bare"), ("PreCompact", "nested")],
)
def test_no_hook_starts_anything_of_the_checkout(hooked: Checkout, event: str, inside: str) -> None:
    message = {"cwd": str(hooked.project / inside), "hook_event_name": event, "trigger": "auto"}

    ran = hooked.run("hook", event, given=json.dumps(message).encode())

    assert hooked.trap.started() == []
    assert (ran.returncode, ran.stderr) == (0, b"")


ADDRESSES = (
    "/api/self.context",
    "/api/self.doctor",
    "/api/workflow.list",
    "/api/code.scan?search=greet",
    "/api/code.status?session=SESSION_ID",
    "/api/session.resume",
    "/api/view/sessions/SESSION_ID",
    "/api/view/workflows",
)
STARTED = {"workflowId": "project.three_steps", "goal": "Look.", "requestId": "checkout"}


def test_console_server_starts_nothing_of_the_checkout(checkout: Checkout) -> None:
    """Where it looks at the project and its repository, and where a run begins in it."""
    with subprocess.Popen(
        [*own_command(), "serve", "--port", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=checkout.project,
        env=checkout.environment,
    ) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().decode().strip()
            statuses = [ask_server(checkout, address, target) for target in spelt(ADDRESSES, checkout.names)]
            statuses.append(ask_server(checkout, address, "/api/run.start", STARTED))
        finally:
            server.terminate()
            server.wait(DEADLINE_SECONDS)

    assert address.startswith("http://127.0.0.1:")
    assert set(statuses) == {200}
    assert checkout.trap.started() == []


def ask_server(checkout: Checkout, address: str, target: str, body: object = None) -> int:
    state = json.loads(Path(checkout.environment["HANDRAIL_HOME"], "run", "server.json").read_bytes())
    headers = {"Authorization": f"Bearer {state['token']}", "Content-Type": "application/json"}
    content = None if body is None else json.dumps(body)
    line = http.client.HTTPConnection(address.split("/")[2], timeout=DEADLINE_SECONDS)
    try:
        line.request("GET" if body is None else "POST", target, content, headers)
        return line.getresponse().status
    finally:
        line.close()


def test_the_server_starts_nothing_of_the_checkout(checkout: Checkout) -> None:
    calls = [
        request(number, "tools/call", {"name": tool, "arguments": given})
        for number, tool in enumerate(TOOLS, 2)
        for given in [arguments_of(tool, str(checkout.project), checkout.names)]
    ]

    ran = checkout.run("mcp", given=lines(*opening(), request(1, "tools/list"), *calls))

    assert checkout.trap.started() == []
    answers = {answer["id"]: answer["result"] for answer in map(json.loads, ran.stdout.splitlines())}
    assert sorted(answers) == list(range(len(TOOLS) + 2))
    assert [tool["name"] for tool in answers[1]["tools"]] == list(TOOLS)
