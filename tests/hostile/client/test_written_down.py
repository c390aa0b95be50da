"""A canary through every text of every operation, on every interface: nothing that is written beside the
sessions has it, whatever became of the call.

A place that is declared as a path, and nothing else, may show its canary in the audit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.ports.process import CallNote
from handrail.runtime.operation import Operation
from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.surfaces.mcp.results import answer_call
from handrail.surfaces.mcp.tools import offered_tools
from handrail.wiring import registry
from handrail_serve.api import offered_operations
from tests.hostile.flock import Flock
from tests.surfaces.cli.here import run_troubled
from tests.surfaces.http.filled_calls import begin_work
from tests.surfaces.http.whole_server import WholeServer, api, tool

pytestmark = pytest.mark.thorough

STARTING = frozenset({"process", "update"})
"""The command line has these, and tests of its own for them."""
TOOLS = offered_tools(start_session=True)


class Kept:
    """Whatever is told to people and collectors who do not call."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note_call(self, call: CallNote) -> None:
        self.told.append(repr(call))

    def start_notice(self, argv: Any, body: bytes) -> str:
        self.told.append(f"{argv} {body!r}")
        return ""


@pytest.fixture
def site(tmp_path: Path) -> WholeServer:
    server = WholeServer(tmp_path)
    settings = {"startSession": True, "auditReads": True, "notify": {"command": ["tell-people"]}}
    (server.home / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    return server


def watch(server: WholeServer) -> Kept:
    kept = Kept()
    server.runtime = msgspec.structs.replace(server.runtime, observer=kept, start_notice=kept.start_notice)
    return kept


def require_silence(server: WholeServer, flock: Flock, kept: Kept) -> None:
    """Grep the audit, the log of requests, telemetry, notices, and every file of the home."""
    assert flock.sent, "the flock sang"
    assert flock.found_in("\n".join(server.lines)) == []
    assert flock.found_in("\n".join(kept.told)) == []
    audits = 0
    for path in sorted(server.home.rglob("*")):
        if path.is_file():
            inside = path.relative_to(server.home)
            content = path.read_bytes().decode("utf-8", "replace")
            is_audit, is_data = inside.parts[0] == "audit", inside.parts[0] == "data"
            audits += content.count("\n") if is_audit else 0
            assert flock.found_in(content, is_audit=is_audit, is_session=is_data) == [], inside
    assert audits >= len(flock.sent) // 2, "reads and writes are audited here"


def test_canary_over_http(site: WholeServer) -> None:
    work, flock, kept = begin_work(site), Flock("http"), watch(site)

    asked = [api(one.name, call) for one in offered_operations(registry()) for call in flock.calls(one, work)]
    site.answers(asked)

    require_silence(site, flock, kept)
    exported = site.answer(api("session.export", {"sessionId": work.values["session"]})).body.decode()
    assert flock.found_in(exported, is_session=True) == []


def test_canary_over_mcp_over_http(site: WholeServer) -> None:
    work, flock, kept = begin_work(site), Flock("mcp http"), watch(site)

    site.answers([tool(one.tool, call) for one in with_a_tool() for call in flock.calls(one, work)])

    require_silence(site, flock, kept)


def test_canary_over_mcp_over_stdio(site: WholeServer) -> None:
    work, flock, kept = begin_work(site), Flock("mcp"), watch(site)

    for one in with_a_tool():
        for call in flock.calls(one, work):
            answer_call(site.runtime, TOOLS, TOOLS[one.tool], call, "standard")

    require_silence(site, flock, kept)


def test_canary_over_the_command_line(site: WholeServer) -> None:
    work, flock, kept = begin_work(site), Flock("cli"), watch(site)

    for path, command in COMMANDS.items():
        if command["operation"] in registry().names:
            called = registry().operation(command["operation"])
            if called.effect not in STARTING and not called.starts_programs:
                for call in flock.calls(called, work):
                    run_troubled(site.runtime, [*path.split(), "--input", json.dumps(call)])

    require_silence(site, flock, kept)


def with_a_tool() -> list[Operation]:
    return [one for one in registry().operations() if one.tool in TOOLS]
