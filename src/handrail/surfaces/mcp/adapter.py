"""The server's offers as plain data for any transport: tools, prompts, resources, completion,
questions.

Every method is synchronous and returns a result or a refusal. Keys are in the order of the
published schemas, so that both transports send the same bytes. Nothing here imports a protocol
library.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from handrail.contract.catalogue import E_NOT_FOUND, E_TIMEOUT, VALIDATION_ERROR
from handrail.contract.disclosure.fields import Level
from handrail.contract.fence import flatten_text
from handrail.contract.outcome import Failure, Fault, Json, NextCall
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.operations.workflow_catalog import load_catalog
from handrail.runtime.runtime import Runtime, project_of
from handrail.surfaces.mcp.ask import find_question, is_taken, take_answer
from handrail.surfaces.mcp.messages import (
    INVALID_PARAMS,
    WORKFLOW_SET,
    Asking,
    Refusal,
    ResultOrRefusal,
    Results,
    ToolSet,
)
from handrail.surfaces.mcp.questions import (
    Question,
    ToolCall,
    Waiting,
    answers_question,
    input_required,
    read_brought_value,
)
from handrail.surfaces.mcp.reply_text import call_text
from handrail.surfaces.mcp.resources import (
    FOR_BOTH,
    LONGEST_URI,
    SCHEME,
    TEMPLATES,
    list_resources,
    make_page,
    read_payload,
    read_resource,
)
from handrail.surfaces.mcp.results import Rendered, answer_call, refusal_of, render, run_guarded
from handrail.surfaces.mcp.tools import Tool, offered_tools, spell_call

_T = TypeVar("_T")

MOST_QUESTIONS = 5
"""Questions to a person in one call: for example a value, then an approval of its result."""


class Adapter:
    """One runtime as clients see it. A call changes nothing in it."""

    def __init__(
        self,
        runtime: Runtime,
        results: Results = "both",
        mvi: Level = "standard",
        tool_set: ToolSet = WORKFLOW_SET,
    ) -> None:
        self.runtime = runtime
        self.tool_set = tool_set
        self.tools = _tools_of(tool_set, runtime)
        self._results = results
        self._mvi = mvi
        self._definitions = [_definition(tool, results) for tool in self.tools.values()]

    def list_tools(self, cursor: str | None) -> ResultOrRefusal:
        return _refuse_cursor(cursor, "tools") or {"tools": self._definitions}

    def call_tool(self, runtime: Runtime, call: ToolCall, asking: Asking) -> ResultOrRefusal | Waiting:
        """Return the tool's result; `Waiting` only if a person is asked in the middle of the call."""
        tool = self.tools.get(call.name)
        if tool is None:
            return _unknown_tool(call.name, list(self.tools))
        if asking != "never":
            runtime = msgspec.structs.replace(runtime, can_ask=True)
        reply = answer_call(runtime, self.tools, tool, call.arguments, self._mvi)
        return self._ask_or_answer(runtime, tool, call, asking, reply)

    def overdue(self, name: str | None, seconds: float) -> ResultOrRefusal:
        """Return the answer to a call whose time is over: a result for a tool, otherwise a refusal."""
        failure = Failure(
            kind=E_TIMEOUT,
            message=f"The call took more than {seconds:g} seconds; its outcome is unknown.",
            hint="Repeat the call: what was stored is answered again, what was not is done.",
        )
        tool = None if name is None else self.tools.get(name)
        return self.refusal(failure) if tool is None else self._result(render(self.tools, tool, {}, failure))

    def list_prompts(self, runtime: Runtime, cursor: str | None) -> ResultOrRefusal:
        return self._run_or_refuse(runtime, lambda: list_prompts(runtime, cursor))

    def get_prompt(self, runtime: Runtime, name: str, arguments: dict[str, str]) -> ResultOrRefusal:
        text = self._run_or_refuse(runtime, lambda: prompt_text(runtime, name, arguments))
        if isinstance(text, Refusal):
            return text
        return {"messages": [{"content": {"text": text, "type": "text"}, "role": "user"}]}

    def list_resources(self, runtime: Runtime, cursor: str | None) -> ResultOrRefusal:
        return self._run_or_refuse(runtime, lambda: list_resources(runtime, cursor))

    def list_templates(self, cursor: str | None) -> ResultOrRefusal:
        return _refuse_cursor(cursor, "templates") or {"resourceTemplates": _TEMPLATES}

    def read_resource(self, runtime: Runtime, uri: str, missing: int) -> ResultOrRefusal:
        """Return a resource; `missing` is the error code of the client's revision for an address that does
        not exist.
        """
        content = run_guarded(runtime, lambda: read_resource(runtime, uri))
        if not isinstance(content, Failure):
            return {"contents": [{"mimeType": content.mime_type, "text": content.text, "uri": content.uri}]}
        refusal = self.refusal(content)
        code = missing if content.kind.native == E_NOT_FOUND.native else refusal.code
        assert isinstance(refusal.data, dict), "a failure comes with its structured copy"
        return Refusal(code=code, message=refusal.message, data={"uri": uri[:LONGEST_URI], **refusal.data})

    def complete(
        self, runtime: Runtime, reference: dict[str, str], argument: str, typed: str
    ) -> ResultOrRefusal:
        """Return completions; `reference` has the `name` of a prompt or the `uri` of a template."""

        def found() -> dict[str, Json]:
            if "uri" in reference:
                known = known_addresses(runtime, reference["uri"])
            else:
                known = known_arguments(runtime, reference["name"], argument)
            return {"completion": filter_by_start(known, typed)}

        return self._run_or_refuse(runtime, found)

    def refusal(self, failure: Failure) -> Refusal:
        """Return the failure as a protocol error, with the text that a tool result would have."""
        return refusal_of(failure, lambda call: spell_call(self.tools, call))

    def _ask_or_answer(
        self, runtime: Runtime, tool: Tool, call: ToolCall, asking: Asking, reply: Rendered, asked: int = 0
    ) -> ResultOrRefusal | Waiting:
        """Return the reply, or the question that it waits for; answers that were recorded before are used
        at once.

        This holds for a client that cannot ask, too: a repeated call gets the same reply through every
        connection. In the stateless era the client sends the answer with the same call, which finds its
        question again.
        """
        is_brought = call.request_state is not None
        for number in range(asked, MOST_QUESTIONS):
            question = find_question(runtime, tool, reply)
            if question is None:
                break
            value = question.given
            if value is UNSET and asking == "never":
                break
            if value is UNSET and asking == "now":
                return self._wait(tool, call, question, reply, number + 1)
            if value is UNSET and not is_brought:
                return input_required(question)
            if value is UNSET:
                value = read_brought_value(call, question)
            is_brought = is_brought and not answers_question(call, question)
            again = None if value is UNSET else self._go_on(runtime, tool, call, question, value)
            if again is None:
                break
            reply = again
        return self._result(reply)

    def _wait(self, tool: Tool, call: ToolCall, question: Question, reply: Rendered, asked: int) -> Waiting:
        def go_on(runtime: Runtime, value: Json) -> ResultOrRefusal | Waiting:
            runtime = msgspec.structs.replace(runtime, can_ask=True)
            again = self._go_on(runtime, tool, call, question, value)
            if again is None:
                return self._result(reply)
            return self._ask_or_answer(runtime, tool, call, "now", again, asked)

        return Waiting(question=question, unanswered=self._result(reply), go_on=go_on)

    def _go_on(
        self, runtime: Runtime, tool: Tool, call: ToolCall, question: Question, value: Json
    ) -> Rendered | None:
        """Return the reply to the call with a person's answer; None if the answer changes nothing."""
        retry = take_answer(runtime, tool, call.arguments, question, value)
        again = None if retry is None else answer_call(runtime, self.tools, tool, retry, self._mvi)
        return again if again is not None and is_taken(again) else None

    def _run_or_refuse(self, runtime: Runtime, work: Callable[[], _T]) -> _T | Refusal:
        answered = run_guarded(runtime, work)
        return self.refusal(answered) if isinstance(answered, Failure) else answered

    def _result(self, rendered: Rendered) -> dict[str, Json]:
        """Return the result. An error always has text, because clients often show only that."""
        has_text = self._results != "structured" or rendered.is_error
        result: dict[str, Json] = {
            "content": [{"text": rendered.text, "type": "text"}] if has_text else [],
            "isError": rendered.is_error,
        }
        if self._results != "text":
            result["structuredContent"] = rendered.structured
        return result


def _tools_of(tool_set: ToolSet, runtime: Runtime) -> dict[str, Tool]:
    if tool_set.tools:
        offered: dict[str, Tool] = importlib.import_module(tool_set.tools).tools()
        return offered
    return offered_tools(start_session=_may_start_sessions(runtime))


def _may_start_sessions(runtime: Runtime) -> bool:
    """Whether the settings allow it; unreadable settings enable nothing, and every call reports
    their problem.
    """
    try:
        return runtime.settings.of().start_session
    except Fault:
        return False


def _refuse_cursor(cursor: str | None, what: str) -> Refusal | None:
    """Refuse a cursor: there is only one page."""
    if cursor is None:
        return None
    return Refusal(code=INVALID_PARAMS, message=f"All {what} are on one page; send no cursor.")


_TEMPLATES: list[dict[str, Json]] = [
    {
        "annotations": FOR_BOTH,
        "description": template.description,
        "mimeType": template.mime_type,
        "name": template.name,
        "title": template.title,
        "uriTemplate": template.uri,
    }
    for template in TEMPLATES
]


def _definition(tool: Tool, results: Results) -> dict[str, Any]:
    """Return the definition of a tool, without output schema if the server sends no structured results."""
    withheld = ("outputSchema",) if results == "text" else ()
    shown = {key: tool.definition[key] for key in sorted(tool.definition) if key not in withheld}
    hints = tool.definition["annotations"]
    return {**shown, "annotations": {name: hints[name] for name in sorted(hints)}}


def _unknown_tool(name: str, known: list[str]) -> Refusal:
    similar = find_nearest(name, known, most=1)
    advice = f"Did you mean {similar[0]}?" if similar else f"The tools are {', '.join(known)}."
    return Refusal(code=INVALID_PARAMS, message=f"There is no tool {quote(name)}. {advice}")


# Prompts that people pick in their client, and completion while they type an argument. There is one prompt
# per workflow, and one to continue earlier work. A prompt starts nothing. It names the call to make, in our
# own words: from the author, only the workflow's id reaches the message.


RESUME = "resume"
GOAL, QUERY = "goal", "query"
PROMPTS_PER_PAGE = 100
LONGEST_ARGUMENT = 200
"""Characters of a goal or a query, the limit of the operations."""
LONGEST_TITLE, LONGEST_DESCRIPTION = 80, 200
_KNOWN_AT_MOST = 500


def list_prompts(runtime: Runtime, cursor: str | None) -> dict[str, Json]:
    """Return the prompts in the order of the catalog, `resume` first. Raises Fault for a foreign cursor."""
    params: dict[str, Json] = {"kind": "workflow", "limit": PROMPTS_PER_PAGE}
    listed = read_payload(runtime, "workflow.list", params | ({"cursor": cursor} if cursor else {}))
    rows = [_workflow_prompt(row) for row in listed["items"] if _can_start(row) and row["id"] != RESUME]
    first = _prompt(
        RESUME,
        "Continue earlier work",
        "Find a session again and continue where it stands.",
        QUERY,
        "Words, a ticket, a branch or a session id; empty for the latest work.",
    )
    return make_page("prompts", rows if cursor else [first, *rows], listed["next_cursor"])


def _prompt(name: str, title: str, description: str, argument: str, about: str) -> dict[str, Json]:
    """Return one prompt as a client lists it; `about` describes its only argument."""
    taken: dict[str, Json] = {"description": about, "name": argument, "required": False}
    return {"arguments": [taken], "description": description, "name": name, "title": title}


def prompt_text(runtime: Runtime, name: str, arguments: dict[str, str]) -> str:
    """Return the text for the agent. Raises Fault if there is no such prompt or an argument is invalid."""
    _check_arguments(name, arguments)
    if name == RESUME:
        return _resume_text(arguments.get(QUERY, "").strip())
    return _start_text(_inspect(runtime, name), arguments.get(GOAL, "").strip())


def _workflow_prompt(row: dict[str, Any]) -> dict[str, Json]:
    title = flatten_text(row["name"])[:LONGEST_TITLE]
    description = flatten_text(row["description"])[:LONGEST_DESCRIPTION]
    return _prompt(row["id"], title, description, GOAL, "What you want to reach, in one sentence.")


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
        f"Continue earlier work in Handrail: {call}\n"
        "Make the nextCall of the session that fits. If several could be meant, or the one that fits is not "
        "of this project, ask me first."
    )


# Completion: ids that begin with what was typed

MOST_VALUES = 20
LOOKED_AT = 500
"""Latest sessions that completion reads; a search finds more."""


def known_arguments(runtime: Runtime, name: str, argument: str) -> Iterable[str]:
    """Return the sessions for the query of `resume`; for a goal nothing, because a person words it freely."""
    return _session_ids(runtime) if (name, argument) == (RESUME, QUERY) else ()


def known_addresses(runtime: Runtime, template: str) -> Iterable[str]:
    """Return values for the variable part of a resource template; none for an unknown template."""
    match template.removeprefix(SCHEME):
        case "workflows/{id}":
            return _workflow_ids(runtime)
        case "sessions/{id}":
            return _session_ids(runtime)
        case _:
            return ()


def filter_by_start(known: Iterable[str], typed: str) -> dict[str, Json]:
    """Return the values to offer, and how many there are."""
    folded = typed.casefold()
    fitting = [value for value in dict.fromkeys(known) if value.casefold().startswith(folded)]
    values: list[Json] = [*fitting[:MOST_VALUES]]
    return {"hasMore": len(fitting) > MOST_VALUES, "total": len(fitting), "values": values}


def _workflow_ids(runtime: Runtime) -> list[str]:
    catalog = load_catalog(runtime, project_of(runtime, UNSET))
    return [entry.id for entry in catalog.entries if entry.is_usable]


def _session_ids(runtime: Runtime) -> list[str]:
    listed = read_payload(runtime, "session.list", {"limit": LOOKED_AT})
    return [row["id"] for row in listed["items"]]
