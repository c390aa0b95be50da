"""Outputs, contracts, prompts, modes and context."""

from __future__ import annotations

import json

import pytest

from tests.journeys.strangers.execution.flows_b import (
    FINDINGS,
    PLAN,
    Document,
    ack,
    codes,
    document,
    events,
    follow,
    reread,
    session_of,
    start,
    steps,
    stored,
    three,
)
from tests.journeys.strangers.product import Product


@pytest.mark.promise("outputs.shape")
def test_output_may_be_left_out_or_empty_where_notes_are_optional_and_takes_nothing_besides(
    product: Product,
) -> None:
    workflow = product.workflow(document("project.o", steps(5, notesOptional=True)))
    with product.serve() as server:
        begun = start(server, workflow)
        bare = server.call("continue_workflow", ackToken=begun.structured["ackToken"])
        empty = ack(server, bare, None)
        only = ack(server, empty, None, {"kind": "wr.gap", "severity": "info", "summary": "x"})
        before = stored(product, session_of(begun))
        more = server.call(
            "continue_workflow",
            ackToken=only.structured["ackToken"],
            output={"notesMarkdown": "n", "summary": "cumulative", "files": []},
        )

    assert [r.structured["pending"]["stepId"] for r in (bare, empty, only)] == ["s2", "s3", "s4"]
    assert more.is_error
    assert more.structured["code"] == "VALIDATION_ERROR"
    named = {problem["param"] for problem in more.structured["details"]["problems"]}
    assert named == {"output.summary", "output.files"}
    assert stored(product, session_of(begun)) == before


@pytest.mark.promise("notes.without-contract")
def test_notes_that_look_like_artifacts_stay_notes_and_count_for_nothing(product: Product) -> None:
    look = {
        "id": "look",
        "title": "Look",
        "prompt": "L.",
        "output": {"contractRef": "wr.contracts.review_findings"},
    }
    workflow = product.workflow(document("project.n", [*steps(1), look]))
    pretended = (
        "```json\n" + json.dumps(FINDINGS) + "\n```\nwr.gap critical: none\n- [x] approved by the user"
    )
    with product.serve() as server:
        begun = start(server, workflow)
        second = ack(server, begun, pretended)
        blocked = ack(server, second, pretended)

        shown = product.data("session", "show", session_of(begun))["runs"][0]

    assert second.structured["pending"]["stepId"] == "look"
    assert codes(second) == []
    assert blocked.structured["blockers"][0]["code"] == "MISSING_REQUIRED_OUTPUT"
    assert shown["artifacts"] == []
    assert shown["gaps"] == []
    assert shown["notes"][0]["text"] == pretended


@pytest.mark.promise("contracts.declared")
def test_a_template_implies_its_contract_and_a_hint_blocks_nobody(product: Product) -> None:
    probe = {
        "type": "template_call",
        "templateId": "wr.templates.capability_probe",
        "args": {"capability": "delegation"},
    }
    hinted = {
        "id": "h",
        "title": "H",
        "prompt": "H.",
        "output": {"hints": ["At most 2 words.", "Send a wr.plan."]},
    }
    workflow = product.workflow(document("project.d", [hinted, probe, *steps(1)]))
    seen = {
        "kind": "wr.capability_observation",
        "capability": "delegation",
        "status": "available",
        "summary": "x",
    }
    with product.serve() as server:
        begun = start(server, workflow)
        second = ack(server, begun, "three words here")
        blocked = ack(server, second, "n", seen | {"capability": "web_browsing"})
        passed = ack(server, blocked, None, seen)

    assert "At most 2 words." in begun.text
    assert second.structured["kind"] == "ok"
    assert (
        blocked.structured["blockers"][0]["pointer"]["contractRef"] == "wr.contracts.capability_observation"
    )
    assert passed.structured["pending"]["stepId"] == "s1"


@pytest.mark.promise("contracts.declared")
@pytest.mark.parametrize("kind", ["plan", "wr.Plan", "wr.contracts.plan", "wr.plan ", "wr.plans"])
def test_an_artifact_of_nearly_the_right_kind_does_not_count_and_is_named(
    product: Product, kind: str
) -> None:
    asks = {"id": "p", "title": "P", "prompt": "P.", "output": {"contractRef": "wr.contracts.plan"}}
    workflow = product.workflow(document("project.k", [asks, *steps(1)]))
    with product.serve() as server:
        begun = start(server, workflow)
        blocked = ack(server, begun, "n", PLAN | {"kind": kind})

    assert blocked.is_error or blocked.structured["kind"] == "blocked"
    assert "wr.plan" in blocked.text
    assert kind.strip() in blocked.text
    assert (
        not blocked.is_error or "Nothing was stored" in blocked.text or "nothing was stored" in blocked.text
    )


@pytest.mark.promise("contracts.pinned")
def test_a_run_keeps_its_contract_when_the_file_names_another_one(product: Product) -> None:
    asks = {"id": "p", "title": "P", "prompt": "P.", "output": {"contractRef": "wr.contracts.plan"}}
    workflow = product.workflow(document("project.k", [asks, *steps(1)]))
    with product.serve() as server:
        begun = start(server, workflow)
        other = asks | {"output": {"contractRef": "wr.contracts.review_findings"}}
        product.workflow(document("project.k", [other, *steps(1)]))

        wrong = ack(server, begun, "n", FINDINGS)
        right = ack(server, wrong, None, PLAN)
        fresh = ack(server, start(server, workflow), "n", PLAN)

    assert wrong.structured["blockers"][0]["pointer"]["contractRef"] == "wr.contracts.plan"
    assert right.structured["pending"]["stepId"] == "s1"
    assert fresh.structured["blockers"][0]["pointer"]["contractRef"] == "wr.contracts.review_findings"


@pytest.mark.promise("prompts.blocks")
def test_blocks_written_in_any_order_are_one_text_in_the_fixed_order_and_a_plain_prompt_is_untouched(
    product: Product,
) -> None:
    blocks = {
        "verify": "check-it",
        "outputRequired": {"notes": "what-you-saw"},
        "procedure": ["first-do", "then-do"],
        "constraints": ["never-this"],
        "goal": "reach-it",
    }
    plain = "## Verify\n1. Not a block.\n\n   indented {curly}  two  spaces\n- goal: none"
    parts: list[Document] = [
        {"id": "a", "title": "A", "promptBlocks": blocks},
        {"id": "b", "title": "B", "promptBlocks": dict(reversed(blocks.items()))},
        {"id": "c", "title": "C", "prompt": plain},
    ]
    workflow = product.workflow(document("project.b", parts))
    with product.serve() as server:
        first = start(server, workflow)
        second = ack(server, first, "n")
        third = ack(server, second, "n")

    prompt = first.structured["pending"]["prompt"]
    places = [
        prompt.index(word)
        for word in ("reach-it", "never-this", "first-do", "then-do", "what-you", "check-it")
    ]
    assert places == sorted(places)
    assert second.structured["pending"]["prompt"] == prompt
    assert third.structured["pending"]["prompt"] == plain
    assert plain in third.text


@pytest.mark.promise("prompts.role")
def test_the_role_is_in_every_prompt_of_a_loop_and_a_template_too_and_a_steps_own_replaces_it(
    product: Product,
) -> None:
    own = {"id": "own", "title": "Own", "prompt": "P.", "agentRole": "You are the guest."}
    turn = {"type": "loop", "loopId": "l", "count": 2, "maxIterations": 2, "body": steps(1)}
    probe = {"type": "template_call", "templateId": "wr.templates.handoff_summary"}
    flow = document("project.r", [*steps(2)[1:], own, turn, probe], agentRole="You are the host.")
    workflow = product.workflow(flow)
    prompts = []
    with product.serve() as server:
        reply = start(server, workflow)
        for _ in range(4):
            prompts.append(reply.structured["pending"]["prompt"])
            reply = ack(server, reply, "n")
        prompts.append(reply.structured["pending"]["prompt"])
        again = reread(server, reply).structured["pending"]["prompt"]

    assert [prompt.count("You are the host.") for prompt in prompts] == [1, 0, 1, 1, 1]
    assert [prompt.count("You are the guest.") for prompt in prompts] == [0, 1, 0, 0, 0]
    assert "You are the host." in again


@pytest.mark.promise("modes.never-refused")
def test_the_boldest_mode_on_the_most_careful_workflow_starts_with_a_warning_that_names_the_safe_one(
    product: Product,
) -> None:
    safe = {"autonomy": "guided", "riskPolicy": "conservative"}
    workflow = product.workflow(document("project.m", steps(2), recommended=safe))
    bold = {"autonomy": "full_auto_never_stop", "riskPolicy": "aggressive"}
    with product.serve() as server:
        begun = start(server, workflow, preferences=bold)
        partly = start(server, workflow, preferences={"riskPolicy": "balanced"})
        modest = start(server, workflow, preferences=safe)
        second = ack(server, begun, "n")

    assert begun.structured["preferences"] == bold
    warning = next(w for w in begun.structured["warnings"] if "RECOMMEND" in w["code"] or "MODE" in w["code"])
    assert "guided" in warning["message"]
    assert "conservative" in warning["message"]
    assert "guided" in json.dumps(warning["details"])
    assert warning["code"] in codes(partly)
    assert warning["code"] not in codes(modest)
    assert second.structured["kind"] == "ok"


@pytest.mark.promise("context.durable")
def test_context_is_merged_key_by_key_null_takes_away_and_a_fork_has_the_context_of_its_node(
    product: Product,
) -> None:
    parts = [step | {"prompt": "a={{a}} b={{b}}"} for step in steps(4)]
    inputs = {"a": {"type": "any", "default": "none"}, "b": {"type": "any", "default": "none"}}
    workflow = product.workflow(document("project.c", parts, inputs=inputs))
    with product.serve() as server:
        first = start(server, workflow, context={"a": {"x": 1, "y": 2}, "b": "old"})
        second = ack(server, first, "n", context={"a": {"z": 3}})
        third = ack(server, second, "n", context={"b": None})
    with product.serve() as server:
        fourth = ack(server, third, "n")
        forked = ack(server, reread(server, first), "other")

    assert '"x"' in first.structured["pending"]["prompt"]
    assert "b=old" in first.structured["pending"]["prompt"]
    assert '"x"' not in second.structured["pending"]["prompt"]
    assert "b=old" in second.structured["pending"]["prompt"]
    assert "b=none" in third.structured["pending"]["prompt"]
    assert '"z"' in third.structured["pending"]["prompt"]
    assert "b=none" in fourth.structured["pending"]["prompt"]
    assert '"x"' in forked.structured["pending"]["prompt"]
    assert "b=old" in forked.structured["pending"]["prompt"]


@pytest.mark.promise("steps.keys")
def test_a_step_in_two_loops_has_a_key_with_both_loops_and_their_turns(product: Product) -> None:
    inner = {"type": "loop", "loopId": "inner", "count": 2, "maxIterations": 2, "body": steps(1)}
    outer = {"type": "loop", "loopId": "outer", "count": 2, "maxIterations": 2, "body": [inner]}
    workflow = product.workflow(document("project.k", [outer]))
    with product.serve() as server:
        reply = begun = start(server, workflow)
        prompts = [begun.text]
        for _ in range(4):
            reply = ack(server, reply, "n")
            prompts.append(reply.text)

        nodes = events(product, session_of(begun), "node_created")

    states = [json.dumps(node["data"]["state"], sort_keys=True) for node in nodes]
    assert reply.structured["isComplete"] is True
    assert len(set(states)) == 5
    assert all("inner" in state and "outer" in state for state in states[:4])
    assert "outer" not in states[4]


@pytest.mark.promise("divergence.told")
def test_a_divergence_is_on_its_node_in_the_log_in_the_session_and_in_what_a_person_reads(
    product: Product,
) -> None:
    workflow = three(product)
    left = {"kind": "workflow_divergence", "reason": "safety_stop", "summary": "Did not touch the live one."}
    with product.serve() as server:
        begun = start(server, workflow)
        ack(server, begun, "n", left)
        session = session_of(begun)

        recorded = events(product, session, "divergence_recorded")
        shown = product.data("session", "show", session)["runs"][0]
        report = product.run("session", "export", session, "--as", "markdown", "--format", "raw").out
        human = product.run("session", "show", session, "--human").out

    assert [event["data"]["reason"] for event in recorded] == ["safety_stop"]
    assert recorded[0]["scope"]["nodeId"] in [node["id"] for node in shown["nodes"]]
    assert shown["divergences"][0]["step_id"] == "s1"
    assert "Did not touch the live one." in report
    assert "Did not touch the live one." in human, "session show --human names only an artifact"


@pytest.mark.promise("divergence.reasons")
def test_a_reason_outside_the_set_is_named_with_all_five_and_recorded_nowhere(product: Product) -> None:
    workflow = three(product)
    reasons = (
        "missing_user_context",
        "capability_unavailable",
        "efficiency_skip",
        "safety_stop",
        "policy_constraint",
    )
    with product.serve() as server:
        begun = start(server, workflow)
        refused = ack(
            server, begun, "n", {"kind": "wr.workflow_divergence", "reason": "Safety_Stop", "summary": "x"}
        )
        good = begun if refused.is_error else refused
        passed = ack(
            server,
            good,
            "n",
            *[
                {"kind": "wr.workflow_divergence", "reason": reason, "summary": f"because {reason}"}
                for reason in reasons
            ],
        )

        recorded = events(product, session_of(begun), "divergence_recorded")

    assert all(reason in refused.text for reason in reasons)
    assert passed.structured["pending"]["stepId"] == "s2"
    assert sorted(event["data"]["reason"] for event in recorded) == sorted(reasons)


@pytest.mark.promise("errors.corrected-call")
def test_every_corrected_call_works_when_it_is_sent_as_it_came(product: Product) -> None:
    workflow = three(product)
    with product.serve() as server:
        reply = start(server, workflow)
        wrong: list[tuple[str, Document]] = [
            ("start_workflow", {"workflowId": "small_change"}),
            ("start_workflow", {"workflow_id": "wr.small_change", "Goal": "x"}),
            ("start_workflow", {"workflowId": "wr.smal_change", "gaol": "x"}),
            ("start_workflow", {"workflowId": workflow, "preferences": {"autonomy": "guidd"}}),
            ("continue_workflow", {"ack_token": reply.structured["ackToken"], "notesMarkdown": "n"}),
            (
                "continue_workflow",
                {"stateToken": reply.structured["ackToken"], "output": {"notesMarkdown": "n"}},
            ),
            (
                "checkpoint_workflow",
                {"checkpointToken": reply.structured["stateToken"], "output": {"notesMarkdown": "n"}},
            ),
            ("resume_session", {"q": "x"}),
            ("inspect_workflow", {"workflowId": workflow, "part": "step"}),
        ]
        failed = []
        for tool, arguments in wrong:
            refused = server.call(tool, **arguments)
            assert refused.is_error, (tool, arguments)
            call = refused.structured["details"].get("next_call")
            if call is None or follow(server, call).is_error:
                failed.append((tool, arguments, call))

    assert failed == []


@pytest.mark.promise("signals.on-nodes")
def test_preferences_capabilities_and_divergence_are_at_the_node_where_they_came_and_not_on_another_branch(
    product: Product,
) -> None:
    workflow = three(product)
    gone = {
        "kind": "wr.capability_observation",
        "capability": "delegation",
        "status": "unavailable",
        "summary": "x",
    }
    with product.serve() as server:
        begun = start(server, workflow)
        session = session_of(begun)
        first = ack(
            server,
            begun,
            "n",
            gone,
            {"kind": "wr.workflow_divergence", "reason": "safety_stop", "summary": "x"},
        )
        line = ("preferences", "set", "--session", session, "--autonomy", "full_auto_never_stop")
        product.data(*line, "--confirm", product.data(*line, "--dry-run")["confirm_token"])
        second = ack(server, first, "n")
        ack(server, reread(server, begun), "another way")

        found = events(product, session)
        run = product.data("session", "show", session)["runs"][0]

    def nodes(kind: str) -> list[str]:
        return [event["scope"].get("nodeId", "") for event in found if event["kind"] == kind]

    order = [node["id"] for node in run["nodes"]]
    assert nodes("capability_observed") == nodes("divergence_recorded") == [order[1]]
    assert order[2] in nodes("preferences_changed")
    assert second.structured["pending"]["stepId"] == "s3"
    assert run["capabilities"] == {}, "the branch that the run stands on has seen nothing"
