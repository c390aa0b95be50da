"""Workflows that journeys run, written as an author writes them."""

from __future__ import annotations

import json
from typing import Any

from handrail.runtime.runtime import Runtime
from tests.conftest import library_of
from tests.journeys.conversation import start


def give(runtime: Runtime, *steps: dict[str, Any], **fields: Any) -> str:
    """Put a workflow of these steps into the library; its id."""
    workflow_id = f"project.given{len(library_of(runtime).held)}"
    document = {"id": workflow_id, "name": "Given", "description": "For a journey.", "steps": list(steps)}
    library_of(runtime).add(json.dumps(document | fields).encode(), f"{workflow_id}.json")
    return workflow_id


def begin(runtime: Runtime, *steps: dict[str, Any], fields: dict[str, Any], **params: Any) -> dict[str, Any]:
    """Start a workflow of these steps."""
    return start(runtime, workflowId=give(runtime, *steps, **fields), **params)


def declared(*names: str) -> dict[str, Any]:
    """Fields of a workflow that reads these values, whatever they are."""
    return {"inputs": {name: {} for name in names}}


def step(step_id: str, **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "title": step_id.title(), "prompt": f"Do {step_id}."} | fields


def choice(step_id: str, *options: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "type": "choice",
        "id": step_id,
        "title": step_id.title(),
        "prompt": "Which way?",
        "options": list(options),
    } | fields


def loop(**fields: Any) -> dict[str, Any]:
    """A loop of one step, to be told what it goes on by."""
    return {"type": "loop", "loopId": "again", "maxIterations": 3, "body": [step("do")]} | fields


def rounds(loop_id: str, repeat: dict[str, Any], *body: dict[str, Any], most: int = 3) -> dict[str, Any]:
    """A loop that goes on as `repeat` says: `while`, `until`, `forEach` or `count`, and its value."""
    return {"type": "loop", "loopId": loop_id, **repeat, "maxIterations": most, "body": list(body)}


def option(option_id: str, **sets: Any) -> dict[str, Any]:
    return {"id": option_id, "label": option_id.title(), "set": sets}


def equals(name: str, value: Any) -> dict[str, Any]:
    return {"kind": "compare", "input": name, "op": "equals", "value": value}


NEVER_STOP = {"autonomy": "full_auto_never_stop"}
STOP_ON_USER = {"autonomy": "full_auto_stop_on_user_deps"}

A_DECISION = {
    "kind": "wr.decision",
    "question": "Which cache?",
    "options": [
        {"id": "lru", "description": "LRU", "advantages": ["Small."], "drawbacks": ["Forgets."]},
        {"id": "none", "description": "None", "advantages": ["Simple."], "drawbacks": ["Slow."]},
    ],
    "chosen": "lru",
    "rationale": "The list is read a thousand times.",
    "decidedBy": "agent",
    "revisitWhen": "The list changes while it is read.",
}
"""A whole artifact of the contract wr.contracts.decision."""

WITH_DECISION = {"output": {"contractRef": "wr.contracts.decision"}}

HEAVY_CONTEXT: dict[str, Any] = {
    "far": True,
    "items": ["x"] * 1_000,
    "blob": [[number] for number in range(20_000)],
}
"""A list to go through, and one so long that a look into it in each round is too much."""

FAR_AWAY: dict[str, Any] = {
    "id": "project.far",
    "name": "Far",
    "description": "With the heavy context the next step is too far away.",
    "inputs": {"items": {"type": "array", "default": []}, "far": {}, "blob": {}},
    "steps": [
        step("first", when={"kind": "compare", "input": "far", "op": "exists", "value": False}),
        rounds(
            "each",
            {"forEach": {"input": "items", "as": "item"}},
            step("found", when={"kind": "compare", "input": "blob", "op": "contains", "value": "z"}),
            most=1_000,
        ),
    ],
}
"""A workflow that is sound, and that one context keeps busy."""
