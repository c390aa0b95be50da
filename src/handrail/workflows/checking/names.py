"""Check that every name that a document reads gets a value. Pure.

The document fits the grammar. Nothing else would report these mistakes: a run treats an unknown
name as an absent value, skips a part, or shows a placeholder as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.builtins.templates import find_contract
from handrail.workflows.checking.value_checks import (
    UNSURE,
    SetName,
    Slot,
    check_comparison,
    check_count,
    check_dimensions,
    check_edit_action,
    check_goal,
    check_required,
    check_saved_name,
    check_schema_patterns,
    check_set_names,
    check_set_value,
    check_slashes,
    name_slots,
    slots_in,
    word_conditions,
    word_filter,
)
from handrail.workflows.conditions import MISSING, named_value, split_artifact
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    Findings,
    add_value,
    guess_name,
    guess_surely,
    label_pointer,
    quote_name,
    replace_value,
)

Object: TypeAlias = dict[str, Json]

_LOOSE_HEADS = ("inputs", "input", "context", "vars", "variables")
"""Prefixes of value names in other languages."""
_SHOWN_AS_IT_STANDS = {
    "title": "A title",
    "label": "A label",
    "name": "A name",
    "description": "A description",
    "message": "The message of a rule",
    "source": "The source of a reference",
    "purpose": "A purpose",
}


_WITHOUT_MEMBERS = ("string", "number", "integer", "boolean", "array")


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run gets its values, apart from loop variables."""

    inputs: dict[str, Object]
    set_inside: dict[str, list[Json]]
    """Values that choices set, by name."""
    saved: frozenset[str]
    """Names that actions save, with any value."""

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.inputs) | frozenset(self.set_inside) | self.saved

    def only_set(self, name: str) -> list[Json]:
        """Return the values that a name may have if only options set it."""
        return [] if name in self.inputs or name in self.saved else self.set_inside.get(name, [])


def check_names(
    found: Findings, document: Object, *, has_open_names: bool = False, extends: str = ""
) -> None:
    """Report every name without a value, every impossible value, and every placeholder that is
    never filled.

    `extends` is the base of a customisation, which declares nothing itself.
    """
    _CheckedNames(found, document, has_open_names=has_open_names, extends=extends).check()


class _CheckedNames:
    """One walk over a document."""

    def __init__(self, found: Findings, document: Object, *, has_open_names: bool, extends: str) -> None:
        self._found = found
        self._extends = extends
        self._document = document
        self._given = _given(document, has_open_names=has_open_names)
        self._has_open_names = has_open_names
        self._reported: set[str] = set()
        self._read: set[str] = set()
        self._set: list[SetName] = []
        self._missing: Object = {}
        self._just_known: frozenset[str] = frozenset()
        """Variables of the loop directly before a part."""
        self._indexes = frozenset(_indexes(document["steps"]))
        self._contracts = {part.get("output", {}).get("contractRef") for part in _leaves(document["steps"])}
        self._all_variables = frozenset(
            name for part in _leaves(document["steps"]) for name in _variables(part)
        )

    def check(self) -> None:
        document, anywhere = self._document, self._all_variables
        for index, condition in enumerate(document.get("conditions", ())):
            self._condition(condition, f"/conditions/{index}", anywhere)
        for key in ("agentRole", "guidance", "preconditions", "questions", "functions"):
            self._texts(document.get(key), join_pointer("", key), anywhere)
        self._parts(document["steps"], "/steps", frozenset())
        for index, assessment in enumerate(document.get("assessments", ())):
            self._texts(assessment["purpose"], f"/assessments/{index}/purpose", anywhere)
            check_dimensions(self._found, assessment["dimensions"], f"/assessments/{index}/dimensions")
        for index, feature in enumerate(document.get("features", ())):
            if isinstance(feature, dict):
                self._texts(feature.get("config"), f"/features/{index}/config", anywhere)
        for index, reference in enumerate(document.get("references", ())):
            self._plain_texts(reference, join_pointer("/references", index), ("title", "source", "purpose"))
        self._plain_texts(document, "", ("name", "description"))
        for name, spec in document.get("inputs", {}).items():
            place = join_pointer("/inputs", name)
            self._plain_texts(spec, place, ("description",))
            if "countedBy" in spec:
                self._name(spec["countedBy"], f"{place}/countedBy", frozenset(), {"type": "integer"})
                check_count(self._found, document["inputs"], name)
            if spec.get("fromGoal") is True:
                check_goal(self._found, spec, place)
        check_set_names(self._found, self._set, self._givers(), document.get("kind", "workflow"))

    def _givers(self) -> frozenset[str]:
        """Return names that are both used and set: a misspelt name may have meant one of them."""
        given = self._given
        return frozenset(name for name in given.names if name in given.inputs or name in self._read)

    def _parts(self, parts: list[Object], pointer: str, variables: frozenset[str]) -> None:
        for index, part in enumerate(parts):
            place = f"{pointer}/{index}"
            self._just_known = frozenset(_variables(parts[index - 1])) if index else frozenset()
            check_saved_name(self._found, part, place, self._given.set_inside)
            match "slot" if "slot" in part else part.get("type", "step"):
                case "slot":
                    self._plain_texts(part, place, ("description",))
                case "loop":
                    self._loop(part, place, variables)
                case "choice":
                    self._choice(part, place, variables)
                case "action":
                    check_edit_action(self._found, part, place)
                    self._texts(part.get("params"), f"{place}/params", variables)
                    if part.get("saveAs", "") not in ("", *self._given.inputs):
                        self._set.append(SetName(pointer=f"{place}/saveAs", name=part["saveAs"]))
                case "template_call":
                    self._texts(part.get("args"), f"{place}/args", variables)
                case _:
                    self._step(part, place, variables)
            self._plain_texts(part, place, ("title",))
            for key in ("when", "requireConfirmation"):
                if isinstance(part.get(key), dict) and "by" not in part[key]:
                    self._condition(part[key], join_pointer(place, key), variables)

    def _step(self, part: Object, place: str, variables: frozenset[str]) -> None:
        for key in ("prompt", "promptBlocks", "guidance", "agentRole"):
            self._texts(part.get(key), join_pointer(place, key), variables)
        if not self._has_open_names:
            given, here = self._given, f"{place}/promptBlocks/outputRequired"
            required = part.get("promptBlocks", {}).get("outputRequired", {})
            closed = given.saved | (given.set_inside.keys() - given.inputs.keys())
            closed |= variables & self._all_variables
            self._set += check_required(self._found, required, here, given.inputs, closed)
        self._texts(part.get("output", {}).get("hints"), f"{place}/output/hints", variables)
        for index, fragment in enumerate(part.get("promptFragments", ())):
            here = f"{place}/promptFragments/{index}"
            self._texts(fragment["text"], f"{here}/text", variables)
            if isinstance(fragment.get("when"), dict):
                self._condition(fragment["when"], f"{here}/when", variables)
        for index, gate in enumerate(part.get("gates", ())):
            followups = gate.get("followups", {})
            self._plain_texts(followups, f"{place}/gates/{index}/followups", tuple(followups))
        for index, rule in enumerate(part.get("validation", ())):
            self._rule(rule, f"{place}/validation/{index}")
        if "delegate" in part:
            self._delegate(part["delegate"], f"{place}/delegate", variables)
        asked = part.get("userOnly", {}).get("input")
        if asked is not None:
            self._name(asked, f"{place}/userOnly/input", variables, {})

    def _delegate(self, delegate: Object, place: str, variables: frozenset[str]) -> None:
        """Check a child, which gets only the values that it names, its inputs and the item."""
        if "forEach" in delegate:
            self._for_each(delegate["forEach"].strip("{} "), f"{place}/forEach", variables)
        several = {f"{place}/children/{at}": one for at, one in enumerate(delegate.get("children", ()))}
        for here, child in (several or {f"{place}/child": delegate["child"]}).items():
            known = variables | {delegate.get("as", "")}
            for key in ("inputs", "brief"):
                self._texts(child.get(key), join_pointer(here, key), known)
            if isinstance(child.get("when"), dict):
                self._condition(child["when"], f"{here}/when", known)
            own = _given({"steps": [], **child}, has_open_names=False).names
            self._parts(child.get("steps", []), f"{here}/steps", known | own)

    def _rule(self, rule: Object, pointer: str) -> None:
        self._plain_texts(rule, pointer, ("message",))
        for index, inner in enumerate(rule.get("of", ())):
            self._rule(inner, f"{pointer}/of/{index}")
        if "pattern" in rule:
            check_slashes(self._found, rule["pattern"], f"{pointer}/pattern")
        check_schema_patterns(self._found, rule.get("schema"), f"{pointer}/schema")

    def _choice(self, part: Object, place: str, variables: frozenset[str]) -> None:
        self._texts(part["prompt"], f"{place}/prompt", variables)
        set_somewhere = frozenset(name for option in part["options"] for name in option.get("set", {}))
        for index, option in enumerate(part["options"]):
            here = f"{place}/options/{index}"
            self._plain_texts(option, here, ("label", "description"))
            for name, value in option.get("set", {}).items():
                spec, pointer = self._given.inputs.get(name), join_pointer(f"{here}/set", name)
                if spec is not None:
                    check_set_value(self._found, spec, value, pointer)
                else:
                    own = frozenset(option["set"])
                    missing = set_somewhere - own
                    self._set.append(
                        SetName(pointer=pointer, name=name, beside=own, instead=missing, is_key=True)
                    )

    def _repeats(self, part: Object, place: str) -> None:
        """Check a loop: its item, its index and its list need different names, and it needs one end."""
        count, most = part.get("count"), part["maxIterations"]
        times = count.get("times") if isinstance(count, dict) else count
        if isinstance(times, int) and times > most:
            message = f"The loop is to run {times} times, but maxIterations ends it after {most}."
            fix = "Raise maxIterations to the count, or lower the count."
            self._found.report("bad_value", f"{place}/count", message, fix)
        each = part.get("forEach", {})
        listed = self._given.inputs.get(each.get("input", ""), {}).get("default")
        if isinstance(listed, list) and len(listed) > most:
            message = (
                f"The default list has {len(listed)} items, but maxIterations ends the loop after {most}."
            )
            fix = "Raise maxIterations, or say in the prompt which items are left out."
            self._found.warn("bad_value", f"{place}/maxIterations", message, fix)
        for key, others in (("as", ("input",)), ("indexAs", ("as", "input"))):
            if key in each and each[key] in [each.get(other) for other in others]:
                message = f"{key} has a name that the loop has already given: {quote_name(each[key])}."
                self._found.report(
                    "bad_name", f"{place}/forEach/{key}", message, "Give it a name of its own."
                )

    def _loop(self, part: Object, place: str, variables: frozenset[str]) -> None:
        self._repeats(part, place)
        for key in ("while", "until"):
            if isinstance(part.get(key), dict):
                self._condition(part[key], join_pointer(place, key), variables)
        if "forEach" in part:
            self._for_each(part["forEach"]["input"], f"{place}/forEach/input", variables)
        self._parts(part["body"], f"{place}/body", variables | frozenset(_variables(part)))

    def _for_each(self, path: str, pointer: str, variables: frozenset[str]) -> None:
        head = path.partition(".")[0]
        is_known = head in self._given.names | variables
        if self._has_open_names and not is_known:
            message = f"The loop goes through {quote_name(path)}, which nothing declares."
            fix = "A run stops there and asks when no step has sent the list as context."
            self._found.report("changed_meaning", pointer, message, fix)
            self._reported.add(head)
            return
        kind, member = split_artifact(path)
        if member and self._is_artifact(path) and not is_known:
            message = f"The loop goes through {quote_name(path)}, and a loop reads no artifact."
            fix = f"Declare an input of type array, and let the step that delivers {kind} send the list."
            self._found.report("undeclared_name", pointer, message, fix)
            return
        self._name(path, pointer, variables, {"type": "array"})
        spec = self._given.inputs.get(path)
        if spec is None or path in variables:
            self._for_each_given(path, pointer, variables)
            return
        kind = spec.get("type", "any")
        if kind not in ("array", "any"):
            message = f"The loop goes through {quote_name(path)}, which is declared as {kind}, not a list."
            is_plain = "default" not in spec and "enum" not in spec
            edit = replace_value(f"/inputs/{path}/type", "array") if is_plain else NO_EDIT
            self._found.report("not_a_list", pointer, message, f'Declare {path} with "type": "array".', edit)
        elif not isinstance(spec.get("default", []), list):
            message = f"The loop goes through {quote_name(path)}, whose default is not a list."
            fix = 'Write the default as a list, such as ["a", "b"], or leave it out.'
            self._found.report("not_a_list", pointer, message, fix)

    def _for_each_given(self, path: str, pointer: str, variables: frozenset[str]) -> None:
        """Check that what the workflow itself sets for `for_each` is a list, as far as that is known."""
        is_index = path in variables and path in self._indexes
        values = [] if path in variables else self._given.only_set(path)
        if is_index or (values and not any(value is None or isinstance(value, list) for value in values)):
            what = "the number of an iteration" if is_index else "what an option sets"
            message = f"The loop goes through {quote_name(path)}, which is {what}, not a list."
            self._found.report("not_a_list", pointer, message, "Name an array input here.")

    def _condition(self, condition: Object, pointer: str, variables: frozenset[str]) -> None:
        inner = condition.get("of")
        if isinstance(inner, dict):
            self._condition(inner, f"{pointer}/of", variables)
        for index, one in enumerate(inner if isinstance(inner, list) else ()):
            self._condition(one, f"{pointer}/of/{index}", variables)
        path = condition.get("input")
        if not isinstance(path, str):
            return
        self._name(path, f"{pointer}/input", variables, _spec_for(condition), condition.get("value", MISSING))
        if path in variables:
            if path in self._indexes:
                check_comparison(self._found, {"type": "integer"}, condition, pointer)
            return
        if path in self._given.inputs:
            check_comparison(self._found, self._given.inputs[path], condition, pointer)
        elif values := self._given.only_set(path):
            # An option that sets a name like it, which is reported, may be the one that gives the value.
            given = self._given.set_inside
            alike = guess_name(path, given.keys() - {path})
            values = [*values, *(given[alike] if alike else ())]
            check_comparison(self._found, {"enum": values}, condition, pointer)

    def _name(
        self,
        path: str,
        pointer: str,
        variables: frozenset[str],
        spec: Object,
        compared: Json | msgspec.UnsetType = msgspec.UNSET,
    ) -> None:
        head, dot, rest = path.partition(".")
        self._read.add(head)
        if head in variables or head in self._given.names:
            self._member(path, pointer, variables)
            return
        known = self._given.names | variables
        near, sure = guess_name(head, known), guess_surely(head, known)
        if head in self._all_variables:
            near = sure = ""
        if compared in self._given.inputs.get(near, {}).get("enum", ()):
            sure = sure or near  # of a near name, it is one of the values
        edit = replace_value(pointer, f"{sure}{dot}{rest}") if sure else NO_EDIT
        self._undeclared(head, pointer, near, spec, edit)

    def _member(self, path: str, pointer: str, variables: frozenset[str]) -> None:
        """Report a member of a value that is no object; items of a list cannot be read by name."""
        head, _, rest = path.partition(".")
        if not rest:
            return
        if head in variables or head in self._given.saved:
            declared = "integer" if head in variables & self._indexes else "any"
        else:
            declared = self._given.inputs.get(head, {}).get("type", "any")
        reads = f"{label_pointer(pointer)} reads {quote_name(path)}"
        if declared in _WITHOUT_MEMBERS:
            message = f"{reads}, but {head} is declared as {declared}."
            if head in variables:
                message = f"{reads}, but {head} is the number of an iteration."
            fix = (
                _NO_ITEM
                if declared == "array"
                else f"Write {head} alone, or declare it with the type object."
            )
            self._found.report("undeclared_name", pointer, message, fix)
        elif head not in variables and not _any_has(self._given.only_set(head), rest):
            message = f"{reads}, but no option sets such a member."
            fix = f"Write {head} alone, or let an option set it to an object with {quote_name(rest)}."
            self._found.report("undeclared_name", pointer, message, fix)
        elif any(part.isdecimal() for part in rest.split(".")):
            message = f"{reads}: a number is the name of a member, not an item."
            self._found.warn("undeclared_name", pointer, message, _NO_ITEM)

    def _undeclared(
        self, name: str, pointer: str, near: str, spec: Object, edit: Edit, within: str = ""
    ) -> None:
        if self._has_open_names:
            # A routine of another collection gets its names from whoever calls it.
            if name not in self._reported and self._document.get("kind") != "routine":
                message = f"{quote_name(name)} is read here, and nothing declares it."
                fix = "Send its value as context, at the start or before the step that reads it."
                self._found.report("undeclared_name", pointer, message, fix, within=within)
            self._reported.add(name)
            return
        message = f"{label_pointer(pointer)} reads {quote_name(name)}, and nothing declares it."
        if name in self._all_variables:
            message = f"{label_pointer(pointer)} reads {quote_name(name)}, which only its loop knows."
            fix = f"Move the step into the loop, or say in words what is meant here instead of {name}."
        elif near:
            fix = f"Did you mean {near}?" if edit else f"Did you mean {near}? Else declare it under inputs."
        elif name in self._reported:
            return
        elif self._extends:
            self._reported.add(name)
            declared = ", ".join(self._document.get("inputs", {})) or "none"
            fix = f"Say it in words: a customisation reads only the inputs of {self._extends}: {declared}."
        else:
            self._reported.add(name)
            spec = spec | {"fromGoal": True} if name == "goal" and spec == {"type": "string"} else spec
            self._missing[name] = spec
            shown = msgspec.json.encode(spec).decode()
            fix = f'Declare it under inputs, such as "{name}": {shown}, or correct the name.'
            # Without inputs, each edit declares them all: the second would else take the place of the first.
            has_inputs = "inputs" in self._document
            edit = add_value(f"/inputs/{name}", spec) if has_inputs else add_value("/inputs", self._missing)
        self._found.report("undeclared_name", pointer, message, fix, edit, within)

    def _texts(self, value: Json, pointer: str, variables: frozenset[str]) -> None:
        """Check every text inside a value that a run fills in."""
        known = self._given.names | variables
        for place, text in _strings(value, pointer):
            slots = [
                one for one in slots_in(text, known) if one.name in known or not self._is_artifact(one.path)
            ]
            for slot in slots:
                self._read.add(slot.name)
                if slot.kind == "name":
                    self._member(slot.path, place, variables)
            if all(slot.kind == "name" and slot.name in known for slot in slots):
                continue
            # One edit for all of them: an author may apply it once or once for each.
            repaired, sure = text, set[Slot]()
            for slot in reversed(slots):
                written = self._find_words(slot, text, known)
                if written:
                    repaired = repaired[: slot.start] + written + repaired[slot.end :]
                    sure.add(slot)
            flags = [name for name, spec in self._given.inputs.items() if spec.get("type") == "boolean"]
            spelled = word_conditions(repaired, flags)
            if spelled != repaired and not any(one.kind == "block" for one in slots_in(spelled, known)):
                repaired, sure = spelled, sure | {one for one in slots if one.kind == "block"}
            edit = replace_value(place, repaired)
            for slot in slots:
                self._slot(slot, text, place, known, edit if slot in sure else NO_EDIT)
            self._loose(next((slot for slot in slots if slot.kind in UNSURE), None), text, place)

    def _find_words(self, slot: Slot, text: str, known: frozenset[str]) -> str:
        """Return what an edit may write in place of a placeholder; empty if only the author knows."""
        is_of_loop = slot.name in self._all_variables - known
        if not is_of_loop and (path := _sure_path(slot, known)):
            return f"{{{{{path}}}}}"
        if slot.kind == "filter" and slot.name in known:
            return word_filter(text[slot.start : slot.end])
        # A step right behind the loop may have been meant as one inside it.
        is_lost = is_of_loop and slot.name not in self._just_known
        is_lost = is_lost or bool(self._extends and not guess_name(slot.name, known))
        # Nothing can declare it here: its words are left for the author to replace.
        return f"[{slot.path.replace('_', ' ')}]" if slot.kind == "name" and is_lost else ""

    def _is_artifact(self, path: str) -> bool:
        """Whether it is a part of an artifact; `flow.py` checks that the artifact is delivered by then."""
        contract = split_artifact(path)[0].replace(".", ".contracts.", 1)
        return contract in self._contracts or find_contract(contract) is not None

    def _slot(self, slot: Slot, text: str, pointer: str, known: frozenset[str], edit: Edit) -> None:
        path, is_sure = _meant_path(slot, known, guess_name), bool(_sure_path(slot, known))
        if slot.kind in UNSURE:
            return
        written = text[slot.start : slot.end]
        if slot.kind != "name":
            message = f"Nothing fills {quote_name(written)}: a placeholder is a name in double braces."
            fix = f"Write {{{{{path}}}}}." if is_sure else _PLACEHOLDER_FIX[slot.kind]
            self._found.report("bad_placeholder", pointer, message, fix, edit, written)
        elif slot.name not in known:
            self._undeclared(slot.name, pointer, path, {"type": "string"}, edit, written)

    def _loose(self, slot: Slot | None, text: str, pointer: str) -> None:
        """Report a placeholder of another language, once per text; it may also be plain text."""
        if slot is not None:
            written = quote_name(text[slot.start : slot.end])
            message = f"Nothing fills {written}: a placeholder is a name in double braces."
            is_tag = slot.kind == "tag"
            fix = _PLACEHOLDER_FIX["block"] if is_tag else f"Write {{{{{slot.path}}}}} if its value is meant."
            self._found.warn("bad_placeholder", pointer, message, fix)

    def _plain_texts(self, holder: Object, pointer: str, keys: tuple[str, ...]) -> None:
        """Check texts that are shown as they are: no placeholder in them is filled."""
        for key in keys:
            text = holder.get(key)
            if isinstance(text, str) and any(slot.kind == "name" for slot in slots_in(text, ())):
                what = _SHOWN_AS_IT_STANDS.get(key, "This text")
                message = f"{what} is shown as it stands; no placeholder in it is filled."
                fix = "Say it in words here, and put the placeholder into the prompt."
                # What a title or a label is about follows from the name of the value as well.
                place = join_pointer(pointer, key)
                edit = replace_value(place, name_slots(text)) if key in ("title", "label") else NO_EDIT
                # What people read who choose a workflow does not change a run.
                is_aside = not pointer or pointer.startswith("/inputs/")
                report = self._found.warn if is_aside else self._found.report
                report("bad_placeholder", place, message, fix, edit)


_NO_ITEM = (
    "Go through the list with a forEach loop, or let a step send the one value that is meant as an input."
)
_PLACEHOLDER_FIX = {
    "filter": "Write the name alone in double braces, and say in words how to show the value; what holds "
    "where nobody gives one is the default under inputs.",
    "block": "Write a promptFragment with a condition, or the name alone in double braces.",
    "dollar": "Write a declared name in double braces; put it into backticks if it is to stay as it is.",
}


def _given(document: Object, *, has_open_names: bool) -> Given:
    """Return the declarations of a document; a translation declares what the author did not, and says so."""
    set_inside: dict[str, list[Json]] = {}
    saved: set[str] = set()
    for part in _leaves(document["steps"]):
        for option in part.get("options", ()):
            for name, value in option.get("set", {}).items():
                set_inside.setdefault(name, []).append(value)
        given = (part.get("saveAs"), part.get("delegate", {}).get("collect"))
        saved |= {name for name in given if isinstance(name, str)}
    inputs = document.get("inputs", {})
    if has_open_names:
        inputs = {
            name: spec
            for name, spec in inputs.items()
            if not spec.get("implicit") or "default" in spec or "countedBy" in spec
        }
    return Given(inputs=inputs, set_inside=set_inside, saved=frozenset(saved))


def _leaves(parts: list[Object]) -> Iterator[Object]:
    for part in parts:
        yield part
        if part.get("type") == "loop":
            yield from _leaves(part["body"])


def _variables(loop: Object) -> Iterator[str]:
    for repeat in (loop.get("forEach"), loop.get("count")):
        if isinstance(repeat, dict):
            yield from (repeat[key] for key in ("as", "indexAs") if key in repeat)


def _indexes(parts: list[Object]) -> set[str]:
    """Return names that only hold the number of an iteration."""
    repeats = [part.get(key) for part in _leaves(parts) for key in ("forEach", "count")]
    held = [one for one in repeats if isinstance(one, dict)]
    items = {one["as"] for one in held if "as" in one}
    return {one["indexAs"] for one in held if "indexAs" in one} - items


def _any_has(values: list[Json], path: str) -> bool:
    """Whether one of the values has the member; True if no value is known."""
    return not values or any(named_value({"x": value}, f"x.{path}") is not MISSING for value in values)


def _strings(value: Json, pointer: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _strings(item, f"{pointer}/{index}")
    elif isinstance(value, dict) and value.get("kind") != "ref":
        for name, member in value.items():
            yield from _strings(member, join_pointer(pointer, name))


def _sure_path(slot: Slot, known: frozenset[str]) -> str:
    """Return what an edit may write in place of the placeholder; a filter is not dropped without asking."""
    return "" if slot.kind in ("filter", *UNSURE) else _meant_path(slot, known, guess_surely)


def _meant_path(slot: Slot, known: frozenset[str], choose: Callable[[str, frozenset[str]], str]) -> str:
    """Return what the placeholder asks for, in its declared spelling; empty if no name is near."""
    head, dot, rest = slot.path.partition(".")
    if slot.kind == "block" or not head:
        return ""
    if head in _LOOSE_HEADS and head not in known and rest.partition(".")[0] in known:
        return rest
    near = head if head in known else choose(head, known)
    return f"{near}{dot}{rest}" if near else ""


def _spec_for(condition: Object) -> Object:
    """Return the declaration that a comparison suggests."""
    value: Any = condition.get("value")
    if condition.get("op") == "in" and isinstance(value, list):
        value = value[0]
    if isinstance(value, str) and condition.get("op") == "contains":
        return {"type": "any"}
    kinds = {bool: "boolean", int: "number", float: "number", str: "string"}
    return {"type": kinds.get(type(value), "any")}
