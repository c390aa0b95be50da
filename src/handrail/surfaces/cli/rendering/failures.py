"""How people see a refusal: what is wrong, everything that is wrong, and what to type next. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Failure, Json
from handrail.surfaces.cli.reading.spelling import command_line
from handrail.surfaces.cli.rendering import gate
from handrail.surfaces.cli.rendering.text import (
    INDENT,
    Page,
    lines_of,
    one_line,
    spell_for_people,
    value_lines,
    wrap,
)

_SHOWN = {
    "did_you_mean": "Near",
    "valid": "Names",
    "allowed": "Allowed",
    "supported": "Served",
    "minimum": "At least",
    "setting": "Setting",
    "snippet": "Lines",
    "incident": "Incident",
}


def failure_lines(failure: Failure, operation: str, page: Page) -> list[str]:
    """Everything a person needs to go on; the code comes last."""
    details = failure.details
    hint = failure.hint or failure.kind.hint
    message = failure.message.removesuffix(hint).rstrip()
    lines = _labelled("Error", message, page)
    told = [_describe_problem(one) for one in details.get("problems") or []]
    lines += [part for one in told if not message.startswith(one[:-1]) for part in _item(one, page)]
    lines += _report(details, operation, page)
    lines += _labelled("Fix", hint, page)
    for name, label in _SHOWN.items():
        if details.get(name):
            lines += _labelled(label, _value(details[name]), page)
    following = failure.next_call and command_line(failure.next_call, page.program)
    lines += [f"Next:  {spell_for_people(one_line(following))}"] if following else []
    return [*lines, f"Code:  {failure.kind.code}"]


def _labelled(label: str, text: str, page: Page) -> list[str]:
    """A label, and the text beside it in lines that fit."""
    head = f"{label + ':':<6} "
    parts = [part for line in lines_of(text) for part in wrap(line, page.width - len(head))]
    return [head + parts[0], *(" " * len(head) + part for part in parts[1:])]


def _item(text: str, page: Page) -> list[str]:
    first, *rest = wrap(one_line(text), page.width - 4)
    return [f"{INDENT}- {first}", *(INDENT * 2 + line for line in rest)]


def _value(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _describe_problem(problem: dict[str, Json]) -> str:
    """One problem of a call or of a workflow file, as a sentence."""
    if "message" in problem:
        place = f"{problem['line']}:{problem['column']} " if "line" in problem else ""
        return f"{place}{problem['severity']} {problem['code']}: {problem['message']} {problem['fix']}"
    subject = "The command" if problem.get("param") == "command" else problem.get("param") or ""
    got = f' ("{problem["got"]}")' if problem.get("got") else ""
    expected = f"; expected {problem['expected']}" if problem.get("expected") else ""
    return f"{subject} {str(problem.get('problem', '')).removesuffix('.')}{got}{expected}.".strip()


def _report(details: dict[str, Json], operation: str, page: Page) -> list[str]:
    """What a verdict says about each of its targets."""
    if gate.is_batch(details):
        return gate.batch_lines(details, page)
    report = details.get("report")
    if isinstance(details.get("reports"), list):
        return value_lines(details["reports"], page.width)
    if not isinstance(report, dict):
        return []
    if operation == "workflow.validate":  # as compilers write it: file, line, column, message
        return [
            f"{one_line(item.get('source_ref') or item['target'])}:{one_line(_describe_problem(problem))}"
            for item in report.get("items", [])
            for problem in item["problems"]
        ]
    return value_lines(report, page.width)
