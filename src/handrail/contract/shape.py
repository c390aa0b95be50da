"""What an operation may disclose (Shape) and what a caller asks for (Ask), also as flag texts. Pure."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import E_USAGE
from handrail.contract.outcome import Fault

Level: TypeAlias = Literal["minimal", "standard", "full"]

LONGEST_NAME = 80
"""Outside text is echoed up to this many characters."""

_AMOUNT = "[0-9]{1,15}"
_BUDGET_USAGE = "--budget tokens=N,bytes=N,items=N"


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """Limits the caller declared (LAFS 9.5.1). Every given one must hold."""

    max_tokens: int | None = None
    max_bytes: int | None = None
    max_items: int | None = None


class Shape(msgspec.Struct, frozen=True, kw_only=True):
    """How the payload of one operation may be reduced. Names may be dotted.

    All names are relative to what `select` picks: each item of a list, one entity under a key of the
    payload, or the payload itself.
    """

    levels: dict[Level, tuple[str, ...] | None] = {}
    """Field names per disclosure level; None, or a level that is not listed: everything."""
    id_field: str = ""
    """Kept by every projection and every cut. Without one, `--fields` keeps the first name that is an id."""
    required: tuple[str, ...] = ()
    """What `--fields` keeps beside the id, because nobody can go on without it (LAFS 9.2)."""
    select: str = "top"
    """`items`, `entity:<key>` or `top`."""
    rows: str = ""
    """Of a document that pages a list of its own: the name of that list."""
    relations: tuple[str, ...] = ()
    """Fields that appear only when `--expand` asks for them."""
    on_demand: tuple[str, ...] = ()
    """Fields of the level full, too heavy for the others; `--expand` adds them to any level."""
    drop_order: tuple[str, ...] = ()
    """Fields a budget may drop, first dropped first. With `items`: keys of the wrapper, without a page."""
    windows: tuple[str, ...] = ()
    """Inner lists a budget may cut, first cut first. With `items`: keys of the wrapper, without a page."""
    untrusted: tuple[str, ...] = ()
    """Fields that hold text from outside; they are listed in `_untrusted` beside them."""
    trusted_where: tuple[str, str] = ("", "")
    """The field and value that mark an object whose text came with the program, if there is one."""


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller wants to see."""

    mvi: Level = "standard"
    fields: tuple[str, ...] | None = None
    field: str | None = None
    expand: tuple[str, ...] = ()
    budget: Budget | None = None


def parse_fields(text: str, flag: str = "--fields") -> tuple[str, ...]:
    """The names of a comma list: trimmed, without empties and doubles. `--expand` uses it too.

    Raises: Fault E_USAGE when no name is left.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise Fault(
            E_USAGE,
            f"{flag} names no field.",
            details={"usage": f"{flag} a,b.c"},
            hint=f"Give {flag} at least one name, or leave it out to get the default fields.",
        )
    return names


def parse_budget(text: str) -> Budget:
    """A budget from `tokens=N,bytes=N,items=N`, in any order, each part at most once.

    Raises: Fault E_USAGE when a part is unknown, given twice, or not a positive whole number.
    """
    amounts: dict[str, int] = {}
    for part in text.split(","):
        name, _, amount = part.strip().partition("=")
        if name not in ("tokens", "bytes", "items"):
            raise _bad_budget("--budget takes the parts tokens, bytes and items.")
        if name in amounts:
            raise _bad_budget(f"--budget names {name} twice.")
        if re.fullmatch(_AMOUNT, amount) is None or int(amount) == 0:
            raise _bad_budget(f"--budget {name} must be a whole number from 1 to 999999999999999.")
        amounts[name] = int(amount)
    return Budget(
        max_tokens=amounts.get("tokens"), max_bytes=amounts.get("bytes"), max_items=amounts.get("items")
    )


def _bad_budget(message: str) -> Fault:
    return Fault(E_USAGE, message, details={"usage": _BUDGET_USAGE}, hint=f"Write {_BUDGET_USAGE}.")
