"""Build the source model from a document that fits the grammar. Pure.

Nothing is checked here: the document has been, so a value that does not fit is a broken assumption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, TypeAlias, TypeVar

import msgspec

from handrail.contract.json.places import escape_key
from handrail.contract.outcome import Json
from handrail.workflows.compiled import (
    AllOf,
    AnyOf,
    ContainsRule,
    Count,
    ForEach,
    LengthRule,
    Option,
    PatternRule,
    ProofDemand,
    Rule,
    SchemaRule,
    SlotPlace,
)
from handrail.workflows.conditions import Condition
from handrail.workflows.model import (
    ConditionRef,
    InlineCondition,
    PromptBlocks,
    PromptPart,
    RefPart,
    RepeatUntil,
    RepeatWhile,
    SourceAction,
    SourceAssessment,
    SourceChild,
    SourceChoice,
    SourceDelegate,
    SourceFeature,
    SourceFragment,
    SourceGate,
    SourceLoop,
    SourcePart,
    SourceRepeat,
    SourceSlot,
    SourceStep,
    SourceTemplateCall,
    SourceWorkflow,
    When,
)
from handrail.workflows.reading.grammar import BLOCK_KEYS

# Conditions

_S = TypeVar("_S", bound=msgspec.Struct)
Object: TypeAlias = dict[str, Json]
Origin: TypeAlias = Callable[[str], str]
"""Maps a pointer into the present document to the one in the author's own file."""


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)


def _take(kind: type[_S], value: Object, pointer: str, origin: Origin, **own: Any) -> _S:
    """Return a record of the model with the given fields, its place and its condition; every other field
    comes from the document under the same name.
    """
    for field in _fields(kind):
        if field.name in own:
            continue
        if field.name == "pointer":
            own["pointer"] = origin(pointer)
        elif field.name == "when":
            own["when"] = build_when(value["when"], f"{pointer}/when", origin) if "when" in value else None
        elif field.encode_name in value:
            own[field.name] = msgspec.convert(value[field.encode_name], field.type)
    return kind(**own)


def _take_all(kind: type[_S], holder: Object, key: str, pointer: str, origin: Origin) -> tuple[_S, ...]:
    """Return a record for each item of a list."""
    listed = enumerate(holder.get(key, ()))
    return tuple(_take(kind, one, f"{pointer}/{key}/{index}", origin) for index, one in listed)


def build_condition(value: Object) -> Condition:
    # The grammar has the keys and words of the structs, so one conversion builds the whole tree.
    condition: Condition = msgspec.convert(value, Condition)
    return condition


def build_when(value: Json, pointer: str, origin: Origin) -> When:
    """Return the value of `when`, `while` or `until`: an id, a reference, or an inline condition."""
    if isinstance(value, str):
        return ConditionRef(condition_id=value, pointer=origin(pointer))
    if value["kind"] == "condition_ref":
        return ConditionRef(condition_id=value["conditionId"], pointer=origin(f"{pointer}/conditionId"))
    return InlineCondition(condition=build_condition(value), pointer=origin(pointer))


def build_confirmation(holder: Object, pointer: str, origin: Origin) -> bool | When:
    value = holder.get("requireConfirmation", False)
    if isinstance(value, bool) or _names_who(value):
        return value is not False
    return build_when(value, f"{pointer}/requireConfirmation", origin)


def _names_who(value: Json) -> bool:
    """Whether a confirmation says who has to give it, and not when."""
    return isinstance(value, dict) and "by" in value


# Rules for notes; a rule without a message gets a plain one


def build_rule(value: dict[str, Any]) -> Rule:
    message: str = value.get("message", "")
    match value["type"]:
        case "all":
            return AllOf(of=tuple(build_rule(rule) for rule in value["of"]))
        case "any":
            return AnyOf(of=tuple(build_rule(rule) for rule in value["of"]))
        case "contains":
            text = value["value"]
            return ContainsRule(value=text, message=message or f'The notes must contain "{text}".')
        case "regex":
            pattern = value["pattern"]
            return PatternRule(
                pattern=pattern,
                flags="".join(sorted(value.get("flags", ""))),
                message=message or f"The notes must match the pattern {pattern}.",
            )
        case "length":
            return _length(value, message)
        case _:
            default = "The notes must be a JSON document that fits the schema of the step."
            return SchemaRule(schema=value["schema"], message=message or default)


def _length(value: dict[str, Any], message: str) -> LengthRule:
    least = int(value.get("minimum", 0))
    most = int(value["maximum"]) if "maximum" in value else None
    bounds = f"at least {least}" if most is None else f"{least} to {most}"
    return LengthRule(
        minimum=least, maximum=most, message=message or f"The notes must have {bounds} characters."
    )


# Parts


def build_parts(parts: list[Object], pointer: str, origin: Origin) -> tuple[SourcePart, ...]:
    """Return the parts; a slot is only a place for parts of a customisation."""
    return tuple(
        _part(part, f"{pointer}/{index}", origin) for index, part in enumerate(parts) if "slot" not in part
    )


def _slots(parts: list[Object], pointer: str, origin: Origin) -> Iterator[SourceSlot]:
    for index, part in enumerate(parts):
        if "slot" in part:
            place = SlotPlace(
                id=part["slot"],
                title=part.get("title", ""),
                description=part.get("description", ""),
                before=_first_id(parts[index + 1 :]),
                after=_first_id(reversed(parts[:index])),
            )
            yield _take(SourceSlot, part, f"{pointer}/{index}", origin, place=place)
        yield from _slots(part.get("body", []), f"{pointer}/{index}/body", origin)


def _first_id(parts: Iterable[Object]) -> str:
    return next((str(part.get("loopId") or part.get("id", "")) for part in parts if "slot" not in part), "")


def _part(value: Object, pointer: str, origin: Origin) -> SourcePart:
    match value.get("type", "step"):
        case "loop":
            return _loop(value, pointer, origin)
        case "template_call":
            asked = build_confirmation(value, pointer, origin)
            return _take(SourceTemplateCall, value, pointer, origin, require_confirmation=asked)
        case "choice":
            return _choice(value, pointer, origin)
        case "action":
            return _take(SourceAction, {"title": value["operation"], **value}, pointer, origin)
        case _ if "delegate" in value:
            return _delegate(value, pointer, origin)
        case _:
            return _step(value, pointer, origin)


def _step(value: Object, pointer: str, origin: Origin) -> SourceStep:
    output = value.get("output", {})
    asked: Any = value.get("requireConfirmation")
    return _take(
        SourceStep,
        value,
        pointer,
        origin,
        blocks=_blocks(value, pointer, origin),
        fragments=_take_all(SourceFragment, value, "promptFragments", pointer, origin),
        require_confirmation=build_confirmation(value, pointer, origin),
        confirmed_by=asked["by"] if _names_who(asked) else "",
        contract_ref=output.get("contractRef", ""),
        hints=tuple(output.get("hints", ())),
        rules=tuple(build_rule(rule) for rule in value.get("validation", ())),
        gates=_take_all(SourceGate, value, "gates", pointer, origin),
        notes_required=value.get("notesOptional") is False,
        check=value.get("evidence", {}).get("check", ""),
        proof=_proof(value.get("proof", "passes")) if {"proof", "evidence"} & {*value} else None,
    )


def _proof(value: Json) -> ProofDemand:
    if isinstance(value, str):
        value = {"wants": value}
    is_required = value.get("demand") == "required"
    return ProofDemand(wants=value["wants"], is_required=is_required, base=value.get("base", ""))


def _blocks(step: Object, pointer: str, origin: Origin) -> PromptBlocks | None:
    if "promptBlocks" not in step:
        return None
    blocks, place = step["promptBlocks"], f"{pointer}/promptBlocks"
    required = blocks.get("outputRequired", {})
    return PromptBlocks(
        **{key: _prompt_parts(blocks.get(key, []), f"{place}/{key}", origin) for key in BLOCK_KEYS},
        # Sorted, because the order of keys carries no meaning in JSON and must not reach the hash.
        output_required=tuple(
            (name, _prompt_part(required[name], f"{place}/outputRequired/{escape_key(name)}", origin))
            for name in sorted(required)
        ),
    )


def _prompt_parts(value: Json, pointer: str, origin: Origin) -> tuple[PromptPart, ...]:
    """Return a block: a list of parts, or one alone."""
    if not isinstance(value, list):
        return (_prompt_part(value, pointer, origin),)
    return tuple(_prompt_part(part, f"{pointer}/{index}", origin) for index, part in enumerate(value))


def _prompt_part(value: Json, pointer: str, origin: Origin) -> PromptPart:
    return value if isinstance(value, str) else RefPart(ref_id=value["refId"], pointer=origin(pointer))


def _choice(value: Object, pointer: str, origin: Origin) -> SourceChoice:
    options = [_take(Option, one, "", origin, sets=one.get("set", {})) for one in value["options"]]
    return _take(SourceChoice, value, pointer, origin, options=tuple(options))


def _delegate(value: Object, pointer: str, origin: Origin) -> SourceDelegate:
    delegate, place = value["delegate"], f"{pointer}/delegate"
    needs = delegate.get("needs", "all")
    if "children" in delegate:
        children = [(one, f"{place}/children/{index}") for index, one in enumerate(delegate["children"])]
    else:
        children = [(delegate["child"], f"{place}/child")]
    return _take(
        SourceDelegate,
        {**delegate, **value},
        pointer,
        origin,
        children=tuple(_child(one, where, origin) for one, where in children),
        for_each=delegate.get("forEach", "").strip("{} "),
        item=delegate.get("as", ""),
        at_least=int(needs["atLeast"]) if isinstance(needs, dict) else 0,
    )


def _child(value: Object, pointer: str, origin: Origin) -> SourceChild:
    steps = build_parts(value.get("steps", []), f"{pointer}/steps", origin)
    return _take(SourceChild, value, pointer, origin, steps=steps)


def _loop(value: Object, pointer: str, origin: Origin) -> SourceLoop:
    return _take(
        SourceLoop,
        value,
        pointer,
        origin,
        loop_id=value["loopId"] if "loopId" in value else value["id"],
        repeat=_repeat(value, pointer, origin),
        max_iterations=int(value["maxIterations"]),
        body=build_parts(value["body"], f"{pointer}/body", origin),
    )


def _repeat(loop: Object, pointer: str, origin: Origin) -> SourceRepeat:
    if "while" in loop:
        return RepeatWhile(condition=build_when(loop["while"], f"{pointer}/while", origin))
    if "until" in loop:
        return RepeatUntil(condition=build_when(loop["until"], f"{pointer}/until", origin))
    if "forEach" in loop:
        each = loop["forEach"]
        return ForEach(input=each["input"], item=each["as"], index=each.get("indexAs", ""))
    count = loop["count"]
    if isinstance(count, dict):
        return Count(count=int(count["times"]), index=count.get("indexAs", ""))
    return Count(count=int(count))


# The workflow

DEFAULT_VERSION = "1.0.0"


def build_workflow(document: Object, origin: Origin) -> SourceWorkflow:
    features = [one if isinstance(one, dict) else {"id": one} for one in document.get("features", ())]
    return _take(
        SourceWorkflow,
        {"kind": "workflow", "version": DEFAULT_VERSION, **document},
        "",
        origin,
        features=_take_all(SourceFeature, {"features": features}, "features", "", origin),
        conditions={one["id"]: build_condition(one) for one in document.get("conditions", ())},
        assessments=_take_all(SourceAssessment, document, "assessments", "", origin),
        steps=build_parts(document["steps"], "/steps", origin),
        slots=tuple(_slots(document["steps"], "/steps", origin)),
    )
