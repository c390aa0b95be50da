"""YAML as a workflow may use it: the core types of YAML 1.2, and nothing that hides what a text says. Pure.

Anchors, aliases, tags, merge keys, directives, several documents and a key twice are refused. Values are
made from the parser's events one after the other, so the limits hold before anything large is built. A text
that is almost YAML gets a repair, if only one reading of it parses: it is offered if the text then reads, or
is first wrong further down.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from math import isfinite
from typing import Any

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.workflows.limits import MAX_JSON_DEPTH, MAX_YAML_BYTES, MAX_YAML_VALUES
from handrail.workflows.problem import NO_EDIT, Edit, rewrite_text
from handrail.workflows.spellings.decoded import Comment, Decoded, Lines, Place, report

WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
"""Plain scalars that are no text; `yes`, `no`, `on` and `off` are words."""
_WHOLE = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_MERGE = "<<"


def decode_yaml(text: str, *, first_line: int = 1) -> Decoded:
    """The document of a YAML text, or the first thing that is wrong with it.

    `first_line` is the line of the file that the text begins at.
    """
    decoded = _decode(text, first_line)
    if not decoded.problems or decoded.problems[0].edit:
        return decoded
    [problem] = decoded.problems
    shift = first_line - 1
    fix, found = _mend(text, problem.line - shift)
    edit = tuple(msgspec.structs.replace(one, line=one.line + shift) for one in found)
    if edit:  # a parser may notice it only in the next line
        line, column = edit[0].line, edit[0].column
        problem = msgspec.structs.replace(problem, fix=fix, edit=edit, line=line, column=column)
    return Decoded(problems=(problem,))


def _decode(text: str, first_line: int) -> Decoded:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_YAML_BYTES:
        fix = "Split the workflow, or move long texts into the documents that it refers to."
        return _refuse(first_line, (1, 1), f"More than {MAX_YAML_BYTES} bytes of YAML.", fix)
    building = _Building(text, first_line)
    if (odd := _ODD_BREAK.search(text)) is not None:
        return _refuse(first_line, building.lines.place(odd.start()), _ODD_CHARACTER, _CHARACTER_FIX)
    try:
        building.build()
    except _Refused as refused:
        return _refuse(first_line, *refused.args)
    except MarkedYAMLError as trouble:
        marks = [one for one in (trouble.problem_mark, trouble.context_mark) if one is not None]
        places = [building.lines.place(min(one.index, len(text))) for one in marks] or [(1, 1)]
        place, begins = places[0], places[-1]
        message, fix = _explain_stop(text, trouble, place, begins, first_line - 1)
        is_filled = "{{" in text.split("\n")[place[0] - 1]
        return _refuse(first_line, place, message, _PLACEHOLDER_FIX if is_filled else fix)
    except YAMLError as trouble:
        place = building.lines.place(min(getattr(trouble, "position", 0), len(text)))
        return _refuse(first_line, place, _ODD_CHARACTER, _CHARACTER_FIX)
    return Decoded(
        document=building.document,
        values=building.values,
        keys=building.keys,
        comments=building.comments(),
    )


def read_plain(word: str) -> Json:
    """What a plain scalar says.

    Raises ValueError for a number that JSON does not have.
    """
    if word in WORDS:
        return WORDS[word]
    if _WHOLE.fullmatch(word):
        return int(word, {"0o": 8, "0x": 16}.get(word[:2], 10))
    if _NO_NUMBER.fullmatch(word):
        raise ValueError(word)
    if _FLOAT.fullmatch(word):
        number = float(word)
        if not isfinite(number):
            raise ValueError(word)
        return number
    return word


_ODD_BREAK = re.compile("[\x85\u2028\u2029\ufeff]")
"""Characters that YAML parsers disagree about: some take them for line ends."""
_HALF = re.compile("[\ud800-\udfff]")
"""What an escape can say and no text can hold."""
_ODD_CHARACTER = "This character may not stand in YAML as it is."
_PLACEHOLDER_FIX = 'Quote each text that has a placeholder or a colon in it: prompt: "Read {{file}}."'
_CHARACTER_FIX = 'Write it as an escape in a double-quoted text, such as "\\u0007".'
_PLAIN_FIX = "Write every value where it is needed."


class _Refused(Exception):
    """Valid YAML that a workflow may not use: the place, what it is, what to do, and the edit."""


class _Open:
    """A mapping or sequence that is being filled."""

    def __init__(self, value: Json, pointer: str) -> None:
        self.value = value
        self.pointer = pointer
        self.key: str | None = None


class _Building:
    """The document while its events are read."""

    def __init__(self, text: str, first_line: int) -> None:
        self._text = text
        self._shift = first_line - 1
        self.lines = Lines(text)
        self.document: Json = None
        self.values: dict[str, Place] = {}
        self.keys: dict[str, Place] = {}
        self._around: list[_Open] = []
        self._count = 0
        self._documents = 0
        self._scalars: list[tuple[int, int]] = []
        self._starts: list[tuple[int, str]] = []
        """Where members and items begin, in the order of the text."""

    def build(self) -> None:
        for event in YAML(typ="safe", pure=True).parse(self._text):
            self._meet(event)

    def _meet(self, event: Any) -> None:
        match event:
            case DocumentStartEvent():
                self._begin_document(event)
            case AliasEvent():
                raise self._refuse(event, "Aliases are not read.", _PLAIN_FIX)
            case MappingStartEvent() | SequenceStartEvent():
                self._refuse_marks(event)
                value: Json = {} if isinstance(event, MappingStartEvent) else []
                pointer = self._put(value, event)
                self._around.append(_Open(value, pointer))
                if len(self._around) > MAX_JSON_DEPTH:
                    fix = f"Write at most {MAX_JSON_DEPTH} lists and mappings inside each other."
                    raise self._refuse(event, "This is nested too deep.", fix)
            case MappingEndEvent() | SequenceEndEvent():
                self._around.pop()
            case ScalarEvent():
                self._refuse_marks(event)
                self._scalar(event)
            case _:
                pass

    def _begin_document(self, event: Any) -> None:
        self._documents += 1
        if event.version is not None or event.tags:
            raise self._refuse(event, "Directives are not read.", "Remove the lines that begin with %.")
        if self._documents > 1:
            raise self._refuse(event, "A second document begins here.", "Write one document in a file.")

    def _refuse_marks(self, event: Any) -> None:
        if event.anchor is not None:
            edit, mark = NO_EDIT, f"&{event.anchor} "
            start = self._text.find(mark, max(event.start_mark.index - len(mark), 0))
            if f"*{event.anchor}" not in self._text and 0 <= start <= event.start_mark.index:
                edit = self._drop(start, len(mark))
            raise self._refuse(event, "Anchors are not read.", _PLAIN_FIX, edit)
        if event.ctag is not None:
            fix = "Remove the tag; quote what is meant as text."
            raise self._refuse(event, "Tags are not read.", fix, self._untag(event))

    def _untag(self, event: Any) -> Edit:
        """Without the tag of a text that is one anyway."""
        start, tag = event.start_mark.index, "!!str "
        is_text = isinstance(event, ScalarEvent) and (event.style or event.value not in WORDS)
        is_text = bool(is_text) and (bool(event.style) or isinstance(read_plain(event.value), str))
        return self._drop(start, len(tag)) if is_text and self._text.startswith(tag, start) else NO_EDIT

    def _scalar(self, event: Any) -> None:
        start, end = event.start_mark.index, event.end_mark.index
        if event.style in ("|", ">"):
            start = self._text.find("\n", start)  # a comment may stand in the first line
        self._scalars.append((start, end))
        if _HALF.search(event.value):
            raise self._refuse(event, "This text has half of a character.", "Write the character itself.")
        holder = self._around[-1] if self._around else None
        if holder is not None and isinstance(holder.value, dict) and holder.key is None:
            self._key(holder, event)
            return
        is_plain = event.style is None
        try:
            value = read_plain(event.value) if is_plain else event.value
        except ValueError:
            message = f"{quote(event.value)} is no number that JSON has."
            raise self._refuse(event, message, "Write another, or quote it as text.") from None
        self._put(value, event)

    def _key(self, holder: _Open, event: Any) -> None:
        key: str = event.value
        if event.style is None and key == _MERGE:
            raise self._refuse(event, "Merge keys are not read.", _PLAIN_FIX)
        if event.style is None and not key:
            raise self._refuse(event, "A key is missing.", "Write the key before the colon.")
        if key in holder.value:
            raise self._refuse(event, f"The key {quote(key)} is there twice.", "Keep one of them.")
        holder.value[key] = None
        holder.key = key
        pointer = join_pointer(holder.pointer, key)
        self.keys[pointer] = self._place(event)
        self._starts.append((event.start_mark.index, pointer))

    def _put(self, value: Json, event: Any) -> str:
        """Put the value where it belongs; its pointer."""
        self._count += 1
        if self._count > MAX_YAML_VALUES:
            raise self._refuse(event, f"More than {MAX_YAML_VALUES} values.", "Split the workflow.")
        if not self._around:
            self.document = value
            self.values[""] = self._place(event)
            return ""
        holder = self._around[-1]
        if isinstance(holder.value, list):
            pointer = join_pointer(holder.pointer, len(holder.value))
            holder.value.append(value)
            self.keys[pointer] = self._place(event)
            self._starts.append((event.start_mark.index, pointer))
        elif holder.key is None:
            raise self._refuse(event, "A key is a text.", "Write a word, or a text in quotes.")
        else:
            pointer = join_pointer(holder.pointer, holder.key)
            holder.value[holder.key] = value
            holder.key = None
        self.values[pointer] = self._place(event)
        return pointer

    def _place(self, event: Any) -> Place:
        line, column = self.lines.place(event.start_mark.index)
        return line + self._shift, column

    def _drop(self, start: int, length: int) -> Edit:
        """The text without a stretch that nothing reads."""
        line, column = self.lines.place(start)
        return rewrite_text(line + self._shift, column, length, "")

    def _refuse(self, event: Any, message: str, fix: str, edit: Edit = NO_EDIT) -> _Refused:
        return _Refused(self.lines.place(event.start_mark.index), message, fix, edit)

    def comments(self) -> dict[str, Comment]:
        """Comments with the member or item that they belong to."""
        before: dict[str, list[str]] = {}
        beside: dict[str, list[str]] = {}
        offsets = [offset for offset, _ in self._starts]
        for offset, is_alone in _comment_offsets(self._text, self._scalars):
            end = self._text.find("\n", offset)
            words = self._text[offset + 1 : end if end >= 0 else len(self._text)].rstrip("\r")
            following = bisect_right(offsets, offset)
            if is_alone:
                pointer = self._starts[following][1] if following < len(offsets) else ""
                before.setdefault(pointer, []).append(words)
                continue
            line = self._text.rfind("\n", 0, offset)
            first_on_line = bisect_right(offsets, line)
            at = first_on_line if first_on_line < following else following - 1
            pointer = self._starts[at][1] if at >= 0 else ""
            beside.setdefault(pointer, []).append(words)
        return {
            pointer: Comment(before=tuple(before.get(pointer, ())), beside=" ".join(beside.get(pointer, ())))
            for pointer in before.keys() | beside.keys()
        }


_COMMENT = re.compile(r"(?:^|(?<=[ \t\n]))#", re.MULTILINE)


def _comment_offsets(text: str, scalars: list[tuple[int, int]]) -> Iterator[tuple[int, bool]]:
    """Where comments begin, and whether nothing else stands before them in their line."""
    at = 0
    ended = -1
    for match in _COMMENT.finditer(text):
        offset = match.start()
        while at < len(scalars) and scalars[at][1] <= offset:
            at += 1
        is_inside = at < len(scalars) and scalars[at][0] <= offset
        if is_inside or offset < ended:
            continue
        end = text.find("\n", offset)
        ended = end if end >= 0 else len(text)
        yield offset, not text[text.rfind("\n", 0, offset) + 1 : offset].strip()


def _refuse(first_line: int, place: Place, message: str, fix: str, edit: Edit = NO_EDIT) -> Decoded:
    line, column = place
    return Decoded(problems=(report((line + first_line - 1, column), message, fix, edit),))


# What was meant by a text that is almost YAML: each repair is tried

_MOST_BYTES = 64_000
"""Of a longer text the repairs are not tried: each try reads it again."""
_WIDTHS = range(1, 9)
_MOST_INDENT = 16
_INDENT = re.compile(r" *\t[ \t]*")
_JOINED = re.compile(r"( *(?:- +)?)([A-Za-z]\w*):(?=[^\s:/])")
_PROSE = re.compile(
    r"( *(?:- +)?(?:title|name|description|prompt|label|purpose|text|goal|message|agentRole|reason|brief"
    r"|append|prepend): +)([^\s\"'|>#].*?)[ \t]*"
)
"""A member whose value is never anything but a text."""


_SYNTAX = (
    ("cannot start any token", "A sign stands here that begins no value.", "Put the text in quotes."),
    (
        "mapping values are not allowed",
        "A colon stands here where no key can be.",
        "Put the text in quotes if the colon belongs to it, or indent the line like the keys beside it.",
    ),
    ("expected ':'", "This is no key with a value.", "Write a colon and a space after the key."),
    ("but found '<stream end>'", "A bracket is not closed.", "Close each [ and { of this text."),
    ("expected ',' or", "A bracket is not closed here.", "Close it, or put a comma between the values."),
    ("end of stream", "A quote is not closed.", 'Close it, and write \\" for a quote inside the text.'),
    ("<document start>", "The keys of the top are indented unlike.", "Indent all keys of the top alike."),
)
"""By what the parser says: what that is to an author, and what to do."""


def _explain_stop(
    text: str, trouble: MarkedYAMLError, place: Place, first: Place, shift: int
) -> tuple[str, str]:
    """What is wrong where a parser gave up in an author's words, and what to do.

    `first` is where what it was reading begins; `shift` lines of the file come before the text.
    """
    lines, begins = text.split("\n"), f"line {first[0] + shift}"
    problem = " ".join(str(trouble.problem or trouble.context or "it cannot be parsed").split())[:200]
    if lines[place[0] - 1].startswith("\t", place[1] - 1):
        return "A tab indents this line.", "Indent with spaces."
    if "<block end>" not in problem:
        known = (one for one in _SYNTAX if one[0] in problem)
        _, message, fix = next(known, ("", f"This is not YAML: {problem}.", _SYNTAX_FIX))
        if "bracket" in message and " #" in lines[first[0] - 1][first[1] - 1 :]:
            fix = f"A # behind a space begins a comment: quote the text in {begins}."
        return message, fix
    beside = "items" if "collection" in str(trouble.context) else "keys"
    if place[1] != first[1]:
        own, wanted = place[1] - 1, first[1] - 1
        message = f"This line is indented by {own} spaces, unlike the lines that it could stand beside."
        fix = f"Indent it by {wanted} like the {beside} from {begins} on, or like what it belongs to."
        return message, fix
    if beside == "items":
        fix = f"Begin it with a dash too, or write {begins} as a key without a dash, such as `name: value`."
        return f"This is a key, and the list that begins in {begins} has items.", fix
    fix = f"Write it as a key with a colon, or begin {begins} with a dash too."
    return f"This is an item of a list, and keys begin in {begins}.", fix


_SYNTAX_FIX = "Correct the text at that place; indent with spaces, and quote texts with special characters."

Mended = tuple[str, Edit]
"""What to write, and the edit; no edit where it is not certain."""
_UNMENDED: Mended = "", NO_EDIT


def _mend(text: str, line: int) -> Mended:
    """What makes the text readable at a line."""
    if len(text) > _MOST_BYTES:
        return _UNMENDED
    lines = text.split("\n")
    spaces = _spaces_for_tabs(lines)
    if spaces:
        return "Indent with spaces.", spaces
    fix, edit = _mended_line(lines, line)
    return (fix, edit) if edit else _moved_line(lines, line)


def _moved_line(lines: list[str], line: int) -> Mended:
    """Another indent of the line, or of the first one, if the text reads with no other.

    An indent that lines above have is no slip.
    """
    found: dict[str, tuple[int, int]] = {}
    for at in {line - 1, *([0] if lines[0].startswith(" ") else [])}:
        written, above = lines[at].lstrip(" "), {_indent(one) for one in lines[:at] if one.strip()}
        for spaces in () if not written or _indent(lines[at]) in above else range(_MOST_INDENT):
            decoded = _decode("\n".join([*lines[:at], " " * spaces + written, *lines[at + 1 :]]), 1)
            if not decoded.problems:
                document = json.dumps(decoded.document, sort_keys=True)
                found.setdefault(document, (at, spaces))
    if len(found) != 1:
        return _UNMENDED
    [(at, spaces)] = found.values()
    edit = rewrite_text(at + 1, 1, _indent(lines[at]), " " * spaces)
    return f"Indent it by {spaces}.", edit


def _spaces_for_tabs(lines: list[str]) -> Edit:
    """Spaces for the tabs that indent, if every width at which the text reads says the same."""
    indents = {at: tabs[0] for at, line in enumerate(lines) if (tabs := _INDENT.match(line)) is not None}
    if not indents:
        return NO_EDIT
    found: list[tuple[int, Decoded]] = []
    for width in (*_WIDTHS, 0):
        if found and not width:  # without any indent it would often read as something else
            break
        spaced = [
            indents[at].replace("\t", " " * width) + line[len(indents[at]) :] if at in indents else line
            for at, line in enumerate(lines)
        ]
        decoded = _decode("\n".join(spaced), 1)
        if not decoded.problems:
            found.append((width, decoded))
    if not found or any(one.document != found[0][1].document for _, one in found):
        return NO_EDIT
    widths = [width for width, _ in found]
    width = 2 if 2 in widths else widths[0]  # as this project indents
    return tuple(
        operation
        for at, indent in indents.items()
        for operation in rewrite_text(at + 1, 1, len(indent), indent.replace("\t", " " * width))
    )


def _mended_line(lines: list[str], line: int) -> Mended:
    """A space behind the colon of a key, or quotes around a text that has signs of YAML."""
    for at in (line - 1, line - 2):  # a parser may stop at the line after
        for mended, fix, edit in _mended(lines, at) if 0 <= at < len(lines) else ():
            decoded = _decode("\n".join([*lines[:at], mended, *lines[at + 1 :]]), 1)
            if not decoded.problems or decoded.problems[0].line > max(line, at + 1):
                return fix, edit
    return _UNMENDED


def _mended(lines: list[str], at: int) -> Iterator[tuple[str, str, Edit]]:
    """Lines that could stand there instead, each with what to write."""
    written = lines[at].rstrip("\r")
    joined = _JOINED.match(written)
    if joined is not None:
        edit = rewrite_text(at + 1, joined.end() + 1, 0, " ")
        yield f"{joined[0]} {written[joined.end() :]}", "Write a space after the colon.", edit
    prose = _PROSE.fullmatch(written)
    if prose is None or " #" in prose[2] or _goes_on(lines, at):
        return
    quoted = json.dumps(prose[2], ensure_ascii=False)
    edit = rewrite_text(at + 1, len(prose[1]) + 1, len(prose[2]), quoted)
    yield prose[1] + quoted, "Put the text in quotes: it has signs that mean something in YAML.", edit


def _goes_on(lines: list[str], at: int) -> bool:
    """Whether the next line may belong to the same text."""
    after = next((line for line in lines[at + 1 :] if line.strip()), "")
    return _indent(after) > _indent(lines[at])


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
