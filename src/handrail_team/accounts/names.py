"""Names of people, agents and workspaces: one rule for whoever chooses one, and where they are shown. Pure.

A confirmation is shown by the name of who gave it, so no name may look like another one, hide a part of
itself or stand for an id.
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
    """The name as it is kept; empty where it is none."""
    if not name.isprintable():
        return ""
    kept = " ".join(unicodedata.normalize("NFKC", name).split())
    is_plain = len(kept) <= MOST_CHARACTERS and kept.isprintable() and _ID.fullmatch(kept.lower()) is None
    return kept if is_plain and _is_of_one_script(kept) else ""


def fold_name(name: str) -> str:
    """Under which nobody else can have a name that reads alike."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def clean_name(name: str) -> str:
    """What can be kept of a name that somebody else chose, such as an identity provider; empty: nothing."""
    shown = "".join(one if one.isprintable() else " " for one in name)[:MOST_CHARACTERS]
    return keep_name(shown)


def is_name(name: object) -> bool:
    return isinstance(name, str) and bool(keep_name(name))


_MIXED = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"})
"""Scripts whose letters look alike; others are mixed in names that people really have."""


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
"""What is read to know how work stands: a sentence in it has names, and a field with an id keeps it."""
_ACCOUNT: Final = re.compile(r"\bacc_[0-9a-f]{16}\b")


def join_names(find: Callable[[], Mapping[str, str]], operation: str, answer: Any) -> Any:
    """The answer of an operation with names inside its sentences; `find` is asked where there is an id."""
    known: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        if not known:
            known.update({"": "", **find()})
        return known.get(found.group()) or found.group()

    def join(text: str) -> str:
        return text if _ACCOUNT.fullmatch(text) else _ACCOUNT.sub(name, text)

    return change_texts(answer, join) if operation in _WITH_NAMES else answer
