"""What holds at a node beside its context: artifacts, gaps, capabilities, skipped steps, ended loops."""

from __future__ import annotations

from typing import Any

from handrail.engine.events import Artifact, NodeOutputAppended, PreferencesDelta, Scope
from handrail.engine.history import gaps_at, not_run_at
from handrail.engine.plans import plan_event
from handrail.engine.tips import open_gaps
from handrail.projections.run_graph import (
    divergences_at,
    loop_exits_at,
    run_graph,
)
from handrail.workflows.compiled import Count, Loop
from handrail.workflows.conditions import Compare
from tests.engine.contracts import CONTRACTS, FINDING, finding
from tests.engine.written_log import RUN_ID, WrittenLog, step, work, workflow_of

NEVER = PreferencesDelta(autonomy="full_auto_never_stop")


def asking(*names: str) -> WrittenLog:
    steps = [step(name, contract=FINDING) for name in names]
    return WrittenLog(workflow=workflow_of(*steps, contracts=CONTRACTS))


def gap(**fields: Any) -> dict[str, Any]:
    return {"kind": "wr.gap", "severity": "warning", "summary": "No logs."} | fields


def test_a_correction_replaces_the_output_it_names() -> None:
    log = asking("a", "b")
    second = log.report(log.start(), work(artifacts=[finding()]))
    wrong = log.history.attached[second.node_id].artifacts[0]
    better = Artifact(kind="project.finding", digest="sha256:1", body=finding(file="b.py"))
    scope = Scope(run_id=RUN_ID, node_id=second.node_id)
    corrected = NodeOutputAppended(
        output_id="out_better", channel="artifact", artifact=better, supersedes_output_id=wrong.output_id
    )

    log.take([plan_event("node_output_appended:out_better", scope, corrected)])

    assert [held.output_id for held in log.history.attached[second.node_id].artifacts] == ["out_better"]


def test_a_fork_does_not_settle_its_siblings_gap() -> None:
    log = asking("a", "b")
    second = log.report(log.start(preferences=NEVER), work())
    (first_gap,) = open_gaps(log.history, second.node_id)
    log.report(second, work(artifacts=[finding(), gap(resolvesGapId=first_gap.gap_id)]))
    end = log.report(second, work())

    assert open_gaps(log.history, end.node_id)[0].gap_id == first_gap.gap_id
    assert run_graph(log.history, RUN_ID).status == "complete_with_gaps"


def test_a_remark_is_no_open_gap() -> None:
    log = WrittenLog("a")
    end = log.report(log.start(), work(artifacts=[gap(severity="info")]))

    assert len(gaps_at(log.history, end.node_id)) == 1
    assert run_graph(log.history, RUN_ID).status == "complete"


def test_divergences_skips_and_loop_ends_are_in_order() -> None:
    big = Compare(input="size", op="equals", value="big")
    loop = Loop(id="twice", repeat=Count(count=2), max_iterations=5, body=(step("r"),))
    log = WrittenLog(
        workflow=workflow_of(
            step("a", when="big"), step("b"), loop, step("c", when="big"), step("d"), conditions={"big": big}
        )
    )
    told = {"kind": "wr.workflow_divergence", "reason": "efficiency_skip", "summary": "Known already."}
    second = log.report(log.start(), work(artifacts=[told]))
    end = log.walk(second, "one", "two")

    assert [part.part_id for part in not_run_at(log.history, end.node_id).parts] == ["a", "c"]
    assert [(entry.loop_id, entry.iterations) for entry in loop_exits_at(log.history, end.node_id)] == [
        ("twice", 2)
    ]
    assert [held.related_step_id for held in divergences_at(log.history, end.node_id)] == ["b"]
