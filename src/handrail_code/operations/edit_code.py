"""`code.edit`: find a definition, show an edit of it, and apply what was shown (CONT 4.2, 4.3, 6.2).

Without `fix` nothing is written. A preview is computed from the files as they are; its apply token is bound
to the bytes of every file before and after, works once, and is compared with a preview computed again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import (
    E_CONFIRMATION_REQUIRED,
    E_CONFLICT,
    EDIT_REFUSED,
    RESULTS_STALE,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Fault, Json, Success
from handrail.contract.parameters import MintedId, PathText
from handrail.runtime.operation import Operation
from handrail.runtime.runtime import WritePorts
from handrail_code.edit.replace import MAX_TEXT
from handrail_code.operations.code_answers import AskedOfCode, CodeCall
from handrail_code.operations.continuing import require_fix
from handrail_code.operations.editing import (
    MOST_LOCATED,
    MOST_PLACES,
    AskedChange,
    Editing,
    Public,
    refuse_without_mode,
)
from handrail_code.operations.planned_files import (
    AppliedEdit,
    CancelledEdit,
    CodeContext,
    EditPreview,
    LocatedCode,
)

COMMAND = "js-edit"
MOST_CHANGES = 100
"""Edits of one batch."""

_MODES = ("locate", "context", "extract", "move", "rename", "replace", "changes")


class EditCode(AskedOfCode, frozen=True, kw_only=True):
    """What to find or to change."""

    file: Annotated[PathText, Meta(description="Its file.", max_length=1000)] | UnsetType = UNSET
    locate: Annotated[str, Meta(description="Where it is defined.", max_length=1000)] | UnsetType = UNSET
    context: Annotated[str, Meta(description="It and its surroundings.", max_length=1000)] | UnsetType = UNSET
    extract: Annotated[str, Meta(description="To a module of its own.", max_length=1000)] | UnsetType = UNSET
    move: Annotated[str, Meta(description="With its imports.", max_length=1000)] | UnsetType = UNSET
    to_module: Annotated[PathText, Meta(description="Where a move goes.", max_length=1000)] | UnsetType = (
        UNSET
    )
    export_needs: Annotated[bool, Meta(description="Export what it needs.")] | UnsetType = UNSET
    replace: Annotated[str, Meta(description="With another text.", max_length=1000)] | UnsetType = UNSET
    with_text: Annotated[str, Meta(description="That text.", max_length=MAX_TEXT)] | UnsetType = UNSET
    rename: Annotated[str, Meta(description="In all files.", max_length=1000)] | UnsetType = UNSET
    to: Annotated[str, Meta(description="The new name.", min_length=1, max_length=200)] | UnsetType = UNSET
    public: (
        Annotated[Public, Meta(description="Whether the name for others changes; default keep.")] | UnsetType
    ) = UNSET
    also: (
        Annotated[list[str], Meta(description="Unproven places to rename too.", max_length=MOST_PLACES)]
        | UnsetType
    ) = UNSET
    leave: (
        Annotated[list[str], Meta(description="Unproven places to leave.", max_length=MOST_PLACES)]
        | UnsetType
    ) = msgspec.field(default=UNSET, name="not")
    accept: (
        Annotated[str, Meta(description="Token that leaves all unproven places.", max_length=100)] | UnsetType
    ) = UNSET
    names: (
        Annotated[list[str], Meta(description="Several to locate.", max_length=MOST_LOCATED)] | UnsetType
    ) = UNSET
    hash: (
        Annotated[list[MintedId], Meta(description="Only with these hashes.", max_length=MOST_LOCATED)]
        | UnsetType
    ) = UNSET
    span: Annotated[str, Meta(description="Only in bytes A:B.", max_length=40)] | UnsetType = UNSET
    changes: (
        Annotated[
            list[AskedChange], Meta(description="Several edits in one preview.", max_length=MOST_CHANGES)
        ]
        | UnsetType
    ) = UNSET
    fix: Annotated[bool, Meta(description="Write it; needs its apply token.")] | UnsetType = UNSET


def edit_code(rt: WritePorts, request: EditCode) -> Success:
    """Locate, show or apply.

    Raises Fault E_USAGE, E_NOT_FOUND, E_VALIDATION, EDIT_REFUSED, E_CONFIRMATION_REQUIRED, E_IO, for a write
    RESULTS_STALE, and what a token that is not accepted raises.
    """
    call = CodeCall(rt, request, COMMAND)
    if call.resumed is None and request.fix is True:
        raise _refuse_without_token()
    mode = _find_mode(call.given) if call.resumed is None else ""
    if call.resumed is not None:
        require_fix(call.resumed, is_fix=request.fix is True)
        if request.fix is True:  # a preview was of the files as they were before a process was killed
            rt.worktree().settle(call.project)
    return call.read(lambda source: Editing(call, source).answer(mode))


def _find_mode(given: Mapping[str, Json]) -> str:
    """Exactly one mode; a hash, a span or names alone locate. Raises Fault E_USAGE."""
    named = [mode for mode in _MODES if mode in given]
    if len(named) > 1:
        raise refuse_without_mode()
    if named:
        return named[0]
    if {"hash", "span", "names"} & given.keys():
        return "locate"
    raise refuse_without_mode()


def _refuse_without_token() -> Fault:
    return Fault(
        E_CONFIRMATION_REQUIRED,
        "--fix writes what a preview showed and needs its apply token. Nothing was written.",
        details={"missing": "continuation", "effect": "ack"},
        hint="Send the same call without --fix, then its apply token with --fix.",
    )


OPERATION = Operation(
    name="code.edit",
    effect="ack",
    where="client",
    summary="Find a definition; edit it.",
    input=EditCode,
    output=LocatedCode,
    variants=(CodeContext, EditPreview, AppliedEdit, CancelledEdit),
    perform=edit_code,
    reads_without="fix",
    shape=Shape(
        levels={
            "minimal": (
                *("status", "location.id", "locations.id", "changes.file", "files_modified", "file_count"),
                *("complete", "warnings", "continuation_tokens"),
            ),
            "standard": None,
            "full": None,
        },
        select="top",
        untrusted=(
            "location.signature",
            "locations.signature",
            "text",
            "changes.hunks",
            "diff",
        ),
    ),
    errors=(
        E_CONFLICT.code,
        EDIT_REFUSED.code,
        E_CONFIRMATION_REQUIRED.code,
        "INVALID_TOKEN",
        "TOKEN_EXPIRED",
        "ACTION_NOT_ALLOWED",
        RESULTS_STALE.code,
        "KEYRING_INVALID",
    ),
)
