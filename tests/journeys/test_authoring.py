"""What an author can rely on and cannot do: contracts by reference, closed sets, blocks, roles, JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.runtime.runtime import Runtime
from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.builtins.prompt_texts import FEATURES
from handrail.workflows.builtins.templates import TEMPLATES
from tests.conftest import library_of
from tests.journeys.conversation import advance, answer, refusal, start
from tests.journeys.given_workflows import begin, give, step
from tests.journeys.test_blocked import report, shown

NO_FIELDS: dict[str, Any] = {}
PASS = {"type": "template_call", "templateId": "wr.templates.verification_pass"}


def problems(runtime: Runtime, *steps: dict[str, Any], **fields: Any) -> list[dict[str, Any]]:
    """What is wrong with a workflow, as an author who starts it hears it."""
    failure = refusal(runtime, "run.start", workflowId=give(runtime, *steps, **fields))
    assert failure.kind.code == "WORKFLOW_INVALID"
    found: list[dict[str, Any]] = failure.details["problems"]
    assert all(problem["fix"] for problem in found)
    return found


def builtins(runtime: Runtime, kind: str) -> list[str]:
    listed = answer(runtime, "workflow.builtins", kind=kind)
    return [row["id"] for row in listed["items"]]


@pytest.mark.promise("contracts.declared")
def test_a_template_implies_its_contract_and_hints_bind_nobody(runtime: Runtime) -> None:
    hinted = step("look", output={"hints": ["At most ten lines."]})
    first = begin(runtime, hinted, PASS, fields=NO_FIELDS)

    second = advance(runtime, first, "line\n" * 50)
    blocked = advance(runtime, second, "It works.")

    assert second["kind"] == "ok"
    assert blocked["blockers"][0]["pointer"] == {
        "kind": "output_contract",
        "contractRef": "wr.contracts.verification_report",
    }


@pytest.mark.promise("contracts.by-reference")
def test_contract_is_named_by_reference_and_must_be_known(runtime: Runtime) -> None:
    unknown = problems(runtime, step("do", output={"contractRef": "wr.contracts.nothing"}))
    inline = problems(runtime, step("do", output={"schema": {"type": "object"}}))

    assert "wr.contracts.nothing" in str(unknown)
    assert "schema" in str(inline)


@pytest.mark.promise("contracts.packs")
@pytest.mark.parametrize("name", ["capability_observation", "workflow_divergence", "loop_control"])
def test_contracts_of_the_pack_exist(runtime: Runtime, name: str) -> None:
    wanted = step("do", output={"contractRef": f"wr.contracts.{name}"})
    first = begin(runtime, wanted, fields=NO_FIELDS)

    blocked = report(runtime, first["ackToken"])

    assert f"wr.contracts.{name}" in builtins(runtime, "contract")
    assert blocked["blockers"][0]["code"] == "MISSING_REQUIRED_OUTPUT"
    assert blocked["example"]["kind"] == f"wr.{name}"


@pytest.mark.promise("divergence.reasons")
@pytest.mark.parametrize(
    "reason",
    [
        "missing_user_context",
        "capability_unavailable",
        "efficiency_skip",
        "safety_stop",
        "policy_constraint",
    ],
)
def test_divergence_has_a_closed_set_of_reasons(runtime: Runtime, reason: str) -> None:
    first = begin(runtime, step("do"), fields=NO_FIELDS)
    told = {"kind": "wr.workflow_divergence", "reason": reason, "summary": "Left the path."}

    blocked = report(runtime, first["ackToken"], told | {"reason": f"{reason}_x"})
    after = report(runtime, blocked["retryAckToken"], told)

    assert blocked["kind"] == "blocked"
    assert after["isComplete"]
    assert [row["reason"] for row in shown(runtime, first)["divergences"]] == [reason]


@pytest.mark.promise("builtins.catalog")
def test_the_catalog_of_builtins_is_what_the_compiler_knows(runtime: Runtime) -> None:
    listed = {kind: builtins(runtime, kind) for kind in ("contract", "feature", "template")}

    assert listed["contract"] == sorted(held.id for held in CONTRACTS)
    assert listed["feature"] == sorted(held.id for held in FEATURES)
    assert set(listed["template"]) >= {held.id for held in TEMPLATES}


@pytest.mark.promise("loops.bounded")
def test_a_loop_names_its_limit_and_no_expression_is_a_condition(runtime: Runtime) -> None:
    loop = {"type": "loop", "loopId": "fix", "while": {"kind": "loop_control"}, "body": [step("try")]}

    unlimited = problems(runtime, loop)
    expression = problems(runtime, loop | {"maxIterations": 3, "while": "context.done != true"})
    empty = problems(runtime, loop | {"maxIterations": 3, "body": []})

    assert "maxIterations" in str(unlimited)
    assert any("/steps/0/while" in problem["pointer"] for problem in expression)
    assert any("/steps/0/body" in problem["pointer"] for problem in empty)


@pytest.mark.promise("authoring.json-only")
@pytest.mark.parametrize(
    "content",
    [b"id: project.yaml\nname: Y\n", b"workflow 'x' { step 'a' }", b'{"id": "project.cut", ', b"\xff\xfe{}"],
)
def test_another_format_is_refused_with_its_place(runtime: Runtime, content: bytes) -> None:
    library_of(runtime).add(content, "strange.json")

    (row,) = [row for row in answer(runtime, "workflow.list")["items"] if row["id"] == "strange.json"]

    assert row["problems"][0]["line"] >= 1
    assert row["problems"][0]["fix"]


@pytest.mark.promise("capabilities.top-level")
def test_capabilities_stand_at_the_top_only(runtime: Runtime) -> None:
    as_feature = problems(runtime, step("do"), features=["delegation"])
    in_step = problems(runtime, step("do", capabilities={"delegation": "preferred"}))
    at_top = begin(runtime, step("do"), fields={"capabilities": {"delegation": "preferred"}})

    assert "delegation" in str(as_feature)
    assert "capabilities" in str(in_step)
    assert at_top["pending"]["stepId"] == "do"


@pytest.mark.promise("templates.own-type")
def test_a_template_is_called_by_a_step_type_of_its_own(runtime: Runtime) -> None:
    called = begin(runtime, PASS, fields=NO_FIELDS)
    as_field = problems(runtime, step("do", templateId="wr.templates.verification_pass"))
    unknown = problems(runtime, PASS | {"templateId": "wr.templates.magic"})

    assert called["pending"]["stepId"] == "verification_pass"
    assert "templateId" in str(as_field)
    assert "wr.templates.magic" in str(unknown)


@pytest.mark.promise("features.typed")
def test_a_feature_takes_a_setting_only_where_its_type_says_so(runtime: Runtime) -> None:
    def feature(**config: Any) -> list[Any]:
        return [{"id": "wr.features.mode_guidance", "config": config}]

    right = begin(runtime, step("do"), fields={"features": feature(steps="each_step")})
    wrong_value = problems(runtime, step("do"), features=feature(steps="sometimes"))
    wrong_name = problems(runtime, step("do"), features=feature(colour="red"))
    unknown = problems(runtime, step("do"), features=["wr.features.telepathy"])

    assert right["pending"]["prompt"] != "Do do."
    assert "sometimes" in str(wrong_value)
    assert "colour" in str(wrong_name)
    assert "wr.features.telepathy" in str(unknown)


@pytest.mark.promise("prompts.blocks")
def test_blocks_become_one_text_in_a_fixed_order(runtime: Runtime) -> None:
    blocks = {"verify": ["It runs."], "procedure": ["Look.", "Change."], "goal": "One thing."}
    with_blocks = {"id": "a", "title": "A", "promptBlocks": blocks}

    first = begin(runtime, with_blocks, step("plain"), fields=NO_FIELDS)
    second = advance(runtime, first)

    assert first["pending"]["prompt"] == (
        "## Goal\nOne thing.\n\n## Procedure\n1. Look.\n2. Change.\n\n## Verify\n- It runs."
    )
    assert second["pending"]["prompt"] == "Do plain."


@pytest.mark.promise("prompts.role")
def test_role_of_a_step_replaces_that_of_the_workflow(runtime: Runtime) -> None:
    steps = (step("one"), step("two", agentRole="You are fast."))

    first = begin(runtime, *steps, fields={"agentRole": "You are careful."})
    second = advance(runtime, first)

    assert first["pending"]["prompt"] == "Role: You are careful.\n\nDo one."
    assert second["pending"]["prompt"] == "Role: You are fast.\n\nDo two."


def test_a_broken_file_is_told_by_the_id_it_was_meant_to_have(runtime: Runtime) -> None:
    document = {"id": "project.meant", "name": "M", "description": "D", "steps": []}
    library_of(runtime).add(json.dumps(document).encode(), "some_file.json")

    failure = refusal(runtime, "run.start", workflowId="project.meant")
    other = refusal(runtime, "run.start", workflowId="project.other")

    assert failure.kind.code == "WORKFLOW_INVALID"
    assert "some_file.json" in failure.message
    assert other.kind.code == "WORKFLOW_NOT_FOUND"
    assert start(runtime)["kind"] == "ok"
