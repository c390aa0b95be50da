"""The pages of the bundled workflows: what they say of inputs, steps and order follows from the files.

The rest of a page is written by hand: when to use it, how it ends, why a prompt is long. What a run costs is
measured and written by `python -m bench.run_costs`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from handrail.workflows.builtins.templates import find_contract
from handrail.workflows.limits import spelling_of
from handrail.workflows.spellings.spelling import decode_document

Part: TypeAlias = dict[str, Any]

BUNDLED = "src/handrail/host/bundled"
PAGES = "docs/workflows"
SUB_WORKFLOWS = "sub-workflows.md"
_SENTENCE = re.compile(r"(?<=[.?]) (?=[A-Z`])")
_HANDOFF = "wr.templates.handoff_summary"
_WORDS = {
    "equals": "is",
    "not_equals": "is not",
    "in": "is",
    "not_in": "is neither",
    "gt": "is greater than",
}


def workflow_pages(root: str) -> dict[str, str]:
    """Every page of a bundled workflow: path → content."""
    pages: dict[str, str] = {}
    for name in sorted(os.listdir(os.path.join(root, *BUNDLED.split("/")))):
        document = read_document(root, name)
        path = f"{PAGES}/{page_of(document['id']).partition('#')[0]}"
        text = pages.get(path) or _read(root, path)
        is_section = path.endswith(SUB_WORKFLOWS)
        before, own, after = _split(text, document["id"]) if is_section else ("", text, "")
        pages[path] = before + _with_tables(own, document, "##" if is_section else "#") + after
    return pages


def page_of(workflow_id: str) -> str:
    """The file name of its page; sub-workflows share one."""
    name = workflow_id.removeprefix("wr.").replace("_", "-")
    part = name.removeprefix("routine-")
    return f"{name}.md" if part == name else f"{SUB_WORKFLOWS}#{part}"


def read_document(root: str, name: str) -> Part:
    """The document of a bundled file."""
    with open(os.path.join(root, *BUNDLED.split("/"), name), "rb") as file:
        document = decode_document(file.read(), spelling_of(name))
    assert isinstance(document, dict), name
    return document


def _read(root: str, path: str) -> str:
    with open(os.path.join(root, *path.split("/")), encoding="utf-8") as file:
        return file.read()


def _split(text: str, workflow_id: str) -> tuple[str, str, str]:
    """A page that several workflows share: what is before the section of one, the section, what follows."""
    sections = re.split(r"(?m)^(?=## )", text)
    at = next(n for n, section in enumerate(sections) if f"\nIts id is `{workflow_id}`.\n" in section)
    return "".join(sections[:at]), sections[at], "".join(sections[at + 1 :])


def _with_tables(text: str, document: Part, level: str) -> str:
    """The page or section of a workflow with its head, its inputs and its steps as the file has them."""
    _, _, behind = text.partition("\n\n")
    _, _, rest = behind.partition("\n\n")
    head = f"{level} {document['name']}\n\n{document['description']}\nIts id is `{document['id']}`.\n\n"
    text = head + rest
    conditions = {one["id"]: one for one in document.get("conditions", ())}
    made = {
        "Inputs": "\n".join(_inputs(document["inputs"])),
        "Steps": "\n".join([*_steps(document["steps"], conditions, ""), *_slots(document["steps"])]),
    }
    for heading, body in made.items():
        before, found, after = text.partition(f"\n{level}# {heading}\n")
        assert found, f"the page of {document['id']} has a section {heading}"
        _, follows, rest = after.partition(f"\n{level}# ")
        text = f"{before}{found}\n{body}\n{follows}{rest}"
    return text


# Inputs


def _inputs(inputs: dict[str, Part]) -> Iterator[str]:
    yield "| input | type | default | what it means |"
    yield "|---|---|---|---|"
    for name, spec in inputs.items():
        yield f"| `{name}` | {_type(spec)} | {_default(spec)} | {spec['description']} |"


def _type(spec: Part) -> str:
    if "enum" in spec:
        *most, last = [f"`{value}`" for value in spec["enum"]]
        return f"{', '.join(most)} or {last}"
    return {"string": "text", "integer": "number", "array": "list"}[spec["type"]]


def _default(spec: Part) -> str:
    if spec.get("required"):
        return "required"
    if "default" not in spec:
        return "asked for"
    value = spec["default"]
    return f"`{value}`" if "enum" in spec else value if isinstance(value, str) else f"`{json.dumps(value)}`"


# Steps


def _steps(parts: list[Part], conditions: dict[str, Part], indent: str) -> Iterator[str]:
    number = 0
    for part in parts:
        if "slot" in part:
            continue
        number += 1
        name = f"({_kind(part)}`{_name(part)}`)"
        yield f"{indent}{number}. **{part['title']}** {name}{_told(part, conditions)}."
        inner = indent + " " * (len(str(number)) + 2)
        for line in _delivered(part):
            first, *more = _SENTENCE.split(line)
            yield from (f"{inner}- {first}", *(f"{inner}  {sentence}" for sentence in more))
        yield from _steps(part.get("body", []), conditions, inner)


def _slots(parts: list[Part]) -> Iterator[str]:
    """The places where others may add steps."""
    places = [(part, after) for part, after in pairwise(parts) if "slot" in part]
    if places:
        yield "\nA [customisation](../how-to/change-a-workflow.md) may add steps here:\n"
    for part, after in places:
        yield f"- `{part['slot']}`, before `{_name(after)}`: {part['description']}"


def _kind(part: Part) -> str:
    return {"loop": "loop ", "choice": "choice "}.get(part.get("type", ""), "")


def _name(part: Part) -> str:
    name: str = part.get("loopId") or part["id"]
    return name


def _told(part: Part, conditions: dict[str, Part]) -> str:
    """What stands behind the name of a part: how often it runs, who decides, and when it is there."""
    told = []
    match part:
        case {"forEach": each, "maxIterations": most}:
            told.append(f": once for each of `{each['input']}`, at most {most}")
        case {"while": held, "maxIterations": most}:
            told.append(f". At most {most} rounds, {_while(conditions[held['conditionId']])}")
        case {"delegate": {"children": children, **rest}}:
            names = ", ".join(f"`{child['id']}`" for child in children)
            told.append(f": delegates {names}; what they deliver is `{rest['collect']}`")
        case {"delegate": {"forEach": each, "collect": kept}}:
            told.append(f": delegates one for each of `{each.strip('{}')}`; what they deliver is `{kept}`")
        case {"nonAssumable": _}:
            told.append(": the user decides")
        case {"templateId": template}:
            told.append(f", by `{template}`")
        case _:
            pass
    if "when" in part:
        told.append(f", when {_say(_found(part['when'], conditions), '`')}")
    if part.get("requireConfirmation"):
        told.append("; guided mode asks for confirmation")
    return "".join(told)


def _while(condition: Part) -> str:
    decided = "the last step of each decides"
    return decided if condition["kind"] == "loop_control" else f"while {_say(condition, '`')}"


def _found(when: Any, conditions: dict[str, Part]) -> Part:
    if isinstance(when, str):
        return conditions[when]
    named: Part = conditions[when["conditionId"]] if when["kind"] == "condition_ref" else when
    return named


def _say(condition: Part, mark: str) -> str:
    if condition["kind"] == "and":
        return (" and " if mark else ", ").join(_say(one, mark) for one in condition["of"])
    if condition["kind"] == "not":
        return _say(condition["of"] | {"op": "not_in"}, mark)
    value = condition.get("value", "")
    values = value if isinstance(value, list) else [value]
    joint = " nor " if condition["op"] == "not_in" else " or "
    shown = joint.join(f"{mark}{one if isinstance(one, str) else json.dumps(one)}{mark}" for one in values)
    kind = condition.get("artifact", "")
    subject = (
        f"the {condition['field']} of the last `{kind}`"
        if kind and mark
        else kind.removeprefix("wr.") or f"{mark}{condition['input']}{mark}"
    )
    return f"{subject} {_WORDS[condition['op']]} {shown}"


def _delivered(part: Part) -> Iterator[str]:
    """What a part asks for, by the words of its author."""
    asked = part.get("promptBlocks", {}).get("outputRequired", {})
    kind = part.get("output", {}).get("contractRef", "").replace(".contracts.", ".")
    contract = find_contract(part.get("output", {}).get("contractRef", ""))
    if contract is not None and not {"artifact", "summary"} & set(asked):
        yield f"`{kind}`: {contract.summary}"
    for name, text in asked.items():
        is_artifact = kind and name in ("artifact", "summary")
        yield f"`{kind}`: {text}" if is_artifact else f"{name}: {text}"
    if part.get("templateId") == _HANDOFF:
        yield "`wr.handoff`: What was delivered, how it was checked, what is open."
    if "userOnly" in part:
        yield "`wr.user_input`: The user's own answer."
    for _ in part.get("gates", ()):
        yield "`wr.assessment`: The level of each dimension."
    for option in part.get("options", ()):
        yield f"`{option['id']}`: {option['description']}"
