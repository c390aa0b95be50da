"""`setup` in a checkout that somebody else made: no link leads out of it, no pipe is waited for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.outcome import Failure, Success
from handrail.host.program.client_files import LocalClientFiles
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    (tmp_path / "project").mkdir()
    (tmp_path / "user").mkdir()
    environment = {
        "HANDRAIL_PROJECT": str(tmp_path / "project"),
        "HOME": str(tmp_path / "user"),
        "PATH": "/nowhere",
    }
    return build_runtime(environment, home=str(tmp_path / "home"))


def preview(runtime: Runtime, **more: Any) -> dict[str, Any]:
    params = {"clients": ["cursor"], "scope": "project", "dryRun": True, **more}
    told = perform(runtime, "clients.setup", params)
    assert isinstance(told, Success), told
    assert isinstance(told.data, dict)
    return told.data


def set_up(runtime: Runtime, **more: Any) -> Any:
    token = preview(runtime, **more)["confirm_token"]
    params = {"clients": ["cursor"], "scope": "project", "confirm": token, **more}
    return perform(runtime, "clients.setup", params)


def change_of(shown: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in shown["preview"]["changes"] if one["id"] == "cursor")


def test_setup_of_a_project_follows_no_link_out_of_it(runtime: Runtime, tmp_path: Path) -> None:
    victim = tmp_path / "user" / "victim.json"
    victim.write_text("{}", encoding="utf-8")
    (tmp_path / "project/.cursor").mkdir()
    (tmp_path / "project/.cursor/mcp.json").symlink_to(victim)

    shown = change_of(preview(runtime))
    set_up(runtime)

    assert "leads out of the project" in shown["after"]["reason"]
    assert victim.read_text(encoding="utf-8") == "{}"


def test_setup_of_a_project_waits_for_no_pipe(runtime: Runtime, tmp_path: Path) -> None:
    (tmp_path / "project/.cursor").mkdir()
    os.mkfifo(tmp_path / "project/.cursor/mcp.json")

    assert "is not a plain file" in change_of(preview(runtime))["after"]["reason"]


def test_setup_of_a_project_writes_nothing_of_this_machine(runtime: Runtime, tmp_path: Path) -> None:
    set_up(runtime, hooks=True)

    written = [path for path in (tmp_path / "project").rglob("*") if path.is_file()]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in written)
    entry = json.loads((tmp_path / "project/.cursor/mcp.json").read_bytes())["mcpServers"]["handrail"]
    assert (entry["command"], len(written) > 1) == ("handrail", True)
    assert str(tmp_path) not in texts
    assert os.path.dirname(os.path.dirname(os.__file__)) not in texts
    assert "/bin/" not in texts


def test_a_preview_names_where_a_link_leads(runtime: Runtime, tmp_path: Path) -> None:
    real = tmp_path / "user/dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    (tmp_path / "user/.cursor").mkdir()
    (tmp_path / "user/.cursor/mcp.json").symlink_to(real)

    shown = change_of(preview(runtime, scope="user"))
    assert shown["after"]["path"] == str(real)


def test_a_link_that_came_after_the_preview_is_not_followed(tmp_path: Path) -> None:
    files = LocalClientFiles(str(tmp_path / "home"), {"HOME": str(tmp_path)})
    place, victim = tmp_path / "mcp.json", tmp_path / "victim"
    place.write_bytes(b"{}")
    seen = files.resolve(str(place))
    place.unlink()
    victim.write_bytes(b"{}")
    place.symlink_to(victim)

    assert not files.replace(seen, b"{}", b"changed")
    assert victim.read_bytes() == b"{}"


# No line and no call fetches our name from an index before there is a release


def test_update_asks_no_index_before_there_is_a_release(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    from handrail.host.program.updates import LocalUpdates

    asked: list[str] = []
    monkeypatch.setattr(LocalUpdates, "fetch", lambda _, url, *__: asked.append(url))
    monkeypatch.setattr(LocalUpdates, "drive", lambda _, call, *__: asked.append(str(call)))
    for params in ({}, {"check": True}, {"dryRun": True}, {"targetVersion": "9.9"}):
        told = perform(runtime, "program.update", params)
        assert not isinstance(told, Failure), told
        assert isinstance(told.data, dict)
        assert told.data["status"] == "no_release"
        assert told.data["command"] == []
    assert asked == []


def test_no_line_of_the_program_fetches_our_name_from_an_index() -> None:
    root = Path(__file__).parents[3]
    commands = ("pip install", "pipx install", "uv tool install", "uv tool upgrade", "npx skills add", "uvx")
    fetching = [f"{command} {quote}handrail" for command in commands for quote in ("", "'", '"')]
    told = {
        f"{path.relative_to(root)}: {line.strip()}"
        for path in [*root.glob("src/**/*.py"), *root.glob("docs/how-to/*.md"), root / "README.md"]
        for line in path.read_text(encoding="utf-8").splitlines()
        if any(one in line for one in fetching)
    }
    allowed = ("IS_RELEASED", "does not work", "Once a release is published")
    assert [one for one in sorted(told) if not any(word in one for word in allowed)] == []
