"""What steps of the other dialect say and must meet: functions, assessments, prompts and rules. Pure.

What a rule cannot say becomes advice for the step.
"""

from __future__ import annotations

import re
from math import ceil, floor, inf, isfinite
from typing import TypeAlias

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.workflows.contracts.patterns import explain_refusal
from handrail.workflows.dialect.crossing import (
    Crossing,
    Object,
    as_json,
    as_listed,
    as_text,
    as_texts,
    native_id,
    native_name,
)
from handrail.workflows.dialect.when_forms import to_condition
from handrail.workflows.limits import MAX_DESCRIPTION_CHARACTERS, MAX_NOTES_CHARACTERS, MAX_TITLE_CHARACTERS

# Functions: `functionDefinitions` and `functionReferences`

Scope: TypeAlias = dict[str, str]
"""The functions that a part may name: the author's name to the native one."""

_REFERENCE = re.compile(r"\s*([^\s(]+)\s*(?:\((.*)\)\s*)?", re.DOTALL)


class Functions:
    """Every function of a workflow. Native functions belong to the whole of it."""

    def __init__(self) -> None:
        self.native: dict[str, str] = {}

    def define(self, crossing: Crossing, value: Json, pointer: str, around: Scope) -> Scope:
        """The scope of a part that defines these functions."""
        scope = dict(around)
        for name, definition, place in _definitions(value, pointer):
            text = _text(definition)
            own = native_name(name)
            number = 2
            while self.native.get(own, text) != text:  # the same name with another meaning elsewhere
                own = f"{native_name(name)}_{number}"
                number += 1
            self.native[own] = text
            crossing.came_from(join_pointer("/functions", own), place)
            scope[name] = own
        return scope

    def refer(
        self, crossing: Crossing, step: Object, pointer: str, scope: Scope
    ) -> tuple[list[str], list[str]]:
        """The functions that a step names, and how to call them where that is written."""
        names: list[str] = []
        advice: list[str] = []
        for name, call, place in _references(step, pointer):
            if name in scope:
                names.append(scope[name])
            else:
                message = f"There is no function {quote(name)}; the agent reads about it."
                crossing.changed(place, message, "Define it under functionDefinitions.")
            if call or name not in scope:
                advice.append(f"Apply {name}({call}).")
        return list(dict.fromkeys(names)), advice


def _definitions(value: Json, pointer: str) -> list[tuple[str, Json, str]]:
    if isinstance(value, dict):
        return [(name, value[name], join_pointer(pointer, name)) for name in sorted(value)]
    return [
        (one["name"], one, f"{pointer}/{index}")
        for index, one in enumerate(value if isinstance(value, list) else [])
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    ]


def _text(value: Json) -> str:
    held = value if isinstance(value, dict) else {"definition": value}
    text = "\n".join(as_texts(held.get("definition", held.get("description"))))
    parameters = held.get("parameters")
    if text and isinstance(parameters, list) and parameters:
        text += "\nParameters:\n" + "\n".join(f"- {as_text(one)}" for one in parameters)
    return text


def _references(step: Object, pointer: str) -> list[tuple[str, str, str]]:
    """Name, arguments as written, and place of every function that a step names."""
    found = []
    for index, one in enumerate(as_texts(step.get("functionReferences", []))):
        match = _REFERENCE.fullmatch(one)
        name, arguments = (match[1], match[2] or "") if match else (one.strip(), "")
        found.append((name, arguments.strip(), f"{pointer}/functionReferences/{index}"))
    return found


# Assessments, and the follow-ups that steps demand


class Assessments:
    """The assessments of a workflow, by the id their author gave them."""

    def __init__(self, crossing: Crossing, value: Json) -> None:
        self.native: list[Object] = []
        self._ids: dict[str, Object] = {}
        self._advice: dict[str, list[str]] = {}
        for index, one in enumerate(value if isinstance(value, list) else []):
            if isinstance(one, dict) and isinstance(one.get("id"), str):
                self._add(crossing, one, index)
            else:
                self.native.append(one)

    def _add(self, crossing: Crossing, value: Object, index: int) -> None:
        pointer = f"/assessments/{index}"
        crossing.came_from(f"/assessments/{len(self.native)}", pointer)
        dimensions, purposes = _dimensions(value.get("dimensions"))
        purpose = "\n".join(as_texts(value.get("purpose", value.get("description")))) or value["id"]
        whole = "\n".join([purpose, *(f"- {name}: {text}" for name, text in purposes.items())])
        fits = len(whole) <= MAX_DESCRIPTION_CHARACTERS
        self._advice[value["id"]] = [] if fits else [f"{name}: {text}" for name, text in purposes.items()]
        native = {
            "id": native_id(value["id"]),
            "purpose": whole if fits else purpose,
            "dimensions": dimensions,
        }
        self._ids[value["id"]] = native
        self.native.append(native)
        known = ("id", "purpose", "description", "dimensions")
        crossing.keep_others(pointer, value, known, "an assessment")

    def gates(
        self, crossing: Crossing, step: Object, pointer: str, native: str
    ) -> tuple[list[Object], list[str]]:
        """The gates of a step, and what can only be said to its agent."""
        advice: list[str] = []
        refs: list[str] = []
        for index, name in enumerate(as_texts(step.get("assessmentRefs", []))):
            if name not in refs:
                crossing.came_from(f"{native}/gates/{len(refs)}", f"{pointer}/assessmentRefs/{index}")
                refs.append(name)
                advice += self._advice.get(name, [])
        followups: dict[str, Object] = {name: {} for name in refs}
        written = step.get("assessmentConsequences")
        for index, one in enumerate(written if isinstance(written, list) else []):
            place = f"{pointer}/assessmentConsequences/{index}"
            advice += self._consequence(crossing, one, followups, place)
        gates: list[Object] = [{"assessmentId": native_id(name)} for name in refs]
        for gate, name in zip(gates, refs, strict=True):
            if followups[name]:
                gate["followups"] = followups[name]
        return gates, advice

    def _consequence(
        self, crossing: Crossing, value: Json, followups: dict[str, Object], pointer: str
    ) -> list[str]:
        """Add one consequence to the assessments it belongs to; advice where it belongs to none."""
        when, effect = _object_in(value, "when"), _object_in(value, "effect")
        level = when.get("anyEqualsLevel", when.get("equalsLevel", when.get("level")))
        text = "\n".join(as_texts(effect.get("guidance"))) or "Do what is missing, then judge again."
        names = [name for name in followups if self._is_meant(name, when, level)]
        if effect.get("kind", "require_followup") != "require_followup" or not names:
            message = "This consequence has no counterpart; the agent reads about it."
            crossing.changed(pointer, message, "Use require_followup and a level of a referenced assessment.")
            return [f"When a judgement is {as_text(level)}: {text}"]
        dimension = when.get("dimensionId", when.get("dimension"))
        for name in names:
            advice = f"When {dimension} is {level}: {text}" if isinstance(dimension, str) else text
            before = followups[name].get(str(level))
            followups[name][str(level)] = advice if before is None else f"{before}\n{advice}"
        return []

    def _is_meant(self, name: str, when: Object, level: Json) -> bool:
        dimensions = self._ids.get(name, {}).get("dimensions", {})
        wanted = when.get("dimensionId", when.get("dimension"))
        if when.get("forAssessment", name) != name:
            return False
        if wanted is not None and (not isinstance(wanted, str) or wanted not in dimensions):
            return False
        considered = dimensions.values() if wanted is None else [dimensions[wanted]]
        return isinstance(level, str) and any(level in levels for levels in considered)


def _dimensions(value: Json) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Dimension to its levels, and dimension to what is judged."""
    dimensions: dict[str, list[str]] = {}
    purposes: dict[str, str] = {}
    for name, one in _named(value):
        levels = one.get("levels") if isinstance(one, dict) else one
        listed = list(levels) if isinstance(levels, list | dict) else []
        dimensions[name] = list(dict.fromkeys(text for level in listed for text in _level(level)))
        purpose = one.get("purpose", one.get("description")) if isinstance(one, dict) else None
        if as_texts(purpose):
            purposes[name] = "\n".join(as_texts(purpose))
    return dimensions, purposes


def _object_in(value: Json, name: str) -> Object:
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, dict) else {}


def _named(value: Json) -> list[tuple[str, Json]]:
    if isinstance(value, dict):
        return [(name[:MAX_TITLE_CHARACTERS], value[name]) for name in sorted(value) if name.strip()]
    named = []
    for number, one in enumerate(value if isinstance(value, list) else [], 1):
        name = one.get("id", one.get("name")) if isinstance(one, dict) else one
        named.append((name if isinstance(name, str) and name.strip() else f"dimension {number}", one))
    return named


def _level(value: Json) -> list[str]:
    if isinstance(value, dict):
        value = value.get("id", value.get("name", value.get("level")))
    return as_texts(value)


# Prompts and fragments

_BLOCKS = ("goal", "constraints", "procedure", "verify")


def to_prompt(crossing: Crossing, step: Object, pointer: str) -> Object:
    """`prompt` or `promptBlocks` of a step, as native keys; empty where it has neither."""
    prompt, blocks = step.get("prompt"), step.get("promptBlocks")
    text = "\n\n".join(as_texts(prompt)) if prompt is not None else ""
    found: Object = {"prompt": text} if text else {}
    if blocks is None:
        return found
    made = _to_blocks(crossing, blocks, f"{pointer}/promptBlocks") if isinstance(blocks, dict) else blocks
    return found | ({"promptBlocks": made} if made else {})


def to_fragments(crossing: Crossing, step: Object, pointer: str, native: str) -> list[Object]:
    """Text that is added where its condition holds, and blocks that have no name here."""
    fragments: list[Object] = []
    written = step.get("promptFragments")
    place, holder = f"{pointer}/promptFragments", f"{native}/promptFragments"
    taken: set[str] = set()
    for index, one in enumerate(written if isinstance(written, list) else as_texts(written)):
        value = one if isinstance(one, dict) else {"text": as_text(one)}
        inner = join_pointer(holder, len(fragments))
        text = "\n\n".join(as_texts(value.get("text")))
        crossing.came_from(inner, f"{place}/{index}")
        fragments.append(_fragment(crossing, value, f"{place}/{index}", inner, taken) | {"text": text})
    return fragments


def _fragment(crossing: Crossing, value: Object, pointer: str, native: str, taken: set[str]) -> Object:
    fragment: Object = {}
    if isinstance(value.get("id"), str) and native_id(value["id"]) not in taken:
        fragment["id"] = native_id(value["id"])
        taken.add(fragment["id"])
    condition = to_condition(crossing, value.get("when"), f"{pointer}/when", f"{native}/when")
    if condition is not None:
        fragment["when"] = condition
    crossing.keep_others(pointer, value, ("id", "when", "text"), "a fragment")
    return fragment


def _to_blocks(crossing: Crossing, blocks: Object, pointer: str) -> Object:
    found: Object = {}
    for name in _BLOCKS:
        parts = _parts(blocks.get(name))
        if parts:
            is_single = isinstance(blocks[name], str)
            found[name] = parts[0] if is_single else parts
    required = blocks.get("outputRequired")
    if required is not None:
        found["outputRequired"] = _output_required(required)
    crossing.keep_others(pointer, blocks, (*_BLOCKS, "outputRequired"), "a prompt")
    return found


def _parts(value: Json) -> list[Json]:
    """Texts and refs in their order. A list inside the list is one item made of several parts."""
    if isinstance(value, list):
        return [part for one in value for part in _parts(one)]
    if isinstance(value, dict) and isinstance(value.get("refId"), str):
        return [{"kind": "ref", "refId": value["refId"]}]
    if isinstance(value, dict):
        value = next((value[name] for name in ("text", "value", "content") if name in value), value)
    return list(as_texts(value))


def _output_required(value: Json) -> Json:
    """What to deliver, by name."""
    if not isinstance(value, dict):
        value = {f"item {number}": one for number, one in enumerate(as_listed(value), 1)}
    return {name: "\n".join(as_texts(member)) for name, member in value.items()}


# Rules for notes

_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")
_FIX = "Ask for it in words, or write a rule without it."


def to_rules(crossing: Crossing, criteria: Json, pointer: str, native: str) -> tuple[list[Object], list[str]]:
    """What the notes must meet, and what the agent reads instead of a rule.

    `native` is the pointer that the list of rules will have.
    """
    crossing.came_from(native, pointer)
    reading = _StepReading(crossing)
    rules: list[Object] = []
    for index, one in enumerate(as_listed(criteria)):
        place = f"{pointer}/{index}" if isinstance(criteria, list) else pointer
        rule = reading.rule(one, place)
        if rule:
            crossing.came_from(f"{native}/{len(rules)}", place)
            rules.append(rule)
    return rules, reading.advice


class _StepReading:
    """Reads nested rules and collects advice from all of them."""

    def __init__(self, crossing: Crossing) -> None:
        self.crossing = crossing
        self.advice: list[str] = []

    def rule(self, value: Json, pointer: str) -> Object | None:
        """The native rule, or None where it became advice."""
        if isinstance(value, list):
            return self._joint("all", value, pointer)
        if not isinstance(value, dict):
            self._advise(as_text(value) if value is not None else "", pointer, "it is not a rule")
            return None
        if value.get("condition"):
            text = f"When {as_json(value['condition'])}: {_describe_check(value)}"
            self._advise(text, pointer, "a rule here always applies")
            return None
        for kind, name in (("all", "and"), ("any", "or")):
            if isinstance(value.get(name), list):
                return self._joint(kind, value[name], join_pointer(pointer, name))
        rule = _native_rule(value)
        if rule is None:
            self._advise(_describe_check(value), pointer, "no rule here can say it")
        elif isinstance(value.get("message"), str) and value["message"].strip():
            rule["message"] = value["message"]
        return rule

    def _joint(self, kind: str, members: list[Json], pointer: str) -> Object | None:
        of = [self.rule(one, f"{pointer}/{index}") for index, one in enumerate(members)]
        kept = [rule for rule in of if rule is not None]
        # A choice between rules that lost one of them would refuse what its author accepts.
        if not kept or (kind == "any" and len(kept) < len(of)):
            self.advice += [str(rule["message"]) for rule in kept if rule.get("message")]
            return None
        return kept[0] if len(kept) == 1 else {"type": kind, "of": kept}

    def _advise(self, text: str, pointer: str, why: str) -> None:
        if text.strip():
            self.advice.append(text)
        message = f"The agent reads this check, and it is not enforced: {why}."
        self.crossing.changed(pointer, message, _FIX)


def _native_rule(value: Object) -> Object | None:
    match value.get("type"):
        case "contains":
            text = value.get("value")
            return {"type": "contains", "value": text} if isinstance(text, str) and text.strip() else None
        case "regex":
            return _regex(value)
        case "length":
            return _length(value.get("min"), value.get("max"))
        case "schema":
            schema = value.get("schema")
            return {"type": "schema", "schema": schema} if isinstance(schema, dict) else None
        case _:
            return None


def _regex(value: Object) -> Object | None:
    written = value.get("pattern", value.get("value"))
    if not isinstance(written, str):
        return None
    pattern = _NAMED_GROUP.sub("(?P<", written)
    flags = "".join(flag for flag in "ims" if flag in str(value.get("flags", "")))
    if not pattern.strip() or explain_refusal(pattern):
        return None
    rule: Object = {"type": "regex", "pattern": pattern}
    return rule | {"flags": flags} if flags else rule


def _length(least: Json, most: Json) -> Object | None:
    rule: Object = {"type": "length"}
    if _is_number(least):
        rule["minimum"] = min(max(ceil(least), 0), MAX_NOTES_CHARACTERS)
    if _is_number(most):
        rule["maximum"] = min(max(floor(most), 0), MAX_NOTES_CHARACTERS)
    return rule if len(rule) > 1 and rule.get("minimum", 0) <= rule.get("maximum", inf) else None


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _describe_check(value: Json) -> str:
    """What a check asks for, in its author's words where there are some."""
    if not isinstance(value, dict):
        return as_text(value)
    message = value.get("message")
    is_said = isinstance(message, str) and bool(message.strip())
    return str(message) if is_said else f"The result must meet {as_text(value)}."
