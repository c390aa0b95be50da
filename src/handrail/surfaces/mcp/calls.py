"""One tool call from its arguments to its result."""

from __future__ import annotations

from typing import assert_never

import msgspec

from handrail.contract.catalogue import BUDGET_EXCEEDED
from handrail.contract.cli_envelope import payload_of
from handrail.contract.commits import DONE, Commits, is_unseen, spelled, unseen
from handrail.contract.outcome import Failure, Json, Outcome, Success
from handrail.contract.shape import Ask, Budget, Level
from handrail.runtime.hub import perform
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.arguments import read_arguments
from handrail.surfaces.mcp.guarded import guarded
from handrail.surfaces.mcp.results import Rendered, render, with_warnings
from handrail.surfaces.mcp.tools import Tool, spell_call

LAST_WORD = Rendered(text=DONE, structured={"committed": True, "message": DONE}, is_error=False)
"""Of a call that changed something, where not even that can be told in its own words."""
LIST_BYTES = 8_192
"""A list goes on with a cursor after this much; an agent rarely needs more at once."""


def answer_call(
    runtime: Runtime, tools: dict[str, Tool], tool: Tool, arguments: dict[str, Json], mvi: Level
) -> Rendered:
    """What the tool answers to these arguments; trouble is an answer too, also a defect of this surface.

    Once the call has changed something, it has succeeded, whatever becomes of the text about it.
    """
    commits = Commits()
    answered = guarded(
        runtime, lambda: _without_secrets(runtime, _answer(runtime, tools, tool, arguments, mvi, commits))
    )
    if not isinstance(answered, Failure):
        return answered
    if not commits.is_made:
        return render(tools, tool, {}, answered)
    told = guarded(runtime, lambda: render(tools, tool, {}, _spelled(tools, commits, unseen(commits))))
    return LAST_WORD if isinstance(told, Failure) else told


def _spelled(tools: dict[str, Tool], commits: Commits, success: Success) -> Success:
    """An answer without a reply names the call that reads it as a client makes it."""
    if commits.reads_back is None or not is_unseen(success):
        return success
    call = spell_call(tools, commits.reads_back)
    return success if call is None else spelled(success, f"{call['tool']} {_json(call['params'])}")


def _json(value: Json) -> str:
    return msgspec.json.encode(value).decode()


def _without_secrets(runtime: Runtime, answer: Rendered) -> Rendered:
    """Whatever this process has read as a secret never reaches a client."""
    return msgspec.structs.replace(
        answer,
        text=runtime.secrets.redacted_text(answer.text),
        structured=runtime.secrets.redacted_json(answer.structured),
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
        from handrail.runtime.workflow_catalog import (  # noqa: PLC0415 - only a refusal reads workflow files
            with_known_workflow,
        )

        return render(tools, tool, {}, with_known_workflow(runtime, read))
    match _performed(runtime, tool, read.params, mvi, commits):
        case Failure() as failure:
            return render(tools, tool, read.params, failure)
        case Success() as success:
            told = _spelled(tools, commits, with_warnings(success, read.warnings))
            return render(tools, tool, read.params, told)
        case never:
            assert_never(never)


def _performed(
    runtime: Runtime, tool: Tool, params: dict[str, Json], mvi: Level, commits: Commits
) -> Outcome:
    caller = Caller(tool="handrail mcp", command=tool.name)
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
