"""`context`, `doctor`, `changelog` and the version: true, complete, and answered whatever else is broken."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from handrail import __version__
from handrail.program.update.find_release import read_releases
from tests.house.tree import page
from tests.surfaces.cli.tool import Tool, checked_document

CHECKS = [
    *("path", "settings", "workspace", "git", "store", "workflow_library", "keyring"),
    *("credentials", "confirm_tokens", "audit", "mcp_registration", "version_negotiation", "skill_sync"),
    *("update", "release_readiness"),
]


def state(folder: str) -> list[str]:
    """Every file of a home but what is remembered of workflow files, which is a cache."""
    cache = os.path.join("data", "cache")
    files = [os.path.join(top, name) for top, _, names in os.walk(folder) for name in names]
    return sorted(path for path in files if cache not in path)


@pytest.mark.promise("cli.context")
def test_context_says_where_a_call_would_act_and_makes_nothing(fresh_tool: Tool) -> None:
    data = fresh_tool.data("context")

    assert list(data) == [
        *("version", "env", "account", "workspace", "config", "credentials", "skill", "notices"),
        *("next_steps", "_untrusted"),
    ]
    assert data["version"] == __version__
    assert data["workspace"] == {"root": fresh_tool.project, "branch": None, "head": None}
    assert data["config"]["home"] == fresh_tool.home
    assert data["config"]["envelope"] == "cli"
    assert data["credentials"] == {"configured": False, "backend": "file", "usable": True, "expires_at": None}
    assert data["skill"] == {"version": None, "in_sync": None}
    assert data["notices"] == []
    assert not os.path.exists(fresh_tool.home)


@pytest.mark.promise("cli.credentials-boolean")
def test_context_never_shows_the_secret(fresh_tool: Tool) -> None:
    secret = "canary-0123456789abcdef"

    ran = fresh_tool.run("context", environment={"AI_NATIVE_CLI_SECRET": secret})

    document = checked_document(ran)
    assert document["data"]["credentials"] == {
        "configured": True,
        "backend": "environment",
        "usable": True,
        "expires_at": None,
    }
    assert secret.encode() not in ran.out + ran.err


@pytest.mark.promise("cli.doctor")
def test_doctor_lists_every_check_with_a_fix_where_one_is_needed(fresh_tool: Tool) -> None:
    data = fresh_tool.data("doctor")

    assert [check["check"] for check in data["checks"]] == CHECKS
    for check in data["checks"]:
        assert list(check) == ["check", "status", "fix", "message", "details"]
        assert (check["fix"] is None) is (check["status"] == "pass"), check
        assert check["message"].endswith(".")
    counted = dict.fromkeys(("pass", "warn", "fail"), 0)
    for check in data["checks"]:
        counted[check["status"]] += 1
    assert data["summary"] == {**counted, "for_maintainers": 0}
    assert state(fresh_tool.home) == []


@pytest.mark.promise("cli.readiness-told")
def test_doctor_and_reference_tell_the_same_release_level(tool: Tool) -> None:
    last = tool.data("doctor", "--checks", "release_readiness")["checks"][-1]

    assert last["details"] == tool.data("reference", "--command", "context")["release_readiness"]
    assert (last["details"]["level"], last["status"]) == ("unpublishable", "pass")


@pytest.mark.thorough
@pytest.mark.promise("cli.always-answers")
@pytest.mark.parametrize("line", [["context"], ["doctor", "--offline"], ["changelog"], ["reference"]])
def test_nothing_that_is_broken_keeps_them_from_answering(fresh_tool: Tool, line: list[str]) -> None:
    os.makedirs(os.path.join(fresh_tool.home, "data", "keys"))
    with open(os.path.join(fresh_tool.home, "config.json"), "w", encoding="utf-8") as file:
        file.write("{")
    with open(os.path.join(fresh_tool.home, "data", "keys", "keyring.json"), "w", encoding="utf-8") as file:
        file.write("nonsense")
    before = state(fresh_tool.home)

    ran = fresh_tool.run(*line, environment={"AI_NATIVE_CLI_SECRET": "short"})

    assert checked_document(ran)["ok"] is True
    assert state(fresh_tool.home) == before


@pytest.mark.promise("cli.doctor")
def test_doctor_names_what_is_broken_and_how_to_mend_it(fresh_tool: Tool) -> None:
    os.makedirs(os.path.join(fresh_tool.home, "data", "keys"))
    with open(os.path.join(fresh_tool.home, "config.json"), "w", encoding="utf-8") as file:
        file.write('{"maxEffect": "everything"}')
    path = os.path.join(fresh_tool.home, "data", "keys", "keyring.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write("nonsense")
    os.chmod(path, 0o644)

    found = {one["check"]: one for one in fresh_tool.data("doctor", "--checks", "settings,keyring")["checks"]}

    assert found["settings"]["status"] == "fail"
    assert "config.json" in found["settings"]["fix"]
    assert found["keyring"]["status"] == "fail"
    assert found["keyring"]["details"]["code"] == "KEYRING_INVALID"


@pytest.mark.promise("cli.deterministic")
@pytest.mark.parametrize("line", [["context"], ["doctor"], ["changelog"], ["completion", "--shell", "zsh"]])
def test_two_answers_differ_in_nothing_but_time(tool: Tool, started: Any, line: list[str]) -> None:
    assert tool.data(*line) == tool.data(*line)


@pytest.mark.promise("cli.version")
def test_every_place_tells_the_same_version(tool: Tool) -> None:
    skill = page("skills/handrail/SKILL.md").text
    released = [release.version for release in read_releases(page("CHANGELOG.md").text)]

    assert tool.run("--version").out.decode() == f"handrail {__version__}\n"
    assert tool.data("--version", "--format", "json") == {
        "tool": "handrail",
        "version": __version__,
        "schema_version": "1.0",
    }
    assert f'  version: "{__version__}"\n' in skill
    assert released[:1] in ([], [__version__])


@pytest.mark.parametrize(
    ("settings", "environment", "flags", "is_lafs", "is_compact"),
    [
        ({}, {}, [], False, False),
        ({"user": {"envelope": "lafs", "compact": True}}, {}, [], True, True),
        ({"user": {"envelope": "lafs"}, "project": {"envelope": "cli"}}, {}, [], False, False),
        ({"project": {"envelope": "lafs"}}, {"HANDRAIL_ENVELOPE": "cli"}, [], False, False),
        ({"project": {"envelope": "cli", "compact": True}}, {"HANDRAIL_COMPACT": "0"}, [], False, False),
        ({"project": {"envelope": "cli"}}, {"HANDRAIL_ENVELOPE": "cli"}, ["--envelope", "lafs"], True, False),
    ],
)
def test_output_follows_flag_environment_project_user(
    fresh_tool: Tool,
    settings: dict[str, Any],
    environment: dict[str, str],
    flags: list[str],
    is_lafs: bool,
    is_compact: bool,
) -> None:
    places = {"user": fresh_tool.home, "project": os.path.join(fresh_tool.project, ".handrail")}
    for name, output in settings.items():
        os.makedirs(places[name])
        with open(os.path.join(places[name], "config.json"), "w", encoding="utf-8") as file:
            json.dump({"output": output}, file)

    ran = fresh_tool.run("session", "list", *flags, environment=environment)

    assert ("$schema" in json.loads(ran.out)) is is_lafs
    assert (ran.out.count(b"\n") == 1) is is_compact
