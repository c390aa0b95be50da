"""Features and capability probes: once each, in a fixed order, and only where they belong."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.workflows.compiled import Step
from tests.workflows.compiling.written import (
    call,
    compilation,
    compiled,
    document,
    found,
    loop,
    parts,
    step,
    step_of,
)

MODES = "wr.features.mode_guidance"
RECAP = "wr.features.durable_recap_guidance"
PROBE = "wr.templates.capability_probe"


def headings(prompt: str) -> list[str]:
    return [line.removeprefix("## ") for line in prompt.split("\n") if line.startswith("## ")]


def test_a_feature_adds_its_text_around_the_prompt() -> None:
    workflow = compiled(document(step("a"), step("b"), features=[MODES, RECAP]))

    assert headings(step_of(workflow, "a").prompt) == ["Mode", "Notes"]
    assert headings(step_of(workflow, "b").prompt) == ["Notes"]


def test_settings_of_a_feature_are_checked() -> None:
    done = compilation(document(step("a"), features=[{"id": MODES, "config": {"steps": "every_step"}}]))

    assert found(done) == [("error", "bad_argument", "/features/0/config/steps")]


def test_a_feature_with_two_different_settings_is_refused() -> None:
    features = [MODES, {"id": MODES, "config": {"steps": "each_step"}}]

    assert found(compilation(document(step("a"), features=features))) == [
        ("error", "duplicate_id", "/features/1")
    ]


def test_a_required_capability_is_probed_before_everything_else() -> None:
    workflow = compiled(
        document(step("a"), capabilities={"web_browsing": "required", "delegation": "required"})
    )

    assert [part.id for part in workflow.steps] == ["probe_delegation", "probe_web_browsing", "a"]
    probe = step_of(workflow, "probe_web_browsing")
    assert probe.capability == "web_browsing"
    assert probe.contract == "wr.contracts.capability_observation"
    assert '"capability":"web_browsing"' in probe.prompt


def test_a_probe_gives_way_to_an_id_that_the_author_took() -> None:
    workflow = compiled(document(step("probe_web_browsing"), capabilities={"web_browsing": "required"}))

    assert [part.id for part in workflow.steps] == ["probe_web_browsing_2", "probe_web_browsing"]


ASKED = call(PROBE, args={"capability": "web_browsing"})


@pytest.mark.parametrize(
    ("steps", "probes"),
    [
        ([step("a"), ASKED], ["capability_probe"]),
        ([step("a"), ASKED | {"when": {"kind": "always_true"}}], ["probe_web_browsing", "capability_probe"]),
        ([loop("l", ASKED, count=2)], ["probe_web_browsing", "capability_probe"]),
        ([call(PROBE, args={"capability": "delegation"})], ["probe_web_browsing", "capability_probe"]),
    ],
)
def test_probe_of_the_author_is_enough_if_it_always_runs(
    steps: list[dict[str, Any]], probes: list[str]
) -> None:
    workflow = compiled(document(*steps, capabilities={"web_browsing": "required"}))

    held = parts(workflow)
    assert [name for name, part in held.items() if isinstance(part, Step) and part.capability] == probes


def test_text_before_the_first_step_follows_the_probe() -> None:
    workflow = compiled(
        document(
            step("a"),
            capabilities={"web_browsing": "required"},
            preconditions=["The tree is clean."],
            features=[MODES],
        )
    )

    assert headings(step_of(workflow, "probe_web_browsing").prompt) == [
        "Artifact to deliver: wr.capability_observation"
    ]
    assert headings(step_of(workflow, "a").prompt) == ["Mode", "Before you begin, make sure of this"]
