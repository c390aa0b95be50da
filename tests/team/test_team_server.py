"""A server with accounts: people come in by invitation, agents with tokens, and each sees their workspace."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from bench.team import as_url
from handrail.contract.ids import Actor
from handrail.contract.outcome import Fault, Success
from handrail.engine.events import decode_event
from handrail.runtime.hub import perform
from handrail.wiring import build_runtime
from handrail_team.accounts import credentials
from handrail_team.accounts.throttling import FREE_TRIES
from tests.journeys.test_after_a_commit import after_the_commit
from tests.surfaces.http.client import Answered
from tests.team.team_server import COST_OF_A_GUESS, ORIGIN, PAGE, PASSPHRASE, Caller, Server

CHANGES = ["team.invite", "team.set_member", "team.reset", "team.new_token", "team.revoke_token"]


def test_what_is_kept_of_a_passphrase_makes_every_guess_dear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_COST", COST_OF_A_GUESS)
    salt = b"s" * credentials.SALT_BYTES
    stretched = hashlib.scrypt(PASSPHRASE.encode(), salt=salt, n=2**15, r=8, p=1, maxmem=1 << 26)

    kept = credentials.keep_passphrase(PASSPHRASE, salt)

    assert kept == f"scrypt${salt.hex()}${stretched.hex()}"
    assert credentials.fits(PASSPHRASE, kept)


@pytest.mark.thorough
def test_somebody_joins_by_invitation_signs_in_again_and_leaves(server: Server) -> None:
    link = server.invite(server.workspace("main"), "owner")

    joined = server.sign_in("invitation", invitation=link, name="Ana Lovelace", passphrase=PASSPHRASE)
    again = server.sign_in("invitation", invitation=link, name="Eve", passphrase=PASSPHRASE)
    signed = server.sign_in("passphrase", name="ana  lovelace", passphrase=PASSPHRASE)
    wrong = server.sign_in("passphrase", name="ana lovelace", passphrase="three green words")
    nobody = server.sign_in("passphrase", name="eve", passphrase=PASSPHRASE)
    person = Caller(server, signed.document["token"], is_page=True)
    members = person.data("team.members")
    left = server.sign_in("leave", person.token)

    assert (joined.status, again.status, signed.status, left.status) == (200, 401, 200, 200)
    assert wrong.status == nobody.status == 401
    assert wrong.document["detail"] == nobody.document["detail"]
    assert [(row["name"], row["role"], row["is_me"]) for row in members["items"]] == [
        ("Ana Lovelace", "owner", True)
    ]
    server.accounts.forget()
    assert person.call("team.members").status == 401


def test_who_joined_is_in_the_audit_by_name(server: Server) -> None:
    ana = server.join(server.workspace("main"), "Ana", "owner")

    rows = ana.data("team.audit")["items"]

    assert [(row["who"], row["command"], row["code"]) for row in rows] == [("Ana", "join by invitation", "")]


@pytest.mark.thorough
def test_audit_names_who_was_changed_and_the_result(server: Server) -> None:
    workspace = server.workspace("main")
    ana = server.join(workspace, "Ana", "owner")
    server.join(workspace, "Ben")
    ben = next(row["id"] for row in ana.data("team.members")["items"] if row["name"] == "Ben")
    ana.gated("team.set_member", member=ben, role="viewer")

    rows = [row for row in ana.data("team.audit")["items"] if "set_member" in row["command"]]

    assert {row["about"] for row in rows} == {'member "Ben", role "viewer"'}
    assert sorted(row["is_dry_run"] for row in rows) == [False, True]
    assert b"viewer" in server.ask("GET", "/api/view/team", ana.token, PAGE).body.partition(b"changed")[2]


@pytest.mark.thorough
def test_who_comes_in_goes_or_fails_to_is_in_the_audit(server: Server, tmp_path: Path) -> None:
    workspace = server.workspace("main")
    ana = server.join(workspace, "Ana", "owner")
    used = server.invite(workspace)
    given = {"invitation": used, "passphrase": PASSPHRASE}
    server.sign_in("invitation", name="Ben", **given)
    server.sign_in("invitation", name="Eve", **given)
    server.sign_in("passphrase", name="Ben", passphrase="three green words")
    server.sign_in("passphrase", name="Nobody here", passphrase=PASSPHRASE)
    signed = server.sign_in("passphrase", name="Ben", passphrase=PASSPHRASE).document["token"]
    server.sign_in("leave", signed)

    rows = ana.data("team.audit")["items"]
    told = sorted((row["command"], row["who"], row["code"]) for row in rows)
    local = "".join(one.read_text(encoding="utf-8") for one in (tmp_path / "home" / "audit").iterdir())

    assert told == [
        ("join by invitation", "Ana", ""),
        ("join by invitation", "Ben", ""),
        ("join by invitation", "somebody", "E_AUTH"),
        ("sign in by passphrase", "Ben", ""),
        ("sign in by passphrase", "somebody", "E_AUTH"),
        ("sign out", "Ben", ""),
    ]
    assert 'member "Ben"' in {row["about"] for row in rows}
    assert "sign in by passphrase" in local
    assert "Nobody here" not in local


@pytest.mark.thorough
def test_guesses_with_an_invitation_slow_nobody_else_down(server: Server) -> None:
    workspace = server.workspace("main")
    server.join(workspace, "Ana")
    given = {"invitation": server.invite(workspace), "name": "Ana", "passphrase": "three green words"}

    told = [server.sign_in("invitation", **given).status for _ in range(FREE_TRIES + 1)]

    assert told == [409] * FREE_TRIES + [429]
    assert server.sign_in("passphrase", name="Ana", passphrase=PASSPHRASE).status == 200


@pytest.mark.thorough
@pytest.mark.parametrize(("operation", "given"), [("team.invite", {"name": "Eve"}), ("team.reset", {})])
def test_a_server_makes_links_to_itself_alone(server: Server, operation: str, given: dict[str, str]) -> None:
    workspace = server.workspace("main")
    ana = server.join(workspace, "Ana", "owner")
    server.join(workspace, "Ben")
    asked = {"origin": "https://elsewhere.example", "requestId": "one", "member": "Ben", **given}
    if operation == "team.invite":
        del asked["member"]

    made = ana.data(operation, **asked)

    assert made["link"].startswith(f"{ORIGIN}/join#")


def test_first_page_of_a_team_says_how_to_connect(server: Server) -> None:
    ana = server.join(server.workspace("main"), "Ana")

    page = server.ask("GET", "/api/view/sessions", ana.token, PAGE).body.decode()

    assert f"handrail login {ORIGIN}" in page
    assert "handrail team link" in page
    assert "handrail setup" not in page


def test_what_a_team_publishes_leads_to_its_own_address(server: Server) -> None:
    told = server.ask("GET", "/.well-known/lafs.json", "")

    assert told.status == 200, told.body
    assert f"{ORIGIN}/" in told.body.decode()
    assert "http://" not in told.body.decode().replace("http://json-schema.org", "")


@pytest.mark.thorough
def test_the_list_of_operations_has_what_its_reader_may_perform(server: Server) -> None:
    workspace = server.workspace("main")
    ana, eve = server.join(workspace, "Ana", "owner"), server.join(workspace, "Eve", "viewer")
    readers = {
        "owner": (ana.token, [PAGE]),
        "viewer": (eve.token, [PAGE]),
        "agent": (ana.agent("b").token, []),
    }

    listed = {
        who: {row["name"] for row in server.ask("GET", "/api", token, *more).document["operations"]}
        for who, (token, more) in readers.items()
    }

    assert {"keys.rotate", "run.answer", "run.start", "session.list"} <= listed["owner"]
    assert {"run.start", "session.list"} <= listed["agent"]
    assert not {"run.answer", "keys.rotate", "team.invite"} & listed["agent"]
    assert not {"run.start", "run.answer"} & listed["viewer"]
    assert "settings.set" not in listed["owner"]


def test_the_last_owner_is_kept_from_the_first_look_on(server: Server) -> None:
    ana = server.join(server.workspace("main"), "Ana", "owner")

    told = ana.call("team.set_member", member="Ana", role="member", dryRun=True)

    assert (told.status, told.document["detail"].partition(".")[0]) == (409, "The last owner cannot leave")


def test_what_a_token_is_for_is_named_by_a_whole_address(server: Server) -> None:
    told = server.ask("GET", "/.well-known/oauth-protected-resource/mcp", "").document

    assert told["resource"] == f"{ORIGIN}/mcp"


def test_person_confirms_the_work_of_their_agent(server: Server) -> None:
    ana = server.join(server.workspace("main"), "Ana", "owner")
    agent = ana.agent("builder-3", machine="laptop-7")

    started = agent.start()
    bodies = [
        decode_event(record.body)
        for record in server.accounts.adapters(ana.data("team.members")["workspace_id"])["log"]
        .load(started["session"]["sessionId"])
        .records
    ]

    account = ana.data("team.members")["items"][0]["id"]
    assert {one.actor for one in bodies} == {Actor(id=account, kind="agent", machine="laptop-7")}
    assert agent.call("session.list").status == 200
    assert agent.tool("list_workflows").status == 200


@pytest.mark.thorough
def test_the_page_of_a_team_offers_what_its_reader_may(server: Server) -> None:
    workspace = server.workspace("main")
    ana, ben = server.join(workspace, "Ana", "owner"), server.join(workspace, "Ben", "viewer")
    ana.agent("builder-3")

    seen = [server.ask("GET", "/api/view/team", one.token, PAGE).body.decode() for one in (ana, ben)]

    assert all("Ana" in page and "Ben" in page for page in seen)
    offered = [[name for name in CHANGES if f'data-operation="{name}"' in page] for page in seen]
    assert offered == [CHANGES, ["team.revoke_token"]]
    assert [("builder-3" in page, "What was changed" in page) for page in seen] == [
        (True, True),
        (False, False),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["/api/session.list", "/mcp", "/api/feed", "/api/view/sessions", "/api"])
@pytest.mark.parametrize("token", ["", "hra_unknown", "hrp_unknown", "x"])
def test_without_a_credential_nothing_answers(server: Server, target: str, token: str) -> None:
    told = server.ask("POST" if target in ("/mcp", "/api/session.list") else "GET", target, token, body={})

    assert told.status == 401
    assert (told.header("www-authenticate") or "").startswith("Bearer")


@pytest.mark.thorough
def test_a_member_that_changed_after_the_check_is_left_as_it_is(server: Server) -> None:
    workspace = server.workspace("main")
    ana = server.join(workspace, "Ana", "owner")
    server.join(workspace, "Ben", "member")
    directory = server.accounts.directory
    found = directory.find_member(workspace, "Ben")
    ana.gated("team.set_member", member="Ben", role="admin")

    with pytest.raises(Fault) as raised:
        directory.set_member(workspace, found, None)

    assert raised.value.details["reason"] == "target_changed"
    assert directory.find_member(workspace, "Ben").role == "admin"


@pytest.mark.thorough
def test_erased_account_loses_its_name_and_keeps_its_work(
    server: Server,
) -> None:
    """An erased account loses its name with its last workspace and keeps what it did."""
    main, second = server.workspace("main"), server.workspace("second")
    ana, ben = server.join(main, "Ana", "owner"), server.join(main, "Ben")
    begun = ben.agent("builder").start()
    account = next(row["id"] for row in ana.data("team.members")["items"] if row["name"] == "Ben")
    directory = server.accounts.directory
    directory.database.within(second).write(lambda link: directory._join(link, account, second, "member"))
    names = "SELECT name, sign_in, passphrase IS NULL FROM handrail.accounts WHERE account = %s"

    ana.gated("team.set_member", member="Ben", erase=True)
    (kept,) = directory._anywhere.fetch(names, (account,))
    directory.erase(second, directory.find_member(second, account))
    (cleared,) = directory._anywhere.fetch(names, (account,))

    assert (kept, cleared) == (("Ben", "ben", False), ("", None, True))
    assert server.sign_in("passphrase", name="Ben", passphrase=PASSPHRASE).status == 401
    server.accounts.forget()
    assert ben.call("session.list").status == 401
    session = begun["session"]["sessionId"]
    page = server.ask("GET", f"/api/view/sessions/{session}", ana.token, PAGE).body.decode()
    assert f"of {account}" in page
    assert "Ben" not in page


def test_a_change_whose_answer_cannot_be_made_is_told_as_made(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = server.join(server.workspace("main"), "Ana", "owner")

    def broken(*_: Any, **__: Any) -> Any:
        raise MemoryError

    def breaks() -> None:
        monkeypatch.setattr("handrail.runtime.hub.disclose", broken)
        monkeypatch.setattr(server.runtime.incidents, "record", lambda *_, **__: "")

    with after_the_commit(breaks):
        told = ana.data("team.invite", name="Ben", requestId="ben")
    monkeypatch.undo()

    assert told["committed"] is True
    assert ana.call(told["read"]["operation"], **told["read"]["params"]).status == 200


def accept(server: Server, workspace: str, name: str, passphrase: str) -> Answered:
    return server.sign_in("invitation", invitation=server.invite(workspace), name=name, passphrase=passphrase)


@pytest.mark.thorough
def test_one_account_signs_in_to_two_workspaces(server: Server) -> None:
    """One person is one account in two workspaces and signs in to each."""
    main, second = server.workspace("main"), server.workspace("second")
    ana = server.join(main, "Ana", "owner")

    wrong = accept(server, second, "ana", "some other words")
    joined = accept(server, second, "ana", PASSPHRASE)
    there = Caller(server, joined.document["token"], is_page=True)

    assert (wrong.status, joined.status) == (409, 200)
    assert [row["name"] for row in there.data("team.workspaces")["items"]] == ["main", "second"]
    mine = [next(row for row in one.data("team.members")["items"] if row["is_me"]) for one in (ana, there)]
    assert mine[0]["id"] == mine[1]["id"]
    assert (mine[0]["role"], mine[1]["role"]) == ("owner", "member")
    for name in ("main", "second"):
        assert server.sign_in("passphrase", name="Ana", passphrase=PASSPHRASE, workspace=name).status == 200


@pytest.mark.thorough
def test_passphrase_link_ends_when_its_person_joins_another(server: Server) -> None:
    main, second = server.workspace("main"), server.workspace("second")
    ben = server.join(main, "Ben", "owner")
    server.join(main, "Ana")
    link = ben.data("team.reset", member="Ana", requestId="reset")["link"]
    joined = accept(server, second, "Ana", PASSPHRASE)

    used = server.sign_in(
        "invitation", invitation=link.partition("=")[2], name="Ana", passphrase="chosen by an admin"
    )

    assert (joined.status, used.status) == (200, 401)
    assert server.sign_in("passphrase", name="Ana", passphrase=PASSPHRASE).status == 200


@pytest.mark.thorough
def test_a_link_to_a_new_passphrase_is_for_one_name(server: Server) -> None:
    main = server.workspace("main")
    ben = server.join(main, "Ben", "owner")
    server.join(main, "Ana")
    link = ben.data("team.reset", member="Ana", requestId="reset")["link"]
    given = {"invitation": link.partition("=")[2], "passphrase": "other three words"}

    told = [server.sign_in("invitation", name=name, **given).status for name in ("Vic", "Ben", "Ana", "Ana")]

    assert told == [409, 409, 200, 401]
    assert server.sign_in("passphrase", name="Ana", passphrase=given["passphrase"]).status == 200


@pytest.mark.thorough
def test_links_of_the_operator_lead_to_the_newest_server(
    server: Server, team_database: str, tmp_path: Path
) -> None:
    server.workspace("main")
    local = build_runtime({"HANDRAIL_PROJECT": str(tmp_path)}, home=str(tmp_path / "operator"))

    def invite(name: str, **more: str) -> str:
        store = as_url(team_database)
        told = perform(local, "team.invite", {"name": name, "requestId": name, "store": store, **more})
        assert isinstance(told, Success), told
        assert isinstance(told.data, dict)
        return str(told.data["link"]).partition("/join#")[0]

    before = invite("a")
    server.accounts.directory.keep_origin("https://team.example.com")

    assert (before, invite("b")) == ("http://127.0.0.1:7245", "https://team.example.com")
    assert invite("c", origin="https://other.example.com") == "https://other.example.com"


@pytest.mark.thorough
def test_trying_foreign_names_slows_the_whole_workspace(server: Server) -> None:
    main, other = server.workspace("main"), server.workspace("other")
    for number in range(FREE_TRIES + 1):
        server.join(main, f"Person {number}")

    told = [accept(server, other, f"Person {number}", PASSPHRASE + "x") for number in range(FREE_TRIES + 1)]
    elsewhere = accept(server, main, "Somebody new", PASSPHRASE)

    assert [one.status for one in told] == [409] * FREE_TRIES + [429]
    assert elsewhere.status == 200
