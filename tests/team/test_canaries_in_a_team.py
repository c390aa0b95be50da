"""A canary through every text of every operation of a team's server, and through its way to sign in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.runtime.hub import perform
from handrail.wiring import registry
from handrail_serve.api import offered_operations
from tests.hostile.client.test_free_text import Watching, calls
from tests.surfaces.http.filled_calls import fill_work
from tests.team.linked_machine import Machine
from tests.team.team_server import Caller, Server

pytestmark = pytest.mark.thorough
SIGNED_IN = "a canary that signs in"


def test_audit_of_a_team_holds_no_canary(server: Server, person: Caller, tmp_path: Path) -> None:
    workspace = person.data("team.whoami")["workspace"]
    reply = person.start()
    session, run = reply["session"]["sessionId"], reply["session"]["runId"]
    work = fill_work(reply, session, run, person.data("run.graph", sessionId=session)["nodes"])
    offered = {called.name for called in offered_operations(registry())}
    sent: dict[str, str] = {}

    for called, params, canary, field in calls(work):
        if called.name in offered:
            sent[canary] = field
            person.call(called.name, **params)
    server.sign_in("passphrase", name=SIGNED_IN, passphrase=SIGNED_IN, workspace=SIGNED_IN)
    server.sign_in("invitation", invitation=SIGNED_IN, name=SIGNED_IN, passphrase=SIGNED_IN)
    server.sign_in("machine", machine=SIGNED_IN)

    rows = server.accounts.database.within(workspace).fetch("SELECT line FROM handrail.audit")
    lines = [bytes(row[0]).decode() for row in rows]
    local = [one.read_text(encoding="utf-8") for one in (tmp_path / "home").rglob("audit-*.jsonl")]
    assert len(lines) > 20
    assert len(sent) > 50
    assert {field for canary, field in sent.items() if canary in "\n".join(lines + local)} == set()
    assert SIGNED_IN not in "\n".join(lines + local)


def test_a_linked_machine_writes_no_free_text_down(
    server: Server, machine: Machine, person: Caller, tmp_path: Path
) -> None:
    """Through the client of a team: neither the machine nor the server's audit holds what was written."""
    workspace = person.data("team.whoami")["workspace"]
    reply = machine.start()
    ids = reply["session"]
    nodes = person.data("run.graph", sessionId=ids["sessionId"])["nodes"]
    work = fill_work(reply, ids["sessionId"], ids["runId"], nodes)
    watching: Any = Watching()
    runtime = msgspec.structs.replace(machine.runtime, observer=watching)
    sent: dict[str, str] = {}

    for called, params, canary, field in calls(work):
        if not called.name.startswith(("store.", "keys.")):
            sent[canary] = field
            perform(runtime, called.name, params)

    rows = server.accounts.database.within(workspace).fetch("SELECT line FROM handrail.audit")
    here = [one for one in machine.home.rglob("*") if one.is_file() and "data" not in one.parts]
    there = (tmp_path / "home").rglob("audit-*.jsonl")
    written = [one.read_text(encoding="utf-8", errors="replace") for one in (*here, *there)]
    texts = "\n".join([*watching.told, *written, *(bytes(row[0]).decode() for row in rows)])
    assert len(sent) > 80
    assert {field for canary, field in sent.items() if canary in texts} == set()
