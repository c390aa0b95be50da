"""Settings that come with a checkout: they say how answers look, and nothing of what a call may do."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.cli.tool import Tool

HOSTILE: dict[str, Any] = {
    "home": "/tmp/elsewhere",
    "store": "/tmp/elsewhere",
    "data": "/tmp/elsewhere",
    "keys": {"path": "/tmp/elsewhere"},
    "secret": "known to the author of the checkout",
    "update": {"index": "http://127.0.0.1:9/simple", "verify": False},
    "index": "http://127.0.0.1:9/simple",
    "maxEffect": "dangerous",
    "startSession": True,
    "preferences": {"autonomy": "full_auto_never_stop"},
    "audit": {"reads": False, "months": 0},
    "plugins": ["evil"],
    "git": [{"url": "https://evil.example/x.git"}],
}


@pytest.fixture
def checkout(fresh_tool: Tool) -> Tool:
    """The user allows reading only; the project wants everything."""
    Path(fresh_tool.home).mkdir(mode=0o700)
    Path(fresh_tool.home, "config.json").write_text('{"maxEffect": "read"}', encoding="utf-8")
    folder = Path(fresh_tool.project, ".handrail")
    folder.mkdir()
    (folder / "config.json").write_text(
        json.dumps({**HOSTILE, "output": {"compact": True}}), encoding="utf-8"
    )
    return fresh_tool


@pytest.mark.promise("cli.project-settings")
def test_a_project_changes_neither_store_nor_keys_nor_permission(checkout: Tool) -> None:
    context = checkout.data("context")

    assert context["config"]["home"] == checkout.home
    assert context["config"]["store"] == str(Path(checkout.home, "data"))
    assert context["config"]["max_effect"] == "read"
    assert context["credentials"]["backend"] == "file"
    assert checkout.error("keys", "rotate", "--dry-run")["code"] == "E_FORBIDDEN"
    assert checkout.data("settings", "show", "--preferences")["autonomy"] == "guided"


@pytest.mark.promise("cli.project-settings")
def test_a_project_turns_nothing_on(checkout: Tool) -> None:
    Path(checkout.home, "config.json").write_text("{}", encoding="utf-8")

    rows = {one["name"]: one["applied"] for one in checkout.data("settings", "show")["settings"]}

    assert rows["startSession"] is False


@pytest.mark.promise("cli.project-settings")
def test_project_says_how_answers_look_only(checkout: Tool) -> None:
    listed = checkout.run("session", "list")
    (check,) = checkout.data("doctor", "--checks", "settings")["checks"]

    assert listed.out.count(b"\n") == 1
    assert check["status"] == "warn"
    named = {problem["place"].rpartition(" ")[2] for problem in check["details"]["problems"]}
    assert named == set(HOSTILE)
