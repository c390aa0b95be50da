"""Prompt blocks and fragments of the other dialect as native ones. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Json
from handrail.workflows.dialect.condition_forms import to_condition
from handrail.workflows.dialect.crossing import Crossing, Object
from handrail.workflows.dialect.identifiers import native_id
from handrail.workflows.dialect.plain_text import as_text, as_texts
from handrail.workflows.dialect.pointers import child

_BLOCKS = ("goal", "constraints", "procedure", "verify")


def to_prompt(crossing: Crossing, step: Object, pointer: str) -> Object:
    """`prompt` or `promptBlocks` of a step, as native keys; empty where it has neither."""
    prompt, blocks = step.get("prompt"), step.get("promptBlocks")
    text = "\n\n".join(as_texts(prompt)) if prompt is not None else ""
    if not isinstance(blocks, dict):
        texts = [text, *as_texts(blocks)]
        joined = "\n\n".join(one for one in texts if one)
        return {"prompt": joined} if joined else {}
    found = _to_blocks(crossing, blocks, child(pointer, "promptBlocks"))
    if text:  # exactly one of the two is native, and the prompt is what is read first
        found["goal"] = [text, *_listed(found.get("goal", []))]
    return {"promptBlocks": found} if found else {}


def to_fragments(crossing: Crossing, step: Object, pointer: str, native: str) -> list[Object]:
    """Text that is added where its condition holds, and blocks that have no name here."""
    fragments: list[Object] = []
    written = step.get("promptFragments")
    place, holder = child(pointer, "promptFragments"), child(native, "promptFragments")
    taken: set[str] = set()
    for index, one in enumerate(written if isinstance(written, list) else as_texts(written)):
        value = one if isinstance(one, dict) else {"text": as_text(one)}
        inner = child(holder, len(fragments))
        text = "\n\n".join(as_texts(value.get("text")))
        if not text:
            crossing.changed(child(place, index), "The fragment has no text; it is left out.", 'Add "text".')
            continue
        crossing.came_from(inner, child(place, index))
        fragments.append(_fragment(crossing, value, child(place, index), inner, taken) | {"text": text})
    return fragments + _unnamed_blocks(crossing, step, pointer)


def _fragment(crossing: Crossing, value: Object, pointer: str, native: str, taken: set[str]) -> Object:
    fragment: Object = {}
    if isinstance(value.get("id"), str) and native_id(value["id"]) not in taken:
        fragment["id"] = native_id(value["id"])
        taken.add(fragment["id"])
    condition = to_condition(crossing, value.get("when"), child(pointer, "when"), child(native, "when"))
    if condition is not None:
        fragment["when"] = condition
    for name in value:
        if name not in ("id", "when", "text"):
            crossing.keep(pointer, name, value[name], "a fragment")
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
        place = child(pointer, "outputRequired")
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
    """What is to be delivered, by name, and the refs that stood among it."""
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
    written, place = step.get("promptBlocks"), child(pointer, "promptBlocks")
    blocks: Object = written if isinstance(written, dict) else {}
    fragments = []
    for name in sorted(blocks):
        text = "\n".join(as_texts(blocks[name]))
        if name not in (*_BLOCKS, "outputRequired") and text:
            fragments.append({"text": f"{name}:\n{text}"})
            message = f"The block {name[:64]} is not known; its text is added to the prompt."
            crossing.changed(child(place, name), message, f"Use {', '.join(_BLOCKS)} or outputRequired.")
    return fragments
