"""`workflow.convert` and `workflow.fmt`: the same workflow in another form, printed or written."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.outcome import Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from tests.conftest import KeptFiles, library_of
from tests.operations.asked import answered, refused, text, workflow

YAML = """# Ours.
id:   project.given
name: Given # for a test
description: >-
  For a
  test.
steps:
  # the only one
  - {id: work, title: Work, prompt: Do the work and say what you saw.}
"""
LAID_OUT = """# Ours.
id: project.given
name: Given  # for a test
description: For a test.
steps:
  # the only one
  - id: work
    title: Work
    prompt: Do the work and say what you saw.
"""
PAGE = """---
# Ours.
id: project.given
name: Given  # for a test
description: For a test.
---

## Work {#work}

```step
# the only one
```

Do the work and say what you saw.
"""
OUT = "/project/given.md"


def test_file_is_laid_out_in_its_spelling_with_comments(runtime: Runtime) -> None:
    shown = answered(runtime, "workflow.fmt", document=text(YAML, "given.yaml"))

    assert shown == {"workflow_id": "project.given", "spelling": "yaml", "text": LAID_OUT}
    again = answered(runtime, "workflow.fmt", document=text(LAID_OUT, "given.yaml"))
    assert again["text"] == LAID_OUT


def test_comments_stay_in_markdown_and_json_drops_them(runtime: Runtime) -> None:
    page = answered(runtime, "workflow.convert", document=text(YAML, "given.yaml"), to="md")["text"]
    outcome = perform(runtime, "workflow.convert", {"document": text(page, "given.md"), "to": "json"})

    assert page == PAGE
    assert isinstance(outcome, Success)
    assert isinstance(outcome.data, dict)
    assert [notice.message for notice in outcome.notices] == ["3 comments are left out: JSON has none."]
    assert '"title": "Work"' in outcome.data["text"]


LINKS = """---
id: project.given
name: Given
description: For a test.
---

## Work {#work}

Do the work.

### Constraints

- [one thing at a time](wr.refs.small_steps)
- [small steps](wr.refs.small_steps)
- [x] is text.

### Verify

[no guesses](wr.refs.evidence_before_claims)

### Deliver

- notes: [what was seen](wr.refs.evidence_before_claims)
"""


def test_words_of_a_link_stay_by_way_of_yaml(runtime: Runtime) -> None:
    laid = answered(runtime, "workflow.fmt", document=text(LINKS, "given.md"))["text"]
    there = answered(runtime, "workflow.convert", document=text(LINKS, "given.md"), to="yaml")["text"]
    back = answered(runtime, "workflow.convert", document=text(there, "given.yaml"), to="md")["text"]

    assert (laid, back) == (LINKS, LINKS)
    assert [line.strip() for line in there.split("\n") if "#" in line] == [
        "# [one thing at a time]",
        "# [no guesses]",
        "# [what was seen]",
    ]


def test_a_comment_in_brackets_beside_a_text_is_no_link(runtime: Runtime) -> None:
    written = there = answered(runtime, "workflow.convert", document=text(LINKS, "given.md"), to="yaml")[
        "text"
    ]
    written = written.replace('- "[x] is text."', '# [todo]\n        - "[x] is text."')

    page = answered(runtime, "workflow.convert", document=text(written, "given.yaml"), to="md")["text"]

    assert written != there
    assert "```step\n# [todo]\n```" in page


def test_a_workflow_of_the_library_is_converted_by_its_id(runtime: Runtime) -> None:
    library_of(runtime).add(PAGE.encode(), "given.md")

    shown = answered(runtime, "workflow.convert", workflowId="project.given", to="yaml")

    assert shown["text"].startswith("# Ours.\nid: project.given\n")


def test_a_file_is_written_only_with_the_token_of_its_preview(runtime: Runtime) -> None:
    params: dict[str, Any] = {"document": text(YAML, "given.yaml"), "to": "md", "out": OUT}
    assert isinstance(runtime.authored, KeptFiles)

    bare = refused(runtime, "workflow.convert", **params)
    preview = answered(runtime, "workflow.convert", **params, dryRun=True)
    assert (bare.kind.code, runtime.authored.held) == ("E_CONFIRMATION_REQUIRED", {})

    made = answered(runtime, "workflow.convert", **params, confirm=preview["confirm_token"])
    assert (made["path"], made["is_written"], runtime.authored.held[OUT]) == (OUT, True, PAGE.encode())
    assert preview["preview"]["targets"] == [OUT]


def test_layout_in_place_replaces_what_the_preview_showed(runtime: Runtime) -> None:
    assert isinstance(runtime.authored, KeptFiles)
    runtime.authored.held["/project/given.yaml"] = YAML.encode()
    params: dict[str, Any] = {"document": text(YAML, "given.yaml"), "out": "/project/given.yaml"}
    token = answered(runtime, "workflow.fmt", **params, dryRun=True)["confirm_token"]

    runtime.authored.held["/project/given.yaml"] = b"changed meanwhile"
    failure = refused(runtime, "workflow.fmt", **params, confirm=token)
    assert (failure.kind.code, failure.details["reason"]) == ("E_CONFLICT", "target_changed")

    token = answered(runtime, "workflow.fmt", **params, dryRun=True)["confirm_token"]
    answered(runtime, "workflow.fmt", **params, confirm=token)
    assert runtime.authored.held["/project/given.yaml"] == LAID_OUT.encode()


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"document": text(YAML, "given.yaml"), "to": "md", "out": "given.json"}, "VALIDATION_ERROR"),
        ({"document": text(YAML, "given.yaml"), "to": "md", "dryRun": True}, "E_USAGE"),
        ({"to": "md"}, "VALIDATION_ERROR"),
        ({"workflowId": "project.absent", "to": "md"}, "WORKFLOW_NOT_FOUND"),
        ({"document": text("id: &a x\n", "given.yml"), "to": "md"}, "WORKFLOW_INVALID"),
        ({"document": text(workflow(steps=[]), "given.json"), "to": "md"}, "WORKFLOW_INVALID"),
    ],
)
def test_what_cannot_be_written_is_refused(runtime: Runtime, params: dict[str, Any], code: str) -> None:
    assert refused(runtime, "workflow.convert", **params).kind.code == code


def test_a_broken_file_is_refused_with_its_place(runtime: Runtime) -> None:
    failure = refused(runtime, "workflow.fmt", document=text("id: x\nname: *a\n", "given.yml"))

    (problem,) = failure.details["problems"]
    assert (problem["line"], problem["column"]) == (2, 7)


@pytest.mark.parametrize("spelling", ["json", "yaml", "md"])
def test_a_new_workflow_in_any_spelling_is_sound(runtime: Runtime, spelling: str) -> None:
    params: dict[str, Any] = {"workflowId": "project.fresh", "template": "loop", "as": spelling}
    token = answered(runtime, "workflow.new", **params, dryRun=True)["confirm_token"]
    path = answered(runtime, "workflow.new", **params, confirm=token)["path"]
    assert isinstance(runtime.authored, KeptFiles)

    document = text(runtime.authored.held[path].decode(), path)
    (item,) = answered(runtime, "workflow.validate", documents=[document])["items"]

    assert path.endswith(f"project.fresh.{spelling}")
    assert (item["ok"], item["problems"]) == (True, [])


@pytest.mark.parametrize(("source", "given"), [("-", PAGE), ("x.yml", YAML), ("x.md", PAGE)])
def test_every_spelling_is_validated_simulated_and_drawn(runtime: Runtime, source: str, given: str) -> None:
    document = text(given, source)

    assert answered(runtime, "workflow.validate", documents=[document])["items"][0]["ok"] is True
    assert answered(runtime, "workflow.graph", document=document)["workflow_id"] == "project.given"
    assert answered(runtime, "workflow.simulate", document=document)["workflow_id"] == "project.given"


def test_a_saved_workflow_keeps_its_spelling(runtime: Runtime) -> None:
    params: dict[str, Any] = {"document": text(PAGE, "draft.md")}
    token = answered(runtime, "workflow.save", **params, dryRun=True)["confirm_token"]

    saved = answered(runtime, "workflow.save", **params, confirm=token)
    wrong = refused(runtime, "workflow.save", **params, file="given.json", dryRun=True)

    assert saved["file"] == "project.given.md"
    assert wrong.kind.code == "VALIDATION_ERROR"


def test_a_placeholder_in_a_long_text_is_told_at_its_own_line(runtime: Runtime) -> None:
    page = PAGE + "\n## Tell {#tell}\n\nSay it once.\nAnd then tell {{whom}} again.\n"
    document = {"source": "page.md", "text": page}

    report = answered(runtime, "workflow.validate", documents=[document], reportOnly=True)

    [problem] = [one for one in report["items"][0]["problems"] if one["severity"] == "error"]
    line = page.split("\n")[problem["line"] - 1]
    assert line[problem["column"] - 1 :].startswith("{{whom}}")


def test_keys_of_a_step_in_a_fence_that_is_text_are_told(runtime: Runtime) -> None:
    page = PAGE + "\n## Tell {#tell}\n\n```yaml\nrequireConfirmation: true\n```\n\nTell somebody.\n"

    report = answered(
        runtime, "workflow.validate", documents=[{"source": "page.md", "text": page}], reportOnly=True
    )

    [problem] = report["items"][0]["problems"]
    assert (problem["severity"], "```step" in problem["fix"]) == ("error", True)
