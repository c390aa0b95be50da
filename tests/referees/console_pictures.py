"""Pictures of the Console for the pages: `python -m tests.referees.console_pictures [FOLDER]`.

A store with agents in every state and one proven run is made by calls, as agents and people make them, and
Chromium takes a picture of each page. Look at the pictures before you keep them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

import msgspec

from handrail.host.process import SystemClock
from handrail.operations.kept_trees import take_due_tree
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.journeys.conversation import answer, rehydrate
from tests.journeys.proved_projects import FIXED, NEW_TEST, Proved
from tests.journeys.test_confirmations import at_console
from tests.referees.console_place import Server
from tests.referees.supervised_store import Supervised

PICTURES = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "pictures")
HEIGHT = 860
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--virtual-time-budget=8000")
_WHO: dict[str, Any] = {
    "type": "choice",
    "id": "who",
    "title": "Who gets it first",
    "prompt": "The correction is ready. Who gets it first?",
    "nonAssumable": "scope_boundary",
    "options": [
        {"id": "trial", "label": "trial customers", "set": {"who": "trial"}},
        {"id": "all", "label": "everybody", "set": {"who": "all"}},
    ],
}
WORKFLOW: dict[str, Any] = {
    "id": "project.fix",
    "name": "Fix a defect",
    "description": "Find the cause, correct it, prove it, and let a person decide who gets it.",
    "inputs": {"who": {"type": "string"}},
    "steps": [
        {"id": "cause", "title": "Find the cause", "prompt": "Say what is wrong and where."},
        {"id": "fix", "title": "Correct it", "prompt": "Make the smallest change.", "proof": "proved"},
        _WHO,
        {"id": "tell", "title": "Tell who waited", "prompt": "Write one paragraph."},
    ],
}


class _Clock(SystemClock):
    """The system's clock, some time ago; the time is moved by the story."""

    def __init__(self, seconds_ago: int) -> None:
        self.seconds_ago = seconds_ago

    def now(self) -> str:
        return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(self.unix_seconds()))

    def unix_seconds(self) -> int:
        return super().unix_seconds() - self.seconds_ago


def main(arguments: list[str]) -> int:
    """Make the store, serve it, and take the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        print("There is no chromium on PATH.", file=sys.stderr)
        return 2
    folder = Path(arguments[0] if arguments else PICTURES)
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        Supervised(home)
        session = tell_story(Path(scratch))
        settings = json.loads((home / "config.json").read_text(encoding="utf-8"))
        settings["roots"] = [str(Path(scratch, "project"))]
        (home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        server = Server(home)
        try:
            for name, path in list_pages(server, session).items():
                take(chromium, server, path, folder / f"console-{name}.png")
        finally:
            server.stop()
    return 0


def tell_story(scratch: Path) -> str:
    """A defect that is found, tried twice, proven, and given to whom a person says; its session."""
    project = Proved(scratch)
    (project.root / ".handrail" / "workflows").mkdir(parents=True)
    project.change({".handrail/workflows/fix.json": json.dumps(WORKFLOW)})
    project.declare()
    clock = _Clock(5_400)
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    variables = {"PATH": path, "HOME": str(project.home), "HANDRAIL_PROJECT": str(project.root)}
    made = build_runtime(variables, home=str(project.home))
    runtime = msgspec.structs.replace(
        made, trees_due=[], clock=clock, client="Claude Code", incidents=KeptIncidents()
    )
    goal = "Invoices show one cent more than was paid"
    first = answer(runtime, "run.start", workflowId="project.fix", goal=goal, requestId="picture")
    session: str = first["session"]["sessionId"]
    clock.seconds_ago -= 1_100
    found = "`round()` runs on each line and on the sum, so half a cent is counted twice."
    reply = _report(runtime, first["ackToken"], found)
    clock.seconds_ago -= 900
    _report(runtime, reply["ackToken"], "Rounds each line once more; the sum is still wrong.")
    fork = rehydrate(runtime, reply)
    clock.seconds_ago -= 500
    project.change({"bills.py": FIXED, "test_bills.py": NEW_TEST})
    blocked = _report(runtime, fork["ackToken"], "Adds first and rounds once, as the bank does.")
    answer(runtime, "check.prove")
    clock.seconds_ago -= 200
    reply = _report(runtime, blocked["retryAckToken"], "Adds first and rounds once, as the bank does.")
    clock.seconds_ago -= 600
    question = answer(at_console(runtime), "run.answer", session=session, show=True)
    given = {"answer": "trial", "whatDigest": question["what_digest"], "basedOn": ""}
    answer(at_console(runtime), "run.answer", session=session, given=given, note="Month end is on Friday.")
    call = rehydrate(runtime, reply)["nextCall"]
    reply = answer(runtime, "run.continue", **call.get("options", [call])[0]["params"])
    clock.seconds_ago -= 120
    _report(runtime, reply["ackToken"], "Told the three customers who asked.")
    return session


def _report(runtime: Runtime, token: str, notes: str) -> dict[str, Any]:
    """A report of the agent; the files are kept after the reply, as a server does it."""
    reply = answer(runtime, "run.continue", ackToken=token, output={"notesMarkdown": notes})
    for due in runtime.trees_due or ():
        take_due_tree(runtime, due, 10.0)  # type: ignore[arg-type]
    if runtime.trees_due:
        runtime.trees_due.clear()
    return reply


def list_pages(server: Server, session: str) -> dict[str, str]:
    """The pages by the name of their picture."""
    request = urllib.request.Request(
        f"{server.address.rstrip('/')}/api/run.graph",
        data=json.dumps({"sessionId": session}).encode(),
        headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as answered:
        graph = json.load(answered)["data"]
    run = f"/sessions/{session}/runs/{graph['run_id']}"
    left = next(one["id"] for one in graph["nodes"] if one["is_tip"] and not one["is_on_path"])
    chosen = next(one["id"] for one in graph["nodes"] if one["answer"])
    return {
        "inbox": "/inbox",
        "sessions": "/sessions",
        "run": run,
        "node": f"{run}/nodes/{chosen}",
        "compare": f"/sessions/{session}/compare/{left}/{graph['preferred_tip']}",
    }


def take(chromium: str, server: Server, path: str, file: Path) -> None:
    """One picture, at the width of a laptop."""
    address = f"{server.address.rstrip('/')}{path}#token={server.console_token}"
    size = f"--window-size=1280,{HEIGHT}"
    subprocess.run([chromium, *FLAGS, size, f"--screenshot={file}", address], check=True, capture_output=True)
    print(file)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
