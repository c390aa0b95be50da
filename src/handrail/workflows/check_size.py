"""How much work a check is, before a library starts that nothing stops: schema times document. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.contract.effort import Effort
from handrail.contract.outcome import Fault, Json
from handrail.workflows.limits import MAX_CHECK_WORK, MAX_SCHEMA_PLACES
from handrail.workflows.patterns import longest_way

_MOVING = frozenset({"$id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$recursiveAnchor"})
"""Keywords that give references another meaning: where they lead cannot be told from the text."""
_CHARACTERS = 32
"""Characters that weigh as much as one more value."""


def schema_places(schema: Json) -> int:
    """The values inside a schema with every reference followed: each place of a document meets each once.

    Raises Fault WORK_LIMIT_EXCEEDED: for a schema that contains itself, too.
    """
    effort = Effort(
        MAX_SCHEMA_PLACES,
        f"The schema has more than {MAX_SCHEMA_PLACES} places when its references are followed.",
        "Name fewer definitions from inside definitions; shorten lists, counts in patterns and levels.",
    )
    waiting = [schema]
    while waiting:
        held = waiting.pop()
        effort.spend()
        if isinstance(held, list):
            waiting += held
        elif isinstance(held, dict):
            for keyword, inner in held.items():
                if keyword == "$ref" and isinstance(inner, str):
                    waiting.append(_led_to(inner, schema, effort))
                elif keyword == "pattern" and isinstance(inner, str):
                    effort.spend(min(longest_way(inner), MAX_SCHEMA_PLACES))
                elif keyword in _MOVING and isinstance(inner, str):
                    effort.trouble = f"With the keyword {keyword} it cannot be told how large the schema is."
                    effort.advice = "Put what is named under $defs, and write #/$defs/ with its name."
                    raise effort.fault()
                waiting.append(inner)
    return MAX_SCHEMA_PLACES - effort.left


def is_light(places: int, document: Json, work: int = MAX_CHECK_WORK) -> bool:
    """Whether holding a document against a schema of so many places stays below so much work."""
    try:
        size = len(msgspec.json.encode(document))
    except (msgspec.ValidationError, TypeError, ValueError, RecursionError):
        return True  # no JSON: the check itself says so
    return places * size <= work or places * _values(document) <= work


def _values(document: Json) -> int:
    count, waiting = 0, [document]
    while waiting:
        held = waiting.pop()
        count += 1
        if isinstance(held, list | tuple):
            waiting += held
        elif isinstance(held, dict):
            waiting += held.values()
            count += len(held)
        elif isinstance(held, str):
            count += len(held) // _CHARACTERS
    return count


def _led_to(reference: str, root: Json, effort: Effort) -> Json:
    """What a reference names inside the same document; empty when it names nothing there."""
    effort.where = reference[:80]
    if not reference.startswith("#") or reference[1:2] not in ("", "/"):
        return {}
    here: Any = root
    for step in reference.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(here, dict) and name in here:
            here = here[name]
        elif isinstance(here, list) and name.isascii() and name.isdigit() and int(name) < len(here):
            here = here[int(name)]
        else:
            return {}
    return here


def schema_trouble(schema: Json) -> Fault | None:
    """Why a schema is too much to check anything against; None when it is not."""
    try:
        schema_places(schema)
    except Fault as fault:
        return fault
    return None
