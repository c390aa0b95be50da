"""Expanded parts as parts of the calling workflow."""

from __future__ import annotations

import re

from handrail.workflows.builtins.placement import join_ids, place_parts
from handrail.workflows.builtins.specs import TemplateContext
from handrail.workflows.model import (
    ConditionRef,
    SourceStep,
    SourceTemplateCall,
)


def step(name: str) -> SourceStep:
    return SourceStep(id=name, title=name.title(), prompt="Do it.", pointer="elsewhere")


def call(name: str = "") -> SourceTemplateCall:
    return SourceTemplateCall(id=name, template_id="wr.templates.handoff_summary", pointer="elsewhere")


def test_a_joined_title_keeps_its_limit() -> None:
    context = TemplateContext(prefix="call", title="t" * 199)

    moved = place_parts((step("a"), step("b")), context)

    assert [len(part.title) for part in moved] == [200, 200]


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
