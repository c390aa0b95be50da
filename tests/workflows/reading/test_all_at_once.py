"""An author sees every mistake in one run: one problem each, at its line and column, with what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from handrail.workflows.reading.grammar import SHAPES
from handrail.workflows.reading.reader import read_workflow
from handrail.workflows.reading.shapes import Record
from tests.cases import every_case
from tests.workflows.reading.documents import (
    ACTION,
    CHOICE,
    COMPARE,
    EVERYTHING,
    LOOP,
    SMALLEST,
    STEP,
    everything,
    source,
    with_part,
    with_step,
    without,
)

TEN_MISTAKES = b"""{
  "id": "project.release",
  "name": "Release",
  "descripton": "From a green branch to a published version.",
  "inputs": {
    "size": { "type": "string", "enum": ["small", "large"], "default": "medium" },
    "first file": { "type": "string" }
  },
  "conditions": [
    { "id": "is_large", "kind": "compare", "input": "size", "op": "equal", "value": "large" }
  ],
  "steps": [
    { "id": "plan", "title": "Plan", "prompt": 7 },
    {
      "type": "loop", "loopId": "work", "while": "is_large",
      "maxIterations": 5000,
      "body": [
        { "id": "plan", "title": "Do", "prompt": "Do it." },
        { "id": "check", "prompt": "Check it.",
          "validation": [
            { "type": "regex", "pattern": "(?=(a+)+)b" }
          ] }
      ]
    },
    { "id": "Ship", "title": "Ship", "prompt": "Ship it." }
  ]
}
"""


def test_ten_mistakes_are_ten_problems_at_their_places() -> None:
    reading = read_workflow(TEN_MISTAKES)

    assert reading.workflow is None
    assert [(one.line, one.column, one.code, one.pointer) for one in reading.problems] == [
        (4, 3, "unknown_key", "/descripton"),
        (6, 72, "bad_value", "/inputs/size/default"),
        (7, 5, "bad_name", "/inputs/first file"),
        (10, 67, "bad_value", "/conditions/0/op"),
        (13, 48, "wrong_type", "/steps/0/prompt"),
        (16, 24, "too_large", "/steps/1/maxIterations"),
        (18, 17, "duplicate_id", "/steps/1/body/0/id"),
        (19, 9, "missing_key", "/steps/1/body/1"),
        (21, 43, "bad_pattern", "/steps/1/body/1/validation/0/pattern"),
        (25, 13, "bad_id", "/steps/2/id"),
    ]


def test_the_sentences_are_for_the_author() -> None:
    said = {one.pointer: (one.message, one.fix) for one in read_workflow(TEN_MISTAKES).problems}

    assert said["/descripton"] == ("The key descripton is not known here.", "Did you mean description?")
    assert said["/conditions/0/op"] == ("op cannot be equal.", "Did you mean equals?")
    assert said["/steps/0/prompt"] == ("prompt is a number, not a text.", 'Write "7".')
    assert said["/steps/1/body/0/id"] == (
        "The id plan is already used at line 13, column 13.",
        "Give each its own id, such as do here.",
    )
    assert said["/steps/1/body/1"] == ("title is missing.", 'Add "title": "Check".')
    assert said["/steps/1/maxIterations"] == (
        "maxIterations is not a whole number from 1 to 1000.",
        "Write a whole number from 1 to 1000.",
    )


def check_one(document: object, code: str, pointer: str, fix: str) -> None:
    """One mistake is one problem, and its fix names what was meant."""
    problems = read_workflow(source(document)).problems

    assert [(one.code, one.pointer, one.fix) for one in problems] == [(code, pointer, fix)]


@every_case(
    ("typo", "meant"),
    [("titel", "title"), ("promt", "prompt"), ("Id", "id"), ("ID", "id"), ("prompts", "prompt")],
)
def test_a_misspelt_key_is_not_missing_as_well(typo: str, meant: str) -> None:
    document = with_part(without(STEP, meant), **{typo: STEP[meant]})

    check_one(document, "unknown_key", f"/steps/0/{typo}", f"Did you mean {meant}?")


@every_case(
    ("change", "pointer", "meant"),
    [
        ({"when": without(COMPARE, "value") | {"valeu": 1}}, "/when/valeu", "value"),
        (
            {"when": {"kind": "compare", "artifact": "wr.plan", "feild": "a", "op": "equals", "value": 1}},
            "/when/feild",
            "field",
        ),
        ({"when": without(COMPARE, "input") | {"imput": "size"}}, "/when/imput", "input"),
        (
            {"userOnly": {"reason": "needs_user_choice", "choicekind": "scope_boundary"}},
            "/userOnly/choicekind",
            "choiceKind",
        ),
        ({"validation": [{"type": "length", "minimun": 3}]}, "/validation/0/minimun", "minimum"),
        ({"output": {"contractref": "wr.contracts.plan"}}, "/output/contractref", "contractRef"),
    ],
)
def test_misspelt_dependent_key_is_not_missing_as_well(
    change: dict[str, object], pointer: str, meant: str
) -> None:
    check_one(with_step(**change), "unknown_key", f"/steps/0{pointer}", f"Did you mean {meant}?")


FREE_NAMES = (
    *("inputs", "functions", "outputRequired", "dimensions", "followups"),
    *("args", "config", "params", "set", "schema", "extra"),
)


def keys_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every key of a document that the language knows, with the path of its holder."""
    if isinstance(value, dict):
        for key, member in value.items():
            if not path or path[-1] not in FREE_NAMES:
                yield path, key
            yield from keys_in(member, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from keys_in(item, (*path, index))


@pytest.mark.thorough
def test_any_key_misspelt_anywhere_is_one_problem_that_names_it() -> None:
    missed = []
    places = list(keys_in(EVERYTHING))
    for path, key in places:
        document = everything()
        holder: Any = document
        for part in path:
            holder = holder[part]
        holder[key + key[-1]] = holder.pop(key)
        problems = read_workflow(source(document)).problems
        if [(one.code, one.fix) for one in problems] != [("unknown_key", f"Did you mean {key}?")]:
            missed.append((path, key))

    assert len(places) > 150
    assert missed == []


def test_a_misspelt_key_beside_the_right_one_still_gets_a_name() -> None:
    fix = "title is already there: keep the value that you mean under title."

    check_one(with_step(titel="x"), "unknown_key", "/steps/0/titel", fix)


def test_a_key_that_resembles_none_gets_the_list() -> None:
    check_one(
        SMALLEST | {"features": [{"id": "wr.features.x", "zzzzzzzzzzzz": 1}]},
        "unknown_key",
        "/features/0/zzzzzzzzzzzz",
        "Remove it, or move it under extra of the workflow; known keys: id, config.",
    )


@pytest.mark.parametrize(
    ("part", "fix"),
    [
        (without(LOOP, "type"), 'Add "type": "loop".'),
        (without(CHOICE, "type"), 'Add "type": "choice".'),
        (without(ACTION, "type"), 'Add "type": "action".'),
        ({"templateId": "wr.templates.x", "args": {}}, 'Add "type": "template_call".'),
    ],
)
def test_a_forgotten_type_is_one_problem_that_names_it(part: dict[str, object], fix: str) -> None:
    check_one(with_part(part), "missing_key", "/steps/0", fix)


def test_a_forgotten_kind_is_one_problem_that_names_it() -> None:
    check_one(
        with_step(when=without(COMPARE, "kind")), "missing_key", "/steps/0/when", 'Add "kind": "compare".'
    )


def test_a_misspelt_type_key_still_says_what_is_meant() -> None:
    part = without(LOOP, "type") | {"typ": "loop"}

    check_one(with_part(part), "unknown_key", "/steps/0/typ", "Did you mean type?")


def test_a_part_with_a_misspelt_type_is_read_as_what_was_meant() -> None:
    problems = read_workflow(source(with_part(LOOP, type="lop", maxIterations=0))).problems

    assert [(one.code, one.pointer) for one in problems] == [
        ("bad_value", "/steps/0/type"),
        ("bad_value", "/steps/0/maxIterations"),
    ]


def test_a_type_that_resembles_none_is_not_looked_into() -> None:
    fix = "Write one of step, loop, template_call, choice, action."

    check_one(with_part({"type": "subroutine", "x": 1}), "bad_value", "/steps/0/type", fix)


def test_a_word_too_short_to_be_sure_of_is_not_taken_for_another() -> None:
    check_one(with_step(ty="loop"), "unknown_key", "/steps/0/ty", "Did you mean type?")
    check_one(with_part({"type": "lo"}), "bad_value", "/steps/0/type", "Did you mean loop?")


def test_a_misspelt_way_to_repeat_is_not_missing_as_well() -> None:
    part = without(LOOP, "count") | {"whlie": "is_large"}

    check_one(with_part(part), "unknown_key", "/steps/0/whlie", "Did you mean while?")


def test_words_of_the_author_are_quoted_when_they_are_not_plain() -> None:
    (problem,) = read_workflow(source(SMALLEST | {"kind": "work\u202eflow\n!"})).problems

    assert problem.message == 'kind cannot be "work\ufffdflow !".'


@pytest.mark.thorough
def test_problems_beyond_the_limit_are_counted_out() -> None:
    many = SMALLEST | {f"unknown key {n}": n for n in range(1_000)}

    problems = read_workflow(source(many)).problems

    assert len(problems) == 201
    (last,) = [one for one in problems if one.code == "too_many_problems"]
    assert last.fix == "Correct the listed ones and check the file again."


OF_OTHER_DOCUMENTS = {
    "customisation": "extends add fill contracts append prepend replace skip after before step demand slot",
    "work that is handed out": "delegate child children collect needs atLeast brief workflow by",
    "the neighbouring dialect": "countedBy lenient",
    "proofs and required outputs": "proof wants base requires irreversible",
    "inputs and rules that differ from those here": "fromGoal implicit maximum evidence check",
}
"""Keys of the language that `EVERYTHING` does not hold, by what they belong to."""
SAYS_THE_DEFAULT = {"$schema", "continueWhen", "type"}


@pytest.mark.thorough
def test_every_key_is_tried_and_reaches_the_model() -> None:
    """A row of the grammar that nobody builds into the model would be read, and do nothing."""
    tried = {key for _, key in keys_in(EVERYTHING)}
    elsewhere = {key for keys in OF_OTHER_DOCUMENTS.values() for key in keys.split()}
    known = {key for shape in SHAPES.values() if isinstance(shape, Record) for key in shape.keys}
    assert sorted(known - tried - elsewhere) == []

    whole = read_workflow(source(EVERYTHING)).workflow
    silent = set()
    for path, key in keys_in(EVERYTHING):
        changed = everything()
        holder: Any = changed
        for name in path:
            holder = holder[name]
        del holder[key]
        silent |= {key} if read_workflow(source(changed)).workflow == whole else set()
    assert silent <= SAYS_THE_DEFAULT
