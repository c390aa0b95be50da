"""A rename to the end (`--public follow`), and one that goes on where a person has looked (`--not`)."""

from __future__ import annotations

import pytest

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.edit.rename import Answers
from handrail_code.operations.edit_plans import make_plan
from tests.cases import every_case
from tests.code_tools.planning import plan_rename, texts_after
from tests.code_tools.reading import found_with_mark, project_with_mark

Files = dict[str, str]
TO_THE_END: dict[str, tuple[Files, Files]] = {
    "an object of exports": (
        {"a.js": "function ^f(){}\nmodule.exports = {f}", "b.js": "const {f} = require('./a')\nf()"},
        {"a.js": "function g(){}\nmodule.exports = {g}", "b.js": "const {g} = require('./a')\ng()"},
    ),
    "a name of exports": (
        {"a.js": "function ^f(){}\nexports.f = f", "b.js": "require('./a').f()"},
        {"a.js": "function g(){}\nexports.g = g", "b.js": "require('./a').g()"},
    ),
    "a named barrel": (
        {
            "a.js": "export function ^f(){}",
            "b.js": "export {f} from './a'",
            "c.js": "import {f} from './b'\nf()",
        },
        {
            "a.js": "export function g(){}",
            "b.js": "export {g} from './a'",
            "c.js": "import {g} from './b'\ng()",
        },
    ),
    "a barrel of CommonJS": (
        {
            "a.js": "function ^f(){}\nmodule.exports = {f}",
            "b.js": "const {f} = require('./a')\nmodule.exports = {f}",
            "c.js": "require('./b').f()",
        },
        {
            "a.js": "function g(){}\nmodule.exports = {g}",
            "b.js": "const {g} = require('./a')\nmodule.exports = {g}",
            "c.js": "require('./b').g()",
        },
    ),
    "another name for others stays": (
        {"a.js": "function ^f(){}\nexports.h = f", "b.js": "require('./a').h()"},
        {"a.js": "function g(){}\nexports.h = g", "b.js": "require('./a').h()"},
    ),
}


@every_case(("before", "after"), TO_THE_END.values())
def test_public_name_changes_to_the_end_on_request(before: Files, after: Files) -> None:
    project, symbol, plain = project_with_mark(before)

    assert texts_after(project, plain, plan_rename(project, symbol, "g", "public")) == after


KEPT: dict[str, tuple[Files, str, str]] = {
    "an object of exports": ({"a.js": "function ^f(){}\nmodule.exports = {f}"}, "a.js:2:19", "follow"),
    "a named value in it": ({"a.js": "function ^f(){}\nmodule.exports = {f: f}"}, "a.js:2:19", "follow"),
    "a name of exports": ({"a.js": "function ^f(){}\nexports.f = f"}, "a.js:2:9", "follow"),
    "a clause": ({"a.js": "function ^f(){}\nexport {f}"}, "a.js:2:9", "follow"),
    "a name in quotes": ({"a.js": "function ^f(){}\nexport {f as 'f'}"}, "a.js:2:15", "follow"),
    "a named barrel": (
        {"a.js": "export function ^f(){}", "b.js": "export {f} from './a'"},
        "b.js:1:9",
        "follow",
    ),
    "a key of an object": ({"a.js": "function ^f(){}\nexport default {f}"}, "a.js:2:17", "key"),
    "a key that goes no further": ({"a.js": "function ^f(){}\nh({f})"}, "a.js:2:4", "key"),
}


@every_case(("files", "place", "why"), KEPT.values())
def test_a_rename_says_where_a_name_stays_and_why(files: Files, place: str, why: str) -> None:
    project, found, _ = found_with_mark(files)

    kept = make_plan(project, "rename", found, {"to": "g"}).note
    followed = make_plan(project, "rename", found, {"to": "g", "public": "follow"}).note

    assert f"f stays the name at {place}" in kept
    assert ("--public follow" in kept) is (why == "follow")
    assert (f"f stays the name at {place}" in followed) is (why == "key")
    assert "--public follow" not in followed


def test_a_public_name_that_is_taken_is_refused() -> None:
    project, symbol, _ = project_with_mark({"a.js": "function ^f(){}\nexports.f = f\nexports.g = 1"})

    refusal = plan_rename(project, symbol, "g", "public")

    assert isinstance(refusal, Refusal)
    assert refusal.code == "collision"


TWO = {"m.py": "def ^a(): pass\neval('x')\nvars()\nexec(y)"}


def test_one_refusal_names_every_place_to_look_at() -> None:
    project, symbol, _ = project_with_mark(TWO)

    refusal = plan_rename(project, symbol, "b")

    assert isinstance(refusal, Refusal)
    assert refusal.code == "dynamic"
    assert [place.rpartition(":")[0] for place in refusal.places] == ["m.py:2", "m.py:3", "m.py:4"]

    plan = plan_rename(project, symbol, "b", answers=Answers(leave=frozenset(refusal.places)))
    assert isinstance(plan, Plan), plan
    assert {one.code for one in plan.reasons} >= {"left_unproven"}


@pytest.mark.parametrize("place", ["m.py:9", "n.py:2", "m.py", ""])
def test_another_place_accepts_nothing(place: str) -> None:
    project, symbol, _ = project_with_mark(TWO)
    assert isinstance(plan_rename(project, symbol, "b", answers=Answers(leave=frozenset({place}))), Refusal)


def test_a_changed_meaning_cannot_be_accepted() -> None:
    project, symbol, _ = project_with_mark({"a.js": "const ^f = 1\nconst g = 2\nf"})
    places = frozenset({"a.js:1:7", "a.js:2:7", "a.js:3:1"})
    refusal = plan_rename(project, symbol, "g", answers=Answers(leave=places))
    assert isinstance(refusal, Refusal)


def test_a_name_that_is_taken_cannot_be_accepted() -> None:
    project, symbol, _ = project_with_mark({"a.js": "var ^f = 1", "b.js": "var g = 2"})
    refusal = plan_rename(project, symbol, "g", answers=Answers(leave=frozenset({"b.js:1:5"})))
    assert isinstance(refusal, Refusal)
    assert refusal.code == "collision"
