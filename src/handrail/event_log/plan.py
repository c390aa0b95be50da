"""The checks of session ids and plans, the refusals, and the records of a plan, for every adapter. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Final

from handrail.contract.catalogue import SESSION_LOCKED, SESSION_NOT_FOUND, SESSION_NOT_HEALTHY
from handrail.contract.ids import blob_ref, is_session_id
from handrail.contract.json.canonical import chain_digest, genesis
from handrail.contract.outcome import Fault
from handrail.ports.log import Blob, Draft, Health, Record

DEDUPE_KEY_LIMIT: Final = 256

_KEY = re.compile(r"[a-z0-9_:>-]+")


def check_session_id(session_id: str) -> None:
    """Check a name from outside before it becomes part of a path or key.

    Raise Fault SESSION_NOT_FOUND.
    """
    if not is_session_id(session_id):
        raise Fault(
            SESSION_NOT_FOUND, "This is not the id of a session.", details={"session_id": session_id[:64]}
        )


def session_not_found(session_id: str) -> Fault:
    """Return the fault for locking a session that was deleted meanwhile."""
    message = f"Session {session_id} is not in this store."
    return Fault(SESSION_NOT_FOUND, message, details={"session_id": session_id})


def refuse_locked(session_id: str, waited_ms: int, who: str = "Another writer") -> Fault:
    """Return the fault for a session that another writer has locked for longer than the caller waits."""
    details = {"session_id": session_id, "waited_ms": waited_ms}
    return Fault(SESSION_LOCKED, f"{who} holds this session.", details=details)


def refuse_unsound(session_id: str, head: int, health: Health, hint: str) -> Fault:
    """Return the fault for adding to a session that is not proven to its end."""
    return Fault(
        SESSION_NOT_HEALTHY,
        f"The stored session is not sound, so nothing is added to it. {health.detail}",
        details={
            "session_id": session_id,
            "health": health.state,
            "reason": health.reason,
            "event_index": head,
        },
        hint=hint,
    )


def check_plan(plan: Sequence[Draft], blobs: Sequence[Blob]) -> None:
    """Check what must be true of a plan, whatever the log contains."""
    assert plan, "a plan has at least one event"
    assert len({draft.dedupe_key for draft in plan}) == len(plan), "the dedupe keys of a plan all differ"
    for draft in plan:
        assert len(draft.dedupe_key) <= DEDUPE_KEY_LIMIT, "a dedupe key has at most 256 characters"
        assert _KEY.fullmatch(draft.dedupe_key), "a dedupe key has only the characters a-z 0-9 _ : > -"
        assert (draft.body[:1], draft.body[-1:]) == (b"{", b"}"), "the body of an event is one JSON object"
        assert b"\n" not in draft.body, "the body of an event has no line feed"
    for blob in blobs:
        assert blob.ref == blob_ref(blob.content), "a blob is named by the digest of its content"


def check_new(plan: Sequence[Draft], known: Container[str]) -> None:
    """Check that a plan repeats no fact, which it cannot if it was decided on this head."""
    assert not any(draft.dedupe_key in known for draft in plan), "only the first dedupe key may be known"


def digest_before(session_id: str, records: Sequence[Record]) -> str:
    """Return the digest that the next event is chained to."""
    return records[-1].digest if records else genesis(session_id)


def chain_records(
    drafts: Sequence[Draft], head: int, digest: str, *, is_ours: bool = True
) -> tuple[Record, ...]:
    """Return the events as records, from this index and digest on."""
    records: list[Record] = []
    for index, draft in enumerate(drafts, start=head):
        digest = chain_digest(digest, draft.dedupe_key, draft.body)
        records.append(
            Record(index=index, dedupe_key=draft.dedupe_key, body=draft.body, digest=digest, is_ours=is_ours)
        )
    return tuple(records)
