"""An agent that answers only what it is asked ends every workflow, and nothing is skipped unseen.

It knows nothing of the workflows: it fills the frame of the next call from the prompt, sends the values that
the prompt asks for, and mends what a blocker names. The public files are looked for as in
tests/workflows/test_corpus.py.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.results import Rendered
from tests.conftest import GivenFiles, library_of
from tests.filled_in import PLACEHOLDER
from tests.journeys.conversation import answer
from tests.journeys.interfaces import tool_call
from tests.quick_set import all_but_thorough
from tests.surfaces.mcp.scripted_agents import IDS, MODES, answered, given, needed_by
from tests.workflows.test_corpus import FILES

MOST_CALLS = 200
MOST_BLOCKS = 4
"""Corrections that one step may need."""

EXAMPLE = re.compile(r"^```json\n(.*)\n```$", re.MULTILINE)
ASKING = re.compile(r"(?:ask me|ask the user|wait for the (?:user|answer)).*", re.IGNORECASE)
WANTED = re.compile(r'contain "((?:[^"\\]|\\.)*)"')
LEAST = re.compile(r"have at least ([0-9]+)")


class Driven(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run."""

    end: dict[str, Any]
    visited: set[str]
    passed: set[str]
    """Steps and loops that some reply told of as not run, or that `session show` names as not needed."""
    prompts: list[str]


def drive(runtime: Runtime, workflow_id: str, mode: str) -> Driven:
    visited: set[str] = set()
    passed: set[str] = set()
    prompts: list[str] = []
    reply = begun(runtime, workflow_id, mode).structured
    session: dict[str, str] = reply["session"]
    run_id = session["runId"]
    state = reply["stateToken"]
    blocks = 0
    prompt = ""
    for _ in range(MOST_CALLS):
        passed |= {part["stepId"] for part in reply.get("skipped", ())}
        session = reply.get("session") or session  # a blocked reply does not name it
        is_helper = session["runId"] != run_id
        state = state if is_helper else reply["stateToken"]
        if is_helper and reply["pending"] is None:
            reply = tool_call(runtime, "continue_workflow", stateToken=state).structured
            continue
        if reply["pending"] is None:
            passed |= not_needed(runtime, session["sessionId"], workflow_id)
            return Driven(end=reply, visited=visited, passed=passed, prompts=prompts)
        prompt = reply["pending"].setdefault("prompt", prompt)  # a blocked reply does not say it again
        prompts.append(prompt)
        visited.add(reply["pending"]["stepId"].rpartition("::")[2])
        blocks = blocks + 1 if reply["kind"] == "blocked" else 0
        assert blocks <= MOST_BLOCKS, reply["blockers"]
        call = reply["nextCall"]
        following = tool_call(runtime, call["tool"], **report_on(reply))
        assert not following.is_error, following.text
        reply = following.structured
    raise AssertionError(f"{workflow_id} did not end in {MOST_CALLS} calls")


def begun(runtime: Runtime, workflow_id: str, mode: str) -> Rendered:
    """The start; refused for want of inputs, the agent fills in the one that it is offered."""
    first = tool_call(runtime, "start_workflow", workflowId=workflow_id, preferences={"autonomy": mode})
    if not first.is_error:
        return first
    details = first.structured["details"]
    return tool_call(runtime, "start_workflow", **given(details["next_call"]["params"], details["problems"]))


def not_needed(runtime: Runtime, session_id: str, workflow_id: str) -> set[str]:
    """Steps and loops that what was given ruled out: the session names them, no reply does."""
    runs = answer(runtime, "session.show", sessionId=session_id)["runs"]
    (run,) = [one for one in runs if one["workflow_id"] == workflow_id]  # the others are of its helpers
    return {row["step_id"] for row in run["skipped"] if row["not_needed"]}


def report_on(reply: dict[str, Any]) -> dict[str, Any]:
    """The next call, filled in from what the reply shows."""
    call = reply["nextCall"]
    frame = call["options"][0]["params"] if "options" in call else call["params"]
    prompt = reply["pending"]["prompt"]
    params = answered(frame, prompt)
    output = frame.get("output", {})
    filled: dict[str, Any] = {}
    if "notesMarkdown" in output:
        filled["notesMarkdown"] = notes_for(prompt)
    if "artifacts" in output:
        shown = [json.loads(text) for text in EXAMPLE.findall(prompt)]
        shown += [reply["example"]] if "example" in reply else []
        filled["artifacts"] = [make_from(held, shown) for held in output["artifacts"]]
    return params | ({"output": filled} if filled else {})


def notes_for(prompt: str) -> str:
    """Notes with every text that the prompt demands, as long as it demands; the rest in its own words."""
    rules = prompt.partition("The notes are accepted only if they:\n")[2].partition("\n\n")[0]
    wanted = [rules, *(json.loads(f'"{text}"') for text in WANTED.findall(rules))]
    least = max((int(number) for number in LEAST.findall(rules)), default=0)
    return " ".join(["Did it; `pytest -q` ended with exit code 0.", *wanted]).ljust(least, ".")


def make_from(frame: dict[str, Any], shown: list[dict[str, Any]]) -> dict[str, Any]:
    """The artifact of a frame, with the values of an example of its kind; a loop is left at once."""
    alike = [one for one in shown if one.get("kind") == frame["kind"]]
    named = [one for one in alike if one.get("assessmentId") == frame.get("assessmentId")]
    example = (named or alike or [{}])[-1] | {"decision": "stop"}
    known = {key: value for key, value in frame.items() if PLACEHOLDER not in str(value)}
    own = {
        key: "In its own words." if str(value).startswith("<") else value for key, value in example.items()
    }
    return {key: value for key, value in own.items() if key in alike_keys(alike)} | known


def alike_keys(alike: list[dict[str, Any]]) -> set[str]:
    return {key for one in alike for key in one}


def unseen(runtime: Runtime, workflow_id: str, driven: Driven) -> set[str]:
    """Steps that neither ran nor were told of, themselves or by a loop around them."""
    outline = answer(runtime, "workflow.inspect", workflowId=workflow_id, part="steps")["workflow"]["steps"]
    loops = {part["id"]: part.get("loop", "") for part in outline}
    return {
        part["id"]
        for part in outline
        if part.get("type") != "loop"
        and part["id"] not in driven.visited
        and not set(around(part["id"], loops)) & driven.passed
    }


def around(part_id: str, loops: dict[str, str]) -> Iterator[str]:
    while part_id:
        yield part_id
        part_id = loops[part_id]


@pytest.mark.thorough
@pytest.mark.parametrize(("workflow_id", "mode"), all_but_thorough(itertools.product(IDS, MODES), step=4))
def test_no_bundled_workflow_ends_with_steps_skipped_in_silence(
    runtime: Runtime, workflow_id: str, mode: str
) -> None:
    runtime = msgspec.structs.replace(runtime, library=needed_by(workflow_id))

    driven = drive(runtime, workflow_id, mode)

    assert driven.end["isComplete"] is True
    assert unseen(runtime, workflow_id, driven) == set()


@pytest.mark.thorough
@pytest.mark.parametrize("workflow_id", IDS)
def test_no_bundled_prompt_asks_the_user_where_nobody_is_asked(runtime: Runtime, workflow_id: str) -> None:
    runtime = msgspec.structs.replace(runtime, library=needed_by(workflow_id))

    prompts = drive(runtime, workflow_id, "full_auto_never_stop").prompts

    assert [found for prompt in prompts for found in ASKING.findall(prompt)] == []


@pytest.mark.skipif(not FILES, reason="needs the corpus of public workflow files (HANDRAIL_TEST_CORPUS)")
@pytest.mark.thorough
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_public_workflow_ends_with_steps_skipped_in_silence(
    runtime: Runtime, path: Path, mode: str
) -> None:
    document = json.loads(path.read_bytes())
    document["id"] = "project.public"
    runtime = msgspec.structs.replace(runtime, library=GivenFiles())
    library_of(runtime).add(json.dumps(document).encode())

    driven = drive(runtime, "project.public", mode)

    assert driven.end["isComplete"] is True
    assert unseen(runtime, "project.public", driven) == set()
    if mode == "full_auto_never_stop":
        reasons = {warning["code"] for warning in driven.end.get("warnings", ())}
        assert "GAP_RECORDED" not in reasons, "what was asked for was sent"


def counted(**loop: Any) -> dict[str, Any]:
    """A file from elsewhere whose loop runs as often as a value says."""
    body = [{"id": "work", "title": "Work", "prompt": "Round {{currentIteration}}."}]
    return {
        "id": "project.counted",
        "name": "Counted",
        "version": "1.0.0",
        "description": "For a journey.",
        "steps": [
            {"id": "look", "title": "Look", "prompt": "Look."},
            {"id": "again", "type": "loop", "title": "Again", "loop": {"type": "for"} | loop, "body": body},
            {"id": "end", "title": "End", "prompt": "End."},
        ],
    }


@pytest.mark.parametrize(
    ("value", "rounds", "told"),
    [
        (0, [], []),
        (3, ["Round 1 of 3", "Round 2 of 3", "Round 3 of 3"], []),
        (9, [f"Round {number} of 5" for number in range(1, 6)], ["LOOP_LIMIT_REACHED"]),
    ],
)
def test_a_loop_that_is_counted_by_a_value_tells_its_own_rounds(
    runtime: Runtime, value: int, rounds: list[str], told: list[str]
) -> None:
    library_of(runtime).add(json.dumps(counted(count="howMany", maxIterations=5)).encode())
    params: dict[str, Any] = {"workflowId": "project.counted", "context": {"howMany": value}}

    replies = [tool_call(runtime, "start_workflow", **params).structured]
    while replies[-1]["pending"] is not None:
        ack = replies[-1]["ackToken"]
        following = tool_call(runtime, "continue_workflow", ackToken=ack, output={"notesMarkdown": "Done."})
        replies.append(following.structured)

    shown = [reply["pending"]["prompt"] for reply in replies if reply["pending"] is not None]
    codes = [one["code"] for reply in replies[1:] for one in reply.get("warnings", ())]
    assert [text.partition(" (loop")[0] for text in shown[1:-1]] == rounds
    assert [text.rpartition("\n")[2] for text in shown[1:-1]] == [
        f"Round {number}." for number in range(1, len(rounds) + 1)
    ]
    assert codes == told
    assert replies[-1]["progress"] == {"done": 2 + len(rounds), "atLeast": 2 + len(rounds)}


@pytest.mark.parametrize("mode", MODES)
def test_answers_alone_end_a_loop_counted_by_a_value(runtime: Runtime, mode: str) -> None:
    library_of(runtime).add(json.dumps(counted(count="howMany", maxIterations=5)).encode())

    driven = drive(runtime, "project.counted", mode)

    assert "- howMany (a number)" in driven.prompts[0]
    assert driven.end["isComplete"] is True
    assert unseen(runtime, "project.counted", driven) == set()
