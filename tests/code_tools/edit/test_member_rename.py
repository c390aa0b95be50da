"""A rename of a member of a class: what is proven changes, and no place that may mean it is passed over."""

from __future__ import annotations

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.edit.rename import Answers
from handrail_code.scan.callers import trace_callers
from tests.cases import every_case
from tests.code_tools.planning import plan_member_rename, texts_after
from tests.code_tools.reading import found_with_mark

Files = dict[str, str]
PROVEN: dict[str, tuple[Files, Files]] = {
    "this in methods, arrows, fields and accessors": (
        {"a.js": "class C { ^f(){}\n g = () => this.f();\n get h(){ return [1].map(() => this.f()) } }"},
        {"a.js": "class C { z(){}\n g = () => this.z();\n get h(){ return [1].map(() => this.z()) } }"},
    ),
    "a getter and its setter": (
        {"a.js": "class C { get ^f(){ return 1 }\n set f(v){}\n g(){ this.f = this.f + 1 } }"},
        {"a.js": "class C { get z(){ return 1 }\n set z(v){}\n g(){ this.z = this.z + 1 } }"},
    ),
    "private, beside members of others that are spelled so": (
        {
            "a.ts": "export class C extends B { private ^f = 1\n g(that: C){ return that.f + this.f } }",
            "b.ts": "export const o = {f: 1}\no.f",
        },
        {
            "a.ts": "export class C extends B { private z = 1\n g(that: C){ return that.z + this.z } }",
            "b.ts": "export const o = {f: 1}\no.f",
        },
    ),
    "static, by the name of the class in another file": (
        {
            "a.ts": "export class C { static ^f(){} }",
            "b.ts": "import {C as D} from './a'\nD.f()",
        },
        {
            "a.ts": "export class C { static z(){} }",
            "b.ts": "import {C as D} from './a'\nD.z()",
        },
    ),
    "annotated receivers, and what new makes": (
        {
            "a.ts": "export class C { ^f(){} }",
            "b.ts": "import {C} from './a'\nfunction g(c: C){ c.f() }\nconst d = new C(1);\nd.f()",
        },
        {
            "a.ts": "export class C { z(){} }",
            "b.ts": "import {C} from './a'\nfunction g(c: C){ c.z() }\nconst d = new C(1);\nd.z()",
        },
    ),
    "another class has its own": (
        {"a.js": "class C { ^f(){}\n g(){ this.f() } }\nclass D { f(){}\n g(){ this.f() } }"},
        {"a.js": "class C { z(){}\n g(){ this.z() } }\nclass D { f(){}\n g(){ this.f() } }"},
    ),
}
NOT_PROVEN: dict[str, tuple[Files, str]] = {
    "an unknown object": ({"a.js": "class C { ^f(){} }\nx.f()"}, "dynamic"),
    "this of a function": ({"a.js": "class C { ^f(){}\n g(){ return function(){ this.f() } } }"}, "dynamic"),
    "this of an object": ({"a.js": "class C { ^f(){}\n g(){ return {h(){ this.f() }} } }"}, "dynamic"),
    "this of a static method": ({"a.js": "class C { ^f(){}\n static g(){ this.f() } }"}, "dynamic"),
    "this that is declared to be another": (
        {"a.ts": "class C { ^f(){}\n g(this: D){ this.f() } }"},
        "dynamic",
    ),
    "this before the class": (
        {"a.js": "class C { ^f(){} }\nfunction m(){ class D { [this.f](){} } }"},
        "dynamic",
    ),
    "a union": ({"a.ts": "class C { ^f(){} }\nfunction g(c: C | D){ c.f() }"}, "dynamic"),
    "a list": ({"a.ts": "class C { ^f(){} }\nfunction g(c: C[]){ c.f() }"}, "dynamic"),
    "made and called": ({"a.js": "class C { ^f(){} }\nconst c = new C().g();\nc.f()"}, "dynamic"),
    "made and changed": ({"a.js": "class C { ^f(){} }\nlet c = new C();\nc.f()"}, "dynamic"),
    "a pattern": ({"a.js": "class C { ^f(){} }\nconst {f} = x"}, "dynamic"),
    "a quoted name": ({"a.js": "class C { ^f(){} }\nObject.defineProperty(C.prototype, 'f', {})"}, "dynamic"),
    "an interface": ({"a.ts": "class C { ^f(){} }\ninterface I { f(): void }"}, "dynamic"),
    "a subclass": ({"a.js": "class C { ^f(){} }\nclass D extends C { f(){} }"}, "dynamic"),
    "the class in its declaration file": (
        {"a.js": "export class C { ^f(){} }", "a.d.ts": "export class C { f(): void }"},
        "dynamic",
    ),
    "private, and read by a quoted name": ({"a.ts": "class C { private ^f = 1 }\nx['f']"}, "dynamic"),
    "private, and of another inside": ({"a.ts": "class C { private ^f = 1\n g(x){ x.f } }"}, "dynamic"),
    "a base": ({"a.js": "class C extends B { ^f(){} }"}, "member"),
    "a member of an object": ({"a.js": "const o = { ^f(){} }"}, "member"),
    "a class without a name": ({"a.js": "export default class { ^f(){} }"}, "member"),
    "the constructor": ({"a.js": "class C { ^constructor(){} }"}, "member"),
    "the new name is taken": ({"a.js": "class C { ^f(){}\n z(){} }"}, "collision"),
    "the new name is an heir's": ({"a.ts": "class C { ^f(){} }\nclass D extends C { z(){} }"}, "collision"),
}


@every_case(("before", "after"), PROVEN.values())
def test_a_member_changes_wherever_its_class_is_proven(before: Files, after: Files) -> None:
    project, found, plain = found_with_mark(before)

    assert texts_after(project, plain, plan_member_rename(project, found, "z")) == after


@every_case(("files", "code"), NOT_PROVEN.values())
def test_member_that_may_be_anothers_is_refused_by_place(files: Files, code: str) -> None:
    project, found, _ = found_with_mark(files)

    refusal = plan_member_rename(project, found, "z")

    assert isinstance(refusal, Refusal), refusal
    assert (refusal.code, bool(refusal.path)) == (code, True), refusal


def test_a_place_that_somebody_leaves_stays_and_is_listed() -> None:
    project, found, _ = found_with_mark({"a.js": "class C { ^f(){}\n g(){ this.f() } }\nx.f()"})

    plan = plan_member_rename(project, found, "z", Answers(leave=frozenset({"a.js:3:3"})))

    assert isinstance(plan, Plan), plan
    assert [edit.start for edit in plan.edits] == [10, 27]
    assert [each.start for each in plan.untouched] == [37]
    assert plan.reasons[0].code == "left_unproven"


def test_only_private_members_are_said_to_be_complete() -> None:
    said = {}
    for text in ("private ^f(){}", "^f(){}", "private ^f(){ return this[x] }"):
        project, found, _ = found_with_mark({"a.ts": f"class C {{ {text}\n g(){{ this.f() }} }}"})
        plan = plan_member_rename(project, found, "z")
        assert isinstance(plan, Plan), plan
        told = trace_callers(project, found, 1)
        assert [node.name for node in told.nodes] == ["g"]
        said[text] = (not plan.reasons, [one.code for one in told.troubles])

    assert said == {
        "private ^f(){}": (True, []),
        "^f(){}": (False, ["unproven_member"]),
        "private ^f(){ return this[x] }": (False, ["computed_member"]),
    }


def test_private_member_perhaps_read_elsewhere_is_incomplete() -> None:
    project, found, _ = found_with_mark(
        {"a.ts": "export class C { private ^f(){}\n g(){ this.f() } }", "b.ts": "(c as any).f()"}
    )

    plan = plan_member_rename(project, found, "z")

    assert isinstance(plan, Plan)
    assert [one.code for one in plan.reasons] == ["unproven_member"]
