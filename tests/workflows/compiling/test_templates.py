"""Template calls in place: ids, conditions, arguments, routines, and an end to every expansion."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from handrail.workflows.compiled import Step
from handrail.workflows.compiling.compilation import Surroundings
from handrail.workflows.limits import MAX_PARTS
from tests.workflows.compiling.written import (
    call,
    compilation,
    compiled,
    document,
    found,
    open_source,
    parts,
    source,
    step,
    step_of,
)

REVIEW = "wr.templates.parallel_review"
PASS = "wr.templates.verification_pass"
SUBJECT = {"subject": "the change"}


def routine(name: str, *steps: dict[str, Any], **more: Any) -> dict[str, Any]:
    return document(*steps, **more) | {"id": f"wr.routine_{name}", "kind": "routine"}


def around(*routines: dict[str, Any]) -> Surroundings:
    return Surroundings(routines=tuple(source(one) for one in routines))


def test_call_gives_its_id_and_title_to_its_only_step() -> None:
    workflow = compiled(document(call(PASS, id="prove", title="Prove it")))

    assert [(part.id, getattr(part, "title", "")) for part in workflow.steps] == [("prove", "Prove it")]


def test_several_steps_have_ids_that_begin_with_that_of_the_call() -> None:
    workflow = compiled(document(call(REVIEW, id="look", args=SUBJECT)))

    assert [part.id for part in workflow.steps] == ["look-look", "look-conclude"]


def test_two_calls_of_one_template_get_different_ids() -> None:
    workflow = compiled(document(call(PASS), call(PASS), step("verification_pass_3"), call(PASS)))

    assert [part.id for part in workflow.steps] == [
        "verification_pass",
        "verification_pass_2",
        "verification_pass_3",
        "verification_pass_4",
    ]


def test_the_confirmation_of_a_call_is_asked_for_once() -> None:
    workflow = compiled(document(call(REVIEW, args=SUBJECT, requireConfirmation=True)))

    asked = [part.id for part in workflow.steps if isinstance(part, Step) and part.require_confirmation]
    assert asked == ["parallel_review-conclude"]


def test_routine_takes_its_inputs_as_arguments() -> None:
    greet = routine("greet", step("hello", "Greet {{whom}}."), inputs={"whom": {"type": "string"}})
    written = document(call("wr.templates.routine.greet", args={"whom": "the user"}))

    workflow = compiled(written, around(greet))

    assert [(part.id, getattr(part, "prompt", "")) for part in workflow.steps] == [
        ("greet", "Greet the user.")
    ]
    assert workflow.steps[0].provenance.origin == "wr.templates.routine.greet"


def test_routines_may_call_routines() -> None:
    inner = routine("inner", step("deep"))
    outer = routine("outer", step("first"), call("wr.templates.routine.inner"))

    workflow = compiled(document(call("wr.templates.routine.outer")), around(inner, outer))

    origins = {part.id: part.provenance.origin for part in workflow.steps}
    assert origins == {
        "outer-first": "wr.templates.routine.outer",
        "outer-inner": "wr.templates.routine.inner",
    }


def test_circular_routines_are_refused_with_the_cycle() -> None:
    one = routine("one", call("wr.templates.routine.two"))
    two = routine("two", call("wr.templates.routine.one"))

    done = compilation(document(step("a"), call("wr.templates.routine.one")), around(one, two))

    assert found(done) == [("error", "template_cycle", "/steps/1")]
    assert done.problems[0].message == (
        "Templates call each other: "
        "wr.templates.routine.one > wr.templates.routine.two > wr.templates.routine.one."
    )


def test_endless_expansion_is_stopped_and_told_once() -> None:
    """Each routine calls the next one ten times: the last would stand there a million times."""
    names = [f"r{number}" for number in range(7)]
    tower = [
        routine(name, *(call(f"wr.templates.routine.{below}") for _ in range(10)))
        for name, below in pairwise(names)
    ]
    floor = routine(names[-1], step("a"))

    done = compilation(document(call("wr.templates.routine.r0")), around(*tower, floor))

    assert ("error", "too_large", "/steps/0") in found(done)
    assert done.problems[0].message == (
        f"The workflow has more than {MAX_PARTS} parts when its templates are expanded."
    )


def test_what_a_routine_brings_along_joins_the_workflow() -> None:
    helper = routine(
        "careful",
        step("a", gates=[{"assessmentId": "risk"}]),
        assessments=[{"id": "risk", "purpose": "Risk.", "dimensions": {"scope": ["low"]}}],
        references=[{"id": "guide", "title": "Guide", "source": "./guide.md"}],
        features=["wr.features.mode_guidance"],
        capabilities={"web_browsing": "required"},
    )

    workflow = compiled(document(call("wr.templates.routine.careful")), around(helper))

    assert [part.id for part in workflow.steps] == ["probe_web_browsing", "careful"]
    assert [reference.id for reference in workflow.references] == ["guide"]
    assert workflow.capabilities == {"web_browsing": "required"}
    assert "## Mode" in step_of(workflow, "careful").prompt
    assert step_of(workflow, "careful").gates[0].assessment_id == "risk"


@pytest.mark.parametrize(
    ("own", "brought", "expected"),
    [
        ("preferred", "required", "required"),
        ("required", "preferred", "required"),
        ("disabled", "preferred", "disabled"),
    ],
)
def test_the_stronger_need_for_a_capability_counts(own: str, brought: str, expected: str) -> None:
    helper = routine("web", step("a"), capabilities={"web_browsing": brought})
    written = document(call("wr.templates.routine.web"), capabilities={"web_browsing": own})

    assert compiled(written, around(helper)).capabilities == {"web_browsing": expected}


def test_routine_with_a_disabled_need_is_refused() -> None:
    helper = routine("web", step("a"), capabilities={"web_browsing": "required"})
    written = document(call("wr.templates.routine.web"), capabilities={"web_browsing": "disabled"})

    assert found(compilation(written, around(helper))) == [("error", "bad_value", "/steps/0")]


def test_step_replaces_an_unknown_foreign_routine() -> None:
    """In a file from elsewhere, a step stands in for an unknown routine."""
    written = document(
        call("wr.templates.routine.design-review", args={"topic": "the plan", "depth": 2}, when="go"),
        conditions=[{"id": "go", "kind": "always_true"}],
    )

    done = compilation(open_source(written))

    assert found(done) == [("warning", "unknown_id", "/steps/0/templateId")]
    assert done.pinned is not None
    stand_in = step_of(done.pinned.workflow, "design-review")
    assert stand_in.when == "go"
    assert stand_in.title == "Follow the routine design-review"
    assert stand_in.prompt == (
        "Follow the routine wr.templates.routine.design-review. It is not part of this workflow: "
        "look for it first.\nWith these arguments:\n- depth: 2\n- topic: the plan\n"
        "Write down which routine you followed, what you did and what came out of it."
    )


def test_foreign_routine_takes_arguments_in_single_braces() -> None:
    told = {"metaGuidance": ["Never shout at {whom}."]}
    theirs = document(step("hello", "Greet {whom}."), **told) | {"id": "routine-greet"}
    written = document(call("wr.templates.routine.greet", args={"whom": "the user"}))

    workflow = compiled(open_source(written), Surroundings(routines=(source(theirs),)))

    assert step_of(workflow, "greet").prompt == ("Greet the user.\n\n## Guidance\n- Never shout at the user.")


def test_first_routine_of_a_name_counts_and_ours_first() -> None:
    """Of two routines with one name the first counts, and ours before theirs."""
    ours, also_ours = routine("x", step("a", "Ours.")), routine("x", step("a", "Also ours."))
    theirs = routine("x", step("a", "Theirs."))
    surroundings = Surroundings(routines=(open_source(theirs), source(ours), source(also_ours)))

    workflow = compiled(open_source(document(call("wr.templates.routine.x"))), surroundings)

    assert [getattr(part, "prompt", "") for part in parts(workflow).values()] == ["Ours."]
