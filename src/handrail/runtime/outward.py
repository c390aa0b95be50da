"""Notices about commits for people who do not watch a screen: which events, and in which words. Pure."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Any

import msgspec

from handrail.contract.ids import OutwardKind, SessionId
from handrail.engine.events import AdvanceRecorded, Blocked, Event, GapRecorded, NodeCreated, decode_event
from handrail.engine.messages import explain_gap, explain_to_person
from handrail.engine.navigate import Complete
from handrail.engine.reasons import waits_for_person
from handrail.ports.log import Record
from handrail.runtime.runtime import NoticeDue, Runtime

LONGEST_TEXT = 300


class OutwardNotice(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One notice. Its id is that of the event, so that a receiver recognises a repeat."""

    id: str
    kind: OutwardKind
    session_id: str
    run_id: str
    at: str
    text: str = ""
    """What the run says about it; empty unless the settings permit texts."""


def list_outward(
    session_id: SessionId, records: Sequence[Record], kinds: Sequence[OutwardKind], *, with_text: bool
) -> tuple[OutwardNotice, ...]:
    """Return the notices for these events, of these kinds; of all kinds if none is named."""
    found = []
    for record in records:
        body = decode_event(record.body)
        notice = _classify(body.data)
        if notice is None or (kinds and notice[0] not in kinds):
            continue
        found.append(
            OutwardNotice(
                id=f"{session_id}:{record.index}",
                kind=notice[0],
                session_id=session_id,
                run_id=body.scope.run_id or "",
                at=body.at,
                text=notice[1][:LONGEST_TEXT] if with_text else "",
            )
        )
    return tuple(found)


def _classify(event: Event) -> tuple[OutwardKind, str] | None:
    match event:
        case AdvanceRecorded(outcome=Blocked(blockers=blockers)):
            is_persons = any(map(waits_for_person, blockers))
            why = explain_to_person(blockers[0], (), "").why if blockers else ""
            return ("needs_person" if is_persons else "blocked", why)
        case NodeCreated(node_kind="step", state=Complete()):
            return "done", ""
        case GapRecorded(severity="critical", resolves_gap_id="") as gap:
            return "critical_gap", explain_gap(gap)
        case _:
            return None


def encode_notice(notice: OutwardNotice) -> bytes:
    """Return the body that is sent and signed."""
    plain: dict[str, Any] = msgspec.to_builtins(notice)
    return msgspec.json.encode({"v": 1, **plain})


def sign_notice(key: str, body: bytes) -> str:
    """Return the proof that Handrail made the body: `sha256=` and an HMAC in hex."""
    return "sha256=" + hmac.new(key.encode(), body, hashlib.sha256).hexdigest()


# Notifying people about a run of this machine, after the reply: the command in the user's settings.


def notify_people(rt: Runtime, due: NoticeDue) -> str:
    """Start the command once for each notice. Return the reason if that failed, else an empty text."""
    if rt.start_notice is None or not due.notify.command:
        return ""
    notices = list_outward(due.session_id, due.records, due.notify.kinds, with_text=due.notify.with_text)
    troubles = [rt.start_notice(due.notify.command, encode_notice(one)) for one in notices]
    return next(filter(None, troubles), "")
