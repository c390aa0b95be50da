"""Placeholders of a text: `{{name}}`, and what looks like one and is never filled. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Literal, TypeAlias

import msgspec

from handrail.workflows.builtins.placement import PLACEHOLDER

SlotKind: TypeAlias = Literal["name", "filter", "block", "dollar", "loose", "tag"]
UNSURE: tuple[SlotKind, ...] = ("loose", "tag")
"""They may be placeholders and tags of another language, or text that means itself."""

_SLOT = re.compile(r"(?P<dollar>\$)?\{\{(?P<inner>[^{}\n]{0,200})\}\}|\$\{(?P<shell>[^{}\n]{1,100})\}")
_DOTTED = r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*"
_LOOSE = re.compile(
    rf"(?<![{{$\w\\])\{{(?P<braced>{_DOTTED})\}}"
    rf"|%\((?P<percent>{_DOTTED})\)[a-z]"
    rf"|(?<!\{{)\{{\{{\s*(?P<unclosed>(?>{_DOTTED}))(?![^{{}}\n]*\}}\}})(?!\s*\}}\}})\}}?"
    rf"|\$(?P<bare>[A-Za-z_]\w*)(?![\w({{])"
    r"|\{%(?P<tag>[^%\n]{1,200})%\}|<%(?P<mark>[^%\n]{1,200})%>"
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NAME = re.compile(_DOTTED)
_LEADING_NAME = re.compile(rf"\s*({_DOTTED})\s*[|:?(]")


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")


class Slot(msgspec.Struct, frozen=True, kw_only=True):
    """One place of a text."""

    kind: SlotKind
    path: str
    """The dotted name that it asks for, as far as one can be read."""
    start: int
    end: int

    @property
    def name(self) -> str:
        return self.path.partition(".")[0]


def slots_in(text: str, known: Collection[str]) -> Iterator[Slot]:
    """Every placeholder, and everything that was meant to be one.

    Between backticks, a dollar or a word of another template language means itself unless it names a known
    value. A loose form is reported only if it names such a value; a tag of a template language is always
    reported outside code.
    """
    if not any(sign in text for sign in _SIGNS):
        return
    code = [match.span() for match in _CODE.finditer(text)]
    for match in _SLOT.finditer(text):
        slot = _slot(match)
        if slot is None:
            continue
        is_code = any(start <= slot.start < end for start, end in code)
        is_of_shell = slot.kind == "dollar" and slot.path.isupper()  # such as ${HOME}
        if slot.kind == "name" or slot.name in known or not (is_code or is_of_shell):
            yield slot
    for match in _LOOSE.finditer(text):
        slot = _loose_slot(match, known)
        is_code = any(start <= slot.start < end for start, end in code)
        is_tag, is_bare = slot.kind == "tag", match.lastgroup == "bare"
        if (slot.name in known and not (is_bare and is_code)) or (is_tag and not is_code):
            yield slot


def name_slots(text: str) -> str:
    """The text with the words of its name for each placeholder: `{{changed_files}}` is `changed files`."""
    for slot in reversed([one for one in slots_in(text, ()) if one.kind == "name"]):
        words = " ".join(_WORD.findall(slot.path.rpartition(".")[2])).lower()
        text = f"{text[: slot.start]}{words}{text[slot.end :]}"
    return text


_FILTER = re.compile(rf"\{{\{{\s*({_DOTTED})\s*\|\s*(\w+)\s*\}}\}}")
_SHOWN_AS = {
    **dict.fromkeys(("upper", "uppercase"), " (in upper case)"),
    **dict.fromkeys(("lower", "lowercase"), " (in lower case)"),
    **dict.fromkeys(("trim", "strip"), ""),
}
_CONDITION = re.compile(rf"\{{\{{#if ({_DOTTED})\}}\}}([^{{}}]*)\{{\{{/if\}}\}}")


def word_filter(written: str) -> str:
    """A placeholder with a filter as one without, and in words how to show it; empty if there are none."""
    found = _FILTER.fullmatch(written)
    return f"{{{{{found[1]}}}}}{_SHOWN_AS[found[2]]}" if found and found[2] in _SHOWN_AS else ""


def word_conditions(text: str, flags: Collection[str]) -> str:
    """The text with each text under the condition of a flag as words that say on what it depends."""

    def spell(found: re.Match[str]) -> str:
        name, words = found.groups()
        return f"(only if {name} is true, and it is {{{{{name}}}}}: {words})" if name in flags else found[0]

    return _CONDITION.sub(spell, text)


_SIGNS = ("{", "%(", "$", "<%")


def _loose_slot(match: re.Match[str], known: Collection[str]) -> Slot:
    """What is written in another way, with the first name in it that is known."""
    kind = match.lastgroup or ""
    names = [found[0] for found in _NAME.finditer(match[kind])]
    path = next((one for one in names if one.partition(".")[0] in known), "")
    is_tag = kind in ("tag", "mark")
    return Slot(kind="tag" if is_tag else "loose", path=path, start=match.start(), end=match.end())


def _slot(match: re.Match[str]) -> Slot | None:
    if match["shell"] is not None:
        found = _NAME.match(match["shell"].strip())
        return None if found is None else _made(match, "dollar", found[0])
    whole = PLACEHOLDER.fullmatch(f"{{{{{match['inner']}}}}}")
    if whole is not None:
        return _made(match, "dollar" if match["dollar"] else "name", whole[1])
    leading = _LEADING_NAME.match(match["inner"])
    if leading is not None:
        return _made(match, "filter", leading[1])
    inside = _NAME.search(match["inner"].lstrip(" #/^!&>").partition(" ")[2] or match["inner"])
    return _made(match, "block", inside[0] if inside else "")


def _made(match: re.Match[str], kind: SlotKind, path: str) -> Slot:
    start = match.start() + (1 if match["dollar"] and kind != "dollar" else 0)
    return Slot(kind=kind, path=path, start=start, end=match.end())
