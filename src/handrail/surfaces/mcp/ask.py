"""Asking a person through the client: one typed value that a blocked step waits for, never a secret.

Only if the client can ask. If anything goes wrong, the blocked reply stays as it is.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from handrail.contract.fence import flatten_text
from handrail.contract.outcome import Failure, Json
from handrail.operations.runs.needed_input import NeededInput, find_needed_input
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.arguments import read_arguments
from handrail.surfaces.mcp.calls import run_guarded
from handrail.surfaces.mcp.questions import Question
from handrail.surfaces.mcp.results import Rendered
from handrail.surfaces.mcp.tools import Tool

LONGEST_TITLE, LONGEST_DESCRIPTION = 80, 300
MOST_ENUM = 50
_SECRET = re.compile(
    r"pass(?:word|phrase|code)|secret|token|credential|private.?key|api.?key|access.?key|\bpin\b|\botp\b",
    re.IGNORECASE,
)
"""A form in a chat client must not ask for these, whatever the author wrote."""


def find_question(runtime: Runtime, tool: Tool, reply: Rendered) -> Question | None:
    """The question whose answer unblocks this reply; None if there is none."""
    token = _retry_token(tool, reply)
    if not token:
        return None
    asked = run_guarded(runtime, lambda: find_needed_input(runtime.reading(), token))
    if asked is None or isinstance(asked, Failure):
        return None
    if _SECRET.search(f"{asked.name} {asked.spec.description}"):
        return None
    return Question(
        message=_message(asked), schema=_schema(asked), input=asked.name, state=token, given=asked.given
    )


def build_answered_call(
    tool: Tool, arguments: dict[str, Json], question: Question, value: Json
) -> dict[str, Json] | None:
    """The caller's report again, for the attempt that waits, with the missing value."""
    read = read_arguments(tool, arguments)
    if isinstance(read, Failure):
        return None
    kept = {name: held for name, held in read.params.items() if name not in ("ackToken", "stateToken")}
    context = {**(kept.get("context") or {}), question.input: value}
    return {**kept, "ackToken": question.state, "context": context}


def is_taken(reply: Rendered) -> bool:
    """Whether the value unblocked the run, and the reply belongs to this report."""
    if reply.is_error or reply.structured.get("kind") != "ok":
        return False
    told: list[dict[str, Any]] = reply.structured.get("warnings", [])
    return all(warning["code"] != "REPLAY_INPUT_MISMATCH" for warning in told)


def _retry_token(tool: Tool, reply: Rendered) -> str:
    """The token of a reply that is blocked only by one missing input of the user."""
    told = reply.structured
    if tool.operation != "run.continue" or reply.is_error or told.get("kind") != "blocked":
        return ""
    blockers: list[dict[str, Any]] = told.get("blockers", [])
    if len(blockers) != 1 or blockers[0]["code"] != "USER_ONLY_DEPENDENCY":
        return ""
    call = told.get("nextCall") or {"params": {}}
    is_input = blockers[0]["pointer"]["kind"] == "context_key"
    return str(call["params"].get("ackToken", "")) if is_input else ""


def _message(asked: NeededInput) -> str:
    title = flatten_text(asked.step_title)[:LONGEST_TITLE]
    about = flatten_text(asked.spec.description).rstrip(".")[:LONGEST_DESCRIPTION]
    ending = f": {about}" if about else ""
    return (
        f'The step "{title}" of the workflow {asked.workflow_id} needs {asked.name} from you{ending}. '
        "Do not enter secrets."
    )


def _schema(asked: NeededInput) -> dict[str, Any]:
    """A flat form with one field, as far as clients can show it."""
    spec = asked.spec
    field: dict[str, Any] = {"type": spec.type, "title": asked.name}
    words = [flatten_text(word) for word in spec.enum if isinstance(word, str)]
    if spec.type == "string" and words and len(words) == len(spec.enum) <= MOST_ENUM:
        field["enum"] = list(spec.enum)
    elif spec.enum:
        listed = ", ".join(msgspec.json.encode(value).decode() for value in spec.enum[:MOST_ENUM])
        field["description"] = flatten_text(f"One of {listed}")
    return {"type": "object", "properties": {asked.name: field}, "required": [asked.name]}
