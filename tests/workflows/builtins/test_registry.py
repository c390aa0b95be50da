"""Every builtin can be found, is documented, keeps its limits, and has an example that compiles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest

from handrail.workflows.builtins import templates as registry
from handrail.workflows.builtins.prompt_texts import CAPABILITIES, REFS
from handrail.workflows.builtins.specs import (
    Builtin,
    CapabilitySpec,
    ContractSpec,
    FeatureSpec,
    RefSpec,
    Site,
    TemplateContext,
    TemplateSpec,
)
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.model import PromptBlocks, SourceStep
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.builtins.examples import example_document

IDS = {
    "wr.templates.": ["capability_probe", "handoff_summary", "parallel_review", "verification_pass"],
    "wr.features.": [
        *("capabilities", "durable_recap_guidance", "mode_guidance", "output_contracts"),
        "subagent_guidance",
    ],
    "wr.contracts.": [
        "assessment",
        "bug_fix",
        "capability_observation",
        "cause",
        "changed_files",
        "decision",
        "gap",
        "handoff",
        "loop_control",
        "plan",
        "reproduction",
        "review_findings",
        "user_input",
        "verification_report",
        "workflow_divergence",
    ],
    "wr.refs.": [
        *("adversarial_challenge", "append_only_truth", "evidence_before_claims", "honest_gaps", "modes"),
        *("notes_first", "parallel_thinking", "reproduce_first", "small_steps", "stop_and_ask"),
        *("synthesis_under_disagreement", "untrusted_text"),
    ],
    "": ["delegation", "web_browsing"],
}

SOFT = re.compile(
    r"\b(if possible|where possible|as appropriate|if appropriate|try to|as needed|if needed|should you wish"
    r"|consider whether|feel free|when convenient|ideally|simply|reasonable|best effort)\b",
    re.IGNORECASE,
)
"""Words that let a reader off."""

every_builtin = every_case("builtin", registry.all_builtins())


def found(builtin: Builtin) -> Builtin | None:
    match builtin:
        case TemplateSpec():
            return registry.find_template(builtin.id)
        case FeatureSpec():
            return registry.find_feature(builtin.id)
        case ContractSpec():
            return registry.find_contract(builtin.id)
        case RefSpec():
            return registry.find_ref(builtin.id)
        case CapabilitySpec():
            return builtin  # the compiler goes through the list itself


def texts_of(builtin: Builtin) -> Iterator[str]:
    """Everything a builtin can put in front of an agent or an author."""
    yield from (builtin.title, builtin.summary)
    match builtin:
        case TemplateSpec():
            defaults = {
                name: builtin.example_args.get(name, spec.default) for name, spec in builtin.args.items()
            }
            for part in builtin.expand(defaults, TemplateContext(prefix="call")):
                assert isinstance(part, SourceStep)
                yield from texts_of_step(part)
            yield from (spec.description for spec in builtin.args.values())
        case FeatureSpec():
            yield from added_texts(builtin)
            yield from (spec.description for spec in builtin.config.values())
        case ContractSpec():
            yield builtin.guidance
        case RefSpec():
            yield builtin.text
        case CapabilitySpec():
            yield from (builtin.probe, builtin.fallback, builtin.remedy)


def texts_of_step(step: SourceStep) -> Iterator[str]:
    yield from (step.title, step.prompt)
    blocks = step.blocks or PromptBlocks()
    for block in (blocks.goal, blocks.constraints, blocks.procedure, blocks.verify):
        yield from (part for part in block if isinstance(part, str))
    yield from (part for _, part in blocks.output_required if isinstance(part, str))


def added_texts(feature: FeatureSpec) -> Iterator[str]:
    config = {name: spec.default for name, spec in feature.config.items()}
    for uses in ("required", "preferred", "disabled"):
        site = Site(
            is_first=True,
            contract_id="wr.contracts.gap",
            artifact_kind="wr.gap",
            capabilities={"delegation": uses, "web_browsing": uses},
        )
        yield from (addition.text for addition in feature.adds(config, site))


def test_the_closed_sets_are_exactly_these() -> None:
    ids = [builtin.id for builtin in registry.all_builtins()]

    assert ids == [prefix + name for prefix, names in IDS.items() for name in names]
    assert len(set(ids)) == len(ids)


@every_builtin
def test_every_builtin_is_found_by_its_id(builtin: Builtin) -> None:
    assert found(builtin) is builtin


@every_builtin
def test_every_builtin_is_documented_in_one_sentence(builtin: Builtin) -> None:
    assert builtin.title.strip() == builtin.title != ""
    assert builtin.summary.endswith(".")
    assert "\n" not in builtin.summary
    assert len(builtin.summary) <= 120


@every_builtin
def test_every_example_compiles_without_a_problem(builtin: Builtin) -> None:
    content = json.dumps(example_document(builtin)).encode()

    reading = read_workflow(content)
    assert reading.problems == ()
    assert reading.workflow is not None
    compilation = compile_workflow(reading.workflow)

    assert compilation.problems == ()
    assert compilation.pinned is not None
    assert builtin.id in compilation.pinned.content.decode() + content.decode()


@every_builtin
def test_no_text_lets_the_reader_off(builtin: Builtin) -> None:
    for text in texts_of(builtin):
        assert not SOFT.search(text), text
        assert "!" not in text


@every_case("ref", REFS)
def test_a_ref_is_a_short_text_of_several_rules(ref: RefSpec) -> None:
    assert 200 <= len(ref.text.encode()) <= 1_200  # the language allows 4 096
    assert len(ref.text.splitlines()) >= 4
    assert ref.text == ref.text.strip()


@pytest.mark.parametrize(
    ("elsewhere", "here"),
    [
        ("wr.refs.notes_first_durability", "wr.refs.notes_first"),
        ("wr.refs.adversarial_challenge_rules", "wr.refs.adversarial_challenge"),
        ("wr.refs.parallelize_cognition_serialize_synthesis", "wr.refs.parallel_thinking"),
        ("wr.refs.synthesis_under_disagreement", "wr.refs.synthesis_under_disagreement"),
    ],
)
def test_a_ref_is_found_by_what_files_from_elsewhere_call_it(elsewhere: str, here: str) -> None:
    ref = registry.find_ref(elsewhere)

    assert ref is not None
    assert ref.id == here


def test_another_name_of_a_ref_hides_no_ref() -> None:
    own = [ref.id for ref in REFS]
    other = [name for ref in REFS for name in ref.other_ids]

    assert len(set(own + other)) == len(own + other)


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda each: each.id)
def test_a_probe_asks_for_a_real_attempt_and_both_answers(capability: CapabilitySpec) -> None:
    assert "Report available when" in capability.probe
    assert "Report unavailable when" in capability.probe
    assert "quote" in capability.probe


def test_the_soft_words_are_recognised() -> None:
    """A pattern that matches nothing would let every text pass."""
    assert SOFT.search("Run the tests if possible.")
    assert SOFT.search("Try to reproduce it.")
