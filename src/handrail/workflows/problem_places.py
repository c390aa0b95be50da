"""The place of a pointer in a file: line and column, both from 1, the column in characters. Pure.

This code runs only if a problem is shown. JSON is scanned once, from the front; the readers of the
other spellings record where everything is. What is missing or broken gets the place of the nearest
value around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import accumulate
from json import JSONDecoder, dumps, loads

import msgspec

from handrail.contract.json.places import CLOSING, OPENING, PART, escape_key, find_place
from handrail.contract.json.trouble import find_syntax_trouble
from handrail.workflows.limits import Spelling
from handrail.workflows.problem import NO_EDIT, Edit, Problem, replace_value, rewrite_text
from handrail.workflows.spellings.decoded import Decoded, Place
from handrail.workflows.spellings.spelling import decode_spelled, write_flow

_KEY_PROBLEMS = frozenset({"unknown_key", "bad_name"})
"""Rules about a key itself, for which the place of the key is shown, not that of its value."""


def place_json(text: str, pointers: Iterable[str]) -> Decoded:
    """Return where the values at these pointers begin, and their keys; a missing one has the place
    around it.
    """
    asked = list(pointers)
    root = _scan(text, asked)
    return Decoded(
        values={pointer: find_place(text, _value_offset(root, pointer)) for pointer in asked},
        keys={pointer: find_place(text, _key_offset(root, pointer)) for pointer in asked},
    )


def add_places(
    content: bytes, problems: Iterable[Problem], spelling: Spelling = "json"
) -> tuple[Problem, ...]:
    """Return the problems of a readable text with line and column, in the order of the text."""
    listed = list(problems)
    found = _find_places(content, listed, spelling)
    others = [msgspec.structs.replace(one, pointer=one.beside) for one in listed if one.beside]
    if others:
        at = iter(_find_places(content, others, spelling))
        listed = [_name_other(one, next(at)) if one.beside else one for one in listed]
    if any(problem.within for problem in listed):
        found = _places_within(content.decode(), listed, found)
    lines = content.decode().split("\n")
    placed = [
        _keep_words(
            msgspec.structs.replace(problem, line=line, column=column, fix=_respell_fix(problem, spelling)),
            lines[line - 1][column - 1 :],
        )
        for problem, (line, column) in zip(listed, found, strict=True)
    ]
    return tuple(sorted(placed, key=lambda problem: (problem.line, problem.column)))


def _keep_words(problem: Problem, written: str) -> Problem:
    """Return the fix with a number or boolean that is meant as a text quoted as written: 1.10 is
    not "1.1".
    """
    word = _UNQUOTED.match(written)
    meant = problem.edit[0].value if len(problem.edit) == 1 and problem.edit[0].op == "replace" else None
    if word is None or not isinstance(meant, str) or not _UNQUOTED.fullmatch(meant):
        return problem
    fix = problem.fix.replace(dumps(meant), dumps(word[0]))
    return msgspec.structs.replace(problem, fix=fix, edit=replace_value(problem.edit[0].path, word[0]))


_UNQUOTED = re.compile(r"[-+.]?[0-9][\w.+-]*|(?i:true|false)\b")


def _respell_fix(problem: Problem, spelling: Spelling) -> str:
    """Return the fix in the spelling of the file: JSON becomes YAML there, and prose goes into the page."""
    if spelling == "json":
        return problem.fix
    key = problem.message.partition(" ")[0]
    if (
        spelling == "md"
        and problem.code == "missing_key"
        and (key in _IN_PAGE or "prompt, " in problem.message)
    ):
        return _IN_PAGE.get(key, _IN_PAGE["prompt"])
    spelled, at = "", 0
    for found in _JSON.finditer(problem.fix):
        if found.start() < at:
            continue
        start = found.end() if found["key"] else found.start()
        shown, end = _read_shown(problem.fix, start)
        member = f"{found['key']}: {shown}" if found["key"] else shown
        spelled += problem.fix[at : found.start()] + (f"`{member}`" if shown else member)
        at = end
    return spelled + problem.fix[at:]


def _read_shown(text: str, start: int) -> tuple[str, int]:
    """Return the JSON at a place as YAML, and where it ends; None if it is no whole value."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except ValueError:
        return "", start
    return write_flow(value), end


_DECODER = JSONDecoder()
_JSON = re.compile(r'"(?P<key>[A-Za-z$][\w$-]*)": |\{(?=")')
_IN_PAGE = {
    "prompt": "Write what the agent reads as text below the heading.",
    "title": "Write it in the heading, before the id.",
    "body": "Write what is repeated as deeper headings, such as `### Look {#look}` with its text below it.",
    "steps": "Write a heading such as `## Look {#look}` with its text below it.",
}
"""Keys that a Markdown page does not have."""


def _find_places(content: bytes, problems: list[Problem], spelling: Spelling) -> list[Place]:
    if spelling == "json":
        decoded = place_json(content.decode(), [problem.pointer for problem in problems])
    else:
        decoded = decode_spelled(content, spelling)
    return [_known_place(decoded, problem) for problem in problems]


def _name_other(problem: Problem, place: Place) -> Problem:
    line, column = place
    message = f"{problem.message.removesuffix('.')} at line {line}, column {column}."
    return msgspec.structs.replace(problem, message=message, beside="")


def _places_within(text: str, problems: list[Problem], places: list[Place]) -> list[Place]:
    """Return the places; if a problem is about words of a text, the place of the words if they are found."""
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    refined = []
    for problem, (line, column) in zip(problems, places, strict=True):
        at = text.find(problem.within, starts[line - 1] + column - 1) if problem.within else -1
        refined.append((line, column) if at < 0 else find_place(text, at))
    return refined


def _known_place(decoded: Decoded, problem: Problem) -> Place:
    pointer = problem.pointer
    if problem.code in _KEY_PROBLEMS and pointer in decoded.keys:
        return decoded.keys[pointer]
    while pointer and pointer not in decoded.values:
        pointer = pointer.rpartition("/")[0]
    return decoded.values.get(pointer, (1, 1))


def locate_depth(text: str, limit: int) -> Place:
    """Return where nesting first exceeds `limit` arrays and objects."""
    depth = 0
    for match in PART.finditer(text):
        if match.group() in OPENING:
            depth += 1
        elif match.group() in CLOSING:
            depth -= 1
        if depth > limit:
            return find_place(text, match.start())
    return 1, 1


def suggest_repair(content: bytes) -> tuple[str, Edit]:
    """Return how to turn a broken text into JSON: in words, and as an edit if it is certain."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return "", NO_EDIT
    trouble = find_syntax_trouble(text)
    if trouble is None:
        return "", NO_EDIT
    if trouble.text is None:
        return trouble.fix, NO_EDIT
    line, column = find_place(text, trouble.position)
    return trouble.fix, rewrite_text(line, column, trouble.length, trouble.text)


class _Wanted:
    """A value on the way to a pointer, with the place where it and its key begin, once the scan
    finds them.
    """

    def __init__(self) -> None:
        self.inner: dict[str, _Wanted] = {}
        self.value: int | None = None
        self.key: int | None = None


class _OpenPlace:
    """An array or object around the present place; without `wanted` nothing in it was asked for."""

    def __init__(self, wanted: _Wanted | None, is_object: bool) -> None:
        self.wanted = wanted
        self.is_object = is_object
        self.is_key_next = is_object
        self.index = 0
        self.child = None if wanted is None else wanted.inner.get("0")

    def meet_key(self, part: str, offset: int) -> None:
        self.is_key_next = False
        if self.wanted is not None:
            self.child = self.wanted.inner.get(_escaped_key(part))
            if self.child is not None and self.child.key is None:
                self.child.key = offset

    def meet_comma(self) -> None:
        self.is_key_next = self.is_object
        self.index += 1
        if self.wanted is not None:
            self.child = self.wanted.inner.get(str(self.index))


def _scan(text: str, pointers: Iterable[str]) -> _Wanted:
    """Scan the text once from the front. Pointers are a tree, so long ones are not built again."""
    root = _tree(pointers)
    around: list[_OpenPlace] = []
    for match in PART.finditer(text):
        part, offset = match.group(), match.start()
        if part in CLOSING:
            del around[-1:]
        elif part == ",":
            if around:
                around[-1].meet_comma()
        elif part == ":":
            continue
        elif around and around[-1].is_key_next:
            around[-1].meet_key(part, offset)
        else:
            wanted = around[-1].child if around else root
            if wanted is not None and wanted.value is None:
                wanted.value = offset
            if part in OPENING:
                around.append(_OpenPlace(wanted, part == "{"))
    return root


def _tree(pointers: Iterable[str]) -> _Wanted:
    root = _Wanted()
    for pointer in pointers:
        at = root
        for part in pointer.split("/")[1:]:
            at = at.inner.setdefault(part, _Wanted())
    return root


def _value_offset(root: _Wanted, pointer: str) -> int:
    offset, at = root.value or 0, root
    for part in pointer.split("/")[1:]:
        at = at.inner[part]
        if at.value is None:
            break
        offset = at.value
    return offset


def _key_offset(root: _Wanted, pointer: str) -> int:
    at = root
    for part in pointer.split("/")[1:]:
        at = at.inner[part]
    return at.key if at.key is not None else _value_offset(root, pointer)


def _escaped_key(part: str) -> str:
    """Return a key of the text as a part of a pointer."""
    try:
        key = loads(part)
    except ValueError:
        key = part
    return escape_key(str(key))
