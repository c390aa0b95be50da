"""Outside text inside our own sentences: quoted, short, and unable to hide or reorder anything. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from handrail.contract.redaction import change_texts, redact_shapes

LONGEST_QUOTE = 80
"""Characters of outside text that a message shows at most."""

_LOOKED_AT = 4 * LONGEST_QUOTE
"""Characters that are cleaned; later ones would not be shown anyway."""

# Patterns are texts here: `re` compiles one when it is first used, and most calls quote nothing.
_SPACES = r"[\t-\r\x1c-\x20\x85\u2028\u2029]+"

# Controls, direction marks, everything Unicode lets a reader ignore (zero width, fillers, variation
# selectors, tags), annotation marks and halves of surrogate pairs.
_HIDDEN = (
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ud800-\udfff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]+"
)

# The character after the white space is a Braille filler, which fonts draw as nothing.
_SEEN = f"[^{_HIDDEN[1:-2]}\\s\u2800]"
_BLANK = r"[^\S\x1c-\x1f]*"

# Fewer than the hidden ones: some scripts need invisible characters to join their letters.
_STEERING = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"

_STEERING_IN_JSON = ("\\u", "\\r", "\\b", "\\f")
"""How an encoder writes the first characters of the set; it leaves all others as they are."""

_ESCAPED_IN_JSON = f"{_HIDDEN}|[\u2028\u2029]"


MORE_WORK = "Older sessions were not searched: ask with a branch or an id."
"""Words beside the count, if a search for work shows only the best."""


def count_work(items: Sequence[Mapping[str, Any]]) -> str:
    """Say how much work a search found: sessions, or runs if one session has several."""
    sessions = len({item.get("sessionId") for item in items})
    if sessions == len(items):
        return format_count(sessions, "session")
    return f"{format_count(len(items), 'run')} of {format_count(sessions, 'session')}"


def make_readable(text: str) -> str:
    """Return text from bytes of the system; bytes that are not UTF-8 become escapes (backslash and hex)."""
    try:
        content = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a surrogate pair, which stands for no byte
        content = text.encode("utf-8", "surrogatepass")
    return content.decode("utf-8", "backslashreplace")


def make_prompt_json(value: Any) -> Any:
    """Return a value for an agent: every encoder accepts it, and its text cannot steer a terminal
    or a reader.

    Paths may contain bytes that are no text, and any text may contain escapes; most values contain
    neither.
    """
    try:
        encoded = msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        value = change_texts(value, make_readable, with_names=True)
        return change_texts(value, _stop_steering, with_names=True)
    is_safe = encoded.isprintable() and not any(escape in encoded for escape in _STEERING_IN_JSON)
    return value if is_safe else change_texts(value, _stop_steering, with_names=True)


def _stop_steering(text: str) -> str:
    return text if text.isprintable() else re.sub(_STEERING, "\ufffd", text.replace("\r\n", "\n"))


def make_readable_json(value: Any) -> Any:
    """Return the value in a form that every encoder accepts; most values already have it."""
    return value if has_whole_characters(value) else change_texts(value, make_readable, with_names=True)


def has_whole_characters(value: Any) -> bool:
    """Whether no text in it has half of a surrogate pair, as a file name that is not UTF-8 may."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return False
    return True


def format_count(number: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 session`, `2 sessions`, `12 000 entries`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}".replace(",", " ")


MOST_NAMED = 5
"""Names that one sentence lists at most."""


def list_names(names: Sequence[str], between: str = ", ") -> str:
    """Return the first names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return between.join(names[:MOST_NAMED]) + more


def end_sentence(text: str) -> str:
    """Return a text with a full stop, unless it has an end already."""
    return text if text.endswith((".", "?", "!", ":", "…")) else f"{text}."


def quote(text: str) -> str:
    """Return outside text for a message: in double quotes, at most 80 characters, nothing invisible, no
    whole token.

    White space becomes one space, invisible characters become U+FFFD so that their presence shows, inner
    double quotes become single ones, and a cut is marked by an ellipsis.
    """
    return f'"{shorten(text)}"'


def shorten(text: str, longest: int = LONGEST_QUOTE) -> str:
    """Return quoted text without its quotes, for a field of its own; at most four times as long."""
    clean = re.sub(_HIDDEN, "\ufffd", re.sub(_SPACES, " ", text[:_LOOKED_AT]))
    clean = redact_shapes(clean).replace('"', "'")  # a message ends up in logs
    if len(clean) > longest or len(text) > _LOOKED_AT:
        clean = clean[: longest - 1] + "…"
    return clean


def spell_argv(argv: Sequence[str], environment: Sequence[str] = ()) -> str:
    """Return the words of a command as a shell line, after variables given as NAME=value."""
    given = (one.partition("=") for one in environment)
    variables = [f"{name}={quote_for_shell(value)}" for name, _, value in given]
    words = (word if word.startswith("…") else quote_for_shell(word) for word in argv)
    return " ".join([*variables, *words])


def quote_for_shell(text: str) -> str:
    """Return one argument for a POSIX shell."""
    is_plain = re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", text)
    return text if is_plain else "'" + text.replace("'", "'\"'\"'") + "'"


def escape_hidden(json_text: str) -> str:
    """Return JSON text with hidden characters and odd line ends as escapes: the same document, all of it
    visible.
    """
    beyond_ascii = re.sub("[ -~]+", "", json_text)  # usually little, and the search below is slow
    if re.search(_ESCAPED_IN_JSON, beyond_ascii) is None:
        return json_text
    return re.sub(_ESCAPED_IN_JSON, _escapes, json_text)


def explain_unseen(text: str) -> str:
    """Return why nothing of a text can be read, as the end of a sentence about it; empty if something can."""
    first = text[:1]
    if (first.isascii() and first.isalnum()) or re.search(_SEEN, text) is not None:
        return ""
    return "is blank" if re.fullmatch(_BLANK, text) else "has only invisible characters"


def spell_hidden(text: str) -> str:
    """Return outside text in which every hidden character except line ends and tabs is an escape."""
    return re.sub(_HIDDEN, _spelled, text.replace("\r\n", "\n"))


def _spelled(hidden: re.Match[str]) -> str:
    return "".join(one if one in "\n\t" else f"<U+{ord(one):04X}>" for one in hidden.group())


def _escapes(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def mark_hidden(text: str) -> str:
    """Return outside text of any length for people: lines stay; nothing hides, reorders or carries
    a token.

    Characters that join or colour an emoji stay, because they are visible.
    """
    if not (text.isascii() and text.isprintable()):  # most texts are, and a page has thousands
        text = re.sub(_HIDDEN, _marked, text.replace("\r\n", "\n"))
    return redact_shapes(text)


def _marked(hidden: re.Match[str]) -> str:
    around = (
        hidden.string[hidden.start() - 1 : hidden.start()] + hidden.string[hidden.end() : hidden.end() + 1]
    )
    is_emoji = hidden[0] in _EMOJI_PARTS and not around[:1].isascii()
    kept = "".join(character for character in hidden[0] if character in "\n\t")
    return hidden[0] if is_emoji or kept == hidden[0] else kept or "\ufffd"


_EMOJI_PARTS = ("\ufe0f", "\ufe0e", "\u200d", "\ufe0f\u200d")


def name_person(who: str) -> str:
    """Return the name of the person who answered; older logs have an account number in place of a name."""
    return f"user {who}" if who.isdigit() else who or "somebody at the terminal"
