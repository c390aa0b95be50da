"""Each package manager as it is, from the older release to the newest one.

uv, pipx (with either of its backends) and pip run for real, against an index on loopback.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.surfaces.cli.tool import strict_json
from tests.updates.answers import data, error
from tests.updates.releases import NEW, OLD, Index, Installation

pytestmark = pytest.mark.thorough

NOWHERE = "http://127.0.0.1:9/simple"


def check_updated(installed: Installation, method: str, *command: str) -> None:
    told = data(installed.run("update"))

    assert (told["install_method"], told["status"]) == (method, "updated")
    assert (told["previous_version"], told["current_version"]) == (OLD, NEW)
    assert told["command"][1 : len(command) + 1] == list(command)
    assert installed.version() == NEW


def check_named(installed: Installation) -> None:
    """Back to the older release, by its name."""
    told = data(installed.run("update", "--target-version", OLD))

    assert (told["status"], told["previous_version"], told["current_version"]) == ("updated", NEW, OLD)
    assert f"handrail-{OLD}-py3-none-any.whl#sha256=" in told["command"][-1]


@pytest.mark.other_manager
@pytest.mark.promise("cli.update-manager")
@pytest.mark.parametrize("backend", ["uv", "pip"])
def test_pipx_installs_the_file_of_the_release(tmp_path: Path, index: Index, backend: str) -> None:
    installed = Installation(tmp_path, index).by_pipx(backend)

    check_updated(installed, "pipx", "install", "--force")
    check_named(installed)


@pytest.mark.promise("cli.update-manager")
def test_pip_installs_the_file_of_the_release(pip: Installation, index: Index) -> None:
    check_updated(pip, "pip", "-P", "-m", "pip", "install")
    check_named(pip)


@pytest.mark.promise("cli.update-manager")
def test_uv_installs_the_file_where_there_is_no_pip(venv: Installation) -> None:
    check_updated(venv, "pip", "pip", "install", "--python", str(venv.python))
    check_named(venv)


def test_a_uv_tool_goes_back_and_forth(tmp_path: Path, index: Index) -> None:
    installed = Installation(tmp_path, index).by_uv_tool(NEW)

    check_named(installed)
    check_updated(installed, "uv-tool", "tool", "install")


@pytest.mark.parametrize("shown", [("--human",), ("--envelope", "lafs"), ("--field", "current_version")])
def test_old_program_loads_nothing_of_the_new_one(venv: Installation, shown: tuple[str, ...]) -> None:
    """Modules of the newer release refuse to be loaded into a process of the older one."""
    ran = venv.run("update", *shown)

    assert (ran.status, NEW in ran.out.decode()) == (0, True), ran
    assert venv.version() == NEW


@pytest.mark.parametrize("shown", ["--human", "--json"])
def test_nor_when_it_tells_of_half_an_update(venv: Installation, tmp_path: Path, shown: str) -> None:
    foreign = tmp_path / ".agents/skills/handrail"
    foreign.mkdir(parents=True)

    environment = {"HOME": str(tmp_path), "HANDRAIL_HOME": str(venv.home / ".handrail")}
    ran = venv.run("update", shown, environment=environment)

    assert (ran.status, venv.version()) == (1, NEW)
    assert f"Handrail is at {NEW}, but its skill is not" in (ran.out + ran.err).decode()


def test_a_checkout_cannot_lead_an_update_astray(pip: Installation, index: Index, tmp_path: Path) -> None:
    """Managers take settings, and Python takes modules, from the directory they are started in."""
    (tmp_path / "pip.py").write_text("raise SystemExit('a module of the checkout ran')", encoding="utf-8")
    table = f'[[index]]\nurl = "{NOWHERE}"\ndefault = true\n'
    (tmp_path / "uv.toml").write_text(table, encoding="utf-8")
    (tmp_path / ".handrail").mkdir()
    own = json.dumps({"update": {"index": NOWHERE}})
    (tmp_path / ".handrail/config.json").write_text(own, encoding="utf-8")

    ran = pip.run("update", cwd=tmp_path)

    assert data(ran)["current_version"] == NEW
    assert b"checkout ran" not in ran.err


def stand_in(folder: Path, installed: Installation, script: str) -> dict[str, str]:
    """An environment in which this shell script is called uv."""
    (folder / "uv").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "uv").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{installed.environment['PATH']}"}


def test_failed_manager_is_told_without_its_passwords(
    installation: Installation, index: Index, tmp_path: Path
) -> None:
    lines = 'echo "cannot reach https://agent:s3cr3t@example.org/simple"; exit 2'
    environment = stand_in(tmp_path, installation, lines)

    ran = installation.run("update", environment=environment)

    assert error(ran, "E_IO")["cause"] == "exit 2"
    assert b"https://[redacted]@example.org/simple\n" in ran.err
    assert b"s3cr3t" not in ran.out + ran.err
    manager = tmp_path / "uv"
    assert strict_json(ran.out)["error"]["details"]["command"][0] == str(manager)
