"""Asking a person through the client what a blocked step waits for: one typed value, a yes, or an option.

Never a secret, and only if the client can ask. If anything goes wrong, the blocked reply stays as it is.
"""

from __future__ import annotations

import re
from typing import Any, assert_never

import msgspec
from msgspec import UNSET

from handrail.contract.fence import flatten_text
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Failure, Json
from handrail.engine.events import ConfirmationAnswer
from handrail.operations.runs.needed_answer import (
    NeededChoice,
    NeededConfirmation,
    NeededInput,
    find_needed_answer,
    record_persons_answer,
)
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
_CONFIRM, _CHOICE = "confirm", "choice"
_KEPT = "Your answer is kept in the log of the session, with the account that this server runs under."


def find_question(runtime: Runtime, tool: Tool, reply: Rendered) -> Question | None:
    """The question whose answer unblocks this reply; None if there is none."""
    tokens = _retry_tokens(tool, reply)
    if not tokens:
        return None
    asked = run_guarded(runtime, lambda: find_needed_answer(runtime.reading(), runtime.secrets, tokens[0]))
    match asked:
        case None | Failure():
            return None
        case NeededInput():
            return _ask_for_input(runtime, asked, tokens)
        case NeededConfirmation():
            return _ask_to_confirm(asked, tokens)
        case NeededChoice():
            return _ask_to_choose(asked, tokens)
        case never:
            assert_never(never)


def take_answer(
    runtime: Runtime, tool: Tool, arguments: dict[str, Json], question: Question, value: Json
) -> dict[str, Json] | None:
    """Record what a person answered, and make the call that goes on with it.

    It is the caller's report again, for the attempt that waits; None where the answer is of no use.
    """
    read = read_arguments(tool, arguments)
    if isinstance(read, Failure):
        return None
    kept = {name: held for name, held in read.params.items() if name not in ("ackToken", "stateToken")}
    token = question.tokens[0]
    match question.answers:
        case NeededInput(name=name):
            kept["context"] = (kept.get("context") or {}) | {name: value}
        case NeededConfirmation() as asked:
            if not isinstance(value, bool) or not _record(runtime, question, asked, is_yes=value):
                return None
        case NeededChoice() as asked:
            ids = [option_id for option_id, _ in asked.options]
            if value is not None and value not in ids:
                return None
            if not _record(runtime, question, asked, is_yes=value is not None, option_id=value or ""):
                return None
            token = question.tokens[0 if value is None else ids.index(value)]
            kept.pop("context", None)  # kept by the blocked attempt, and it may fit the agent's option only
        case never:
            assert_never(never)
    return {**kept, "ackToken": token}


def is_taken(reply: Rendered) -> bool:
    """Whether the answer reached the run, and the reply belongs to this report."""
    return not reply.is_error and _belongs_to_report(reply)


def _record(
    runtime: Runtime,
    question: Question,
    asked: NeededConfirmation | NeededChoice,
    *,
    is_yes: bool,
    option_id: str = "",
) -> bool:
    """Record what a person answered, unless a call before did; whether it is recorded now."""
    if asked.given is not UNSET:
        return True
    answer: ConfirmationAnswer = "confirmed" if is_yes else "declined"
    recorded = run_guarded(
        runtime,
        lambda: record_persons_answer(runtime, question.tokens[0], answer, asked.shown, option_id),
    )
    return not isinstance(recorded, Failure)


def _belongs_to_report(reply: Rendered) -> bool:
    told: list[dict[str, Any]] = reply.structured.get("warnings", [])
    return all(warning["code"] != "REPLAY_INPUT_MISMATCH" for warning in told)


def _retry_tokens(tool: Tool, reply: Rendered) -> tuple[str, ...]:
    """The tokens of a reply that only one answer of the user unblocks: one per option, or one."""
    told = reply.structured
    if tool.operation != "run.continue" or reply.is_error or told.get("kind") != "blocked":
        return ()
    blockers: list[dict[str, Any]] = told.get("blockers", [])
    if len(blockers) != 1 or blockers[0]["code"] != "USER_ONLY_DEPENDENCY" or not _belongs_to_report(reply):
        return ()
    call = told.get("nextCall") or {"params": {}}
    offered = call.get("options") or [call]
    return tuple(str(one["params"]["ackToken"]) for one in offered if "ackToken" in one["params"])


def _ask_for_input(runtime: Runtime, asked: NeededInput, tokens: tuple[str, ...]) -> Question | None:
    if _SECRET.search(f"{asked.name} {asked.spec.description}"):
        return None
    title = flatten_text(asked.step_title)[:LONGEST_TITLE]
    about = flatten_text(asked.spec.description).rstrip(".")[:LONGEST_DESCRIPTION]
    ending = f": {about}" if about else ""
    message = (
        f'The step "{title}" of the workflow {asked.workflow_id} needs {asked.name} from you{ending}. '
        "Do not enter secrets."
    )
    return Question(
        message=runtime.secrets.redact_text(message),
        schema=_form(asked.name, _input_field(asked)),
        input=asked.name,
        state=tokens[0],
        answers=asked,
        tokens=tokens,
    )


def _ask_to_confirm(asked: NeededConfirmation, tokens: tuple[str, ...]) -> Question:
    title = "Confirm this step?"
    return Question(
        message=f"{title}\n\n{asked.shown}\n\n{_KEPT}",
        schema=_form(_CONFIRM, {"type": "boolean", "title": title}),
        input=_CONFIRM,
        state=_state(tokens, asked.shown),
        answers=asked,
        tokens=tokens,
        declined=False,
    )


def _ask_to_choose(asked: NeededChoice, tokens: tuple[str, ...]) -> Question | None:
    if len(asked.options) > MOST_ENUM:
        return None
    title = "Which option do you take?"
    names = [flatten_text(label)[:LONGEST_TITLE] for _, label in asked.options]
    ids = [option_id for option_id, _ in asked.options]
    field = {"type": "string", "title": title, "enum": ids, "enumNames": names}
    return Question(
        message=f"{title}\n\n{asked.shown}\n\n{_KEPT}",
        schema=_form(_CHOICE, field),
        input=_CHOICE,
        state=_state(tokens, asked.shown),
        answers=asked,
        tokens=tokens,
        declined=None,
    )


def _state(tokens: tuple[str, ...], shown: str) -> str:
    """An answer counts for the text that was shown: a client that brings it later brings this too."""
    return f"{tokens[0]}.{digest(shown)}"


def _form(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """A flat form with one field, as far as clients can show it."""
    return {"type": "object", "properties": {name: field}, "required": [name]}


def _input_field(asked: NeededInput) -> dict[str, Any]:
    spec = asked.spec
    field: dict[str, Any] = {"type": spec.type, "title": asked.name}
    words = [flatten_text(word) for word in spec.enum if isinstance(word, str)]
    if spec.type == "string" and words and len(words) == len(spec.enum) <= MOST_ENUM:
        field["enum"] = list(spec.enum)
    elif spec.enum:
        listed = ", ".join(msgspec.json.encode(value).decode() for value in spec.enum[:MOST_ENUM])
        field["description"] = flatten_text(f"One of {listed}")
    return field
