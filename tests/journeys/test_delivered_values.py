"""Values that a step delivers: its `outputRequired` names them, and no word of its text does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.filled_in import filled_in
from tests.journeys.conversation import advance, answer
from tests.journeys.given_workflows import NEVER_STOP, begin, choice, equals, give, option, step
from tests.journeys.interfaces import command, tool_call
from tests.journeys.test_files import told_by_file

LINE = {"type": "string", "default": "COMMAND"}
INPUTS = {
    "line": LINE,
    "files": {"type": "array", "default": ["all of it"]},
    "depth": {"type": "string", "enum": ["quick", "deep"], "default": "quick"},
    "workers": {"type": "integer", "default": 1},
}
EACH: dict[str, Any] = {
    "type": "loop",
    "loopId": "each",
    "forEach": {"input": "files", "as": "file"},
    "maxIterations": 5,
    "body": [step("look", prompt="Look at {{file}} with {{line}}, {{depth}}, {{workers}}.")],
}


def delivering(**required: str) -> dict[str, Any]:
    """A step that delivers context values of these names, and the words about each."""
    named = {f"context.{name}": words for name, words in required.items()}
    return {"id": "plan", "title": "Plan", "promptBlocks": {"goal": "Know it.", "outputRequired": named}}


def asked(reply: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = reply["nextCall"]["params"].get("context", {})
    return found


def test_words_of_a_text_ask_for_nothing(runtime: Runtime) -> None:
    """A quotation of another report, a sentence about a value: prose, whatever it looks like."""
    quoting = "Read what the last agent wrote:\n\n- context: files, their names.\n- I sent context.line and"
    first = begin(runtime, step("plan", prompt=quoting), EACH, fields={"inputs": INPUTS})

    assert asked(first) == {}


def test_delivered_value_has_a_place_until_it_is_sent(runtime: Runtime) -> None:
    plan = delivering(files="Which ones.", line="What shows it.", workers="How many.")
    workflow_id = give(runtime, plan, EACH, inputs=INPUTS)

    first = tool_call(runtime, "start_workflow", workflowId=workflow_id).structured
    second = tool_call(
        runtime,
        "continue_workflow",
        **filled_in(first["nextCall"]["params"], "done") | {"context": {"files": ["a", "b"]}},
    ).structured
    given = tool_call(
        runtime, "start_workflow", workflowId=workflow_id, context={"line": "make", "workers": 2}
    ).structured

    assert asked(first) == {"files": ["…"], "line": "…", "workers": "… number"}
    assert "- context.line: What shows it." in first["pending"]["prompt"].splitlines()
    assert "Send as context" not in first["pending"]["prompt"], "its own text says it"
    assert "Look at a with COMMAND" in second["pending"]["prompt"]
    assert asked(given) == {"files": ["…"]}


def test_a_place_that_comes_back_unfilled_is_refused_by_its_name(runtime: Runtime) -> None:
    workflow_id = give(runtime, delivering(files="Which ones."), EACH, inputs=INPUTS)
    first = tool_call(runtime, "start_workflow", workflowId=workflow_id).structured
    call = first["nextCall"]["params"]

    refused = tool_call(runtime, "continue_workflow", **call | {"output": {"notesMarkdown": "Done."}})

    assert refused.is_error
    assert [one["param"] for one in refused.structured["details"]["problems"]] == ["context.files[0]"]


def test_a_value_with_named_values_is_told_with_them(runtime: Runtime) -> None:
    first = begin(runtime, delivering(depth="How far you went."), EACH, fields={"inputs": INPUTS})

    assert asked(first) == {"depth": "…"}
    assert "- depth (quick | deep)" in first["pending"]["prompt"].splitlines()


def test_a_value_that_steers_is_asked_for_once(runtime: Runtime) -> None:
    """The condition has the step ask for it anyway, with what tells the ways apart."""
    size = {"size": {"type": "string", "enum": ["small", "large"], "description": "How big."}}
    more = step("more", when=equals("size", "large"))
    first = begin(runtime, delivering(size="How big it is."), more, fields={"inputs": size})

    assert asked(first) == {"size": "…"}
    assert first["pending"]["prompt"].count("size (small | large)") == 1
    assert advance(runtime, first, context={"size": "large"})["pending"]["stepId"] == "more"


def test_what_only_the_user_gives_is_asked_of_no_agent(runtime: Runtime) -> None:
    only = {"userOnly": {"reason": "needs_user_secret_or_token", "input": "line"}}
    plan = delivering(line="What the user wants.") | only
    first = begin(runtime, plan, EACH, fields={"inputs": INPUTS}, preferences=NEVER_STOP)

    assert asked(first) == {}


def test_notes_as_a_value_are_no_notes_of_the_step(runtime: Runtime) -> None:
    plan = delivering(notes="Where they are kept.") | {"notesOptional": True}
    last = step("end", prompt="Read {{notes}}.")
    first = begin(runtime, plan, last, fields={"inputs": {"notes": LINE}})

    assert asked(first) == {"notes": "…"}
    assert "output" not in first["nextCall"]["params"]


PAGE = """---
id: project.page
name: Page
description: For a journey.
inputs:
  line:
    type: string
    default: COMMAND
---

## Plan {#plan}

Know it.

### Deliver

- context.line: What shows it.

## Look {#look}

Look with {{line}}.
"""


def test_every_spelling_says_it_and_gives_it_back(runtime: Runtime, tmp_path: Path) -> None:
    path = tmp_path / "project.page.md"
    path.write_text(PAGE, encoding="utf-8")
    kept = {}
    for form in ("md", "yaml", "json"):
        _, told = command(runtime, "workflow", "convert", str(path), "--to", form)
        kept[form] = told["data"]["text"]
    formatted = command(runtime, "workflow", "fmt", str(path))[1]["data"]["text"]

    for form, text in kept.items():
        library_of(runtime).held.clear()
        library_of(runtime).add(text.encode(), f"project.page.{form}")
        first = tool_call(runtime, "start_workflow", workflowId="project.page").structured
        assert asked(first) == {"line": "…"}, form
    assert formatted == kept["md"] == PAGE


def test_a_misspelt_value_is_told_with_the_edit_that_corrects_it(runtime: Runtime) -> None:
    plan, last = delivering(Text="How bad."), step("b", when=equals("text", "high"))
    fields = {"inputs": {"text": {"type": "string"}}}
    place = "/steps/0/promptBlocks/outputRequired/context.Text"

    assert told_by_file(runtime, plan, last, **fields) == [("undeclared_name", place)]
    content = library_of(runtime).held[-1].content.decode()
    written = {"source": "x.json", "text": content}
    done = answer(runtime, "workflow.fmt", document=written, fix=True)
    assert '"context.text": "How bad."' in done["text"]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("found", {"type": "action", "id": "run", "operation": "workflow.list", "saveAs": "found"}),
        ("side", choice("way", option("left", side="left"), option("right", side="right"))),
    ],
)
def test_a_value_that_no_report_may_set_is_told(runtime: Runtime, name: str, more: dict[str, Any]) -> None:
    told = told_by_file(runtime, delivering(**{name: "It."}), more, step("b", prompt=f"See {{{{{name}}}}}."))

    assert told == [("bad_value", f"/steps/0/promptBlocks/outputRequired/context.{name}")]


def test_the_item_of_a_loop_is_no_value_to_send(runtime: Runtime) -> None:
    inner = delivering(file="Which one.")
    told = told_by_file(runtime, EACH | {"body": [inner, *EACH["body"]]}, inputs=INPUTS)

    assert told == [("bad_value", "/steps/0/body/0/promptBlocks/outputRequired/context.file")]


def test_context_without_a_name_is_a_warning(runtime: Runtime) -> None:
    plan = {"id": "plan", "title": "Plan", "promptBlocks": {"outputRequired": {"context": "files, in order"}}}
    workflow_id = give(runtime, plan, EACH, inputs=INPUTS)

    [item] = answer(runtime, "workflow.validate", workflowIds=[workflow_id])["items"]

    [told] = item["problems"]
    assert (told["code"], told["severity"]) == ("bad_name", "warning")
    assert told["fix"] == "Write one for each value, such as `context.size`."


def test_inspect_says_which_step_delivers_a_value(runtime: Runtime) -> None:
    workflow_id = give(runtime, delivering(line="What shows it."), EACH, inputs=INPUTS)

    looked = tool_call(runtime, "inspect_workflow", workflowId=workflow_id, part="inputs")

    [line] = [one for one in looked.structured["workflow"]["inputs"] if one["name"] == "line"]
    assert line["askedAt"] == ["plan"]
