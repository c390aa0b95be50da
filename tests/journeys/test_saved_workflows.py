"""A workflow that is edited and saved: previewed, only without errors, never over what nobody has seen."""

from __future__ import annotations

import json
import os
import stat
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from handrail_serve.views import render_view
from tests.conftest import THREE_STEPS, KeptIncidents
from tests.journeys.conversation import advance, answer
from tests.journeys.interfaces import command
from tests.operations.asked import refused

OWN = ".handrail/workflows"
EDITED = THREE_STEPS.replace(b"Do the first thing.", b"Do the first thing, and say how.").decode()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / OWN).mkdir(parents=True)
    file = folder / OWN / "three_steps.json"
    file.write_bytes(THREE_STEPS)
    file.chmod(0o640)
    return folder


@pytest.fixture
def here(tmp_path: Path, project: Path) -> Runtime:
    built = build_runtime({"HANDRAIL_HOME": str(tmp_path / "home"), "HANDRAIL_PROJECT": str(project)})
    return msgspec.structs.replace(built, incidents=KeptIncidents())


def opened(runtime: Runtime, name: str = "project.three_steps") -> dict[str, Any]:
    found: dict[str, Any] = answer(runtime, "workflow.inspect", workflowId=name, part="source")["workflow"]
    return found


def saving(text: str, **more: Any) -> dict[str, Any]:
    return {"document": {"source": "edited", "text": text}, **more}


def save(runtime: Runtime, params: dict[str, Any]) -> dict[str, Any]:
    token = answer(runtime, "workflow.save", **params, dryRun=True)["confirm_token"]
    saved: dict[str, Any] = answer(runtime, "workflow.save", **params, confirm=token)
    return saved


def test_an_edit_is_shown_as_a_diff_and_saved_as_it_was_shown(here: Runtime, project: Path) -> None:
    file = project / OWN / "three_steps.json"
    shown = opened(here)
    params = saving(EDITED, file=shown["sourceRef"], base=shown["sourceDigest"])

    preview = answer(here, "workflow.save", **params, dryRun=True)
    is_untouched = file.read_bytes() == THREE_STEPS
    saved = answer(here, "workflow.save", **params, confirm=preview["confirm_token"])

    (change,) = preview["preview"]["changes"]
    assert (change["action"], change["diff"]["added"], change["diff"]["removed"]) == ("update", 1, 1)
    assert is_untouched
    assert file.read_text(encoding="utf-8") == EDITED
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert (saved["is_saved"], saved["file"]) == (True, "three_steps.json")
    assert opened(here)["sourceDigest"] == saved["digest"]
    assert sorted(os.listdir(project / OWN)) == ["three_steps.json"]


@pytest.mark.parametrize("when", ["before the preview", "after the preview"])
def test_a_file_that_changed_meanwhile_is_left_as_it_is(here: Runtime, project: Path, when: str) -> None:
    file = project / OWN / "three_steps.json"
    shown = opened(here)
    params = saving(EDITED, base=shown["sourceDigest"])
    theirs = THREE_STEPS.replace(b"Do the second thing.", b"Do something else.")
    if when == "before the preview":
        file.write_bytes(theirs)
        failure = refused(here, "workflow.save", **params, dryRun=True)
    else:
        token = answer(here, "workflow.save", **params, dryRun=True)["confirm_token"]
        file.write_bytes(theirs)
        failure = refused(here, "workflow.save", **params, confirm=token)

    assert (failure.kind.code, failure.details["reason"]) == ("E_CONFLICT", "target_changed")
    assert file.read_bytes() == theirs


def test_text_with_errors_is_not_saved_and_places_are_named(here: Runtime, project: Path) -> None:
    failure = refused(here, "workflow.save", **saving(EDITED.replace('"title"', '"titel"', 1)), dryRun=True)

    assert failure.kind.code == "WORKFLOW_INVALID"
    assert failure.details["problems"][0]["line"] == 4
    assert (project / OWN / "three_steps.json").read_bytes() == THREE_STEPS


@pytest.mark.parametrize(
    "file", ["../config.json", "/etc/x.json", "a/b.json", "x.yaml", ".hidden.json", "a\\b.json", "x.json\n"]
)
def test_no_name_leads_out_of_the_folder_of_workflows(here: Runtime, file: str) -> None:
    failure = refused(here, "workflow.save", **saving(EDITED, file=file), dryRun=True)

    assert failure.kind.code == "VALIDATION_ERROR"


def test_link_in_place_of_file_or_folder_is_not_followed(
    here: Runtime, project: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_bytes(THREE_STEPS)
    (project / OWN / "linked.json").symlink_to(elsewhere)
    other = EDITED.replace("project.three_steps", "project.linked")
    token = answer(here, "workflow.save", **saving(other, file="linked.json"), dryRun=True)["confirm_token"]

    failure = refused(here, "workflow.save", **saving(other, file="linked.json"), confirm=token)
    (project / OWN).rename(tmp_path / "moved")
    (project / OWN).symlink_to(tmp_path / "moved")
    outside = refused(here, "workflow.save", **saving(other), dryRun=True)

    assert failure.kind.code == "E_VALIDATION"
    assert elsewhere.read_bytes() == THREE_STEPS
    assert outside.kind.code == "E_VALIDATION"


@pytest.mark.parametrize(
    ("workflow_id", "code"),
    [("wr.code_review", "WORKFLOW_ID_RESERVED"), ("project.three_steps", "E_CONFLICT")],
)
def test_no_file_takes_an_id_that_is_not_its_own(here: Runtime, workflow_id: str, code: str) -> None:
    text = EDITED.replace("project.three_steps", workflow_id)

    failure = refused(here, "workflow.save", **saving(text, file="second.json"), dryRun=True)

    assert failure.kind.code == code


@pytest.mark.parametrize(
    ("workflow_id", "base", "file"),
    [("project.fresh", "absent", "project.fresh.json"), ("project.three_steps", "", "three_steps.json")],
)
def test_command_saves_under_the_id_of_the_file(
    here: Runtime, project: Path, workflow_id: str, base: str, file: str
) -> None:
    draft = project / "draft.json"
    draft.write_text(EDITED.replace("project.three_steps", workflow_id), encoding="utf-8")
    line = ("workflow", "save", str(draft), "--base", base or opened(here)["sourceDigest"])

    token = command(here, *line, "--dry-run")[1]["data"]["confirm_token"]
    status, document = command(here, *line, "--confirm", token)

    assert (status, document["data"]["file"]) == (0, file)
    assert (project / OWN / file).read_bytes() == draft.read_bytes()


def test_broken_file_can_be_read_corrected_and_saved(here: Runtime, project: Path) -> None:
    file = project / OWN / "broken.json"
    good = THREE_STEPS.replace(b"project.three_steps", b"project.mended")
    file.write_bytes(good.replace(b'"title"', b'"titel"'))
    (row,) = [one for one in answer(here, "workflow.list", source="project")["items"] if one.get("problems")]

    shown = opened(here, row["id"])
    saved = save(here, saving(good.decode(), file=shown["sourceRef"], base=shown["sourceDigest"]))

    assert shown["workflowHash"] == ""
    assert saved["workflow_id"] == "project.mended"
    assert file.read_bytes() == good


def test_run_keeps_its_workflow_and_the_list_says_so(here: Runtime) -> None:
    first = answer(here, "run.start", workflowId="project.three_steps", requestId="once")
    before = answer(here, "workflow.inspect", workflowId="project.three_steps")["workflow"]["workflowHash"]

    save(here, saving(EDITED))
    (row,) = answer(here, "session.list", workflow="project.three_steps")["items"]
    after = answer(here, "workflow.inspect", workflowId="project.three_steps")["workflow"]["workflowHash"]
    diff = answer(here, "workflow.inspect", workflowId="project.three_steps", part="diff", run=row["run_id"])[
        "workflow"
    ]["diff"]
    second = advance(here, first)

    assert (row["workflow_hash"], row["workflow_hash"] == after) == (before, False)
    assert (diff["isSame"], diff["changeCount"]) == (False, 1)
    assert second["pending"]["stepId"] == "second"
    assert json.dumps(diff["changes"]).count("and say how") == 1


MARKDOWN = """---
id: project.shown
name: Shown
description: In the editor.
---

## Look {#look}

Say <script>alert(1)</script> and what you saw.
"""


def test_editor_takes_markdown_and_shows_problem_lines(here: Runtime, project: Path) -> None:
    file = project / OWN / "shown.md"

    def page(name: str) -> str:
        return render_view(partial(perform, here), f"/workflows/{name}", {"part": "edit"}).html.markup

    file.write_text(MARKDOWN, encoding="utf-8")
    sound = page("project.shown")
    file.write_text(MARKDOWN.replace("Say <", "Say {{whom}} <"), encoding="utf-8")
    broken = page("shown.md")

    assert "o look: Look" in sound
    assert 'src="data:image/svg+xml,' in sound
    assert 'data-preview="workflow.graph"' in sound
    assert "<script>" not in sound + broken
    assert 'data-line="9"' in broken
    assert '<code class="line" dir="auto">Say {{whom}} &lt;script&gt;' in broken
    assert "once the text has no errors" in broken


OVERLAY = {"id": "team.over", "extends": "project.three_steps", "steps": {"first": {"append": "Gently."}}}


def told_of(runtime: Runtime, text: str) -> str:
    shown = answer(runtime, "workflow.save", **saving(text, file="three_steps.json"), dryRun=True)
    return str(shown["preview"]["blast_radius"])


def test_lost_ids_and_steps_are_named_before_saving(here: Runtime, project: Path) -> None:
    document = json.loads(THREE_STEPS)
    first = document["steps"][0]["id"]
    overlay = OVERLAY | {"steps": {first: {"append": "Gently."}}}
    (project / OWN / "over.json").write_text(json.dumps(overlay), encoding="utf-8")
    renamed = THREE_STEPS.decode().replace("project.three_steps", "project.other")
    unfit = THREE_STEPS.decode().replace(f'"{first}"', '"begin"')

    away = told_of(here, renamed)
    changed = told_of(here, unfit)

    assert "The workflow project.three_steps goes away: it is project.other then." in away
    assert '"over.json" extends project.three_steps and has no base then.' in away
    assert '"over.json" extends this and does not fit it' in changed
    assert "over.json" not in told_of(here, EDITED)


def test_a_base_is_held_against_the_overlays_beside_it(here: Runtime, project: Path) -> None:
    first = json.loads(THREE_STEPS)["steps"][0]["id"]
    overlay = OVERLAY | {"steps": {first: {"append": "Gently."}}}
    (project / OWN / "over.json").write_text(json.dumps(overlay), encoding="utf-8")
    texts = [THREE_STEPS.decode(), THREE_STEPS.decode().replace(f'"{first}"', '"begin"')]

    reports = [
        answer(here, "workflow.validate", documents=[{"source": "three_steps.json", "text": one}])
        for one in texts
    ]

    told = [
        [one for one in report["items"][0]["problems"] if one["code"] == "changed_meaning"]
        for report in reports
    ]
    assert told[0] == []
    (problem,) = told[1]
    assert (problem["severity"], problem["pointer"]) == ("warning", "/id")
    assert first in problem["message"]
