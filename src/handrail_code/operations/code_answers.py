"""What `code.scan` and `code.edit` have in common: the frame of an answer, its tokens, and unsure places."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_NOT_FOUND, EDIT_REFUSED
from handrail.contract.json.canonical import digest as digest_json
from handrail.contract.outcome import Answer, Fault, Json, Success, make_from
from handrail.contract.parameters import ProjectPath, TokenText
from handrail.contract.tokens.continuation import Continuation, NextAction, Stale, stale_warning
from handrail.runtime.operation import Input
from handrail.runtime.runtime import WritePorts, project_of
from handrail_code.facts.join import Found, Reference
from handrail_code.facts.python_words import is_python
from handrail_code.facts.source import Source, line_and_column
from handrail_code.facts.spelled_names import Trouble
from handrail_code.operations.continuing import NOTHING, Resumed, TokenDesk
from handrail_code.operations.named_symbols import describe_definition, settle_files
from handrail_code.operations.project_source import (
    AskedLanguage,
    ProjectSource,
    count_skipped,
    list_languages,
    read_sources,
)

_LAST = (
    *("complete", "reasons", "reason_count", "skipped", "warnings"),
    *("next_actions", "continuation_tokens"),
)

MOST_REASONS = 20
"""Reasons that one answer names; the others are counted."""

Status: TypeAlias = Literal["success", "preview", "warning", "cancelled"]


class OfferedAction(Answer, frozen=True, kw_only=True):
    """What a token is for."""

    id: str
    label: str
    guard: bool


class UnsurePlace(Answer, frozen=True, kw_only=True):
    """A place that cannot be judged, and why."""

    code: str
    file: str
    line: int
    """0 for the file as a whole."""
    column: int


class CodeAnswer(Answer, frozen=True, kw_only=True):
    """The frame of every answer about code."""

    status: Status
    complete: bool
    """Whether this is certainly all."""
    reasons: list[UnsurePlace]
    """Why not; the first few."""
    reason_count: int
    skipped: dict[str, int]
    """Files that were not looked at, counted by reason."""
    warnings: list[dict[str, Json]]
    continuation_tokens: dict[str, str]
    next_actions: list[OfferedAction]


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """A next action, and the parameters that it needs beside those that led here."""

    action: NextAction
    parameters: dict[str, Json] = {}
    located: str = ""
    """Where it is an action of js-edit: the digest of the location that it would have answered with."""


class BareAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer without its frame."""

    kind: type[CodeAnswer]
    fields: dict[str, Any]
    results: Json = None
    """What tokens are bound to."""
    digest: str = ""
    """Of the results, where it is not that of `results`."""
    action: str
    """What was done, for tokens."""
    parameters: dict[str, Json]
    """What leads here again."""
    offers: Sequence[Offer]
    status: Status = "success"
    reasons: Sequence[UnsurePlace] = ()

    def find_digest(self) -> str:
        return self.digest or digest_json(self.results)


_UNFINISHED = (
    "A program was killed while it wrote files of this project: some are written, some are not. Send its "
    "apply token with --fix again; any other --fix takes back what an edit wrote, before it does its own."
)


Perform: TypeAlias = Callable[[str, Mapping[str, Json]], BareAnswer]
"""One read, by its name and what it is asked."""


class AskedOfCode(Input, frozen=True, kw_only=True):
    """What every call about code may give beside its question."""

    continuation: Annotated[TokenText, Meta(description="A token of an answer.")] | UnsetType = UNSET
    refetch: Annotated[bool, Meta(description="Get what it left out.")] | UnsetType = UNSET
    refresh: Annotated[bool, Meta(description="Renew a token.")] | UnsetType = UNSET
    ai_mode: Annotated[bool, Meta(description="Add tokens.")] | UnsetType = UNSET
    languages: (
        Annotated[list[AskedLanguage], Meta(description="Only these languages.", max_length=2)] | UnsetType
    ) = UNSET
    project: ProjectPath | UnsetType = UNSET


_CONTROL = frozenset({*AskedOfCode.__struct_fields__, "fix"})


def plain_fields(request: msgspec.Struct) -> dict[str, Json]:
    """What the caller gave, by the names that tokens use, without what only steers the call."""
    return {
        field: msgspec.to_builtins(value)
        for field in request.__struct_fields__
        if field not in _CONTROL and (value := getattr(request, field)) is not UNSET
    }


class CodeCall:
    """One call about code: what it gives, what its token stands for, and the frame of its answer."""

    def __init__(self, rt: WritePorts, request: AskedOfCode, command: str) -> None:
        self.rt = rt
        self.project = project_of(rt, request.project)
        self.desk = TokenDesk(rt, self.project, command)
        self.given = plain_fields(request)
        self.resumed: Resumed | None = None
        self._request = request
        if request.continuation is not UNSET:
            is_refetch, is_refresh = request.refetch is True, request.refresh is True
            self.resumed = self.desk.resume(
                request.continuation, self.given, is_refetch=is_refetch, is_refresh=is_refresh
            )

    def read(self, work: Callable[[ProjectSource], Success]) -> Success:
        """Do it on the files as they are now."""
        subject = "" if self.resumed is None else self.resumed.file
        return read_sources(self.rt, self.project, work, list_languages(self._request.languages, subject))

    def perform(self, source: ProjectSource, mode: str, perform: Perform) -> Success:
        """What is asked, or what the token stands for; it says so where the files have changed since.

        Raises Fault E_NOT_FOUND where what the token is about is gone.
        """
        resumed, stale = self.resumed, None
        if resumed is None:
            settled = settle_files(self.rt, self.project, source, self.given)
            return self.answer(perform(mode, settled), source)
        held = resumed.continuation
        try:
            if held.context.results_digest:
                stale = self.desk.find_stale(resumed, _find_digest_now(held, perform))
            bare = perform(resumed.action_name, resumed.parameters)
        except Fault as fault:
            is_gone = fault.kind is E_NOT_FOUND
            raise self.desk.refuse_gone(resumed, source.entries) if is_gone else fault from None
        return self.answer(bare, source, stale)

    def answer(self, bare: BareAnswer, source: Source, stale: Stale | None = None) -> Success:
        """The answer in its frame: what was asked for comes first, tokens last."""
        # Asked for, or the call came with a token: who picks goes on picking.
        offers = bare.offers if self.resumed is not None or self._request.ai_mode is True else ()
        reasons = list(dict.fromkeys(bare.reasons))
        warnings: list[dict[str, Json]] = [] if stale is None else [stale_warning(stale)]
        if self.desk.is_half_written():
            warnings.append({"code": "UNFINISHED_WRITE", "message": _UNFINISHED})
        whole = bare.kind(
            status="warning" if stale is not None else bare.status,
            **bare.fields,
            complete=not reasons,
            reasons=reasons[:MOST_REASONS],
            reason_count=len(reasons),
            skipped=count_skipped(source.skipped()),
            warnings=warnings,
            continuation_tokens=self._mint(bare, offers),
            next_actions=[make_from(OfferedAction, offer.action) for offer in offers],
        )
        data = msgspec.to_builtins(whole)
        first = ("status", *bare.fields)
        return Success(
            data={name: data[name] for name in (*first, *(name for name in _LAST if name not in first))}
        )

    def _mint(self, bare: BareAnswer, offers: Sequence[Offer]) -> dict[str, str]:
        digest = bare.find_digest() if offers else ""
        tokens: dict[str, str] = {}
        is_preview = any(offer.action.guard for offer in offers)
        preview = self.desk.name_preview(self.resumed) if is_preview else ""
        for offer in offers:
            led = (bare.action, {**bare.parameters, **offer.parameters}, digest)
            own: dict[str, Any] = {"preview": preview}
            if offer.located:
                led, own = ("locate", offer.parameters, offer.located), {"command": "js-edit"}
            tokens[offer.action.id] = self.desk.mint(*led, offer.action, self.resumed, **own)
        return tokens


def _find_digest_now(held: Continuation, perform: Perform) -> str:
    """Of what the token was minted with, done again."""
    try:
        return perform(held.action, held.parameters).find_digest()
    except Fault as fault:
        if fault.kind is not EDIT_REFUSED:
            raise
        return NOTHING


def offer_locate(source: Source, found: Found, action_id: str) -> Offer:
    """Locating is where an edit begins; also a token of the other tool."""
    location = describe_definition(source, found)
    tool = "handrail code explain" if is_python(found.path) else "js-edit"
    return Offer(
        action=NextAction(id=action_id, label=f"Locate it with {tool}, to edit it"),
        parameters={"file": found.path, "locate": found.definition.name, "target": location.id},
        located=digest_json(msgspec.to_builtins(location)),
    )


def describe_unsure(source: Source, places: Sequence[Reference | Trouble]) -> list[UnsurePlace]:
    """Where they are; sorted."""
    found = {_describe(source, one) for one in places}
    return sorted(found, key=lambda one: (one.file, one.line, one.column, one.code))


def _describe(source: Source, place: Reference | Trouble) -> UnsurePlace:
    code = place.level if isinstance(place, Reference) else place.code
    if place.end == 0:
        return UnsurePlace(code=code, file=place.path, line=0, column=0)
    line, column = line_and_column(source.text(place.path) or b"", place.start)
    return UnsurePlace(code=code, file=place.path, line=line, column=column)
