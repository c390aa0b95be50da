"""Second journeys about context, doctor, changelog, versions and the skill."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.journeys.strangers.command_line.tools_b import reference, skill_of, started, tree
from tests.journeys.strangers.product import PROGRAM, Product

CLIENT = {"name": "x", "version": "1"}
CHANGELOG = """# Changelog

All notable changes. [0.10.0] is not a heading here.

## [Unreleased]

### Added

- Something that is not out.

## [0.10.0] - 2026-10-01

### Security

- A hole is closed.

### Added

- A thing
  over two lines.

## [0.9.0] - 2026-09-01

### Fixed

- A fault.

### Removed

- An old flag.

## [0.9.0rc1] - 2026-08-30

### Deprecated

- The old flag.
"""


def settled(product: Product, text: str) -> None:
    product.home.mkdir(mode=0o700, exist_ok=True)
    (product.home / "config.json").write_text(text, encoding="utf-8")


@pytest.mark.promise("cli.readiness")
def test_a_claim_that_lies_about_does_not_make_a_build_publishable(product: Product) -> None:
    claim = {"level": "stable", "fcc_status": "verified", "mock_upstream_status": "verified"}
    for place in (product.project, product.project / ".handrail", product.home):
        place.mkdir(parents=True, exist_ok=True)
        for name in ("readiness.json", "release_readiness.json"):
            (place / name).write_text(json.dumps(claim | {"live_smoke_status": "verified"}), encoding="utf-8")

    told = product.run("reference", "--fields", "release_readiness", HANDRAIL_READINESS="stable").document[
        "data"
    ]

    readiness = told["release_readiness"]
    states = {readiness[f"{name}_status"] for name in ("fcc", "mock_upstream", "live_smoke")}
    assert readiness["level"] == "unpublishable"
    assert "unknown" in states or "missing" in states
    assert readiness["required_evidence"]
    assert readiness["reason"]


@pytest.mark.promise("cli.readiness-told")
def test_doctor_and_reference_agree_on_the_level_in_both_dialects(product: Product) -> None:
    told = reference(product)["release_readiness"]["level"]

    plain = product.run("doctor", "--offline", "--checks", "release_readiness")
    lafs = product.run("doctor", "--offline", "--checks", "release_readiness", "--envelope", "lafs")

    (check,) = plain.document["data"]["checks"]
    (same,) = lafs.document["result"]["checks"]
    assert check["details"]["level"] == same["details"]["level"] == told
    assert check["status"] == same["status"]
    assert check["status"] != "fail", "a checkout has no record, and that is no fault of its user"


@pytest.mark.promise("cli.context")
def test_context_names_the_project_in_which_a_run_then_lands_and_leaves_no_trace(product: Product) -> None:
    root = product.project
    subprocess.run(["git", "init", "-q", "-b", "side/Branch", str(root)], check=True)
    product.project = root / "a" / "b"
    product.project.mkdir(parents=True)
    before = tree(product.home.parent)

    here = product.run("context", HANDRAIL_FORMAT="text", HANDRAIL_COMPACT="1")
    told = product.run("--json", "context", HANDRAIL_COMPACT="1").document["data"]
    after = tree(product.home.parent)
    run = product.data("run", "start", "wr.small_change", "--request-id", "a")

    assert not here.out.startswith("{")
    assert told["workspace"]["root"] == str(root)
    assert told["workspace"]["branch"] == "side/Branch"
    assert before == after
    assert "_untrusted" in told
    assert run["project"] == told["workspace"]["root"]
    assert told["config"]["home"] == str(product.home)


@pytest.mark.promise("cli.context")
def test_context_names_no_place_in_which_a_call_would_not_act(product: Product) -> None:
    absent = str(product.project / "absent")

    told = product.run("context", HANDRAIL_PROJECT=absent)
    acted = product.run("run", "start", "wr.small_change", "--request-id", "a", HANDRAIL_PROJECT=absent)

    root = told.document["data"]["workspace"]["root"] if told.status == 0 else None
    where = acted.document["data"]["project"] if acted.status == 0 else None
    assert root == where


@pytest.mark.promise("cli.doctor")
def test_every_check_that_is_no_pass_has_a_fix_when_nearly_all_is_broken(product: Product) -> None:
    run = started(product, "a")
    settled(product, '{"maxEffect": 7, "nope": [}')
    session = product.home / "data" / "sessions" / run["session"]["sessionId"]
    (session / "manifest.jsonl").write_bytes(b"torn\n")
    (product.home / "data" / "keys" / "keyring.json").write_text("[]", encoding="utf-8")
    folder = product.project / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    (folder / "torn.json").write_text("{", encoding="utf-8")
    home = Path(product.environment["HOME"])
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text(
        '{"mcpServers": {"handrail": {"command": "/gone/handrail"}}}', encoding="utf-8"
    )

    ran = product.run("doctor", "--offline", PATH="/nowhere")

    data = ran.document["data"]
    counts = {
        status: sum(check["status"] == status for check in data["checks"])
        for status in ("pass", "warn", "fail")
    }
    troubled = {check["check"] for check in data["checks"] if check["status"] != "pass"}
    assert ran.status == 0
    assert all(check["fix"] for check in data["checks"] if check["status"] != "pass")
    assert data["summary"] == counts
    assert {"settings", "store", "keyring", "workflow_library", "mcp_registration", "git"} <= troubled


@pytest.mark.promise("cli.always-answers")
@pytest.mark.parametrize("line", [("context",), ("reference", "--command", "context"), ("changelog",)])
def test_self_description_answers_without_a_home_a_folder_or_settings(
    product: Product, line: tuple[str, ...]
) -> None:
    product.home.write_text("a file where the home should be", encoding="utf-8")
    gone = product.project / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'

    ran = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(gone), PROGRAM, *line],
        env=product.environment,
        capture_output=True,
        timeout=60,
    )

    assert ran.returncode == 0, ran.stdout.decode()[:400]
    assert json.loads(ran.stdout)["ok"] is True


@pytest.mark.promise("cli.always-answers")
@pytest.mark.parametrize(
    "broken", [{"HANDRAIL_TIMEOUT": "soon"}, {"HANDRAIL_ENVELOPE": "xml"}, {"HANDRAIL_FORMAT": "yaml"}]
)
def test_doctor_examines_a_wrong_environment_instead_of_stopping_at_it(
    product: Product, broken: dict[str, str]
) -> None:
    ran = product.run("doctor", "--offline", "--checks", "settings", **broken)

    assert ran.status == 0, ran.out
    (check,) = ran.document["data"]["checks"]
    assert check["status"] != "pass"
    assert next(iter(broken)) in check["message"] + str(check["fix"])


@pytest.mark.promise("cli.version")
def test_command_context_skill_changelog_and_server_tell_one_version(product: Product) -> None:
    told = product.run("--version").out.split()[-1]
    skill = (skill_of(product) / "SKILL.md").read_text(encoding="utf-8")

    with product.serve() as server:
        served = server.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=CLIENT)
    short = product.run("run", "start", "--version").out.split()[-1]

    assert product.data("context")["version"] == told
    assert product.data("context")["skill"]["version"] == told
    assert reference(product)["version"] == told
    assert product.data("changelog")["current_version"] == told
    assert f'version: "{told}"' in skill
    assert served.get("result", {}).get("serverInfo", {}).get("version", told) == told
    assert short == told


@pytest.mark.promise("cli.skill-minimum")
@pytest.mark.parametrize("minimum", ["0.10.0", "1.0", "0.1.1"])
def test_a_skill_that_needs_a_newer_program_fails_the_check_with_the_upgrade(
    product: Product, minimum: str
) -> None:
    page = skill_of(product) / "SKILL.md"
    page.write_text(
        page.read_text(encoding="utf-8").replace('min_version: "0.1.0"', f'min_version: "{minimum}"'),
        encoding="utf-8",
    )

    (check,) = product.data("doctor", "--offline", "--checks", "version_negotiation")["checks"]

    assert check["status"] == "fail"
    assert check["fix"] in ("git pull", "handrail update")
    assert minimum in check["message"]


@pytest.mark.promise("cli.skill-minimum")
def test_a_minimum_that_is_no_version_is_not_called_met(product: Product) -> None:
    page = skill_of(product) / "SKILL.md"
    page.write_text(
        page.read_text(encoding="utf-8").replace('min_version: "0.1.0"', 'min_version: "two"'),
        encoding="utf-8",
    )

    (check,) = product.data("doctor", "--offline", "--checks", "version_negotiation")["checks"]

    assert check["status"] != "pass", check["message"]


@pytest.mark.promise("cli.always-answers")
def test_doctor_answers_while_the_store_is_full_of_strange_things(product: Product) -> None:
    sessions = product.home / "data" / "sessions"
    sessions.mkdir(parents=True, mode=0o700)
    (sessions / "ses_aaaaaaaaaaaa").write_text("a file", encoding="utf-8")
    (sessions / "ses_bbbbbbbbbbbb").symlink_to("/nowhere")
    os.mkfifo(sessions / "ses_cccccccccccc")
    (sessions / "ses_dddddddddddd").mkdir()
    os.mkfifo(sessions / "ses_dddddddddddd" / "manifest.jsonl")

    ran = product.run("doctor", "--offline", "--timeout", "5", "--checks", "store")

    assert ran.status == 0, ran.out
    assert [check["check"] for check in ran.document["data"]["checks"]] == ["store"]
