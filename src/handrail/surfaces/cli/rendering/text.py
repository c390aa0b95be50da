"""Any payload as plain aligned text for people. It may change; programs read the JSON. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from handrail.contract.outcome import Json, NextCall
from handrail.contract.wording import format_count, quote_for_shell
from handrail.surfaces.cli.reading.spelling import PROGRAM, command_line

# Width, tables, sizes and times

USUAL_WIDTH = 100
"""Width of a page if the terminal width is unknown; the same everywhere, so that text can be compared."""
_NARROWEST = 12
_INSTANT = r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d(?:\.\d+)?Z"
_NO_WIDTH = frozenset({"Mn", "Me", "Cf"})
_UNITS = ("kB", "MB", "GB", "TB")


def width_of(text: str) -> int:
    """Return terminal columns: two for wide characters, none for combining marks."""
    if text.isascii():
        return len(text)
    return sum(_width(character) for character in text)


def _width(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def pad(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def cut(text: str, width: int) -> str:
    """Return as much as fits, with an ellipsis if something is missing."""
    if width_of(text) <= width:
        return text
    kept, used = [], 1
    for character in text:
        used += _width(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept).rstrip() + "…"


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Return prose in lines of at most this width; a longer word stays whole on its own line."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and width_of(indent) + width_of(line) + 1 + width_of(word) > width:
            lines.append(indent + line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, indent + line]


def least_width(rows: Sequence[Sequence[str]], yielding: Collection[int]) -> int:
    """Return the width of the rows if the yielding columns are cut as far as possible."""
    widths = [max(width_of(row[place]) for row in rows) for place in range(len(rows[0]))]
    kept = [min(width, _NARROWEST) if place in yielding else width for place, width in enumerate(widths)]
    return sum(kept) + 2 * (len(kept) - 1)


def format_table(rows: Sequence[Sequence[str]], width: int = 0, yielding: Collection[int] = ()) -> list[str]:
    """Return columns as wide as their widest cell; on a narrow page the yielding ones are cut."""
    if not rows:
        return []
    widths = [max(width_of(row[place]) for row in rows) for place in range(len(rows[0]))]
    over = sum(widths) + 2 * (len(widths) - 1) - width if width else 0
    for place in sorted(yielding, key=lambda one: -widths[one]):
        given = max(0, min(over, widths[place] - _NARROWEST))
        widths[place] -= given
        over -= given
    return [
        "  ".join(
            pad(cut(cell, room) if width else cell, room) for cell, room in zip(row, widths, strict=True)
        )
        for row in rows
    ]


def format_aligned(rows: Sequence[tuple[str, str]], width: int = 0) -> list[str]:
    """Return names in one column, values in the next; prose is wrapped if the page has a width."""
    room = max((width_of(label) for label, _ in rows), default=0) + 2
    lines = []
    for label, value in rows:
        first, *rest = wrap(value, width - room) if width else [value]
        lines += [pad(f"{label}:", room) + first, *(" " * room + line for line in rest)]
    return lines


def size_text(size_bytes: int) -> str:
    """Return a size with its unit: `812 bytes`, `22.3 kB`."""
    if size_bytes < 1000:
        return format_count(size_bytes, "byte")
    amount, unit = float(size_bytes), ""
    for name in _UNITS:
        if amount < 999.95 and unit:
            break
        amount, unit = amount / 1000, name
    return f"{amount:.1f} {unit}"


def moment_text(text: str) -> str:
    """Return `2026-11-15 10:23 UTC` for a time as documents write it; any other text as it is."""
    found = re.fullmatch(_INSTANT, text)
    return f"{found[1]} {found[2]} UTC" if found else text


def ago(text: Json, page: Page) -> str:
    """Return `5 min ago` for a time of the last days; any other as it is."""
    moment = one_line(str(text))
    try:
        passed = datetime.fromisoformat(page.now) - datetime.fromisoformat(moment)
    except ValueError:
        return moment_text(moment)
    minutes = int(passed.total_seconds()) // 60
    if not 0 <= minutes < _MOST_DAYS * 1440:
        return moment_text(moment)
    if minutes < 1:
        return "just now"
    amounts = ((minutes, "min"), (minutes // 60, "h"), (minutes // 1440, "d"))
    number, unit = next((one for one in reversed(amounts) if one[0]), amounts[0])
    return f"{number} {unit} ago"


def spell_step(step_id: str) -> str:
    """Return a step key for people: `fix@1:try` becomes `try, round 2 of fix`."""
    return ", ".join([step_id.rpartition("::")[2], *spell_rounds(step_id)])


def spell_rounds(step_id: str) -> list[str]:
    """Return the iterations of the loops around a step, outermost first."""
    loops = [one.partition("@") for one in step_id.split("::")[:-1]]
    return [f"round {int(number) + 1} of {name}" for name, _, number in loops if number.isdigit()]


# Payloads

INDENT = "  "
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
_HIDDEN = frozenset({"_untrusted"})
_OF_A_LIST = frozenset({"items", "count", "next_cursor", "has_more"})
"""Keys that a list shows as words, or not at all."""
_PROSE = frozenset({"goal", "project", "name", "title", "pendingTitle", "description", "what"})
"""Columns that may be cut; people copy from the others."""


_MOST_DAYS = 14
"""Longest time that is shown as a distance."""
_LEAST_ROWS = 2
_LEAST_COLUMNS = 2
"""Columns that a table keeps on the narrowest page; the most important ones come first."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that a text renderer needs besides the payload."""

    columns: Sequence[str] = ()
    """Columns of a list."""
    width: int = USUAL_WIDTH
    typed: Sequence[str] = ()
    """The words of the caller's command line."""
    program: str = PROGRAM
    now: str = ""
    """The present time; if it is empty, times are shown as they are."""


def text_of(payload: Json, page: Page) -> list[str]:
    """Return the whole payload: a list as a table, everything else as aligned names."""
    if isinstance(payload, dict) and isinstance(payload.get("items"), list):
        return _list(payload, page)
    return value_lines(payload, page.width)


def join_lines(lines: Sequence[str]) -> str:
    """Return one text with one newline at its end."""
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _list(payload: dict[str, Json], page: Page) -> list[str]:
    """Return one row per item, then what the list says about itself."""
    items = payload["items"]
    lines = item_table(items, page) if items else []
    if items and not lines:
        lines = [line for item in items for line in (*value_lines(item), "")][:-1]
    notes = describe_list(payload, page)
    about = {name: value for name, value in payload.items() if name not in _OF_A_LIST and value}
    return [*lines, *[""][: len(lines)], *notes, *(value_lines(about, page.width) if items else [])]


def item_table(items: Sequence[Json], page: Page) -> list[str]:
    """Return the items as rows; empty if they have none of the columns."""
    shown = [
        name for name in page.columns if any(isinstance(item, dict) and item.get(name) for item in items)
    ]
    if not shown:
        return []
    rows = [[heading(name) for name in shown]]
    rows += [
        [format_cell(item.get(name)) if isinstance(item, dict) else "" for name in shown] for item in items
    ]
    yielding = [place for place, name in enumerate(shown) if name in _PROSE]
    while len(rows[0]) > _LEAST_COLUMNS and least_width(rows, yielding) > page.width:
        rows = [row[:-1] for row in rows]
        yielding = [place for place in yielding if place < len(rows[0])]
    return format_table(rows, page.width, yielding)


def describe_list(payload: dict[str, Json], page: Page) -> list[str]:
    """Return the number of items, what was searched, and how to see more."""
    items = payload["items"]
    lines = [
        f"{format_count(payload.get('count', len(items)), 'item')} shown." if items else "Nothing was found."
    ]
    if not items and isinstance(payload.get("scope"), str):
        lines.append(f"Searched: {one_line(payload['scope'])}.")
    if payload.get("next_cursor"):
        lines.append(f"More: {repeat_line(page, cursor=one_line(payload['next_cursor']))}")
    return lines


def repeat_line(page: Page, *, without: str = "", **flags: str) -> str:
    """Return the typed line with these flags in place of its own; only the flags if the line cannot be
    repeated.

    A line that may contain a secret is not repeated: JSON, or an address with a password.
    """
    typed = page.typed
    added = " ".join(f"--{name} {value}" for name, value in flags.items())
    if not typed or any(re.search(r"\{|://[^/]*@", word) for word in typed):
        return f"the same line with {added}" + (f" instead of {without}" if without else "")
    kept: list[str] = []
    skipping = False
    for word in typed:
        name = word.partition("=")[0].removeprefix("--")
        if skipping:
            skipping = False
        elif word.startswith("--") and name in flags:
            skipping = "=" not in word
        elif word != without:
            kept.append(quote_for_shell(one_line(word)))
    return " ".join([page.program, *kept, added])


def typed_line(line: str, page: Page) -> str:
    """Return a command line with the program name or path that is typed here."""
    return page.program + line.removeprefix("handrail") if line.startswith("handrail") else line


def spell_status(status: str) -> str:
    """Return a status in words: `complete_with_gaps` becomes `complete with gaps`."""
    return one_line(status).replace("_", " ")


def heading(name: str) -> str:
    """Return the name of a column in capitals, with spaces between its words."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).upper()


def spell_command(call: Json, page: Page) -> str:
    """Return the command for a call, as a person types it."""
    called = NextCall(operation="run.continue", params=call["params"])
    return spell_for_people(command_line(called, page.program) or "")


def spell_for_people(line: str) -> str:
    """Return a command line that answers in text."""
    return line.removesuffix(" --compact") + " --human" if line.endswith(" --compact") else line


def value_lines(value: Json, page_width: int = 0) -> list[str]:
    """Return any JSON value: objects as aligned names, lists one item after the other; prose within
    the page.
    """
    match value:
        case dict():
            return _object({key: inner for key, inner in value.items() if key not in _HIDDEN}, page_width)
        case list() | tuple():
            return _table(value, page_width) or [line for inner in value for line in _item(inner, page_width)]
        case _:
            return lines_of(format_cell(value, is_whole=True))


def _object(value: dict[str, Json], page_width: int) -> list[str]:
    width = max((width_of(key) for key, inner in value.items() if _is_short(inner)), default=0)
    room = page_width - width - 2
    lines = []
    for key, inner in value.items():
        if inner in ("", None, [], {}, ()):
            continue  # a row without a value adds nothing
        name = one_line(key) + ":"
        if _is_short(inner):
            text = _short_text(key, inner)
            first, *rest = wrap(text, room) if room > _NARROWEST and _is_prose(text) else [text]
            lines += [f"{pad(name, width + 1)} {first}", *(" " * (width + 2) + line for line in rest)]
        else:
            inside = page_width - len(INDENT) if page_width else 0
            held = value_lines(inner, inside)
            lines += [name, *(INDENT + line for line in held)] if held else []
    return lines


def _table(items: Sequence[Json], page_width: int) -> list[str]:
    """Return flat objects as rows; empty if they have different keys or do not fit."""
    if len(items) < _LEAST_ROWS or not all(isinstance(item, dict) and item for item in items):
        return []
    names = [name for name in items[0] if name not in _HIDDEN]
    if any(
        [name for name in item if name not in _HIDDEN] != names or not all(map(_is_short, item.values()))
        for item in items
    ):
        return []
    rows = [[heading(one_line(name)) for name in names]]
    rows += [[_short_text(name, item[name]) for name in names] for item in items]
    is_wide = page_width and least_width(rows, ()) > page_width
    return [] if is_wide else format_table(rows)


def _is_prose(text: str) -> bool:
    """Whether it may be wrapped: commands and paths stay whole, because people copy them."""
    return " " in text and "handrail " not in text and "/" not in text


def _item(value: Json, page_width: int) -> list[str]:
    inside = page_width - len(INDENT) if page_width else 0
    first, *rest = value_lines(value, inside) or [""]
    return [f"- {first}", *(INDENT + line for line in rest)]


def _short_text(name: str, value: Json) -> str:
    is_size = name.endswith("bytes") and isinstance(value, int) and not isinstance(value, bool)
    return size_text(value) if is_size else format_cell(value)


def _is_short(value: Json) -> bool:
    """Whether it fits on the line of its name."""
    if isinstance(value, dict | list | tuple):
        return not value
    return not isinstance(value, str) or "\n" not in value


def format_cell(value: Json, *, is_whole: bool = False) -> str:
    """Return a value in a few words; text as a whole, or on one line."""
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case str():
            return _clean(value) if is_whole else moment_text(one_line(value))
        case dict() | list() | tuple() if not value:
            return "-"
        case _:
            return msgspec.json.encode(value).decode()


def lines_of(text: str) -> list[str]:
    """Return outside text as written, without anything that a terminal would obey."""
    return _clean(text).split("\n")


def one_line(text: str) -> str:
    """Return outside text on one line, without anything that a terminal would obey."""
    return _clean(text).replace("\n", " ")


def _clean(text: str) -> str:
    """Replace what a terminal would obey: control characters, and marks that change the direction of text."""
    return re.sub(_CONTROL, "\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
