"""A workflow document of the other dialect as a native one, with everything that changed. Pure.

The native document is read like any other. What has no place in it is kept under `extra`, and nothing that a
prompt says is lost. A single key of the other dialect inside a native file is translated here too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.workflows.dialect.crossing import (
    Crossing,
    Object,
    as_text,
    as_texts,
    double_braces,
    fill_document,
    find_implicit_names,
    native_id,
    native_workflow_id,
)
from handrail.workflows.dialect.part_forms import NATIVE_KEYS, READ_AS, REPEATS, PartContext, to_parts
from handrail.workflows.dialect.step_forms import Assessments
from handrail.workflows.dialect.when_forms import Source, to_condition
from handrail.workflows.limits import MAX_INPUTS, MAX_PARTS
from handrail.workflows.problem import Problem

# Which documents are of the other dialect
#
# Some are valid in both; they are native. A document with words of both is what it has more of, so that one
# slip in a native file is still reported as a slip.


_FOREIGN_KEYS = frozenset(
    {
        "metaGuidance",
        "clarificationPrompts",
        "functionDefinitions",
        "recommendedPreferences",
        "extensionPoints",
        "metricsProfile",
        "validatedAgainstSpecVersion",
    }
)
_NATIVE_KEYS = frozenset(
    {"inputs", "conditions", "recommended", "functions", "questions", "kind", "guidance"}
)
_NATIVE_STEP_KEYS = {*NATIVE_KEYS, "loopId", *REPEATS, "templateId", "options", "operation"}
_CONDITION_KEYS = frozenset({"var", "and", "or", "not", "condition"})


def is_foreign(document: Object) -> bool:
    """Whether a document must be translated before it is read."""
    foreign = {name for name in document if name in _FOREIGN_KEYS} | _foreign_shapes(document)
    native = {name for name in document if name in _NATIVE_KEYS}
    for step in islice(_steps(document.get("steps")), MAX_PARTS):
        foreign |= {name for name in step if name in READ_AS} | _foreign_step_shapes(step)
        native |= {name for name in step if name in _NATIVE_STEP_KEYS}
    return bool(foreign) and len(foreign) >= len(native)


def _foreign_shapes(document: Object) -> set[str]:
    """Keys that both languages have, written as only the other one writes them."""
    listed = any(isinstance(one.get("dimensions"), list) for one in _objects(document.get("assessments")))
    return {"dimensions"} if listed else set()


def _foreign_step_shapes(step: Object) -> set[str]:
    found = set()
    body = step.get("body")
    if isinstance(body, str) or (isinstance(body, list) and any(isinstance(part, str) for part in body)):
        found.add("body")
    if step.get("type") == "parallel":
        found.add("parallel")
    if _is_condition(step.get("requireConfirmation")):
        found.add("requireConfirmation")
    if any(_is_condition(fragment.get("when")) for fragment in _objects(step.get("promptFragments"))):
        found.add("promptFragments")
    return found


def _is_condition(value: Json) -> bool:
    """A condition without a `kind`, or the kinds of confirmation that the other dialect has."""
    if not isinstance(value, dict):
        return False
    if "kind" in value:
        return value["kind"] in ("human_approval", "coordinator_eval")
    return any(name in _CONDITION_KEYS for name in value)


def _steps(value: Json) -> Iterator[Object]:
    waiting = [iter(_objects(value))]
    while waiting:
        step = next(waiting[-1], None)
        if step is None:
            waiting.pop()
        else:
            yield step
            waiting.append(iter(_objects(step.get("body"))))


def _objects(value: Json) -> list[Object]:
    items = value if isinstance(value, list) else [value]
    return [one for one in items if isinstance(one, dict)]


# Translation

_COPIED = (
    "$schema",
    "kind",
    "name",
    "description",
    "version",
    "capabilities",
    "recommended",
    "conditions",
    "features",
)
_LISTS = {
    "preconditions": "preconditions",
    "questions": "questions",
    "clarificationPrompts": "questions",
    "guidance": "guidance",
    "metaGuidance": "guidance",
    "examples": "examples",
    "tags": "tags",
}
_SILENT = {
    **dict.fromkeys(
        ("metricsProfile", "validatedAgainstSpecVersion", "modelTier"), "it is kept and changes nothing"
    ),
    "extensionPoints": "each slot is filled with its default",
}
"""Keys that have no meaning of their own in a native workflow, each with what becomes of it."""
_OWN = (
    "id",
    "steps",
    "agentRole",
    "about",
    "inputs",
    "functions",
    "functionDefinitions",
    "assessments",
    "references",
    "recommendedPreferences",
    "extra",
)
_ROUTINE = "routine-"
_WITH_ARGUMENTS = ("steps", "guidance", "metaGuidance", "functions", "functionDefinitions")
"""Where a routine names what it is called with, in single braces."""
_PREFERENCES = {"recommendedAutonomy": "autonomy", "recommendedRiskPolicy": "riskPolicy"}


class Translation(msgspec.Struct, frozen=True, kw_only=True):
    """The native document, what the author should know, and where each part of it came from."""

    document: Object
    problems: tuple[Problem, ...]
    pointers: dict[str, str]
    """Native pointer to the original one, for every part and for what is called otherwise."""


def to_native(document: Object) -> Translation:
    """Translate a document. It never fails: what it cannot understand is passed on, so that the reader of
    workflows reports it.
    """
    crossing = Crossing()
    prepared = _prepared(crossing, document)
    native: Object = {name: prepared[name] for name in _COPIED if name in prepared}
    _add_id(crossing, prepared, native)
    _add_texts(crossing, prepared, native)
    _add_preferences(crossing, prepared, native)
    _add_references(crossing, prepared, native)
    _add_steps(crossing, prepared, native)
    _keep_the_rest(crossing, prepared, native)
    _add_inputs(crossing, prepared, native)
    return Translation(document=native, problems=crossing.problems(), pointers=crossing.pointers)


def _prepared(crossing: Crossing, document: Object) -> Object:
    """Return the document with the names filled in that are known before the workflow runs."""
    bindings = {}
    points = document.get("extensionPoints")
    for one in points if isinstance(points, list) else []:
        if isinstance(one, dict) and isinstance(one.get("slotId"), str):
            bindings[f"wr.bindings.{one['slotId']}"] = as_text(one.get("default", ""))
    filled: Object = fill_document(document, bindings)
    if not _is_routine(document):
        return filled
    routine = {name: double_braces(one) if name in _WITH_ARGUMENTS else one for name, one in filled.items()}
    if routine.get("steps") != filled.get("steps"):
        crossing.read_as("{name}", "/steps", "in the prompts of a routine it is read as {{name}}")
    return routine


def _is_routine(document: Object) -> bool:
    name = document.get("id")
    is_called_so = isinstance(name, str) and name.rpartition(".")[2].startswith(_ROUTINE)
    return is_called_so or document.get("kind") == "routine"


def _add_id(crossing: Crossing, document: Object, native: Object) -> None:
    written = document.get("id")
    if not isinstance(written, str) or not written.strip():
        if "id" in document:
            native["id"] = written
        return
    native["id"] = native_workflow_id(written)
    if native["id"] != written:
        message = f"The id {quote(written)} is not a valid id; the workflow is called {native['id']}."
        crossing.changed("/id", message, "Write namespace.name with one dot, in lower case.", "bad_id")
    if _is_routine(document):
        native.setdefault("kind", "routine")


def _add_texts(crossing: Crossing, document: Object, native: Object) -> None:
    for name, became in _LISTS.items():
        if document.get(name) is None:
            continue
        if name != became:
            crossing.read_as(name, join_pointer("", name), f"it is read as {became}")
        listed = native.setdefault(became, [])
        for index, text in enumerate(as_texts(document[name])):
            crossing.came_from(f"/{became}/{len(listed)}", f"/{name}/{index}")
            listed.append(text)
    for name in ("agentRole", "about"):
        if document.get(name) is not None:
            native[name] = as_text(document[name])


def _add_preferences(crossing: Crossing, document: Object, native: Object) -> None:
    written = document.get("recommendedPreferences")
    if written is None:
        return
    place = "/recommendedPreferences"
    crossing.read_as("recommendedPreferences", place, "it is read as recommended")
    crossing.came_from("/recommended", place)
    found: Object = {}
    for name, value in (written if isinstance(written, dict) else {}).items():
        if name in _PREFERENCES:
            found[_PREFERENCES[name]] = value
        else:
            crossing.keep(place, name, value, "recommendedPreferences")
    if found:
        native["recommended"] = found


def _add_references(crossing: Crossing, document: Object, native: Object) -> None:
    written = document.get("references")
    if isinstance(written, list):
        native["references"] = [
            _reference(crossing, one, f"/references/{index}") if isinstance(one, dict) else one
            for index, one in enumerate(written)
        ]


_OF_REFERENCES = ("id", "title", "source", "purpose", "authoritative", "resolveFrom")


def _reference(crossing: Crossing, value: Object, pointer: str) -> Object:
    crossing.keep_others(pointer, value, _OF_REFERENCES, "a reference")
    found = {name: value[name] for name in _OF_REFERENCES if name in value}
    if isinstance(value.get("id"), str):
        found["id"] = native_id(value["id"])
    return found


def _add_steps(crossing: Crossing, document: Object, native: Object) -> None:
    assessments = Assessments(crossing, document.get("assessments"))
    if assessments.native:
        native["assessments"] = assessments.native
    steps = document.get("steps")
    if not isinstance(steps, list):
        if "steps" in document:
            native["steps"] = steps
        return
    sources = [Source(one, join_pointer("/steps", index)) for index, one in enumerate(steps)]
    context = PartContext(crossing, assessments)
    functions = document.get("functions")
    scope = context.functions.define(crossing, functions, "/functions", {})
    if document.get("functionDefinitions") is not None:
        place = "/functionDefinitions"
        crossing.read_as("functionDefinitions", place, "it is read as functions")
        scope = context.functions.define(crossing, document["functionDefinitions"], place, scope)
    native["steps"] = to_parts(context, sources, "/steps", scope)
    if context.functions.native:
        native["functions"] = dict(sorted(context.functions.native.items()))


def _keep_the_rest(crossing: Crossing, document: Object, native: Object) -> None:
    for name, value in document.items():
        if name in _SILENT:
            crossing.read_as(name, join_pointer("", name), _SILENT[name])
            crossing.put_aside(join_pointer("", name), name, value, is_top=True)
        elif name not in _COPIED and name not in _LISTS and name not in _OWN:
            crossing.keep("", name, value)
    own = document.get("extra")
    if isinstance(own, dict):
        crossing.extra = {**own, **crossing.extra}
    if crossing.extra:
        native["extra"] = crossing.extra


def _add_inputs(crossing: Crossing, document: Object, native: Object) -> None:
    """What conditions, loops and prompts use without a declaration: this dialect has none."""
    declared = document.get("inputs")
    if "inputs" in document and not isinstance(declared, dict):
        native["inputs"] = declared
        return
    inputs: dict[str, Json] = {**crossing.inputs, **(declared or {})}
    named = ("steps", "guidance", "functions") if native.get("kind") == "routine" else ("steps",)
    for name in find_implicit_names([native.get(key) for key in named]):
        # The compiler adds those that are over the limit of what an author may declare.
        if name not in inputs and len(inputs) < MAX_INPUTS:
            inputs[name] = {"type": "any", "implicit": True}
    if inputs:
        native["inputs"] = dict(sorted(inputs.items()))


# A condition of the other dialect inside a native file


def native_condition(value: Json) -> Object:
    """A condition of the other dialect as a native one; empty where it cannot be said the same."""
    if not isinstance(value, dict) or "kind" in value:
        return {}
    crossing = Crossing()
    condition = to_condition(crossing, value, "", "")
    is_whole = condition is not None and condition != value and not crossing.problems()
    return _make_exact(condition) if is_whole else {}


def _make_exact(value: Json) -> Json:
    """The same with comparisons that look at every letter, as native ones do."""
    if isinstance(value, list):
        return [_make_exact(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {name: _make_exact(one) for name, one in value.items() if name != "lenient"}
