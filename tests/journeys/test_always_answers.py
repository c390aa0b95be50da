"""`doctor` and `context` answer whatever the surroundings are; only what the caller wrote is refused."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from handrail.host.workspace import LocalWorkspace
from handrail.runtime.runtime import Runtime
from tests.journeys.doors import command


@pytest.mark.promise("declared.doctor")
@pytest.mark.parametrize("line", ["doctor --offline", "context"])
def test_a_project_that_is_gone_is_told_in_the_answer(runtime: Runtime, line: str) -> None:
    nowhere = LocalWorkspace({"HANDRAIL_PROJECT": "/nowhere/at/all", "USER": "tester"})
    lost = msgspec.structs.replace(runtime, workspace=nowhere)

    status, document = command(lost, *line.split())

    assert (status, document["ok"]) == (0, True)
    assert "workspace" in json.dumps(document["data"])


@pytest.mark.promise("declared.doctor")
def test_a_working_directory_that_is_gone_fails_one_check_and_not_the_call(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    lost = msgspec.structs.replace(runtime, workspace=LocalWorkspace({"USER": "tester"}))

    status, document = command(lost, "doctor", "--offline")

    assert status == 0
    checks = {check["check"]: check for check in document["data"]["checks"]}
    assert (checks["workspace"]["status"], checks["python"]["status"]) == ("fail", "pass")
    assert checks["workspace"]["fix"]


@pytest.mark.promise("declared.doctor")
def test_a_project_that_the_caller_named_is_refused_as_everywhere(runtime: Runtime) -> None:
    here = msgspec.structs.replace(runtime, workspace=LocalWorkspace({"USER": "tester"}))

    status, document = command(here, "doctor", "--offline", "--project", "/nowhere/at/all")

    assert (status, document["error"]["code"]) == (2, "E_VALIDATION")
