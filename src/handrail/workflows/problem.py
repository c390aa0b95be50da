"""One thing wrong with a workflow source, with its place and its fix. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

ProblemCode: TypeAlias = Literal[
    "unreadable",
    "not_an_object",
    "missing_key",
    "unknown_key",
    "wrong_type",
    "bad_value",
    "bad_id",
    "duplicate_id",
    "no_steps",
    "too_large",
    "reserved_id",
    "shadowed_id",
]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`pointer` is an RFC 6901 pointer into the source document."""

    code: ProblemCode
    message: str
    pointer: str
    fix: str
    severity: Literal["error", "warning"] = "error"
