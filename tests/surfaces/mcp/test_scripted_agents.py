"""An agent that sees only the text finishes every bundled workflow.

It knows nothing of the workflows, and copies calls and examples out of what it is shown; one that sees the
structured copy alone walks in tests/journeys/test_answering_agents.py.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from handrail.host.workflow_library import list_bundled_files
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.results import Rendered, answer_call
from handrail.surfaces.mcp.tools import offered_tools
from tests.conftest import GivenFiles
from tests.filled_in import PLACEHOLDER, in_own_words

pytestmark = pytest.mark.thorough

TOOLS = offered_tools()
BUNDLED = list_bundled_files()
IDS = [file.source_ref.removesuffix(".md") for file in BUNDLED if b"\ndelegate:" not in file.content]
"""Without those that hand out work: their agent comes back to the run when a child is done, which
`tests/journeys/test_divided_work.py` shows."""
MODES = ["guided", "full_auto_stop_on_user_deps", "full_auto_never_stop"]
MOST_CALLS = 120
NOTES = "Did it; the command `pytest -q` ended with exit code 0, 12 passed."

CALL = re.compile(r"(?P<tool>[a-z]+_[a-z]+) (?P<params>\{.*?\})(?=    |$)", re.MULTILINE)
BLOCKER = re.compile(r"^(?:- [A-Z_]+ \([^)]*\):|  - /\S+) (.*)$", re.MULTILINE)
EXAMPLE = re.compile(
    r"^An artifact that would be accepted, once it has your own values: (\{.*\})$", re.MULTILINE
)


ASKED = re.compile(r"^- ([\w.-]+) \((.*?)\)(?:: .*)?$", re.MULTILINE)
WORDS: dict[str, Any] = {
    "a list; [] if there is nothing": ["one"],
    "a number": 1,
    "true | false": True,
    "an object": {},
    "any text": "text",
}


def fitting_word(allowed: str) -> Any:
    """A value for what a prompt asks for; a text where the step itself names it."""
    return WORDS.get(allowed, allowed.split(" | ")[0])


def answered(params: dict[str, Any], prompt: str) -> dict[str, Any]:
    """The offered call with the values that the prompt asks for; the report itself is written later."""
    asked = dict(ASKED.findall(prompt.partition("Send as context with this step")[2]))
    sent = {
        name: fitting_word(asked.get(name, "any text")) if value == PLACEHOLDER else value
        for name, value in params.get("context", {}).items()
    }
    sent = {name: ["one"] if value == [PLACEHOLDER] else value for name, value in sent.items()}
    kept = {name: value for name, value in params.items() if name not in ("output", "context")}
    return kept | ({"context": sent} if sent else {})


def given(params: dict[str, Any], problems: list[dict[str, Any]]) -> dict[str, Any]:
    """The start that a refusal offers, with values such as it expects."""
    expected = {row["param"].removeprefix("context."): row["expected"] for row in problems}
    context = {
        name: _fitting(expected[name]) if value == PLACEHOLDER else value
        for name, value in params["context"].items()
    }
    return params | {"context": context}


def _fitting(expected: str) -> Any:
    if expected.startswith("one of "):
        return expected.removeprefix("one of ").partition(",")[0].partition(":")[0]
    kinds: dict[str, Any] = {"type array": [], "a list": [], "type object": {}, "type integer": 1}
    return next((value for kind, value in kinds.items() if kind in expected), "something")


class TextAgent:
    """Sees the text alone, of which it takes the first call behind the prompt."""

    def next_call(self, answer: Rendered) -> tuple[str, dict[str, Any]] | None:
        if answer.text.startswith("Complete:"):
            return None
        _, _, behind = answer.text.rpartition("\n\n") if not answer.is_error else ("", "", answer.text)
        found = CALL.search(behind)
        assert found is not None, answer.text
        if answer.is_error:
            problems = json.loads(answer.text.partition("\ndetails: ")[2].partition("\n")[0])["problems"]
            return found["tool"], given(json.loads(found["params"]), problems)
        return found["tool"], answered(json.loads(found["params"]), answer.text)

    def example(self, answer: Rendered) -> dict[str, Any] | None:
        found = EXAMPLE.search(answer.text)
        return json.loads(found[1]) if found else None

    def blockers(self, answer: Rendered) -> list[str]:
        return BLOCKER.findall(answer.text) if answer.text.startswith("Blocked:") else []


def finish(runtime: Runtime, agent: TextAgent, workflow_id: str, mode: str) -> tuple[Rendered, int]:
    """The last answer and how often the run was blocked on the way.

    Blocked, the agent repeats in its notes what was missing, and delivers the artifact of the example.
    """
    call: tuple[str, dict[str, Any]] | None = (
        "start_workflow",
        {"workflowId": workflow_id, "preferences": {"autonomy": mode}},
    )
    artifacts: dict[str, dict[str, Any]] = {}
    notes, blocked = NOTES, 0
    for _ in range(MOST_CALLS):
        assert call is not None
        tool, params = call
        if tool == "continue_workflow":
            params["output"] = {"notesMarkdown": notes, "artifacts": list(artifacts.values())}
        answer = answer_call(runtime, TOOLS, TOOLS[tool], params, "standard")
        call = agent.next_call(answer)
        if call is None:
            return answer, blocked
        told = agent.blockers(answer)
        example = agent.example(answer)
        blocked += bool(told)
        notes = "\n".join([NOTES, *told])
        artifacts = (artifacts if told else {}) | ({example["kind"]: stopping(example)} if example else {})
    raise AssertionError(f"{workflow_id} did not end in {MOST_CALLS} calls")


def stopping(example: dict[str, Any]) -> dict[str, Any]:
    """An agent that wants to get to the end leaves a loop as soon as it is asked, in its own words."""
    own = {
        key: "Yes." if str(value).startswith("<") else in_own_words(value) for key, value in example.items()
    }
    return own | {"decision": "stop"} if example["kind"] == "wr.loop_control" else own


def needed_by(workflow_id: str) -> GivenFiles:
    """The workflow and every routine: the others play no part in its run, and reading them takes time."""
    return GivenFiles(
        [
            file
            for file in BUNDLED
            if file.source_ref == f"{workflow_id}.md" or file.source_ref.startswith("wr.routine_")
        ]
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("workflow_id", IDS)
def test_the_text_alone_carries_an_agent_to_the_end(runtime: Runtime, workflow_id: str, mode: str) -> None:
    runtime = msgspec.structs.replace(runtime, library=needed_by(workflow_id))

    last, blocked = finish(runtime, TextAgent(), workflow_id, mode)

    assert last.structured["isComplete"] is True
    assert last.structured["nextIntent"] == "complete"
    assert blocked == 0 or mode != "full_auto_never_stop"
