"""`handrail update` as a process, against a loopback index and real managers in scratch homes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.surfaces.cli.tool import strict_json
from tests.updates.answers import data, error
from tests.updates.releases import NEW, OLD, SECONDS, Index, Installation

pytestmark = pytest.mark.thorough


@pytest.mark.promise("cli.update-look")
@pytest.mark.parametrize("flag", ["--check", "--dry-run"])
def test_a_look_tells_what_there_is_and_changes_nothing(installation: Installation, flag: str) -> None:
    told = data(installation.run("update", flag))

    assert (told["status"], told["current_version"], told["target_version"]) == ("available", OLD, NEW)
    assert told["update_available"] is True
    assert told["install_method"] == "uv-tool"
    assert told["command"][1:3] == ["tool", "install"]
    assert told["signature_status"] == "not_checked"
    assert installation.version() == OLD


@pytest.mark.promise("cli.update-notice")
def test_a_check_is_remembered_for_later_calls(installation: Installation) -> None:
    data(installation.run("update", "--check"))

    kept = json.loads((installation.home / ".handrail/data/cache/notices.json").read_bytes())
    shown = data(installation.run("context"))["notices"]

    assert [(one["type"], one["severity"], one["latest_version"]) for one in kept] == [
        ("update_available", "warning", NEW)
    ]
    assert shown == kept


def test_a_release_that_is_not_offered_is_not_found(installation: Installation) -> None:
    details = error(installation.run("update", "--target-version", "6.6.6"), "E_NOT_FOUND")

    assert (details["stage"], details["current_version"]) == ("discover", OLD)


@pytest.mark.promise("cli.update-integrity")
def test_release_with_another_checksum_is_never_retried(installation: Installation, index: Index) -> None:
    index.is_tampered = True

    details = error(installation.run("update"), "E_INTEGRITY")

    assert (details["stage"], details["current_version"]) == ("verify_checksum", OLD)
    assert "Do not try again" in details["hint"]
    assert installation.version() == OLD


@pytest.mark.promise("cli.update-manager")
def test_without_its_manager_nothing_is_changed(installation: Installation) -> None:
    ran = installation.run("update", environment={"PATH": "/nowhere"})

    details = error(ran, "E_IO")
    assert (details["current_version"], details["binary_replaced"]) == (OLD, False)
    assert details["command"][1:3] == ["tool", "install"]


@pytest.mark.promise("cli.update-truth")
@pytest.mark.parametrize("status", [0, 3])
def test_installed_version_counts_and_not_the_exit_status(
    installation: Installation, tmp_path: Path, status: int
) -> None:
    manager = tmp_path / "uv"
    manager.write_text(f"#!/bin/sh\nexit {status}\n", encoding="utf-8")
    manager.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{installation.environment['PATH']}"

    details = error(installation.run("update", environment={"PATH": path}), "E_IO")

    assert (details["stage"], details["current_version"], details["binary_replaced"]) == (
        "replace",
        OLD,
        False,
    )
    assert details["cause"] == ("it changed nothing" if status == 0 else "exit 3")


@pytest.mark.promise("cli.update-one-call")
def test_update_replaces_program_and_skill_once(tmp_path: Path, index: Index) -> None:
    """An update replaces the program and its skill and a second one finds nothing."""
    installed = Installation(tmp_path, index).by_uv_tool()
    data(installed.run("update", "--check"))

    updated = installed.run("update")
    left = (installed.home / ".handrail/data/cache/notices.json").exists()
    again = data(installed.run("update"))

    first = data(updated)
    assert (first["status"], first["previous_version"], first["current_version"]) == ("updated", OLD, NEW)
    assert (first["binary_replaced"], first["update_available"]) == (True, False)
    assert first["skill_sync_status"] == "synced"
    assert first["hint"] == f"handrail changelog --since {OLD}"
    assert updated.err != b""
    assert installed.version() == NEW
    assert (installed.home / ".agents/skills/handrail/SKILL.md").is_file()
    assert left is False
    assert "notices" not in strict_json(updated.out)["meta"]
    assert (again["status"], again["current_version"], again["command"]) == ("up_to_date", NEW, [])
    assert again["skill_sync_status"] == "unchanged"


@pytest.mark.promise("cli.update-partial")
def test_next_update_repairs_an_old_skill(tmp_path: Path, index: Index) -> None:
    """A new program with an old skill is half an update and the next one repairs it."""
    installed = Installation(tmp_path, index).by_venv()
    foreign = installed.home / ".agents/skills/handrail"
    foreign.mkdir(parents=True)
    (foreign / "notes.txt").write_text("mine", encoding="utf-8")

    details = error(installed.run("update", "--quiet"), "E_IO")
    kept = (foreign / "notes.txt").read_text(encoding="utf-8")
    shutil.rmtree(foreign)
    repaired = data(installed.run("update"))

    assert (details["stage"], details["binary_replaced"]) == ("skill_sync", True)
    assert (details["current_version"], details["skill_sync_status"]) == (NEW, "failed")
    assert details["skill_sync_command"] == "handrail update"
    assert kept == "mine"
    assert (repaired["status"], repaired["skill_sync_status"]) == ("up_to_date", "synced")


def test_a_checkout_is_not_updated(tmp_path: Path, index: Index) -> None:
    copy = tmp_path / "source"
    shutil.copytree(Path(__file__).parents[2] / "src" / "handrail", copy / "handrail")
    installed = Installation(tmp_path / "place", index)
    installed.python = Path(sys.executable)
    ran = installed.run("update", environment={"PYTHONPATH": str(copy)})

    details = error(ran, "E_CONFIG")
    assert (details["stage"], details["current_version"], details["binary_replaced"]) == (
        "discover",
        OLD,
        False,
    )


def test_answer_is_loaded_before_files_are_replaced() -> None:
    code = "import sys; from handrail.main import _load_the_rest; _load_the_rest(); print(*sys.modules)"

    done = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, timeout=SECONDS, check=True
    )

    assert {
        "handrail.contract.disclosure.budget",
        "handrail.contract.envelopes.lafs",
        "handrail.surfaces.cli.rendering.gate",
        "handrail.surfaces.cli.rendering.human",
    } <= set(done.stdout.decode().split())
