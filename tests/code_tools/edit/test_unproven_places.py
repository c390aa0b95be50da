"""A rename with unproven places: one refusal lists them, and each is answered by itself or all by a token."""

from __future__ import annotations

import pytest

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.edit.rename import Answers
from tests.cases import every_case
from tests.code_tools.planning import plan_member_rename, plan_rename, texts_after
from tests.code_tools.reading import found_with_mark, project_with_mark

Files = dict[str, str]
THREE: Files = {
    "a.js": "class C { ^f(){}\n g(){ this.f() } }\nx.f()\n",
    "b.js": "const {f} = x\ny['f']()\n",
}
PLACES = ("a.js:3:3", "b.js:1:8", "b.js:2:4")
"""By counting in THREE."""
LEFT = {"a.js": "class C { z(){}\n g(){ this.z() } }\nx.f()\n", "b.js": "const {f} = x\ny['f']()\n"}


def answer(also: str = "", leave: str = "", accept: str = "") -> Answers:
    return Answers(also=frozenset(also.split()), leave=frozenset(leave.split()), accept=accept)


def refuse(answers: Answers, files: Files = THREE) -> Refusal:
    project, found, _ = found_with_mark(files)
    refusal = plan_member_rename(project, found, "z", answers)
    assert isinstance(refusal, Refusal), refusal
    return refusal


def test_one_refusal_lists_every_unproven_place() -> None:
    refusal = refuse(answer())

    assert (refusal.code, refusal.places) == ("dynamic", PLACES)


MIXED: dict[str, tuple[Answers, Files]] = {
    "one of each, and a key keeps its variable": (
        answer(also="a.js:3:3 b.js:1:8", leave="b.js:2:4"),
        {**LEFT, "a.js": LEFT["a.js"].replace("x.f", "x.z"), "b.js": "const {z: f} = x\ny['f']()\n"},
    ),
    "a text": (
        answer(also="b.js:2:4", leave="a.js:3:3 b.js:1:8"),
        {**LEFT, "b.js": "const {f} = x\ny['z']()\n"},
    ),
    "every place is left": (answer(leave=" ".join(PLACES)), LEFT),
}


@every_case(("answers", "after"), MIXED.values())
def test_each_place_becomes_what_its_answer_says(answers: Answers, after: Files) -> None:
    project, found, plain = found_with_mark(THREE)

    plan = plan_member_rename(project, found, "z", answers)

    assert texts_after(project, plain, plan) == after
    assert isinstance(plan, Plan)
    decided = {one.code for one in plan.reasons}
    assert ("renamed_unproven" in decided, "left_unproven" in decided) == (bool(answers.also), True)
    edited = {(edit.path, edit.start) for edit in plan.edits}
    assert not edited & {(one.path, one.start) for one in plan.untouched}


def test_the_token_of_a_list_leaves_what_has_no_answer() -> None:
    project, found, plain = found_with_mark(THREE)
    token = refuse(answer(also="a.js:3:3")).token

    plan = plan_member_rename(project, found, "z", answer(also="a.js:3:3", accept=token))
    whole = plan_member_rename(project, found, "z", answer(accept=token))

    renamed = {**LEFT, "a.js": LEFT["a.js"].replace("x.f", "x.z")}
    assert texts_after(project, plain, plan) == renamed
    assert texts_after(project, plain, whole) == LEFT


def test_some_answers_leave_a_list_of_the_others() -> None:
    refusal = refuse(answer(also="a.js:3:3"))

    assert (refusal.code, refusal.places) == ("dynamic", PLACES[1:])


@pytest.mark.parametrize("place", ["a.js:1:11", "a.js:3", "a.js:3:4", "c.js:1:1", ""])
def test_an_unknown_place_is_refused_with_the_list(place: str) -> None:
    refusal = refuse(Answers(leave=frozenset({*PLACES, place})))

    assert (refusal.code, refusal.places) == ("unknown_place", PLACES)
    assert place in refusal.message


def test_a_stale_place_or_token_is_refused_with_the_list() -> None:
    token = refuse(answer()).token
    changed = {**THREE, "a.js": "\n" + THREE["a.js"]}
    now = ("a.js:4:3", "b.js:1:8", "b.js:2:4")

    by_place = refuse(answer(leave=" ".join(PLACES)), changed)
    by_token = refuse(answer(accept=token), changed)
    same_places = refuse(answer(accept=token), {**THREE, "b.js": THREE["b.js"].replace("y", "w")})

    assert (by_place.code, by_place.places) == ("unknown_place", now)
    assert (by_token.code, by_token.places) == ("unknown_place", now)
    assert (same_places.code, same_places.places) == ("unknown_place", PLACES)


def test_a_place_with_two_answers_is_refused() -> None:
    refusal = refuse(answer(also="a.js:3:3", leave=" ".join(PLACES)))

    assert (refusal.code, refusal.places) == ("two_answers", PLACES)


def test_a_proven_rename_takes_no_answers() -> None:
    project, symbol, _ = project_with_mark({"a.js": "const ^f = 1\nf"})

    refusal = plan_rename(project, symbol, "z", answers=answer(leave="a.js:2:1"))

    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.places) == ("unknown_place", ())


WITH: dict[str, tuple[Answers, str]] = {
    "renamed too": (answer(also="a.js:2:12"), "function z(){}\nwith (o) { z() }\nz()"),
    "left": (answer(leave="a.js:2:12"), "function z(){}\nwith (o) { f() }\nz()"),
}


@every_case(("answers", "after"), WITH.values())
def test_a_name_inside_with_has_both_answers(answers: Answers, after: str) -> None:
    files = {"a.js": "function ^f(){}\nwith (o) { f() }\nf()", "b.mjs": "import './a.js'"}
    project, symbol, plain = project_with_mark(files)

    plan = plan_rename(project, symbol, "z", answers=answers)

    assert texts_after(project, plain, plan) == {**plain, "a.js": after}


def test_a_keyword_of_an_unknown_call_can_be_renamed_too() -> None:
    files = {"m.py": "def g(^a):\n    return a\nh = g\nh(a=1)\ng(a=2)\n"}
    project, symbol, plain = project_with_mark(files)
    refusal = plan_rename(project, symbol, "b")
    assert isinstance(refusal, Refusal)
    assert refusal.places == ("m.py:4:3",)

    plan = plan_rename(project, symbol, "b", answers=answer(also="m.py:4:3"))

    assert texts_after(project, plain, plan) == {"m.py": "def g(b):\n    return b\nh = g\nh(b=1)\ng(b=2)\n"}


def test_a_place_without_the_name_can_only_be_left() -> None:
    files = {"m.py": "def ^f():\n    pass\nexec(x)\n"}
    project, symbol, plain = project_with_mark(files)
    listed = plan_rename(project, symbol, "g")
    assert isinstance(listed, Refusal)
    (place,) = listed.places

    refusal = plan_rename(project, symbol, "g", answers=answer(also=place))
    plan = plan_rename(project, symbol, "g", answers=answer(leave=place))

    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.places) == ("unknown_place", (place,))
    assert texts_after(project, plain, plan) == {"m.py": "def g():\n    pass\nexec(x)\n"}
