"""Turn an edit of a document into an edit of its text, in the text's own spelling. Pure.

Comments, prose and layout stay: only the lines of the change are written. Each edit is tried, and
offered only if the edited text means exactly the edited document and has lost no comment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import chain
from json import dumps, loads

import msgspec

from handrail.contract.json.places import unescape_key
from handrail.contract.outcome import Fault, Json
from handrail.workflows.limits import Spelling
from handrail.workflows.problem import (
    NO_EDIT,
    Edit,
    EditOperation,
    Problem,
    apply_operations,
    drop_edits,
    holder_of,
    is_patch,
    rewrite_text,
    value_at,
)
from handrail.workflows.problem_places import place_json
from handrail.workflows.spellings.decoded import Comment, Decoded, Place
from handrail.workflows.spellings.spelling import decode_spelled, write_document, write_flow

_MOST_SPELLED = 8
"""Edits of one answer, because each is tried on the whole text. The next check offers the rest."""


def spell_edits(content: bytes, spelling: Spelling, problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Return the problems of a file with their edits in its own spelling; JSON uses those of its document."""
    listed = tuple(problems)
    if spelling == "json" or not any(is_patch(one.edit) for one in listed):
        return listed
    try:
        decoded = decode_spelled(content, spelling)
    except Fault:
        return drop_edits(listed)
    spelled: dict[bytes, Edit] = {}
    made: list[Problem] = []
    for one in listed:
        if is_patch(one.edit):
            key = msgspec.json.encode(one.edit)
            if key not in spelled and len(spelled) < _MOST_SPELLED:
                spelled[key] = _spell(content.decode(), spelling, decoded, one.edit)
            one = msgspec.structs.replace(one, edit=spelled.get(key, NO_EDIT))
        made.append(one)
    return tuple(made)


def apply_edit(text: str, spelling: Spelling, edit: Edit) -> str:
    """Return the text of a file after an edit that was offered for it."""
    if is_patch(edit):
        document = loads(text)
        wanted = apply_operations(document, edit)
        around = {way for one in edit for way in (*_ways(one.path), *_ways(one.source))}
        decoded = msgspec.structs.replace(place_json(text, around), document=document)
        tried = _candidates(text, spelling, decoded, edit, wanted)
        kept = next((one for one in tried if _loaded(one) == wanted), None)
        return kept or write_document(wanted, spelling, {})
    for one in edit:
        start = _offset(text, (one.line, one.column))
        text = text[:start] + one.text + text[start + one.length :]
    return text


def _loaded(text: str) -> Json:
    try:
        return loads(text)
    except ValueError:
        return None


def _spell(text: str, spelling: Spelling, decoded: Decoded, edit: Edit) -> Edit:
    wanted = apply_operations(decoded.document, edit)
    for candidate in _candidates(text, spelling, decoded, edit, wanted):
        if candidate == text:
            continue
        try:
            read = decode_spelled(candidate.encode(), "md" if spelling == "md" else "yaml")
        except Fault:
            continue
        if read.document == wanted and _words(read.comments) >= _words(decoded.comments):
            return _difference(text, candidate)
    return NO_EDIT


def _words(comments: dict[str, Comment]) -> set[str]:
    return {words.strip() for one in comments.values() for words in (*one.before, one.beside)} - {""}


def _candidates(
    text: str,
    spelling: Spelling,
    decoded: Decoded,
    edit: Edit,
    wanted: Json,
) -> Iterator[str]:
    """Yield texts with the edit in them, the one that changes least first."""
    if len(edit) == 1:
        yield from _in_place(text, decoded, edit[0])
    yield from _in_braces(text, spelling, decoded, edit, wanted)
    if decoded.document is not None:  # else there is more in the text than was read
        before = write_document(decoded.document, spelling, decoded.comments)
        after = write_document(wanted, spelling, _carry(decoded.comments, edit, wanted))
        yield from _transplanted(text, before, after)


def _in_braces(text: str, spelling: Spelling, decoded: Decoded, edit: Edit, wanted: Json) -> Iterator[str]:
    """Yield a text with the smallest brackets around the change rewritten, if they are on one line."""
    places = [place for one in edit for place in (one.path, one.source) if place]
    shared = set.intersection(*(set(_ways(holder_of(place))) for place in places))
    for pointer in sorted(shared, key=len, reverse=True):
        start = _offset(text, decoded.values.get(pointer, (1, 1)))
        depth, end = int(text[start] in "{["), start + 1
        while depth and end < len(text) and text[end] != "\n":
            depth += (text[end] in "{[") - (text[end] in "}]")
            end += 1
        if text[end - 1] in "}]":
            value = value_at(wanted, pointer)
            spelled = dumps(value, ensure_ascii=False) if spelling == "json" else write_flow(value)
            yield text[:start] + spelled + text[end:]


def _ways(pointer: str) -> list[str]:
    """Return a place and everything around it."""
    parts = pointer.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts) + 1)]


def _in_place(text: str, decoded: Decoded, operation: EditOperation) -> Iterator[str]:
    """Yield a text with another key or another plain value in place of the old one."""
    forms: Iterable[tuple[str, str]]
    if operation.op == "move" and holder_of(operation.source) == holder_of(operation.path):
        place = decoded.keys.get(operation.source)
        key, meant = (unescape_key(one.rpartition("/")[2]) for one in (operation.source, operation.path))
        forms = ((key, meant), (dumps(key), dumps(meant)), (f"'{key}'", meant))
    elif operation.op == "replace":
        held = decoded.document
        place, old = decoded.values.get(operation.path), value_at(held, operation.path)
        place = place or decoded.values.get(holder_of(operation.path))  # of a link the item
        if not isinstance(old, str | int | float | bool):
            return
        new, flow = operation.value, write_flow(operation.value)
        plain = str(old) if isinstance(old, str) else dumps(old)
        forms = (
            (f"{{#{plain}}}", f"{{#{new}}}"),
            (str(new), dumps(new)),
            (dumps(old, ensure_ascii=False), dumps(new, ensure_ascii=False)),
            (f"'{plain}'", flow),
            (plain, flow),
            (plain, str(new)),
        )
    else:
        return
    if place is None:
        return
    start = _offset(text, place)
    end = text.find("\n", start)
    for written, instead in forms:
        at = text.find(written, start, max(end, start + len(written) + 5))  # behind the mark of an item
        if at >= 0:
            yield text[:at] + instead + text[at + len(written) :]


def _transplanted(text: str, before: str, after: str) -> Iterator[str]:
    """Yield the author's text with only the changed lines replaced, found by comparing the
    canonical texts.
    """
    ours, old, new = (one.split("\n") for one in (text, before, after))
    same = SequenceMatcher(None, [one.strip() for one in old], [one.strip() for one in ours], autojunk=False)
    known = {block.a + n: block.b + n for block in same.get_matching_blocks() for n in range(block.size)}
    made = list(ours)
    for op, start, end, first, last in reversed(
        SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    ):
        if op == "equal":
            continue
        if start == end:
            at = known.get(start - 1, -1) + 1 or known.get(start, -1)
            stop = at
        else:
            at, stop = known.get(start, -1), known.get(end - 1, -1) + 1
        if at < 0 or stop < at:
            return
        made[at:stop] = new[first:last]
    yield "\n".join(made)


def _carry(comments: dict[str, Comment], edit: Edit, wanted: Json) -> dict[str, Comment]:
    """Return comments at the places that they are about; of a removed place, at what contained it."""
    carried: dict[str, Comment] = {}
    for pointer, comment in comments.items():
        for one in edit:
            if one.op == "move" and (pointer == one.source or pointer.startswith(f"{one.source}/")):
                pointer = one.path + pointer[len(one.source) :]
        while pointer and value_at(wanted, pointer) is None:
            pointer = holder_of(pointer)
        held = carried.get(pointer)
        carried[pointer] = comment if held is None else _joined(held, comment)
    return carried


def _joined(one: Comment, other: Comment) -> Comment:
    words = chain(one.before, other.before, (other.beside,) if other.beside else ())
    return Comment(before=tuple(words), beside=one.beside)


def _difference(text: str, candidate: str) -> Edit:
    """Return the words of the text that differ."""
    most = min(len(text), len(candidate))
    start = next((at for at in range(most) if text[at] != candidate[at]), most)
    end = next((at for at in range(most - start) if text[-1 - at] != candidate[-1 - at]), most - start)
    while start and not text[start - 1].isspace():
        start -= 1
    while end and not text[len(text) - end].isspace():
        end -= 1
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return rewrite_text(line, column, len(text) - start - end, candidate[start : len(candidate) - end])


def _offset(text: str, place: Place) -> int:
    line, column = place
    return sum(len(before) + 1 for before in text.split("\n")[: line - 1]) + column - 1
