"""Rules for names of people, agents and workspaces. Pure.

An approval shows the name of its author. So no name may look like another, hide a part of itself or look
like an id.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any, Final

from handrail.contract.redaction import change_texts

MOST_CHARACTERS = 128
_ID = re.compile(r"[a-z]{2,4}_[0-9a-f]{16}")
NAME_EXPECTED = "1 to 128 printable characters in the letters of one script, and not like an id"


def keep_name(name: str) -> str:
    """Return the name in its stored form, or an empty text if it is invalid."""
    if not name.isprintable():
        return ""
    kept = " ".join(unicodedata.normalize("NFKC", name).split())
    is_plain = len(kept) <= MOST_CHARACTERS and kept.isprintable() and _ID.fullmatch(kept.lower()) is None
    return kept if is_plain and _is_of_one_script(kept) else ""


def fold_name(name: str) -> str:
    """Return the form of a name that must be unique, so that no two names look alike."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def clean_name(name: str) -> str:
    """Return the valid part of a name from elsewhere, such as an identity provider; it may be empty."""
    shown = "".join(one if one.isprintable() else " " for one in name)[:MOST_CHARACTERS]
    return keep_name(shown)


def is_name(name: object) -> bool:
    return isinstance(name, str) and bool(keep_name(name))


_MIXED = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
"""Scripts with letters that look alike. Other scripts are mixed in real names."""


def _is_of_one_script(name: str) -> bool:
    scripts = {unicodedata.name(one, "").partition(" ")[0] for one in name if one.isalpha()}
    return len(scripts & _MIXED) <= 1


# Names in answers

_WITH_NAMES: Final = frozenset(
    {
        *("session.inbox", "session.gaps", "session.show", "session.timeline", "session.resume"),
        *("session.work", "run.graph", "run.node", "run.compare"),
    }
)
"""Answers about work: sentences get names of people, and fields keep ids."""
_ACCOUNT: Final = re.compile(r"\bacc_[0-9a-f]{16}\b")


def join_names(find: Callable[[], Mapping[str, str]], operation: str, answer: Any) -> Any:
    """Replace account ids in the sentences of an answer by names; `find` is asked only if there is an id."""
    known: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        if not known:
            known.update({"": "", **find()})
        return known.get(found.group()) or found.group()

    def join(text: str) -> str:
        return text if _ACCOUNT.fullmatch(text) else _ACCOUNT.sub(name, text)

    return change_texts(answer, join) if operation in _WITH_NAMES else answer
