"""Journeys off the list of promises, from the rules R10 to R21 and R33 of truth.md."""

from __future__ import annotations

import json

import pytest

from tests.journeys.strangers.execution.flows_b import (
    FINDINGS,
    Document,
    ack,
    bring,
    document,
    export,
    follow,
    reread,
    run_of,
    session_of,
    start,
    steps,
    three,
)
from tests.journeys.strangers.product import Product


@pytest.mark.promise("continue.fork")
def test_a_checkpoint_at_an_old_node_of_a_closed_run_leaves_it_closed(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
        ack(server, begun, "one")
        product.data("run", "close", session_of(begun), "--reason", "abandoned")
        saved = server.call(
            "checkpoint_workflow",
            checkpointToken=begun.structured["checkpointToken"],
            output={"notesMarkdown": "a late thought"},
        )
        offered = server.call("resume_session").structured["items"]

    status = product.data("session", "show", session_of(begun))["runs"][0]["status"]
    assert not saved.is_error
    assert (status, offered) == ("closed", []) or "open" in saved.text, "opened again without a word"


@pytest.mark.promise("recap.budget")
def test_two_hundred_tiny_notes_are_at_most_12_kb_as_they_are_sent(product: Product) -> None:
    workflow = product.workflow(document("project.long", steps(201)))
    with product.serve() as server:
        reply = start(server, workflow)
        for _ in range(200):
            reply = ack(server, reply, "abc")

        found = reread(server, reply)

    recap = json.dumps(found.structured["recap"], ensure_ascii=False, separators=(",", ":")).encode()
    part = found.text[found.text.index("Recap") :].encode()
    assert len(recap) <= 12 * 1024, len(recap)
    assert len(part) <= 12 * 1024, len(part)


@pytest.mark.promise("recap.budget")
def test_a_cut_that_left_out_branches_alone_does_not_speak_of_zero_earlier_entries(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
        ack(server, begun, "x" * 300)
        for number in range(40):
            ack(server, reread(server, begun), f"{number} " + "x" * 300)

        found = reread(server, begun)

    assert found.structured["recap"]["childrenOmitted"] > 0
    assert "more branches are left out" in found.text
    assert "Omitted 0" not in found.text


@pytest.mark.promise("errors.corrected-call")
def test_the_start_that_is_offered_for_a_missing_list_does_not_finish_the_run_without_a_step(
    product: Product,
) -> None:
    body = [{"id": "one", "title": "One", "prompt": "Look at {{file}}."}]
    each = {"input": "files", "as": "file"}
    loop = {"type": "loop", "loopId": "l", "forEach": each, "maxIterations": 3, "body": body}
    workflow = product.workflow(document("project.each", [loop], inputs={"files": {"type": "array"}}))
    with product.serve() as server:
        refused = server.call("start_workflow", workflowId=workflow)
        offered = refused.structured["details"]["next_call"]

        literally = follow(server, offered)

    assert refused.is_error
    assert literally.is_error or literally.structured["isComplete"] is False, literally.text


@pytest.mark.promise("full-auto.disclosed")
def test_an_agent_that_reports_a_gap_learns_the_id_that_settles_it(product: Product) -> None:
    workflow = three(product)
    gap = {"kind": "wr.gap", "severity": "critical", "summary": "The limit is unproven."}
    with product.serve() as server:
        begun = start(server, workflow)
        second = ack(server, begun, "n", gap)
        again = reread(server, second)
        identifier = product.data("session", "show", session_of(begun))["runs"][0]["gaps"][0]["id"]

    assert identifier in second.text or identifier in again.text, "no reply names it"


@pytest.mark.promise("sessions.boundaries")
def test_a_session_is_not_called_complete_while_one_of_its_runs_is_in_progress(product: Product) -> None:
    outer = three(product)
    inner = product.workflow(document("project.inner", steps(1)))
    with product.serve() as server:
        begun = start(server, outer, goal="outer")
        nested = start(server, inner, session=session_of(begun))
        ack(server, nested, "done inside")

    listed = product.data("session", "list")["items"][0]
    shown = product.data("session", "show", session_of(begun))
    assert sorted(run["status"] for run in shown["runs"]) == ["complete", "in_progress"]
    assert listed["status"] == shown["status"] == "in_progress"


@pytest.mark.promise("resume.new-chat")
def test_a_finished_session_is_not_shown_to_people_as_one_to_go_on_with(product: Product) -> None:
    workflow = product.workflow(document("project.one", steps(1)))
    with product.serve() as server:
        begun = start(server, workflow)
        ack(server, begun, "done")

    shown = product.run("session", "show", session_of(begun), "--human").out
    assert "complete" in shown
    assert "Go on with it" not in shown


@pytest.mark.promise("resume.new-chat")
def test_the_list_for_people_has_the_project_of_each_session(product: Product) -> None:
    away = product.project.parent / "Müller und Söhne"
    away.mkdir()
    with product.serve() as server:
        start(server, "wr.small_change", goal="here")
        server.call("start_workflow", workflowId="wr.small_change", goal="away", project=str(away))

    listed = product.run("session", "list", "--human").out
    assert "away" in listed
    assert "Müller und Söhne" in listed


@pytest.mark.promise("start.pins-the-workflow")
def test_resume_says_in_its_text_that_the_file_of_a_run_changed(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        start(server, workflow, goal="drifter")
        product.workflow(document("project.three", [steps(1)[0] | {"prompt": "Something else."}]))

        found = server.call("resume_session", query="drifter")

    assert "WORKFLOW_SOURCE_DIFFERS" in json.dumps(found.structured)
    assert "changed since" in found.text, "only the structure tells it"


@pytest.mark.promise("bundle.import-as-new")
def test_a_run_id_that_two_sessions_hold_is_not_closed_in_one_of_them_without_a_word(
    product: Product,
) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
    copy = bring(product, export(product, session_of(begun), "a.json"))["session_id"]

    ran = product.run("run", "close", run_of(begun), "--reason", "abandoned")

    assert ran.status != 0 or (copy in ran.out and session_of(begun) in ran.out), ran.out


@pytest.mark.promise("blocked.invalid")
def test_the_values_that_are_allowed_are_named_whole_where_the_bound_leaves_room(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        begun = start(server, workflow)
        wrong = {"kind": "wr.workflow_divergence", "reason": "bored", "summary": "x"}

        blocked = ack(server, begun, "n", wrong)

    message = blocked.structured["blockers"][0]["message"]
    assert "policy_constraint" in json.dumps(blocked.structured), message
    assert not message.endswith("…") or len(message.encode()) > 500


@pytest.mark.promise("blocked.invalid")
def test_a_report_does_not_say_that_a_refused_artifact_was_replaced_when_nothing_came_after_it(
    product: Product,
) -> None:
    look: Document = {"id": "look", "title": "Look", "prompt": "L."}
    workflow = product.workflow(
        document(
            "project.look", [look | {"output": {"contractRef": "wr.contracts.review_findings"}}, *steps(1)]
        )
    )
    with product.serve() as server:
        begun = start(server, workflow)
        ack(server, begun, "n", FINDINGS | {"verdict": "perhaps"})

    report = product.run("session", "export", session_of(begun), "--as", "markdown", "--format", "raw").out
    assert "was not kept" in report
    assert "replaced later" not in report


@pytest.mark.promise("blocked.or-gap")
def test_a_report_whose_only_claim_is_refuted_does_not_end_as_plainly_complete_by_saying_passed(
    product: Product,
) -> None:
    asks = steps(1)[0] | {"output": {"contractRef": "wr.contracts.verification_report"}}
    workflow = product.workflow(document("project.v", [asks]))
    evidence = [{"source": "command", "ref": "pytest -q", "result": "1 failed"}]
    claims = [{"claim": "It works.", "status": "refuted", "evidence": evidence}]
    report = {"kind": "wr.verification_report", "verdict": "passed", "claims": claims, "notChecked": []}
    with product.serve() as server:
        begun = start(server, workflow)

        reply = ack(server, begun, "n", report)

    status = product.data("session", "show", session_of(begun))["runs"][0]["status"]
    assert reply.structured["kind"] == "blocked" or status == "complete_with_gaps", (status, reply.text)
