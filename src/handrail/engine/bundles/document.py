"""A bundle: one session as one JSON document, whose parts are proven by their digests. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final, Literal

import msgspec

from handrail.contract.canonical import canonical_bytes, canonical_bytes_of_decoded
from handrail.contract.ids import BundleId, bundle_id
from handrail.contract.outcome import Json
from handrail.engine.state import State

BUNDLE_VERSION = 1
INTEGRITY_KIND: Final = "sha256_manifest_v1"
SNAPSHOT_VERSION = 1

WHOLE_PARTS = ("sessionId", "salvage", "events", "manifest", "snapshots")
"""Members of the session that have one digest each."""
KEYED_PARTS = ("pinnedWorkflows", "artifacts")
"""Members in which each value has a digest of its own."""


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Shared options: camelCase, and nothing that this version does not know."""


class Producer(Part, frozen=True, kw_only=True):
    """What wrote the bundle; informational."""

    name: str
    version: str


class IntegrityEntry(Part, frozen=True, kw_only=True):
    """One part: where it stands, and what its RFC 8785 bytes must be."""

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
    """What the log proves about one event: its chain digest, and the contents that it relies on."""

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


class Bundle(Part, frozen=True, kw_only=True):
    """The whole document."""

    bundle_schema_version: int
    bundle_id: str
    exported_at: str
    producer: Producer
    integrity: Integrity
    session: BundleSession


def snapshot(workflow_hash: str, state: State) -> dict[str, Json]:
    """A position that can be resumed anywhere: nothing in it belongs to a session."""
    return {"v": SNAPSHOT_VERSION, "workflowHash": workflow_hash, "state": msgspec.to_builtins(state)}


def integrity_entries(session: Mapping[str, Json]) -> tuple[IntegrityEntry, ...]:
    """The digests of every part of a session as it stands in the document, by path.

    Raises Fault E_VALIDATION when a part has no canonical form.
    """
    parts = {f"session/{name}": session[name] for name in WHOLE_PARTS if name in session}
    for name in KEYED_PARTS:
        parts |= {f"session/{name}/{key}": value for key, value in session.get(name, {}).items()}
    return tuple(_entry(path, parts[path]) for path in sorted(parts))


def name_of(entries: tuple[IntegrityEntry, ...]) -> BundleId:
    """The id of a bundle with these parts."""
    listed = {"bundleSchemaVersion": BUNDLE_VERSION, "entries": msgspec.to_builtins(entries)}
    return bundle_id(sha256(canonical_bytes(listed)).hexdigest())


def _entry(path: str, part: Json) -> IntegrityEntry:
    content = canonical_bytes_of_decoded(part)
    return IntegrityEntry(path=path, sha256=sha256(content).hexdigest(), bytes=len(content))
