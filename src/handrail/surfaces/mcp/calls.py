"""One tool call from its arguments to its result."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TypeVar, assert_never

import msgspec

from handrail.contract.catalogue import BUDGET_EXCEEDED
from handrail.contract.catalogue import INTERNAL_ERROR as DEFECT
from handrail.contract.disclosure.fields import Ask, Budget, Level
from handrail.contract.envelopes.cli import payload_of
from handrail.contract.envelopes.mcp_and_http import ToolCall, to_mcp_error
from handrail.contract.outcome import (
    DONE,
    Commits,
    Failure,
    Fault,
    Json,
    Outcome,
    Success,
    failure_of,
    failure_of_defect,
    is_stand_in,
    make_stand_in,
    spell_reading_call,
)
from handrail.runtime.hub import perform
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.arguments import read_arguments
from handrail.surfaces.mcp.messages import INTERNAL_ERROR, INVALID_PARAMS, Refusal
from handrail.surfaces.mcp.results import Rendered, add_warnings, render
from handrail.surfaces.mcp.tools import Tool, spell_call

# The one place of this surface where an exception becomes a failure

_T = TypeVar("_T")


def run_guarded(runtime: Runtime, work: Callable[[], _T]) -> _T | Failure:
    """The answer of the work; a fault or a defect becomes a Failure."""
    return _try(work, lambda: runtime.incidents.record(traceback.format_exc()))


def _try(work: Callable[[], _T], record: Callable[[], str]) -> _T | Failure:
    try:
        return work()
    except Fault as fault:
        return failure_of(fault)
    except Exception as defect:  # noqa: BLE001 - the protocol library would send the exception's own words
        # Storing the traceback may fail for the same reason: no memory, no descriptor.
        incident = _try(record, str)
        return failure_of_defect(defect, incident if isinstance(incident, str) else "")


def refusal_of(failure: Failure, tool_call: ToolCall = lambda _: None) -> Refusal:
    """The failure as a protocol error; `tool_call` spells the call that is offered instead."""
    text, structured = to_mcp_error(failure, tool_call=tool_call)
    is_callers = failure.kind.http_status < DEFECT.http_status
    return Refusal(code=INVALID_PARAMS if is_callers else INTERNAL_ERROR, message=text, data=structured)


# One tool call

LAST_WORD = Rendered(text=DONE, structured={"committed": True, "message": DONE}, is_error=False)
"""The fallback for a call that changed something and whose answer cannot be rendered."""
LIST_BYTES = 8_192
"""A list continues with a cursor after this much; an agent rarely needs more at once."""


def answer_call(
    runtime: Runtime, tools: dict[str, Tool], tool: Tool, arguments: dict[str, Json], mvi: Level
) -> Rendered:
    """The result of a tool for these arguments; faults and defects are results too.

    Once the call has changed something, it has succeeded, whatever happens to its text.
    """
    commits = Commits()
    answered = run_guarded(
        runtime, lambda: _redact(runtime, _answer(runtime, tools, tool, arguments, mvi, commits))
    )
    if not isinstance(answered, Failure):
        return answered
    if not commits.is_made:
        return render(tools, tool, {}, answered)
    told = run_guarded(
        runtime, lambda: render(tools, tool, {}, _spell_read_back(tools, commits, make_stand_in(commits)))
    )
    return LAST_WORD if isinstance(told, Failure) else told


def _spell_read_back(tools: dict[str, Tool], commits: Commits, success: Success) -> Success:
    """Name the tool call that reads the reply, in an answer that lacks it."""
    if commits.reads_back is None or not is_stand_in(success):
        return success
    call = spell_call(tools, commits.reads_back)
    return success if call is None else spell_reading_call(success, f"{call['tool']} {_json(call['params'])}")


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def _redact(runtime: Runtime, answer: Rendered) -> Rendered:
    """Remove every secret that this process has read."""
    return msgspec.structs.replace(
        answer,
        text=runtime.secrets.redact_text(answer.text),
        structured=runtime.secrets.redact_json(answer.structured),
    )


def _answer(
    runtime: Runtime,
    tools: dict[str, Tool],
    tool: Tool,
    arguments: dict[str, Json],
    mvi: Level,
    commits: Commits,
) -> Rendered:
    read = read_arguments(tool, arguments)
    if isinstance(read, Failure):
        from handrail.operations.workflow_catalog import correct_workflow_id  # noqa: PLC0415 - only a refusal reads workflow files

        return render(tools, tool, {}, correct_workflow_id(runtime, read))
    match _perform(runtime, tool, read.params, mvi, commits):
        case Failure() as failure:
            return render(tools, tool, read.params, failure)
        case Success() as success:
            told = _spell_read_back(tools, commits, add_warnings(success, read.warnings))
            return render(tools, tool, read.params, told)
        case never:
            assert_never(never)


def _perform(runtime: Runtime, tool: Tool, params: dict[str, Json], mvi: Level, commits: Commits) -> Outcome:
    caller = Caller(tool="handrail mcp", command=tool.name)
    params = {**params, **tool.adds}
    if tool.operation != "workflow.list":
        return perform(runtime, tool.operation, params, Ask(mvi=mvi), caller=caller, commits=commits)
    short = Ask(mvi=mvi, budget=Budget(max_bytes=LIST_BYTES))
    outcome = perform(runtime, tool.operation, params, short, _payload_bytes, caller)
    if isinstance(outcome, Failure) and outcome.kind is BUDGET_EXCEEDED:
        return perform(
            runtime, tool.operation, params, Ask(mvi=mvi), caller=caller
        )  # one long item beats none
    return outcome


def _payload_bytes(success: Success) -> int:
    return len(msgspec.json.encode(payload_of(success)))
