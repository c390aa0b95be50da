"""The closed set of facts: their bytes, and what happens to a fact that is not in the set."""

from __future__ import annotations

import json

import pytest

from handrail.contract.catalogue import STORE_UNSUPPORTED_VERSION
from handrail.contract.ids import AttemptId, BlobRef, NodeId, RunId, WorkflowHash, WorkflowId
from handrail.contract.outcome import Fault
from handrail.engine.events import (
    EVENT_KINDS,
    Advanced,
    AdvanceRecorded,
    ContextSet,
    EdgeCreated,
    Event,
    NodeCreated,
    NodeOutputAppended,
    NotesKept,
    NotesStored,
    ObservationRecorded,
    PlannedEvent,
    RunStarted,
    Scope,
    SessionCreated,
    decode_event,
    encode_event,
)
from handrail.engine.state import Complete, Running

AT = "2027-01-15T08:00:00.000Z"
RUN = RunId("run_1")
NODE = NodeId("nod_1")
OTHER = NodeId("nod_2")

FACTS: list[tuple[Event, dict[str, object]]] = [
    (SessionCreated(), {"kind": "session_created"}),
    (
        ObservationRecorded(key="git_branch", value="main"),
        {"kind": "observation_recorded", "key": "git_branch", "value": "main"},
    ),
    (
        ObservationRecorded(key="goal", value="fix it", confidence="low"),
        {"kind": "observation_recorded", "key": "goal", "value": "fix it", "confidence": "low"},
    ),
    (
        RunStarted(
            workflow_id=WorkflowId("a.b"),
            workflow_hash=WorkflowHash("sha256:0"),
            source_kind="project",
            source_ref="b.json",
            input_digest="sha256:1",
        ),
        {
            "kind": "run_started",
            "workflowId": "a.b",
            "workflowHash": "sha256:0",
            "sourceKind": "project",
            "sourceRef": "b.json",
            "inputDigest": "sha256:1",
        },
    ),
    (
        NodeCreated(node_kind="step", state=Running(step_id="a")),
        {"kind": "node_created", "nodeKind": "step", "state": {"kind": "running", "stepId": "a"}},
    ),
    (
        NodeCreated(
            node_kind="checkpoint",
            parent_node_id=NODE,
            state=Complete(),
            attempt_id=AttemptId("0000001"),
            input_digest="sha256:2",
        ),
        {
            "kind": "node_created",
            "nodeKind": "checkpoint",
            "parentNodeId": "nod_1",
            "state": {"kind": "complete"},
            "attemptId": "0000001",
            "inputDigest": "sha256:2",
        },
    ),
    (
        EdgeCreated(edge_kind="acked_step", from_node_id=NODE, to_node_id=OTHER, cause="non_tip_advance"),
        {
            "kind": "edge_created",
            "edgeKind": "acked_step",
            "fromNodeId": "nod_1",
            "toNodeId": "nod_2",
            "cause": "non_tip_advance",
        },
    ),
    (
        ContextSet(context={"scope": None, "n": 1}, source="agent_delta"),
        {"kind": "context_set", "context": {"scope": None, "n": 1}, "source": "agent_delta"},
    ),
    (
        AdvanceRecorded(
            attempt_id=AttemptId("0000001"), input_digest="sha256:3", outcome=Advanced(to_node_id=OTHER)
        ),
        {
            "kind": "advance_recorded",
            "attemptId": "0000001",
            "inputDigest": "sha256:3",
            "outcome": {"kind": "advanced", "toNodeId": "nod_2"},
        },
    ),
    (
        NodeOutputAppended(output_id="out_1", channel="recap", notes=NotesKept(text="Seen.")),
        {
            "kind": "node_output_appended",
            "outputId": "out_1",
            "channel": "recap",
            "notes": {"kind": "inline", "text": "Seen."},
        },
    ),
    (
        NodeOutputAppended(
            output_id="out_1",
            channel="recap",
            notes=NotesStored(excerpt="Se", ref=BlobRef("sha256:4"), size_bytes=9000),
        ),
        {
            "kind": "node_output_appended",
            "outputId": "out_1",
            "channel": "recap",
            "notes": {"kind": "blob", "excerpt": "Se", "ref": "sha256:4", "sizeBytes": 9000},
        },
    ),
]


@pytest.mark.parametrize(("fact", "data"), FACTS)
def test_a_fact_has_one_written_form_and_is_read_back(fact: Event, data: dict[str, object]) -> None:
    planned = PlannedEvent(dedupe_key="key", scope=Scope(run_id=RUN, node_id=NODE), data=fact)

    body = encode_event(planned, AT)

    assert json.loads(body) == {
        "v": 1,
        "at": AT,
        "scope": {"runId": "run_1", "nodeId": "nod_1"},
        "data": data,
    }
    assert b"\n" not in body
    decoded = decode_event(body)
    assert (decoded.v, decoded.at, decoded.scope, decoded.data) == (1, AT, planned.scope, fact)


def test_the_same_fact_at_the_same_time_is_the_same_bytes() -> None:
    planned = PlannedEvent(dedupe_key="key", scope=Scope(), data=SessionCreated())

    assert (
        encode_event(planned, AT)
        == b'{"v":1,"at":"' + AT.encode() + b'","scope":{},"data":{"kind":"session_created"}}'
    )


def test_the_set_of_kinds_is_closed() -> None:
    """The names are durable: a kind may be added with a new version, never renamed."""
    assert EVENT_KINDS == (
        "session_created",
        "observation_recorded",
        "run_started",
        "node_created",
        "edge_created",
        "context_set",
        "advance_recorded",
        "node_output_appended",
    )
    assert {data["kind"] for _, data in FACTS} == set(EVENT_KINDS)


@pytest.mark.parametrize(
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
    ids=[
        "newer version",
        "unknown kind",
        "unknown node kind",
        "unknown state",
        "part missing",
        "empty",
        "no json",
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
