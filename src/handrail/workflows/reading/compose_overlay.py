"""Compose a customisation and its base into one document, with the origin of each place. Pure.

Both documents fit the grammar. The result is read and checked like any other workflow. A mistake
that only the whole shows has the line of the customisation that made it; one in the base has the
line of `extends`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.model import Displaced, SourceOverlay, TightenedContract
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    Findings,
    guess_name,
    guess_surely,
    quote_name,
    rename_key,
    replace_value,
)
from handrail.workflows.reading.grammar import BLOCK_KEYS
from handrail.workflows.reading.meaning import named_ids
from handrail.workflows.reading.repairs import find_free_id

Object: TypeAlias = dict[str, Json]

_OWN_TEXTS = ("id", "name", "description", "version")
_KEPT_FROM_BASE = ("extra", "$schema")
_BLOCKS = (*BLOCK_KEYS, "outputRequired")


class Composed(msgspec.Struct, frozen=True, kw_only=True):
    """The workflow that a customisation and its base are together."""

    document: Object
    pointers: dict[str, str]
    """Places of the document, each with its place in the customisation; the others came from the base."""
    overlay: SourceOverlay


def compose(found: Findings, overlay: Object, base: Object) -> Composed | None:
    """Return the whole; None if the customisation names something that the base lacks, which is reported."""
    composing = _Composing(found, overlay, base)
    composing.change_steps()
    composing.fill_slots()
    composing.add_parts()
    document = composing.join_document()
    composing.check_added_ids(document)
    if found.problems:
        return None
    return Composed(document=document, pointers=composing.pointers, overlay=composing.describe())


def split_known(pointer: str, pointers: Mapping[str, str]) -> tuple[str, str]:
    """Return the value for the longest known beginning of a pointer, and the rest of the pointer."""
    known, rest = pointer, ""
    while known and known not in pointers:
        known, _, last = known.rpartition("/")
        rest = f"/{last}{rest}"
    return pointers.get(known, ""), rest


class _Node:
    """A part of the base while it is changed, or one that the customisation adds."""

    def __init__(self, value: Object, base_pointer: str = "", source: str = "") -> None:
        self.value = dict(value)
        self.base_pointer = base_pointer
        self.source = source
        """Its place in the customisation; empty while it is as the base has it."""
        self.marks: dict[str, str] = {}
        """Places inside it, each with its place in the customisation."""
        self.is_skipped = False
        self.before: list[_Node] = []
        self.after: list[_Node] = []
        self.body: list[_Node] = []
        if not source and isinstance(value.get("body"), list):
            self.body = _nodes(value["body"], f"{base_pointer}/body")

    @property
    def id(self) -> str:
        """Return the name of a step or loop; a slot and a call may have none."""
        return str(self.value.get("loopId", self.value.get("id", "")))

    @property
    def kind(self) -> str:
        return "slot" if "slot" in self.value else str(self.value.get("type", "step"))


def _nodes(parts: list[Object], pointer: str) -> list[_Node]:
    return [_Node(part, f"{pointer}/{place}") for place, part in enumerate(parts)]


class _Composing:
    """One composition: the tree of the base, changed step by step."""

    def __init__(self, found: Findings, overlay: Object, base: Object) -> None:
        self._found = found
        self._overlay = overlay
        self._base = base
        self._tree = _nodes(base["steps"], "/steps")
        self._named = dict(_name_nodes(self._tree, ""))
        self._slots = {str(one.value["slot"]): one for one in _walk(self._tree) if one.kind == "slot"}
        self._displaced: list[Displaced] = []
        self.pointers: dict[str, str] = {"": "/extends"}

    # Operations on steps

    def change_steps(self) -> None:
        for name, change in self._overlay.get("steps", {}).items():
            pointer = join_pointer("/steps", name)
            node = self._find(name, pointer, is_key=True)
            if node is not None:
                self._change(node, change, pointer)

    def _change(self, node: _Node, change: Object, pointer: str) -> None:
        if change.get("skip") is True:
            others = [key for key in change if key != "skip"]
            if others:
                message = f"A step that is skipped has no {others[0]}."
                self._found.report("bad_value", f"{pointer}/{others[0]}", message, "Keep one of them.")
            node.is_skipped = True
            self._displaced.append(_displace("skip", node, f"{pointer}/skip"))
            return
        node.source = pointer
        if "replace" in change:
            self._displaced.append(_displace("replace", node, f"{pointer}/replace"))
            self._replace(node, change["replace"], f"{pointer}/replace")
        for key in ("prepend", "append"):
            if key in change:
                self._add_text(node, change[key], key, f"{pointer}/{key}")
        if "output" in change:
            self._add_output(node, change["output"], f"{pointer}/output")

    def _replace(self, node: _Node, parts: Object, pointer: str) -> None:
        for key, value in parts.items():
            place = f"{pointer}/{key}"
            if key in _BLOCKS and "prompt" in parts:
                message = f"prompt is the whole prompt, so {key} beside it says nothing."
                self._found.report("bad_value", place, message, "Keep one of them.")
            elif not _takes(node, key):
                is_whole = key == "goal" and isinstance(value, str) and node.kind == "step"
                self._refuse_part(node, key, place, rename_key(place, "prompt") if is_whole else NO_EDIT)
            elif key in _BLOCKS:
                node.value["promptBlocks"] = {**node.value["promptBlocks"], key: value}
                node.marks[f"/promptBlocks/{key}"] = place
            else:
                if key == "prompt":
                    node.value.pop("promptBlocks", None)
                node.value[key] = value
                node.marks[f"/{key}"] = place

    def _add_text(self, node: _Node, added: Json, key: Literal["prepend", "append"], pointer: str) -> None:
        if isinstance(added, str) and "prompt" in node.value:
            texts = (node.value["prompt"], added) if key == "append" else (added, node.value["prompt"])
            node.value["prompt"] = "\n\n".join(texts)
            node.marks["/prompt"] = pointer
            return
        blocks = {"procedure": added} if isinstance(added, str) else added
        for block, text in blocks.items():
            if "promptBlocks" not in node.value:
                self._refuse_part(node, "prompt" if isinstance(added, str) else block, pointer)
                return
            held = _items(node.value["promptBlocks"].get(block, []))
            joined = [*held, *_items(text)] if key == "append" else [*_items(text), *held]
            node.value["promptBlocks"] = {**node.value["promptBlocks"], block: joined}
            node.marks[f"/promptBlocks/{block}"] = pointer

    def _refuse_part(self, node: _Node, key: str, pointer: str, edit: Edit = NO_EDIT) -> None:
        what = f"{quote_name(node.id)} has no {key}"
        if node.kind == "step" and key in _BLOCKS:
            fix = "Its prompt is one text: append a text, or replace its prompt."
        elif node.kind == "step":
            fix = "Leave it out."
        else:
            fix = f"It is a {node.kind}: only the parts that it has can be changed."
        self._found.report("bad_value", pointer, f"{what} to change.", fix, edit)

    def _add_output(self, node: _Node, output: Object, pointer: str) -> None:
        """Add hints, and a contract only if there is none, because existing requirements stay."""
        if node.kind != "step":
            self._refuse_part(node, "output", pointer)
            return
        held = dict(node.value.get("output", {}))
        if "contractRef" in output:
            if "contractRef" in held:
                message = f"{quote_name(node.id)} already delivers {held['contractRef']}."
                fix = "Tighten that contract under contracts, or add a step that delivers the other one."
                self._found.report("bad_value", f"{pointer}/contractRef", message, fix)
            held["contractRef"] = output["contractRef"]
            node.marks["/output/contractRef"] = f"{pointer}/contractRef"
        if "hints" in output:
            held["hints"] = [*held.get("hints", ()), *output["hints"]]
            node.marks["/output/hints"] = f"{pointer}/hints"
        node.value["output"] = held

    # Slots and added parts

    def fill_slots(self) -> None:
        for name, parts in self._overlay.get("fill", {}).items():
            pointer = join_pointer("/fill", name)
            slot = self._slots.get(name)
            if slot is None:
                self._unknown("slot", name, list(self._slots), pointer, is_key=True)
            else:
                slot.after += [
                    self._filling(part, f"{pointer}/{place}", slot.value.get("when"))
                    for place, part in enumerate(parts)
                    if not self._is_slot(part, f"{pointer}/{place}")
                ]

    def _filling(self, part: Object, source: str, when: Json) -> _Node:
        """Return a part for a slot: it runs if the slot's condition holds, and its own if it has one."""
        node = _Node(part, source=source)
        own = part.get("when")
        if when is not None and own is None:
            node.value["when"] = when
        elif when is not None:
            both = [self._condition(one) for one in (when, own)]
            if None not in both:  # else the name of one is wrong, which is reported
                node.value["when"] = {"kind": "and", "of": both}
                node.marks["/when/of/1"] = f"{source}/when"
        return node

    def _condition(self, when: Json) -> Json:
        """Return a condition itself, if it is given by name."""
        name = when if isinstance(when, str) else when.get("conditionId")
        if not name:
            return when
        declared = (one for one in self._base.get("conditions", ()) if one["id"] == name)
        return next(({key: held for key, held in one.items() if key != "id"} for one in declared), None)

    def add_parts(self) -> None:
        for place, added in enumerate(self._overlay.get("add", ())):
            pointer = f"/add/{place}"
            side = "before" if "before" in added else "after"
            node = self._find(added[side], f"{pointer}/{side}")
            if node is not None and not self._is_slot(added["step"], f"{pointer}/step"):
                beside = node.before if side == "before" else node.after
                beside.append(_Node(added["step"], source=f"{pointer}/step"))

    def _is_slot(self, part: Object, pointer: str) -> bool:
        if "slot" not in part:
            return False
        fix = "Write the parts themselves; only a workflow without extends has slots."
        self._found.report("bad_value", pointer, "A customisation offers no slot.", fix)
        return True

    # Names

    def check_added_ids(self, document: Object) -> None:
        """Report an added part with the id of a later part of the base, which its author cannot change."""
        ids, first = named_ids(document), dict[str, str]()
        for name, place in ids:
            added = self._find_added(first.setdefault(name, place))
            if place != first[name] and added and not self._find_added(place):
                own = find_free_id(name, {one for one, _ in ids})
                message = f"The id {quote_name(name)} is already used in {self._overlay['extends']}."
                fix = f"Give it its own id, such as {own}."
                self._found.report("duplicate_id", added, message, fix, replace_value(added, own))

    def _find_added(self, place: str) -> str:
        """Return where the customisation adds the part at a place of the whole; empty if it does not."""
        source, rest = split_known(place, self.pointers)
        return source + rest if source.startswith(("/add/", "/fill/")) else ""

    def _find(self, name: str, pointer: str, *, is_key: bool = False) -> _Node | None:
        node = self._named.get(name)
        if node is None:
            self._unknown("step", name, list(self._named), pointer, is_key=is_key)
        return node

    def _unknown(self, what: str, name: str, known: list[str], pointer: str, *, is_key: bool) -> None:
        """Report a name that the base lacks; the id of a step in a loop means that step."""
        inside = [one for one in known if one.rpartition("/")[2] == name.rpartition("/")[2]]
        sure = inside[0] if len(inside) == 1 else guess_surely(name, known)
        near = sure or guess_name(name, known)
        listed = ", ".join(known[:12]) + (" and others" if len(known) > 12 else "")
        fix = f"Did you mean {near}?" if near else f"Use one of {listed}." if known else "Leave it out."
        is_free = sure not in self._overlay.get(pointer.split("/")[1], {}) if is_key else True
        edit = rename_key(pointer, sure) if is_key else replace_value(pointer, sure)
        message = f"{self._overlay['extends']} has no {what} {quote_name(name)}."
        self._found.report("unknown_id", pointer, message, fix, edit if sure and is_free else NO_EDIT)

    # The whole

    def join_document(self) -> Object:
        overlay, base = self._overlay, self._base
        document = {key: value for key, value in base.items() if key not in _KEPT_FROM_BASE}
        for key in _OWN_TEXTS:
            if key in overlay:
                document[key] = overlay[key]
                self.pointers[f"/{key}"] = f"/{key}"
        self._join_inputs(document)
        if "recommended" in overlay:
            document["recommended"] = base.get("recommended", {}) | overlay["recommended"]
            for key in overlay["recommended"]:
                self.pointers[f"/recommended/{key}"] = f"/recommended/{key}"
        self._join_features(document)
        document["steps"] = self._write(self._tree, "/steps")
        return document

    def _join_inputs(self, document: Object) -> None:
        inputs = dict(self._base.get("inputs", {}))
        for name, change in self._overlay.get("inputs", {}).items():
            pointer = join_pointer("/inputs", name)
            if name not in inputs:
                self._unknown("input", name, list(inputs), pointer, is_key=True)
                continue
            held = {key: value for key, value in inputs[name].items() if key not in ("required", "implicit")}
            inputs[name] = {**held, "default": change["default"]}
            self.pointers[pointer] = pointer
        if inputs:
            document["inputs"] = inputs

    def _join_features(self, document: Object) -> None:
        added = self._overlay.get("features", [])
        if not added:
            return
        own = {_feature_id(one) for one in added}
        kept = [one for one in self._base.get("features", []) if _feature_id(one) not in own]
        document["features"] = [*kept, *added]
        for place in range(len(added)):
            self.pointers[f"/features/{len(kept) + place}"] = f"/features/{place}"

    def _write(self, nodes: list[_Node], pointer: str) -> list[Object]:
        """Return the parts in their present state, and record the place of each."""
        written: list[Object] = []
        for node in (one for held in nodes for one in (*held.before, held, *held.after)):
            if node.is_skipped or node.kind == "slot":
                continue
            place = f"{pointer}/{len(written)}"
            if node.source:
                self.pointers[place] = node.source
            self.pointers.update({f"{place}{inner}": origin for inner, origin in node.marks.items()})
            if node.body:
                node.value["body"] = self._write(node.body, f"{place}/body")
            written.append(node.value)
        return written

    def describe(self) -> SourceOverlay:
        own = {
            part_id
            for node in _walk(self._tree)
            for one in (*node.before, node, *node.after)
            if one.source
            for part_id in (one.id, *(_ids_inside(one.value) if one is not node else ()))
        }
        return SourceOverlay(
            base_id=self._overlay["extends"],
            own_parts=frozenset(own - {""}),
            displaced=tuple(self._displaced),
            contracts={
                name: msgspec.convert(
                    {**change, "pointer": join_pointer("/contracts", name)}, TightenedContract
                )
                for name, change in self._overlay.get("contracts", {}).items()
            },
        )


def _displace(how: Literal["skip", "replace"], node: _Node, pointer: str) -> Displaced:
    ids = tuple(one for one in (node.id, *_ids_inside(node.value)) if one)
    return Displaced(how=how, ids=ids, base_pointer=node.base_pointer, pointer=pointer)


def _ids_inside(part: Object) -> Iterator[str]:
    for inner in part.get("body", ()):
        yield str(inner.get("loopId", inner.get("id", "")))
        yield from _ids_inside(inner)


def _name_nodes(nodes: list[_Node], loop: str) -> Iterator[tuple[str, _Node]]:
    """Yield every part that can be named: by its id, in a loop as loop/step."""
    for node in nodes:
        if node.id and node.kind != "slot":
            yield (f"{loop}/{node.id}" if loop else node.id), node
        yield from _name_nodes(node.body, node.id)


def _walk(nodes: list[_Node]) -> Iterator[_Node]:
    for node in nodes:
        yield node
        yield from _walk(node.body)


def _takes(node: _Node, key: str) -> bool:
    """Whether a part has what is to be replaced."""
    match node.kind:
        case "step":
            return "promptBlocks" in node.value if key in _BLOCKS else True
        case "choice":
            return key in ("title", "prompt")
        case _:
            return key == "title"


def _items(value: Any) -> list[Json]:
    return list(value) if isinstance(value, list) else [value]


def _feature_id(feature: Json) -> str:
    return feature if isinstance(feature, str) else str(feature["id"])
