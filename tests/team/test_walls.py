"""Every operation, by every kind of id, from beyond a wall: refused alike, as if nothing were there.

The operations come from the registry, so a new one is tried without being named here.
"""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from handrail.runtime.operation import Operation, effect_of
from handrail.wiring import registry
from handrail_team.store.database import Link
from handrail_team.store.migrations import EVERY_WORKSPACE
from tests.conftest import memory_runtime
from tests.journeys.conversation import start
from tests.surfaces.http.client import Answered
from tests.team.team_server import Caller, Server

pytestmark = pytest.mark.thorough

SERVED = [called for called in registry().operations() if called.where != "client"]
PERSONS = {
    *("run.answer", "session.resolve_gap", "session.rename", "session.delete", "store.gc"),
    "keys.rotate",
    *("team.invite", "team.reset", "team.set_member", "team.new_token"),
    *("team.revoke_token", "team.audit", "team.tokens"),
}
"""What no agent may, whatever its person may: written by hand, from the chapter about teams."""
ABSENT = {
    "session": "ses_aaaaaaaaaaaa",
    "run": "run_aaaaaaaaaaaa",
    "node": "node_aaaaaaaaaaaa",
    "account": "acc_0000000000000000",
    "credential": "cred_0000000000000000",
}
_REQUEST = re.compile(rb"req_[0-9a-f]{20}")


class Side(NamedTuple):
    """A workspace with a person, an agent and some work."""

    person: Caller
    agent: Caller
    ids: dict[str, str]
    tokens: dict[str, str]


def settle(server: Server, name: str) -> Side:
    workspace = server.workspace(name)
    person = server.join(workspace, f"Owner of {name}", "owner")
    agent = person.agent("builder")
    first = agent.start()
    reply = agent.data("run.continue", ackToken=first["ackToken"], output={"notesMarkdown": "Looked."})
    session, run = first["session"]["sessionId"], first["session"]["runId"]
    nodes = person.data("run.graph", sessionId=session)["nodes"]
    ids = {
        "session": session,
        "run": run,
        "node": nodes[0]["id"],
        "account": person.data("team.members")["items"][0]["id"],
        "credential": person.data("team.tokens")["items"][0]["id"],
    }
    tokens = {name: reply[name] for name in ("ackToken", "stateToken", "checkpointToken")}
    return Side(person, agent, ids, tokens)


@pytest.fixture(scope="module")
def sides(postgres: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    from tests.team.postgres import fresh_database, role_of_its_own

    with fresh_database(postgres) as database, role_of_its_own(postgres, database) as address:
        server = Server(address, tmp_path_factory.mktemp("walls"))
        yield server, settle(server, "here"), settle(server, "there")
        server.accounts.database.close()


FIELDS = {
    **dict.fromkeys(("session", "sessionId"), "session"),
    **dict.fromkeys(("run", "runId"), "run"),
    **dict.fromkeys(("node", "one", "other", "before", "after"), "node"),
    "member": "account",
    "token": "credential",
}
OTHERS: dict[str, Any] = {
    "title": "Another title",
    "workflowId": "wr.small_change",
    "query": "looked",
    "reason": "abandoned",
    "gap": "gap_000000000000",
    "note": "Seen.",
    "olderThan": 1,
    "dangerous": True,
    "name": "Eve",
    "role": "member",
    "show": True,
    "output": {"notesMarkdown": "Looked."},
    "workflows": ["wr.small_change", "wr.bug_fix"],
    "documents": [{"source": "a.json", "text": "{}"}],
    "document": {"source": "a.json", "text": "{}"},
    "receipt": {"source": "a.json", "text": "{}"},
    "bundle": {"source": "a.json", "text": "{}"},
    "commit": "HEAD",
}


def fill(called: Operation, ids: dict[str, str], tokens: dict[str, str]) -> dict[str, Any] | None:
    """Input that names these; None where the operation takes no id."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(called.input)}
    named: dict[str, Any] = {name: ids[kind] for name, kind in FIELDS.items() if name in fields}
    named |= {name: tokens[name] for name in tokens if name in fields}
    if "ids" in fields:
        named["ids"] = [ids["session"]]
    if called.name in ("run.answer", "run.continue"):
        named.pop("session", None)
    if not named:
        return None
    more = {name: OTHERS[name] for name, field in fields.items() if field.required and name not in named}
    for name in ("dangerous", "show", "role"):
        if name in fields:
            more[name] = OTHERS[name]
    if "dryRun" in fields and called.effect in ("create", "gated", "dangerous"):
        more["dryRun"] = True
    return more | named


def normalise(told: Answered, ids: dict[str, str], tokens: dict[str, str]) -> tuple[int, bytes]:
    body = _REQUEST.sub(b"req", told.body)
    for kind, value in (*ids.items(), *tokens.items()):
        body = body.replace(value.encode(), kind.encode())
    return told.status, re.sub(rb'"duration_ms":\d+', b"", body)


NAMING = [called.name for called in SERVED if fill(called, ABSENT, {})]


@pytest.mark.parametrize("name", NAMING)
def test_an_id_of_another_workspace_is_as_one_that_never_was(sides: Any, name: str) -> None:
    _, here, there = sides
    called = registry().operation(name)

    for caller in (here.person, here.agent):
        theirs = fill(called, there.ids, {})
        nobodys = fill(called, ABSENT, {})
        assert theirs is not None
        assert nobodys is not None
        told = normalise(caller.call(name, **theirs), there.ids, {})
        expected = normalise(caller.call(name, **nobodys), ABSENT, {})

        assert told == expected
        assert told[0] >= 400 or b'"count":0' in told[1], told


class Work:
    """What the database is asked for, and how many rows it finds: a measure of time that no load changes."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._asked: list[tuple[str, Any]] = []
        plain = Link.execute

        def execute(link: Link, asked: Any, *values: Any, **more: Any) -> Any:
            found = plain(link, asked, *values, **more)
            self._asked.append((str(asked), found))
            return found

        patch.setattr(Link, "execute", execute)
        for kept in (
            "service.FRESH_SECONDS",
            "store.log._KEPT_SECONDS",
        ):  # nothing is asked again
            patch.setattr(f"handrail_team.{kept}", 10_000)

    def of(self, caller: Caller, name: str, params: dict[str, Any]) -> list[tuple[str, int]]:
        """Of the second call: the first one may fill what servers remember."""
        caller.call(name, **params)
        self._asked.clear()
        caller.call(name, **params)
        return [(asked, found.rowcount) for asked, found in self._asked]


@pytest.mark.parametrize("name", NAMING)
def test_foreign_id_costs_what_an_unknown_one_costs(
    sides: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, here, there = sides
    called = registry().operation(name)
    work = Work(monkeypatch)

    for caller in (here.person, here.agent):
        theirs, nobodys = fill(called, there.ids, {}), fill(called, ABSENT, {})
        assert theirs is not None
        assert nobodys is not None
        told = work.of(caller, name, theirs)

        assert told == work.of(caller, name, nobodys)
        assert name != "session.show" or any("handrail.events" in asked for asked, _ in told), "it is counted"


@pytest.mark.parametrize("field", ["ackToken", "stateToken", "checkpointToken"])
def test_a_token_of_another_workspace_is_as_one_of_another_store(sides: Any, field: str) -> None:
    _, here, there = sides
    elsewhere = start(memory_runtime())
    strange = {"session": elsewhere["session"]["sessionId"]}
    takers = [one for one in SERVED if field in {it.encode_name for it in msgspec.structs.fields(one.input)}]
    for called in takers:
        more = {"output": OTHERS["output"]} if called.name != "run.answer" and field != "stateToken" else {}
        more |= {"show": True} if called.name == "run.answer" else {}
        told = normalise(
            here.agent.call(called.name, **{field: there.tokens[field]}, **more), there.ids, there.tokens
        )
        expected = normalise(
            here.agent.call(called.name, **{field: elsewhere[field]}, **more),
            strange,
            {field: elsewhere[field]},
        )

        assert told == expected
        assert told[0] >= 400, told
    assert takers


def ways(side: Side, server: Server, workspace: str) -> dict[str, Caller]:
    """Whoever should not get through."""
    directory = server.accounts.directory
    made = {name: side.person.agent(f"agent-{name}") for name in ("revoked", "expired", "reader")}
    ids = {row["name"]: row["id"] for row in side.person.data("team.tokens")["items"]}
    directory.end(workspace, [ids["agent-revoked"]])
    directory.database.within(EVERY_WORKSPACE).send(
        ("UPDATE handrail.credentials SET expires_at = 1 WHERE id = %s", (ids["agent-expired"],)),
        ("UPDATE handrail.credentials SET scopes = 'read' WHERE id = %s", (ids["agent-reader"],)),
    )
    server.accounts.forget()
    made["viewer"] = server.join(workspace, f"Viewer {workspace}", "viewer")
    made["member"] = server.join(workspace, f"Member {workspace}", "member")
    made["page at a program's door"] = Caller(server, side.person.token, is_page=False)
    return made


def test_wrong_roles_scopes_and_ended_credentials_are_refused(sides: Any) -> None:
    server, here, _ = sides
    workspace = here.person.data("team.members")["workspace_id"]
    callers = ways(here, server, workspace)
    refused: dict[str, set[tuple[int, bytes]]] = {"revoked": set(), "expired": set()}

    for called in SERVED:
        given = fill(called, here.ids, {}) or {}
        given = {name: value for name, value in given.items() if name not in ("dryRun", "show")}
        given |= dict.fromkeys(filter(None, [called.reads_without]), "x")
        effect = effect_of(called, given)
        told = {name: one.call(called.name, **given) for name, one in callers.items()}
        for name, seen in refused.items():
            seen.add(normalise(told[name], here.ids, {}))
        if effect != "read" and called.name != "team.revoke_token":
            assert [told[name].status for name in ("viewer", "reader")] == [403, 403], called.name
        if called.name in PERSONS:
            assert told["page at a program's door"].status == 403, called.name
            assert told["reader"].status == 403, called.name
        if effect in ("gated", "dangerous") and called.name not in ("team.revoke_token", "preferences.set"):
            assert told["member"].status == 403, called.name

    # After so many refused credentials from one address, the next ones are told to wait.
    assert [sorted(status for status, _ in seen) for seen in refused.values()] == [[401, 429]] * 2
    assert refused["revoked"] == refused["expired"]


def test_a_person_at_the_door_of_programs_is_an_agent(sides: Any) -> None:
    _, here, _ = sides
    agent = Caller(here.person.server, here.person.token, is_page=True)

    given = {"workflowId": "wr.small_change", "context": {"goal": "Tidy."}, "requestId": "at-the-door"}
    started = json.loads(agent.tool("start_workflow", **given).body)["result"]["structuredContent"]

    session = started["session"]["sessionId"]
    log = agent.server.accounts.adapters(agent.data("team.members")["workspace_id"])["log"]
    assert {json.loads(one.body)["actor"]["kind"] for one in log.load(session).records} == {"agent"}
    assert registry().operation("run.answer").tool == ""


def test_a_revoked_token_works_nowhere_within_five_seconds(
    team_database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = Server(team_database, tmp_path)
    here = settle(server, "here")
    other = Server(server.accounts.database._address, tmp_path)
    agent = here.person.agent("short-lived")
    elsewhere = Caller(other, agent.token, is_page=False)
    assert (agent.call("session.list").status, elsewhere.call("session.list").status) == (200, 200)

    here.person.gated("team.revoke_token", token="short-lived")
    real = time.monotonic
    monkeypatch.setattr("handrail_team.service.time.monotonic", lambda: real() + 5)

    assert (agent.call("session.list").status, elsewhere.call("session.list").status) == (401, 401)


def list_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_account_changes_a_file_or_a_setting_of_the_server(team_database: str, tmp_path: Path) -> None:
    server = Server(team_database, tmp_path)
    side = settle(server, "here")
    before, preferences = list_files(tmp_path), side.person.data("preferences.show")

    for called in SERVED:
        given = fill(called, side.ids, side.tokens) or {}
        shown = side.person.call(called.name, **given)
        confirm = shown.document.get("data", {}).get("confirm_token") if shown.status == 200 else None
        if confirm and called.name != "session.delete":
            given.pop("dryRun")
            side.person.call(called.name, **given, confirm=confirm)

    assert list_files(tmp_path) == before
    assert side.person.data("preferences.show") == preferences


def test_lost_role_confirms_nothing(team_database: str, tmp_path: Path) -> None:
    """Who lost a role confirms nothing with the one that was kept."""
    server = Server(team_database, tmp_path)
    workspace = server.workspace("main")
    owner = server.join(workspace, "Ana", "owner")
    ben, cleo = (server.join(workspace, name) for name in ("Ben", "Cleo"))
    session = owner.agent("builder").start()["session"]["sessionId"]
    asked = {"session": session, "answer": "yes"}
    known = [one.call("session.list").status for one in (ben, cleo)]

    other = Server(team_database, tmp_path / "other")
    elsewhere = Caller(other, owner.token, is_page=True)
    elsewhere.gated("team.set_member", member="Ben", role="viewer")
    elsewhere.gated("team.set_member", member="Cleo", remove=True)
    told = [one.call("run.answer", **asked).status for one in (ben, cleo)]

    assert (known, told) == ([200, 200], [403, 401])
