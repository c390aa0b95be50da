"""The text under a heading of a Markdown workflow: a prompt, or a prompt block with its items. Pure.

Reading and writing stand side by side: what is written plainly is what reads back as the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, TypeAlias

import msgspec

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.suggest import find_same_word

BLOCKS = {
    "Procedure": "procedure",
    "Constraints": "constraints",
    "Verify": "verify",
    "Deliver": "outputRequired",
}
"""Block headings, and the keys of `promptBlocks` that they stand for."""
_OTHER_BLOCKS = {
    **dict.fromkeys(
        ("steps", "instructions", "how", "method", "approach", "tasks", "what to do"), "Procedure"
    ),
    **dict.fromkeys(("rules", "limits", "restrictions", "boundaries", "do not", "don'ts"), "Constraints"),
    **dict.fromkeys(
        ("check", "checks", "verification", "acceptance criteria", "done when", "validation"), "Verify"
    ),
    **dict.fromkeys(("output", "outputs", "deliverables", "result", "results", "report"), "Deliver"),
}
"""Headings that say the same elsewhere, where a list stands below them."""
HEADING = re.compile(r"(#+)(?:[ \t]+(.*?))?[ \t]*")
_WITH_ID = r"[^#\s].*\{#[^{}\s]*\}[ \t]*$"
_LOST = re.compile(
    rf"(?P<joined>#{{1,6}}(?={_WITH_ID}))|(?P<indented> {{1,3}}(?=#{{2,6}}[ \t]+(?:{_WITH_ID}"
    rf"|(?:{'|'.join(BLOCKS)})[ \t]*$)))|(?P<underlined> {{0,3}}(?=[^\s>#].*\{{#[^{{}}\s]*\}}[ \t]*$))"
)
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*")
_HTML = re.compile(r" {0,3}<(?:!--|(pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_OTHER_ID = re.compile(r"(?:\{[ \t]*(#|id[=:])|\((#)|\[(#)|\{)[ \t]*([a-z0-9_-]+)[ \t]*[\])}]$")
"""An id at the end of a heading in the form of another tool."""
_INNER_ID = re.compile(r"\{#([^{}\s]+)\}")
_REMARK = re.compile(r"[ \t]*<!--.*")
_TITLE = re.compile(r"(?:(.*?)[ \t]*)?\{#([^{}\s]*)\}")
_OWN_FENCES = ("prompt", "step")
FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*([^`]*?)[ \t]*")
_ITEM = re.compile(r"([-*+]|[0-9]{1,4}[.)]) +(?=\S)")
_REF = re.compile(r"\[([^\[\]]*)\]\((wr\.refs\.[^()\s]+)\)")
_NAMED = re.compile(r"([^:]*[^:\s]): (.*)", re.DOTALL)


_PART_HEADING = re.compile(r"#{2,}[ \t]*[^#\s].*\{#[^{}\s]*\}[ \t\r]*")
_OF_YAML = re.compile(r"\s*$|[ \t#\]}]|-[ \t]|[\w\"'-]+[ \t]*:(?:\s|$)")


class Line(NamedTuple):
    """A line of the file without its end."""

    number: int
    text: str


class Misplaced(msgspec.Struct, frozen=True, kw_only=True):
    """A line that cannot be read where it is."""

    number: int
    message: str
    fix: str


class Item(NamedTuple):
    """One item of a block, and the line that it begins at."""

    number: int
    value: Json
    link: str = ""


def split_title(words: str) -> tuple[str, str | None]:
    """Title and id of a heading; None where it has no id."""
    found = _TITLE.fullmatch(words)
    return (found[1] or "", found[2]) if found else (words, None)


class Lost(NamedTuple):
    """A heading to every reader of the page that would be text here."""

    message: str
    fix: str
    written: str
    """What stands for it, in place of the line, and of the next one if that underlines it."""
    is_underlined: bool = False


def find_lost_heading(line: str, after: str) -> Lost | None:
    """A heading with an id, or of a block, in a form that is not read."""
    found = _LOST.match(line)
    if found is None:
        return None
    rest = line[found.end() :]
    if found["joined"]:
        return Lost("This heading has no space.", f"Write {found[0]} and a space.", f"{found[0]} {rest}")
    if found["indented"]:
        return Lost("This heading is indented.", "Begin it at the start of its line.", rest)
    if not _UNDERLINE.fullmatch(after) or _ITEM.match(rest):
        return None
    fix = f"Write `## {rest.rstrip()}` and no line below it."
    return Lost("This heading is underlined.", fix, f"## {rest.rstrip()}", is_underlined=True)


def closing_of_html(line: str) -> re.Pattern[str] | None:
    """What ends a comment or a `pre` that goes on after this line; headings in it are none on a page."""
    found = _HTML.match(line)
    if found is None:
        return None
    closing = re.compile(f".*</{found[1]}>.*" if found[1] else ".*-->.*", re.IGNORECASE)
    return None if closing.fullmatch(line) else closing


def is_construct(line: str) -> bool:
    """Whether a line is a heading or a fence of a workflow, wherever it stands."""
    heading = HEADING.fullmatch(line)
    return begins_part(line) or (heading is not None and (heading[2] or "") in BLOCKS)


def find_other_id(title: str) -> tuple[str, str, bool] | None:
    """The id that a title has in another form or place, the title without it, and whether that is certain."""
    inner = _INNER_ID.search(title)
    if inner is not None:
        rest = re.sub(
            r"[ \t]+#*$", "", f"{title[: inner.start()].rstrip()} {title[inner.end() :].strip()}".strip()
        )
        return inner[1], _REMARK.sub("", rest), _REMARK.search(rest) is None
    found = _OTHER_ID.search(title)
    if found is None:
        return None
    rest = title[: found.start()].rstrip()
    words = re.sub(r"[^a-z0-9]+", " ", rest.lower()).split()
    # A word in plain braces may be one of the title.
    is_own = set(re.split("[_-]", found[4])) <= set(words)
    return found[4], rest, is_own or any(found.group(1, 2, 3))


def find_block(title: str, below: str) -> str:
    """The block heading that a heading of another tool stands for; empty where its text is no list."""
    block = _OTHER_BLOCKS.get(title.rstrip(": ").lower(), "")
    item = _ITEM.match(below)
    is_read = item is not None and (block != "Deliver" or _NAMED.fullmatch(below[item.end() :]) is not None)
    return block if is_read else ""


def begins_part(line: str) -> bool:
    """Whether a line of a fence `step` can only be what follows the fence: no YAML has it."""
    fence = FENCE.fullmatch(line.rstrip("\r"))
    return _PART_HEADING.fullmatch(line) is not None or (
        fence is not None and not fence[1] and bool(meant_fence(fence[3]))
    )


def find_yaml_end(lines: list[Line]) -> int:
    """How many lines of an open fence `step` are YAML; 0 where none is."""
    end = next((at for at, line in enumerate(lines) if not _OF_YAML.match(line.text)), len(lines))
    kept = trim_blank(lines[:end])
    return lines.index(kept[-1]) + 1 if kept else 0


def trim_blank(lines: list[Line]) -> list[Line]:
    """Without blank lines at both ends."""
    start, end = 0, len(lines)
    while start < end and not lines[start].text.strip():
        start += 1
    while end > start and not lines[end - 1].text.strip():
        end -= 1
    return lines[start:end]


def join_lines(lines: list[Line]) -> str:
    return "\n".join(line.text for line in lines)


def read_part(text: str) -> Json:
    """A text, or the ref that a lone link leads to."""
    ref = _REF.fullmatch(text)
    return text if ref is None else {"kind": "ref", "refId": ref[2]}


def read_link(text: str) -> str:
    """The author's words of a lone link to a ref; empty where it has those that are written for it."""
    ref = _REF.fullmatch(text)
    return "" if ref is None or "\n" in ref[1] or ref[1] == _link_words(ref[2]) else ref[1]


def _link_words(ref: str) -> str:
    return ref.rpartition(".")[2].replace("_", " ")


Items: TypeAlias = list[tuple[str, Item]]
"""Each with its name, or its place in the list."""


def read_items(key: str, lines: list[Line]) -> Items | Misplaced | None:
    """The items of a block that is a list; None if the text is no list."""
    if not lines or _ITEM.match(lines[0].text) is None:
        return None
    items: list[Item] = []
    held: list[Line] = []
    width = 0
    for line in lines:
        begins = _ITEM.match(line.text)
        if begins is not None:
            items += _closed(held)
            width = len(begins[1]) + 1
            held = [Line(line.number, line.text[width:])]
        elif not line.text.strip():
            held.append(Line(line.number, line.text[width:]))
        elif line.text.startswith("  "):
            spaces = len(line.text) - len(line.text.lstrip(" "))
            held.append(Line(line.number, line.text[min(spaces, width) :]))
        else:
            message = "This line stands between the items of a list and belongs to none."
            fix = "Indent it under its item, or begin it with a dash."
            return Misplaced(number=line.number, message=message, fix=fix)
    items += _closed(held)
    return _name_items(items) if key == "outputRequired" else [(str(at), one) for at, one in enumerate(items)]


def join_items(key: str, items: Items) -> Json:
    """What the items of a block say together."""
    return (
        {name: one.value for name, one in items}
        if key == "outputRequired"
        else [one.value for _, one in items]
    )


def _closed(held: list[Line]) -> Iterator[Item]:
    kept = trim_blank(held)
    if kept:
        text = join_lines(kept)
        yield Item(held[0].number, read_part(text), read_link(text))


def _name_items(items: list[Item]) -> Items | Misplaced:
    """Items of the form `name: text`."""
    named: Items = []
    for item in items:
        found = _NAMED.fullmatch(item.value) if isinstance(item.value, str) else None
        if found is None:
            message = "An item of Deliver has a name."
            return Misplaced(number=item.number, message=message, fix="Write `- name: what it must hold`.")
        if any(name == found[1] for name, _ in named):
            message = "This name is there twice."
            return Misplaced(number=item.number, message=message, fix="Keep one of them.")
        named.append((found[1], Item(item.number, read_part(found[2]), read_link(found[2]))))
    return named


# Keys of a step that stand in no fence

KEY = re.compile(r"([A-Za-z]\w*):(?:\s|$)")
KEYS_OF_STEPS = {
    *("when", "output", "delegate", "forEach", "maxIterations", "options", "validation", "gates", "userOnly"),
    *("requireConfirmation", "templateId", "functionRefs", "promptFragments", "nonAssumable"),
}
KEYS_OF_PARTS = KEYS_OF_STEPS | {
    *("type", "while", "until", "count", "guidance", "agentRole", "evidence", "notesOptional"),
    *("proof", "requires", "irreversible"),
    *("operation", "params", "saveAs", "args", "slot", "description"),
}
_SHORT_VALUE = re.compile(r"\w+:(?:\s+(?:[{\[].*|\S+))?")
"""A key with what prose does not have: nothing, a bracket, or one word."""


def count_keys(lines: list[str]) -> int:
    """How many lines at the beginning of a text only a fence `step` can mean; 0: it begins as prose."""
    keys: list[str] = []
    count = 0
    for line in lines:
        found = KEY.match(line)
        if found is None and not (keys and line.startswith((" ", "-"))):
            break
        if found is not None and found[1] not in KEYS_OF_PARTS:
            break
        keys += [] if found is None else [found[1]]
        count += 1
    is_meant = not KEYS_OF_STEPS.isdisjoint(keys) and _SHORT_VALUE.fullmatch(lines[0]) is not None
    return count if is_meant else 0


# Writing


def write_block(key: str, value: Json, links: Mapping[str, str]) -> list[str]:
    """A prompt block as plain lines; `links` are the words of its refs, by pointers into it."""
    match value:
        case dict() if key == "outputRequired":
            items = [
                f"{name}: {_words(one, links.get(join_pointer('', name), ''))}" for name, one in value.items()
            ]
        case list():
            items = [_words(one, links.get(f"/{at}", "")) for at, one in enumerate(value)]
        case _:
            return _words(value, links.get("", "")).split("\n")
    marks = [f"{at}. " if key == "procedure" else "- " for at in range(1, len(items) + 1)]
    return [line for mark, item in zip(marks, items, strict=True) for line in _hang(mark, item)]


def _hang(mark: str, item: str) -> list[str]:
    first, *rest = item.split("\n")
    return [mark + first, *(" " * len(mark) + line if line else "" for line in rest)]


def _words(part: Json, link: str) -> str:
    if isinstance(part, dict):
        ref = str(part.get("refId", ""))
        return f"[{link or _link_words(ref)}]({ref})"
    return str(part)


def meant_fence(info: str) -> str:
    """Which of our fences it is, or is meant to be; empty: a fence of the text."""
    words = [word.removesuffix("s") for word in info.lower().split()[:2]]
    return next((own for word in words if (own := find_same_word(word, _OWN_FENCES))), "")


def closing_of(mark: str) -> re.Pattern[str]:
    """What ends a fence that began with this mark."""
    return re.compile(rf"[ \t]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
