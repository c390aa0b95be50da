"""Steps, loops, template calls and delegations of the other dialect as native parts. Pure."""

from __future__ import annotations

import re

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.builtins.templates import find_contract
from handrail.workflows.dialect.crossing import (
    NOWHERE,
    Crossing,
    Object,
    as_listed,
    as_text,
    as_texts,
    native_id,
    own_id,
)
from handrail.workflows.dialect.step_forms import (
    Assessments,
    Functions,
    Scope,
    to_fragments,
    to_prompt,
    to_rules,
)
from handrail.workflows.dialect.when_forms import (
    NATIVE_KINDS,
    Source,
    add_repeat,
    body_sources,
    is_loop,
    loop_settings,
    to_condition,
)
from handrail.workflows.limits import MAX_CHILDREN, MAX_NAME_CHARACTERS, MAX_TITLE_CHARACTERS
from handrail.workflows.prompt_sections import ASK_FOR_FILES

# What every part needs to know about its workflow


class PartContext:
    """The workflow around the parts: its functions and assessments."""

    def __init__(self, crossing: Crossing, assessments: Assessments) -> None:
        self.crossing = crossing
        self.assessments = assessments
        self.functions = Functions()


def _loop_id(crossing: Crossing, loop: Source) -> str:
    """Return the name by which artifacts refer to the loop."""
    source = loop_settings(loop.value).get("conditionSource")
    if isinstance(source, dict) and isinstance(source.get("loopId"), str):
        return own_id(crossing, source["loopId"], f"{loop.pointer}/loop/conditionSource/loopId")
    written = loop.value.get("loopId", loop.value.get("id", "loop"))
    return own_id(crossing, written, loop.pointer) if isinstance(written, str) else written


# Parts

_NATIVE_TYPES = ("template_call", "choice", "action")
NATIVE_KEYS = ("when", "output", "validation", "gates", "functionRefs", "userOnly")
_SILENT = frozenset(
    {"id", "title", "type", "prompt", "promptBlocks", "promptFragments", "guidance", "agentRole"}
)
READ_AS = {
    "runCondition": "it is read as when",
    "validationCriteria": "it is read as validation",
    "outputContract": "it is read as output",
    "functionReferences": "it is read as functionRefs",
    "functionDefinitions": "it is read as functions",
    "assessmentRefs": "it is read as gates",
    "assessmentConsequences": "it is read as the followups of gates",
    "askForFiles": "it is read as guidance to ask for the files",
    "hasValidation": "it is left out, because rules speak for themselves",
    "parallelDelegations": "it is read as a step that delegates work, before the step that uses it",
    "templateCall": "it is read as a part of the type template_call",
    "loop": "it is read as the native keys of a loop",
}
"""Keys of parts that no native part has, each with what the translation does with it."""
_BUNDLED = "wr.contracts."


def to_parts(
    context: PartContext, sources: list[Source], native: str, scope: Scope, start: int = 0
) -> list[Json]:
    """Return the native parts. `native` is the pointer of their list, `start` the index of the first one in
    it.
    """
    parts: list[Json] = []
    for source in sources:
        place = join_pointer(native, start + len(parts))
        if not isinstance(source.value, dict):
            context.crossing.came_from(place, source.pointer)
            parts.append(source.value)
        elif not context.crossing.count_part():
            break  # the reader reports that there are too many
        elif is_loop(source.value):
            parts.append(_loop(context, source, place, scope))
        elif source.value.get("templateCall") is not None:
            parts.append(_template_call(context, source, place))
        elif source.value.get("parallelDelegations"):
            parts += _delegations(context, source, native, start + len(parts), scope)
        elif source.value.get("type") in _NATIVE_TYPES:
            context.crossing.came_from(place, source.pointer)
            parts.append(source.value)
        else:
            parts.append(_step(context, source, place, scope))
    return parts


def _note_spellings(context: PartContext, source: Source, known: frozenset[str]) -> None:
    """Warn about every key of the other dialect; unknown keys are kept."""
    for name, value in source.value.items():
        if name in READ_AS and name in known:
            context.crossing.read_as(name, join_pointer(source.pointer, name), READ_AS[name])
        elif name == "modelTier":
            place = join_pointer(source.pointer, name)
            context.crossing.read_as(name, place, "it is kept and changes nothing")
            context.crossing.put_aside(place, name, value, is_top=False)
        elif name not in known:
            context.crossing.keep(source.pointer, name, value, "a step")


_STEP_KEYS = (frozenset({"requireConfirmation", "notesOptional", *NATIVE_KEYS}) | _SILENT | set(READ_AS)) - {
    "templateCall",
    "loop",
}


def _step(
    context: PartContext, source: Source, native: str, scope: Scope, *, is_silent: bool = False
) -> Object:
    """Return the native step. `is_silent` allows a step without a prompt of its own."""
    value, pointer, crossing = source.value, source.pointer, context.crossing
    crossing.came_from(native, pointer)
    _note_spellings(context, source, _STEP_KEYS)
    part = _head(context, source, native)
    part |= {name: value[name] for name in NATIVE_KEYS if name in value and name not in part}
    part |= _add_words(context, source, native, is_silent=is_silent)
    guidance = as_texts(value.get("guidance"))
    inner = context.functions.define(
        crossing, value.get("functionDefinitions"), f"{pointer}/functionDefinitions", scope
    )
    names, advice = context.functions.refer(crossing, value, pointer, inner)
    if names:
        crossing.came_from(f"{native}/functionRefs", f"{pointer}/functionReferences")
        part["functionRefs"] = names
    guidance += advice
    guidance += _add_checks(context, source, native, part)
    if value.get("askForFiles") is True:
        guidance.append(ASK_FOR_FILES)
    if guidance:
        part["guidance"] = guidance
    if "agentRole" in value and value["agentRole"] is not None:
        part["agentRole"] = as_text(value["agentRole"])
    if isinstance(value.get("notesOptional"), bool):
        part["notesOptional"] = value["notesOptional"]
    return part


def _delegations(context: PartContext, source: Source, holder: str, index: int, scope: Scope) -> list[Json]:
    """Return steps that run the delegations, then the step itself with their results."""
    value, crossing = source.value, context.crossing
    place = f"{source.pointer}/parallelDelegations"
    crossing.read_as("parallelDelegations", place, READ_AS["parallelDelegations"])
    own = {name: member for name, member in value.items() if name != "parallelDelegations"}
    handing: list[Json] = []
    names: list[str] = []
    for children in list_children(crossing, value["parallelDelegations"], place):
        native = join_pointer(holder, index + len(handing))
        crossing.came_from(native, place)
        written = value.get("id") if isinstance(value.get("id"), str) else "step"
        step_id = f"{native_id(f'{written}')[:40]}-delegations-{len(handing) + 1}".removesuffix("-1")
        title = "\n".join(as_texts(value.get("title"))) or step_id
        names.append(collected_name(step_id))
        when = _when(context, source, native)
        handed = {"children": children, "collect": names[-1]}
        handing.append({"id": step_id, "title": title, **when, "delegate": handed})
    native = join_pointer(holder, index + len(handing))
    part = _step(context, Source(own, source.pointer), native, scope, is_silent=True)
    return [*handing, add_results(part, names)]


def _head(context: PartContext, source: Source, native: str) -> Object:
    """Return the keys that every part has: id, title, when and requireConfirmation."""
    value, pointer = source.value, source.pointer
    written = value["id"] if isinstance(value.get("id"), str) and value["id"].strip() else ""
    own = own_id(context.crossing, written or "step", f"{pointer}/id")
    title = "\n".join(as_texts(value.get("title"))) or written or own
    return {
        "id": own,
        "title": title,
        **_when(context, source, native),
        **_confirmation(context, source, native),
    }


def _when(context: PartContext, source: Source, native: str) -> Object:
    if "runCondition" not in source.value:
        return {"when": source.value["when"]} if source.value.get("when") is not None else {}
    place = f"{source.pointer}/runCondition"
    condition = to_condition(context.crossing, source.value["runCondition"], place, f"{native}/when")
    return {} if condition is None else {"when": condition}


def _confirmation(context: PartContext, source: Source, native: str) -> Object:
    value, place = (
        source.value.get("requireConfirmation"),
        f"{source.pointer}/requireConfirmation",
    )
    if value is None or isinstance(value, bool):
        return {} if value is None else {"requireConfirmation": value}
    inner = f"{native}/requireConfirmation"
    if isinstance(value, dict) and "kind" in value and value["kind"] not in NATIVE_KINDS:
        context.crossing.read_as("requireConfirmation.kind", place, "every kind asks the user to confirm")
        condition = to_condition(context.crossing, value.get("condition"), f"{place}/condition", inner)
    else:
        if isinstance(value, dict) and "kind" not in value:
            context.crossing.read_as("requireConfirmation", place, "its condition is read as a native one")
        condition = to_condition(context.crossing, value, place, inner)
    return {"requireConfirmation": True if condition is None else condition}


def _add_words(context: PartContext, source: Source, native: str, *, is_silent: bool) -> Object:
    """Prompt and fragments. A step that only has fragments has its title as prompt."""
    value, pointer, crossing = source.value, source.pointer, context.crossing
    found = to_prompt(crossing, value, pointer)
    fragments = to_fragments(crossing, value, pointer, native)
    if not found and (fragments or is_silent):
        found = {"prompt": "\n".join(as_texts(value.get("title"))) or "Do this step."}
    if value.get("type") not in (None, "step", "parallel"):
        found["type"] = value["type"]
    return found | ({"promptFragments": fragments} if fragments else {})


def _add_checks(context: PartContext, source: Source, native: str, part: Object) -> list[str]:
    """Add what the step must deliver and meet; a requirement that cannot be enforced becomes advice."""
    value, pointer, crossing = source.value, source.pointer, context.crossing
    advice: list[str] = []
    if value.get("validationCriteria"):
        place = f"{pointer}/validationCriteria"
        rules, added = to_rules(crossing, value["validationCriteria"], place, f"{native}/validation")
        advice += added
        if rules:
            part["validation"] = rules
    if value.get("assessmentRefs") or value.get("assessmentConsequences"):
        gates, added = context.assessments.gates(crossing, value, pointer, native)
        advice += added
        if gates:
            part["gates"] = gates
    if value.get("outputContract") is not None:
        crossing.came_from(f"{native}/output", f"{pointer}/outputContract")
        output = _output(context, value["outputContract"], f"{pointer}/outputContract")
        if output:
            part["output"] = output
    return advice


def _output(context: PartContext, value: Json, pointer: str) -> Object:
    value = value if isinstance(value, dict) else {"contractRef": value}
    ref = value.get("contractRef")
    hints = as_texts(value.get("hints"))
    context.crossing.keep_others(pointer, value, ("contractRef", "required", "hints"), "an outputContract")
    if value.get("required") is False:
        message = "An optional contract cannot be declared here; the prompt asks the agent for it."
        context.crossing.changed(f"{pointer}/required", message, "Require it, or ask for it in words.")
        return {"hints": [*hints, f"You may deliver an artifact of the contract {ref}."]}
    if isinstance(ref, str) and ref.startswith(_BUNDLED) and find_contract(ref) is None:
        # The compiler reports it and asks for notes only; what the author wanted is still said.
        hints.append(
            f"Deliver the result as an artifact, too, in the form that is asked for (contract {ref})."
        )
    return {"contractRef": ref} | ({"hints": hints} if hints else {})


_CALL_HEAD = frozenset({"id", "title", "runCondition", "when", "requireConfirmation", "hasValidation"})


def _template_call(context: PartContext, source: Source, native: str) -> Object:
    """A call has no prompt: what else is written beside it is kept and not shown."""
    value, pointer = source.value, source.pointer
    own = {name: member for name, member in value.items() if name != "templateCall"}
    _note_spellings(context, Source(own, pointer), _CALL_HEAD)
    context.crossing.came_from(native, pointer)
    context.crossing.read_as("templateCall", f"{pointer}/templateCall", READ_AS["templateCall"])
    call = value["templateCall"]
    call = call if isinstance(call, dict) else {"templateId": call}
    for name in ("templateId", "args"):
        context.crossing.came_from(join_pointer(native, name), f"{pointer}/templateCall/{name}")
    args = {"args": call["args"]} if call.get("args") is not None else {}
    return {
        "type": "template_call",
        **_head(context, source, native),
        "templateId": call.get("templateId"),
        **args,
    }


REPEATS = ("while", "until", "forEach", "count")
_NATIVE_LOOP_KEYS = (*REPEATS, "maxIterations")
_LOOP_KEYS = frozenset(
    {"id", "type", "title", "loop", "loopId", "body", "runCondition", "when", "functionDefinitions"}
    | {"hasValidation", *_NATIVE_LOOP_KEYS}
)


def _loop(context: PartContext, source: Source, native: str, scope: Scope) -> Object:
    value, pointer, crossing = source.value, source.pointer, context.crossing
    crossing.came_from(native, pointer)
    _note_spellings(context, source, _LOOP_KEYS)
    part: Object = {"type": "loop", "loopId": _loop_id(crossing, source), **_when(context, source, native)}
    title = "\n".join(as_texts(value.get("title")))
    if title:
        part["title"] = title
    inner = context.functions.define(
        crossing, value.get("functionDefinitions"), f"{pointer}/functionDefinitions", scope
    )
    part["body"] = to_parts(context, body_sources(source), f"{native}/body", inner)
    if not isinstance(value.get("loop"), dict):
        return part | {name: value[name] for name in _NATIVE_LOOP_KEYS if name in value}
    add_repeat(crossing, source, native, part)
    return part


# `parallelDelegations` of the other dialect as the children of steps that delegate work.


_TOGETHER = "Bring together what the delegations found: {}. Say what each found, and where they disagree."

_NAMES = ("title", "name", "id", "workflowId", "routineId")
_KNOWN = (*_NAMES, "runCondition", "contextMapping", "args", "modelTier", "prompt", "mission", "description")


def list_children(crossing: Crossing, value: Json, pointer: str) -> list[list[Json]]:
    """Return the delegations, in groups as large as one step may delegate."""
    listed = value if isinstance(value, list) else [value]
    children = [_child(crossing, one, f"{pointer}/{index}", index + 1) for index, one in enumerate(listed)]
    return [children[first : first + MAX_CHILDREN] for first in range(0, len(children), MAX_CHILDREN)]


def collected_name(step_id: str) -> str:
    """Return the name of the value that receives the results of a step's children."""
    return f"found_by_{re.sub('[^A-Za-z0-9]', '_', step_id)}"[:MAX_NAME_CHARACTERS]


def add_results(part: Object, names: list[str]) -> Object:
    """Return the step with a sentence about the results of the delegations."""
    sentence = _TOGETHER.format(" and ".join(f"{{{{{name}}}}}" for name in names))
    if "promptBlocks" in part:
        blocks = part["promptBlocks"]
        procedure = [*as_listed(blocks.get("procedure", [])), sentence]
        return part | {"promptBlocks": blocks | {"procedure": procedure}}
    return part | {"prompt": "\n\n".join([*as_texts(part.get("prompt")), sentence])}


def _child(crossing: Crossing, value: Json, pointer: str, number: int) -> Object:
    name = _name(value)[:MAX_TITLE_CHARACTERS]
    lines = _lines(value) if isinstance(value, dict) else as_texts(value)
    step: Object = {"id": "do", "title": name, "prompt": "\n".join(lines) or name}
    child: Object = {"id": f"d{number}", "title": name, "steps": [step]}
    place = f"{pointer}/runCondition"
    given = value.get("runCondition") if isinstance(value, dict) else None
    condition = to_condition(crossing, given, place, NOWHERE)
    return child if condition is None else child | {"when": condition}


def _name(value: Json) -> str:
    if not isinstance(value, dict):
        return "task"
    return next((str(value[name]) for name in _NAMES if isinstance(value.get(name), str)), "task")


def _lines(value: Object) -> list[str]:
    lines = [
        f"Workflow to follow: {value[name]}"
        for name in ("workflowId", "routineId")
        if isinstance(value.get(name), str)
    ]
    lines += [text for name in ("mission", "prompt", "description") for text in as_texts(value.get(name))]
    lines += _pairs("Arguments", value.get("args"))
    lines += _mapping(value.get("contextMapping"))
    if isinstance(value.get("modelTier"), str):
        lines.append(f"Model tier: {value['modelTier']}")
    lines += [f"{name}: {as_text(value[name])}" for name in sorted(value) if name not in _KNOWN]
    return lines


def _pairs(heading: str, value: Json) -> list[str]:
    if not isinstance(value, dict):
        return [f"{heading}: {text}" for text in as_texts(value)]
    # Sorted, because the order of keys carries no meaning in JSON and must not reach the hash.
    return [f"{heading}:", *(f"- {name}: {as_text(value[name])}" for name in sorted(value))] if value else []


def _mapping(value: Json) -> list[str]:
    """Which context values the delegate gets, and what they are called there."""
    if not isinstance(value, dict):
        return [f"Context to hand over: {text}" for text in as_texts(value)]
    sources = {name: as_text(value[name]) for name in sorted(value)}
    handed = [name if name == source else f"{source} as {name}" for name, source in sources.items()]
    return [f"Context to hand over: {', '.join(handed)}"] if handed else []
