"""What can be wrong with a home before a call: done to a copy, by hand, as an accident would."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from handrail.contract.ids import SessionId
from handrail.ports.log import Draft
from handrail.wiring import build_runtime
from tests.conformance.forked import ForkedTool
from tests.conftest import THREE_STEPS
from tests.engine.bundles.made import Change, rechained, rich_bundle, without_event

Names = Mapping[str, str]
Damage = Callable[[ForkedTool, Names], Any]
"""May give a context that lasts as long as the call."""

NEWER_EVENT = b'{"v":2,"at":"2027-01-15T08:00:00.000Z","scope":{},"data":{"kind":"session_created"}}'

UNTIMED_EVENT = (
    b'{"v":1,"at":"yesterday","scope":{},'
    b'"data":{"kind":"observation_recorded","key":"git_branch","value":"main"}}'
)
CONTEXT = (
    b'{"v":1,"at":"2027-01-15T08:00:00.000Z","scope":%b,'
    b'"data":{"kind":"context_set","context":{"deep":%b},"source":"agent_delta"}}'
)


def none(tool: ForkedTool, names: Names) -> None:
    """Everything is as it should be."""


def keyring(tool: ForkedTool, names: Names) -> None:
    Path(tool.home, "data", "keys", "keyring.json").write_bytes(b"not a keyring")


def receipt_keys(tool: ForkedTool, names: Names) -> None:
    Path(tool.home, "data", "keys", "receipts.json").write_bytes(b"not a key file")


def changed_notes(tool: ForkedTool, names: Names) -> None:
    """A byte of acknowledged notes differs, so the log is proven only before them."""
    for events in _session(tool, names).glob("events-*.jsonl"):
        events.write_bytes(events.read_bytes().replace(b"first is done", b"First is done"))


def changed_blobs(tool: ForkedTool, names: Names) -> None:
    for blob in Path(tool.home, "data", "blobs").rglob("*"):
        if blob.is_file():
            blob.write_bytes(blob.read_bytes() + b" ")


def changed_source(tool: ForkedTool, names: Names) -> None:
    """Somebody edits what a preview was made of."""
    source = Path(tool.project, "src", "main.js")
    source.write_bytes(source.read_bytes() + b"greet('me');\n")


STARTED = "run start wr.small_change --request-id twice"


CLOSED = "run close SESSION_ID --reason abandoned --request-id once"


def closed_once(tool: ForkedTool, names: Names) -> None:
    """The same key closed the run before, without a note."""
    tool.data(*CLOSED.replace("SESSION_ID", names["SESSION_ID"]).split())


def started_on_changed_blobs(tool: ForkedTool, names: Names) -> None:
    """The recorded reply of a start is made from the workflow that its run is pinned to."""
    tool.data(*STARTED.split())
    changed_blobs(tool, names)


def newer_event(tool: ForkedTool, names: Names) -> None:
    """A later version wrote an event that this one does not know."""
    _appended(tool, names, "later", NEWER_EVENT)


def deep_event(tool: ForkedTool, names: Names) -> None:
    """Somebody wrote a context that is deeper than any call may send."""
    run = tool.data("session", "show", names["SESSION_ID"])["runs"][0]
    scope = json.dumps({"runId": run["id"], "nodeId": run["tips"][0]}, separators=(",", ":")).encode()
    _appended(tool, names, "context_set:deep", CONTEXT % (scope, b"[" * 100 + b"]" * 100))


def _appended(tool: ForkedTool, names: Names, key: str, body: bytes) -> None:
    log = build_runtime({}, home=tool.home).log
    with log.hold(SessionId(names["SESSION_ID"]), 0) as hold:
        loaded = hold.load()
        assert loaded is not None
        hold.append(loaded.head, [Draft(dedupe_key=key, body=body)])


def no_session(tool: ForkedTool, names: Names) -> None:
    shutil.rmtree(_session(tool, names))


def older_session(tool: ForkedTool, names: Names) -> None:
    """The session began anew: what was acknowledged is not in it."""
    no_session(tool, names)
    tool.data(
        "run", "start", "project.three_steps", "--request-id", "first", "--project", names["SEED_PROJECT"]
    )


BEGUN = "js-tools --workflow my-refactor.json --request-id begun"


def begun_once(tool: ForkedTool, names: Names) -> None:
    """The same key began a run before, with other facts."""
    tool.data(*BEGUN.split())


def older_file_run(tool: ForkedTool, names: Names) -> None:
    """The same of a run of a workflow file."""
    no_session(tool, names)
    tool.data(*BEGUN.split())


def locked_file_start(tool: ForkedTool, names: Names) -> Any:
    """Another writer is about to make the session that this key of a workflow file leads to."""
    begun = str(tool.data(*BEGUN.split())["session_id"])
    shutil.rmtree(os.path.join(tool.home, "data", "sessions", begun))
    return _held(tool, begun)


def uncommitted(tool: ForkedTool, names: Names) -> None:
    """A file differs from its commit."""
    Path(tool.environment["HANDRAIL_PROJECT"], "README").write_bytes(b"Changed.\n")


def settings(tool: ForkedTool, names: Names) -> None:
    Path(tool.home, "config.json").write_text('{"maxEffect": 7}', encoding="utf-8")


def locked(tool: ForkedTool, names: Names) -> Any:
    """Another writer keeps the session while the call runs."""
    return _held(tool, names["SESSION_ID"])


def reserved_id(tool: ForkedTool, names: Names) -> None:
    """A project's file takes a name that belongs to the bundled ones."""
    mine = THREE_STEPS.replace(b"project.three_steps", b"wr.mine")
    Path(tool.project, ".handrail", "workflows", "mine.json").write_bytes(mine)


def locked_start(tool: ForkedTool, names: Names) -> Any:
    """Another writer is about to make the session that this key leads to."""
    began = _began(tool)
    shutil.rmtree(os.path.join(tool.home, "data", "sessions", began))
    return _held(tool, began)


def locked_import(tool: ForkedTool, names: Names) -> Any:
    """Another writer is about to make the session that the bundle holds."""
    return _held(tool, rich_bundle()["session"]["sessionId"])


def changed_start(tool: ForkedTool, names: Names) -> None:
    """Its only event differs by a byte."""
    for events in Path(tool.home, "data", "sessions", _began(tool)).glob("events-*.jsonl"):
        events.write_bytes(events.read_bytes().replace(b"Beginning", b"beginning"))


def _began(tool: ForkedTool) -> str:
    reply = tool.data("session", "note", "--request-id", "began", "--goal", "Beginning")
    return str(reply["session"]["sessionId"])


@contextmanager
def _held(tool: ForkedTool, session_id: str) -> Iterator[None]:
    with build_runtime({}, home=tool.home).log.hold(SessionId(session_id), 0):
        yield


def bundle(make: Callable[[], str]) -> Damage:
    """The file to import is this text instead."""

    def damage(tool: ForkedTool, names: Names) -> None:
        Path(tool.project, "bundle.json").write_text(make(), encoding="utf-8")

    return damage


def stranger(change: Change) -> Damage:
    """Somebody changed the bundle and sealed it again."""
    return bundle(lambda: rechained(change))


def rich(**changes: Any) -> Damage:
    return bundle(lambda: json.dumps(rich_bundle() | changes))


BUNDLES: dict[str, Damage] = {
    "BUNDLE_INVALID_FORMAT": bundle(lambda: "{}"),
    "BUNDLE_UNSUPPORTED_VERSION": rich(bundleSchemaVersion=3),
    "BUNDLE_INTEGRITY_FAILED": rich(bundleId="bnd_x"),
    "BUNDLE_MISSING_SNAPSHOT": stranger(lambda held: held["session"]["snapshots"].clear()),
    "BUNDLE_MISSING_PINNED_WORKFLOW": stranger(lambda held: held["session"]["pinnedWorkflows"].clear()),
    "BUNDLE_EVENT_ORDER_INVALID": stranger(lambda held: without_event(held, 0)),
    "BUNDLE_TOO_LARGE": bundle(lambda: "[" * 500 + "]" * 500),
    "BUNDLE_MANIFEST_ORDER_INVALID": stranger(
        lambda held: held["session"]["manifest"][2].update(eventIndex=7)
    ),
}


def during(damage: Damage, tool: ForkedTool, names: Names) -> Any:
    """The scope in which the damage lasts."""
    return damage(tool, names) or nullcontext()


def _session(tool: ForkedTool, names: Names) -> Path:
    return Path(tool.home, "data", "sessions", names["SESSION_ID"])
