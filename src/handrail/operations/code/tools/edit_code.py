"""`code.edit`: find a definition, show an edit of it, and apply what was shown (CONT 4.2, 4.3, 6.2).

Without `fix` nothing is written. A preview is computed from the files as they are; its apply token is bound
to the bytes of every file before and after, works once, and is compared with a preview computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.code_tools.facts.join import Found, Project
from handrail.code_tools.facts.source import Source
from handrail.code_tools.scan.ids import make_id
from handrail.contract.catalogue import (
    E_CONFIRMATION_REQUIRED,
    E_CONFLICT,
    E_IO,
    E_NOT_FOUND,
    E_USAGE,
    EDIT_REFUSED,
    RESULTS_STALE,
)
from handrail.contract.disclosure.fields import Shape
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, Json, NextCall, Success
from handrail.contract.tokens.continuation import (
    LIFETIME_SECONDS,
    NextAction,
    Stale,
    stale_refusal,
)
from handrail.operations.code.tools.code_answers import (
    Frame,
    Offer,
    Told,
    UnsurePlace,
    answer,
    describe_unsure,
    plain_fields,
)
from handrail.operations.code.tools.continuing import NOTHING, Resumed, TokenDesk, require_fix
from handrail.operations.code.tools.edit_answers import (
    AppliedEdit,
    CancelledEdit,
    CodeContext,
    EditedItem,
    EditPreview,
    LocatedCode,
)
from handrail.operations.code.tools.edit_plans import PLANS, make_plan
from handrail.operations.code.tools.named_symbols import (
    Wanted,
    describe_definition,
    find_one,
    list_definitions,
    refuse_unknown,
)
from handrail.operations.code.tools.planned_files import (
    MOST_CHANGED_FILES,
    MOST_PREVIEW_BYTES,
    MOST_SHOWN_DIFF_BYTES,
    PlannedFile,
    describe_files,
    digest_plan,
    plan_files,
    write_plan,
)
from handrail.operations.code.tools.project_source import ProjectSource, read_edited, read_sources
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import Runtime, project_of

COMMAND = "js-edit"
MOST_LOCATED = 50
"""Definitions that one call locates."""
MOST_CHANGES = 100
"""Edits of one batch."""
MOST_UNTOUCHED = 50
"""Places that a preview names beside those that it changes; the others are counted."""
MOST_CONTEXT_BYTES = 8_000
"""Of the text around a definition."""
_CONTEXT_LINES = 5

_MODES = ("locate", "context", "extract", "rename", "changes")
_CONTROL = frozenset({"continuation", "refetch", "refresh", "fix", "ai_mode", "project"})
_PREVIEWS = (
    NextAction(id="extract_preview", label="Preview moving it to a module of its own"),
    NextAction(id="rename_preview", label="Preview a rename; add --to NEW"),
)


class AskedChange(Input, frozen=True, kw_only=True):
    """One edit of a batch."""

    rename: Annotated[str, Meta(description="The name or id.", min_length=1, max_length=1000)]
    to: Annotated[str, Meta(description="The new name.", min_length=1, max_length=200)]
    file: Annotated[str, Meta(description="Its file.", max_length=1000)] | UnsetType = UNSET


class EditCode(Input, frozen=True, kw_only=True):
    """What to find or to change."""

    file: Annotated[str, Meta(description="The file it is in.", max_length=1000)] | UnsetType = UNSET
    locate: Annotated[str, Meta(description="Where it is defined.", max_length=1000)] | UnsetType = UNSET
    context: (
        Annotated[str, Meta(description="Its text and what is around it.", max_length=1000)] | UnsetType
    ) = UNSET
    extract: (
        Annotated[str, Meta(description="Preview a move to its own module.", max_length=1000)] | UnsetType
    ) = UNSET
    to_module: (
        Annotated[str, Meta(description="The new module; default beside its file.", max_length=1000)]
        | UnsetType
    ) = UNSET
    rename: (
        Annotated[str, Meta(description="Preview a rename in all files.", max_length=1000)] | UnsetType
    ) = UNSET
    to: Annotated[str, Meta(description="The new name.", min_length=1, max_length=200)] | UnsetType = UNSET
    names: (
        Annotated[list[str], Meta(description="Several names to locate.", max_length=MOST_LOCATED)]
        | UnsetType
    ) = UNSET
    hash: (
        Annotated[list[str], Meta(description="Only with these hashes.", max_length=MOST_LOCATED)] | UnsetType
    ) = UNSET
    span: (
        Annotated[str, Meta(description="Only between two offsets in bytes, A:B.", max_length=40)] | UnsetType
    ) = UNSET
    changes: (
        Annotated[
            list[AskedChange], Meta(description="Several edits in one preview.", max_length=MOST_CHANGES)
        ]
        | UnsetType
    ) = UNSET
    continuation: Annotated[str, Meta(description="A token of an earlier answer.")] | UnsetType = UNSET
    refetch: Annotated[bool, Meta(description="Repeat what it left out.")] | UnsetType = UNSET
    refresh: Annotated[bool, Meta(description="Renew an expired token.")] | UnsetType = UNSET
    fix: (
        Annotated[bool, Meta(description="Write what the preview showed; needs its apply token.")] | UnsetType
    ) = UNSET
    ai_mode: Annotated[bool, Meta(description="Add tokens.")] | UnsetType = UNSET
    project: Annotated[str, Meta(description="Project directory.")] | UnsetType = UNSET


class _Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """An edit as computed right now."""

    items: list[EditedItem]
    files: tuple[PlannedFile, ...]
    untouched: list[UnsurePlace]
    reasons: list[UnsurePlace]

    @property
    def digest(self) -> str:
        return digest_plan(self.files)


def edit_code(rt: Runtime, request: EditCode) -> Success:
    """Locate, show or apply.

    Raises Fault E_USAGE, E_NOT_FOUND, E_VALIDATION, EDIT_REFUSED, E_CONFIRMATION_REQUIRED, E_IO, for a write
    RESULTS_STALE, and what a token that is not accepted raises.
    """
    project = project_of(rt, request.project)
    desk = TokenDesk(rt, project, COMMAND)
    given = plain_fields(request, _CONTROL)
    resumed = None
    if request.continuation is not UNSET:
        resumed = desk.resume(
            request.continuation,
            given,
            is_refetch=request.refetch is True,
            is_refresh=request.refresh is True,
        )
        require_fix(resumed, is_fix=request.fix is True)
    elif request.fix is True:
        raise _refuse_without_token()

    def edit(source: ProjectSource) -> Success:
        editing = _Editing(rt, project, desk, source)
        if resumed is None:
            frame = Frame(desk=desk, resumed=None, wants_tokens=request.ai_mode is True)
            return answer(frame, editing.perform(_find_mode(given), given), source)
        return editing.go_on(resumed)

    return read_sources(rt, project, edit)


class _Editing:
    """One call on one state of the files."""

    def __init__(self, rt: Runtime, project: str, desk: TokenDesk, source: ProjectSource) -> None:
        self._rt = rt
        self._root = project
        self._desk = desk
        self._source = source

    def go_on(self, resumed: Resumed) -> Success:
        """What the token stands for, on the files as they are now."""
        try:
            if resumed.action.guard:
                return self._apply(resumed)
            stale = self._find_stale(resumed)
            told = self.perform(resumed.action_name, resumed.parameters)
        except Fault as fault:
            if fault.kind is E_NOT_FOUND:
                raise self._desk.refuse_gone(resumed, self._source.entries) from None
            raise
        frame = Frame(desk=self._desk, resumed=resumed, wants_tokens=True, stale=stale)
        return answer(frame, told, self._source)

    def perform(self, action: str, asked: Mapping[str, Json]) -> Told:
        """One read."""
        match action:
            case "locate":
                return self._locate(asked)
            case "context":
                return self._show_context(asked)
            case "cancel":
                return self._cancel(asked)
            case "show_diff":
                return self._preview(asked, most_bytes=MOST_SHOWN_DIFF_BYTES)
            case _:
                return self._preview(asked, action.removesuffix("_preview"))

    def _find_stale(self, resumed: Resumed) -> Stale | None:
        """Whether what the token was minted with is still so."""
        held = resumed.continuation
        if not held.context.results_digest:
            return None
        try:
            actual = self.perform(held.action, held.parameters).find_digest()
        except Fault as fault:
            if fault.kind is not EDIT_REFUSED:
                raise
            actual = NOTHING
        return self._desk.find_stale(resumed, actual)

    def _locate(self, asked: Mapping[str, Json]) -> Told:
        names = asked.get("names", [])
        hashes = asked.get("hash", [])
        is_several = len(names) > 1 or (not names and len(hashes) > 1)
        if not is_several:
            name = str(asked.get("locate", "") or (names[0] if names else ""))
            found = self._find(asked, name)
            location = describe_definition(self._source, found)
            return Told(
                kind=LocatedCode,
                fields={"location": location, "locations": []},
                results=msgspec.to_builtins(location),
                action="locate",
                parameters=_name_target(asked, "locate", found),
                offers=_after_locating(found),
            )
        found_ones = [self._find(asked, name) for name in names] or list_definitions(
            self._source, Wanted(file=str(asked.get("file", "")), hashes=tuple(hashes))
        )
        if not found_ones:
            raise refuse_unknown(self._source, Wanted(file=str(asked.get("file", "")), hashes=tuple(hashes)))
        locations = [describe_definition(self._source, one) for one in found_ones[:MOST_LOCATED]]
        return Told(
            kind=LocatedCode,
            fields={"location": None, "locations": locations},
            results=msgspec.to_builtins(locations),
            action="locate",
            parameters=dict(asked),
            offers=(),
        )

    def _find(self, asked: Mapping[str, Json], name: str) -> Found:
        target = str(asked.get("target", ""))
        if target:
            return find_one(self._source, Wanted(name=target))
        wanted = Wanted(
            name=name,
            file=str(asked.get("file", "")),
            hashes=tuple(asked.get("hash", ())),
            span=str(asked.get("span", "")),
        )
        if not (wanted.name or wanted.hashes or wanted.span):
            raise _refuse_without_mode()
        return find_one(self._source, wanted)

    def _show_context(self, asked: Mapping[str, Json]) -> Told:
        found = self._find(asked, str(asked.get("context", "")))
        location = describe_definition(self._source, found)
        lines = (self._source.text(found.path) or b"").decode("utf-8", "replace").split("\n")
        first = max(0, location.line - 1 - _CONTEXT_LINES)
        text = "\n".join(lines[first : location.end_line + _CONTEXT_LINES])
        cut = text.encode()[:MOST_CONTEXT_BYTES].decode("utf-8", "ignore")
        fields: dict[str, Any] = {
            "location": location,
            "first_line": first + 1,
            "text": cut,
            "truncated": cut != text,
        }
        return Told(
            kind=CodeContext,
            fields=fields,
            results=[msgspec.to_builtins(location), text],
            action="context",
            parameters=_name_target(asked, "context", found),
            offers=_after_locating(found)[1:],
        )

    def _preview(self, asked: Mapping[str, Json], action: str = "", most_bytes: int = 0) -> Told:
        action = action or ("changes" if "changes" in asked else _edit_of(asked))
        prepared, parameters = self._prepare(action, asked)
        is_diff = most_bytes > 0
        changes = describe_files(prepared.files, most_bytes or MOST_PREVIEW_BYTES)
        fields: dict[str, Any] = {
            "action": action,
            "items": prepared.items,
            "changes": [msgspec.structs.replace(one, hunks="") for one in changes] if is_diff else changes,
            "file_count": len(changes),
            "edit_count": sum(item.edits for item in prepared.items),
            "untouched": prepared.untouched[:MOST_UNTOUCHED],
            "untouched_count": len(prepared.untouched),
            "diff": "".join(one.hunks for one in changes) if is_diff else "",
        }
        offers = [
            Offer(action=NextAction(id="apply", label="Write it; add --fix", guard=True)),
            Offer(action=NextAction(id="show_diff", label="Show the full diff")),
            Offer(action=NextAction(id="cancel", label="Leave everything as it is")),
        ]
        return Told(
            kind=EditPreview,
            status="preview",
            fields=fields,
            digest=prepared.digest,
            action=f"{action}_preview",
            parameters=parameters,
            offers=tuple(offers if prepared.files else offers[1:]),
            reasons=prepared.reasons,
        )

    def _prepare(self, action: str, asked: Mapping[str, Json]) -> tuple[_Prepared, dict[str, Json]]:
        """The edit, and the parameters that lead to it again. Raises Fault E_NOT_FOUND, EDIT_REFUSED."""
        if action == "changes":
            return self._prepare_batch(asked["changes"]), {"changes": asked["changes"]}
        name = str(asked.get(action, "") or asked.get("locate", "") or asked.get("context", ""))
        found = self._find(asked, name)
        parameters: dict[str, Json] = {
            "file": found.path,
            action: found.definition.name,
            "target": make_id(found),
        }
        parameters |= {name: asked[name] for name in ("to", "to_module") if name in asked}
        planned = make_plan(Project(self._source), self._source, action, found, asked)
        item = EditedItem(
            action=action, id=make_id(found), to=str(asked.get("to", "")), edits=len(planned.plan.edits)
        )
        untouched = describe_unsure(self._source, planned.plan.untouched)
        reasons = describe_unsure(self._source, planned.plan.reasons)
        return self._put_together([item], planned.texts, untouched, reasons), parameters

    def _prepare_batch(self, changes: Sequence[Mapping[str, Json]]) -> _Prepared:
        """One edit after the other, each on what the ones before it would leave."""
        items: list[EditedItem] = []
        untouched: list[UnsurePlace] = []
        reasons: list[UnsurePlace] = []
        texts: dict[str, bytes] = {}
        for change in changes:
            source: Source = read_edited(self._source, texts) if texts else self._source
            wanted = Wanted(name=str(change["rename"]), file=str(change.get("file", "")))
            found = find_one(source, wanted)
            planned = make_plan(Project(source), source, "rename", found, change)
            texts |= planned.texts
            items.append(
                EditedItem(
                    action="rename", id=make_id(found), to=str(change["to"]), edits=len(planned.plan.edits)
                )
            )
            untouched += describe_unsure(source, planned.plan.untouched)
            reasons += describe_unsure(source, planned.plan.reasons)
        return self._put_together(items, texts, untouched, reasons)

    def _put_together(
        self,
        items: list[EditedItem],
        texts: Mapping[str, bytes],
        untouched: list[UnsurePlace],
        reasons: list[UnsurePlace],
    ) -> _Prepared:
        if len(texts) > MOST_CHANGED_FILES:
            raise Fault(
                EDIT_REFUSED,
                f"The edit would change {len(texts)} files, more than {MOST_CHANGED_FILES}.",
                details={"reason": "too_many"},
            )
        old = {path: text for path in texts if (text := self._source.text(path)) is not None}
        files = plan_files(self._source.entries, old, texts)
        return _Prepared(items=items, files=files, untouched=untouched, reasons=reasons)

    def _cancel(self, asked: Mapping[str, Json]) -> Told:
        return Told(
            kind=CancelledEdit,
            status="cancelled",
            fields={"message": "Nothing was written."},
            results={},
            action="cancel",
            parameters=dict(asked),
            offers=(),
        )

    def _apply(self, resumed: Resumed) -> Success:
        """Write exactly what the preview showed. Raises Fault RESULTS_STALE, E_NOT_FOUND, E_IO."""
        held = resumed.continuation
        action = held.action.removesuffix("_preview")
        try:
            prepared, _ = self._prepare(action, resumed.parameters)
        except Fault as fault:
            file = held.parameters.get("file", "")
            is_there = not file or file in self._source.entries
            if fault.kind is EDIT_REFUSED or (fault.kind is E_NOT_FOUND and is_there):
                raise self._refuse_stale(resumed, NOTHING) from fault
            raise
        if prepared.digest != held.context.results_digest:
            raise self._refuse_stale(resumed, prepared.digest)
        now = self._rt.clock.unix_seconds()
        fingerprint = digest(resumed.digest).rpartition(":")[2]
        claim = self._rt.confirmed.claim(fingerprint, expires_at=now + LIFETIME_SECONDS, now=now)
        if claim.state == "already_used" or write_plan(self._rt, self._root, prepared.files):
            raise self._refuse_stale(resumed, NOTHING)
        files = [one.before.path for one in prepared.files]
        self._rt.commits.note(NextCall(operation="code.scan", params={"outline": files[0]}))
        told = Told(
            kind=AppliedEdit,
            fields={"action": action, "files_modified": files},
            results=files,
            action=action,
            parameters={},
            offers=(),
            reasons=prepared.reasons,
        )
        return answer(Frame(desk=self._desk, resumed=resumed, wants_tokens=False), told, self._source)

    def _refuse_stale(self, resumed: Resumed, actual: str) -> Fault:
        stale = self._desk.find_stale(resumed, actual)
        assert stale is not None, "a preview has a digest, and this is another one"
        return stale_refusal(stale)


def _find_mode(given: Mapping[str, Json]) -> str:
    """Exactly one mode; a hash, a span or names alone locate. Raises Fault E_USAGE."""
    named = [mode for mode in _MODES if mode in given]
    if len(named) > 1:
        raise _refuse_without_mode()
    if named:
        return named[0]
    if {"hash", "span", "names"} & given.keys():
        return "locate"
    raise _refuse_without_mode()


def _edit_of(asked: Mapping[str, Json]) -> str:
    return next(action for action in PLANS if action in asked)


def _after_locating(found: Found) -> tuple[Offer, ...]:
    del found
    return (
        Offer(action=NextAction(id="context", label="Show its text")),
        *(Offer(action=action) for action in _PREVIEWS),
    )


def _name_target(asked: Mapping[str, Json], action: str, found: Found) -> dict[str, Json]:
    """What leads to this definition again, as a command line says it, and its id."""
    kept = {name: value for name, value in asked.items() if name in ("hash", "span")}
    return kept | {"file": found.path, action: found.definition.name, "target": make_id(found)}


def _refuse_without_mode() -> Fault:
    return Fault(
        E_USAGE,
        "Say one thing to do: --locate, --context, --extract, --rename, --changes or --continuation.",
        details={"usage": "--file FILE --locate NAME"},
        hint="Locate a definition first; its answer has tokens for what can be done with it.",
    )


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
    summary="Find a definition in JavaScript or TypeScript; preview and apply a rename or an extraction.",
    input=EditCode,
    output=LocatedCode,
    variants=(CodeContext, EditPreview, AppliedEdit, CancelledEdit),
    perform=edit_code,
    reads_without="fix",
    shape=Shape(
        levels={
            "minimal": (
                "status",
                "location.id",
                "locations.id",
                "changes.file",
                "files_modified",
                "file_count",
                "complete",
                "warnings",
                "continuation_tokens",
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
        "VALIDATION_ERROR",
        E_USAGE.code,
        E_NOT_FOUND.code,
        E_CONFLICT.code,
        E_IO.code,
        EDIT_REFUSED.code,
        E_CONFIRMATION_REQUIRED.code,
        "INVALID_TOKEN",
        "TOKEN_EXPIRED",
        "ACTION_NOT_ALLOWED",
        RESULTS_STALE.code,
        "KEYRING_INVALID",
    ),
)
