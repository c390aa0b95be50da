"""Every kind of mistake in the shape of a file is one problem with a code, a place and a fix."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.workflows.reading.reader import read_workflow
from tests.cases import every_case
from tests.workflows.reading.documents import (
    ACTION,
    CALL,
    CHOICE,
    COMPARE,
    LOOP,
    SMALLEST,
    STEP,
    source,
    with_part,
    with_step,
    without,
)

OPTION: dict[str, Any] = {"id": "left", "label": "Left"}
REFERENCE: dict[str, Any] = {"id": "api", "title": "The interface", "source": "./api.json"}
ASSESSMENT: dict[str, Any] = {"id": "fit", "purpose": "Fit?", "dimensions": {"scope": ["low"]}}
ENDLESS: dict[str, Any] = without(LOOP, "count")


def check(document: object, *expected: tuple[str, str]) -> None:
    """Exactly these `(code, pointer)`, in the order of the text; each says what is wrong and what to do."""
    reading = read_workflow(source(document))

    assert [(problem.code, problem.pointer) for problem in reading.problems] == list(expected)
    assert reading.workflow is None
    for problem in reading.problems:
        assert problem.severity == "error"
        assert problem.line == 1
        assert problem.column >= 1
        assert problem.message.endswith("."), problem
        assert problem.fix.endswith((".", "?")), problem


def check_accepted(document: object) -> None:
    reading = read_workflow(source(document))

    assert reading.problems == ()
    assert reading.workflow is not None


@every_case("document", [[], "text", 3, None, True, 1.5])
def test_a_file_that_holds_no_object_is_one_problem(document: object) -> None:
    check(document, ("not_an_object", ""))


@every_case(
    ("document", "code", "pointer"),
    [
        (without(SMALLEST, "id"), "missing_key", ""),
        (without(SMALLEST, "name"), "missing_key", ""),
        (without(SMALLEST, "description"), "missing_key", ""),
        (without(SMALLEST, "steps"), "missing_key", ""),
        (SMALLEST | {"steps": []}, "no_steps", "/steps"),
        (SMALLEST | {"steps": {"only": STEP}}, "wrong_type", "/steps"),
        (SMALLEST | {"steps": ["do it"]}, "wrong_type", "/steps/0"),
        (SMALLEST | {"steps": [STEP, STEP]}, "duplicate_id", "/steps/1/id"),
        (SMALLEST | {"kind": "macro"}, "bad_value", "/kind"),
        (SMALLEST | {"name": 7}, "wrong_type", "/name"),
        (SMALLEST | {"name": None}, "wrong_type", "/name"),
        (SMALLEST | {"name": " \n"}, "bad_value", "/name"),
        (SMALLEST | {"name": "n" * 201}, "too_large", "/name"),
        (SMALLEST | {"description": "d" * 2_001}, "too_large", "/description"),
        (SMALLEST | {"version": 2}, "wrong_type", "/version"),
        (SMALLEST | {"version": "1" * 33}, "too_large", "/version"),
        (SMALLEST | {"agentRole": ["stern"]}, "wrong_type", "/agentRole"),
        (SMALLEST | {"guidance": "stern"}, "wrong_type", "/guidance"),
        (SMALLEST | {"guidance": ["a", ""]}, "bad_value", "/guidance/1"),
        (SMALLEST | {"about": "a" * 8_001}, "too_large", "/about"),
        (SMALLEST | {"tags": ["a", 2]}, "wrong_type", "/tags/1"),
        (SMALLEST | {"examples": ["x"] * 201}, "too_large", "/examples"),
        (SMALLEST | {"extra": []}, "wrong_type", "/extra"),
        (SMALLEST | {"colour": "red"}, "unknown_key", "/colour"),
        (SMALLEST | {"a/b~c": 1}, "unknown_key", "/a~1b~0c"),
        (SMALLEST | {"recommended": {"autonomy": "wild"}}, "bad_value", "/recommended/autonomy"),
        (SMALLEST | {"recommended": {"riskPolicy": True}}, "wrong_type", "/recommended/riskPolicy"),
        (SMALLEST | {"capabilities": {"delegation": "maybe"}}, "bad_value", "/capabilities/delegation"),
        (SMALLEST | {"capabilities": {"telepathy": "required"}}, "unknown_key", "/capabilities/telepathy"),
        (SMALLEST | {"features": [7]}, "wrong_type", "/features/0"),
        (SMALLEST | {"features": [{"config": {}}]}, "missing_key", "/features/0"),
        (SMALLEST | {"functions": {"f": ""}}, "bad_value", "/functions/f"),
        (SMALLEST | {"functions": {"f()": "x"}}, "bad_name", "/functions/f()"),
        (SMALLEST | {"references": [without(REFERENCE, "source")]}, "missing_key", "/references/0"),
        (
            SMALLEST | {"references": [REFERENCE | {"resolveFrom": "moon"}]},
            "bad_value",
            "/references/0/resolveFrom",
        ),
        (SMALLEST | {"references": [REFERENCE, REFERENCE]}, "duplicate_id", "/references/1/id"),
        (SMALLEST | {"assessments": [ASSESSMENT, ASSESSMENT]}, "duplicate_id", "/assessments/1/id"),
        (
            SMALLEST | {"assessments": [ASSESSMENT | {"dimensions": {"scope": []}}]},
            "bad_value",
            "/assessments/0/dimensions/scope",
        ),
    ],
)
def test_a_mistake_in_the_workflow_is_named_with_its_place(document: object, code: str, pointer: str) -> None:
    check(document, (code, pointer))


@every_case(
    ("change", "code", "pointer"),
    [
        ({"id": "Big"}, "bad_id", "/id"),
        ({"id": "s" * 65}, "too_large", "/id"),
        ({"id": ""}, "bad_value", "/id"),
        ({"id": 7}, "wrong_type", "/id"),
        ({"title": "t" * 201}, "too_large", "/title"),
        ({"prompt": ""}, "bad_value", "/prompt"),
        ({"prompt": "p" * 32_769}, "too_large", "/prompt"),
        ({"prompt": "é" * 16_385}, "too_large", "/prompt"),
        ({"promptBlocks": {"goal": "g"}}, "bad_value", "/promptBlocks"),
        ({"requireConfirmation": 1}, "wrong_type", "/requireConfirmation"),
        ({"requireConfirmation": None}, "wrong_type", "/requireConfirmation"),
        ({"requireConfirmation": "Is Large"}, "bad_id", "/requireConfirmation"),
        ({"requireConfirmation": {"kind": "human"}}, "bad_value", "/requireConfirmation/kind"),
        ({"promptFragments": [{"when": "x"}]}, "missing_key", "/promptFragments/0"),
        (
            {"promptFragments": [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]},
            "duplicate_id",
            "/promptFragments/1/id",
        ),
        ({"output": {}}, "missing_key", "/output"),
        ({"output": {"contractRef": ""}}, "bad_value", "/output/contractRef"),
        ({"output": {"hints": "short"}}, "wrong_type", "/output/hints"),
        ({"functionRefs": ["verify claim"]}, "bad_id", "/functionRefs/0"),
        ({"notesOptional": "yes"}, "wrong_type", "/notesOptional"),
        ({"gates": [{"followups": {}}]}, "missing_key", "/gates/0"),
        (
            {"gates": [{"assessmentId": "fit", "followups": {"low": 3}}]},
            "wrong_type",
            "/gates/0/followups/low",
        ),
        ({"userOnly": {"reason": "needs_luck"}}, "bad_value", "/userOnly/reason"),
        (
            {"userOnly": {"reason": "needs_user_artifact", "input": "no spaces"}},
            "bad_id",
            "/userOnly/input",
        ),
        ({"userOnly": {"reason": "needs_user_choice"}}, "missing_key", "/userOnly"),
        (
            {"userOnly": {"reason": "needs_user_artifact", "choiceKind": "scope_boundary"}},
            "bad_value",
            "/userOnly/choiceKind",
        ),
        ({"type": "stepp"}, "bad_value", "/type"),
        ({"type": 4}, "wrong_type", "/type"),
    ],
)
def test_a_mistake_in_a_step_is_named_with_its_place(change: dict[str, Any], code: str, pointer: str) -> None:
    check(with_step(**change), (code, f"/steps/0{pointer}"))


@every_case(
    ("blocks", "code", "pointer"),
    [
        ({}, "missing_key", ""),
        ([], "wrong_type", ""),
        ({"goal": 7}, "wrong_type", "/goal"),
        ({"goal": ""}, "bad_value", "/goal"),
        ({"constraints": []}, "bad_value", "/constraints"),
        ({"constraints": ["a", None]}, "wrong_type", "/constraints/1"),
        ({"procedure": [{"kind": "reff", "refId": "wr.refs.x"}]}, "bad_value", "/procedure/0/kind"),
        ({"procedure": [{"kind": "ref"}]}, "missing_key", "/procedure/0"),
        ({"procedure": [["nested"]]}, "wrong_type", "/procedure/0"),
        ({"outputRequired": ["plan"]}, "wrong_type", "/outputRequired"),
        ({"outputRequired": {"plan": 6}}, "wrong_type", "/outputRequired/plan"),
        ({"outputRequired": {" ": "x"}}, "bad_name", "/outputRequired/ "),
        ({"verfy": "x", "goal": "g"}, "unknown_key", "/verfy"),
    ],
)
def test_a_mistake_in_a_prompt_block_is_named_with_its_place(blocks: object, code: str, pointer: str) -> None:
    document = with_part(without(STEP, "prompt"), promptBlocks=blocks)

    check(document, (code, f"/steps/0/promptBlocks{pointer}"))


@every_case(
    ("part", "code", "pointer"),
    [
        (without(LOOP, "loopId"), "missing_key", ""),
        (without(LOOP, "maxIterations"), "missing_key", ""),
        (without(LOOP, "body"), "missing_key", ""),
        (ENDLESS, "missing_key", ""),
        (LOOP | {"until": "done"}, "bad_value", "/until"),
        (LOOP | {"body": []}, "no_steps", "/body"),
        (LOOP | {"body": STEP}, "wrong_type", "/body"),
        (LOOP | {"body": [STEP, STEP]}, "duplicate_id", "/body/1/id"),
        (LOOP | {"loopId": "only"}, "duplicate_id", "/body/0/id"),
        (LOOP | {"maxIterations": 0}, "bad_value", "/maxIterations"),
        (LOOP | {"maxIterations": 1_001}, "too_large", "/maxIterations"),
        (LOOP | {"maxIterations": 1.5}, "bad_value", "/maxIterations"),
        (LOOP | {"maxIterations": True}, "wrong_type", "/maxIterations"),
        (LOOP | {"maxIterations": "3"}, "wrong_type", "/maxIterations"),
        (LOOP | {"count": 0}, "bad_value", "/count"),
        (LOOP | {"count": -1}, "bad_value", "/count"),
        (LOOP | {"count": 10**400}, "too_large", "/count"),
        (LOOP | {"count": "n"}, "wrong_type", "/count"),
        (LOOP | {"count": {"indexAs": "n"}}, "missing_key", "/count"),
        (ENDLESS | {"while": ""}, "bad_value", "/while"),
        (ENDLESS | {"while": ["x"]}, "wrong_type", "/while"),
        (ENDLESS | {"until": {"kind": "condition_ref"}}, "missing_key", "/until"),
        (ENDLESS | {"forEach": {"input": "files"}}, "missing_key", "/forEach"),
        (ENDLESS | {"forEach": {"as": "file"}}, "missing_key", "/forEach"),
        (ENDLESS | {"forEach": {"input": "files", "as": "a b"}}, "bad_id", "/forEach/as"),
        (ENDLESS | {"forEach": {"input": "files", "as": "constructor"}}, "bad_id", "/forEach/as"),
        (ENDLESS | {"forEach": {"input": "files.", "as": "file"}}, "bad_id", "/forEach/input"),
        (without(CALL, "templateId"), "missing_key", ""),
        (CALL | {"args": []}, "wrong_type", "/args"),
        (CALL | {"prompt": "p"}, "unknown_key", "/prompt"),
        (without(CHOICE, "title"), "missing_key", ""),
        (without(CHOICE, "options"), "missing_key", ""),
        (CHOICE | {"options": [OPTION]}, "bad_value", "/options"),
        (CHOICE | {"options": [OPTION | {"id": f"o{n}"} for n in range(33)]}, "too_large", "/options"),
        (CHOICE | {"options": [OPTION, OPTION]}, "duplicate_id", "/options/1/id"),
        (CHOICE | {"options": [OPTION, {"id": "b", "label": ""}]}, "bad_value", "/options/1/label"),
        (
            CHOICE | {"options": [OPTION, {"id": "b", "label": "B", "set": {"__proto__": 1}}]},
            "bad_name",
            "/options/1/set/__proto__",
        ),
        (CHOICE | {"nonAssumable": True}, "wrong_type", "/nonAssumable"),
        (CHOICE | {"nonAssumable": "taste"}, "bad_value", "/nonAssumable"),
        (without(ACTION, "operation"), "missing_key", ""),
        (without(ACTION, "id"), "missing_key", ""),
        (ACTION | {"saveAs": "prototype"}, "bad_id", "/saveAs"),
        (ACTION | {"params": {"deep": [{"n": 2**60 + 1}]}}, "bad_value", "/params/deep/0/n"),
    ],
)
def test_a_mistake_in_another_part_is_named_with_its_place(
    part: dict[str, Any], code: str, pointer: str
) -> None:
    check(with_part(part), (code, f"/steps/0{pointer}"))


@every_case(
    ("declared", "code", "pointer"),
    [
        ({"type": "text"}, "bad_value", "/type"),
        ({"type": "string", "default": 3}, "bad_value", "/default"),
        ({"type": "string", "default": None}, "bad_value", "/default"),
        ({"type": "boolean", "default": 0}, "bad_value", "/default"),
        ({"type": "number", "default": True}, "bad_value", "/default"),
        ({"type": "integer", "default": 1.5}, "bad_value", "/default"),
        ({"type": "array", "default": {}}, "bad_value", "/default"),
        ({"type": "object", "default": []}, "bad_value", "/default"),
        ({"enum": []}, "bad_value", "/enum"),
        ({"enum": "small"}, "wrong_type", "/enum"),
        ({"type": "string", "enum": ["a", 2, "b"]}, "bad_value", "/enum/1"),
        ({"enum": ["a", "b", "a"]}, "bad_value", "/enum/2"),
        ({"enum": [1, 1.0]}, "bad_value", "/enum/1"),
        ({"enum": ["a"], "default": "b"}, "bad_value", "/default"),
        ({"enum": [1], "default": True}, "bad_value", "/default"),
        ({"default": 2**53 + 1}, "bad_value", "/default"),
        ({"required": "yes"}, "wrong_type", "/required"),
        ({"requird": True}, "unknown_key", "/requird"),
        ("string", "wrong_type", ""),
    ],
)
def test_a_mistake_in_an_input_is_named_with_its_place(declared: object, code: str, pointer: str) -> None:
    check(SMALLEST | {"inputs": {"size": declared}}, (code, f"/inputs/size{pointer}"))


@every_case("name", ["", "a b", "1st", "__proto__", "constructor", "prototype", "ü", "n" * 65, "a\n"])
def test_an_input_has_a_name_that_a_context_takes(name: str) -> None:
    check(SMALLEST | {"inputs": {name: {}}}, ("bad_name", f"/inputs/{name}"))


@every_case(
    ("condition", "code", "pointer"),
    [
        ({"kind": "maybe"}, "bad_value", "/kind"),
        ({"kind": ["and"]}, "wrong_type", "/kind"),
        ({"of": []}, "missing_key", ""),
        ({"kind": "and", "of": []}, "bad_value", "/of"),
        ({"kind": "or"}, "missing_key", ""),
        ({"kind": "or", "of": ["is_large"]}, "wrong_type", "/of/0"),
        ({"kind": "not", "of": [COMPARE]}, "wrong_type", "/of"),
        (
            {"kind": "not", "of": {"kind": "and", "of": [COMPARE, {"kind": "x"}]}},
            "bad_value",
            "/of/of/1/kind",
        ),
        ({"kind": "and", "of": [{"kind": "condition_ref", "conditionId": "a"}]}, "bad_value", "/of/0/kind"),
        ({"kind": "always_true", "value": 1}, "unknown_key", "/value"),
        ({"kind": "loop_control", "continueWhen": "go"}, "bad_value", "/continueWhen"),
        (COMPARE | {"op": "matches"}, "bad_value", "/op"),
        (COMPARE | {"artifact": "wr.plan"}, "bad_value", "/artifact"),
        (without(COMPARE, "input"), "missing_key", ""),
        (without(COMPARE, "op"), "missing_key", ""),
        (without(COMPARE, "value"), "missing_key", ""),
        (without(COMPARE, "kind"), "missing_key", ""),
        (COMPARE | {"input": "a b"}, "bad_id", "/input"),
        (COMPARE | {"field": "x"}, "bad_value", "/field"),
        (without(COMPARE, "input") | {"artifact": "wr.plan"}, "missing_key", ""),
        (COMPARE | {"op": "in", "value": "large"}, "bad_value", "/value"),
        (COMPARE | {"op": "in", "value": []}, "bad_value", "/value"),
        (COMPARE | {"op": "contains", "value": None}, "bad_value", "/value"),
        (COMPARE | {"op": "contains", "value": ["a"]}, "bad_value", "/value"),
        (COMPARE | {"op": "gt", "value": True}, "bad_value", "/value"),
        (COMPARE | {"op": "lte", "value": [1]}, "bad_value", "/value"),
        (COMPARE | {"op": "exists", "value": "yes"}, "bad_value", "/value"),
        (COMPARE | {"value": 2**53 + 1}, "bad_value", "/value"),
    ],
)
def test_a_mistake_in_a_condition_is_named_wherever_it_stands(
    condition: dict[str, Any], code: str, pointer: str
) -> None:
    declared = SMALLEST | {"conditions": [{"id": "c", **condition}]}

    check(declared, (code, f"/conditions/0{pointer}"))
    check(with_step(when=condition), (code, f"/steps/0/when{pointer}"))
    check(with_part(ENDLESS | {"while": condition}), (code, f"/steps/0/while{pointer}"))


@every_case(
    ("rule", "code", "pointer"),
    [
        ({"type": "contain", "value": "x"}, "bad_value", "/type"),
        ({"value": "x"}, "missing_key", ""),
        ({"type": "contains"}, "missing_key", ""),
        ({"type": "contains", "value": 3}, "wrong_type", "/value"),
        ({"type": "regex", "pattern": "("}, "bad_pattern", "/pattern"),
        ({"type": "regex", "pattern": "(?=(a+)+)b"}, "bad_pattern", "/pattern"),
        ({"type": "regex", "pattern": "a" * 501}, "too_large", "/pattern"),
        ({"type": "regex", "pattern": "a", "flags": "g"}, "bad_value", "/flags"),
        ({"type": "regex", "pattern": "a", "flags": "ii"}, "bad_value", "/flags"),
        ({"type": "length"}, "missing_key", ""),
        ({"type": "length", "minimum": -1}, "bad_value", "/minimum"),
        ({"type": "length", "minimum": 9, "maximum": 3}, "bad_value", "/maximum"),
        ({"type": "length", "maximum": 65_537}, "too_large", "/maximum"),
        ({"type": "schema", "schema": []}, "wrong_type", "/schema"),
        ({"type": "schema", "schema": {"x": "y" * 16_384}}, "too_large", "/schema"),
        ({"type": "all", "of": []}, "bad_value", "/of"),
        ({"type": "any", "of": [{"type": "length", "minimum": "1"}]}, "wrong_type", "/of/0/minimum"),
    ],
)
def test_a_mistake_in_a_rule_is_named_with_its_place(rule: object, code: str, pointer: str) -> None:
    check(with_step(validation=[rule]), (code, f"/steps/0/validation/0{pointer}"))


@every_case(
    "document",
    [
        SMALLEST | {"name": "n" * 200},
        SMALLEST | {"description": "d" * 2_000},
        SMALLEST | {"version": "1" * 32},
        SMALLEST | {"steps": [STEP | {"id": f"s{n}"} for n in range(1_000)]},
        SMALLEST | {"inputs": {f"i{n}": {} for n in range(50)}},
        SMALLEST | {"inputs": {"a": {"enum": [1, True, "1"], "default": True}}},
        SMALLEST | {"inputs": {"a": {"type": "number", "default": 1.5}}},
        SMALLEST | {"inputs": {"a": {"type": "integer", "default": 2.0}}},
        SMALLEST | {"inputs": {"a": {"default": 2**53 - 1}}},
        SMALLEST | {"extra": {f"{n} " * 100: 2**53 + 1 for n in range(300)}},
        SMALLEST | {"conditions": [{"id": f"c{n}", "kind": "always_true"} for n in range(200)]},
        SMALLEST | {"references": [REFERENCE | {"id": "only"}], "assessments": [ASSESSMENT | {"id": "only"}]},
        with_step(id="s" * 64),
        with_step(title="t" * 200),
        with_step(prompt="p" * 32_768),
        with_step(prompt="é" * 16_384),
        with_step(output={"hints": ["short"]}),
        with_step(when=COMPARE | {"input": "report.verdict.level"}),
        with_step(when=without(COMPARE, "value") | {"op": "exists"}),
        with_step(when={"kind": "compare", "artifact": "wr.plan", "op": "exists", "value": False}),
        with_step(when=COMPARE | {"value": None}),
        with_step(when=COMPARE | {"op": "gt", "value": "b"}),
        with_step(validation=[{"type": "regex", "pattern": "a" * 500}]),
        with_step(validation=[{"type": "length", "minimum": 3, "maximum": 3}]),
        with_part(LOOP, id="another", count=1_000, maxIterations=1_000),
        with_part(CHOICE, options=[OPTION | {"id": f"o{n}"} for n in range(32)]),
        with_part(ACTION, title="Look"),
        with_part(CALL),
    ],
)
def test_what_just_fits_is_accepted(document: object) -> None:
    check_accepted(document)


@pytest.mark.parametrize(
    ("document", "pointer"),
    [
        (SMALLEST | {"inputs": {f"i{n}": {} for n in range(51)}}, "/inputs"),
        (
            SMALLEST | {"conditions": [{"id": f"c{n}", "kind": "always_true"} for n in range(201)]},
            "/conditions",
        ),
        (SMALLEST | {"steps": [STEP | {"id": f"s{n}"} for n in range(1_001)]}, "/steps"),
    ],
)
def test_one_more_than_the_limit_is_one_problem(document: object, pointer: str) -> None:
    check(document, ("too_large", pointer))


def nested(depth: int) -> dict[str, Any]:
    """A document with this many loops inside each other."""
    part = STEP
    for level in range(depth):
        part = LOOP | {"loopId": f"l{level}", "body": [part]}
    return with_part(part)


def test_loops_nest_eight_deep_and_no_deeper() -> None:
    check_accepted(nested(8))
    check(nested(9), ("too_large", "/steps/0" + "/body/0" * 8))


def test_parts_are_counted_across_loop_bodies() -> None:
    loops = [
        LOOP | {"loopId": f"l{n}", "body": [STEP | {"id": f"s{n}x{m}"} for m in range(99)]} for n in range(10)
    ]

    check_accepted(SMALLEST | {"steps": loops})
    check(SMALLEST | {"steps": [*loops, STEP]}, ("too_large", "/steps"))


@every_case(
    ("workflow_id", "is_allowed"),
    [
        ("project.bug_investigation", True),
        ("a.b", True),
        ("team-1.x_2-y", True),
        ("legacy-id", True),
        ("one.two.three", False),
        ("Project.x", False),
        ("project.", False),
        (".x", False),
        ("1project.x", False),
        ("project.1x", False),
        ("project.ünder", False),
        ("project.x\n", False),
        ("project x", False),
    ],
)
def test_a_workflow_id_is_namespace_dot_name(workflow_id: str, is_allowed: bool) -> None:
    document = SMALLEST | {"id": workflow_id}

    if is_allowed:
        check_accepted(document)
    else:
        check(document, ("bad_id", "/id"))


def test_steps_loops_and_conditions_share_one_set_of_ids() -> None:
    condition = {"id": "only", "kind": "always_true"}
    document = SMALLEST | {"conditions": [condition], "steps": [STEP, LOOP | {"loopId": "only"}]}

    check(
        document,
        ("duplicate_id", "/steps/0/id"),
        ("duplicate_id", "/steps/1/loopId"),
        ("duplicate_id", "/steps/1/body/0/id"),
    )
