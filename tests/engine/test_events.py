"""The closed set of facts: their bytes, and what happens to a fact that is not in the set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from msgspec.structs import fields

from handrail.contract.catalogue import STORE_UNSUPPORTED_VERSION
from handrail.contract.ids import NodeId, RunId
from handrail.contract.outcome import Fault
from handrail.engine.events import (
    EVENT_KINDS,
    Event,
    PlannedEvent,
    Scope,
    SessionCreated,
    decode_event,
    encode_event,
    must_be_proven,
)
from tests.cases import every_case

AT = "2027-01-15T08:00:00.000Z"
FACTS = Path(__file__).with_name("facts.jsonl").read_bytes().splitlines()
"""Facts as logs hold them, typed in by hand; every field of every kind stands in one of them."""


@every_case("data", FACTS)
def test_a_fact_is_read_and_written_in_its_one_form(data: bytes) -> None:
    scope = Scope(run_id=RunId("run_1"), node_id=NodeId("nod_1"))
    written = b'{"v":1,"at":"%s","scope":{"runId":"run_1","nodeId":"nod_1"},"data":%s}' % (AT.encode(), data)

    decoded = decode_event(written)

    assert (decoded.v, decoded.at, decoded.scope) == (1, AT, scope)
    assert encode_event(PlannedEvent(dedupe_key="key", scope=scope, data=decoded.data), AT) == written


@every_case("kind", get_args(Event))
def test_every_field_of_a_kind_stands_in_a_written_fact(kind: type[msgspec.Struct]) -> None:
    rows = [row for row in map(json.loads, FACTS) if row["kind"] == kind.__struct_config__.tag]
    shown = {name for row in rows for name in row}

    assert {field.encode_name for field in fields(kind)} - shown == set(), "write it in facts.jsonl"


def test_the_same_fact_at_the_same_time_is_the_same_bytes() -> None:
    planned = PlannedEvent(dedupe_key="key", scope=Scope(), data=SessionCreated())

    assert (
        encode_event(planned, AT)
        == b'{"v":1,"at":"' + AT.encode() + b'","scope":{},"data":{"kind":"session_created"}}'
    )


def test_the_set_of_kinds_is_closed() -> None:
    """The names are durable: a kind may be added, never renamed, and no plan makes one before the release
    after it (decision 0208).
    """
    assert EVENT_KINDS == (
        "session_created",
        "observation_recorded",
        "run_started",
        "node_created",
        "edge_created",
        "context_set",
        "advance_recorded",
        "validation_performed",
        "node_output_appended",
        "preferences_changed",
        "capability_observed",
        "gap_recorded",
        "divergence_recorded",
        "decision_trace_appended",
        "session_imported",
        "session_adopted",
        "run_closed",
        "receipt_recorded",
        "tree_recorded",
        "evidence_recorded",
        "confirmation_recorded",
        "proof_recorded",
    )
    assert {json.loads(line)["kind"] for line in FACTS} == set(EVENT_KINDS)


@every_case(
    "body",
    [
        b'{"v":2,"at":"","scope":{},"data":{"kind":"session_created"}}',
        b'{"v":1,"at":"","scope":{},"data":{"kind":"session_renamed"}}',
        b'{"v":1,"at":"","scope":{},"data":{"kind":"node_created","nodeKind":"portal","state":{"kind":"complete"}}}',
        b'{"v":1,"at":"","scope":{},"data":{"kind":"node_created","nodeKind":"step","state":{"kind":"paused"}}}',
        b'{"v":1,"at":"","scope":{},"data":{"kind":"advance_recorded","attemptId":"0000001"}}',
        b"{}",
        b"not json",
    ],
)
def test_a_fact_outside_the_set_fails_fast(body: bytes) -> None:
    with pytest.raises(Fault) as caught:
        decode_event(body)

    assert caught.value.kind is STORE_UNSUPPORTED_VERSION
    assert caught.value.details["supported"] == 1


def test_a_field_that_a_later_release_added_is_ignored() -> None:
    body = b'{"v":1,"at":"","scope":{},"data":{"kind":"session_created","mood":"fine"},"extra":1}'

    assert decode_event(body).data == SessionCreated()


VOUCHED = frozenset(
    {
        "session_adopted",
        "receipt_recorded",
        "tree_recorded",
        "confirmation_recorded",
        "proof_recorded",
        "evidence_recorded: a level above claimed",
        "gap_recorded: settled by a person",
        "context_set: a value that a person gave",
    }
)
"""Kinds of events that a person sees as observed, executed or approved; all others are the agent's words."""


def test_a_kind_that_is_shown_as_vouched_must_be_proven() -> None:
    """A new kind is put into one of the two lists here, by hand."""
    quoted = {
        *("session_created", "observation_recorded", "run_started", "node_created", "edge_created"),
        *("advance_recorded", "validation_performed", "node_output_appended", "preferences_changed"),
        *("capability_observed", "divergence_recorded", "decision_trace_appended", "session_imported"),
        *("run_closed", "gap_recorded", "context_set", "evidence_recorded"),
    }
    facts = [json.loads(line) for line in FACTS]
    given = {"context": {"n": 1}, "source": "agent_delta", "owners": {"n": "person"}}
    facts.append({"kind": "context_set", **given})

    proven = {name_case(fact) for fact in facts if must_be_proven(msgspec.convert(fact, Event))}
    others = {name_case(fact) for fact in facts if not must_be_proven(msgspec.convert(fact, Event))}

    assert proven <= VOUCHED
    assert others <= quoted
    assert {one.partition(":")[0] for one in VOUCHED} | quoted == set(EVENT_KINDS)


def name_case(fact: dict[str, Any]) -> str:
    """The kind, and of some what makes the difference."""
    kind = str(fact["kind"])
    match kind:
        case "evidence_recorded" if any(one.get("level", "claimed") != "claimed" for one in fact["claims"]):
            return f"{kind}: a level above claimed"
        case "gap_recorded" if fact.get("door"):
            return f"{kind}: settled by a person"
        case "context_set" if "person" in fact.get("owners", {}).values():
            return f"{kind}: a value that a person gave"
        case _:
            return kind
