"""Prompts as an agent reads them: every heading, every list, and the order of what stands around."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cases import every_case
from tests.workflows.compiling.written import choice, compiled, document, loop, parts, step, step_of


def prompt_of(written: dict[str, Any], step_id: str = "a") -> str:
    return step_of(compiled(written), step_id).prompt


def test_blocks_have_fixed_headings_in_a_fixed_order() -> None:
    blocks = {
        "verify": ["It runs.", "It stays."],
        "outputRequired": {"z": "The last.", "notes": "What was done."},
        "procedure": ["Look.", "Change.\nKeep it small."],
        "constraints": "Touch nothing else.",
        "goal": ["One thing.", "Another thing."],
    }

    prompt = prompt_of(document({"id": "a", "title": "A", "promptBlocks": blocks}))

    assert prompt == (
        "## Goal\nOne thing.\n\nAnother thing.\n\n"
        "## Constraints\n- Touch nothing else.\n\n"
        "## Procedure\n1. Look.\n2. Change.\n   Keep it small.\n\n"
        "## Output required\n- notes: What was done.\n- z: The last.\n\n"
        "## Verify\n- It runs.\n- It stays."
    )


@pytest.mark.parametrize(
    ("workflow_role", "step_role", "expected"),
    [
        ("You are careful.", "", "Role: You are careful.\n\nDo it."),
        ("You are careful.", "You are fast.", "Role: You are fast.\n\nDo it."),
        ("", "You are fast.", "Role: You are fast.\n\nDo it."),
        ("", "", "Do it."),
    ],
)
def test_the_role_of_the_step_wins_over_that_of_the_workflow(
    workflow_role: str, step_role: str, expected: str
) -> None:
    assert prompt_of(document(step("a", agentRole=step_role), agentRole=workflow_role)) == expected


def test_rules_of_the_workflow_stand_behind_every_prompt() -> None:
    workflow = compiled(document(step("a", guidance=["Only here."]), step("b"), guidance=["Everywhere."]))

    rules = "## Rules for every step\n- Everywhere."
    assert step_of(workflow, "a").prompt == f"Do it.\n\n## Guidance\n- Only here.\n\n{rules}"
    assert step_of(workflow, "b").prompt == f"Do it.\n\n{rules}"


def test_preconditions_stand_before_the_first_prompt_only() -> None:
    workflow = compiled(
        document(step("a"), step("b"), preconditions=["The tree is clean."], questions=["Which branch?"])
    )

    assert step_of(workflow, "a").prompt == (
        "## Before you begin, make sure of this\n- The tree is clean.\n\n"
        "## Before you begin, ask the user\n- Which branch?\n\nDo it."
    )
    assert step_of(workflow, "b").prompt == "Do it."


ALWAYS = {"kind": "always_true"}


@every_case(
    ("steps", "first"),
    [
        ([step("a"), step("b")], {"a"}),
        ([step("a", when=ALWAYS), step("b"), step("c")], {"a", "b"}),
        ([choice("a"), step("b")], {"a"}),
        ([loop("l", step("a"), step("b"), count=2), step("c")], {"a"}),
        ([loop("l", step("a"), until=ALWAYS), step("c")], {"a"}),
        ([loop("l", step("a"), forEach={"input": "files", "as": "file"}), step("c")], {"a", "c"}),
        ([loop("l", step("a"), **{"while": ALWAYS}), step("c")], {"a", "c"}),
        ([loop("l", step("a"), **{"while": {"kind": "loop_control"}}), step("c")], {"a"}),
        ([loop("l", step("a"), count=2, when=ALWAYS), step("c")], {"a", "c"}),
        ([{"type": "action", "id": "x", "operation": "scan.search"}, step("a"), step("b")], {"a"}),
    ],
)
def test_whatever_a_run_can_begin_with_shows_the_preconditions(
    steps: list[dict[str, Any]], first: set[str]
) -> None:
    workflow = compiled(document(*steps, preconditions=["The tree is clean."]))

    shown = {
        name for name, part in parts(workflow).items() if "The tree is clean." in getattr(part, "prompt", "")
    }
    assert shown == first


def test_assessment_prompt_has_levels_and_a_passing_example() -> None:
    """An assessment is asked for with its levels and an example that lets the run go on."""
    written = document(
        step("a", gates=[{"assessmentId": "risk", "followups": {"high": "Lower it first."}}]),
        assessments=[
            {"id": "risk", "purpose": "How risky it is.", "dimensions": {"scope": ["high", "low"]}},
        ],
    )

    assert prompt_of(written) == (
        "Do it.\n\n## Assessment to report: risk\nHow risky it is.\n\n"
        "Report one level for each dimension:\n- scope: high, low\n\n"
        'Example:\n```json\n{"assessmentId":"risk","dimensions":{"scope":"low"},"kind":"wr.assessment"}\n```'
    )
