"""One tool call: its operation, and its result as text and structured copy, each complete alone.

Some clients show the model only one of the two. Equal outcomes give equal bytes.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, assert_never

import msgspec

from handrail.contract.catalogue import BUDGET_EXCEEDED
from handrail.contract.catalogue import INTERNAL_ERROR as DEFECT
from handrail.contract.disclosure.fields import Ask, Budget, Level
from handrail.contract.envelopes.cli import encode_document, payload_of
from handrail.contract.envelopes.mcp_and_http import ToolCall, to_mcp_error
from handrail.contract.fence import fence_text, flatten_text
from handrail.contract.outcome import (
    DONE,
    Commits,
    Failure,
    Fault,
    Json,
    NextCall,
    Outcome,
    Success,
    failure_of,
    failure_of_defect,
    is_stand_in,
    make_stand_in,
    spell_reading_call,
)
from handrail.contract.wording import MORE_WORK, count_work, end_sentence
from handrail.engine.judge.report_frame import TO_FILL_IN
from handrail.engine.reply import MOST_WARNINGS
from handrail.runtime.hub import perform
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.arguments import read_arguments
from handrail.surfaces.mcp.messages import INTERNAL_ERROR, INVALID_PARAMS, Refusal
from handrail.surfaces.mcp.reply_text import call_text, children_lines, reply_text, session_text
from handrail.surfaces.mcp.tools import Tool, spell_call

# Lists and workflows as text

_CALLS = {
    "complete": "Finished; to read it",
    "complete_with_gaps": "Finished with gaps; to read it",
    "closed": "Closed; to read it, or to open it again with the ackToken there",
}
"""Purpose of a candidate's call that does not continue a run."""


def workflows_text(listed: dict[str, Any], params: dict[str, Json]) -> str:
    """Return the answer of list_workflows."""
    lines = [_count(listed, "workflow")]
    lines += [_SAID_ONCE] if listed["items"] else []
    for row in listed["items"]:
        lines.extend(_workflow_row(row))
    lines.extend(_next_page("list_workflows", listed, params))
    if listed["items"]:
        lines.append(f"Start one: {call_text('start_workflow', {'workflowId': TO_FILL_IN})}")
    else:
        lines.append("No workflow fits; call list_workflows without a query to see all.")
    return "\n".join(lines)


def workflow_text(inspected: dict[str, Any]) -> str:
    """Return the answer of inspect_workflow."""
    workflow = inspected["workflow"]
    facts = _naming(workflow)
    if workflow.get("version"):
        facts.append(f"version {flatten_text(workflow['version'])}")
    lines = [f"{workflow['id']}: {flatten_text(workflow['name'])}{_bracketed(facts)}"]
    if workflow.get("description"):
        lines.append(flatten_text(workflow["description"]))
    if "stepCount" in workflow:
        lines.append(f"{workflow['stepCount']} steps, workflowHash {workflow['workflowHash']}")
    lines.extend(_mode(workflow))
    lines.extend(f"input {_input(held)}" for held in workflow.get("inputs", ()))
    lines.extend(_outline(workflow.get("steps", ())))
    for name in ("inputs", "steps"):
        if left := workflow.get(f"{name}Omitted"):
            whole = f"handrail workflow inspect {workflow['id']} --part compiled"
            lines.append(f"{left} more {name} are left out to keep this short; all: {whole}")
    lines.append(f"Start it: {call_text('start_workflow', _start(workflow))}")
    if "project" in inspected:
        lines.append(f"Project {flatten_text(inspected['project'])}")
    return "\n".join(lines)


def candidates_text(listed: dict[str, Any], params: dict[str, Json]) -> str:
    """Return the answer of resume_session. If nothing matched, it says so before it lists anything."""
    is_matched = listed.get("matched", True)
    lines = [] if is_matched else ["Nothing matches what was asked for."]
    if not is_matched and listed["items"]:
        lines.append("The latest work follows instead; continue one only if the user means it.")
    lines.append(count_work(listed["items"]) + _looked(listed))
    lines += [MORE_WORK] if listed["items"] and listed.get("truncated") else []
    for candidate in listed["items"]:
        lines.extend(_candidate(candidate))
    lines.extend(_next_page("resume_session", listed, params))
    if not listed["items"]:
        lines.append("Nothing to resume here; call resume_session without a query, or start_workflow.")
    return "\n".join(lines)


def _count(listed: dict[str, Any], noun: str) -> str:
    count = f"{listed['count']} {noun}{'' if listed['count'] == 1 else 's'}"
    total = listed.get("total", 0)
    return count + (f" of {total}" if total > listed["count"] else "") + _looked(listed)


def _looked(listed: dict[str, Any]) -> str:
    looked = f" ({flatten_text(listed['scope'])})" if "scope" in listed else ""
    place = f", project {flatten_text(listed['project'])}" if "project" in listed else ""
    return looked + place


def _mode(workflow: dict[str, Any]) -> Iterator[str]:
    needs = [f"{name} {level}" for name, level in workflow.get("capabilities", {}).items()]
    if needs:
        yield f"Capabilities: {flatten_text(', '.join(needs))}"
    safe = list(workflow.get("recommended", {}).values())
    if safe:
        yield f"Safe, says the author, up to: {', '.join(safe)}"


def _input(held: dict[str, Any]) -> str:
    facts = [held["type"]]
    if held.get("required"):
        facts.append("required")
    if "enum" in held:
        facts.append(f"one of {_words(held['enum'])}")
    if "default" in held:
        facts.append(f"default {_words([held['default']])}")
    if "allowed" in held:
        facts.append(held["allowed"])
    if "askedAt" in held:
        facts.append(f"asked for by {', '.join(held['askedAt'])}")
    about = f": {held['description']}" if "description" in held else ""
    return flatten_text(f"{held['name']} ({', '.join(facts)}){about}")


def _words(values: list[Json]) -> str:
    return ", ".join(
        value if isinstance(value, str) else msgspec.json.encode(value).decode() for value in values
    )


def _start(workflow: dict[str, Any]) -> dict[str, Json]:
    """Return the start call with a placeholder for every required input."""
    context = {
        held["name"]: f"<{_words(held['enum']) if 'enum' in held else held['type']}>"
        for held in workflow.get("inputs", ())
        if held.get("required") and "default" not in held
    }
    return {"workflowId": workflow["id"], **({"context": context} if context else {})}


def _outline(parts: list[dict[str, Any]]) -> Iterator[str]:
    """Yield steps by number, with the steps of a loop indented below it."""
    depth = {"": 0}
    number = 0
    for part in parts:
        inside = depth[part.get("loop", "")]
        if part.get("type") == "loop":
            depth[part["id"]] = inside + 1
            name = f"- loop {part['id']}"
        else:
            number += 1
            name = f"{number}. {flatten_text(part['title'])} ({part['id']})"
        facts = "; ".join(_part_facts(part))
        yield "  " * inside + name + (f" ({flatten_text(facts)})" if facts else "")


def _part_facts(part: dict[str, Any]) -> Iterator[str]:
    if part.get("type") in ("choice", "action"):
        yield part["type"] + (f" of {', '.join(part['options'])}" if "options" in part else "")
    if "maxIterations" in part:
        yield f"at most {part['maxIterations']} times"
    if "when" in part:
        yield f"if {part['when']}"
    if "contract" in part:
        yield f"delivers {part['contract']}"
    waits = part["requireConfirmation"]
    if waits:
        yield "the user confirms" + (f" if {waits}" if isinstance(waits, str) else "")


def _workflow_row(row: dict[str, Any]) -> Iterator[str]:
    """Yield one line, which names only what is unusual."""
    named = row["id"].rpartition(".")[2].replace("_", " ").replace("-", " ")
    name = "" if row["name"].casefold() == named.casefold() else f"{row['name']}. "
    facts = [one for one in _naming(row) if one not in _USUAL]
    facts += [f"needs {', '.join(row['requires'])}"] if row.get("requires") else []
    about = flatten_text(f"{name}{row.get('description', '')}")
    yield f"- {flatten_text(row['id'])}: {about}{_bracketed(facts)}"
    for problem in row.get("problems", ()):
        yield "  problem: " + "; ".join(
            f"{key} {flatten_text(_words([value]))}" for key, value in problem.items()
        )
    if row.get("warnings"):
        yield "  warnings: " + ", ".join(f"{code} {number}" for code, number in row["warnings"].items())


_USUAL = ("workflow", "bundled", "namespaced")
_SAID_ONCE = "Each is a bundled workflow with a namespaced id unless it says otherwise."


def _naming(workflow: dict[str, Any]) -> list[str]:
    """Return its kind, its source, and whether its id should change."""
    facts = [workflow[key] for key in ("kind", "sourceKind", "idStatus") if key in workflow]
    return [*facts, f"better id {workflow['suggestedId']}"] if "suggestedId" in workflow else facts


def _candidate(candidate: dict[str, Any]) -> Iterator[str]:
    facts = [candidate[key] for key in ("workflowId", "status") if key in candidate]
    if candidate.get("pendingTitle"):
        facts.append(f"pending: {candidate['pendingTitle']}")
    if candidate.get("whyMatched"):
        facts.append(f"found by {', '.join(candidate['whyMatched'])}")
    run = f", run {candidate['runId']}" if "runId" in candidate else ""
    run += f", branch that ends at {candidate['nodeId']}" if candidate.get("nodeId") else ""
    yield f"- session {candidate['sessionId']}{run}: {flatten_text(', '.join(facts))}"
    if not candidate.get("isHere", True):
        named = flatten_text(candidate.get("project") or "another one")
        yield f"  Not of this project but of {named}: ask the user before you continue it."
    if candidate.get("goal"):
        yield fence_text(candidate["goal"], f"goal of session {candidate['sessionId']}")
    if candidate.get("sinceStep"):
        yield f"  {flatten_text(candidate['sinceStep'])}"
    if candidate.get("personAnswer"):
        yield end_sentence(f"  The pending step was {flatten_text(candidate['personAnswer'])}")
    if candidate.get("importedFrom"):
        yield f"Imported from {candidate['importedFrom']}."
    if candidate.get("snippet"):
        yield fence_text(candidate["snippet"], f"last notes of session {candidate['sessionId']}")
    for warning in candidate.get("warnings", ()):
        yield f"  Warning {warning['code']}: {flatten_text(warning['message'])}"
    yield from (f"  {line}" for line in children_lines(candidate))
    call = candidate["nextCall"]
    label = _CALLS.get(candidate.get("status", ""), "Continue")
    yield f"  {label}: {call_text(call['tool'], call['params'])}"
    if fork := candidate.get("forkCall"):
        yield f"  Fork at that node: {call_text(fork['tool'], fork['params'])}"


def _next_page(tool: str, listed: dict[str, Any], params: dict[str, Json]) -> Iterator[str]:
    """Yield the call with the cursor, which is bound to its filters."""
    if listed.get("next_cursor"):
        yield f"More: {call_text(tool, {**params, 'cursor': listed['next_cursor']})}"


def _bracketed(facts: list[str]) -> str:
    return f" [{flatten_text(', '.join(facts))}]" if facts else ""


# Rendering

_BEFORE_WARNINGS = (
    "kind",
    "pending",
    "isComplete",
    "nextIntent",
    "nextCall",
    "blockers",
    "issues",
    "retryable",
    "judged",
    "example",
)


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """One tool result, before the protocol wraps it."""

    text: str
    structured: dict[str, Json]
    is_error: bool


def render(tools: dict[str, Tool], tool: Tool, params: dict[str, Json], outcome: Outcome) -> Rendered:
    """Return the result of one call with these params."""
    match outcome:
        case Failure():
            if tool.wording is not None:
                outcome = tool.wording.refuse(tool, params, outcome)
            text, structured = to_mcp_error(outcome, tool_call=lambda call: _spell(tools, tool, call))
            return Rendered(text=_sendable_text(text), structured=_sendable(structured), is_error=True)
        case Success():
            payload = _sendable(payload_of(outcome))
            if tool.wording is not None:
                payload = tool.wording.respell(payload)
            text = _text(tool, params, payload)
            return Rendered(text=_sendable_text(text), structured=payload, is_error=False)
        case never:
            assert_never(never)


def add_warnings(success: Success, warnings: tuple[dict[str, Json], ...]) -> Success:
    """Add warnings to the reply, in their usual place."""
    data = success.data
    if not warnings or not isinstance(data, dict):
        return success
    if next(iter(data)) == "warnings":  # keep them first in a reply that begins with them
        return msgspec.structs.replace(
            success, data={**data, "warnings": [*data["warnings"], *warnings][:MOST_WARNINGS]}
        )
    before = {key: value for key, value in data.items() if key in _BEFORE_WARNINGS}
    added = {"warnings": [*data.get("warnings", ()), *warnings][:MOST_WARNINGS]}
    after = {key: value for key, value in data.items() if key not in before and key not in added}
    return msgspec.structs.replace(success, data={**before, **added, **after})


def _text(tool: Tool, params: dict[str, Json], payload: dict[str, Any]) -> str:
    if payload.get("committed") is True:  # in place of a reply that could not be built
        return str(payload["message"])
    if tool.wording is not None:
        return tool.wording.text(payload)
    match tool.operation:
        case "workflow.list":
            return workflows_text(payload, params)
        case "workflow.inspect":
            return workflow_text(payload)
        case "session.resume":
            return candidates_text(payload, params)
        case _:
            return session_text(payload) if "sessionToken" in payload else reply_text(payload)


def _spell(tools: dict[str, Tool], tool: Tool, call: NextCall) -> dict[str, Json] | None:
    """Return the offered call as a tool call; if several tools take it, their set chooses."""
    chosen = None if tool.wording is None else tool.wording.spell_call(call)
    if chosen is not None:
        return chosen
    return spell_call({tool.name: tool, **tools}, call)


def _sendable(document: Any) -> dict[str, Json]:
    """Return the document after a round trip through JSON: exactly what the command line prints as `data`."""
    decoded = msgspec.json.decode(encode_document(document, compact=True))
    assert isinstance(decoded, dict), "a structured result is an object in every protocol era"
    return decoded


def _sendable_text(text: str) -> str:
    """Return text without lone surrogates, which a file name can contain and which would end the
    connection.
    """
    return text.encode("utf-8", "replace").decode() if not text.isascii() else text


# The only place of this interface where an exception becomes a failure

_T = TypeVar("_T")


def run_guarded(runtime: Runtime, work: Callable[[], _T]) -> _T | Failure:
    """Return the answer of the work; a fault or a defect becomes a Failure."""
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
    """Return the failure as a protocol error; `tool_call` spells the call that is offered instead."""
    text, structured = to_mcp_error(failure, tool_call=tool_call)
    is_callers = failure.kind.http_status < DEFECT.http_status
    return Refusal(code=INVALID_PARAMS if is_callers else INTERNAL_ERROR, message=text, data=structured)


# One tool call

LAST_WORD = Rendered(text=DONE, structured={"committed": True, "message": DONE}, is_error=False)
"""The fallback for a call that changed something and whose answer cannot be rendered."""
LIST_BYTES = 8_192
"""Bytes after which a list continues with a cursor; an agent rarely needs more at once."""


def answer_call(
    runtime: Runtime, tools: dict[str, Tool], tool: Tool, arguments: dict[str, Json], mvi: Level
) -> Rendered:
    """Return the result of a tool for these arguments; faults and defects are results too.

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
    rendered = run_guarded(
        runtime, lambda: render(tools, tool, {}, _spell_read_back(tools, commits, make_stand_in(commits)))
    )
    return LAST_WORD if isinstance(rendered, Failure) else rendered


def _spell_read_back(tools: dict[str, Tool], commits: Commits, success: Success) -> Success:
    """Return the answer with the tool call that reads the reply, if it lacks the reply."""
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
        # Only a refusal reads workflow files.
        from handrail.operations.workflow_catalog import correct_workflow_id  # noqa: PLC0415

        return render(tools, tool, {}, correct_workflow_id(runtime, read))
    match _perform(runtime, tool, read.params, mvi, commits):
        case Failure() as failure:
            return render(tools, tool, read.params, failure)
        case Success() as success:
            spelled = _spell_read_back(tools, commits, add_warnings(success, read.warnings))
            return render(tools, tool, read.params, spelled)
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
        )  # one long item is better than none
    return outcome


def _payload_bytes(success: Success) -> int:
    return len(msgspec.json.encode(payload_of(success)))
