"""What a rename leaves in comments is listed, all of it."""

from __future__ import annotations

import pytest

from handrail_code.edit.plan import Plan
from tests.code_tools.planning import plan_member_rename, plan_rename
from tests.code_tools.reading import found_with_mark, project_with_mark

TYPES_IN_COMMENTS = {
    "a function": "/** @type {a} */ let x; function ^a() {} module.exports = x",
    "a constant": "/** @type {a} */ let x; const ^a = class {}; module.exports = x",
    "before its namespace": "/** @type {a.c} */ let x; const ^a = {}; module.exports = x",
    "the inner of two": "(function () { /** @type {a} */ let x; function ^a() {} })(); var a; export {a}",
    "the outer of two": "(function () { /** @type {a} */ let x; function a() {} })(); var ^a; export {a}",
    "beside a class": "class ^a {} (function () { /** @type {a} */ let x; let a })(); export {x}",
}


@pytest.mark.parametrize("text", TYPES_IN_COMMENTS.values(), ids=TYPES_IN_COMMENTS)
def test_a_type_in_a_comment_that_may_be_this_value_is_listed(text: str) -> None:
    project, symbol, plain = project_with_mark({"m.js": text})
    plan = plan_rename(project, symbol, "b")
    assert isinstance(plan, Plan)

    at = plain["m.js"].index("{a") + 1
    assert at not in [each.start for each in plan.edits]
    assert at in [each.start for each in plan.untouched]


def test_every_mention_is_listed_however_many_there_are() -> None:
    project, symbol, _ = project_with_mark({"m.js": "let ^a;" + " // a\n" * 1000})
    plan = plan_rename(project, symbol, "b")
    assert isinstance(plan, Plan)

    assert len(plan.untouched) == 1000


def test_a_member_in_a_comment_is_listed() -> None:
    text = "/** See {@link C#f} and (f). */\nclass C { ^f() {} g() { this.f() } }\n"
    project, found, plain = found_with_mark({"m.js": text})
    plan = plan_member_rename(project, found, "b")
    assert isinstance(plan, Plan), plan

    assert [plain["m.js"][: each.start][-1] for each in plan.untouched] == ["#", "("]
    assert len(plan.edits) == 2
