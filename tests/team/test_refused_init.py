"""A refused `team init` leaves nothing behind, and an erased person leaves the name nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.team.postgres import as_url
from tests.team.team_server import Server


def list_schemas(address: str) -> list[str]:
    with psycopg.connect(address) as link:
        return [row[0] for row in link.execute("SELECT nspname FROM pg_namespace WHERE nspname = 'handrail'")]


@pytest.mark.parametrize("flags", [(), ("--dry-run",)])
def test_init_as_a_superuser_leaves_nothing(database: str, tmp_path: Path, flags: tuple[str, ...]) -> None:
    environment = {
        "HANDRAIL_HOME": str(tmp_path / "home"),
        "HANDRAIL_STORE": as_url(database),
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
    }
    words = ["team", "init", "--request-id", "first", *flags]
    done = subprocess.run(
        [sys.executable, "-m", "handrail.main", *words],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert done.returncode != 0
    assert "superuser" in json.loads(done.stdout)["error"]["message"]
    assert list_schemas(database) == []


def every_text(server: Server) -> str:
    """Everything that the tables of the team hold, as text: in every workspace and between them."""
    directory: Any = server.accounts.directory
    database: Any = directory.database
    places = [directory._anywhere, *(database.within(one.id) for one in directory.workspaces())]
    return "\n".join(text for place in places for text in list_texts(place))


def list_texts(database: Any) -> list[str]:
    tables = database.fetch(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = 'handrail'"
    )
    found: list[str] = []
    for table, column, kind in tables:
        value = f"encode({column}, 'escape')" if kind == "bytea" else f"{column}::text"
        rows = database.fetch(f"SELECT {value} FROM handrail.{table}")
        found += [f"{table}.{column}: {row[0]}" for row in rows if row[0] is not None]
    return found


@pytest.mark.parametrize("asked", ["id", "name"])
def test_an_erased_person_leaves_the_name_nowhere(server: Server, asked: str) -> None:
    """Also not as a digest, from which a short text can be guessed."""
    main = server.workspace("main")
    ana = server.join(main, "Ana", "owner")
    ana.data("team.invite", name="Bernadette", requestId="invite")
    bernadette = server.join(main, "Bernadette")
    bernadette.data("team.new_token", name="Bernadette builds", requestId="token")
    ana.gated("team.set_member", member="Bernadette", role="admin")
    server.sign_in("passphrase", name="Bernadette", passphrase="wrong in every way")
    account = next(row["id"] for row in ana.data("team.members")["items"] if row["name"] == "Bernadette")
    old = {"command": "team.set_member", "args": {"member": "Bernadette", "note": "for BERNADETTE, please"}}
    database: Any = server.accounts.directory.database.within(main)
    database.send(
        (
            "INSERT INTO handrail.audit (id, month, at, line) VALUES ('old', '2026-01', '2026-01-01', %s)",
            (json.dumps(old).encode(),),
        )
    )
    before = every_text(server).lower()
    assert "for bernadette, please" in before
    assert sha256(b"Bernadette").hexdigest() in before

    ana.gated("team.set_member", member=account if asked == "id" else "Bernadette", erase=True)

    digests = [sha256(name.encode()).hexdigest() for name in ("Bernadette", "bernadette")]
    kept = every_text(server).lower().splitlines()
    assert [line for line in kept if any(one in line for one in ("bernadette", *digests))] == []
    rows = ana.data("team.audit")["items"]
    assert rows, "the lines stay, with the account"


AUDIT = "INSERT INTO handrail.audit (id, month, at, line) VALUES (%s, '2026-01', '2026-01-01', %s)"


def put_line(server: Server, workspace: str, name: str, line: dict[str, Any]) -> None:
    database: Any = server.accounts.directory.database.within(workspace)
    database.send((AUDIT, (name, json.dumps(line).encode())))


def read_line(server: Server, workspace: str, name: str) -> Any:
    database: Any = server.accounts.directory.database.within(workspace)
    return json.loads(bytes(database.fetch("SELECT line FROM handrail.audit WHERE id = %s", (name,))[0][0]))


def test_erasing_a_name_like_a_word_changes_no_history(server: Server) -> None:
    """A name may be `team` or `2`: what Handrail wrote in the line stays, and so do other workspaces."""
    main, other = server.workspace("main"), server.workspace("other")
    ana = server.join(main, "Ana", "owner")
    bea = server.join(other, "Bea", "owner")
    bea.data("team.new_token", name="team builds", requestId="token")
    line = {"at": "2026-01-01", "command": "team.invite", "args": {"note": "a teammate", "days": 2}}
    put_line(server, main, "old", line)
    put_line(server, other, "elsewhere", line | {"args": {"note": "for team"}})
    for name in ("team", "2"):
        server.join(main, name)
        ana.gated("team.set_member", member=name, erase=True)

    assert read_line(server, main, "old") == line
    assert read_line(server, other, "elsewhere")["args"] == {"note": "for team"}
    assert [row["name"] for row in bea.data("team.tokens")["items"] if row["name"]] == ["team builds"]


def test_erasing_takes_machines_and_quoted_names_along(server: Server) -> None:
    """Machines are named after people, and a name with a quotation mark is spelled otherwise in a line."""
    main = server.workspace("main")
    ana = server.join(main, "Ana", "owner")
    quoted = server.join(main, 'Ber"nadette')
    quoted.data("team.new_token", name="builds", machine="Bernadettes-Book", requestId="Bernadettes-token")
    account = next(row["id"] for row in ana.data("team.members")["items"] if row["name"] != "Ana")
    called = {"command": "check.run on Bernadettes-Book", "account": account, "args": {}}
    put_line(server, main, "called", called)
    put_line(server, main, "quoted", {"command": "x", "account": "", "args": {"path": 'a/Ber"nadette/b'}})

    ana.gated("team.set_member", member=account, erase=True)

    assert read_line(server, main, "called")["command"] == "check.run"
    assert read_line(server, main, "quoted")["args"] == {"path": f"a/{account}/b"}
    assert [line for line in every_text(server).splitlines() if "nadette" in line.lower()] == []
