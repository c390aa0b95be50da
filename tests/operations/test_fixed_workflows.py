"""`workflow.fmt` with `fix`: each certain fix in the author's own text; and no fix that changes what runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import KeptFiles
from tests.operations.asked import answered, refused, text, workflow

PAGE = """---
# Ours, by hand.
id: project.given
name:   Given   # for a test
description: >-
  For a
  test.
inputs: { size: {type: str, default: small}, files: {type: array} }
---

## Look {#look}

```step
# why: they forget
guidence: ["Be brief."]   # always
output: {contractRef: wr.contracts.plann}
```

Look at {{szie}}, and at
[one thing at a time](wr.refs.small_steps).

## Each {#each}
```step
type: loop
forEach: {input: fiels, as: file}
max_iterations: 4
```

### Read {#read}

Read {{file}}.
"""
FIXED_PAGE = (
    PAGE.replace("type: str,", "type: string,")
    .replace("guidence", "guidance")
    .replace("plann", "plan")
    .replace("szie", "size")
    .replace("fiels", "files")
    .replace("max_iterations", "maxIterations")
)
YAML = """# Ours, by hand.
id:   project.given
name: Given   # for a test
description: For a test.
inputs: { size: {type: str} }
steps:
  # the only one
  - {id: work, titel: Work, prompt: "Do the {{szie}} work."}   # quick
"""
FIXED_YAML = YAML.replace("type: str}", "type: string}").replace("titel", "title").replace("szie", "size")
JSON = json.dumps(
    workflow(inputs={"size": {"type": "str"}}, steps=[{"id": "w", "title": "W", "prompt": "Do {{szie}}."}]),
    indent=2,
)
FIXED_JSON = JSON.replace('"str"', '"string"').replace("szie", "size")
SPELLED = [("given.md", PAGE, FIXED_PAGE), ("given.yaml", YAML, FIXED_YAML), ("given.json", JSON, FIXED_JSON)]


def told(runtime: Runtime, page: str, source: str = "page.md") -> list[dict[str, Any]]:
    """The errors of a file."""
    report = answered(runtime, "workflow.validate", documents=[text(page, source)], reportOnly=True)
    return [one for one in report["items"][0]["problems"] if one["severity"] == "error"]


@pytest.mark.thorough
@pytest.mark.parametrize(("source", "broken", "fixed"), SPELLED, ids=["md", "yaml", "json"])
def test_a_file_is_fixed_and_keeps_its_layout_prose_and_comments(
    runtime: Runtime, source: str, broken: str, fixed: str
) -> None:
    shown = perform(runtime, "workflow.fmt", {"document": text(broken, source), "fix": True})

    assert isinstance(shown, Success)
    assert isinstance(shown.data, dict)
    assert shown.data["text"].rstrip() == fixed.rstrip()
    [notice] = shown.notices
    assert (notice.type, notice.severity) == ("fixed", "info")


FLOW = """id: project.given
name: N
description: WORDS
version: VERSION
inputs: {mood: {type: string, required: true, description: "Of the week, or [none]."}}
conditions:
  - CALM   # both weeks
steps:
  - {id: work, title: Work, prompt: PROMPT, when: calm}
"""
SOUND = {
    "WORDS": "D.",
    "VERSION": '"1"',
    "CALM": "{id: calm, kind: compare, input: mood, op: equals, value: calm}",
    "PROMPT": "Do it.",
}


def flow(**said: str) -> str:
    """A file in braces, with other words for some of its values."""
    page = FLOW
    for key, value in (SOUND | said).items():
        page = page.replace(key, value)
    return page


@pytest.mark.parametrize(
    ("key", "wrong", "right"),
    [
        ("VERSION", "1.10", '"1.10"'),
        ("VERSION", "007", '"007"'),
        ("VERSION", "0x1F", '"0x1F"'),
        ("WORDS", "1e3", '"1e3"'),
        ("WORDS", "True", '"True"'),
        ("PROMPT", "1.50", '"1.50"'),
        (
            "CALM",
            "{id: calm, input: mood, op: equals, value: calm}",
            "{id: calm, input: mood, op: equals, value: calm, kind: compare}",
        ),
    ],
)
@pytest.mark.thorough
def test_a_fix_quotes_what_stands_there_and_lays_out_nothing(
    runtime: Runtime, key: str, wrong: str, right: str
) -> None:
    document = text(flow(**{key: wrong}), "given.yaml")

    fixed = answered(runtime, "workflow.fmt", document=document, fix=True)["text"]

    assert fixed == flow(**{key: right})


def test_a_number_of_json_is_quoted_as_it_stands(runtime: Runtime) -> None:
    given = FIXED_JSON.replace('"name"', '"version": 1.10, "name"')

    fixed = answered(runtime, "workflow.fmt", document=text(given, "given.json"), fix=True)["text"]

    assert fixed == given.replace("1.10", '"1.10"')


@pytest.mark.thorough
def test_edits_of_a_page_are_stretches_of_its_text(runtime: Runtime) -> None:
    rows = [row for one in told(runtime, PAGE) for row in one.get("edit", [])]

    assert {row["op"] for row in rows} == {"rewrite"}
    lines = PAGE.split("\n")
    row = next(row for row in rows if row["text"].startswith("guidance"))
    start = row["column"] - 1
    assert lines[row["line"] - 1][start : start + row["length"]].startswith("guidence")


def test_what_only_the_author_knows_is_left_and_named(runtime: Runtime) -> None:
    broken = text(
        YAML.replace("name: Given   # for a test\n", "").replace("prompt: ", "text: 3, prompts: "),
        "given.yaml",
    )

    shown = perform(runtime, "workflow.fmt", {"document": broken, "fix": True})

    assert isinstance(shown, Success)
    [notice] = shown.notices
    assert notice.severity == "warning"
    assert "left; line" in notice.message


def test_a_file_without_a_certain_fix_is_refused_as_before(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.fmt", document=text(workflow(steps=[]), "given.json"), fix=True)

    assert failure.kind.code == "WORKFLOW_INVALID"


def test_a_sound_file_stays_as_it_is(runtime: Runtime) -> None:
    shown = answered(runtime, "workflow.fmt", document=text(FIXED_YAML, "given.yaml"), fix=True)

    assert shown["text"] == FIXED_YAML


def test_only_a_file_can_be_fixed(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.fmt", workflowId="wr.small_change", fix=True)

    assert failure.kind.code == "VALIDATION_ERROR"


def test_the_fixed_text_is_written_through_the_gate(runtime: Runtime) -> None:
    assert isinstance(runtime.authored, KeptFiles)
    runtime.authored.held["/project/given.yaml"] = YAML.encode()
    params = {"document": text(YAML, "given.yaml"), "out": "/project/given.yaml", "fix": True}

    token = answered(runtime, "workflow.fmt", **params, dryRun=True)["confirm_token"]
    answered(runtime, "workflow.fmt", **params, confirm=token)

    assert runtime.authored.held["/project/given.yaml"] == FIXED_YAML.encode()


HEAD = "---\nid: project.given\nname: Given\ndescription: For a test.\n"
LOOP = "## Each {#each}\n\n```step\ntype: loop\nforEach: {input: files, as: file}\nmaxIterations: 3\n```\n\n"


def test_a_misspelt_set_name_is_one_error_and_its_value_counts(runtime: Runtime) -> None:
    page = (
        f"{HEAD}conditions:\n  - {{id: is_agreed, kind: compare, input: agreed, op: equals, value: true}}\n"
        "---\n\n## Go on? {#go}\n\n```step\ntype: choice\noptions:\n"
        "  - {id: yes_go, label: Go, set: {agree: true}}\n  - {id: stop, label: Stop, set: {agreed: false}}\n"
        "```\n\nChoose.\n\n## Work {#work}\n\n```step\nwhen: is_agreed\n```\n\nWork.\n"
    )

    [problem] = told(runtime, page)

    assert "agreed" in problem["fix"]


def test_an_item_read_behind_its_loop_is_not_taken_for_the_list(runtime: Runtime) -> None:
    page = (
        f"{HEAD}inputs: {{files: {{type: array}}}}\n---\n\n{LOOP}### Read {{#read}}\n\nRead {{{{file}}}}.\n\n"
        "## Check {#check}\n\nCheck {{file}}.\n"
    )

    [problem] = told(runtime, page)

    assert "into the loop" in problem["fix"]
    assert "edit" not in problem


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("```yaml\nrequireConfirmation: true\n```", "```step"),
        ("~~~step\nrequireConfirmation: true\n```", "~~~"),
    ],
)
def test_a_wrong_fence_is_the_one_problem(runtime: Runtime, wrong: str, right: str) -> None:
    page = f"{HEAD}---\n\n## Work {{#work}}\n\n{wrong}\n\nWork.\n\n## Tell {{#tell}}\n\nTell.\n"

    [problem] = told(runtime, page)
    fixed = answered(runtime, "workflow.fmt", document=text(page, "page.md"), fix=True)["text"]

    assert problem["edit"][0]["text"] == right
    assert told(runtime, fixed) == []
    assert "requireConfirmation: true" in fixed


@pytest.mark.parametrize("level", ["###", "####"])
def test_a_block_too_high_belongs_to_the_step_above_it(runtime: Runtime, level: str) -> None:
    page = (
        f"{HEAD}inputs: {{files: {{type: array}}}}\n---\n\n{LOOP}### Read {{#read}}\n\nRead {{{{file}}}}.\n\n"
        f"{level} Constraints\n\n- Change nothing.\n"
    )

    fixed = answered(runtime, "workflow.fmt", document=text(page, "page.md"), fix=True)["text"]

    assert "\n#### Constraints\n" in fixed
    assert told(runtime, fixed) == []


@pytest.mark.parametrize(
    ("source", "written", "meant"),
    [
        ("slto: here\n    title: Here", "slot: here", "slot"),
        ("id: hand\n    title: Hand\n    delegate: {needs: any, children: [{id: a,"
         " workflow: project.three_steps}]}", "atLeast: 1", "atLeast"),
    ],
)  # fmt: skip
def test_one_slip_of_a_part_is_one_problem_with_its_fix(
    runtime: Runtime, source: str, written: str, meant: str
) -> None:
    page = (
        "id: project.given\nname: Given\ndescription: For a test.\ninputs: {files: {type: array}}\nsteps:\n"
        f"  - {{id: look, title: Look, prompt: Look.}}\n  - {source}\n"
    )

    [problem] = told(runtime, page, "given.yaml")
    fixed = answered(runtime, "workflow.fmt", document=text(page, "given.yaml"), fix=True)["text"]

    assert meant in problem["fix"]
    assert written in fixed
    assert told(runtime, fixed, "given.yaml") == []


def test_keys_beside_their_object_are_moved_into_it(runtime: Runtime) -> None:
    overlay = (
        "extends: project.three_steps\nid: team.review\nsteps:\n  first: {prompt: Read it twice.}\n"
        "add:\n  - {after: first, id: post, title: Post, prompt: Post it.}\n"
    )

    replaced, added = told(runtime, overlay, "over.yaml")
    fixed = answered(runtime, "workflow.fmt", document=text(overlay, "over.yaml"), fix=True)["text"]

    assert "belongs to replace" in replaced["message"]
    assert "belong to step" in added["message"]
    assert told(runtime, fixed, "over.yaml") == []
    assert "Post it." in fixed


@pytest.mark.parametrize("words", ["", "   ", "x" * 70_000])
def test_a_text_that_cannot_be_appended_is_told_and_not_edited(runtime: Runtime, words: str) -> None:
    overlay = {"extends": "project.three_steps", "id": "team.review", "steps": {"first": words}}

    problems = told(runtime, json.dumps(overlay), "over.json")

    assert (problems[0]["code"], problems[0]["pointer"]) == ("wrong_type", "/steps/first")
    assert "edit" not in problems[0]


def test_a_misspelt_workflow_to_hand_out_is_named(runtime: Runtime) -> None:
    child = {"id": "a", "workflow": "project.three_step", "inputs": {"request": "x"}}
    step = {"id": "hand", "title": "Hand", "delegate": {"children": [child]}}

    problems = told(runtime, json.dumps(workflow(steps=[step])), "given.json")

    assert "project.three_steps" in problems[0]["fix"]


def test_a_check_that_nobody_declares_is_a_warning(runtime: Runtime) -> None:
    step = {"id": "work", "title": "Work", "prompt": "Work.", "evidence": {"check": "tests"}}
    document = text(workflow(steps=[step]), "given.json")

    report = answered(runtime, "workflow.validate", documents=[document], reportOnly=True)

    [problem] = [one for one in report["items"][0]["problems"] if one["code"] == "unknown_id"]
    assert (problem["severity"], problem["pointer"]) == ("warning", "/steps/0/evidence/check")
