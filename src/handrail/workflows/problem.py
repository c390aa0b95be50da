"""One thing wrong with a workflow source, with its place and its fix. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from handrail.workflows.edits import NO_EDIT, EditOperation

ProblemCode: TypeAlias = Literal[
    "unreadable",
    "not_an_object",
    "missing_key",
    "unknown_key",
    "wrong_type",
    "bad_value",
    "bad_id",
    "bad_name",
    "duplicate_id",
    "no_steps",
    "too_large",
    "too_many_problems",
    "bad_pattern",
    "reserved_id",
    "legacy_id",
    "shadowed_id",
    "unknown_id",
    "template_cycle",
    "bad_argument",
    "loop_without_decision",
    "unreachable_step",
    "impossible_condition",
    "unsatisfiable_contract",
    "flag_only_validation",
    "near_budget",
    "unused",
    "missing_feature",
    "bad_recommendation",
    "soft_words",
    "duplicate_title",
    "bad_source",
    "foreign_spelling",
    "changed_meaning",
    "undeclared_name",
    "bad_placeholder",
    "not_a_list",
    "read_too_early",
    "impassable_gate",
    "broken_contract",
]


Severity: TypeAlias = Literal["error", "warning", "hint"]


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`pointer` is an RFC 6901 pointer into the source document."""

    code: ProblemCode
    message: str
    pointer: str
    fix: str
    severity: Severity = "error"
    line: int = 0
    """1-based; 0 while the place is not known."""
    column: int = 0
    edit: tuple[EditOperation, ...] = NO_EDIT
    """The fix for a program; empty where an author has to choose."""
