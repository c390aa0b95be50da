"""A bundle: one session as one JSON document, whose parts are proven by their digests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, Literal

import msgspec

from handrail.contract.catalogue import (
    BUNDLE_EVENT_ORDER_INVALID,
    BUNDLE_INTEGRITY_FAILED,
    BUNDLE_INVALID_FORMAT,
    BUNDLE_MANIFEST_ORDER_INVALID,
    BUNDLE_MISSING_PINNED_WORKFLOW,
    BUNDLE_MISSING_SNAPSHOT,
    BUNDLE_TOO_LARGE,
    BUNDLE_UNSUPPORTED_VERSION,
)
from handrail.contract.ids import BundleId, bundle_id
from handrail.contract.json.canonical import canonical_bytes, canonical_bytes_of_decoded
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote
from handrail.engine.navigate import State

BUNDLE_VERSION = 1
WITH_CODE_VERSION = 2
"""The version of a bundle that includes the code of its nodes; it has one more part, and nothing else
differs.
"""
INTEGRITY_KIND: Final = "sha256_manifest_v1"
SNAPSHOT_VERSION = 1

_ITEMS_AT_ONCE = 64
"""Number of items of a long list that are encoded together."""

WHOLE_PARTS = ("sessionId", "salvage", "events", "manifest", "snapshots")
"""Members of the session that have one digest each."""
KEYED_PARTS = ("pinnedWorkflows", "artifacts", "code")
"""Members whose values each have a digest of their own."""


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Shared options of the parts: camelCase; unknown members are an error."""


class Producer(Part, frozen=True, kw_only=True):
    """The program that wrote the bundle; informational."""

    name: str
    version: str


class IntegrityEntry(Part, frozen=True, kw_only=True):
    """One part: its path, and the size and digest that its RFC 8785 bytes must have."""

    path: str
    sha256: str
    bytes: int


class Integrity(Part, frozen=True, kw_only=True):
    """Every part, sorted by path."""

    kind: Literal["sha256_manifest_v1"]
    entries: tuple[IntegrityEntry, ...]


class BundleEvent(Part, frozen=True, kw_only=True):
    """One event; encoding `body` again gives its stored bytes."""

    event_index: int
    dedupe_key: str
    body: dict[str, Any]


class ManifestRecord(Part, frozen=True, kw_only=True, omit_defaults=True):
    """What the log proves about one event: its chain digest, and the contents that it depends on."""

    event_index: int
    digest: str
    pins: tuple[str, ...] = ()


class Salvage(Part, frozen=True, kw_only=True):
    """Why this is only the proven part of a session; such a bundle can be read, not continued."""

    health: str
    reason: str


class KeptText(Part, frozen=True, kw_only=True):
    """A long text that an event names by its digest."""

    media_type: Literal["text/markdown"]
    text: str


class BundleSession(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The session itself."""

    session_id: str
    salvage: Salvage | None = None
    events: tuple[BundleEvent, ...]
    manifest: tuple[ManifestRecord, ...]
    snapshots: dict[str, dict[str, Any]]
    pinned_workflows: dict[str, dict[str, Any]]
    artifacts: dict[str, KeptText]
    code: dict[str, str] = {}
    """Lists and packs of the trees in base64, by the digest of their bytes; only with code."""


class Bundle(Part, frozen=True, kw_only=True):
    """The whole document."""

    bundle_schema_version: int
    bundle_id: str
    exported_at: str
    producer: Producer
    integrity: Integrity
    session: BundleSession


def make_snapshot(workflow_hash: str, state: State) -> dict[str, Json]:
    """Return a position that can be resumed anywhere: nothing in it belongs to a session."""
    return {"v": SNAPSHOT_VERSION, "workflowHash": workflow_hash, "state": msgspec.to_builtins(state)}


class ListDigest:
    """Computes the digest of a long list item by item: the same as that of its RFC 8785 bytes."""

    def __init__(self) -> None:
        self._sum = sha256(b"[")
        self._bytes = 1
        self._waiting: list[Json] = []

    def take(self, item: Json) -> None:
        """Add an item.

        Raise Fault E_VALIDATION if this item, or one shortly before it, has no canonical form.
        """
        self._waiting.append(item)
        if len(self._waiting) == _ITEMS_AT_ONCE:
            self._count()

    def take_canonical(self, content: bytes) -> None:
        """Add an item whose RFC 8785 bytes are known, or several with commas between them."""
        if self._bytes > 1:
            self._sum.update(b",")
            self._bytes += 1
        self._sum.update(content)
        self._bytes += len(content)

    def entry(self, path: str) -> IntegrityEntry:
        """Return the entry of the list. Raise Fault E_VALIDATION if an item has no canonical form."""
        self._count()
        whole = self._sum.copy()
        whole.update(b"]")
        return IntegrityEntry(path=path, sha256=whole.hexdigest(), bytes=self._bytes + 1)

    def _count(self) -> None:
        if self._waiting:
            content = canonical_bytes_of_decoded(self._waiting)[1:-1]
            self._waiting = []
            self.take_canonical(content)


def integrity_entries(
    session: Mapping[str, Json], walked: Mapping[str, ListDigest] | None = None
) -> tuple[IntegrityEntry, ...]:
    """Return the digests of every part of a session in the document, by path.

    Lists that were already `walked` are not read again.

    Raise Fault E_VALIDATION if a part has no canonical form.
    """
    walked = walked or {}
    parts = {name: session[name] for name in WHOLE_PARTS if name in session and name not in walked}
    for name in KEYED_PARTS:
        parts |= {f"{name}/{key}": value for key, value in session.get(name, {}).items()}
    entries = [entry_of(f"session/{name}", part) for name, part in parts.items()]
    entries += [digest.entry(f"session/{name}") for name, digest in walked.items()]
    return tuple(sorted(entries, key=lambda entry: entry.path))


def name_of(entries: tuple[IntegrityEntry, ...], version: int = BUNDLE_VERSION) -> BundleId:
    """Return the id of a bundle with these parts."""
    listed = {"bundleSchemaVersion": version, "entries": msgspec.to_builtins(entries)}
    return bundle_id(sha256(canonical_bytes(listed)).hexdigest())


def entry_of(path: str, part: Json) -> IntegrityEntry:
    """Return the entry of one part, with the digest of its RFC 8785 bytes."""
    content = canonical_bytes_of_decoded(part)
    return IntegrityEntry(path=path, sha256=sha256(content).hexdigest(), bytes=len(content))


# The errors about bundles: one place for their messages and details.


_OTHER_WAYS = "Use --as markdown or --as html for a report, or copy the whole store: `handrail store copy`."


def malformed_fault(message: str, path: str = "") -> Fault:
    return Fault(BUNDLE_INVALID_FORMAT, message, details=_at(path))


def too_large_fault(what: str, measured: int, limit: int) -> Fault:
    return Fault(
        BUNDLE_TOO_LARGE,
        f"The bundle has {measured} {what}; the limit is {limit}.",
        details={"path": what, "measured": measured, "limit": limit},
        hint="Nothing was imported. Copy a session of this size with its store: `handrail store copy` there.",
    )


def export_too_large_fault(what: str, measured: int, limit: int) -> Fault:
    """Return the error for a bundle that would be too large, before it is written."""
    return Fault(
        BUNDLE_TOO_LARGE,
        f"The bundle of this session would have {measured} {what}; an import accepts {limit}. "
        "Nothing was written.",
        details={"path": what, "measured": measured, "limit": limit},
        hint=f"{_OTHER_WAYS} Or go on in a new session, which has a bundle of its own.",
    )


def newer_version_fault(message: str, path: str, *, found: str, supported: int) -> Fault:
    details = {"path": path, "found": found[:200], "supported": supported}
    return Fault(BUNDLE_UNSUPPORTED_VERSION, message, details=details)


def altered_fault(message: str, path: str) -> Fault:
    return Fault(BUNDLE_INTEGRITY_FAILED, message, details=_at(path))


def event_order_fault(message: str, path: str) -> Fault:
    return Fault(BUNDLE_EVENT_ORDER_INVALID, message, details=_at(path))


def manifest_order_fault(message: str, path: str) -> Fault:
    return Fault(BUNDLE_MANIFEST_ORDER_INVALID, message, details=_at(path))


def missing_snapshot_fault(ref: str) -> Fault:
    message = f"The bundle lacks the snapshot {quote(ref)}, which a node stands at."
    return Fault(BUNDLE_MISSING_SNAPSHOT, message, details=_at("session/snapshots"))


def missing_workflow_fault(workflow_hash: str) -> Fault:
    message = f"The bundle lacks the pinned workflow {quote(workflow_hash)}, which a run needs."
    return Fault(BUNDLE_MISSING_PINNED_WORKFLOW, message, details=_at("session/pinnedWorkflows"))


def _at(path: str) -> dict[str, str]:
    return {"path": path[:200]} if path else {}
