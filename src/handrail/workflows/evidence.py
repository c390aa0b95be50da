"""Evidence rules: what of a delivered artifact is checked against files, executed or asked of a
person. Pure.

Contracts have them; `engine/judge/evidence.py` judges by them.
"""

# Annotations are not strings here: msgspec would compile each of them again in every process.

from typing import Literal, TypeAlias

import msgspec

Demand: TypeAlias = Literal["required", "where_possible", "shown"]
"""Whether a report without it blocks. `shown` never blocks; `where_possible` blocks like `required`. Rules
about commands and changed files are of older contracts and judge nothing.
"""


class EvidenceShape(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    omit_defaults=True,
    tag_field="check",
    forbid_unknown_fields=True,
):
    """Shared options of evidence rules. `at` is a place in the artifact; `*` means every item."""


class Term(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What a place must contain: exactly one of the three."""

    at: str
    equals: str | int | bool | None = None
    differs: str | int | bool | None = None
    exists: bool | None = None


class Consistent(EvidenceShape, frozen=True, kw_only=True, tag="consistent"):
    """If `when` holds, `then` must hold too; in the same row if both go through the same list."""

    when: Term
    then: Term


class PathExists(EvidenceShape, frozen=True, kw_only=True, tag="path_exists"):
    """The text is the path of something in the project."""

    at: str
    where: dict[str, tuple[str, ...]] = {}
    """The rule applies only to rows in which each of these members has one of these values."""
    is_told: bool = False
    """From older contracts, without effect: that a path exists proves nothing about it."""
    demand: Demand = "required"


class PlaceExists(EvidenceShape, frozen=True, kw_only=True, tag="place_exists"):
    """The text is `path` or `path:line`; `line` and `quote` name members beside it that say more."""

    at: str
    where: dict[str, tuple[str, ...]] = {}
    line: str = ""
    quote: str = ""
    quoted_in: str = ""
    """A member beside it that may quote the place; still read but never compared, because it is prose."""
    demand: Demand = "required"


class ChangedInRun(EvidenceShape, frozen=True, kw_only=True, tag="changed_in_run"):
    """The paths are those that changed since the run began."""

    at: str
    change: str = ""
    """The member beside it with added, modified, deleted or renamed."""
    also: str = ""
    """Further paths that count as listed: the former path of a renamed file."""
    left_out: str = ""
    """Paths that changed and are left out on purpose."""
    demand: Demand = "required"


class Ran(EvidenceShape, frozen=True, kw_only=True, tag="ran"):
    """The text is a command that was executed on the present files."""

    at: str
    where: dict[str, tuple[str, ...]] = {}
    status: str = ""
    """The member beside it with the exit status."""
    receipt: str = ""
    """The member beside it with the id of a check result."""
    passes: Term | None = None
    """If this holds and no status is given, the command must have passed; None means always."""
    demand: Demand = "where_possible"


class RedThenGreen(EvidenceShape, frozen=True, kw_only=True, tag="red_then_green"):
    """The text is a command that failed earlier in this run and passes on the present files."""

    at: str
    where: dict[str, tuple[str, ...]] = {}
    demand: Demand = "required"


class CoversChange(EvidenceShape, frozen=True, kw_only=True, tag="covers_change"):
    """Together the texts name every file of the change that an input of the workflow names."""

    at: tuple[str, ...]
    input: str = "change"
    demand: Demand = "required"


class Person(EvidenceShape, frozen=True, kw_only=True, tag="person"):
    """A person, and not the agent, confirmed the artifact as a whole."""

    demand: Demand = "required"


Evidence: TypeAlias = (
    Consistent | PathExists | PlaceExists | ChangedInRun | Ran | RedThenGreen | CoversChange | Person
)
