"""Breaks a document at a place and in a way that chance decides; the seed is the test's."""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.workflows.reading.documents import COMPARE, LOOP, STEP

STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**53 + 1, 10**300, "", " ", "x", "loop", "and", "condition_ref"),
    *([], {}, [None], {"": None}, [[]], {"kind": "compare"}, {"type": "loop"}, ["a", "a"]),
    *(STEP, LOOP, COMPARE, [STEP], [COMPARE], "ü" * 70, "a" * 300, "__proto__"),
)


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every holder and key of a document, so that one can be chosen and changed."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        found += [(holder, key) for key in keys]
        waiting += [holder[key] for key in keys if isinstance(holder[key], dict | list)]
    return found


def break_somewhere(document: dict[str, Any], chance: random.Random) -> None:
    holder, key = chance.choice(places_in(document))
    match chance.randrange(4):
        case 0:
            holder[key] = copy.deepcopy(chance.choice(STRANGE))
        case 1:
            del holder[key]
        case 2 if isinstance(holder, dict):
            holder[chance.choice(["x", "type", "kind", "id", "when", f"{key}s", ""])] = holder.pop(key)
        case _:
            other, name = chance.choice(places_in(document))
            holder[key] = copy.deepcopy(other[name])
