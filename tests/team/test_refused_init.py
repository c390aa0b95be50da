"""A refused `team init` leaves nothing behind, and an erased person leaves the name nowhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.team.postgres import as_url
from tests.team.team_server import Server


def list_schemas(address: str) -> list[str]:
    with psycopg.connect(address) as link:
        return [row[0] for row in link.execute("SELECT nspname FROM pg_namespace WHERE nspname = 'handrail'")]


@pytest.mark.promise("team.init-refused")
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
    """Everything that the tables of the team hold, as text."""
    database: Any = server.door.directory._anywhere
    tables = database.fetch(
        "SELECT table_name, column_name, data_type FROM information_schema.columns"
        " WHERE table_schema = 'handrail'"
    )
    found: list[str] = []
    for table, column, kind in tables:
        value = f"encode({column}, 'escape')" if kind == "bytea" else f"{column}::text"
        rows = database.fetch(f"SELECT {value} FROM handrail.{table}")
        found += [f"{table}.{column}: {row[0]}" for row in rows if row[0] is not None]
    return "\n".join(found)


@pytest.mark.promise("team.erased")
def test_an_erased_person_leaves_the_name_nowhere(server: Server) -> None:
    main = server.workspace("main")
    ana = server.join(main, "Ana", "owner")
    ana.data("team.invite", name="Bernadette", requestId="invite")
    bernadette = server.join(main, "Bernadette")
    bernadette.data("team.new_token", name="Bernadette builds", requestId="token")
    ana.gated("team.set_member", member="Bernadette", role="admin")
    server.sign_in("passphrase", name="Bernadette", passphrase="wrong in every way")
    account = next(row["id"] for row in ana.data("team.members")["items"] if row["name"] == "Bernadette")
    old = {"command": "team.set_member", "args": {"member": "Bernadette", "note": "for BERNADETTE, please"}}
    database: Any = server.door.directory.database.within(main)
    database.send(
        (
            "INSERT INTO handrail.audit (id, month, at, line) VALUES ('old', '2026-01', '2026-01-01', %s)",
            (json.dumps(old).encode(),),
        )
    )
    assert "bernadette" in every_text(server).lower()

    ana.gated("team.set_member", member=account, erase=True)

    assert [line for line in every_text(server).lower().splitlines() if "bernadette" in line] == []
    rows = ana.data("team.audit")["items"]
    assert rows, "the lines stay, with the account"
