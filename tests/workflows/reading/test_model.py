"""A document with every construct becomes the model that was written down for it by hand."""

from __future__ import annotations

import pytest

from handrail.workflows.compiled import (
    AllOf,
    AnyOf,
    ContainsRule,
    Count,
    ForEach,
    InputSpec,
    LengthRule,
    Option,
    PatternRule,
    Recommended,
    Reference,
    SchemaRule,
    UserOnly,
)
from handrail.workflows.conditions import AlwaysFalse, AlwaysTrue, And, Compare, LoopControl, Not, Or
from handrail.workflows.model import (
    ConditionRef,
    InlineCondition,
    PromptBlocks,
    RefPart,
    RepeatUntil,
    RepeatWhile,
    SourceAction,
    SourceAssessment,
    SourceChoice,
    SourceFeature,
    SourceFragment,
    SourceGate,
    SourceLoop,
    SourceStep,
    SourceTemplateCall,
    SourceWorkflow,
)
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.reading.documents import (
    EVERYTHING,
    LOOP,
    SMALLEST,
    source,
    with_part,
    with_step,
    without,
)

IS_LARGE = Compare(input="size", op="equals", value="large")

PLAN = SourceStep(
    id="plan",
    title="Plan",
    blocks=PromptBlocks(
        goal=("A plan on one screen.",),
        constraints=(
            "No code yet.",
            RefPart(ref_id="wr.refs.small_steps", pointer="/steps/0/promptBlocks/constraints/1"),
        ),
        procedure=("Read.", "Write."),
        output_required=(
            ("check", RefPart(ref_id="wr.refs.modes", pointer="/steps/0/promptBlocks/outputRequired/check")),
            ("plan", "Six lines."),
        ),
        verify=(RefPart(ref_id="wr.refs.evidence_before_claims", pointer="/steps/0/promptBlocks/verify"),),
    ),
    fragments=(
        SourceFragment(
            id="more",
            when=ConditionRef(condition_id="is_large", pointer="/steps/0/promptFragments/0/when"),
            text="Split it.",
        ),
        SourceFragment(text="Always shown."),
    ),
    guidance=("Short sentences.",),
    agent_role="You plan.",
    require_confirmation=ConditionRef(
        condition_id="is_risky", pointer="/steps/0/requireConfirmation/conditionId"
    ),
    when=ConditionRef(condition_id="is_large", pointer="/steps/0/when/conditionId"),
    contract_ref="wr.contracts.plan",
    hints=("Name the files.",),
    rules=(
        ContainsRule(value="Plan", message="Write a plan."),
        PatternRule(pattern="^## ", flags="ms", message="The notes must match the pattern ^## ."),
        AnyOf(
            of=(
                LengthRule(minimum=10, message="The notes must have at least 10 characters."),
                AllOf(
                    of=(
                        SchemaRule(
                            schema={"type": "object"},
                            message="The notes must be a JSON document that fits the schema of the step.",
                        ),
                    )
                ),
            )
        ),
    ),
    gates=(SourceGate(assessment_id="fit", followups={"low": "Cut the scope."}, pointer="/steps/0/gates/0"),),
    function_refs=("verify_claim",),
    user_only=UserOnly(reason="needs_user_choice", choice_kind="scope_boundary"),
    notes_optional=True,
    pointer="/steps/0",
)
WORK = SourceLoop(
    loop_id="work",
    title="Work",
    repeat=RepeatWhile(condition=ConditionRef(condition_id="keep_going", pointer="/steps/1/while")),
    max_iterations=5,
    body=(
        SourceLoop(
            loop_id="per_file",
            repeat=ForEach(input="files", item="file", index="n"),
            max_iterations=50,
            body=(
                SourceStep(
                    id="edit", title="Edit", prompt="Edit {{file}}.", pointer="/steps/1/body/0/body/0"
                ),
            ),
            pointer="/steps/1/body/0",
        ),
        SourceTemplateCall(
            id="check",
            title="Check",
            template_id="wr.templates.verification_pass",
            args={"focus": "tests"},
            require_confirmation=True,
            pointer="/steps/1/body/1",
        ),
    ),
    when=InlineCondition(condition=IS_LARGE, pointer="/steps/1/when"),
    pointer="/steps/1",
)
POLISH = SourceLoop(
    loop_id="polish",
    repeat=RepeatUntil(condition=InlineCondition(condition=AlwaysTrue(), pointer="/steps/2/until")),
    max_iterations=2,
    body=(SourceTemplateCall(template_id="wr.templates.handoff_summary", pointer="/steps/2/body/0"),),
    pointer="/steps/2",
)
ROUNDS = SourceLoop(
    loop_id="rounds",
    repeat=Count(count=3, index="round"),
    max_iterations=3,
    body=(
        SourceAction(
            id="search",
            title="scan.search",
            operation="scan.search",
            params={"q": 1},
            save_as="hits",
            pointer="/steps/3/body/0",
        ),
    ),
    pointer="/steps/3",
)
TWICE = SourceLoop(
    loop_id="twice",
    repeat=Count(count=2),
    max_iterations=2,
    body=(SourceAction(id="trace", title="Trace", operation="scan.trace", pointer="/steps/4/body/0"),),
    pointer="/steps/4",
)
SHIP = SourceChoice(
    id="ship",
    title="Ship it",
    prompt="Ship now?",
    options=(
        Option(id="yes", label="Yes", description="Goes out today.", sets={"shipped": True}),
        Option(id="no", label="No"),
    ),
    non_assumable="irreversible_action",
    when=ConditionRef(condition_id="is_large", pointer="/steps/5/when"),
    pointer="/steps/5",
)
WORKFLOW = SourceWorkflow(
    id="project.everything",
    kind="routine",
    name="Everything",
    description="Every construct of the language once.",
    version="2.1.0",
    agent_role="You are careful.",
    guidance=("Say what you saw.",),
    preconditions=("The branch is green.",),
    questions=("Which release?",),
    inputs={
        "size": InputSpec(
            type="string",
            enum=("small", "large"),
            default="small",
            required=True,
            description="How much there is to do.",
        ),
        "files": InputSpec(type="array"),
        "depth": InputSpec(type="integer", default=3),
        "anything": InputSpec(type="any"),
    },
    recommended=Recommended(autonomy="guided", risk_policy="balanced"),
    capabilities={"delegation": "preferred", "web_browsing": "disabled"},
    features=(
        SourceFeature(id="wr.features.mode_guidance", pointer="/features/0"),
        SourceFeature(id="wr.features.capabilities", config={"tone": "short"}, pointer="/features/1"),
    ),
    references=(
        Reference(
            id="api",
            title="The interface",
            source="./docs/api.json",
            purpose="Names of fields.",
            authoritative=True,
            resolve_from="package",
        ),
        Reference(id="log", title="The log", source="./log.md"),
    ),
    functions={"verify_claim": "Run the command that shows it."},
    conditions={
        "is_large": IS_LARGE,
        "keep_going": LoopControl(continue_when="continue"),
        "is_risky": And(
            of=(
                AlwaysTrue(),
                Or(
                    of=(
                        Not(of=AlwaysFalse()),
                        Compare(
                            artifact="wr.verification_report",
                            field="verdict.level",
                            op="in",
                            value=["low", "medium"],
                        ),
                    )
                ),
            )
        ),
    },
    assessments=(
        SourceAssessment(
            id="fit",
            purpose="Does it fit?",
            dimensions={"scope": ("low", "high")},
            pointer="/assessments/0",
        ),
    ),
    steps=(PLAN, WORK, POLISH, ROUNDS, TWICE, SHIP),
    about="For tests.",
    examples=("Read everything.",),
    tags=("test",),
    extra={"owner": "nobody"},
)


def read(document: object) -> SourceWorkflow:
    reading = read_workflow(source(document))
    assert reading.problems == ()
    assert reading.workflow is not None
    return reading.workflow


def test_every_construct_becomes_the_model() -> None:
    assert read(EVERYTHING) == WORKFLOW


def test_what_may_be_left_out_has_a_default() -> None:
    assert read(SMALLEST) == SourceWorkflow(
        id="project.small",
        kind="workflow",
        name="Small",
        description="One step.",
        version="1.0.0",
        steps=(SourceStep(id="only", title="Only", prompt="Do it.", pointer="/steps/0"),),
    )


def test_the_order_of_keys_does_not_reach_the_model() -> None:
    def turned(value: object) -> object:
        if isinstance(value, dict):
            return {key: turned(value[key]) for key in reversed(value)}
        return [turned(item) for item in value] if isinstance(value, list) else value

    assert read(turned(EVERYTHING)) == WORKFLOW


@every_case(
    ("written", "expected"),
    [
        ({"type": "contains", "value": "why"}, 'The notes must contain "why".'),
        ({"type": "contains", "value": "why", "message": ""}, 'The notes must contain "why".'),
        ({"type": "regex", "pattern": "^a$"}, "The notes must match the pattern ^a$."),
        ({"type": "length", "maximum": 9}, "The notes must have 0 to 9 characters."),
        ({"type": "length", "minimum": 2.0, "maximum": 9}, "The notes must have 2 to 9 characters."),
        ({"type": "length", "minimum": 2, "message": "More."}, "More."),
    ],
)
def test_a_rule_without_a_message_gets_a_plain_one(written: object, expected: str) -> None:
    (step,) = read(with_step(validation=[written])).steps

    assert isinstance(step, SourceStep)
    (rule,) = step.rules
    assert isinstance(rule, ContainsRule | PatternRule | LengthRule)
    assert rule.message == expected


def test_the_flags_of_a_pattern_have_one_order() -> None:
    (step,) = read(with_step(validation=[{"type": "regex", "pattern": "a", "flags": "smi"}])).steps

    assert isinstance(step, SourceStep)
    assert step.rules == (
        PatternRule(pattern="a", flags="ims", message="The notes must match the pattern a."),
    )


def test_a_whole_number_may_be_written_with_a_point() -> None:
    (loop,) = read(with_part(LOOP, count=3.0, maxIterations=4.0)).steps

    assert isinstance(loop, SourceLoop)
    assert (loop.repeat, loop.max_iterations) == (Count(count=3), 4)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({"kind": "loop_control"}, LoopControl(continue_when="continue")),
        ({"kind": "loop_control", "continueWhen": "stop"}, LoopControl(continue_when="stop")),
    ],
)
def test_loop_control_condition_continues_by_default(written: dict[str, str], expected: LoopControl) -> None:
    (loop,) = read(with_part(without(LOOP, "count"), **{"while": written})).steps

    assert isinstance(loop, SourceLoop)
    assert isinstance(loop.repeat, RepeatWhile)
    assert isinstance(loop.repeat.condition, InlineCondition)
    assert loop.repeat.condition.condition == expected
