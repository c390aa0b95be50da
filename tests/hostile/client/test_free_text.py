"""A canary in every field of free text, on every interface: it stands where it was put, and nowhere else.

The fields are found by their type. `text_fields.txt` lists them: look at a new field once, then run
`python -m tests.hostile.client.test_free_text`, which writes the list anew.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Json
from handrail.contract.parameters import list_fields
from handrail.ports.process import CallNote
from handrail.runtime.hub import perform
from handrail.runtime.operation import Operation
from handrail.runtime.outward import encode_notice, list_outward
from handrail.runtime.runtime import Silent
from handrail.surfaces.mcp.adapter import Adapter
from handrail.surfaces.mcp.messages import WORKFLOW_SET
from handrail.surfaces.mcp.questions import ToolCall
from handrail.wiring import registry
from handrail_code.mcp.instructions import TOOL_SET as CODE_SET
from handrail_serve.api import offered_operations
from tests.surfaces.http.filled_calls import Work, begin_work
from tests.surfaces.http.whole_server import WholeServer, api

LISTED = Path(__file__).with_name("text_fields.txt")
_ELSEWHERE = ("team.", "program.", "lafs.check", "store.selftest", "check.run")
"""They need a database, a network or a program, and their parameters go the same way into the audit."""
CONTENT = frozenset({"goal", "context", "output", "notes", "note", "title", "worker", "given", "changes"})
"""What the user or the agent keeps with a session: an export of the session holds it."""


class Watching(Silent):
    """An observer that keeps what telemetry would be told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note_call(self, note: CallNote) -> None:
        self.told.append(repr(note))


def text_fields() -> list[tuple[str, tuple[str, ...]]]:
    """Every place of every operation that holds free text."""
    return [
        (called.name, field.path)
        for called in registry().operations()
        for field in list_fields(called.input)
        if field.held == "text"
    ]


def spell_fields() -> str:
    return "".join(f"{name} {'.'.join(path)}\n" for name, path in text_fields())


def test_every_field_of_free_text_is_listed() -> None:
    print(spell_fields())

    assert spell_fields() == LISTED.read_text(encoding="utf-8"), "look at the new field, then list it"


def put(known: dict[str, Any], path: tuple[str, ...], value: str) -> dict[str, Any]:
    """The input with the canary at this place; whatever else it holds stays."""
    given = copy.deepcopy(known)
    at: Any = given
    for name, after in zip(path, (*path[1:], ""), strict=True):
        if after == "":
            held: Any = value
        elif after == "[]":
            held = []
        else:
            held = at.get(name) if isinstance(at, dict) and isinstance(at.get(name), dict) else {}
        if name == "[]":
            at.append(held)
            at = at[-1]
        else:
            at[name] = held
            at = held
    return given


def calls(work: Work) -> Iterator[tuple[Operation, dict[str, Json], str, str]]:
    """Each call with its canary and the name of the field."""
    for number, (name, path) in enumerate(text_fields()):
        if name.startswith(_ELSEWHERE):
            continue
        called = registry().operation(name)
        top = path[0]
        known = work.call(called, **({top: work.values[top]} if top in work.values else {}))
        if not isinstance(known.get(top), dict):
            known.pop(top, None)
        canary = f"canary{number:04d}sings"
        yield called, put(known, path, canary), canary, f"{name} {'.'.join(path)}"


@pytest.fixture
def server(tmp_path: Path) -> WholeServer:
    made = WholeServer(tmp_path)
    settings = {"startSession": True, "auditReads": True}
    (made.home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return made


def call_everywhere(server: WholeServer, work: Work) -> dict[str, str]:
    """Send every canary through HTTP, both sets of tools and the library; returns what each was for."""
    offered = {called.name for called in offered_operations(registry())}
    adapters = [Adapter(server.runtime, tool_set=one) for one in (WORKFLOW_SET, CODE_SET)]
    tools = [(adapter, tool) for adapter in adapters for tool in adapter.tools.values()]
    sent: dict[str, str] = {}
    over_http = []
    for called, params, canary, field in calls(work):
        sent[canary] = field
        if called.name in offered:
            over_http.append(api(called.name, params))
        for adapter, tool in tools:
            shown = set(tool.definition["inputSchema"]["properties"])
            if tool.operation == called.name and set(params) <= shown:
                adapter.call_tool(server.runtime, ToolCall(name=tool.name, arguments=dict(params)), "never")
        perform(server.runtime, called.name, dict(params))
    server.answers(over_http)
    return sent


def test_no_free_text_is_written_down_elsewhere(server: WholeServer) -> None:
    watching: Any = Watching()
    server.runtime = msgspec.structs.replace(server.runtime, observer=watching)
    work = begin_work(server)

    sent = call_everywhere(server, work)

    kept = [path for path in server.home.rglob("*") if path.is_file() and "data" not in path.parts]
    audit = [path for path in kept if "audit" in str(path.relative_to(server.home))]
    log = server.runtime.log.load(work.values["session"])
    assert log is not None
    notices = list_outward(work.values["session"], log.records, (), with_text=False)
    places = {
        "audit": "\n".join(path.read_text(encoding="utf-8") for path in audit),
        "home": "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in kept),
        "log of requests": "\n".join(server.lines),
        "telemetry": "\n".join(watching.told),
        "notifications": "\n".join(encode_notice(one).decode() for one in notices),
    }
    assert len(places["audit"].splitlines()) > len(sent), "every call has its line"
    assert len(watching.told) > len(sent)
    found = {
        (place, field) for place, text in places.items() for canary, field in sent.items() if canary in text
    }
    assert found == set()


def test_an_export_holds_what_was_kept_with_the_session_alone(server: WholeServer) -> None:
    work = begin_work(server)
    sent = call_everywhere(server, work)

    exported = json.dumps(server.data(api("session.export", {"sessionId": work.values["session"]})))

    fields = {field for canary, field in sent.items() if canary in exported}
    assert fields, "what was kept is there"
    assert {field.split()[1].split(".")[0] for field in fields} <= CONTENT


if __name__ == "__main__":
    LISTED.write_text(spell_fields(), encoding="utf-8")
