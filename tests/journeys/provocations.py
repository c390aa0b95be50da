"""Every code of the catalogue, provoked through a surface: code → what makes the product say it.

`LATER` names the codes that nothing can provoke yet, each with the reason. A new code needs a row in one of
the two tables.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from handrail.contract.ids import SessionId
from handrail.event_log.files.disk import Disk
from handrail.event_log.files.log import FileLog
from handrail.event_log.memory import MemoryLog
from handrail.ports.log import Appended, Blob, Conflict, Draft
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import THREE_STEPS, FixedClock, FixedKeys, GivenFiles, KeptIncidents, memory_runtime
from tests.engine.bundles.made import Change, rechained, rich_bundle, without_event
from tests.journeys.code_project import CodeProject
from tests.journeys.conversation import advance, answer, rehydrate, start
from tests.journeys.doors import tool_call
from tests.journeys.given_workflows import FAR_AWAY, HEAVY_CONTEXT, begin, step
from tests.surfaces.cli.here import run_here
from tests.surfaces.cli.test_signals_while_waiting import begun, ended, is_waiting, wait_until
from tests.surfaces.cli.tool import Tool
from tests.surfaces.http.client import BEARER, HOST, asked, make_app

APPLIED = "js-edit --file src/app.js --rename myFunc --to fetchData"


class Stage:
    """A runtime in memory, one on disk, and the command as a process, each made when it is needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runtime = memory_runtime()
        self.home = str(folder / "home")

    def mcp(self, tool: str, runtime: Runtime | None = None, **params: Any) -> str:
        """The code that an MCP tool answers; empty when it succeeds."""
        told = tool_call(runtime or self.runtime, tool, **params)
        return str(told.structured["code"]) if told.is_error else ""

    def cli(self, *arguments: str, runtime: Runtime | None = None, **environment: str) -> str:
        """The code that the command line answers, in this process."""
        return code_in(run_here(runtime or self.runtime, arguments, environment).out)

    def code(self, line: str, before: str = "", changed: str = "") -> str:
        """The code that a code tool answers, with the first token of the line before it, T."""
        project = CodeProject(self.folder)
        tokens = project.told(f"{before} --ai-mode")["continuation_tokens"] if before else {}
        if changed:
            (project.root / changed).write_text("changed();\n", encoding="utf-8")
        _, told = project.line(line, **({"T": next(iter(tokens.values()))} if before else {}))
        return str(told["code"])

    def disk(self) -> Runtime:
        workflows = self.folder / "project" / ".handrail" / "workflows"
        workflows.mkdir(parents=True, exist_ok=True)
        (workflows / "three_steps.json").write_bytes(THREE_STEPS)
        environment = {"HANDRAIL_PROJECT": str(self.folder / "project"), "USER": "tester"}
        return build_runtime(environment, home=self.home)

    def away(self) -> Runtime:
        """A runtime whose database cannot be reached."""
        runtime = build_runtime({"HANDRAIL_STORE": "postgresql://127.0.0.1:1/away"}, home=self.home)
        return msgspec.structs.replace(runtime, incidents=self.runtime.incidents)

    def on_refusing_disk(self, error: OSError) -> str:
        """What an advance says when the disk refuses to open any file for writing."""
        runtime = self.disk()
        first = start(runtime)

        class Refusing(Disk):
            def write(self, descriptor: int, content: bytes, offset: int) -> int:
                raise error

        log = FileLog(os.path.join(self.home, "data"), disk=Refusing())
        broken = msgspec.structs.replace(runtime, log=log)
        return self.mcp("continue_workflow", broken, ackToken=first["ackToken"])

    def stranger(self, change: Change) -> str:
        """What an import says to a bundle that somebody changed like this and sealed again."""
        return self.bundle_text(rechained(change))

    def bundle_text(self, text: str) -> str:
        path = self.folder / "bundle.json"
        path.write_text(text, encoding="utf-8")
        return self.cli("session", "import", str(path), "--dry-run")

    def session_file(self, session_id: str, name: str) -> Path:
        return Path(self.home) / "data" / "sessions" / session_id / name

    def over_http(self, method: str, *headers: tuple[str, str]) -> str:
        """What the HTTP server answers to a request with these headers."""
        answered = asyncio.run(asked(make_app(self.runtime), method, "/mcp", [BEARER, *headers]))
        return str(answered.document["code"])


def code_in(out: bytes) -> str:
    document = json.loads(out)
    if document["ok"]:
        return ""
    error = document["error"]
    return str(error["details"].get("domain_code", error["code"]))


def _scope(stage: Stage) -> str:
    first = start(stage.runtime)
    return stage.mcp("continue_workflow", ackToken=first["stateToken"])


def _step_waits(stage: Stage) -> str:
    handed = {"id": "a", "steps": [step("look"), step("sum")]}
    delegate = {"id": "review", "title": "Review", "delegate": {"children": [handed]}}
    waiting = begin(stage.runtime, delegate, fields={})
    first = answer(stage.runtime, "run.continue", stateToken=waiting["children"][0]["workToken"])
    advance(stage.runtime, advance(stage.runtime, first))
    met = rehydrate(stage.runtime, waiting)
    advance(stage.runtime, rehydrate(stage.runtime, first), notes="looked again")
    return stage.mcp("continue_workflow", ackToken=met["ackToken"])


def _cursor_expired(stage: Stage) -> str:
    for _ in range(2):
        start(stage.runtime)
    cursor = answer(stage.runtime, "session.list", limit=1)["next_cursor"]
    assert isinstance(stage.runtime.clock, FixedClock)
    stage.runtime.clock.seconds += 3_601
    return stage.cli("session", "list", "--limit", "1", "--cursor", cursor)


def _conflict(stage: Stage) -> str:
    return stage.cli("workflow", "new", "project.x", "--confirm", "ct_made_up")


def _too_far(stage: Stage) -> str:
    assert isinstance(stage.runtime.library, GivenFiles)
    stage.runtime.library.add(json.dumps(FAR_AWAY).encode(), "far.json")
    return stage.mcp("start_workflow", workflowId=FAR_AWAY["id"], context=HEAVY_CONTEXT)


def _invalid_workflow(stage: Stage) -> str:
    assert isinstance(stage.runtime.library, GivenFiles)
    stage.runtime.library.add(b'{"id": "project.broken", "steps": 7}', "broken.json")
    return stage.mcp("start_workflow", workflowId="project.broken")


def _history_lost(stage: Stage) -> str:
    first = start(stage.runtime, requestId="same")
    second = advance(stage.runtime, first)
    restored = msgspec.structs.replace(stage.runtime, log=MemoryLog())
    start(restored, requestId="same")
    return stage.mcp("continue_workflow", restored, ackToken=second["ackToken"])


def _unknown_node(stage: Stage) -> str:
    first = start(stage.runtime)
    empty = msgspec.structs.replace(stage.runtime, log=MemoryLog())
    return stage.mcp("continue_workflow", empty, ackToken=first["ackToken"])


def _bad_signature(stage: Stage) -> str:
    first = start(stage.runtime)
    elsewhere = msgspec.structs.replace(stage.runtime, keys=FixedKeys(b"o" * 32))
    return stage.mcp("continue_workflow", elsewhere, ackToken=first["ackToken"])


class Impatient:
    """A log that does not wait for another writer."""

    def __init__(self, log: Any) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def hold_existing(self, session_id: SessionId, wait_ms: int, known: int | None = None) -> Any:
        return self._log.hold_existing(session_id, 0, known)


def _locked(stage: Stage, call: Callable[[Runtime, dict[str, Any]], str]) -> str:
    first = start(stage.runtime)
    log: Any = Impatient(stage.runtime.log)
    with stage.runtime.log.hold(first["session"]["sessionId"], 0):
        return call(msgspec.structs.replace(stage.runtime, log=log), first)


def _not_healthy(stage: Stage) -> str:
    runtime = stage.disk()
    first = start(runtime)
    second = advance(runtime, first, "acknowledged notes")
    events = stage.session_file(second["session"]["sessionId"], "events-000001.jsonl")
    events.write_bytes(events.read_bytes().replace(b"acknowledged", b"Acknowledged"))
    return stage.mcp("continue_workflow", stage.disk(), ackToken=first["ackToken"])


def _node_nowhere(stage: Stage) -> str:
    begun = start(stage.runtime)
    return stage.cli("session", "show", begun["session"]["sessionId"], "nod_000000000000")


def _ledger_ahead(stage: Stage) -> str:
    run_id = start(stage.runtime)["session"]["runId"]
    return stage.cli("ledger", "show", run_id, "--mode", "delta", "--since-version", "9")


def _corrupt(stage: Stage) -> str:
    runtime = stage.disk()
    first = start(runtime)
    for blob in (Path(stage.home) / "data" / "blobs").rglob("*"):
        if blob.is_file():
            blob.write_bytes(blob.read_bytes() + b" ")
    return stage.mcp("continue_workflow", stage.disk(), stateToken=first["stateToken"])


def _newer_store(stage: Stage) -> str:
    first = start(stage.runtime)
    body = b'{"v":2,"at":"2027-01-15T08:00:00.000Z","scope":{},"data":{"kind":"session_created"}}'
    with stage.runtime.log.hold(first["session"]["sessionId"], 0) as hold:
        loaded = hold.load()
        assert loaded is not None
        hold.append(loaded.head, [Draft(dedupe_key="later", body=body)])
    return stage.mcp("continue_workflow", stateToken=first["stateToken"])


def _keyring(stage: Stage) -> str:
    runtime = stage.disk()
    start(runtime)
    (keys,) = Path(stage.home).rglob("keyring.json")
    keys.write_text("not a keyring", encoding="utf-8")
    return stage.mcp("start_workflow", stage.disk(), workflowId="project.three_steps")


def _damaged_store(stage: Stage) -> str:
    _not_healthy(stage)
    told = msgspec.structs.replace(stage.disk(), incidents=KeptIncidents())
    return stage.cli("store", "verify", runtime=told)


class Moving:
    """A log that is never where the caller thought."""

    def __init__(self, log: MemoryLog) -> None:
        self._log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def hold_existing(self, session_id: SessionId, wait_ms: int, known: int | None = None) -> Any:
        real = self._log.hold_existing(session_id, wait_ms, known)

        class Hold:
            def __enter__(self) -> Any:
                self._hold = real.__enter__()
                return self

            def __exit__(self, *trouble: Any) -> None:
                real.__exit__(*trouble)

            def __getattr__(self, name: str) -> Any:
                return getattr(self._hold, name)

            def append(self, head: int, plan: Sequence[Draft], blobs: Sequence[Blob] = ()) -> Appended:
                return Conflict(head=head + 1)

        return Hold()


def _invariant(stage: Stage) -> str:
    first = start(stage.runtime)
    assert isinstance(stage.runtime.log, MemoryLog)
    moving: Any = Moving(stage.runtime.log)
    return stage.mcp(
        "continue_workflow", msgspec.structs.replace(stage.runtime, log=moving), ackToken=first["ackToken"]
    )


def _defect(stage: Stage) -> str:
    class Broken(GivenFiles):
        def files(self, project: str) -> Any:
            raise ZeroDivisionError

    return stage.mcp("list_workflows", msgspec.structs.replace(stage.runtime, library=Broken()))


def _nobody_at_the_terminal(stage: Stage) -> str:
    """The step asks a person, and the call comes from a program."""
    asking = begin(stage.runtime, step("ask", userOnly={"reason": "needs_user_approval"}), fields={})
    return stage.cli("run", "confirm", "--state", asking["stateToken"])


def _no_receipt(stage: Stage) -> str:
    """The file is there and holds something else."""
    path = stage.folder / "receipt.json"
    path.write_text("{}", encoding="utf-8")
    project = ("--project", str(stage.folder))
    return stage.cli("check", "replay", str(path), *project)


def _timeout(stage: Stage) -> str:
    """Another writer keeps the session for longer than the call may take."""
    tool = Tool(str(stage.folder))
    reply = tool.data("run", "start", "wr.small_change", "--request-id", "t")
    runtime = build_runtime({}, home=tool.home)
    with runtime.log.hold(reply["session"]["sessionId"], 0):
        ran = tool.run("run", "continue", "--ack", reply["ackToken"], "--timeout", "1")
    return code_in(ran.out)


def _interrupted(stage: Stage) -> str:
    """The same wait, ended by a signal."""
    tool = Tool(str(stage.folder))
    reply = tool.data("run", "start", "wr.small_change", "--request-id", "t")
    runtime = build_runtime({}, home=tool.home)
    with runtime.log.hold(reply["session"]["sessionId"], 0):
        running = begun(tool, ["run", "continue", "--ack", reply["ackToken"]])
        wait_until(lambda: is_waiting(running))
        running.send_signal(signal.SIGINT)
        return code_in(ended(running).out)


def _not_conformant(stage: Stage) -> str:
    path = stage.folder / "answer.json"
    path.write_text('{"success": true}', encoding="utf-8")
    return stage.cli("lafs", "check", str(path))


HERE = ("host", HOST)

PROVOKED: dict[str, Callable[[Stage], str]] = {
    "E_USAGE": lambda stage: stage.cli("nonsense"),
    "E_VALIDATION": lambda stage: stage.mcp(
        "start_workflow", workflowId="project.three_steps", context={"a": float("nan")}
    ),
    "E_NOT_FOUND": lambda stage: stage.cli("workflow", "validate", str(stage.folder / "nowhere.json")),
    "E_CONFIG": lambda stage: stage.cli("workflow", "list", HANDRAIL_FORMAT="xml"),
    "E_FORBIDDEN": lambda stage: stage.cli("workflow", "validate", "/proc/1/mem"),
    "E_IO": lambda stage: stage.cli("workflow", "validate", "/proc/self/mem"),
    "E_CONFIRMATION_REQUIRED": lambda stage: stage.cli("workflow", "new", "project.x"),
    "E_CONFLICT": _conflict,
    "E_HUMAN_REQUIRED": _nobody_at_the_terminal,
    "E_TIMEOUT": _timeout,
    "E_INTERRUPTED": _interrupted,
    "E_INTEGRITY": _damaged_store,
    "RECEIPT_REFUSED": _no_receipt,
    "FORMAT_CONFLICT": lambda stage: stage.cli("workflow", "list", "--json", "--human"),
    "FIELD_CONFLICT": lambda stage: stage.cli("workflow", "list", "--field", "id", "--fields", "id"),
    "EXPAND_UNKNOWN": lambda stage: stage.cli("workflow", "builtins", "--expand", "nonsense"),
    "FIELD_UNKNOWN": lambda stage: stage.cli("workflow", "list", "--fields", "nonsense"),
    "BUDGET_EXCEEDED": lambda stage: stage.cli("workflow", "list", "--budget", "bytes=1"),
    "CONTEXT_MISSING": lambda stage: stage.mcp("continue_workflow"),
    "VERSION_UNSUPPORTED": lambda stage: stage.cli("workflow", "list", "--schema-version", "9.0"),
    "NOT_CONFORMANT": _not_conformant,
    "VALIDATION_ERROR": lambda stage: stage.mcp("start_workflow"),
    "CONTEXT_BUDGET_EXCEEDED": lambda stage: stage.mcp(
        "start_workflow", workflowId="project.three_steps", context={"a": "x" * 300_000}
    ),
    "WORK_LIMIT_EXCEEDED": _too_far,
    "FEATURE_DISABLED": lambda stage: stage.cli("store", "verify"),
    "WORKFLOW_NOT_FOUND": lambda stage: stage.mcp("start_workflow", workflowId="project.nowhere"),
    "WORKFLOW_INVALID": _invalid_workflow,
    "WORKFLOW_ID_RESERVED": lambda stage: stage.cli("workflow", "new", "wr.mine", "--dry-run"),
    "WORKFLOW_ID_LEGACY": lambda stage: stage.cli("workflow", "new", "old-style", "--dry-run"),
    "TOKEN_INVALID_FORMAT": lambda stage: stage.mcp("continue_workflow", ackToken="hello"),
    "TOKEN_UNSUPPORTED_VERSION": lambda stage: stage.mcp("continue_workflow", ackToken="ak9" + "0" * 53),
    "TOKEN_BAD_SIGNATURE": _bad_signature,
    "TOKEN_SCOPE_MISMATCH": _scope,
    "STEP_WAITS": _step_waits,
    "TOKEN_UNKNOWN_NODE": _unknown_node,
    "TOKEN_SESSION_LOCKED": lambda stage: _locked(
        stage, lambda busy, first: stage.mcp("continue_workflow", busy, ackToken=first["ackToken"])
    ),
    "SESSION_LOCKED": lambda stage: _locked(
        stage,
        lambda busy, first: stage.mcp(
            "start_workflow", busy, workflowId="project.three_steps", session=first["session"]["sessionId"]
        ),
    ),
    "INVALID_TOKEN": lambda stage: stage.mcp("list_workflows", cursor="cu1AAAA"),
    "TOKEN_EXPIRED": _cursor_expired,
    "ACTION_NOT_ALLOWED": lambda stage: stage.code("js-edit --continuation T", "js-scan --search myFunc"),
    "EDIT_REFUSED": lambda stage: stage.code("js-edit --file src/app.js --rename myFunc --to 9"),
    "RESULTS_STALE": lambda stage: stage.code("js-edit --continuation T --fix", APPLIED, "src/main.js"),
    "SESSION_NOT_FOUND": lambda stage: stage.cli("session", "show", "ses_000000000000"),
    "SESSION_NOT_HEALTHY": _not_healthy,
    "RUN_NOT_FOUND": lambda stage: stage.cli("ledger", "show", "run_000000000000"),
    "NODE_NOT_FOUND": _node_nowhere,
    "LEDGER_VERSION_AHEAD": _ledger_ahead,
    "STORE_UNAVAILABLE": lambda stage: stage.cli("session", "list", runtime=stage.away()),
    "STORE_IO_ERROR": lambda stage: stage.on_refusing_disk(OSError(28, "No space left on device")),
    "STORE_PERMISSION_DENIED": lambda stage: stage.on_refusing_disk(PermissionError(13, "Permission denied")),
    "STORE_CORRUPT": _corrupt,
    "STORE_HISTORY_LOST": _history_lost,
    "STORE_UNSUPPORTED_VERSION": _newer_store,
    "KEYRING_INVALID": _keyring,
    "BUNDLE_INVALID_FORMAT": lambda stage: stage.bundle_text("{}"),
    "BUNDLE_UNSUPPORTED_VERSION": lambda stage: stage.bundle_text(
        json.dumps(rich_bundle() | {"bundleSchemaVersion": 3})
    ),
    "BUNDLE_INTEGRITY_FAILED": lambda stage: stage.bundle_text(
        json.dumps(rich_bundle() | {"bundleId": "bnd_x"})
    ),
    "BUNDLE_MISSING_SNAPSHOT": lambda stage: stage.stranger(
        lambda held: held["session"]["snapshots"].clear()
    ),
    "BUNDLE_MISSING_PINNED_WORKFLOW": lambda stage: stage.stranger(
        lambda held: held["session"]["pinnedWorkflows"].clear()
    ),
    "BUNDLE_EVENT_ORDER_INVALID": lambda stage: stage.stranger(lambda held: without_event(held, 0)),
    "BUNDLE_TOO_LARGE": lambda stage: stage.bundle_text("[" * 500 + "]" * 500),
    "BUNDLE_MANIFEST_ORDER_INVALID": lambda stage: stage.stranger(
        lambda held: held["session"]["manifest"][2].update(eventIndex=7)
    ),
    "INTERNAL_ERROR": _defect,
    "INVARIANT_VIOLATION": _invariant,
    "REQUEST_TOO_LARGE": lambda stage: stage.mcp("resume_session", query="x" * 5_000_000),
    "HOST_REFUSED": lambda stage: stage.over_http("POST", ("host", "evil.example")),
    "ORIGIN_REFUSED": lambda stage: stage.over_http("POST", HERE, ("origin", "https://evil.example")),
    "METHOD_NOT_ALLOWED": lambda stage: stage.over_http("GET", HERE),
}

NOBODY = "Nothing in the product raises it yet."
UPSTREAM = "Only an upstream service can say it, and the product calls none yet."
SERVERS = "Belongs to a shared HTTP server, which does not exist yet."
LATER: dict[str, str] = {
    "CONTEXT_STALE": NOBODY,
    "TOKEN_WORKFLOW_HASH_MISMATCH": NOBODY,
    "WORKFLOW_SOURCE_UNAVAILABLE": NOBODY,
    "STORE_TARGET_NOT_EMPTY": "Copying a store tells it per item, by the native code E_CONFLICT.",
    "E_AUTH": UPSTREAM,
    "E_NETWORK": UPSTREAM,
    "E_RATE_LIMITED": UPSTREAM,
    "E_SERVER": UPSTREAM,
    "E_UNKNOWN": UPSTREAM,
    "UPSTREAM_OPEN": UPSTREAM,
    "MEDIA_TYPE_REFUSED": SERVERS,
    "SERVER_BUSY": SERVERS,
    "SERVER_DRAINING": SERVERS,
}
