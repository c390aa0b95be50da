"""Which text a feature adds to which step."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from handrail.workflows.builtins.prompt_texts import FEATURES
from handrail.workflows.builtins.specs import Addition, FeatureSpec, Site
from handrail.workflows.builtins.templates import find_feature
from tests.cases import every_case

FIRST = Site(is_first=True)
LATER = Site()
PROBE = Site(is_first=True, is_probe=True)
CONTRACT = Site(contract_id="wr.contracts.gap", artifact_kind="wr.gap")
EACH = {"steps": "each_step"}


def added(name: str, site: Site, config: dict[str, Any] | None = None) -> tuple[Addition, ...]:
    feature = find_feature("wr.features." + name)
    assert feature is not None
    defaults = {key: each.default for key, each in feature.config.items() if each.default is not UNSET}
    return feature.adds(defaults | (config or {}), site)


@every_case(
    ("name", "site", "config", "expected"),
    [
        ("mode_guidance", FIRST, {}, ["before Mode"]),
        ("mode_guidance", LATER, {}, []),
        ("mode_guidance", LATER, EACH, ["before Mode"]),
        ("mode_guidance", PROBE, EACH, []),
        ("durable_recap_guidance", FIRST, {}, ["after Notes"]),
        ("durable_recap_guidance", LATER, {}, ["after Notes"]),
        ("durable_recap_guidance", PROBE, {}, []),
        ("output_contracts", FIRST, {}, []),
        ("output_contracts", CONTRACT, {}, ["after Artifact"]),
        ("subagent_guidance", FIRST, {}, ["before Other agents"]),
        ("subagent_guidance", LATER, {}, []),
        ("subagent_guidance", LATER, EACH, ["before Other agents"]),
        ("subagent_guidance", Site(is_first=True, capabilities={"delegation": "disabled"}), {}, []),
        ("capabilities", FIRST, {}, []),
        (
            "capabilities",
            Site(is_first=True, capabilities={"delegation": "preferred"}),
            {},
            ["before Capabilities"],
        ),
        ("capabilities", Site(capabilities={"delegation": "preferred"}), {}, []),
        ("capabilities", Site(capabilities={"delegation": "preferred"}), EACH, ["before Capabilities"]),
    ],
)
def test_a_feature_speaks_where_it_is_meant_to(
    name: str, site: Site, config: dict[str, Any], expected: list[str]
) -> None:
    additions = added(name, site, config)

    assert [f"{each.place} {each.heading}" for each in additions] == expected


@pytest.mark.parametrize(
    ("use", "says"),
    [
        ("required", "Web browsing is required and is probed"),
        ("preferred", "Mark every fact that you could not look up as not checked."),
        ("disabled", "Web browsing: do not use it in this workflow"),
    ],
)
def test_each_use_of_a_capability_has_its_own_rule(use: Any, says: str) -> None:
    (addition,) = added("capabilities", Site(is_first=True, capabilities={"web_browsing": use}))

    assert says in addition.text
    assert "Delegation" not in addition.text


def test_the_settings_reach_the_text() -> None:
    (notes,) = added("durable_recap_guidance", LATER, {"maxLines": 20})
    (agents,) = added("subagent_guidance", FIRST, {"maxParallel": 5})

    assert "at most 20 lines" in notes.text
    assert "at most 5 at a time" in agents.text


def test_the_artifact_is_called_by_its_kind() -> None:
    (addition,) = added("output_contracts", CONTRACT)

    assert "one artifact of kind wr.gap in output.artifacts" in addition.text


@every_case("feature", FEATURES)
def test_every_setting_has_a_default_inside_its_closed_set(feature: FeatureSpec) -> None:
    for spec in feature.config.values():
        assert spec.default in spec.enum
        assert spec.description.endswith(".")
    assert set(feature.example_config) <= set(feature.config)


@every_case("feature", FEATURES)
def test_what_a_feature_adds_is_short(feature: FeatureSpec) -> None:
    config = {name: spec.default for name, spec in feature.config.items()}
    site = Site(
        is_first=True,
        contract_id="wr.contracts.verification_report",
        artifact_kind="wr.verification_report",
        capabilities={"delegation": "preferred", "web_browsing": "preferred"},
    )

    assert 0 < sum(len(each.text) for each in feature.adds(config, site)) <= 800
