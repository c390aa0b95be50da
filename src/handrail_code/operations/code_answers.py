"""What `code.scan` and `code.edit` have in common: the frame of an answer, its tokens, and unsure places."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.catalogue import E_NOT_FOUND, EDIT_REFUSED
from handrail.contract.json.canonical import digest as digest_json
from handrail.contract.outcome import Answer, Fault, Json, Success, make_from
from handrail.contract.tokens.continuation import Continuation, NextAction, Stale, stale_warning
from handrail_code.facts.join import Found, Reference
from handrail_code.facts.python_words import is_python
from handrail_code.facts.source import Source, line_and_column
from handrail_code.facts.spelled_names import Trouble
from handrail_code.operations.continuing import NOTHING, Resumed, TokenDesk
from handrail_code.operations.named_symbols import describe_definition
from handrail_code.operations.project_source import ProjectSource, count_skipped

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


class Frame(msgspec.Struct, frozen=True, kw_only=True):
    """What the frame of one answer is made of."""

    desk: TokenDesk
    resumed: Resumed | None
    wants_tokens: bool
    """Asked for, or the call came with a token: who picks goes on picking."""
    stale: Stale | None = None


def answer(frame: Frame, bare: BareAnswer, source: Source) -> Success:
    """The answer in its frame: what was asked for comes first, tokens last."""
    tokens = _mint(frame, bare) if frame.wants_tokens else {}
    listed = [make_from(OfferedAction, offer.action) for offer in bare.offers if frame.wants_tokens]
    reasons = list(dict.fromkeys(bare.reasons))
    whole = bare.kind(
        status="warning" if frame.stale is not None else bare.status,
        **bare.fields,
        complete=not reasons,
        reasons=reasons[:MOST_REASONS],
        reason_count=len(reasons),
        skipped=count_skipped(source.skipped()),
        warnings=[*_list_warnings(frame)],
        continuation_tokens=tokens,
        next_actions=listed,
    )
    data = msgspec.to_builtins(whole)
    first = ("status", *bare.fields)
    return Success(
        data={name: data[name] for name in (*first, *(name for name in _LAST if name not in first))}
    )


def _list_warnings(frame: Frame) -> Iterator[dict[str, Json]]:
    if frame.stale is not None:
        yield stale_warning(frame.stale)
    if frame.desk.is_half_written():
        yield {"code": "UNFINISHED_WRITE", "message": _UNFINISHED}


Perform: TypeAlias = Callable[[str, Mapping[str, Json]], BareAnswer]
"""One read, by its name and what it is asked."""


def go_on(desk: TokenDesk, resumed: Resumed, source: ProjectSource, perform: Perform) -> Success:
    """What a token stands for, on the files as they are now; it says so where they have changed.

    Raises Fault E_NOT_FOUND where what the token is about is gone.
    """
    held = resumed.continuation
    stale = None
    try:
        if held.context.results_digest:
            stale = desk.find_stale(resumed, _find_digest_now(held, perform))
        bare = perform(resumed.action_name, resumed.parameters)
    except Fault as fault:
        raise desk.refuse_gone(resumed, source.entries) if fault.kind is E_NOT_FOUND else fault from None
    return answer(Frame(desk=desk, resumed=resumed, wants_tokens=True, stale=stale), bare, source)


def _find_digest_now(held: Continuation, perform: Perform) -> str:
    """Of what the token was minted with, done again."""
    try:
        return perform(held.action, held.parameters).find_digest()
    except Fault as fault:
        if fault.kind is not EDIT_REFUSED:
            raise
        return NOTHING


def _mint(frame: Frame, bare: BareAnswer) -> dict[str, str]:
    digest = bare.find_digest()
    tokens: dict[str, str] = {}
    is_preview = any(offer.action.guard for offer in bare.offers)
    preview = frame.desk.name_preview(frame.resumed) if is_preview else ""
    for offer in bare.offers:
        given = [offer.action]
        if offer.located:
            tokens |= frame.desk.mint(
                "locate", offer.parameters, offer.located, given, frame.resumed, command="js-edit"
            )
        else:
            asked = {**bare.parameters, **offer.parameters}
            tokens |= frame.desk.mint(bare.action, asked, digest, given, frame.resumed, preview=preview)
    return tokens


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


def plain_fields(request: msgspec.Struct, control: frozenset[str]) -> Mapping[str, Json]:
    """What the caller gave, by the names that tokens use, without what only steers the call."""
    return {
        field: msgspec.to_builtins(value)
        for field in request.__struct_fields__
        if field not in control and (value := getattr(request, field)) is not msgspec.UNSET
    }
