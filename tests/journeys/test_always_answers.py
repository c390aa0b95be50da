"""`doctor` and `context` answer whatever the surroundings are; only what the caller wrote is refused."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from handrail.host.workspace import LocalWorkspace
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.journeys.interfaces import command
from tests.operations.asked import answered
from tests.surfaces.cli.here import run_here


@pytest.mark.parametrize("line", ["doctor --offline", "context"])
def test_a_project_that_is_gone_is_told_in_the_answer(runtime: Runtime, line: str) -> None:
    nowhere = LocalWorkspace({"HANDRAIL_PROJECT": "/nowhere/at/all", "USER": "tester"})
    lost = msgspec.structs.replace(runtime, workspace=nowhere)

    status, document = command(lost, *line.split())

    assert (status, document["ok"]) == (0, True)
    assert "workspace" in json.dumps(document["data"])


def test_missing_working_directory_fails_one_check_only(
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
    assert (checks["workspace"]["status"], checks["settings"]["status"]) == ("fail", "pass")
    assert checks["workspace"]["fix"]


def test_project_named_by_the_caller_is_refused_if_missing(runtime: Runtime) -> None:
    here = msgspec.structs.replace(runtime, workspace=LocalWorkspace({"USER": "tester"}))

    status, document = command(here, "doctor", "--offline", "--project", "/nowhere/at/all")

    assert (status, document["error"]["code"]) == (2, "E_VALIDATION")


WRONG = {
    "HANDRAIL_TIMEOUT": "soon",
    "HANDRAIL_ENVELOPE": "xml",
    "HANDRAIL_FORMAT": "yaml",
    "HANDRAIL_COMPACT": "maybe",
}


@pytest.mark.promise("cli.always-answers")
@pytest.mark.parametrize("line", ["doctor --offline", "context", "reference --command context", "changelog"])
@pytest.mark.parametrize("variable", WRONG)
def test_a_wrong_variable_is_named_and_passed_over(runtime: Runtime, line: str, variable: str) -> None:
    ran = run_here(runtime, line.split(), {variable: WRONG[variable]})

    document = json.loads(ran.out)
    (notice,) = [one for one in document["meta"]["notices"] if one["type"] == "wrong_variable"]
    assert (ran.status, notice["severity"]) == (0, "warning")
    assert variable in notice["message"]


@pytest.mark.promise("cli.always-answers")
@pytest.mark.parametrize("variable", WRONG)
def test_other_commands_are_still_refused_for_a_wrong_variable(runtime: Runtime, variable: str) -> None:
    ran = run_here(runtime, ["session", "list"], {variable: WRONG[variable]})

    assert (ran.status, json.loads(ran.out)["error"]["details"]["setting"]) == (4, variable)


@pytest.mark.promise("cli.always-answers")
@pytest.mark.parametrize("variable", WRONG)
def test_doctor_and_context_lead_to_a_wrong_variable(tmp_path: Path, variable: str) -> None:
    rt = build_runtime({variable: WRONG[variable], "HOME": str(tmp_path)}, home=str(tmp_path / "home"))

    (check,) = answered(rt, "self.doctor", checks=["settings"], offline=True)["checks"]
    steps = answered(rt, "self.context")["next_steps"]

    assert check["status"] == "warn"
    assert variable in check["message"]
    assert variable in check["fix"]
    assert "handrail doctor --checks settings --compact" in steps


@pytest.mark.promise("cli.context")
@pytest.mark.parametrize("form", [(), ("--human",)])
def test_context_names_no_place_where_a_call_would_be_refused(
    runtime: Runtime, form: tuple[str, ...]
) -> None:
    nowhere = LocalWorkspace({"HANDRAIL_PROJECT": "/nowhere/at/all", "USER": "tester"})
    lost = msgspec.structs.replace(runtime, workspace=nowhere)

    told = run_here(lost, ["context", *form])
    status, _ = command(lost, "run", "start", "wr.small_change", "--request-id", "a")

    assert (told.status, status) == (0, 2)
    if not form:
        assert json.loads(told.out)["data"]["workspace"]["root"] is None
