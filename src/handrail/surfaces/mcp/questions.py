"""A question to a person, and its answer, in both eras. Pure."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Json
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.messages import ResultOrRefusal

if TYPE_CHECKING:  # the first question loads it; every connection loads this module
    from handrail.operations.runs.answer_run import NeededAnswer


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a tool; the last two fields carry the answer to an earlier question."""

    name: str
    arguments: dict[str, Json]
    request_state: str | None = None
    input_responses: dict[str, Json] = {}


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """The question to a person, and the attempt that the answer belongs to."""

    message: str
    schema: dict[str, Any]
    input: str
    state: str
    """The token of the attempt: Handrail signed it, so it proves that Handrail asked. If the text shown to
    the person is recorded, its digest follows.
    """
    answers: NeededAnswer
    tokens: tuple[str, ...]
    """The ack token of the attempt; for a choice, the token of each option."""
    declined: Json | UnsetType = UNSET
    """The value if the person declines (None means no option); UNSET if declining has no meaning."""

    @property
    def given(self) -> Json | UnsetType:
        """The answer that was recorded before."""
        return self.answers.given


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A call that continues after a person answered; without an answer, `unanswered` is its result."""

    question: Question
    unanswered: ResultOrRefusal
    go_on: Callable[[Runtime, Json], ResultOrRefusal | Waiting]


class _Form(msgspec.Struct, frozen=True, kw_only=True):
    """A person's answer as a client returns it."""

    action: Literal["accept", "cancel", "decline"]
    content: dict[str, list[str] | str | int | float | bool | None] | None = None


def elicitation(question: Question) -> dict[str, Json]:
    """Return the params of the request that shows a person the form."""
    return {"mode": "form", "message": question.message, "requestedSchema": question.schema}


def input_required(question: Question) -> dict[str, Json]:
    """Return the same as the answer of a call, which the client repeats with the person's answer."""
    schema = {name: question.schema[name] for name in sorted(question.schema)}
    form = {"message": question.message, "mode": "form", "requestedSchema": schema}
    return {
        "inputRequests": {question.input: {"method": "elicitation/create", "params": form}},
        "requestState": question.state,
        "resultType": "input_required",
    }


def answers_question(call: ToolCall, question: Question) -> bool:
    """Whether a repeated call contains the answer to this question."""
    return hmac.compare_digest((call.request_state or "").encode(), question.state.encode())


def read_brought_value(call: ToolCall, question: Question) -> Json | UnsetType:
    """Return the value in a repeated call; UNSET if it answers another question."""
    if not answers_question(call, question):
        return UNSET  # not our state, so this question was not asked
    return read_value(question, call.input_responses.get(question.input))


def read_value(question: Question, brought: Json) -> Json | UnsetType:
    """Return what a person answered; UNSET if they did not, or the client sent something else."""
    try:
        form = msgspec.convert(brought, _Form)
    except msgspec.ValidationError:
        return UNSET
    return read_answer(question, form.action, form.content)


def read_answer(question: Question, action: str, content: dict[str, Any] | None) -> Json | UnsetType:
    """Return the value that a person gave; UNSET if they left, or the client sent something else."""
    if action == "decline":
        return question.declined
    if action != "accept" or not isinstance(content, dict):
        return UNSET
    value = content.get(question.input, UNSET)
    return UNSET if value is None else value
