"""A replacement names the calls that it can see and that its new parameters no longer take."""

from __future__ import annotations

from handrail_code.edit.plan import Plan
from tests.cases import every_case
from tests.code_tools.planning import plan_replace
from tests.code_tools.reading import found_with_mark

# By case: the file, its text with a mark before the name, the new text, and each call that no longer fits:
# its line and what is wrong.
Case = tuple[str, str, str, list[tuple[int, str]]]
FEW, MANY, KEYWORD = "too_few_arguments", "too_many_arguments", "missing_keyword"
JAVASCRIPT: dict[str, Case] = {
    "one parameter more": (
        "a.js",
        "function ^f(a){}\nf(1)\nf(1, 2)",
        "function f(a, b){}",
        [(2, FEW)],
    ),
    "one parameter less": ("a.js", "function ^f(a, b){}\nf(1)\nf(1, 2)", "function f(a){}", [(3, MANY)]),
    "a default": ("a.js", "function ^f(a){}\nf(1)", "function f(a, b = 1){}", []),
    "a default before what is needed": (
        "a.js",
        "function ^f(a){}\nf(1)",
        "function f(a = 1, b){}",
        [(2, FEW)],
    ),
    "rest": ("a.js", "function ^f(a){}\nf(1)\nf()", "function f(a, b, ...c){}", [(2, FEW), (3, FEW)]),
    "only rest": ("a.js", "function ^f(a){}\nf()\nf(1, 2, 3)", "function f(...c){}", []),
    "a pattern": ("a.js", "function ^f(){}\nf()\nf({})", "function f({b}){}", [(2, FEW)]),
    "a pattern with a default": ("a.js", "function ^f(){}\nf()", "function f({b} = {}){}", []),
    "what is spread is not counted": ("a.js", "function ^f(a){}\nf(...x)\nf(1, ...x)", "function f(){}", []),
    "comments are no arguments": (
        "a.js",
        "function ^f(a){}\nf(/* no */ 1)",
        "function f(a, /* */ b){}",
        [(2, FEW)],
    ),
    "a template calls it": ("a.js", "function ^f(a){}\nf`x`", "function f(){}", []),
    "it did not fit before": ("a.js", "function ^f(a){}\nf()", "function f(a, b = 1){}", []),
    "an arrow": ("a.js", "const ^f = a => a\nf(1)", "const f = (a, b) => a", [(2, FEW)]),
    "a function handed on": ("a.js", "function ^f(a){}\n[].map(f)\nf.call(x, 1)", "function f(a, b){}", []),
    "a call of itself goes": ("a.js", "function ^f(a){ f(a) }", "function f(a, b){ f(a, b) }", []),
    "a method": (
        "a.js",
        "class C { ^m(a){}\n g(){ this.m(1); this.m(1, 2) } }\nx.m()",
        "m(a, b){}",
        [(2, FEW)],
    ),
    "a class": (
        "a.js",
        "class ^C { constructor(a){} }\nnew C(1)\nnew C",
        "class C { constructor(){} }",
        [(2, MANY)],
    ),
    "a class without a constructor": ("a.js", "class ^C { constructor(a){} }\nnew C(1)", "class C {}", []),
}
TYPESCRIPT: dict[str, Case] = {
    "optional": ("a.ts", "function ^f(a: A){}\nf(1)", "function f(a: A, b?: B, c: C = 1){}", []),
    "needed": ("a.ts", "function ^f(a: A){}\nf<T>(1)", "function f(a: A, b: B){}", [(2, FEW)]),
    "the type of this": ("a.ts", "function ^f(a: A){}\nf(1)", "function f(this: T, a: B){}", []),
    "rest": ("a.ts", "function ^f(){}\nf(1)\nf()", "function f(a: A, ...b: B[]){}", [(3, FEW)]),
    "overloads": (
        "a.ts",
        "function f(a: A): void\nfunction f(a: A, b: B): void\nfunction ^f(a: A, b?: B){}\nf(1)",
        "function f(a: A, b: B){}",
        [],
    ),
    "a method of an annotated object": (
        "a.ts",
        "export class C { ^m(a: A){} }\nfunction g(c: C){ c.m(1); c!.m(2) }",
        "m(a: A, b: B){}",
        [(2, FEW)],
    ),
    "a property of the constructor": (
        "a.ts",
        "class ^C { constructor(private a: A){} }\nnew C(1)",
        "class C { constructor(private a: A, readonly b: B){} }",
        [(2, FEW)],
    ),
}
PYTHON: dict[str, Case] = {
    "one parameter more": ("a.py", "def ^f(a): pass\nf(1)\nf(1, 2)", "def f(a, b): pass", [(2, FEW)]),
    "one parameter less": ("a.py", "def ^f(a, b): pass\nf(1)\nf(1, 2)", "def f(a): pass", [(3, MANY)]),
    "defaults": ("a.py", "def ^f(a): pass\nf(1)", "def f(a, b=1, c: int = 2): pass", []),
    "rest": ("a.py", "def ^f(a): pass\nf(1)\nf()", "def f(a, *b: int, **c): pass", []),
    "rest needs the first": ("a.py", "def ^f(): pass\nf()\nf(1, 2)", "def f(a, *b): pass", [(2, FEW)]),
    "given by name": ("a.py", "def ^f(a, b=1): pass\nf(1, b=2)\nf(b=2, a=1)", "def f(a, b): pass", []),
    "a keyword is needed": (
        "a.py",
        "def ^f(a): pass\nf(1)\nf(1, b=2)",
        "def f(a, *, b): pass",
        [(2, KEYWORD)],
    ),
    "a keyword with a default": ("a.py", "def ^f(a): pass\nf(1)", "def f(a, *, b=1): pass", []),
    "not by name any more": ("a.py", "def ^f(a, **k): pass\nf(1, b=2)", "def f(a, b, /): pass", [(2, FEW)]),
    "twice": ("a.py", "def ^f(a, b=1): pass\nf(1, b=2)", "def f(b, a=1): pass", [(2, MANY)]),
    "stars are not counted": ("a.py", "def ^f(a): pass\nf(*x)\nf(1, **x)", "def f(a, b, c): pass", []),
    "a generator is one": ("a.py", "def ^f(a): pass\nf(x for x in y)", "def f(a, b): pass", [(2, FEW)]),
    "a method": (
        "a.py",
        "class C:\n    def ^m(self, a): pass\n    def g(self): self.m(1)\nx.m(1)",
        "def m(self, a, b): pass",
        [(3, FEW)],
    ),
    "a method of a class": (
        "a.py",
        "class C:\n    @classmethod\n    def ^m(cls, a): pass\n    def g(self): self.m(1)",
        "@classmethod\ndef m(cls, a, b): pass",
        [(4, FEW)],
    ),
    "a static method": (
        "a.py",
        "class C:\n    @staticmethod\n    def ^m(a): pass\n    def g(self): self.m(1)",
        "@staticmethod\ndef m(a): return 1",
        [],
    ),
    "a class": (
        "a.py",
        "class ^C:\n    def __init__(self, a): pass\nC(1)",
        "class C:\n    def __init__(self, a, b): pass",
        [(3, FEW)],
    ),
    "a decorator may change it": ("a.py", "@d\ndef ^f(a): pass\nf(1)", "@d\ndef f(a, b): pass", []),
}


@every_case(
    ("path", "text", "new", "misfits"), [*JAVASCRIPT.values(), *TYPESCRIPT.values(), *PYTHON.values()]
)
def test_calls_that_no_longer_fit_are_reasons(
    path: str, text: str, new: str, misfits: list[tuple[int, str]]
) -> None:
    project, found, plain = found_with_mark({path: text})

    plan = plan_replace(project, found, new)

    assert isinstance(plan, Plan), plan
    found_lines = [(plain[path].encode()[: one.start].count(b"\n") + 1, one.code) for one in plan.misfits]
    assert sorted(set(found_lines)) == misfits
    assert [(one.code, one.start) for one in plan.reasons] == [(one.code, one.start) for one in plan.misfits]


def test_calls_in_other_files_are_named_by_their_own_place() -> None:
    files = {
        "a.js": "export function ^f(a){}\n",
        "b.js": "import {f as g} from './a.js'\n\n  g(1)\n",
        "c.js": "import * as all from './a.js'\nall.f(1, 2)\nall.f()\n",
    }
    project, found, _ = found_with_mark(files)

    plan = plan_replace(project, found, "export function f(a, b){}")

    assert isinstance(plan, Plan), plan
    assert [(one.path, one.start, one.why) for one in plan.misfits] == [
        ("b.js", 33, "it gives no b"),
        ("c.js", 46, "it gives no a, b"),
    ]
