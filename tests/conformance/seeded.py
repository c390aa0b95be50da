"""A home with work in it, made once and copied for every command; what words in capitals stand for."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.conformance.forked import ForkedTool, ForkServer
from tests.conftest import THREE_STEPS
from tests.engine.bundles.made import rich_bundle
from tests.hostile.repository.checkout import run_git
from tests.journeys.given_workflows import FAR_AWAY, HEAVY_CONTEXT, equals, step
from tests.worktree.project import commit

NOT_READABLE = "/proc/sys/vm/compact_memory"
"""Write-only even for root."""
READ_FAILS = "/proc/self/mem"
INPUT_LIMIT_BYTES = 1_048_576
LARGE_BYTES = 300_000
"""More than a context may have, less than an input may."""


_MANY_VALUES: dict[str, Any] = {
    "id": "project.many_values",
    "name": "Many values",
    "description": "More values than a simulation tries.",
    "inputs": {"number": {}},
    "steps": [step("one", when=equals("number", 0) | {"op": "in", "value": list(range(8_000))})],
}
MANY_VALUES = json.dumps(_MANY_VALUES).encode()


_RENAME: dict[str, Any] = {
    "id": "project.rename",
    "name": "Rename",
    "description": "Previews a rename, and writes it.",
    "steps": [
        {
            "type": "action",
            "id": "preview",
            "title": "Preview the rename",
            "operation": "code.edit",
            "params": {"file": "src/app.js", "rename": "greet", "to": "welcome"},
            "saveAs": "shown",
        },
        {
            "type": "action",
            "id": "write",
            "title": "Apply the rename",
            "operation": "code.edit",
            "params": {"continuation": "{{shown.plan}}", "fix": True},
            "saveAs": "applied",
        },
    ],
}


GAPS = [
    {"kind": "wr.gap", "severity": "critical", "summary": "Nobody may read the production log."},
    {"kind": "wr.gap", "severity": "critical", "summary": "The vendor has not answered."},
    {"kind": "wr.gap", "severity": "warning", "summary": "The staging database was not reachable."},
    {"kind": "wr.gap", "severity": "info", "summary": "The old tests were left alone."},
]

SOURCE = b"""\
/** Greets somebody. */
export function greet(name) {
  return polish(name);
}

function polish(name) {
  return name.trim();
}
"""


HANDED_OUT = {
    "id": "project.handed",
    "name": "Handed out",
    "description": "One child with two steps.",
    "steps": [
        {
            "id": "review",
            "title": "Review",
            "delegate": {
                "children": [
                    {
                        "id": "a",
                        "steps": [
                            step("look", prompt="Look."),
                            step("sum", title="Sum up", prompt="Sum up."),
                        ],
                    }
                ]
            },
        }
    ],
}


class Seeded:
    """The template: two sessions, workflow files good and broken, a bundle, documents to judge."""

    def __init__(self, folder: Path, server: ForkServer, team_store: Callable[[], str] = str) -> None:
        self.team_store = team_store
        """Makes a database with a team in it, and returns its address."""
        self.folder = folder / "template"
        self.folder.mkdir()
        self._server = server
        self.names: dict[str, str] = {"CONFIRM_TOKEN": "ct_fabricated_0000"}
        tool = self._tool(self.folder)
        self.names["SEED_PROJECT"] = tool.project
        self._files(Path(tool.project))
        Path(tool.home).mkdir(mode=0o700)
        settings = Path(tool.home, "config.json")
        settings.write_text('{"startSession": true, "code": {"snapshots": "always"}}', encoding="utf-8")
        for name, size in (("LARGE_FILE", LARGE_BYTES), ("BIG_FILE", INPUT_LIMIT_BYTES)):
            self.names[name] = str(folder / name)
            Path(self.names[name]).write_bytes(b'{"a":"' + b"x" * size + b'"}')
        self.names["FAR_FILE"] = str(folder / "FAR_FILE")
        Path(self.names["FAR_FILE"]).write_text(json.dumps(HEAVY_CONTEXT), encoding="utf-8")
        self._sessions(tool)
        settings.write_text('{"startSession": true}', encoding="utf-8")
        self._documents(tool)

    def copy(self, folder: Path, project: str = "") -> ForkedTool:
        """A tool on a copy that nobody else uses; `project`: a folder beside that of its files."""
        target = folder / "copy"
        shutil.copytree(self.folder, target)
        tool = self._tool(target)
        if project:
            tool.environment["HANDRAIL_PROJECT"] = str(target / project)
        return tool

    def _tool(self, folder: Path) -> ForkedTool:
        tool = ForkedTool(str(folder), self._server)
        tool.environment["HANDRAIL_PROJECT"] = tool.project
        return tool

    def _files(self, project: Path) -> None:
        workflows = project / ".handrail" / "workflows"
        workflows.mkdir(parents=True)
        (workflows / "three_steps.json").write_bytes(THREE_STEPS)
        broken = THREE_STEPS.replace(b"three_steps", b"broken").replace(b'"title"', b'"titel"')
        (workflows / "broken.json").write_bytes(broken)
        (workflows / "far.json").write_text(json.dumps(FAR_AWAY), encoding="utf-8")
        (workflows / "handed.json").write_text(json.dumps(HANDED_OUT), encoding="utf-8")
        checks = {"checks": {"tests": {"command": ["true"], "description": "Nothing yet."}}}
        (project / ".handrail" / "config.json").write_text(json.dumps(checks), encoding="utf-8")
        (project / "many_values.json").write_bytes(MANY_VALUES)
        (project / "my_check.json").write_bytes(THREE_STEPS)
        (project / "broken.json").write_bytes(broken)
        (project / "my_new.json").write_bytes(THREE_STEPS.replace(b"project.three", b"project.new_three"))
        (project / "my-refactor.json").write_bytes(THREE_STEPS.replace(b"project.three", b"project.my_three"))
        (project / "rename.json").write_text(json.dumps(_RENAME), encoding="utf-8")
        (project / "reserved.json").write_bytes(THREE_STEPS.replace(b"project.three", b"wr.three"))
        (project / "text.json").write_bytes(b"not JSON")
        (project / "notes.md").write_bytes(b"Looked at every file.")
        (project / "bundle.json").write_text(json.dumps(rich_bundle()), encoding="utf-8")
        (project / "scratch").mkdir()
        (project / "src").mkdir()
        (project / "src" / "app.js").write_bytes(SOURCE)
        (project / "src" / "main.js").write_bytes(b"import { greet } from './app.js';\n\ngreet('you');\n")
        (project / "src" / "player.js").write_bytes(
            b"class Player {\n  begin() {}\n}\n\na.begin();\nb.begin();\n"
        )
        (project / "greet.txt").write_bytes(b"export function greet(name) {\n  return name;\n}\n")
        (project / "changes.json").write_bytes(b'[{"rename": "greet", "to": "welcome"}]')
        repository = project.parent / "repository"
        repository.mkdir()
        run_git(repository, "init", "-q", "--template=", ".")
        (repository / "README").write_bytes(b"A commit to make a receipt about.\n")
        commit(repository)

    def _wait(self, tool: ForkedTool) -> str:
        """An ack that was offered when a child was done, before the child went back to its first step."""
        started = ("run", "start", "project.handed", "--request-id", "handed")
        waiting = tool.data(*started)
        self.names["WORK_TOKEN"] = waiting["children"][0]["workToken"]
        first = tool.data("run", "continue", "--state", self.names["WORK_TOKEN"])
        second = tool.data("run", "continue", "--ack", first["ackToken"], "--notes", "Looked.")
        tool.data("run", "continue", "--ack", second["ackToken"], "--notes", "Summed up.")
        met = tool.data("run", "continue", "--state", waiting["stateToken"])
        back = tool.data("run", "continue", "--state", first["stateToken"])
        tool.data("run", "continue", "--ack", back["ackToken"], "--notes", "Looked again.")
        ack: str = met["ackToken"]
        return ack

    def _sessions(self, tool: ForkedTool) -> None:
        first = tool.data("run", "start", "project.three_steps", "--request-id", "first", "--goal", "Höhe")
        other = tool.data("run", "start", "wr.small_change", "--request-id", "other")
        far = tool.data("run", "start", "project.far", "--request-id", "far")
        report = ("--notes", "The first is done.", "--artifacts", json.dumps(GAPS))
        second = tool.data("run", "continue", "--ack", first["ackToken"], *report)
        self.names |= {
            "OLD_ACK": first["ackToken"],
            "FAR_ACK": far["ackToken"],
            "OLD_CHECKPOINT": first["checkpointToken"],
            "ACK_TOKEN": second["ackToken"],
            "STATE_TOKEN": second["stateToken"],
            "CHECKPOINT_TOKEN": second["checkpointToken"],
            "SESSION_ID": first["session"]["sessionId"],
            "OTHER_ID": other["session"]["sessionId"],
            "RUN_ID": first["session"]["runId"],
        }
        self._finish_with_a_gap(tool)
        self.names["WAITING_ACK"] = self._wait(tool)
        (gap, *_) = tool.data("session", "inbox", "--gaps")["items"]
        self.names["GAP_ID"] = gap["id"]
        trees = tool.data("code", "status", "--session", self.names["SESSION_ID"])["trees"]
        self.names |= {"NODE_ID": trees[0]["node_id"], "OTHER_NODE_ID": trees[-1]["node_id"]}

    def _finish_with_a_gap(self, tool: ForkedTool) -> None:
        """A second item of the inbox: the gaps of one run are one item."""
        reply = tool.data("run", "start", "project.three_steps", "--request-id", "vendor")
        artifacts: tuple[str, ...] = ("--artifacts", json.dumps(GAPS[1:2]))
        while not reply["isComplete"]:
            reply = tool.data("run", "continue", "--ack", reply["ackToken"], "--notes", "Done.", *artifacts)
            artifacts = ()

    def _documents(self, tool: ForkedTool) -> None:
        project = Path(tool.project)
        good = tool.run("workflow", "list", "--envelope", "lafs", "--compact").out
        (project / "answer.json").write_bytes(good)
        (project / "bad.json").write_bytes(good.replace(b'"success":true', b'"success":"yes"'))
        exported = tool.run("session", "export", self.names["SESSION_ID"], "--format", "raw")
        (project / "work.handrail.json").write_bytes(exported.out)
        there = ("--project", "../repository")
        begun = tool.data("run", "start", "wr.small_change", "--request-id", "receipt", *there)
        about = ("--session", begun["session"]["sessionId"], *there)
        (project / "receipt.json").write_bytes(tool.run("receipt", "export", *about, "--format", "raw").out)
        self._delete(tool, begun["session"]["sessionId"])
        self.names["RECEIPT_KEY"] = tool.data("receipt", "key")["public"]

    def _delete(self, tool: ForkedTool, session_id: str) -> None:
        """Its receipt stays; a call that names no session finds none in that repository."""
        line = ("session", "delete", "--ids", session_id, "--dangerous")
        shown = tool.data(*line, "--dry-run")
        tool.data(*line, "--confirm", shown["confirm_token"])


def spelt(line: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """The line with tokens and ids in place of the words in capitals."""
    found = []
    for word in line:
        for name in sorted(names, key=len, reverse=True):
            word = word.replace(name, names[name])
        found.append(word)
    return found


def state_of(tool: ForkedTool) -> dict[str, bytes]:
    """What a refused or previewed call must leave as it is: sessions, blobs, settings, project files."""
    found = {}
    for top in (tool.home, tool.project):
        for folder, _, names in os.walk(top):
            for name in names:
                path = os.path.join(folder, name)
                relative = os.path.relpath(path, os.path.dirname(top))
                if not relative.startswith(NOT_STATE):
                    with open(path, "rb") as file:
                        found[relative] = file.read()
    return found


NOT_STATE = tuple(
    f"home/{name}"
    for name in (
        *("audit", "cache", "confirm-consumed", "incidents", "data/keys", "data/cache", "trees", "trials"),
    )
)
