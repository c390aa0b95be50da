"""What the builtin templates expand to."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from handrail.workflows.builtins.specs import CapabilityUse, TemplateContext
from handrail.workflows.builtins.templates import find_template
from handrail.workflows.model import PromptBlocks, RefPart, SourceStep


def expanded(
    name: str, args: dict[str, Any], capabilities: dict[str, CapabilityUse] | None = None
) -> list[SourceStep]:
    spec = find_template("wr.templates." + name)
    assert spec is not None
    defaults = {key: each.default for key, each in spec.args.items() if each.default is not UNSET}
    context = TemplateContext(prefix="check", pointer="/steps/3", capabilities=capabilities or {})

    parts = spec.expand(defaults | args, context)

    steps = [part for part in parts if isinstance(part, SourceStep)]
    assert len(steps) == len(parts)
    return steps


def words(step: SourceStep) -> str:
    blocks = step.blocks or PromptBlocks()
    parts = (*blocks.goal, *blocks.constraints, *blocks.procedure, *blocks.verify)
    return "\n".join(part for part in parts if isinstance(part, str))


@pytest.mark.parametrize(
    ("name", "args", "ids", "contracts"),
    [
        ("capability_probe", {"capability": "delegation"}, ["check"], ["capability_observation"]),
        ("verification_pass", {}, ["check"], ["verification_report"]),
        ("handoff_summary", {}, ["check"], ["handoff"]),
        (
            "parallel_review",
            {"subject": "the plan"},
            ["check-look", "check-conclude"],
            ["", "review_findings"],
        ),
    ],
)
def test_a_template_gives_these_steps_with_these_contracts(
    name: str, args: dict[str, Any], ids: list[str], contracts: list[str]
) -> None:
    steps = expanded(name, args)

    assert [step.id for step in steps] == ids
    assert [step.contract_ref for step in steps] == [
        f"wr.contracts.{contract}" if contract else "" for contract in contracts
    ]
    assert {step.pointer for step in steps} == {"/steps/3"}


@pytest.mark.parametrize(
    ("capability", "evidence"), [("delegation", "Reply with the word ready"), ("web_browsing", "example.org")]
)
def test_a_probe_tries_the_capability_that_was_named(capability: str, evidence: str) -> None:
    (step,) = expanded("capability_probe", {"capability": capability})

    assert evidence in step.prompt


@pytest.mark.parametrize(
    ("use", "hands_out"), [("required", True), ("preferred", True), (None, True), ("disabled", False)]
)
def test_a_review_is_handed_out_unless_delegation_is_disabled(
    use: CapabilityUse | None, hands_out: bool
) -> None:
    capabilities: dict[str, CapabilityUse] = {"delegation": use} if use else {}

    look, _ = expanded("parallel_review", {"subject": "the plan"}, capabilities)

    assert ("an agent of its own" in words(look)) is hands_out
    assert ("wr.capability_observation" in words(look)) is hands_out
    assert "one after the other" in words(look)


def test_inner_places_are_those_of_the_call() -> None:
    (step,) = expanded("verification_pass", {})

    assert step.blocks is not None
    refs = [part for part in step.blocks.constraints if isinstance(part, RefPart)]
    assert [(ref.ref_id, ref.pointer) for ref in refs] == [("wr.refs.evidence_before_claims", "/steps/3")]
