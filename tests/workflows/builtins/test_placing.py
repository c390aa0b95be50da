"""Expanded parts as parts of the calling workflow."""

from __future__ import annotations

import re

from handrail.workflows.builtins.placement import join_ids, place_parts
from handrail.workflows.builtins.specs import TemplateContext
from handrail.workflows.compiled import Count, Option
from handrail.workflows.model import (
    ConditionRef,
    SourceAction,
    SourceChoice,
    SourceGate,
    SourceLoop,
    SourcePart,
    SourceStep,
    SourceTemplateCall,
)
from tests.cases import every_case

CONTEXT = TemplateContext(prefix="call", title="Check it", pointer="/steps/2")


def step(name: str) -> SourceStep:
    return SourceStep(id=name, title=name.title(), prompt="Do it.", pointer="elsewhere")


def choice(name: str) -> SourceChoice:
    options = (Option(id="a", label="A"), Option(id="b", label="B"))
    return SourceChoice(id=name, title=name.title(), prompt="Choose.", options=options, pointer="elsewhere")


def action(name: str) -> SourceAction:
    return SourceAction(id=name, title=name.title(), operation="scan.search", pointer="elsewhere")


def call(name: str = "") -> SourceTemplateCall:
    return SourceTemplateCall(id=name, template_id="wr.templates.handoff_summary", pointer="elsewhere")


def loop(name: str, *body: SourcePart) -> SourceLoop:
    return SourceLoop(loop_id=name, repeat=Count(count=2), max_iterations=2, body=body, pointer="elsewhere")


def outline(parts: tuple[SourcePart, ...]) -> list[object]:
    """Ids and titles, loops as lists."""
    return [
        [part.loop_id, part.title, *outline(part.body)]
        if isinstance(part, SourceLoop)
        else (part.id, part.title)
        for part in parts
    ]


def pointers(parts: tuple[SourcePart, ...]) -> set[str]:
    inner = [pointers(part.body) for part in parts if isinstance(part, SourceLoop)]
    return {part.pointer for part in parts}.union(*inner)


@every_case(
    ("parts", "expected"),
    [
        ((step("a"),), [("call", "Check it")]),
        ((choice("a"),), [("call", "Check it")]),
        ((action("a"),), [("call", "Check it")]),
        ((call("a"),), [("call", "")]),
        ((step("a"), choice("b")), [("call-a", "Check it: A"), ("call-b", "Check it: B")]),
        ((step("a"), call()), [("call-a", "Check it: A"), ("call-handoff_summary", "")]),
        ((loop("l", step("a")),), [["call", "", ("call-a", "A")]]),
        ((step("s"), loop("l", action("a"))), [("call-s", "Check it: S"), ["call-l", "", ("call-a", "A")]]),
        (
            (loop("l", loop("m", choice("a"), call("b"))),),
            [["call", "", ["call-m", "", ("call-a", "A"), ("call-b", "")]]],
        ),
    ],
)
def test_parts_take_the_name_of_the_call(parts: tuple[SourcePart, ...], expected: list[object]) -> None:
    moved = place_parts(parts, CONTEXT)

    assert outline(moved) == expected
    assert pointers(moved) == {"/steps/2"}


def test_a_call_without_a_title_leaves_the_titles_alone() -> None:
    moved = place_parts((step("a"), step("b")), TemplateContext(prefix="call"))

    assert outline(moved) == [("call-a", "A"), ("call-b", "B")]


def test_a_joined_title_keeps_its_limit() -> None:
    context = TemplateContext(prefix="call", title="t" * 199)

    moved = place_parts((step("a"), step("b")), context)

    assert [len(part.title) for part in moved] == [200, 200]


def test_gates_are_shown_at_the_call() -> None:
    gate = SourceGate(assessment_id="ready", pointer="elsewhere")
    part = SourceStep(id="a", title="A", prompt="Do it.", gates=(gate,), pointer="elsewhere")

    (moved,) = place_parts((part,), CONTEXT)

    assert isinstance(moved, SourceStep)
    assert [each.pointer for each in moved.gates] == ["/steps/2"]


def asked(parts: tuple[SourcePart, ...]) -> list[str]:
    """Ids of the steps and calls that ask for confirmation."""
    found = []
    for part in parts:
        if isinstance(part, SourceLoop):
            found += asked(part.body)
        elif isinstance(part, SourceStep | SourceTemplateCall) and part.require_confirmation is not False:
            found.append(part.id)
    return found


@every_case(
    ("parts", "expected"),
    [
        ((step("a"),), ["call"]),
        ((step("a"), step("b")), ["call-b"]),
        ((step("a"), choice("b")), ["call-a"]),
        ((step("a"), call("b")), ["call-b"]),
        ((step("a"), loop("l", step("b"), action("c"))), ["call-b"]),
        ((step("a"), loop("l", action("c"))), ["call-a"]),
        ((action("a"),), []),
    ],
)
def test_confirmation_of_a_call_is_asked_at_its_last_step(
    parts: tuple[SourcePart, ...], expected: list[str]
) -> None:
    context = TemplateContext(prefix="call", require_confirmation=True)

    assert asked(place_parts(parts, context)) == expected


def test_a_step_that_always_asks_keeps_asking() -> None:
    always = SourceStep(id="a", title="A", prompt="Do it.", require_confirmation=True, pointer="")
    sometimes = ConditionRef(condition_id="is_large", pointer="p")

    (moved,) = place_parts((always,), TemplateContext(prefix="call", require_confirmation=sometimes))

    assert isinstance(moved, SourceStep)
    assert moved.require_confirmation is True


def test_a_long_id_ends_in_a_digest_and_stays_different() -> None:
    first, second = join_ids("p" * 60, "same-first"), join_ids("p" * 60, "same-second")

    assert first != second
    for name in (first, second):
        assert len(name) == 64
        assert re.fullmatch(r"[a-z0-9_-]+", name)
