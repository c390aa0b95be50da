"""Whole tool calls on a runtime in memory: each channel alone carries an agent through a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import pytest

from handrail.contract.disclosure.fields import Level
from handrail.event_log.memory import MemoryLog
from handrail.ports.workspace import Settings
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp import results
from handrail.surfaces.mcp.results import LIST_BYTES, Rendered, answer_call
from handrail.surfaces.mcp.tools import offered_tools
from tests.conftest import KeptIncidents, library_of, settings_of
from tests.filled_in import filled_in

TOOLS = offered_tools()
CALL = re.compile(r"(?P<tool>[a-z]+_[a-z]+) (?P<params>\{.*?\})(?=    |$)", re.MULTILINE)
WORKFLOW = "project.three_steps"


def call(runtime: Runtime, tool: str, params: dict[str, Any], mvi: Level = "standard") -> Rendered:
    return answer_call(runtime, TOOLS, TOOLS[tool], params, mvi)


def started(runtime: Runtime, **params: Any) -> Rendered:
    return call(runtime, "start_workflow", {"workflowId": WORKFLOW, **params})


def next_call_in_text(text: str) -> tuple[str, dict[str, Any]] | None:
    """The first call that stands in the text, as an agent would copy it."""
    found = CALL.search(text)
    return (found["tool"], json.loads(found["params"])) if found else None


def leaves(value: Any) -> Iterator[str]:
    """Every word and number of a payload; flags and empty values say nothing that a text would repeat."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key != "_untrusted":
                yield from leaves(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner)
    elif isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        yield str(value)


INTENTS = {"perform_pending_then_continue", "await_user_confirmation", "complete"}
SAID_OTHERWISE = INTENTS | {"ok", "blocked"}
"""Words that the text says in a sentence of its own."""


def check_complete(rendered: Rendered) -> None:
    """Whatever the structured copy tells stands in the text too."""
    named = [one.get("id", "").rpartition(".")[2] for one in rendered.structured.get("items", ())]
    words = {name.replace("_", " ").capitalize() for name in named}  # a name that its id says
    missing = [
        leaf for leaf in leaves(rendered.structured) if leaf not in rendered.text and leaf not in words
    ]

    assert [leaf for leaf in missing if leaf not in SAID_OTHERWISE] == []


@pytest.mark.parametrize("mvi", ["minimal", "standard"])
def test_a_session_without_a_run_is_told_whole_in_both_channels(runtime: Runtime, mvi: Level) -> None:
    settings_of(runtime).settings = Settings(start_session=True)
    tools = offered_tools(start_session=True)

    begun = answer_call(runtime, tools, tools["start_session"], {"goal": "look around"}, mvi)
    saving = next_call_in_text(begun.text)
    assert saving is not None
    tool, params = saving
    noted = call(runtime, tool, filled_in(params), mvi)
    start_workflow = {"workflowId": WORKFLOW, "session": begun.structured["sessionToken"]}
    call(runtime, "start_workflow", start_workflow, mvi)
    shown = call(runtime, "continue_workflow", {"stateToken": begun.structured["sessionToken"]}, mvi)

    assert [reply.is_error for reply in (begun, noted, shown)] == [False] * 3
    assert "No step is pending." in noted.text
    for reply in (begun, noted, shown):
        check_complete(reply)


def test_lost_agent_comes_back_through_text_alone(runtime: Runtime) -> None:
    first = started(runtime)
    call(
        runtime,
        "continue_workflow",
        {**first.structured["nextCall"]["params"], "output": {"notesMarkdown": "a"}},
    )

    found = next_call_in_text(call(runtime, "resume_session", {}).text)
    assert found is not None
    text = call(runtime, *found).text

    assert text.startswith("Step: Second (second)")
    assert "notes of step first (First)" in text
    following = next_call_in_text(text)
    assert following is not None
    tool, params = following
    assert call(runtime, tool, filled_in(params)).text.startswith("Step: Third (third)")


def test_every_fact_of_every_answer_is_in_both_channels(runtime: Runtime) -> None:
    first = started(runtime, goal="ship it")
    ack, state = first.structured["ackToken"], first.structured["stateToken"]
    second = call(runtime, "continue_workflow", {"ackToken": ack, "output": {"notesMarkdown": "looked"}})
    checkpoint = {
        "checkpointToken": second.structured["checkpointToken"],
        "output": {"notesMarkdown": "half"},
    }

    answers = [
        first,
        second,
        call(runtime, "checkpoint_workflow", checkpoint),
        call(runtime, "continue_workflow", {"stateToken": state}),
        call(runtime, "continue_workflow", {"stateToken": second.structured["stateToken"]}),
        call(runtime, "continue_workflow", {"ackToken": ack, "output": {"notesMarkdown": "other"}}),
        call(runtime, "list_workflows", {}),
        call(runtime, "inspect_workflow", {"workflowId": WORKFLOW, "part": "steps"}),
        call(runtime, "resume_session", {}),
    ]

    for answer in answers:
        assert not answer.is_error
        check_complete(answer)


def test_object_sent_as_text_is_named_in_both_channels(runtime: Runtime) -> None:
    ack = started(runtime).structured["ackToken"]

    reply = call(runtime, "continue_workflow", {"ackToken": ack, "output": '{"notesMarkdown": "done"}'})

    keys = list(reply.structured)
    assert keys.index("nextCall") + 1 == keys.index("warnings") == keys.index("progress") - 1
    assert reply.structured["warnings"][0]["code"] == "INPUT_REPAIRED"
    assert "Warning INPUT_REPAIRED: output was sent as text" in reply.text
    resumed = call(runtime, "resume_session", {})
    assert resumed.structured["items"][0]["snippet"] == "done"


def check_one_retry(runtime: Runtime, tool: str, params: dict[str, Any]) -> Rendered:
    """The call is refused, and the call that the refusal offers works; from either channel."""
    refusal = call(runtime, tool, params)
    assert refusal.is_error
    offered = refusal.structured["details"]["next_call"]
    assert next_call_in_text(refusal.text.split("\n")[-1]) == (offered["tool"], offered["params"])
    answer = call(runtime, offered["tool"], offered["params"])
    assert not answer.is_error
    return answer


def test_token_in_the_wrong_argument_needs_one_retry(runtime: Runtime) -> None:
    first = started(runtime).structured
    notes = {"output": {"notesMarkdown": "done"}}

    read = check_one_retry(runtime, "continue_workflow", {"ackToken": first["stateToken"], **notes})
    saved = check_one_retry(runtime, "continue_workflow", {"ackToken": first["checkpointToken"], **notes})
    swapped = {"ackToken": first["stateToken"], "stateToken": first["ackToken"], **notes}
    advanced = check_one_retry(runtime, "continue_workflow", swapped)

    assert [reply.structured["pending"]["stepId"] for reply in (read, saved, advanced)] == [
        "first",
        "first",
        "second",
    ]
    assert cast(MemoryLog, runtime.log).commits == 3  # start, checkpoint, advance


def test_a_long_list_goes_on_with_a_cursor_and_loses_nothing(runtime: Runtime) -> None:
    library = library_of(runtime)
    for number in range(60):
        library.add(_workflow(number, "d" * 400), f"w{number:02}.json")
    seen: list[str] = []
    params: dict[str, Any] = {"query": "many"}

    for _ in range(20):
        page = call(runtime, "list_workflows", params)
        assert len(json.dumps(page.structured)) <= LIST_BYTES + 600  # json.dumps writes spaces
        seen += [row["id"] for row in page.structured["items"]]
        following = next_call_in_text(page.text.split("\n")[-2])
        if not page.structured["has_more"]:
            break
        assert following is not None
        params = following[1]

    assert seen == [f"project.many{number:02}" for number in range(60)]


def test_one_item_larger_than_a_page_is_still_shown(runtime: Runtime) -> None:
    library_of(runtime).add(_workflow(0, "🚂" * 2_000), "long.json")

    page = call(runtime, "list_workflows", {"query": "many"})

    assert not page.is_error
    assert [row["id"] for row in page.structured["items"]] == ["project.many00"]


def test_a_defect_of_this_surface_is_an_answer_without_its_words(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a secret of the house")

    monkeypatch.setattr(results, "read_arguments", broken)

    answer = call(runtime, "list_workflows", {})

    assert answer.structured["code"] == "INTERNAL_ERROR"
    assert "secret" not in answer.text + json.dumps(answer.structured)
    assert "secret" in cast(KeptIncidents, runtime.incidents).tracebacks[0]


def _workflow(number: int, description: str) -> bytes:
    step = {"id": "only", "title": "Only", "prompt": "Do it."}
    document = {
        "id": f"project.many{number:02}",
        "name": f"Many {number}",
        "description": description,
        "steps": [step],
    }
    return json.dumps(document).encode()
