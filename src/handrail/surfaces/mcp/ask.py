"""Ask a person through the client for what a blocked step waits for: a typed value, a yes, or an
option.

Never for a secret, and only if the client can ask. If anything goes wrong, the blocked reply stays
as it is.
"""

from __future__ import annotations

import re
from typing import Any, assert_never

import msgspec
from msgspec import UNSET

from handrail.contract.fence import flatten_text
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Failure, Json
from handrail.operations.runs.answer_run import (
    Meant,
    NeededAnswer,
    find_needed_answer,
    read_gift,
    record_persons_answer,
)
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.arguments import read_arguments
from handrail.surfaces.mcp.questions import Question
from handrail.surfaces.mcp.results import Rendered, run_guarded
from handrail.surfaces.mcp.tools import Tool
from handrail.workflows.compiled import InputSpec

LONGEST_TITLE, LONGEST_DESCRIPTION = 80, 300
MOST_ENUM = 50
_SECRET = re.compile(
    r"pass(?:word|phrase|code)|secret|token|credential|private.?key|api.?key|access.?key|\bpin\b|\botp\b",
    re.IGNORECASE,
)
"""Names of secrets, which a form in a chat client must not ask for, whatever the author wrote."""
_CONFIRM, _CHOICE = "confirm", "choice"
_KEPT = "Your answer is kept in the log of the session, with the account that this server runs under."


def find_question(runtime: Runtime, tool: Tool, reply: Rendered) -> Question | None:
    """Return the question whose answer unblocks this reply; None if there is none."""
    tokens = _retry_tokens(tool, reply)
    if not tokens:
        return None
    asked = run_guarded(
        runtime, lambda: find_needed_answer(runtime.for_rehydrate(), runtime.secrets, tokens[0])
    )
    if asked is None or isinstance(asked, Failure):
        return None
    match asked.ask.kind:
        case "give":
            return _ask_for_input(runtime, asked, tokens)
        case "choose":
            return _ask_to_choose(runtime, asked, tokens)
        case "confirm" | "allow_write":
            return _ask_to_confirm(asked, tokens)
        case never:
            assert_never(never)


def take_answer(
    runtime: Runtime, tool: Tool, arguments: dict[str, Json], question: Question, value: Json
) -> dict[str, Json] | None:
    """Record what a person answered, and return the call that continues with it.

    It is the caller's report again, for the attempt that waits; None if the answer cannot be used.
    """
    read = read_arguments(tool, arguments)
    meant = _read_answer(question.answers, value)
    if isinstance(read, Failure) or meant is None or not _record(runtime, question, meant):
        return None
    kept = {name: held for name, held in read.params.items() if name not in ("ackToken", "stateToken")}
    token = question.tokens[0]
    if question.answers.ask.kind == "choose":
        ids = [option.id for option in question.answers.ask.options]
        token = question.tokens[ids.index(meant.option_id) if meant.option_id else 0]
        kept.pop("context", None)  # the blocked attempt has it, and it may match the agent's option only
    return {**kept, "ackToken": token}


def _read_answer(needed: NeededAnswer, value: Json) -> Meant | None:
    """Return the meaning of a form's value; None if it is no answer."""
    match needed.ask.kind:
        case "give":
            text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
            return read_gift(text, needed.ask, needed.workflow)
        case "choose":
            if value is None:
                return Meant(answer="declined")
            is_offered = value in [option.id for option in needed.ask.options]
            return Meant(answer="confirmed", option_id=str(value)) if is_offered else None
        case "confirm" | "allow_write":
            if not isinstance(value, bool):
                return None
            return Meant(answer="confirmed" if value else "declined")
        case never:
            assert_never(never)


def is_taken(reply: Rendered) -> bool:
    """Whether the answer reached the run, and the reply belongs to this report."""
    return not reply.is_error and _belongs_to_report(reply)


def _record(runtime: Runtime, question: Question, meant: Meant) -> bool:
    """Record what a person answered, unless an earlier call did; return whether it is recorded now."""
    if question.given is not UNSET:
        return True
    recorded = run_guarded(
        runtime, lambda: record_persons_answer(runtime, question.tokens[0], question.answers, meant)
    )
    return not isinstance(recorded, Failure)


def _belongs_to_report(reply: Rendered) -> bool:
    warnings: list[dict[str, Any]] = reply.structured.get("warnings", [])
    return all(warning["code"] != "REPLAY_INPUT_MISMATCH" for warning in warnings)


def _retry_tokens(tool: Tool, reply: Rendered) -> tuple[str, ...]:
    """Return the tokens of a reply that only one answer of the user unblocks: one per option, or one."""
    payload = reply.structured
    if tool.operation != "run.continue" or reply.is_error or payload.get("kind") != "blocked":
        return ()
    blockers: list[dict[str, Any]] = payload.get("blockers", [])
    if len(blockers) != 1 or blockers[0]["code"] != "USER_ONLY_DEPENDENCY" or not _belongs_to_report(reply):
        return ()
    call = payload.get("nextCall") or {"params": {}}
    offered = call.get("options") or [call]
    return tuple(str(one["params"]["ackToken"]) for one in offered if "ackToken" in one["params"])


def _ask_for_input(runtime: Runtime, asked: NeededAnswer, tokens: tuple[str, ...]) -> Question | None:
    spec, needed = asked.spec, asked.ask.needed
    assert spec is not None, "only a declared input is asked for"
    assert needed is not None, "only a step that needs the user asks for a value"
    if _SECRET.search(f"{needed.input} {spec.description}"):
        return None
    title = flatten_text(asked.ask.leaf.title)[:LONGEST_TITLE]
    about = flatten_text(spec.description).rstrip(".")[:LONGEST_DESCRIPTION]
    ending = f": {about}" if about else ""
    name = flatten_text(asked.workflow.name)[:LONGEST_TITLE]
    message = (
        f'The step "{title}" of the workflow "{name}" needs {needed.input} from you{ending}. '
        f"Do not enter secrets. {_KEPT}"
    )
    return Question(
        message=runtime.secrets.redact_text(message),
        schema=_form(needed.input, _input_field(needed.input, spec)),
        input=needed.input,
        state=tokens[0],
        answers=asked,
        tokens=tokens,
    )


def _ask_to_confirm(asked: NeededAnswer, tokens: tuple[str, ...]) -> Question:
    return _ask_about_shown(
        asked, tokens, _CONFIRM, {"type": "boolean", "title": "Confirm this step?"}, False
    )


def _ask_to_choose(runtime: Runtime, asked: NeededAnswer, tokens: tuple[str, ...]) -> Question | None:
    options = asked.ask.options
    if len(options) > MOST_ENUM:
        return None
    names = [flatten_text(runtime.secrets.redact_text(one.label))[:LONGEST_TITLE] for one in options]
    ids = [option.id for option in options]
    field = {"type": "string", "title": "Which option do you take?", "enum": ids, "enumNames": names}
    return _ask_about_shown(asked, tokens, _CHOICE, field, None)


def _ask_about_shown(
    asked: NeededAnswer, tokens: tuple[str, ...], name: str, field: dict[str, Any], declined: Json
) -> Question:
    """Return a question whose field title asks it, about the text that the person sees."""
    return Question(
        message=f"{field['title']}\n\n{asked.shown}\n\n{_KEPT}",
        schema=_form(name, field),
        input=name,
        state=_state(tokens, asked.shown),
        answers=asked,
        tokens=tokens,
        declined=declined,
    )


def _state(tokens: tuple[str, ...], shown: str) -> str:
    """Return the state that binds an answer to the shown text; a client that sends it later sends
    this too.
    """
    return f"{tokens[0]}.{digest(shown)}"


def _form(name: str, field: dict[str, Any]) -> dict[str, Any]:
    """Return a flat form with one field, because clients can show no more."""
    return {"type": "object", "properties": {name: field}, "required": [name]}


def _input_field(name: str, spec: InputSpec) -> dict[str, Any]:
    field: dict[str, Any] = {"type": spec.type, "title": name}
    words = [flatten_text(word) for word in spec.enum if isinstance(word, str)]
    if spec.type == "string" and words and len(words) == len(spec.enum) <= MOST_ENUM:
        field["enum"] = list(spec.enum)
    elif spec.enum:
        listed = ", ".join(msgspec.json.encode(value).decode() for value in spec.enum[:MOST_ENUM])
        field["description"] = flatten_text(f"One of {listed}")
    return field
