"""A bundle's text → its parts: bounded before it is parsed, walked event by event, digested on the way. Pure.

`reading.py` checks that the parts belong together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from handrail.contract.catalogue import REQUEST_TOO_LARGE
from handrail.contract.ids import is_session_id
from handrail.contract.json.strict import decode_json_at, has_half_escapes, utf8_text
from handrail.contract.json.trouble import explain_broken_syntax, explain_broken_text, explain_refused_text
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote
from handrail.engine.bundles import limits
from handrail.engine.bundles.document import (
    WITH_CODE_VERSION,
    Bundle,
    BundleEvent,
    IntegrityEntry,
    ListDigest,
    ManifestRecord,
    integrity_entries,
    malformed_fault,
    newer_version_fault,
    too_large_fault,
)

# Reading a long JSON text from left to right, item by item, never as one tree
#
# It is as strict as `decode_json`: a key twice, too deep, or broken anywhere is refused with its place.

_SPACE = re.compile(r"[ \t\n\r]*")


class JsonWalk:
    """A place in the text, and how many lists and objects are open around it.

    Everything raises Fault E_VALIDATION or REQUEST_TOO_LARGE for text that is refused.
    """

    def __init__(self, text: str, *, max_depth: int) -> None:
        self._text = text
        self._at = 0
        self._depth = self._deepest = 0
        self._max_depth = max_depth
        self._is_suspect = has_half_escapes(text)
        self._skip()

    def is_at(self, opening: str) -> bool:
        """Whether this bracket comes next."""
        return self._text.startswith(opening, self._at)

    def value(self) -> Json:
        """The whole value at this place."""
        value, self._at = decode_json_at(
            self._text,
            self._at,
            depth=self._depth,
            max_depth=self._max_depth,
            is_suspect=self._is_suspect,
        )
        self._skip()
        return value

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; after each, the caller reads its value."""
        seen: set[str] = set()
        for _ in self._parts("}"):
            if not self.is_at('"'):
                raise self._broken("Expecting property name enclosed in double quotes")
            place = self._at
            key: str = self.value()
            if key in seen:
                raise explain_broken_text(
                    self._text, place, f"the key {quote(key)} appears twice in one object"
                )
            seen.add(key)
            if not self.is_at(":"):
                raise self._broken("Expecting ':' delimiter")
            self._step()
            yield key

    def items(self) -> Iterator[int]:
        """The places of the list that begins here, from 0; after each, the caller reads its value."""
        return self._parts("]")

    def finish(self) -> None:
        """Nothing more may follow."""
        if self._at < len(self._text):
            raise self._broken("Extra data")
        if self._deepest > self._max_depth:  # of the lists and objects that were entered
            raise explain_refused_text(self._text, self._max_depth)

    def _parts(self, closing: str) -> Iterator[int]:
        self._step()
        self._depth += 1
        self._deepest = max(self._deepest, self._depth)
        if not self.is_at(closing):
            yield 0
            count = 1
            while self.is_at(","):
                self._step()
                yield count
                count += 1
            if not self.is_at(closing):
                raise self._broken("Expecting ',' delimiter")
        self._depth -= 1
        self._step()

    def _step(self) -> None:
        self._at += 1
        self._skip()

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        assert space is not None, "no space is space, too"
        self._at = space.end()

    def _broken(self, said: str) -> Exception:
        return explain_broken_syntax(self._text, self._at, said)


_T = TypeVar("_T")


# The parts of a bundle


class WalkedEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event, its body as the store keeps it."""

    event_index: int
    dedupe_key: str
    body: bytes


class WalkedBundle(msgspec.Struct, frozen=True, kw_only=True):
    """The document, its two long lists beside it: `bundle.session` has them empty."""

    bundle: Bundle
    events: tuple[WalkedEvent, ...]
    manifest: tuple[ManifestRecord, ...]
    entries: tuple[IntegrityEntry, ...]
    """What the integrity entries must be."""


def walk_bundle(text: str) -> WalkedBundle:
    """The parts of a bundle that is small enough, JSON, and of a shape that this version knows.

    Raises Fault BUNDLE_TOO_LARGE, BUNDLE_INVALID_FORMAT or BUNDLE_UNSUPPORTED_VERSION.
    """
    if len(text) > limits.MOST_BYTES:
        raise too_large_fault("bytes", len(text), limits.MOST_BYTES)
    if (
        limits.estimate_width(text) > limits.MOST_VALUES
        and (width := limits.measure_width(text)) > limits.MOST_VALUES
    ):
        raise too_large_fault("values", width, limits.MOST_VALUES)
    walk = _Walk()
    try:
        walk.through(utf8_text(text, limits.MOST_BYTES))
    except Fault as fault:
        if fault.kind is REQUEST_TOO_LARGE:
            what, measured = fault.details["what"], fault.details["measured"]
            raise too_large_fault(_UNITS[what], measured, fault.details["limit"]) from fault
        if fault.details.get("path"):
            raise
        raise malformed_fault(f"The file is not a bundle. {fault.message}") from fault
    return walk.finished()


_UNITS = {"bytes": "bytes", "depth": "nested levels"}


class _Walk:
    """One walk over the text. A wrong shape is reported last: another version may have another one."""

    def __init__(self) -> None:
        self._document: Json = None
        self._trouble: Fault | None = None
        self._events: list[WalkedEvent] = []
        self._manifest: list[ManifestRecord] = []
        self._digests = {"events": ListDigest(), "manifest": ListDigest()}

    def through(self, text: str) -> None:
        walk = JsonWalk(text, max_depth=limits.MOST_DEPTH)
        if walk.is_at("{"):
            self._document = {}
            for name in walk.members():
                enters = name == "session" and walk.is_at("{")
                self._document[name] = self._session(walk) if enters else walk.value()
        else:
            self._document = walk.value()
        walk.finish()

    def _session(self, walk: JsonWalk) -> dict[str, Json]:
        session: dict[str, Json] = {}
        for name in walk.members():
            if name not in self._digests or not walk.is_at("["):
                session[name] = walk.value()
                continue
            session[name] = []
            for index in walk.items():
                if index == limits.MOST_EVENTS:
                    raise too_large_fault("events", limits.MOST_EVENTS + 1, limits.MOST_EVENTS)
                self._take(name, index, walk.value())
        return session

    def _take(self, name: str, index: int, item: Json) -> None:
        if self._trouble is not None:
            return
        path = f"session/{name}/{index}"
        try:
            self._digests[name].take(item)
        except Fault as fault:
            self._trouble = _without_form(fault)
            return
        try:
            if name == "manifest":
                self._manifest.append(_converted(item, ManifestRecord, path))
                return
            self._events.append(_event(item, path))
        except Fault as fault:
            self._trouble = fault

    def finished(self) -> WalkedBundle:
        document = self._document
        if not isinstance(document, dict) or "bundleSchemaVersion" not in document:
            raise malformed_fault(
                "The file is not a bundle: bundleSchemaVersion is missing.", "bundleSchemaVersion"
            )
        _check_version(document["bundleSchemaVersion"])
        bundle = _converted(document, Bundle, "")
        if self._trouble is not None:
            raise self._trouble
        if bundle.session.code and bundle.bundle_schema_version < WITH_CODE_VERSION:
            raise malformed_fault("A bundle of this version carries no code.", "session/code")
        if not is_session_id(bundle.session.session_id):
            raise malformed_fault("The bundle's session id is not valid.", "session/sessionId")
        try:
            entries = integrity_entries(document["session"], self._digests)
        except Fault as fault:
            raise _without_form(fault) from fault
        return WalkedBundle(
            bundle=bundle, events=tuple(self._events), manifest=tuple(self._manifest), entries=entries
        )


def _event(item: Json, path: str) -> WalkedEvent:
    event = _converted(item, BundleEvent, path)
    try:
        body = msgspec.json.encode(event.body)
    except (UnicodeEncodeError, OverflowError) as error:
        raise malformed_fault("An event holds a value that cannot be stored.", path) from error
    return WalkedEvent(event_index=event.event_index, dedupe_key=event.dedupe_key, body=body)


def _check_version(version: Json) -> None:
    if type(version) is not int or version < 1:
        raise malformed_fault("The bundle's version is not a number from 1 on.", "bundleSchemaVersion")
    if version > WITH_CODE_VERSION:
        message = (
            f"The bundle has version {version}; this version of handrail reads up to {WITH_CODE_VERSION}."
        )
        raise newer_version_fault(
            message, "bundleSchemaVersion", found=str(version), supported=WITH_CODE_VERSION
        )


def _converted(value: Json, shape: type[_T], path: str) -> _T:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        # msgspec ends its sentences with: at `$.path`.
        _, _, place = str(error).rpartition(" - at `$.")
        where = "/".join(filter(None, (path, place.rstrip("`").replace(".", "/"))))
        raise malformed_fault(f"The bundle has another shape: {quote(str(error))}.", where) from error


def _without_form(fault: Fault) -> Fault:
    return malformed_fault(f"The bundle holds a value without a canonical form. {fault.message}", "session")
