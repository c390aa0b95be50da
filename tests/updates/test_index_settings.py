"""The index that people configured for their manager is the one that is asked; no second one to maintain.

What a manager tells is shown in `tests/host/test_index_sources.py`; here it is really used.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.updates.answers import data, error
from tests.updates.releases import NEW, Index, Installation

pytestmark = pytest.mark.thorough

NOWHERE = "http://127.0.0.1:9/simple"
UV_DEFAULTS = ("UV_DEFAULT_INDEX", "UV_NO_CONFIG")


def notes_at(installed: Installation, environment: dict[str, str], *without: str) -> str:
    ran = installed.run("update", "--dry-run", environment=environment, without=without)
    return str(data(ran)["target_version"])


def test_a_file_of_uv_names_the_index_and_uv_takes_the_release_from_there(
    venv: Installation, index: Index, tmp_path: Path
) -> None:
    (tmp_path / "uv").mkdir()
    table = f'[[index]]\nurl = "{index.url}"\ndefault = true\n'
    (tmp_path / "uv/uv.toml").write_text(table, encoding="utf-8")
    (tmp_path / "own.toml").write_text(table, encoding="utf-8")

    of_the_user = notes_at(venv, {"XDG_CONFIG_HOME": str(tmp_path)}, *UV_DEFAULTS)
    named = {"UV_CONFIG_FILE": str(tmp_path / "own.toml")}
    updated = data(venv.run("update", environment=named, without=UV_DEFAULTS))

    assert (of_the_user, updated["current_version"]) == (NEW, NEW)


def test_the_receipt_of_a_uv_tool_names_the_index(installation: Installation) -> None:
    assert notes_at(installation, {}, *UV_DEFAULTS) == NEW


def test_uv_stops_at_the_first_index_that_knows_the_package(
    venv: Installation, index: Index, tmp_path: Path
) -> None:
    """And goes on after one that does not."""
    other = Index(tmp_path, versions=())
    both = {"UV_INDEX": other.url, "UV_DEFAULT_INDEX": index.url}

    other.trouble = {"status": 404}
    after_a_silent_one = notes_at(venv, both)
    other.trouble = {"body": (b'{"files": []}', "application/json")}
    after_an_empty_one = venv.run("update", "--dry-run", environment=both)
    other.close()

    assert after_a_silent_one == NEW
    assert error(after_an_empty_one, "E_NOT_FOUND")["stage"] == "discover"


@pytest.mark.other_manager
def test_pip_takes_the_release_from_a_directory(pip: Installation, index: Index, tmp_path: Path) -> None:
    for file in index.wheels.values():
        os.link(file, tmp_path / file.name)
    links = {"PIP_FIND_LINKS": str(tmp_path), "PIP_NO_INDEX": "1"}

    assert data(pip.run("update", environment=links))["current_version"] == NEW


@pytest.mark.parametrize("has_page", [True, False])
def test_an_index_may_be_files(pip: Installation, index: Index, tmp_path: Path, has_page: bool) -> None:
    simple = tmp_path / "simple/handrail"
    simple.mkdir(parents=True)
    for file in index.wheels.values():
        os.link(file, simple / file.name)
    links = [f'<a href="{file.name}">{file.name}</a>' for file in index.wheels.values()]
    if has_page:
        (simple / "index.html").write_text(f"<!DOCTYPE html>{''.join(links)}", encoding="utf-8")

    assert notes_at(pip, {"PIP_INDEX_URL": (tmp_path / "simple").as_uri()}) == NEW


def test_pip_looks_at_every_index_and_one_in_trouble_hides_no_other(pip: Installation, index: Index) -> None:
    both = {"PIP_INDEX_URL": NOWHERE, "PIP_EXTRA_INDEX_URL": index.url}

    assert notes_at(pip, both) == NEW


def test_our_own_setting_stands_before_everything_else(installation: Installation, index: Index) -> None:
    home = installation.home / ".handrail"
    home.mkdir(exist_ok=True)
    (home / "config.json").write_text(json.dumps({"update": {"index": index.url}}), encoding="utf-8")

    ran = installation.run("update", "--dry-run", environment={"UV_DEFAULT_INDEX": NOWHERE})
    (home / "config.json").unlink()

    assert data(ran)["target_version"] == NEW
    assert data(ran)["command"][-3:] == ["--default-index", index.url, "handrail"]


@pytest.mark.parametrize("place", ["HOME", "NETRC"])
def test_a_login_that_is_kept_for_the_host_opens_the_index(
    venv: Installation, index: Index, tmp_path: Path, place: str
) -> None:
    index.credentials = "agent:open-sesame"
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login agent password open-sesame", encoding="utf-8")
    given = {"HOME": str(tmp_path)} if place == "HOME" else {"NETRC": str(tmp_path / ".netrc")}

    ran = venv.run("update", environment=given)

    assert data(ran)["current_version"] == NEW
    assert b"sesame" not in ran.out + ran.err


def test_a_wrong_password_is_a_matter_of_signing_in(installation: Installation, index: Index) -> None:
    index.credentials = "agent:right-one"
    address = index.url.replace("://", "://agent:wrong-one@")

    ran = installation.run("update", environment={"UV_DEFAULT_INDEX": address})

    assert "UV_DEFAULT_INDEX" in error(ran, "E_AUTH")["hint"]
    assert b"wrong-one" not in ran.out + ran.err
