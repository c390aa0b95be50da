"""Prompts that people pick in their client, and completion while they type an argument.

There is one prompt per workflow, and one to go on with earlier work. A prompt starts nothing. It tells the
agent which call to make, in our own words: from the author, only the workflow's id reaches the message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from handrail.contract.catalogue import E_NOT_FOUND, KINDS, VALIDATION_ERROR
from handrail.contract.fence import flatten_text
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.operations.workflow_catalog import load_catalog
from handrail.runtime.runtime import Runtime, project_of
from handrail.surfaces.mcp.reply_text import call_text
from handrail.surfaces.mcp.resources import SCHEME, read_payload

RESUME = "resume"
GOAL, QUERY = "goal", "query"
PROMPTS_PER_PAGE = 100
LONGEST_ARGUMENT = 200
"""Characters of a goal or a query; the operations take no more."""
LONGEST_TITLE, LONGEST_DESCRIPTION = 80, 200
_KNOWN_AT_MOST = 500


class PromptRow(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt as a client lists it, with its only argument."""

    name: str
    title: str
    description: str
    argument: str
    about: str
    """What the argument is for."""


class PromptPage(msgspec.Struct, frozen=True, kw_only=True):
    """One window of the listing."""

    rows: tuple[PromptRow, ...]
    next_cursor: str | None = None


_RESUME_ROW = PromptRow(
    name=RESUME,
    title="Go on with earlier work",
    description="Find a session again and go on where it stands.",
    argument=QUERY,
    about="Words, a ticket, a branch or a session id; empty for the latest work.",
)


def list_prompts(runtime: Runtime, cursor: str | None) -> PromptPage:
    """The prompts in the order of the catalog, `resume` first. Raises Fault for a cursor that is not ours."""
    params: dict[str, Json] = {"kind": "workflow", "limit": PROMPTS_PER_PAGE}
    listed = read_payload(runtime, "workflow.list", params | ({"cursor": cursor} if cursor else {}))
    rows = [_row(row) for row in listed["items"] if _can_start(row) and row["id"] != RESUME]
    first = () if cursor else (_RESUME_ROW,)
    return PromptPage(rows=(*first, *rows), next_cursor=listed["next_cursor"])


def prompt_text(runtime: Runtime, name: str, arguments: dict[str, str]) -> str:
    """The text for the agent. Raises Fault when there is no such prompt or an argument does not fit."""
    _check_arguments(name, arguments)
    if name == RESUME:
        return _resume_text(arguments.get(QUERY, "").strip())
    return _start_text(_inspect(runtime, name), arguments.get(GOAL, "").strip())


def _row(row: dict[str, Any]) -> PromptRow:
    return PromptRow(
        name=row["id"],
        title=flatten_text(row["name"])[:LONGEST_TITLE],
        description=flatten_text(row["description"])[:LONGEST_DESCRIPTION],
        argument=GOAL,
        about="What you want to reach, in one sentence.",
    )


def _can_start(row: dict[str, Any]) -> bool:
    return not any(problem["severity"] == "error" for problem in row.get("problems", ()))


def _check_arguments(name: str, arguments: dict[str, str]) -> None:
    taken = QUERY if name == RESUME else GOAL
    problems = [
        {"param": given[:LONGEST_ARGUMENT], "problem": f"unknown name; this prompt takes {taken}"}
        for given in arguments
        if given != taken
    ]
    size = len(arguments.get(taken, ""))
    if size > LONGEST_ARGUMENT:
        problem = f"{size} characters are more than {LONGEST_ARGUMENT}"
        problems.append({"param": taken, "problem": problem})
    if problems:
        first = problems[0]
        message = f"The prompt does not fit: {quote(first['param'])}: {first['problem']}."
        raise Fault(VALIDATION_ERROR, message, details={"problems": problems[:20]})


def _inspect(runtime: Runtime, name: str) -> dict[str, Any]:
    try:
        inspected = read_payload(runtime, "workflow.inspect", {"workflowId": name, "part": "inputs"})
    except Fault as fault:
        if fault.kind.native != E_NOT_FOUND.native and fault.kind is not VALIDATION_ERROR:
            raise
        raise _unknown(runtime, name) from None
    workflow: dict[str, Any] = inspected["workflow"]
    return workflow


def _unknown(runtime: Runtime, name: str) -> Fault:
    listed = read_payload(runtime, "workflow.list", {"kind": "workflow", "limit": _KNOWN_AT_MOST})
    similar = find_nearest(name, [RESUME, *(row["id"] for row in listed["items"])], most=1)
    advice = f"Did you mean {similar[0]}?" if similar else "List the prompts to see them all."
    return Fault(
        VALIDATION_ERROR,
        f"There is no prompt {quote(name)}. {advice}",
        details={"did_you_mean": similar},
        next_call=NextCall(operation="workflow.list", params={}),
    )


def _start_text(workflow: dict[str, Any], goal: str) -> str:
    params: dict[str, Json] = {"workflowId": workflow["id"]} | ({"goal": goal} if goal else {})
    lines = [f"Work through the Handrail workflow {workflow['id']} with me."]
    if any(held.get("required") and "default" not in held for held in workflow.get("inputs", ())):
        inputs = call_text("inspect_workflow", {"workflowId": workflow["id"], "part": "inputs"})
        lines.append(f"It needs facts to start with: {inputs} names them; pass them as context.")
    lines.append(f"Start it: {call_text('start_workflow', params)}")
    if not goal:
        lines.append("Pass what I asked for as goal, in one sentence.")
    lines.append("Then do the step in pending.prompt and make the call in nextCall, one step at a time.")
    return "\n".join(lines)


def _resume_text(query: str) -> str:
    call = call_text("resume_session", {"query": query} if query else {})
    return (
        f"Go on with earlier work in Handrail: {call}\n"
        "Make the nextCall of the session that fits. If several could be meant, or the one that fits is not "
        "of this project, ask me first."
    )


# Completion: ids, tags and codes that begin with what was typed

MOST_VALUES = 20
LOOKED_AT = 500
"""Sessions and builtins, the latest or first ones; a search finds more."""


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """The values to offer, and how many there are."""

    values: tuple[str, ...]
    total: int


def complete_prompt(runtime: Runtime, name: str, argument: str, typed: str) -> Completed:
    """For the query of `resume` the sessions; a goal is the person's own words."""
    if (name, argument) == (RESUME, QUERY):
        return _filter_by_start(_session_ids(runtime, "id"), typed)
    return Completed(values=(), total=0)


def complete_address(runtime: Runtime, template: str, typed: str) -> Completed:
    """For the variable part of a resource template; a template that is not ours has no values."""
    match template.removeprefix(SCHEME):
        case "workflows{?query}":
            return _filter_by_start(_tags(runtime), typed)
        case "workflows/{id}":
            return _filter_by_start(_workflow_ids(runtime), typed)
        case "sessions/{id}":
            return _filter_by_start(_session_ids(runtime, "id"), typed)
        case "runs/{id}/graph":
            return _filter_by_start(_session_ids(runtime, "run_id"), typed)
        case "contracts/{id}":
            return _filter_by_start(_contract_ids(runtime), typed)
        case "errors/{code}":
            return _filter_by_start(KINDS, typed)
        case _:
            return Completed(values=(), total=0)


def _filter_by_start(known: Iterable[str], typed: str) -> Completed:
    folded = typed.casefold()
    fitting = [value for value in dict.fromkeys(known) if value.casefold().startswith(folded)]
    return Completed(values=tuple(fitting[:MOST_VALUES]), total=len(fitting))


def _workflow_ids(runtime: Runtime) -> list[str]:
    catalog = load_catalog(runtime, project_of(runtime, UNSET))
    return [entry.id for entry in catalog.entries if entry.is_usable]


def _tags(runtime: Runtime) -> list[str]:
    catalog = load_catalog(runtime, project_of(runtime, UNSET))
    return sorted({flatten_text(tag) for entry in catalog.entries if entry.is_usable for tag in entry.tags})


def _session_ids(runtime: Runtime, key: str) -> list[str]:
    listed = read_payload(runtime, "session.list", {"limit": LOOKED_AT})
    return [row[key] for row in listed["items"] if row[key]]


def _contract_ids(runtime: Runtime) -> list[str]:
    params: dict[str, Json] = {"kind": "contract", "limit": LOOKED_AT}
    return [row["id"] for row in read_payload(runtime, "workflow.builtins", params)["items"]]
