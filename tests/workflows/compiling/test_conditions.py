"""Conditions in a compiled workflow: declared ones keep their id, the others get one from what they say."""

from __future__ import annotations

from typing import Any

from handrail.workflows.conditions import AlwaysTrue, Compare
from tests.workflows.compiling.written import call, compiled, document, parts, step, step_of

LARGE: dict[str, Any] = {"kind": "compare", "input": "size", "op": "gt", "value": 3}


def test_equal_conditions_written_in_place_share_one_id() -> None:
    workflow = compiled(document(step("a", when=LARGE), step("b", when=dict(reversed(LARGE.items())))))

    name = step_of(workflow, "a").when
    assert step_of(workflow, "b").when == name
    assert workflow.conditions == {name: Compare(input="size", op="gt", value=3)}
    assert name.startswith("inline-")


def test_the_derived_id_depends_on_the_meaning_only() -> None:
    written_out = {"kind": "loop_control", "continueWhen": "continue"}

    ids = {
        step_of(compiled(document(step("a", when=one))), "a").when
        for one in (written_out, {"kind": "loop_control"})
    }

    assert len(ids) == 1


def test_a_derived_id_gives_way_to_one_that_the_author_took() -> None:
    taken = step_of(compiled(document(step("a", when=LARGE))), "a").when

    workflow = compiled(document(step("a", when=LARGE), conditions=[{"id": taken, "kind": "always_true"}]))

    assert workflow.conditions[taken] == AlwaysTrue()
    assert workflow.conditions[step_of(workflow, "a").when] == Compare(input="size", op="gt", value=3)


def test_fragments_and_confirmations_take_conditions_too() -> None:
    written = step("a", requireConfirmation="large", promptFragments=[{"when": LARGE, "text": "More."}])

    workflow = compiled(document(written, conditions=[{"id": "large", **LARGE}]))

    done = step_of(workflow, "a")
    assert done.require_confirmation == "large"
    assert workflow.conditions[done.fragments[0].when] == Compare(input="size", op="gt", value=3)


def test_the_condition_of_a_call_holds_for_each_of_its_parts() -> None:
    workflow = compiled(
        document(
            call("wr.templates.parallel_review", when="large", args={"subject": "the change"}),
            conditions=[{"id": "large", **LARGE}],
        )
    )

    assert {part.when for part in parts(workflow).values()} == {"large"}
