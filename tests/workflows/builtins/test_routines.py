"""A routine as a template: its arguments, its conditions, what it brings along."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from handrail.workflows.builtins.placement import (
    make_routine_template,
    routine_template_id,
)
from handrail.workflows.builtins.specs import TemplateContext, TemplateSpec
from handrail.workflows.compiled import ForEach, UserOnly
from handrail.workflows.compiling.compilation import Surroundings
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.conditions import Compare
from handrail.workflows.model import (
    InlineCondition,
    SourceChoice,
    SourceLoop,
    SourcePart,
    SourceStep,
    SourceTemplateCall,
    SourceWorkflow,
)
from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.builtins.examples import example_document

INPUTS = {
    "subject": {"type": "string", "required": True, "description": "What is looked at."},
    "depth": {
        "type": "string",
        "enum": ["quick", "deep"],
        "default": "quick",
        "description": "How far to go.",
    },
    "files": {"type": "array", "description": "What to read."},
}
DEEP = {"kind": "compare", "input": "depth", "op": "equals", "value": "deep"}


def routine(*steps: dict[str, Any], **more: Any) -> SourceWorkflow:
    document = {
        "id": "wr.routine_look_around",
        "kind": "routine",
        "name": "Look around",
        "description": "Look before you act.",
        "version": "1.0.0",
        "inputs": INPUTS,
        "conditions": [{"id": "is_deep", **DEEP}],
        "steps": list(steps),
        **more,
    }
    reading = read_workflow(json.dumps(document).encode())
    assert reading.workflow is not None, reading.problems
    return reading.workflow


def step(name: str, prompt: str = "Look.", **more: Any) -> dict[str, Any]:
    return {"id": name, "title": name.title(), "prompt": prompt, **more}


def expand(spec: TemplateSpec, **args: Any) -> tuple[SourcePart, ...]:
    given = {"subject": "the log", "depth": "quick"} | args
    return spec.expand(given, TemplateContext(prefix="look", pointer="/steps/0"))


def first_step(workflow: SourceWorkflow, **args: Any) -> SourceStep:
    part = expand(make_routine_template(workflow), **args)[0]
    assert isinstance(part, SourceStep)
    return part


@every_case(
    ("workflow_id", "expected"),
    [
        ("wr.routine_plan_review", "wr.templates.routine.plan_review"),
        ("wr.routine-design-review", "wr.templates.routine.design-review"),
        ("routine-design-review", "wr.templates.routine.design-review"),
        ("acme.routine_triage", "acme.templates.routine.triage"),
        ("acme.triage", "acme.templates.routine.triage"),
    ],
)
def test_a_routine_is_called_by_its_name(workflow_id: str, expected: str) -> None:
    assert routine_template_id(workflow_id) == expected


def test_the_template_of_a_routine_takes_its_inputs() -> None:
    workflow = routine(step("a"))

    spec = make_routine_template(workflow)

    assert spec.id == "wr.templates.routine.look_around"
    assert (spec.title, spec.summary) == ("Look around", "Look before you act.")
    assert set(spec.args) == {"subject", "depth", "files"}
    assert spec.example_args == {"subject": "{{subject}}"}
    assert spec.takes_inputs


def test_arguments_reach_every_text_that_is_read() -> None:
    blocks = {
        "goal": "G {{subject}}",
        "constraints": ["C {{subject}}", {"kind": "ref", "refId": "wr.refs.modes"}],
        "procedure": ["P {{subject}}"],
        "outputRequired": {"notes": "O {{subject}}"},
        "verify": ["V {{subject}}"],
    }
    authored = {
        "id": "a",
        "title": "T {{subject}}",
        "promptBlocks": blocks,
        "guidance": ["Gu {{subject}}"],
        "agentRole": "R {{subject}}",
        "output": {"hints": ["H {{subject}}"]},
        "promptFragments": [{"text": "F {{subject}}"}],
    }

    found = first_step(routine(authored), subject="the log")

    assert found.blocks is not None
    assert found.blocks.goal == ("G the log",)
    assert found.blocks.constraints[0] == "C the log"
    assert found.blocks.procedure == ("P the log",)
    assert found.blocks.output_required == (("notes", "O the log"),)
    assert found.blocks.verify == ("V the log",)
    assert (found.title, found.agent_role) == ("T the log", "R the log")
    assert (found.guidance, found.hints) == (("Gu the log",), ("H the log",))
    assert [fragment.text for fragment in found.fragments] == ["F the log"]


def test_an_argument_is_put_in_once_even_inside_a_loop() -> None:
    """The caller's own `{{depth}}` is not the routine's."""
    body = [step("inner", "Read {{subject}}.")]
    workflow = routine({"type": "loop", "loopId": "l", "count": 2, "maxIterations": 2, "body": body})

    (loop,) = expand(make_routine_template(workflow), subject="{{depth}} of it")

    assert isinstance(loop, SourceLoop)
    inner = loop.body[0]
    assert isinstance(inner, SourceStep)
    assert inner.prompt == "Read {{depth}} of it."


@every_case(
    ("when", "args", "expected"),
    [
        ("is_deep", {"depth": "quick"}, "dropped"),
        ("is_deep", {"depth": "deep"}, "always"),
        (DEEP, {"depth": "deep"}, "always"),
        ("is_deep", {"depth": "{{level}}"}, "level"),
        ({"kind": "not", "of": DEEP}, {"depth": "quick"}, "always"),
    ],
)
def test_a_condition_follows_its_argument(when: Any, args: dict[str, Any], expected: str) -> None:
    parts = expand(make_routine_template(routine(step("a", when=when), step("b"))), **args)

    if expected == "dropped":
        assert [part.id for part in parts if isinstance(part, SourceStep)] == ["look"]
    else:
        found = parts[0].when
        assert len(parts) == 2
        if expected == "always":
            assert found is None
        else:
            assert isinstance(found, InlineCondition)
            assert found.condition == Compare(input=expected, op="equals", value="deep")


def test_fragments_and_confirmations_follow_their_arguments() -> None:
    fragments = [{"when": "is_deep", "text": "Go deep."}, {"text": "Always."}]
    workflow = routine(step("a", promptFragments=fragments, requireConfirmation="is_deep"))

    quick = first_step(workflow, depth="quick")
    deep = first_step(workflow, depth="deep")

    assert [fragment.text for fragment in quick.fragments] == ["Always."]
    assert quick.require_confirmation is False
    assert [(fragment.text, fragment.when) for fragment in deep.fragments] == [
        ("Go deep.", None),
        ("Always.", None),
    ]
    assert deep.require_confirmation is True


def test_loop_over_an_argument_uses_the_named_input() -> None:
    body = [step("read", "Read {{file}} of {{subject}}.")]
    loop = {"type": "loop", "loopId": "each", "maxIterations": 9, "body": body}
    workflow = routine({**loop, "forEach": {"input": "files", "as": "file"}})

    spec = make_routine_template(workflow)
    (found,) = expand(spec, files="{{changed}}")

    assert spec.names_inputs == ("files",)
    assert isinstance(found, SourceLoop)
    assert found.repeat == ForEach(input="changed", item="file")
    inner = found.body[0]
    assert isinstance(inner, SourceStep)
    assert inner.prompt == "Read {{file}} of the log."


def test_a_loop_whose_parts_are_all_dropped_is_dropped() -> None:
    body = [step("inner", when="is_deep")]
    loop = {"type": "loop", "loopId": "l", "count": 2, "maxIterations": 2, "body": body}

    parts = expand(make_routine_template(routine(loop, step("a"))), depth="quick")

    assert [type(part) for part in parts] == [SourceStep]


def test_a_while_loop_keeps_a_condition_that_always_holds() -> None:
    loop = {"type": "loop", "loopId": "l", "while": "is_deep", "maxIterations": 2, "body": [step("inner")]}

    (found,) = expand(make_routine_template(routine(loop)), depth="deep")

    assert isinstance(found, SourceLoop)
    assert "AlwaysTrue" in repr(found.repeat)


def test_argument_does_not_fix_a_value_that_is_set_inside() -> None:
    options = [
        {"id": "a", "label": "Quick", "set": {"depth": "quick"}},
        {"id": "b", "label": "Deep {{subject}}", "set": {"depth": "deep", "note": "{{subject}}"}},
    ]
    choice = {"type": "choice", "id": "c", "title": "How far?", "prompt": "Choose.", "options": options}

    parts = expand(make_routine_template(routine(choice, step("a", "Go {{depth}}.", when="is_deep"))))

    asked, done = parts
    assert isinstance(asked, SourceChoice)
    assert asked.options[1].label == "Deep the log"
    assert asked.options[1].sets == {"depth": "deep", "note": "the log"}
    assert isinstance(done, SourceStep)
    assert done.prompt == "Go {{depth}}."
    assert done.when is not None


def test_arguments_of_inner_calls_keep_their_type() -> None:
    inner = {
        "type": "template_call",
        "templateId": "wr.templates.verification_pass",
        "args": {"subject": "{{subject}} again", "checks": "{{files}}"},
    }

    (found,) = expand(make_routine_template(routine(inner)), files=["just test"])

    assert isinstance(found, SourceTemplateCall)
    assert found.args == {"subject": "the log again", "checks": ["just test"]}


def test_need_of_a_user_is_met_by_its_argument_or_input() -> None:
    """A user-only need is answered by its argument or asked of the named input."""
    workflow = routine(step("a"))
    needed = UserOnly(reason="needs_user_artifact", input="subject")
    workflow = replace(workflow, steps=(replace(workflow.steps[0], user_only=needed),))

    given = first_step(workflow, subject="the log")
    handed_on = first_step(workflow, subject="{{ticket}}")

    assert given.user_only is None
    assert handed_on.user_only is not None
    assert handed_on.user_only.input == "ticket"


def test_the_stance_of_the_routine_goes_with_its_steps() -> None:
    workflow = routine(
        step("a", functionRefs=["weigh"], guidance=["Own."]),
        step("b", agentRole="You are strict."),
        agentRole="You look at {{subject}}.",
        guidance=["Change nothing."],
        preconditions=["A clean checkout."],
        questions=["Which branch?"],
        functions={"weigh": "Weigh {{subject}}."},
    )

    first, second = expand(make_routine_template(workflow))

    assert isinstance(first, SourceStep)
    assert isinstance(second, SourceStep)
    assert (first.agent_role, second.agent_role) == ("You look at the log.", "You are strict.")
    assert first.guidance == (
        "Before you begin: A clean checkout.",
        "Settle first, from what is known or with the user: Which branch?",
        "Own.",
        "Change nothing.",
        "weigh: Weigh the log.",
    )
    assert first.function_refs == ()
    assert second.guidance == ("Change nothing.",)


def test_what_the_steps_rely_on_comes_along() -> None:
    workflow = routine(
        step("a", gates=[{"assessmentId": "ready", "followups": {}}]),
        assessments=[{"id": "ready", "purpose": "Is it ready?", "dimensions": {"proof": ["low", "high"]}}],
        capabilities={"web_browsing": "required"},
        features=["wr.features.mode_guidance"],
        references=[{"id": "spec", "title": "Spec", "source": "./spec.md"}],
    )

    brings = make_routine_template(workflow).brings

    assert [each.id for each in brings.assessments] == ["ready"]
    assert [each.id for each in brings.references] == ["spec"]
    assert [each.id for each in brings.features] == ["wr.features.mode_guidance"]
    assert brings.capabilities == {"web_browsing": "required"}


def test_the_example_of_a_routine_compiles() -> None:
    workflow = routine(step("a", "Look at {{subject}}."), step("b", when="is_deep"))
    content = json.dumps(example_document(make_routine_template(workflow))).encode()

    reading = read_workflow(content)
    assert reading.workflow is not None, reading.problems
    compilation = compile_workflow(reading.workflow, Surroundings(routines=(workflow,)))

    assert compilation.problems == ()
    assert compilation.pinned is not None
    assert [each.id for each in compilation.pinned.workflow.steps] == ["call"]  # b is dropped: depth is quick


def test_foreign_routine_has_arguments_in_single_braces() -> None:
    repeated = {
        "type": "loop",
        "id": "l",
        "title": "Twice",
        "loop": {"type": "for", "count": 2, "maxIterations": 2},
        "body": [step("b", "See {deliverableName}.")],
    }
    kept = '{{subject}}, {"json": 1} and {not a name}.'
    steps = [step("a", f"Write {{deliverableName}}; keep {kept}"), repeated]
    written = {"id": "routine-look", "name": "Look", "description": "It looks.", "steps": steps}
    workflow = read_workflow(json.dumps(written).encode()).workflow
    assert workflow is not None

    spec = make_routine_template(workflow)
    first, loop = spec.expand({"deliverableName": "plan.md"}, TemplateContext(prefix="look"))

    assert set(spec.args) == {"subject", "deliverableName"}
    assert spec.args["deliverableName"].implicit
    assert isinstance(first, SourceStep)
    assert first.prompt == f"Write plan.md; keep {kept}"
    assert isinstance(loop, SourceLoop)
    assert isinstance(loop.body[0], SourceStep)
    assert loop.body[0].prompt == "See plan.md."
