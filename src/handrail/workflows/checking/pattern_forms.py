"""Patterns written as in another language: between slashes, with flags at the end. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.contract.wording import quote
from handrail.workflows.reading.findings import Findings

_BETWEEN = re.compile(r"/(?P<inner>.+)/(?P<flags>(?!.*(.).*\3)[gimsuy]{0,4})", re.DOTALL)
_ONLY_IN_PATTERNS = re.compile(r"[\\\[\](){}|^$*+?]")
OUR_FLAGS = "ims"


def split_delimiters(pattern: str) -> tuple[str, str] | None:
    """Split a pattern into what is between slashes and its flags; None if they may mean themselves."""
    whole = _BETWEEN.fullmatch(pattern)
    if whole is None or not (whole["flags"] or _ONLY_IN_PATTERNS.search(whole["inner"])):
        return None
    return whole["inner"], whole["flags"]


def never_matches(pattern: str) -> bool:
    """Whether no text can match with the slashes: `^` after one, or `$` before one."""
    inner, _ = split_delimiters(pattern) or ("", "")
    return inner.startswith(("^", r"\A")) or (inner.endswith("$") and not inner.endswith(r"\$"))


def find_delimited(schema: Json, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Find the patterns of a schema that are between slashes, with their places."""
    if isinstance(schema, dict):
        pattern = schema.get("pattern")
        if isinstance(pattern, str) and split_delimiters(pattern):
            yield join_pointer(pointer, "pattern"), pattern
        for name, inner in schema.items():
            yield from find_delimited(inner, join_pointer(pointer, name))
    elif isinstance(schema, list):
        for index, inner in enumerate(schema):
            yield from find_delimited(inner, join_pointer(pointer, index))


def check_delimiters(found: Findings, pattern: str, pointer: str) -> None:
    """Report a rule's pattern that is looked for together with its slashes."""
    if (parts := split_delimiters(pattern)) is None:
        return
    ours = "".join(flag for flag in OUR_FLAGS if flag in parts[1])
    beside = f' and "flags": "{ours}" beside it' if ours else ""
    tell = found.report if never_matches(pattern) else found.warn
    tell("bad_pattern", pointer, explain_slashes(pattern), f"Write {quote(parts[0])}{beside}.")


def check_schema_patterns(found: Findings, schema: Json, pointer: str) -> None:
    """The same for the patterns of a schema, which have no flags beside them."""
    for place, pattern in find_delimited(schema, pointer):
        tell = found.report if never_matches(pattern) else found.warn
        tell("bad_pattern", place, explain_slashes(pattern), drop_delimiters(pattern))


def explain_slashes(pattern: str) -> str:
    flags = (split_delimiters(pattern) or ("", ""))[1]
    return f"The slashes{' and flags' if flags else ''} of {quote(pattern)} count as part of the pattern."


def drop_delimiters(pattern: str) -> str:
    """What to write in a schema, where flags come before the pattern."""
    inner, flags = split_delimiters(pattern) or (pattern, "")
    ours = "".join(flag for flag in OUR_FLAGS if flag in flags)
    return f"Write {quote(f'(?{ours}){inner}' if ours else inner)}."
