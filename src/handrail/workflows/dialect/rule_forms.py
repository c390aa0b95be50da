"""Prompts, fragments and `validationCriteria` of the other dialect as native ones. Pure.

What a rule cannot say becomes advice for the step.
"""

from __future__ import annotations

import re
from math import ceil, floor, inf, isfinite

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.contracts.patterns import explain_refusal
from handrail.workflows.dialect.condition_forms import describe_native_condition, to_condition
from handrail.workflows.dialect.crossing import NOWHERE, Crossing, Object, as_text, as_texts, native_id
from handrail.workflows.limits import MAX_NOTES_CHARACTERS

# Prompts and fragments

_BLOCKS = ("goal", "constraints", "procedure", "verify")


def to_prompt(crossing: Crossing, step: Object, pointer: str) -> Object:
    """`prompt` or `promptBlocks` of a step, as native keys; empty where it has neither."""
    prompt, blocks = step.get("prompt"), step.get("promptBlocks")
    text = "\n\n".join(as_texts(prompt)) if prompt is not None else ""
    if not isinstance(blocks, dict):
        texts = [text, *as_texts(blocks)]
        joined = "\n\n".join(one for one in texts if one)
        return {"prompt": joined} if joined else {}
    found = _to_blocks(crossing, blocks, f"{pointer}/promptBlocks")
    if text:  # exactly one of the two is native, and the prompt is what is read first
        found["goal"] = [text, *_listed(found.get("goal", []))]
    return {"promptBlocks": found} if found else {}


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
        if not text:
            crossing.changed(f"{place}/{index}", "The fragment has no text; it is left out.", 'Add "text".')
            continue
        crossing.came_from(inner, f"{place}/{index}")
        fragments.append(_fragment(crossing, value, f"{place}/{index}", inner, taken) | {"text": text})
    return fragments + _unnamed_blocks(crossing, step, pointer)


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
    required, refs = _output_required(blocks.get("outputRequired"))
    if required:
        found["outputRequired"] = required
    if refs:
        place = f"{pointer}/outputRequired"
        crossing.changed(
            place, "Refs among the outputs are read as constraints.", "Put them under constraints."
        )
        found["constraints"] = [*_listed(found.get("constraints", [])), *refs]
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


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _output_required(value: Json) -> tuple[Object, list[Json]]:
    """What to deliver, by name, and the refs among it."""
    if value is None:
        return {}, []
    if not isinstance(value, dict):
        value = {f"item {number}": one for number, one in enumerate(_listed(value), 1)}
    required: Object = {}
    refs: list[Json] = []
    for name, member in value.items():
        parts = _parts(member)
        texts = [part for part in parts if isinstance(part, str)]
        refs += [part for part in parts if not isinstance(part, str)]
        if texts:
            required[name if name.strip() else "result"] = "\n".join(texts)
    return required, refs


def _unnamed_blocks(crossing: Crossing, step: Object, pointer: str) -> list[Object]:
    written, place = step.get("promptBlocks"), f"{pointer}/promptBlocks"
    blocks: Object = written if isinstance(written, dict) else {}
    fragments = []
    for name in sorted(blocks):
        text = "\n".join(as_texts(blocks[name]))
        if name not in (*_BLOCKS, "outputRequired") and text:
            fragments.append({"text": f"{name}:\n{text}"})
            message = f"The block {name[:64]} is not known; its text is added to the prompt."
            crossing.changed(
                join_pointer(place, name), message, f"Use {', '.join(_BLOCKS)} or outputRequired."
            )
    return fragments


# Rules for notes

_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z_])")
_NAMED_REFERENCE = re.compile(r"\\k<([A-Za-z_]\w*)>")
_FIX = "Ask for it in words, or write a rule without it."


def to_rules(crossing: Crossing, criteria: Json, pointer: str, native: str) -> tuple[list[Object], list[str]]:
    """What the notes must meet, and what the agent is told instead of a rule.

    `native` is the pointer that the list of rules will have.
    """
    crossing.came_from(native, pointer)
    reading = _Reading(crossing)
    rules: list[Object] = []
    for index, one in enumerate(_listed(criteria)):
        place = f"{pointer}/{index}" if isinstance(criteria, list) else pointer
        rule = reading.rule(one, place)
        if rule:
            crossing.came_from(f"{native}/{len(rules)}", place)
            rules.append(rule)
    return rules, reading.advice


class _Reading:
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
            self._conditional(value, pointer)
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

    def _conditional(self, value: Object, pointer: str) -> None:
        place = f"{pointer}/condition"
        condition = to_condition(self.crossing, value["condition"], place, NOWHERE) or {"kind": "always_true"}
        self._advise(
            f"When {describe_native_condition(condition)}: {_describe_check(value)}",
            pointer,
            "a rule here always applies",
        )

    def _advise(self, text: str, pointer: str, why: str) -> None:
        if text.strip():
            self.advice.append(text)
        message = f"This check is told to the agent and not enforced: {why}."
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
    pattern = _NAMED_REFERENCE.sub(r"(?P=\1)", _NAMED_GROUP.sub("(?P<", written))
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
    if isinstance(message, str) and message.strip():
        return message
    if value.get("not") is not None:
        return f"Not so: {_describe_check(value['not'])}"
    return f"The result must meet {as_text(value)}."
