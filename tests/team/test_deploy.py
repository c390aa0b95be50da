"""What stands in deploy/ is what the program reads: flags, addresses, variables, times, copied files."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from handrail_serve.command import take_team_options
from handrail_serve.limits import DRAIN_SECONDS
from tests.referees.equipment import ROOT
from tests.team.postgres import as_url
from tests.team.team_process import TeamServer

DEPLOY = Path(ROOT) / "deploy"
HOW_TO = (Path(ROOT) / "docs/how-to/deploy-a-team-server.md").read_text(encoding="utf-8")
COMPOSE: Any = YAML(typ="safe").load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
UNIT = (DEPLOY / "handrail-team.service").read_text(encoding="utf-8")
VARIABLE = re.compile(r"\$\{(\w+)(?::[-?]([^}]*))?\}")


def fill(text: str, **given: str) -> list[str]:
    """The words of a command with its variables filled in, as Compose and systemd do."""
    return shlex.split(VARIABLE.sub(lambda found: given.get(found[1]) or found[2] or "", text))


def test_every_variable_of_the_files_is_told_in_the_how_to() -> None:
    server = COMPOSE["services"]["handrail"]
    named = {found[1] for found in VARIABLE.finditer(server["command"] + UNIT)}

    assert named == {"HANDRAIL_ORIGIN", "HANDRAIL_PROXY"}
    assert all(f"`{name}`" in HOW_TO for name in named)
    assert {"HANDRAIL_STORE", "HANDRAIL_HOME", "PGPASSFILE"} == set(server["environment"])
    assert all(f"{name}=" in HOW_TO for name in ("HANDRAIL_STORE", "HANDRAIL_ORIGIN"))
    assert all(
        "LoadCredential=database-password:/etc/handrail/database-password" in one for one in (UNIT, HOW_TO)
    )


def test_compose_file_fits_together() -> None:
    """Secrets, volumes and ports of the compose file fit together."""
    services = COMPOSE["services"]
    database, server = services["database"], services["handrail"]

    for service in services.values():
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
        assert {one.split(":")[0] for one in service["volumes"]} <= set(COMPOSE["volumes"])
    assert all(one["file"].endswith(".secret") for one in COMPOSE["secrets"].values()), "git ignores those"
    assert all(Path(one["file"]).name in HOW_TO for one in COMPOSE["secrets"].values())
    assert server["environment"]["PGPASSFILE"] == f"/run/secrets/{server['secrets'][0]}"
    assert database["environment"]["POSTGRES_PASSWORD_FILE"] == f"/run/secrets/{database['secrets'][0]}"
    home = server["environment"]["HANDRAIL_HOME"]
    assert home in [one.split(":")[1] for one in server["volumes"]], "the rest is read-only"
    assert server["environment"]["HANDRAIL_STORE"].split("@")[1].split("/")[0] == "database"
    (gateway,) = [one["gateway"] for one in COMPOSE["networks"]["default"]["ipam"]["config"]]
    words = fill(server["command"], HANDRAIL_ORIGIN="https://handrail.example.com")
    assert words[words.index("--proxy") + 1] == f"127.0.0.1,{gateway}"
    port = words[words.index("--port") + 1]
    assert server["ports"] == [f"127.0.0.1:{port}:{port}"]
    assert f":{port}/health/ready" in server["healthcheck"]["test"][-1]


def test_a_server_has_time_to_drain() -> None:
    unit = dict(line.split("=", 1) for line in UNIT.splitlines() if "=" in line and line[0] != "#")

    assert int(COMPOSE["services"]["handrail"]["stop_grace_period"].removesuffix("s")) > DRAIN_SECONDS
    assert int(unit["TimeoutStopSec"]) > DRAIN_SECONDS


def test_image_has_the_whole_package_and_no_secret() -> None:
    """The image is built of all that the package needs and of no secret."""
    build = COMPOSE["services"]["handrail"]["build"]
    copied = re.findall(r"^COPY (.+) \S+$", build["dockerfile_inline"], re.MULTILINE)
    sources = {(DEPLOY / build["context"] / name).resolve() for line in copied for name in line.split()}
    links = [path for path in (Path(ROOT) / "src").rglob("*") if path.is_symlink()]

    assert links, "the package has parts that live elsewhere in the repository"
    for path in links:
        target = path.resolve()
        assert target in sources or sources & set(target.parents), f"{target} is not copied"
    assert not any((DEPLOY.resolve() / "x").is_relative_to(one) for one in sources), "secrets stay outside"


@pytest.mark.thorough
def test_command_and_health_check_of_the_compose_file_work(team_database: str, tmp_path: Path) -> None:
    server = COMPOSE["services"]["handrail"]
    words = fill(server["command"], HANDRAIL_ORIGIN="https://handrail.example.com")
    given = dict(zip(words[3::2], words[4::2], strict=True))
    told = {"team": True, "origin": given["--origin"], "proxy": given["--proxy"]}
    check = server["healthcheck"]["test"]

    options = take_team_options(told, server["environment"])
    # It prints where it listens only where it has no other address.
    started = TeamServer(
        tmp_path / "home", as_url(team_database), "--host", given["--host"], "--proxy", given["--proxy"]
    )
    try:
        port = started.address.rsplit(":", 1)[1].strip("/")
        script = check[-1].replace(":7245", f":{port}")
        done = subprocess.run(
            [sys.executable, *check[2:-1], script], env={"PATH": os.environ["PATH"]}, timeout=60, check=False
        )
    finally:
        started.stop()

    assert words[:3] == ["handrail", "serve", "--team"]
    assert set(given) == {"--host", "--port", "--origin", "--proxy"}
    assert options is not None
    assert options.store == "postgresql://handrail@database/handrail"
    assert done.returncode == 0
