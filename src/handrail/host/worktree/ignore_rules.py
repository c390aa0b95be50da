"""The rules of ignore files, where git is not there to apply them.

They are those of `gitignore`: the last rule that matches decides, `!` takes back, a rule with a `/` before
its end belongs to its directory, and nothing below an ignored directory comes back. The steps to match a
pattern grow with pattern times name, whatever it is: an ignore file may be anyone's.
"""

from __future__ import annotations

from functools import lru_cache

import msgspec

FILE_NAMES = (b".gitignore", b".ignore")
"""The second one is what search tools agree on; its rules come after those of the first."""
MOST_RULE_BYTES = 256_000
MOST_RULES = 5_000

_ANY_DEPTH = b"**"


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One line of an ignore file."""

    parts: tuple[bytes, ...]
    """Patterns of names, one per level; the whole path below the file's directory must match."""
    takes_back: bool
    only_directories: bool


def read_rules(content: bytes) -> tuple[Rule, ...]:
    """The rules of one file in their order; lines beyond the limits are not read."""
    rules = (_read_line(line) for line in content[:MOST_RULE_BYTES].split(b"\n")[:MOST_RULES])
    return tuple(rule for rule in rules if rule is not None)


def find_verdict(rules: tuple[Rule, ...], path: bytes, *, is_directory: bool) -> bool | None:
    """Whether the file's rules ignore a path below its directory; None when they say nothing."""
    names = tuple(path.split(b"/"))
    for rule in reversed(rules):
        if (is_directory or not rule.only_directories) and _matches(rule.parts, names):
            return not rule.takes_back
    return None


def _read_line(line: bytes) -> Rule | None:
    text = line.removesuffix(b"\r")
    while text.endswith(b" ") and not text.endswith(b"\\ "):
        text = text[:-1]
    if not text or text.startswith(b"#"):
        return None
    takes_back = text.startswith(b"!")
    text = text[1:] if takes_back else text
    only_directories = text.endswith(b"/")
    text = text.removesuffix(b"/")
    is_placed = b"/" in text
    parts = tuple(part for part in text.split(b"/") if part)
    if not parts:
        return None
    return Rule(
        parts=parts if is_placed else (_ANY_DEPTH, *parts),
        takes_back=takes_back,
        only_directories=only_directories,
    )


def _matches(parts: tuple[bytes, ...], names: tuple[bytes, ...]) -> bool:
    """Whether the patterns match all names; `**` stands for any number of them.

    When something fails, only the last `**` takes one name more: so the work stays small.
    """
    part = name = 0
    retry_part = retry_name = -1
    while name < len(names):
        if part < len(parts) and parts[part] == _ANY_DEPTH:
            if part == len(parts) - 1:
                return True  # `a/**`: everything inside
            retry_part, retry_name = part, name
            part += 1
        elif part < len(parts) and matches_name(parts[part], names[name]):
            part += 1
            name += 1
        elif retry_part >= 0:
            retry_name += 1
            part, name = retry_part + 1, retry_name
        else:
            return False
    return part == len(parts)


def matches_name(pattern: bytes, name: bytes) -> bool:
    """Whether a pattern of one level matches a name: `*`, `?`, `[...]` and `\\`."""
    units = _units(pattern)
    unit = at = 0
    retry_unit = retry_at = -1
    while at < len(name):
        if unit < len(units) and units[unit] is None:
            retry_unit, retry_at = unit, at
            unit += 1
        elif unit < len(units) and name[at] in (units[unit] or ()):
            unit += 1
            at += 1
        elif retry_unit >= 0:
            retry_at += 1
            unit, at = retry_unit + 1, retry_at
        else:
            return False
    return all(rest is None for rest in units[unit:])


@lru_cache(maxsize=10_000)
def _units(pattern: bytes) -> list[frozenset[int] | None]:
    """What each place of the pattern takes; None is `*`."""
    units: list[frozenset[int] | None] = []
    at = 0
    while at < len(pattern):
        character = pattern[at : at + 1]
        if character == b"*":
            if not units or units[-1] is not None:
                units.append(None)
        elif character == b"?":
            units.append(_EVERY)
        elif character == b"[" and (end := _end_of_set(pattern, at)) > 0:
            units.append(_read_set(pattern[at + 1 : end]))
            at = end
        elif character == b"\\" and at + 1 < len(pattern):
            at += 1
            units.append(frozenset(pattern[at : at + 1]))
        else:
            units.append(frozenset(character))
        at += 1
    return units


def _end_of_set(pattern: bytes, start: int) -> int:
    """Where the bracket closes; a closing one right after the opening belongs to the set."""
    first = start + 2 if pattern[start + 1 : start + 2] in (b"!", b"^") else start + 1
    return pattern.find(b"]", first + 1)


def _read_set(inner: bytes) -> frozenset[int]:
    is_negated = inner[:1] in (b"!", b"^")
    text = inner[1:] if is_negated else inner
    taken: set[int] = set()
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == b"-" and at + 2 < len(text):
            taken.update(range(text[at], text[at + 2] + 1))
            at += 3
        else:
            taken.add(text[at])
            at += 1
    return _EVERY - taken if is_negated else frozenset(taken)


_EVERY = frozenset(range(256)) - {ord("/")}
