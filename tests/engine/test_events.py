"""The closed set of facts: their bytes, and what happens to a fact that is not in the set."""

from __future__ import annotations

import json

import pytest

from handrail.contract.catalogue import STORE_UNSUPPORTED_VERSION
from handrail.contract.ids import (
    AttemptId,
    BlobRef,
    BundleId,
    NodeId,
    ReceiptId,
    RunId,
    SessionId,
    WorkflowHash,
    WorkflowId,
)
from handrail.contract.outcome import Fault
from handrail.engine.events import (
    EVENT_KINDS,
    Advanced,
    AdvanceRecorded,
    Artifact,
    Blocked,
    CapabilityObserved,
    Claim,
    ConfirmationRecorded,
    ContextSet,
    DecisionTraceAppended,
    DivergenceRecorded,
    EdgeCreated,
    Event,
    EvidenceRecorded,
    GapRecorded,
    NodeCreated,
    NodeOutputAppended,
    NotesKept,
    NotesStored,
    ObservationRecorded,
    PlannedEvent,
    Preferences,
    PreferencesChanged,
    PreferencesDelta,
    ReceiptRecorded,
    RunClosed,
    RunStarted,
    Scope,
    SessionCreated,
    SessionImported,
    TreeRecorded,
    ValidationPerformed,
    decode_event,
    encode_event,
)
from handrail.engine.navigate import (
    Complete,
    DetectedNonTipAdvance,
    EnteredLoop,
    EvaluatedCondition,
    ExitedLoop,
    LoopFrame,
    Running,
    SelectedStep,
    SkippedStep,
)
from handrail.engine.reasons import Blocker, OutputContract
from handrail.engine.receipts import (
    Counts,
    Exited,
    NotStarted,
    RunOutcome,
    Signalled,
    StatusUnknown,
    TimedOut,
)

AT = "2027-01-15T08:00:00.000Z"
RUN = RunId("run_1")
NODE = NodeId("nod_1")
OTHER = NodeId("nod_2")

OUTCOMES: list[tuple[RunOutcome, dict[str, object]]] = [
    (Signalled(signal="SIGKILL"), {"kind": "signalled", "signal": "SIGKILL"}),
    (TimedOut(seconds=600), {"kind": "timed_out", "seconds": 600}),
    (NotStarted(reason="no such program"), {"kind": "not_started", "reason": "no such program"}),
    (StatusUnknown(), {"kind": "unknown"}),
]

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
    (
        NodeOutputAppended(
            output_id="out_2",
            channel="artifact",
            artifact=Artifact(kind="wr.plan", digest="sha256:5", body={"kind": "wr.plan"}, contract_ref="c"),
            supersedes_output_id="out_1",
        ),
        {
            "kind": "node_output_appended",
            "outputId": "out_2",
            "channel": "artifact",
            "artifact": {
                "kind": "wr.plan",
                "digest": "sha256:5",
                "body": {"kind": "wr.plan"},
                "contractRef": "c",
            },
            "supersedesOutputId": "out_1",
        },
    ),
    (
        AdvanceRecorded(
            attempt_id=AttemptId("0000001"),
            input_digest="sha256:3",
            outcome=Blocked(
                to_node_id=OTHER,
                blockers=(
                    Blocker(
                        code="MISSING_REQUIRED_OUTPUT",
                        pointer=OutputContract(contract_ref="wr.contracts.plan"),
                        message="None came.",
                        suggested_fix="Add it.",
                    ),
                ),
                retryable=False,
                example={"kind": "wr.plan"},
            ),
        ),
        {
            "kind": "advance_recorded",
            "attemptId": "0000001",
            "inputDigest": "sha256:3",
            "outcome": {
                "kind": "blocked",
                "toNodeId": "nod_2",
                "blockers": [
                    {
                        "code": "MISSING_REQUIRED_OUTPUT",
                        "pointer": {"kind": "output_contract", "contractRef": "wr.contracts.plan"},
                        "message": "None came.",
                        "suggestedFix": "Add it.",
                    }
                ],
                "retryable": False,
                "example": {"kind": "wr.plan"},
            },
        },
    ),
    (
        AdvanceRecorded(
            attempt_id=AttemptId("0000001"),
            input_digest="sha256:3",
            outcome=Advanced(to_node_id=OTHER, option_id="left"),
        ),
        {
            "kind": "advance_recorded",
            "attemptId": "0000001",
            "inputDigest": "sha256:3",
            "outcome": {"kind": "advanced", "toNodeId": "nod_2", "optionId": "left"},
        },
    ),
    (
        ValidationPerformed(
            attempt_id=AttemptId("0000001"), contract_ref="c", result="invalid", issues=("/a: missing",)
        ),
        {
            "kind": "validation_performed",
            "attemptId": "0000001",
            "contractRef": "c",
            "result": "invalid",
            "issues": ["/a: missing"],
        },
    ),
    (
        PreferencesChanged(
            change_id="prf_1",
            source="user",
            operation="run.start",
            delta=PreferencesDelta(autonomy="full_auto_never_stop"),
            effective=Preferences(autonomy="full_auto_never_stop", risk_policy="conservative"),
        ),
        {
            "kind": "preferences_changed",
            "changeId": "prf_1",
            "source": "user",
            "operation": "run.start",
            "delta": {"autonomy": "full_auto_never_stop"},
            "effective": {"autonomy": "full_auto_never_stop", "riskPolicy": "conservative"},
        },
    ),
    (
        CapabilityObserved(capability="web_browsing", status="unavailable", provenance="probe_step"),
        {
            "kind": "capability_observed",
            "capability": "web_browsing",
            "status": "unavailable",
            "provenance": "probe_step",
        },
    ),
    (
        GapRecorded(
            gap_id="gap_2", severity="critical", reason="reported", summary="s", resolves_gap_id="gap_1"
        ),
        {
            "kind": "gap_recorded",
            "gapId": "gap_2",
            "severity": "critical",
            "reason": "reported",
            "summary": "s",
            "resolvesGapId": "gap_1",
        },
    ),
    (
        DivergenceRecorded(reason="safety_stop", summary="s", related_step_id="a"),
        {"kind": "divergence_recorded", "reason": "safety_stop", "summary": "s", "relatedStepId": "a"},
    ),
    (
        DecisionTraceAppended(
            entries=(
                EvaluatedCondition(condition_id="c", holds=False),
                SkippedStep(step_id="b", condition_id="c"),
                EnteredLoop(loop_id="l", iteration=0),
                SelectedStep(step_id="d", loops=(LoopFrame(loop_id="l", iteration=0),)),
            ),
            omitted=3,
        ),
        {
            "kind": "decision_trace_appended",
            "entries": [
                {"kind": "evaluated_condition", "conditionId": "c", "holds": False},
                {"kind": "skipped_step", "stepId": "b", "conditionId": "c"},
                {"kind": "entered_loop", "loopId": "l", "iteration": 0},
                {"kind": "selected_next_step", "stepId": "d", "loops": [{"loopId": "l", "iteration": 0}]},
            ],
            "omitted": 3,
        },
    ),
    (
        DecisionTraceAppended(
            entries=(
                ExitedLoop(loop_id="l", iterations=2, reason="limit_reached"),
                DetectedNonTipAdvance(node_id="nod_1"),
            )
        ),
        {
            "kind": "decision_trace_appended",
            "entries": [
                {"kind": "exited_loop", "loopId": "l", "iterations": 2, "reason": "limit_reached"},
                {"kind": "detected_non_tip_advance", "nodeId": "nod_1"},
            ],
        },
    ),
    (
        SessionImported(
            bundle_id=BundleId("bnd_1"), source_session_id=SessionId("ses_1"), source_head="0" * 64
        ),
        {
            "kind": "session_imported",
            "bundleId": "bnd_1",
            "sourceSessionId": "ses_1",
            "sourceHead": "0" * 64,
        },
    ),
    (
        RunClosed(reason="done_elsewhere", node_id=NODE, note="By hand.", request_id="k-1"),
        {
            "kind": "run_closed",
            "reason": "done_elsewhere",
            "nodeId": "nod_1",
            "note": "By hand.",
            "requestId": "k-1",
        },
    ),
    (
        ReceiptRecorded(
            receipt_id=ReceiptId("rcp_1"),
            node_id=NODE,
            by="handrail",
            check="tests",
            argv=("pytest", "-q"),
            argv_digest="sha256:1",
            outcome=Exited(status=1),
            duration_ms=1500,
            output_digest="sha256:2",
            output_bytes=9,
            head="1 failed\n",
            tree_before="tree_1",
            tree_after="tree_1",
            counts=Counts(failed=1),
        ),
        {
            "kind": "receipt_recorded",
            "receiptId": "rcp_1",
            "nodeId": "nod_1",
            "by": "handrail",
            "check": "tests",
            "argv": ["pytest", "-q"],
            "argvDigest": "sha256:1",
            "outcome": {"kind": "exited", "status": 1},
            "durationMs": 1500,
            "outputDigest": "sha256:2",
            "outputBytes": 9,
            "head": "1 failed\n",
            "treeBefore": "tree_1",
            "treeAfter": "tree_1",
            "counts": {"passed": 0, "failed": 1, "skipped": 0, "errors": 0},
        },
    ),
    (
        TreeRecorded(
            node_id=NODE,
            tree_id="t1:2",
            head="c0ffee",
            cause="look",
            files=9,
            listed=2,
            left_out=1,
            base_node_id=NODE,
            base_tree_id="t1:1",
            depth=1,
            list_ref=BlobRef("sha256:3"),
            pack_ref=BlobRef("sha256:4"),
            differs_from=NODE,
            differing=3,
        ),
        {
            "kind": "tree_recorded",
            "nodeId": "nod_1",
            "treeId": "t1:2",
            "head": "c0ffee",
            "cause": "look",
            "files": 9,
            "listed": 2,
            "leftOut": 1,
            "baseNodeId": "nod_1",
            "baseTreeId": "t1:1",
            "depth": 1,
            "listRef": "sha256:3",
            "packRef": "sha256:4",
            "differsFrom": "nod_1",
            "differing": 3,
        },
    ),
    (
        ConfirmationRecorded(
            node_id=NODE,
            door="terminal",
            who="maria",
            what_digest="sha256:5",
            answer="declined",
            note="Not yet.",
        ),
        {
            "kind": "confirmation_recorded",
            "nodeId": "nod_1",
            "door": "terminal",
            "who": "maria",
            "whatDigest": "sha256:5",
            "answer": "declined",
            "note": "Not yet.",
        },
    ),
    (
        EvidenceRecorded(
            attempt_id=AttemptId("0000001"),
            node_id=NODE,
            claims=(
                Claim(contract_ref="c", pointer="/a", check="path_exists", level="observed"),
                Claim(pointer="/", check="ran", verdict="missing", fact="nobody saw it"),
            ),
            tree="tree_1",
        ),
        {
            "kind": "evidence_recorded",
            "attemptId": "0000001",
            "nodeId": "nod_1",
            "claims": [
                {"contractRef": "c", "pointer": "/a", "check": "path_exists", "level": "observed"},
                {"pointer": "/", "check": "ran", "verdict": "missing", "fact": "nobody saw it"},
            ],
            "tree": "tree_1",
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


@pytest.mark.parametrize(("outcome", "data"), OUTCOMES)
def test_every_end_of_a_program_has_one_written_form(outcome: RunOutcome, data: dict[str, object]) -> None:
    fact = ReceiptRecorded(
        receipt_id=ReceiptId("rcp_1"),
        node_id=NODE,
        by="client_hook",
        argv=("true",),
        argv_digest="sha256:1",
        outcome=outcome,
    )

    body = encode_event(PlannedEvent(dedupe_key="key", scope=Scope(run_id=RUN), data=fact), AT)

    assert json.loads(body)["data"] == {
        "kind": "receipt_recorded",
        "receiptId": "rcp_1",
        "nodeId": "nod_1",
        "by": "client_hook",
        "argv": ["true"],
        "argvDigest": "sha256:1",
        "outcome": data,
    }
    assert decode_event(body).data == fact


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
        "validation_performed",
        "node_output_appended",
        "preferences_changed",
        "capability_observed",
        "gap_recorded",
        "divergence_recorded",
        "decision_trace_appended",
        "session_imported",
        "run_closed",
        "receipt_recorded",
        "tree_recorded",
        "evidence_recorded",
        "confirmation_recorded",
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
