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
from tests.updates.releases import NEW, OLD, Index, Installation, wheel

pytestmark = pytest.mark.thorough

NOWHERE = "http://127.0.0.1:9/simple"


def check_updated(installed: Installation, method: str, *command: str) -> None:
    told = data(installed.run("update"))

    assert (told["install_method"], told["status"]) == (method, "updated")
    assert (told["previous_version"], told["current_version"]) == (OLD, NEW)
    assert told["command"][1 : len(command) + 1] == list(command)
    assert installed.version() == NEW


def check_named(installed: Installation, *command: str) -> None:
    """Back to the older release, by its name."""
    told = data(installed.run("update", "--target-version", OLD))

    assert (told["status"], told["previous_version"], told["current_version"]) == ("updated", NEW, OLD)
    assert told["command"][1 : len(command) + 1] == list(command)
    assert told["command"][-1] == f"handrail=={OLD}"


@pytest.mark.other_manager
@pytest.mark.promise("cli.update-manager")
def test_pipx_brings_the_newest_release_and_the_one_that_is_named(tmp_path: Path, index: Index) -> None:
    installed = Installation(tmp_path, index).by_pipx("uv")

    check_updated(installed, "pipx", "upgrade", "handrail")
    check_named(installed, "install", "--force")


@pytest.mark.other_manager
@pytest.mark.promise("cli.update-manager")
def test_pipx_does_so_by_pip_as_well(tmp_path: Path, index: Index) -> None:
    installed = Installation(tmp_path, index).by_pipx("pip")
    del installed.environment["UV_DEFAULT_INDEX"]

    check_updated(installed, "pipx", "upgrade", "handrail")


@pytest.mark.promise("cli.update-manager")
def test_pip_brings_the_newest_release_and_the_one_that_is_named(pip: Installation, index: Index) -> None:
    pip.environment["PIP_INDEX_URL"] = index.url

    check_updated(pip, "pip", "-P", "-m", "pip", "install", "--upgrade", "handrail")
    check_named(pip, "-P", "-m", "pip", "install", "--upgrade")


@pytest.mark.promise("cli.update-manager")
def test_an_environment_without_pip_is_brought_there_by_uv(venv: Installation) -> None:
    check_updated(venv, "pip", "pip", "install", "--python", str(venv.python), "--upgrade")
    check_named(venv, "pip", "install", "--python", str(venv.python))


def test_after_a_named_release_a_uv_tool_can_have_the_newest_again(tmp_path: Path, index: Index) -> None:
    """uv remembers the name as a pin, over which its own upgrade does nothing."""
    installed = Installation(tmp_path, index).by_uv_tool(NEW)
    check_named(installed, "tool", "install", "--refresh")

    told = data(installed.run("update"))

    assert (told["current_version"], told["command"][-1]) == (NEW, "handrail@latest")


@pytest.mark.parametrize("shown", [("--human",), ("--envelope", "lafs"), ("--field", "current_version")])
def test_the_old_program_tells_of_the_new_one_without_loading_any_of_it(
    venv: Installation, shown: tuple[str, ...]
) -> None:
    """Modules of the newer release refuse to be loaded into a process of the older one."""
    ran = venv.run("update", *shown)

    assert (ran.status, NEW in ran.out.decode()) == (0, True), ran
    assert venv.version() == NEW


@pytest.mark.parametrize("shown", ["--human", "--json"])
def test_nor_when_it_tells_of_half_an_update(venv: Installation, tmp_path: Path, shown: str) -> None:
    foreign = tmp_path / ".agents/skills/handrail"
    foreign.mkdir(parents=True)

    ran = venv.run("update", shown, environment={"HOME": str(tmp_path)})

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

    ran = pip.run("update", environment={"PIP_INDEX_URL": index.url}, cwd=tmp_path)

    assert data(ran)["current_version"] == NEW
    assert b"checkout ran" not in ran.err


def test_a_password_in_an_address_reaches_the_index_and_no_output(venv: Installation, index: Index) -> None:
    index.credentials = "agent:pw!9x"  # shorter than what is looked for by value alone
    home = venv.home / ".handrail"
    home.mkdir(exist_ok=True)
    address = index.url.replace("://", "://agent:pw%219x@")
    (home / "config.json").write_text(json.dumps({"update": {"index": address}}), encoding="utf-8")

    ran = [venv.run("update", "--check"), venv.run("update", "--dry-run", "--human"), venv.run("update")]
    (home / "config.json").unlink()
    kept = b"".join(file.read_bytes() for file in home.rglob("*") if file.is_file())

    assert (data(ran[0])["target_version"], data(ran[2])["current_version"]) == (NEW, NEW)
    written = kept + b"".join(one.out + one.err for one in ran)
    assert not [form for form in (b"pw!9x", b"pw%219x", b"cHchOXg") if form in written]
    assert {held for _, held in index.seen if held} == {"agent:pw!9x"}


def stand_in(folder: Path, installed: Installation, script: str) -> dict[str, str]:
    """An environment in which this shell script is called uv."""
    (folder / "uv").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / "uv").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{installed.environment['PATH']}"}


def test_a_password_is_no_argument_that_others_could_see(
    venv: Installation, index: Index, tmp_path: Path
) -> None:
    index.credentials = "agent:open-sesame"
    address = index.url.replace("://", "://agent:open-sesame@")
    (tmp_path / "home").mkdir()
    own = json.dumps({"update": {"index": address}})
    (tmp_path / "home/config.json").write_text(own, encoding="utf-8")
    environment = stand_in(tmp_path, venv, f'echo "$@" >"{tmp_path}/seen"; env >"{tmp_path}/held"')

    error(venv.run("update", environment={**environment, "HANDRAIL_HOME": str(tmp_path / "home")}), "E_IO")

    seen = (tmp_path / "seen").read_text(encoding="utf-8")
    assert seen.split()[-1] == "handrail"
    assert "sesame" not in seen
    assert f"UV_DEFAULT_INDEX={address}\n" in (tmp_path / "held").read_text(encoding="utf-8")


def test_a_release_that_came_out_meanwhile_is_as_good(
    venv: Installation, index: Index, tmp_path: Path
) -> None:
    """Unless one was named: then only that one is."""
    index.rows = {NEW: {"yanked": True}}
    between = wheel(tmp_path, "0.2.0")
    index.wheels[between.name] = between
    real = f'PATH="{venv.environment["PATH"]}" uv pip install --python "{venv.python}" handrail=={NEW}'
    environment = stand_in(tmp_path, venv, real)

    newest = venv.run("update", environment=environment)
    named = venv.as_before().run("update", "--target-version", "0.2.0", environment=environment)
    del index.wheels[between.name]

    assert (data(newest)["status"], data(newest)["current_version"]) == ("updated", NEW)
    details = error(named, "E_IO")
    assert (details["current_version"], details["target_version"]) == (NEW, "0.2.0")
    assert details["binary_replaced"] is True


def test_a_failed_manager_is_told_without_the_passwords_it_prints(
    installation: Installation, index: Index, tmp_path: Path
) -> None:
    index.credentials = "agent:open-sesame"
    lines = 'echo "cannot reach https://agent:s3cr3t@example.org/simple"; echo "tried open-sesame"; exit 2'
    environment = stand_in(tmp_path, installation, lines)
    address = index.url.replace("://", "://agent:open-sesame@")

    ran = installation.run("update", environment={**environment, "UV_DEFAULT_INDEX": address})

    assert error(ran, "E_IO")["cause"] == "exit 2"
    assert b"https://[redacted]@example.org/simple\ntried [redacted]\n" in ran.err
    assert b"s3cr3t" not in ran.out + ran.err
    manager = tmp_path / "uv"
    assert strict_json(ran.out)["error"]["details"]["command"][0] == str(manager)
