"""What an agent wraps around a token, taken off again: labels, quotes, punctuation, line breaks. Pure."""

from __future__ import annotations

from handrail.contract import base32

INPUT_LIMIT = 1024
"""Longer input is refused before anything looks at it; four tokens in a JSON object need about 350."""

BAD_CHARACTER = "?"
"""Stands for any character that is not base32, so that everything after cleaning is ASCII."""

# fmt: off
_LABELS = frozenset({
    "ack", "acktoken", "and", "checkpoint", "checkpointtoken", "choice", "choicetoken", "is", "my", "retry",
    "retryack", "retryacktoken", "session", "sessiontoken", "state", "statetoken", "the", "token", "tokens",
    "your",
})
# fmt: on
_LABELS_IN_A_ROW = 6
_SHORTEST_LABEL = 3
_ESCAPES = ("\\n", "\\r", "\\t")
_INVISIBLE = dict.fromkeys(
    (
        *(0x00AD, 0x034F, 0x061C, 0x180E, 0xFEFF),
        *range(0x200B, 0x2010),  # zero width, direction marks
        *range(0x202A, 0x202F),  # direction embeddings
        *range(0x2060, 0x2070),  # word joiner, isolates
        *range(0xFE00, 0xFE10),  # variation selectors
    )
)


def clean(text: str) -> str:
    """The token as it was meant: no label, no wrapping, lower case, look-alikes folded.

    Only the outside is stripped and only white space is taken out of the inside: a wrong character in
    the middle stays, as `?`, because the repair needs to know where it stood.
    """
    return fold(_after_labels(visible(text)))


def fold(text: str) -> str:
    """White space out, ends stripped to letters and digits, spelling forgiven."""
    joined = "".join(text.split())
    start, end = _next(joined, 0, is_word=True), len(joined)
    while start < end and (not joined[end - 1].isalnum() or joined[end - 2 : end] in _ESCAPES):
        end -= 1
    forgiven = base32.forgive(joined[start:end])
    if not forgiven.strip(base32.ALPHABET):
        return forgiven
    return "".join(character if character in base32.ALPHABET else BAD_CHARACTER for character in forgiven)


def visible(text: str) -> str:
    """Without zero-width and direction characters."""
    return text.translate(_INVISIBLE)


def unwrap(text: str) -> str:
    """A token that keeps its case, without white space and without quotes or punctuation around it."""
    return "".join(visible(text).split()).strip("\"'`<>()[]{}.,;:!?")


def is_label(word: str) -> bool:
    return word.lower() in _LABELS


def _after_labels(text: str) -> str:
    """The text after `ackToken:`, `--ack `, `"ackToken": ` and the like.

    A label has three letters or more, no digit, and ends before a separator; a token has a digit at its
    third place.
    """
    position = 0
    for _ in range(_LABELS_IN_A_ROW):
        start = _next(text, position, is_word=True)
        end = _next(text, start, is_word=False)
        word, mark = text[start:end], text[end:].lstrip("\"'` \t")[:1]
        is_named = len(word) >= _SHORTEST_LABEL and word.isalpha() and mark in (":", "=")
        if not (is_named or is_label(word)):
            return text[start:]
        position = end
    return text[position:]


def _next(text: str, position: int, *, is_word: bool) -> int:
    """The first place from `position` on that is inside a word, or outside one."""
    while position < len(text) and text[position].isalnum() != is_word:
        position += 1
    return position
