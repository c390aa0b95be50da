"""Small workflows, calls and looks at the store that the journeys of this folder share."""

from __future__ import annotations

import hashlib
from typing import Any

from tests.journeys.strangers.product import Called, Product, Server

DECISION: dict[str, Any] = {
    "kind": "wr.decision",
    "question": "Where is it rounded?",
    "options": [
        {"id": "a", "description": "Once", "advantages": ["exact"], "drawbacks": ["lines differ"]},
        {"id": "b", "description": "Per line", "advantages": ["adds up"], "drawbacks": ["drifts"]},
    ],
    "chosen": "a",
    "rationale": "The total counts.",
    "decidedBy": "agent",
    "revisitWhen": "A customer asks.",
}


def step(name: str, **more: Any) -> dict[str, Any]:
    return {"id": name, "title": name.title(), "prompt": f"Do {name}.", **more}


def workflow(name: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": f"trial.{name}", "name": name, "description": "A trial.", "steps": list(steps), **more}


def plain(product: Product) -> str:
    """Three steps that ask for nothing."""
    return product.workflow(workflow("plain", step("one"), step("two"), step("three")))


def deciding(product: Product) -> str:
    """Two steps that each require a decision, and an end."""
    contract = {"contractRef": "wr.contracts.decision"}
    made = workflow("deciding", step("first", output=contract), step("second", output=contract), step("end"))
    return product.workflow(made)


def observation(capability: str = "web_browsing", status: str = "available", **more: Any) -> dict[str, Any]:
    found = {"kind": "wr.capability_observation", "capability": capability, "status": status}
    return found | {"summary": "Tried it and saw what came back."} | more


def ack(called: Called) -> str:
    """The token that reports the pending step of this reply."""
    found = called.structured
    return str(found.get("ackToken") or found["retryAckToken"])


def pending(called: Called) -> str | None:
    held = called.structured["pending"]
    return None if held is None else str(held["stepId"])


def session(called: Called) -> str:
    return str(called.structured["session"]["sessionId"])


def codes(called: Called) -> list[str]:
    return [str(warning["code"]) for warning in called.structured.get("warnings", [])]


def blockers(called: Called) -> list[str]:
    return [str(blocker["code"]) for blocker in called.structured.get("blockers", [])]


def report(
    server: Server, before: Called, notes: str = "", *artifacts: dict[str, Any], **more: Any
) -> Called:
    """Reports the pending step of a reply as done, with the least that says what is meant."""
    output: dict[str, Any] = {}
    if notes:
        output["notesMarkdown"] = notes
    if artifacts:
        output["artifacts"] = list(artifacts)
    if output:
        more["output"] = output
    return server.call("continue_workflow", ackToken=ack(before), **more)


def again(server: Server, before: Called) -> Called:
    """Reads the step of a reply again."""
    return server.call("continue_workflow", stateToken=before.structured["stateToken"])


def save(server: Server, before: Called, notes: str, **more: Any) -> Called:
    token = before.structured["checkpointToken"]
    return server.call("checkpoint_workflow", checkpointToken=token, output={"notesMarkdown": notes}, **more)


def store(product: Product) -> dict[str, str]:
    """The digest of every file that the product keeps, without caches and what tells of running servers."""
    found: dict[str, str] = {}
    for path in sorted(product.home.rglob("*")):
        name = path.relative_to(product.home).as_posix()
        if path.is_file() and "/cache/" not in f"/{name}" and not name.startswith(("audit/", "run/")):
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def run_of(product: Product, called: Called) -> dict[str, Any]:
    """The first run of a reply's session, as `session show` tells it."""
    found: dict[str, Any] = product.data("session", "show", session(called))["runs"][0]
    return found


def prefer(product: Product, session_id: str, *flags: str) -> None:
    """Sets the preferences of one session as a person does: dry run, then confirm."""
    line = ("preferences", "set", "--session", session_id, *flags)
    token = product.data(*line, "--dry-run")["confirm_token"]
    product.data(*line, "--confirm", str(token))


def strings(value: Any) -> list[str]:
    """Every text inside a JSON value, keys included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, held in value.items() for text in (str(key), *strings(held))]
    if isinstance(value, list):
        return [text for held in value for text in strings(held)]
    return []


def changed(token: str, *places: int) -> str:
    """The token with another character at each of these places."""
    marks = list(token)
    for place in places:
        marks[place] = "q" if marks[place] != "q" else "p"
    return "".join(marks)
