"""Two or more workflow tokens pasted as one, taken apart by their prefixes and lengths. Pure."""

from __future__ import annotations

from handrail.contract.tokens.cleaning import INPUT_LIMIT, clean, fold, is_label, visible
from handrail.contract.tokens.workflow import LAYOUT_BY_PREFIX, PREFIX_LENGTH


def split_glued(text: str) -> list[str]:
    """Each token in its cleaned spelling; one element, the whole, when there is nothing to take apart.

    Nothing is verified here. A piece may be one character short or long, for the repair to settle.
    """
    assert len(text) <= INPUT_LIMIT, "the caller refuses longer input"
    whole = clean(text)
    pieces: list[str] = []
    for fragment in _fragments(text):
        found = _cut(fragment)
        if not found and fragment[:PREFIX_LENGTH] in LAYOUT_BY_PREFIX:
            return _cut(whole) or [whole]  # a token broken by punctuation; leaving it out would be a guess
        pieces += found
    return pieces or _cut(whole) or [whole]


def _fragments(text: str) -> list[str]:
    """The stretches between punctuation, without the words that only name a field."""
    spaced = "".join(
        character if character.isalnum() or character.isspace() else "," for character in visible(text)
    )
    words = [[word for word in part.split() if not is_label(word)] for part in spaced.split(",")]
    return [fold(" ".join(part)) for part in words if part]


def _cut(text: str) -> list[str]:
    """Tokens that follow each other without a gap; empty when the text is not made of tokens alone."""
    pieces = []
    start = 0
    while start < len(text):
        end = _end_of_token(text, start)
        if end is None:
            return []
        pieces.append(text[start:end])
        start = end
    return pieces


def _end_of_token(text: str, start: int) -> int | None:
    layout = LAYOUT_BY_PREFIX.get(text[start : start + PREFIX_LENGTH])
    if layout is None:
        return None
    for end in (start + layout.length, start + layout.length - 1, start + layout.length + 1):
        if end == len(text) or text[end : end + PREFIX_LENGTH] in LAYOUT_BY_PREFIX:
            return end
    return None
