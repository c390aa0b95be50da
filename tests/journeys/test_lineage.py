"""What a run leaves in its log: one record per attempt, nodes and edges of their kind, runs kept apart."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from handrail.event_log.memory import MemoryLog
from handrail.ports.log import Draft, EventReader
from handrail.runtime.runtime import RehydratePorts, Runtime
from tests.conftest import GivenWorkspace, workspace_of
from tests.journeys.conversation import advance, answer, refusal, rehydrate, save, start
from tests.journeys.given_workflows import A_DECISION, WITH_DECISION, begin, declared, equals, give, step
from tests.journeys.interfaces import events_of, of_kind
from tests.journeys.test_blocked import report, shown

NO_FIELDS: dict[str, Any] = {}


@pytest.mark.promise("continue.recorded")
def test_each_attempt_is_one_record_at_its_node(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields=NO_FIELDS)
    blocked = report(runtime, first["ackToken"])
    report(runtime, blocked["retryAckToken"], A_DECISION)

    events = events_of(runtime, first)
    records = of_kind(events, "advance_recorded")

    assert [record["data"]["outcome"]["kind"] for record in records] == ["blocked", "advanced"]
    nodes = [event["scope"]["nodeId"] for event in of_kind(events, "node_created")]
    assert [record["scope"]["nodeId"] for record in records] == nodes[:2]
    assert [record["data"]["outcome"]["toNodeId"] for record in records] == nodes[1:]
    assert len({record["data"]["attemptId"] for record in records}) == 2


@pytest.mark.promise("lineage.edges")
def test_each_kind_of_call_leaves_its_node_and_edge(runtime: Runtime) -> None:
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields=NO_FIELDS)
    saved = save(runtime, first, "x")
    blocked = report(runtime, saved["ackToken"])
    report(runtime, blocked["retryAckToken"], A_DECISION)
    report(runtime, rehydrate(runtime, first)["ackToken"], A_DECISION)

    events = events_of(runtime, first)

    assert [event["data"]["nodeKind"] for event in of_kind(events, "node_created")] == [
        *("step", "checkpoint", "blocked_attempt", "step", "step")
    ]
    assert [
        (event["data"]["edgeKind"], event["data"]["cause"]) for event in of_kind(events, "edge_created")
    ] == [
        ("checkpoint", "checkpoint_created"),
        ("blocked", "validation_blocked"),
        ("acked_step", "advance"),
        ("acked_step", "non_tip_advance"),
    ]


@pytest.mark.promise("sessions.many-runs")
def test_session_holds_runs_with_their_own_branches(runtime: Runtime) -> None:
    one = start(runtime)
    two = start(runtime, session=one["session"]["sessionId"])
    advance(runtime, one, "one way")
    advance(runtime, rehydrate(runtime, one), "another way")
    advance(runtime, two, "the only way")

    runs = answer(runtime, "session.show", sessionId=one["session"]["sessionId"])["runs"]

    assert [(run["id"], run["fork_count"], len(run["tips"])) for run in runs] == [
        (one["session"]["runId"], 1, 2),
        (two["session"]["runId"], 0, 1),
    ]


@pytest.mark.promise("sessions.boundaries")
def test_a_session_shows_each_run_apart(runtime: Runtime) -> None:
    one = start(runtime)
    two = begin(runtime, step("other"), fields=NO_FIELDS, session=one["session"]["sessionId"])
    advance(runtime, two)

    runs = answer(runtime, "session.show", sessionId=one["session"]["sessionId"])["runs"]

    assert [(run["workflow_id"], run["status"], run["pending_step"]) for run in runs] == [
        ("project.three_steps", "in_progress", "first"),
        ("project.given1", "complete", None),
    ]
    assert set(runs[0]["tips"]) & set(runs[1]["tips"]) == set()
    assert all(run["graph"] for run in runs)


@pytest.mark.promise("runs.interleaved")
def test_runs_are_advanced_in_any_order(runtime: Runtime) -> None:
    outer = start(runtime, context={"who": "outer"})
    beside = start(runtime, session=outer["session"]["sessionId"], context={"who": "beside"})
    elsewhere = start(runtime, context={"who": "elsewhere"})
    runs = {"outer": outer, "beside": beside, "elsewhere": elsewhere}

    for name in ("beside", "outer", "elsewhere", "outer", "beside", "outer", "elsewhere", "beside"):
        runs[name] = advance(runtime, runs[name], f"{name} worked")

    told = {name: rehydrate(runtime, reply)["recap"]["entries"] for name, reply in runs.items()}
    assert {name: [entry["notes"] for entry in entries] for name, entries in told.items()} == {
        "outer": ["outer worked"] * 3,
        "beside": ["beside worked"] * 3,
        "elsewhere": ["elsewhere worked"] * 2,
    }
    assert [runs[name]["isComplete"] for name in runs] == [True, True, False]


@pytest.mark.promise("runs.interleaved")
def test_inner_run_gives_its_result_to_the_outer_one(runtime: Runtime) -> None:
    outer = start(runtime)
    inner = begin(runtime, step("only"), fields=NO_FIELDS, session=outer["session"]["sessionId"])
    done = advance(runtime, inner, "inner result: 42")

    second = advance(runtime, outer, "The inner run found 42.", context={"innerResult": 42})

    assert done["isComplete"]
    assert second["pending"]["stepId"] == "second"
    assert rehydrate(runtime, second)["recap"]["entries"][0]["notes"] == "The inner run found 42."


@pytest.mark.promise("observations.recorded")
def test_branch_and_goal_of_a_start_help_to_find_it(runtime: Runtime) -> None:
    workspace_of(runtime).seen |= {"git_branch": "fix/rounding", "git_head_sha": "a" * 40}

    first = start(runtime, goal="Fix the rounding of prices")

    seen = {
        event["data"]["key"]: event["data"]["value"]
        for event in of_kind(events_of(runtime, first), "observation_recorded")
    }
    assert seen["git_branch"] == "fix/rounding"
    assert seen["git_head_sha"] == "a" * 40
    assert seen["goal"] == "Fix the rounding of prices"
    (found,) = answer(runtime, "session.resume", query=first["session"]["sessionId"])["items"]
    assert found["goal"] == "Fix the rounding of prices"


@pytest.mark.promise("continue.replay.no-recompute")
def test_a_replay_answers_though_deciding_would_fail_now(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    workflow_id = give(runtime, step("decide", **WITH_DECISION), step("do"))

    def again(runtime: Runtime) -> dict[str, Any]:
        return start(runtime, workflowId=workflow_id, requestId="once")

    first = again(runtime)
    blocked = report(runtime, first["ackToken"])
    after = report(runtime, blocked["retryAckToken"], A_DECISION)
    saved = answer(runtime, "run.checkpoint", checkpointToken=after["checkpointToken"], output={})

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("a replay decided again")

    for place in (
        "handrail.operations.runs.continue_run.decide_advance",
        "handrail.operations.checkpoints.decide_checkpoint",
        "handrail.operations.runs.start_run.decide_start",
        "handrail.operations.runs.start_run.pin_workflow",
        "handrail.engine.decide.answer_report",
        "handrail.engine.decide.find_way",
    ):
        monkeypatch.setattr(place, never)

    assert again(runtime) == first
    assert report(runtime, first["ackToken"]) == blocked
    assert report(runtime, blocked["retryAckToken"], A_DECISION) == after
    assert answer(runtime, "run.checkpoint", checkpointToken=after["checkpointToken"], output={}) == saved
    assert refusal(runtime, "run.continue", ackToken=after["ackToken"]).kind.code == "INTERNAL_ERROR"


@pytest.mark.promise("rehydrate.cannot-append")
def test_rehydrate_gets_no_port_that_can_append(runtime: Runtime) -> None:
    first = start(runtime)

    class ReaderOnly:
        """A log of which only what the port of a reader names exists."""

        def __init__(self, log: MemoryLog) -> None:
            for name in vars(EventReader):
                if not name.startswith("_"):
                    setattr(self, name, getattr(log, name))

    assert isinstance(runtime.log, MemoryLog)
    reading: Any = msgspec.structs.replace(runtime, log=ReaderOnly(runtime.log))

    assert rehydrate(reading, first)["pending"] == first["pending"]
    assert {"clock", "authored", "commits"} & set(RehydratePorts.__struct_fields__) == set()
    assert RehydratePorts.__annotations__["log"] == "EventReader"
    assert refusal(reading, "run.continue", ackToken=first["ackToken"]).kind.code == "INTERNAL_ERROR"


@pytest.mark.promise("store.witness")
def test_nothing_is_read_from_outside_while_the_session_is_held(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept notes, the workflow and git are read before: a pool of connections has one for a call."""
    first = begin(runtime, step("decide", **WITH_DECISION), step("do"), fields=NO_FIELDS)
    blocked = report(runtime, first["ackToken"], notes="long " * 2_000)
    held: list[str] = []
    read: list[str] = []
    hold, get_blob, observe = MemoryLog.hold, MemoryLog.get_blob, GivenWorkspace.observations

    @contextmanager
    def holding(log: MemoryLog, session_id: Any, wait_ms: int, known: int | None = None) -> Iterator[Any]:
        with hold(log, session_id, wait_ms, known) as one:
            held.append(session_id)
            yield one
            held.clear()

    def noting(name: str, call: Any) -> Any:
        def reading(*given: Any) -> Any:
            read.append(f"{name} under the hold" if held else name)
            return call(*given)

        return reading

    monkeypatch.setattr(MemoryLog, "hold", holding)
    monkeypatch.setattr(MemoryLog, "get_blob", noting("blob", get_blob))
    monkeypatch.setattr(GivenWorkspace, "observations", noting("git", observe))
    after = report(runtime, blocked["retryAckToken"], A_DECISION)
    answer(runtime, "run.checkpoint", checkpointToken=after["checkpointToken"], output={"notesMarkdown": "x"})

    assert {"blob", "git"} == set(read)


@pytest.mark.promise("store.witness")
def test_append_after_the_hold_writes_no_byte(runtime: Runtime) -> None:
    first = start(runtime)
    session_id = first["session"]["sessionId"]
    with runtime.log.hold(session_id, 0) as hold:
        pass
    before = runtime.log.load(session_id)
    assert before is not None

    with pytest.raises(AssertionError):
        hold.append(before.head, [Draft(dedupe_key="late", body=b"{}")])

    assert runtime.log.load(session_id) == before


@pytest.mark.promise("events.closed-set")
@pytest.mark.parametrize(
    "body",
    [
        b'{"v":1,"at":"2027-01-15T08:00:00.000Z","scope":{},"data":{"kind":"mood_recorded"}}',
        b'{"v":2,"at":"2027-01-15T08:00:00.000Z","scope":{},"data":{"kind":"session_created"}}',
    ],
)
def test_an_event_of_an_unknown_kind_or_version_stops_reading(runtime: Runtime, body: bytes) -> None:
    first = start(runtime)
    session_id = first["session"]["sessionId"]
    with runtime.log.hold(session_id, 0) as hold:
        loaded = hold.load()
        assert loaded is not None
        hold.append(loaded.head, [Draft(dedupe_key="from:later", body=body)])

    failure = refusal(runtime, "run.continue", stateToken=first["stateToken"])

    assert failure.kind.code == "STORE_UNSUPPORTED_VERSION"
    assert str(failure.details["supported"]) == "1"


@pytest.mark.promise("context.durable")
def test_context_is_kept_merged_by_key_and_null_takes_a_key_away(runtime: Runtime) -> None:
    steps = (
        step("one"),
        step("two"),
        step("with_a", when=equals("a", 1)),
        step("with_b", when=equals("b", {"x": 2})),
    )
    first = begin(runtime, *steps, fields=declared("a", "b"), context={"a": 1, "b": {"x": 1, "y": 1}})
    second = advance(runtime, first, context={"b": {"x": 2}})

    kept = advance(runtime, second)
    dropped = advance(runtime, rehydrate(runtime, second), context={"a": None})

    assert kept["pending"]["stepId"] == "with_a"
    assert dropped["pending"]["stepId"] == "with_b"
    deltas = [event["data"]["context"] for event in of_kind(events_of(runtime, first), "context_set")]
    assert deltas == [{"a": 1, "b": {"x": 1, "y": 1}}, {"b": {"x": 2}}, {"a": None}]


@pytest.mark.promise("context.external")
def test_context_decides_the_way_and_is_never_echoed(runtime: Runtime) -> None:
    steps = (step("plan", when=equals("size", "Large")), step("do"))
    context = {"size": "Large", "secret-ish": "tell nobody", "stepId": "do", "isComplete": True}

    first = begin(runtime, *steps, fields=declared("size"), context=context)
    second = advance(runtime, first)

    assert (first["pending"]["stepId"], second["pending"]["stepId"]) == ("plan", "do")
    assert "tell nobody" not in str([first, second, rehydrate(runtime, second)])
    assert "context" not in first


@pytest.mark.promise("outputs.one-path")
def test_output_is_there_after_a_loss_and_context_is_not_retold(runtime: Runtime) -> None:
    first = start(runtime)
    second = answer(
        runtime,
        "run.continue",
        ackToken=first["ackToken"],
        context={"remark": "said in context"},
        output={"notesMarkdown": "said in output", "artifacts": [{"kind": "project.table", "rows": [1]}]},
    )

    recap = rehydrate(runtime, second)["recap"]

    assert [entry["notes"] for entry in recap["entries"]] == ["said in output"]
    assert [held["body"]["rows"] for held in recap["artifacts"]] == [[1]]
    assert "said in context" not in str(recap)


@pytest.mark.promise("steps.keys")
def test_key_of_a_step_names_each_loop_and_turn(runtime: Runtime) -> None:
    inner = {"type": "loop", "loopId": "files", "count": 2, "maxIterations": 2, "body": [step("read")]}
    outer = {"type": "loop", "loopId": "rounds", "count": 2, "maxIterations": 2, "body": [inner]}
    reply = begin(runtime, outer, fields=NO_FIELDS)
    keys = []

    while not reply["isComplete"]:
        keys.append(reply["pending"]["stepId"])
        reply = advance(runtime, reply)

    assert keys == [f"rounds@{turn}/files@{file}::read" for turn in (0, 1) for file in (0, 1)]
    assert shown(runtime, reply)["loops"][-1] == {
        "loop_id": "rounds",
        "iterations": 2,
        "reason": "items_exhausted",
    }
