"""The hash chain over a session's events: the same bytes and digests in every store. Pure."""

from __future__ import annotations

import hashlib


def genesis(session_id: str) -> str:
    """The digest before the first event; binds the chain to its session."""
    return hashlib.sha256(b"handrail.log.v1\0" + session_id.encode()).hexdigest()


def chain_digest(previous: str, dedupe_key: str, body: bytes) -> str:
    """The digest after one more event."""
    return hashlib.sha256(bytes.fromhex(previous) + dedupe_key.encode() + b"\n" + body).hexdigest()
