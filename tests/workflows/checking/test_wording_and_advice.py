"""Soft words, flags instead of evidence, budgets, recommendations, titles: told where it helps."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.workflows.checking.linter import find_soft_phrase
from handrail.workflows.compiled import Contract
from handrail.workflows.compiling.compilation import Surroundings
from tests.cases import every_case
from tests.workflows.checking.linted import linted, seen
from tests.workflows.compiling.written import choice, loop, step


@every_case(
    ("text", "expected"),
    [
        ("Run the tests if possible.", "if possible"),
        ("Fix what you find as appropriate.", "as appropriate"),
        ("Read the code. Try to find the cause. Stop.", "Try to"),
        ("Ideally, measure it.", "Ideally"),
        ("Feel free to skip this.", "Feel free"),
        ("Where feasible, add a test.", "Where feasible"),
        ("Try to find causes.\nName at least three.", "Try to"),
        ("Try to find the cause; name at least two candidates.", ""),
        ("If possible run it; otherwise say why not.", ""),
        ("Run 3 checks if possible.", ""),
        ('Remove words such as "if possible" and `try to`.', ""),
        ("Test every possible input.", ""),
        ("Trying to lock is wrong. Attempts to log in are counted.", ""),
        ("Say when appropriate signals came in.", "when appropriate"),
        ("Do it.", ""),
        ("", ""),
    ],
)
def test_a_soft_phrase_counts_where_its_sentence_has_no_floor(text: str, expected: str) -> None:
    assert find_soft_phrase(text) == expected


@every_case(
    ("part", "pointer"),
    [
        (step("a", "Try to do it."), "/steps/0"),
        (step("a", guidance=["Try to do it."]), "/steps/0"),
        (step("a", promptFragments=[{"text": "Try to do it."}]), "/steps/0"),
        ({"id": "a", "title": "A", "promptBlocks": {"verify": ["Try to do it."]}}, "/steps/0"),
        ({"id": "a", "title": "A", "promptBlocks": {"outputRequired": {"x": "Try to do it."}}}, "/steps/0"),
        (choice("a", prompt="Try to choose."), "/steps/0"),
        (loop("l", step("a", "Try to do it."), count=2), "/steps/0/body/0"),
    ],
)
def test_soft_words_are_found_in_every_text_of_an_author(part: dict[str, Any], pointer: str) -> None:
    assert seen(linted(part)) == [("warning", "soft_words", pointer)]


@pytest.mark.parametrize(
    ("text", "is_told"),
    [
        ("Do it.\n<!-- Ask Ann. -->", True),
        ("Write `<!-- -->` there.", False),
        ("~~~\n<!-- x -->\n~~~\nDo it.", False),
    ],
)
def test_a_comment_that_only_the_agent_reads_is_worth_a_warning(text: str, is_told: bool) -> None:
    assert seen(linted(step("a", text))) == [("warning", "bad_value", "/steps/0")] * is_told


def contains(value: str) -> dict[str, Any]:
    return {"type": "contains", "value": value, "message": "Say it."}


def regex(pattern: str) -> dict[str, Any]:
    return {"type": "regex", "pattern": pattern, "message": "Say it."}


FLAG_SCHEMA = {
    "type": "object",
    "properties": {"done": {"type": "boolean"}, "ok": {"const": True}},
    "required": ["done", "ok"],
}


@every_case(
    "rules",
    [
        [contains("complete = true")],
        [contains("Done")],
        [contains("status: done")],
        [contains("all tests passed")],
        [regex(r"\bcomplete\s*[:=]\s*true\b")],
        [contains("done"), contains("verified")],
        [contains("done"), {"type": "length", "minimum": 5, "message": "Write more."}],
        [{"type": "any", "of": [contains("done"), contains("src/main.py:12")]}],
        [{"type": "schema", "schema": FLAG_SCHEMA, "message": "Report."}],
    ],
)
def test_validation_that_a_bare_claim_passes_is_a_warning(rules: list[dict[str, Any]]) -> None:
    assert seen(linted(step("a", validation=rules))) == [
        ("warning", "flag_only_validation", "/steps/0/validation")
    ]


@every_case(
    "rules",
    [
        [contains("## Evidence")],
        [contains("done"), contains("exit code")],
        [regex(r"exit code \d+")],
        [{"type": "length", "minimum": 200, "message": "Write more."}],
        [{"type": "all", "of": [contains("done"), regex(r"\w+\.py:\d+")]}],
        [
            {
                "type": "schema",
                "schema": {
                    "type": "object",
                    "properties": {"command": {"type": "string"}},
                    "required": ["command"],
                },
                "message": "Report.",
            }
        ],
    ],
)
def test_validation_that_asks_for_evidence_is_left_alone(rules: list[dict[str, Any]]) -> None:
    assert linted(step("a", validation=rules)) == ()


def test_a_contract_that_asks_for_a_flag_only_is_a_warning() -> None:
    contract = Contract(
        artifact_kind="acme.done",
        schema={
            "type": "object",
            "properties": {"kind": {}, "done": {"type": "boolean"}},
            "required": ["done"],
        },
        example={"kind": "acme.done", "done": True},
        guidance="Say that it is done.",
    )

    problems = linted(
        step("a", output={"contractRef": "acme.contracts.done"}),
        around=Surroundings(contracts={"acme.contracts.done": contract}),
    )

    assert seen(problems) == [("warning", "flag_only_validation", "/steps/0/output")]


@pytest.mark.parametrize(
    ("capabilities", "features", "expected"),
    [
        ({"delegation": "preferred"}, [], [("hint", "missing_feature", "/capabilities/delegation")]),
        ({"delegation": "disabled"}, [], [("hint", "missing_feature", "/capabilities/delegation")]),
        ({"delegation": "required"}, [], []),
        ({"delegation": "preferred"}, ["wr.features.capabilities"], []),
    ],
)
def test_a_capability_that_no_prompt_mentions_is_a_hint(
    capabilities: dict[str, str], features: list[str], expected: list[tuple[str, str, str]]
) -> None:
    assert seen(linted(step("a"), capabilities=capabilities, features=features)) == expected


ASKS = step("a", userOnly={"reason": "needs_user_artifact"})
RISKY = choice("a", nonAssumable="irreversible_action")
TASTE = choice("a", nonAssumable="preference_tradeoff")


@every_case(
    ("part", "recommended", "pointers"),
    [
        (ASKS, {"autonomy": "full_auto_never_stop"}, ["/recommended/autonomy"]),
        (TASTE, {"autonomy": "full_auto_never_stop"}, ["/recommended/autonomy"]),
        (ASKS, {"autonomy": "full_auto_stop_on_user_deps"}, []),
        (step("a"), {"autonomy": "full_auto_never_stop"}, []),
        (RISKY, {"riskPolicy": "aggressive"}, ["/recommended/riskPolicy"]),
        (TASTE, {"riskPolicy": "aggressive"}, []),
        (RISKY, {"riskPolicy": "balanced"}, []),
    ],
)
def test_a_recommendation_that_the_steps_contradict_is_a_warning(
    part: dict[str, Any], recommended: dict[str, str], pointers: list[str]
) -> None:
    problems = linted(part, recommended=recommended)

    assert seen(problems) == [("warning", "bad_recommendation", pointer) for pointer in pointers]


OPTIONS = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]


@every_case(
    ("text", "codes"),
    [
        ("Look \u200b\u2066x\u2069.", "U+200B, U+2066, U+2069"),
        ("Look \u202e evil.", "U+202E"),
        ("Look \x00 here.", "U+0000"),
        ("Look.\x0cThen look.", "U+000C"),
        ("Say \N{SOFT HYPHEN}it, and \N{REPLACEMENT CHARACTER} too.", "U+00AD"),
    ],
)
def test_a_character_that_nobody_sees_is_a_warning(text: str, codes: str) -> None:
    asked = {"type": "choice", "id": "b", "title": text, "prompt": "Which?", "options": OPTIONS}
    first, second = linted(step("a", prompt=text), asked)

    assert (first.severity, first.pointer) == ("warning", "/steps/0")
    assert first.message == f"a has characters that nobody sees: {codes}."
    assert second.message == f"b has characters that nobody sees: {codes}."


@pytest.mark.parametrize("text", ["Très bien, 日本 ✔️ 👩‍💻 ok.", "A\tB\nC\r\nD \N{REPLACEMENT CHARACTER}"])
def test_what_is_seen_is_none(text: str) -> None:
    assert linted(step("a", prompt=text)) == ()


def test_delegating_step_contradicts_a_disabled_delegation() -> None:
    child = {"id": "one", "steps": [step("x")]}
    part = {"id": "hand", "title": "Hand", "delegate": {"children": [child]}}

    problems = linted(part, capabilities={"delegation": "disabled"})

    assert seen(problems) == [("warning", "bad_value", "/capabilities/delegation")]
