"""Escapes in workflow files, context, notes, artifacts and file names: no answer carries them raw."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.given_workflows import give
from tests.journeys.interfaces import command, tool_call
from tests.surfaces.cli.here import run_here

HOSTILE = "\x1b[2J\x1b]0;t\x07\x9b31m\u202eback\x7f\x08"
RAW = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
STEPS = (
    {"id": "one", "title": "One" + HOSTILE, "prompt": "Ask {{who}}." + HOSTILE},
    {
        "type": "choice",
        "id": "pick",
        "title": "Pick" + HOSTILE,
        "prompt": "Pick." + HOSTILE,
        "options": [
            {"id": "a", "label": "A" + HOSTILE, "description": "a" + HOSTILE},
            {"id": "b", "label": "B"},
        ],
    },
)
FIELDS = {
    "name": "Name" + HOSTILE,
    "description": "Description" + HOSTILE,
    "agentRole": "role" + HOSTILE,
    "inputs": {"who": {"type": "string", "description": "who" + HOSTILE}},
}


def texts(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for pair in value.items() for one in pair for text in texts(one)]
        case list():
            return [text for one in value for text in texts(one)]
        case _:
            return []


def test_no_tool_result_carries_them_whichever_door_brought_them(runtime: Runtime) -> None:
    odd = give(runtime, *STEPS, **FIELDS)
    context = {"who": "me" + HOSTILE, "goal": "goal" + HOSTILE}
    work = {"notesMarkdown": "notes" + HOSTILE, "artifacts": [{"kind": "x" + HOSTILE, "held": HOSTILE}]}

    started = tool_call(runtime, "start_workflow", workflowId=odd, context=context)
    moved = tool_call(runtime, "continue_workflow", ackToken=started.structured["ackToken"], output=work)
    results = [
        started,
        moved,
        tool_call(runtime, "continue_workflow", stateToken=moved.structured["stateToken"]),
        tool_call(runtime, "list_workflows"),
        tool_call(runtime, "inspect_workflow", workflowId=odd),
        tool_call(runtime, "resume_session", query="notes"),
        tool_call(runtime, "start_workflow", workflowId="project.o" + HOSTILE),
    ]

    found = [text for one in results for text in (one.text, *texts(one.structured)) if RAW.search(text)]
    assert found == []


@pytest.mark.parametrize("look", ["--json", "--human", "--compact"])
def test_no_command_prints_them_raw(runtime: Runtime, look: str) -> None:
    odd = give(runtime, *STEPS, **FIELDS)
    started = command(
        runtime, "run", "start", odd, "--context", json.dumps({"who": HOSTILE}), "--request-id", "r"
    )[1]["data"]
    sent = {"ackToken": started["ackToken"], "output": {"notesMarkdown": "notes" + HOSTILE}}
    command(runtime, "run", "continue", "--input", json.dumps(sent))
    session = started["session"]["sessionId"]

    lines = [
        ("workflow", "list"),
        ("workflow", "inspect", odd),
        ("workflow", "graph", odd),
        ("run", "continue", "--state", started["stateToken"]),
        ("session", "list"),
        ("session", "show", session),
        ("session", "events", session),
        ("session", "resume", "notes"),
        ("ledger", "show", session),
    ]
    ran = {line: run_here(runtime, (*line, look)) for line in lines}

    assert {line: one.out for line, one in ran.items() if RAW.search((one.out + one.err).decode())} == {}
    if look != "--human":
        events = json.loads(ran[("session", "events", session)].out)
        assert any("notes" + HOSTILE in text for text in texts(events)), "the log shows what was sent"
