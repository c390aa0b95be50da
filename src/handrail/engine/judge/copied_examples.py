"""Whether a report repeats the printed example instead of telling what was done. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from handrail.engine.judge.artifact_spots import write_pointer

LEAST_WORDS = 3
"""Words from which on a text is prose."""
LEAST_COPIED = 6
"""Words of prose that nobody writes twice by chance: a shorter text may be the agent's own."""


def find_copied(body: dict[str, Any], example: dict[str, Any]) -> str:
    """The place where a report repeats the printed example; empty when its words are its own.

    Copied is a report all of whose prose stands in the example, or an entry of a list with the texts of an
    entry there. Ids, words of a closed set and numbers may be equal by right.
    """
    printed = {text for _, text in list_prose(example, ())}
    own = [text for _, text in list_prose(body, ())]
    if _is_long(own) and all(text in printed for text in own):
        return "/"
    entries = [_texts(entry) for _, entry in _entries(example, ())]
    for way, entry in _entries(body, ()):
        texts = _texts(entry)
        if texts in entries and _is_long([text for _, text in texts if _is_prose(text)]):
            return write_pointer(way)
    return ""


def _is_long(texts: list[str]) -> bool:
    return sum(len(text.split()) for text in texts) >= LEAST_COPIED


def _is_prose(text: str) -> bool:
    return len(text.split()) >= LEAST_WORDS


def list_prose(value: Any, way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for place, text in _strings(value, way):
        if _is_prose(text):
            yield place, text


def _strings(value: Any, way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    match value:
        case str():
            yield way, " ".join(value.split())
        case dict():
            for name, held in value.items():
                yield from _strings(held, (*way, name))
        case list():
            for place, held in enumerate(value):
                yield from _strings(held, (*way, str(place)))
        case _:
            return


def _texts(entry: Any) -> list[tuple[tuple[str, ...], str]]:
    return sorted(_strings(entry, ()))


def _entries(value: Any, way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    match value:
        case dict():
            for name, held in value.items():
                yield from _entries(held, (*way, name))
        case list():
            for place, held in enumerate(value):
                yield (*way, str(place)), held
                yield from _entries(held, (*way, str(place)))
        case _:
            return
