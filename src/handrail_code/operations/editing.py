"""The actions of `code.edit`, each on one state of the files: locate, show, preview, apply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_NOT_FOUND, E_USAGE, EDIT_REFUSED
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, Json, NextCall, Success
from handrail.contract.parameters import PathText
from handrail.contract.tokens.continuation import (
    LIFETIME_SECONDS,
    Continuation,
    NextAction,
    Stale,
    gone_refusal,
    has_results,
    stale_refusal,
    used_refusal,
)
from handrail.contract.wording import quote, shorten
from handrail.ports.worktree import READ_ONLY
from handrail.runtime.operation import Input
from handrail_code.facts.join import Found, Project
from handrail_code.facts.source import EditedSource, Source
from handrail_code.operations.code_answers import (
    BareAnswer,
    CodeCall,
    Offer,
    UnsurePlace,
    describe_unsure,
    offer_locate,
    plain_fields,
)
from handrail_code.operations.continuing import NOTHING, Resumed
from handrail_code.operations.edit_plans import PLANS, TARGETS, list_plans, make_plan
from handrail_code.operations.named_symbols import (
    Wanted,
    describe_definition,
    find_one,
    list_definitions,
    refuse_unknown,
)
from handrail_code.operations.planned_files import (
    MOST_CHANGED_FILES,
    MOST_PREVIEW_BYTES,
    MOST_SHOWN_DIFF_BYTES,
    AppliedEdit,
    CancelledEdit,
    CodeContext,
    EditedItem,
    EditPreview,
    LocatedCode,
    PlannedFile,
    describe_files,
    digest_plan,
    find_obstacles,
    plan_files,
    write_plan,
)
from handrail_code.operations.project_source import ProjectSource, find_skip_reason
from handrail_code.scan.ids import make_id

MOST_LOCATED = 50
"""Definitions that one call locates."""
MOST_PLACES = 1_000
"""Unproven places that one call answers."""
MOST_UNTOUCHED = 50
"""Places that a preview names beside those that it changes; the others are counted."""
MOST_CONTEXT_BYTES = 8_000
"""Of the text around a definition."""
_CONTEXT_LINES = 5
_OFFERED_AGAIN = 5
_HELPED_BY_ORDER = frozenset({"not_exported", "cycle"})
"""Refusals of a move that may go when what it needs has moved before it."""
_LABELS = {
    "extract": "Preview a module of its own",
    "replace": "Preview another text; add --with-file FILE",
    "rename": "Preview a rename; add --to NEW",
    "move": "Preview a move; add --to-module FILE",
}


Public: TypeAlias = Literal["keep", "follow"]


class AskedChange(Input, frozen=True, kw_only=True):
    """One edit of a batch: one of the four, and where it goes."""

    rename: Annotated[str, Meta(description="The name or id.", max_length=1000)] | UnsetType = UNSET
    move: Annotated[str, Meta(description="The same, to move it.", max_length=1000)] | UnsetType = UNSET
    extract: Annotated[str, Meta(description="To extract it.", max_length=1000)] | UnsetType = UNSET
    replace: Annotated[str, Meta(description="To replace it.", max_length=1000)] | UnsetType = UNSET
    file: Annotated[PathText, Meta(description="Its file.", max_length=1000)] | UnsetType = UNSET
    to: Annotated[str, Meta(description="The new name.", max_length=200)] | UnsetType = UNSET
    to_module: Annotated[PathText, Meta(description="The other module.", max_length=1000)] | UnsetType = UNSET
    with_text: Annotated[str, Meta(description="The new text.")] | UnsetType = UNSET
    export_needs: Annotated[bool, Meta(description="Export what it needs.")] | UnsetType = UNSET
    public: Annotated[Public, Meta(description="Of a rename: the name for others.")] | UnsetType = UNSET
    also: Annotated[list[str], Meta(description="Places to rename too.")] | UnsetType = UNSET
    leave: Annotated[list[str], Meta(description="Places to leave.")] | UnsetType = msgspec.field(
        default=UNSET, name="not"
    )
    accept: Annotated[str, Meta(description="Token that leaves all places.")] | UnsetType = UNSET


class _Prepared:
    """An edit as computed right now; of a batch, as far as it is computed."""

    def __init__(self) -> None:
        self.items: list[EditedItem] = []
        self.texts: dict[str, bytes] = {}
        self.removed: set[str] = set()
        self.places: list[tuple[str, str]] = []
        """The file and the name of each definition afterwards."""
        self.files: tuple[PlannedFile, ...] = ()
        self.untouched: list[UnsurePlace] = []
        self.untouched_count = 0
        self.reasons: list[UnsurePlace] = []

    @property
    def digest(self) -> str:
        return digest_plan(self.files)


class Editing:
    """One call on one state of the files."""

    def __init__(self, call: CodeCall, source: ProjectSource) -> None:
        self._call = call
        self._rt = call.rt
        self._source = source

    def answer(self, mode: str) -> Success:
        """What is asked, or what the token stands for, on the files as they are now."""
        resumed = self._call.resumed
        if resumed is not None and resumed.action.guard:
            return self._apply(resumed)
        success = self._call.perform(self._source, mode, self.perform)
        if resumed is not None and resumed.action.id == "cancel":
            now = self._rt.clock.unix_seconds()
            name = _mark_cancelled(resumed.continuation)
            self._rt.confirmed.claim(name, expires_at=now + LIFETIME_SECONDS, now=now)
        return success

    def perform(self, action: str, asked: Mapping[str, Json]) -> BareAnswer:
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

    def _locate(self, asked: Mapping[str, Json]) -> BareAnswer:
        names = asked.get("names", [])
        hashes = asked.get("hash", [])
        is_several = len(names) > 1 or (not names and len(hashes) > 1)
        if not is_several:
            name = str(asked.get("locate", "") or (names[0] if names else ""))
            found = self._find(asked, name)
            location = describe_definition(self._source, found)
            return BareAnswer(
                kind=LocatedCode,
                fields={"location": location, "locations": []},
                results=msgspec.to_builtins(location),
                action="locate",
                parameters=_name_target(asked, "locate", found),
                offers=self._offer_edits(found),
            )
        found_ones = [self._find(asked, name) for name in names] or list_definitions(
            self._source, Wanted(file=str(asked.get("file", "")), hashes=tuple(hashes))
        )
        if not found_ones:
            raise refuse_unknown(self._source, Wanted(file=str(asked.get("file", "")), hashes=tuple(hashes)))
        shown = found_ones[:MOST_LOCATED]
        locations = [describe_definition(self._source, one) for one in shown]
        return BareAnswer(
            kind=LocatedCode,
            fields={"location": None, "locations": locations},
            results=msgspec.to_builtins(locations),
            action="locate",
            parameters={"names": [one.id for one in locations]},
            offers=self._offer_together(shown),
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
            raise refuse_without_mode()
        return find_one(self._source, wanted)

    def _show_context(self, asked: Mapping[str, Json]) -> BareAnswer:
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
        return BareAnswer(
            kind=CodeContext,
            fields=fields,
            results=[msgspec.to_builtins(location), text],
            action="context",
            parameters=_name_target(asked, "context", found),
            offers=self._offer_edits(found)[:-1],
        )

    def _preview(self, asked: Mapping[str, Json], action: str = "", most_bytes: int = 0) -> BareAnswer:
        if len(asked.get("names", [])) > 1:
            action, asked = "changes", {"changes": self._order(_change_each(action, asked))}
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
            "untouched_count": prepared.untouched_count,
            "diff": "".join(one.hunks for one in changes) if is_diff else "",
        }
        offers = [
            Offer(action=NextAction(id="apply", label="Write it; add --fix", guard=True)),
            Offer(action=NextAction(id="show_diff", label="Show the full diff")),
            Offer(action=NextAction(id="cancel", label="Leave everything as it is")),
        ]
        return BareAnswer(
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
        kept = (TARGETS[action], "export_needs", "public", "also", "leave", "accept")
        parameters |= {name: asked[name] for name in kept if name in asked}
        prepared = _Prepared()
        self._add(prepared, self._source, action, found, asked)
        return self._put_together(prepared), parameters

    def _prepare_batch(self, changes: Sequence[Mapping[str, Json]]) -> _Prepared:
        """One edit after the other, each on what the ones before it would leave."""
        prepared = _Prepared()
        for at, change in enumerate(changes):
            self._add_change(prepared, change, at)
        return self._put_together(prepared)

    def _order(self, changes: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
        """So that what others need goes first. Raises Fault EDIT_REFUSED where no order helps."""
        prepared = _Prepared()
        waiting, ordered = list(changes), list[dict[str, Json]]()
        while waiting:
            refused: Fault | None = None
            for change in list(waiting):
                try:
                    self._add_change(prepared, change, changes.index(change))
                except Fault as fault:
                    if fault.details.get("reason") not in _HELPED_BY_ORDER:
                        raise
                    refused = refused or fault
                    continue
                waiting.remove(change)
                ordered.append(change)
                break
            else:
                assert refused is not None, "each change that waits was refused"
                raise refused
        return ordered

    def _add_change(self, prepared: _Prepared, change: Mapping[str, Json], at: int) -> None:
        asked = plain_fields(msgspec.convert(change, AskedChange))
        action = _edit_of(asked, at)
        source = EditedSource(self._source, prepared.texts) if prepared.texts else self._source
        try:
            found = find_one(source, Wanted(name=str(asked[action]), file=str(asked.get("file", ""))))
            self._add(prepared, source, action, found, asked)
        except Fault as fault:
            if fault.kind is EDIT_REFUSED:
                fault.details["item"] = at
                if fault.next_call is not None:  # it would make this one edit, without the others
                    fault.next_call, fault.hint = None, 'Add "exportNeeds": true to this edit.'
            raise

    def _add(
        self, prepared: _Prepared, source: Source, action: str, found: Found, asked: Mapping[str, Json]
    ) -> None:
        planned = make_plan(Project(source), action, found, asked)
        prepared.texts |= planned.texts
        prepared.removed -= planned.texts.keys()
        prepared.removed |= set(planned.plan.removed)
        is_moved = TARGETS[action] == "to_module"
        prepared.places.append(
            (
                planned.to if is_moved else found.path,
                planned.to if action == "rename" else found.definition.name,
            )
        )
        prepared.items.append(
            EditedItem(
                action=action,
                id=make_id(found),
                to=planned.to,
                edits=len(planned.plan.edits),
                unresolved=list(planned.plan.unresolved),
                note=planned.note,
            )
        )
        prepared.untouched += describe_unsure(source, planned.plan.untouched[:MOST_UNTOUCHED])
        prepared.untouched_count += len(planned.plan.untouched)
        prepared.reasons += describe_unsure(source, planned.plan.reasons)

    def _put_together(self, prepared: _Prepared) -> _Prepared:
        texts = prepared.texts
        if len(texts) > MOST_CHANGED_FILES:
            raise Fault(
                EDIT_REFUSED,
                f"The edit would change {len(texts)} files, more than {MOST_CHANGED_FILES}.",
                details={"reason": "too_many"},
            )
        old = {path: text for path in texts if (text := self._source.text(path)) is not None}
        prepared.files = plan_files(self._source.entries, old, texts, prepared.removed)
        self._refuse_places(prepared.files)
        return prepared

    def _refuse_places(self, files: Sequence[PlannedFile]) -> None:
        """A new file must be one that the tools see, and nothing may stand in its way; none is read-only."""
        new = [one for one in files if one.before.mode == "absent"]
        skipped = [(one.before.path, reason) for one in new if (reason := find_skip_reason(one.before.path))]
        found = [(path, f"files there are skipped ({reason})") for path, reason in skipped]
        obstacles = find_obstacles(self._rt, self._call.project, files)
        kept = next((one.path for one in obstacles if one.why == READ_ONLY), "")
        if kept:
            raise Fault(
                EDIT_REFUSED,
                f"The file {quote(kept)} is read-only.",
                details={"reason": "read_only", "file": shorten(kept)},
                hint="Make it writable if it is yours to change, then send the same call again.",
            )
        names = {one.before.path for one in new}
        found += [(one.path, one.why) for one in obstacles if one.path in names]
        if found:
            path, why = found[0]
            raise Fault(
                EDIT_REFUSED,
                f"The file {quote(path)} cannot be made: {why}.",
                details={"reason": "invalid_path", "file": shorten(path)},
                hint="Name another module.",
            )

    def _cancel(self, asked: Mapping[str, Json]) -> BareAnswer:
        return BareAnswer(
            kind=CancelledEdit,
            status="cancelled",
            fields={"message": "Nothing was written."},
            results={},
            action="cancel",
            parameters=dict(asked),
            offers=(),
        )

    def _apply(self, resumed: Resumed) -> Success:
        """Write exactly what the preview showed. Raises Fault RESULTS_STALE, E_IO."""
        held = resumed.continuation
        action = held.action.removesuffix("_preview")
        fingerprint = digest(resumed.digest).rpartition(":")[2]
        if self._rt.confirmed.is_used(fingerprint):
            raise used_refusal(self._find_stale(resumed, NOTHING), held)
        if self._rt.confirmed.is_used(_mark_cancelled(held)):
            raise stale_refusal(self._find_stale(resumed, NOTHING), "This edit was cancelled")
        try:
            prepared, _ = self._prepare(action, resumed.parameters)
        except Fault as fault:
            if fault.kind == E_NOT_FOUND:
                raise gone_refusal(self._find_stale(resumed, NOTHING), held) from fault
            if fault.kind == EDIT_REFUSED:
                raise stale_refusal(self._find_stale(resumed, NOTHING)) from fault
            raise
        if not held.context.results_digest or not has_results(held, prepared.digest):
            raise stale_refusal(self._find_stale(resumed, prepared.digest))
        now = self._rt.clock.unix_seconds()
        if write_plan(self._rt, self._call.project, prepared.files):
            raise stale_refusal(self._find_stale(resumed, NOTHING))
        # Used up by what it wrote: of several at once the files let one through, a killed one may come again.
        self._rt.confirmed.claim(fingerprint, expires_at=now + LIFETIME_SECONDS, now=now)
        files = [one.before.path for one in prepared.files]
        left = [one.before.path for one in prepared.files if not one.is_removed]
        self._rt.commits.note(NextCall(operation="code.scan", params={"outline": left[0]}))
        bare = BareAnswer(
            kind=AppliedEdit,
            fields={"action": action, "files_modified": files},
            results=files,
            action=action,
            parameters={},
            offers=self._offer_again(prepared),
            reasons=prepared.reasons,
        )
        return self._call.answer(bare, self._source)

    def _offer_again(self, prepared: _Prepared) -> list[Offer]:
        """What was edited can be edited again, where it is now."""
        source = EditedSource(self._source, prepared.texts)
        ids = ["locate"] if len(prepared.places) == 1 else [f"locate:{at}" for at in range(_OFFERED_AGAIN)]
        offers = []
        for action_id, (path, name) in zip(ids, prepared.places, strict=False):
            with suppress(Fault):  # a later edit of the batch may have taken it elsewhere
                offers.append(offer_locate(source, find_one(source, Wanted(name=name, file=path)), action_id))
        return offers

    def _find_stale(self, resumed: Resumed, actual: str) -> Stale:
        stale = self._call.desk.find_stale(resumed, actual)
        assert stale is not None, "a preview has a digest, and this is another one"
        return stale

    def _offer_together(self, found: Sequence[Found]) -> tuple[Offer, ...]:
        """What can be done with all of them at once."""
        project = Project(self._source)
        if not all("move" in list_plans(project, one) for one in found):
            return ()
        return (
            Offer(action=NextAction(id="extract_preview", label="Preview modules of their own")),
            Offer(action=NextAction(id="move_preview", label="Preview moving all; add --to-module FILE")),
        )

    def _offer_edits(self, found: Found) -> tuple[Offer, ...]:
        """What can be done with it; looking at it comes last."""
        offers = [
            Offer(action=NextAction(id=f"{plan}_preview", label=_LABELS[plan]))
            for plan in list_plans(Project(self._source), found)
        ]
        return (*offers, Offer(action=NextAction(id="context", label="Show its text")))


def _change_each(action: str, asked: Mapping[str, Json]) -> list[dict[str, Json]]:
    """One edit of several definitions, as a batch."""
    given = {"toModule": asked.get("to_module"), "exportNeeds": asked.get("export_needs")}
    rest = {name: value for name, value in given.items() if value is not None}
    return [{action: name, **rest} for name in asked["names"]]


def _edit_of(asked: Mapping[str, Json], item: int = 0) -> str:
    """The one edit that is asked for. Raises Fault E_USAGE."""
    named = [action for action in PLANS if action in asked]
    if len(named) == 1:
        return named[0]
    raise Fault(
        E_USAGE,
        "Each edit of a batch says one thing to do: rename, move, extract or replace.",
        details={"usage": '{"rename": NAME, "to": NEW}'},
        hint=f"Correct the edit at index {item}.",
    )


def _mark_cancelled(held: Continuation) -> str:
    """The mark by which one token of a preview ends the others."""
    return digest(["cancelled", held.context.request_id]).rpartition(":")[2]


def _name_target(asked: Mapping[str, Json], action: str, found: Found) -> dict[str, Json]:
    """What leads to this definition again, as a command line says it, and its id."""
    kept = {name: value for name, value in asked.items() if name in ("hash", "span")}
    return kept | {"file": found.path, action: found.definition.name, "target": make_id(found)}


def refuse_without_mode() -> Fault:
    return Fault(
        E_USAGE,
        "Say one thing to do: --locate, --context, --extract, --move, --rename, --replace, --changes"
        " or --continuation.",
        details={"usage": "--file FILE --locate NAME"},
        hint="Locate a definition first; its answer has tokens for what can be done with it.",
    )
