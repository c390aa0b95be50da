"""Who calls a definition: what is known, what is unsure with its place, and never a silent "nobody"."""

from __future__ import annotations

import pytest

from handrail_code.facts.spelled_names import Trouble
from handrail_code.scan.callers import TraceAnswer, find_callers, find_uses, trace_callers
from handrail_code.scan.outline import ModuleGraph, ripple
from handrail_code.scan.search import search
from tests.cases import every_case
from tests.code_tools.reading import found_with_mark, project_of

Files = dict[str, str]
CALLING: dict[str, tuple[Files, list[str]]] = {
    "JavaScript": (
        {
            "a.js": "export function ^f() { return 1 }\n"
            "export function mid() { const r = f(); return r }\n"
            "const arrow = () => { const q = f(); return q }\n"
            "class A { field = f(); m() { const z = f(); return z } held = () => f() }\n"
            "const o = { b() { return f() }, c: () => f() }\n"
            "const top = f()\n",
            "b.js": "import { mid } from './a'\nfunction outer() { const [p = mid()] = []; return p }\n",
        },
        ["", "A", "arrow", "b", "c", "held", "m", "mid", "outer"],
    ),
    "Python": (
        {
            "a.py": "def ^f(): return 1\n"
            "def mid():\n    r = f()\n    return r\n"
            "held = lambda: f()\n"
            "TOP = f()\n"
            "class A:\n    x = f()\n"
            "    def m(self):\n        y = [mid() for _ in range(3)]\n        return y\n",
        },
        ["", "A", "held", "m", "mid"],
    ),
}
"""Which functions, methods, classes and modules call, by TypeScript's call hierarchy and by reading."""
UNSURE: dict[str, Files] = {
    "an argument": {"a.js": "function ^f(){}\nsetTimeout(<f>)"},
    "a value in an object": {"a.js": "function ^f(){}\nmodule.exports = {h: {run: <f>}}"},
    "a shorthand": {"a.js": "function ^f(){}\nregister({<f>})"},
    "an element": {"a.js": "const ^f = () => 1\nexport const all = [<f>]"},
    "another name": {"a.js": "function ^f(){}\nlet g = <f>\ng()"},
    "an imported value": {
        "a.js": "export function ^f(){}",
        "b.js": "import {f} from './a'\nx.on('y', <f>)",
    },
    "a member of a module": {
        "a.js": "export function ^f(){}",
        "b.js": "import * as a from './a'\nx.on('y', a.<f>)",
    },
    "a method of the function": {"a.js": "function ^f(){}\n<f>.call(x)"},
    "a class that is extended": {"a.js": "class ^C {}\nclass D extends <C> {}"},
    "a decorated class": {"a.ts": "@Injectable()\nclass ^<C> {}"},
    "Python: an argument": {"a.py": "def ^f(): pass\nmap(<f>, x)"},
    "Python: a decorator": {"a.py": "def ^f(g): pass\n@<f>\ndef h(): pass"},
    "Python: a decorated function": {"a.py": "@app.route('/')\ndef ^<f>(): pass"},
    "CommonJS: a member handed on": {
        "a.js": "function ^f(){}\nexports.f = f",
        "b.js": "exports.f = require('./a').<f>",
        "c.js": "require('./b').f()",
    },
    "CommonJS: a name of the exports": {
        "a.js": "function ^f(){}\nvar api = module.exports = {}\napi.f = <f>"
    },
    "CommonJS: defineProperty": {
        "a.js": "function ^f(){}\nObject.defineProperty(exports, 'f', {value: <f>})"
    },
    "CommonJS: a getter": {"a.js": "function ^f(){}\nmodule.exports = {get f() { return <f> }}"},
    "a factory": {
        "a.js": "(function (make) { module.exports = make() })(() => { function ^f(){}\nreturn {<f>} })"
    },
    "a name inside of an expression": {"a.js": "const g = function ^<f>(){}\ng()"},
    "a class with a name of its own": {"a.js": "const D = class ^<C> {}\nnew D()"},
    "a variable that is an export as well": {
        "a.js": "const ^<f> = exports.f = () => 1",
        "b.js": "require('./a').f()",
    },
    "a variable that is the module as well": {
        "a.js": "const ^<f> = (module.exports = () => 1)",
        "b.js": "require('./a')()",
    },
    "an exported variable that is a member as well": {
        "a.js": "export const ^<f> = x.g = () => 1",
        "b.js": "x.g()",
    },
    "one of several that are assigned": {"a.js": "let ^f\nx.g = <f> = () => 1"},
    "assigned inside of an expression": {"a.js": "let ^f\ng((<f> = () => 1))"},
    "Python: one of several": {"a.py": "^<f> = g = lambda: 1\ng()"},
    "Python: the last of several": {"a.py": "x.g = ^<f> = lambda: 1"},
    "Python: assigned inside of an expression": {"a.py": "map((^<f> := lambda: 1), x)"},
    "a pattern": {"a.js": "export function ^f(){}", "b.js": "import * as a from './a'\nconst {<f>: g} = a"},
    "CommonJS: a pattern": {
        "a.js": "exports.f = f\nfunction ^f(){}",
        "b.js": "const a = require('./a')\nconst {<f>} = a\nf()",
    },
    "a method": {"a.js": "class C { ^m(){} }\nnew C().<m>()"},
    "a method as a value": {"a.js": "class C { ^m(){} }\nx.on('y', new C().<m>)"},
    "a getter": {"a.js": "class C { get ^m(){} }\nnew C().<m>"},
    "Python: a method": {"a.py": "class C:\n    def ^m(self): pass\nC().<m>()"},
    "Python: a property": {"a.py": "class C:\n    @property\n    def ^m(self): pass\nC().<m>"},
    "Python: a method by name": {"a.py": "class C:\n    def ^m(self): pass\ngetattr(C(), '<m>')()"},
}
REACHED: dict[str, Files] = {
    "the CommonJS module": {"a.js": "function ^f(){}\nexports.f = f\ng(<module>)"},
    "`exports` in an object": {"a.js": "function ^f(){}\nexports.f = f\ng({<exports>})"},
    "`this` of a CommonJS module": {"a.js": "function ^f(){}\nexports.f = f\ng(<this>)"},
    "a member of that": {"a.js": "function ^f(){}\nexports.f = f\n<this>.f()"},
    "an export that is a variable as well": {"a.js": "const g = <exports>.^f = () => 1\ng()"},
    "all exports in a variable": {"a.js": "function ^f(){}\nconst g = <module>.exports = {f}\ng.f()"},
    "a method of what is exported": {"a.js": "export function ^f(){}\nexport function g() { this.<f>() }"},
    "a default that is a module": {
        "a.cjs": "function ^f(){}\nexports.f = f",
        "b.js": "import * as a from './a.cjs'\na.<default>.f()",
    },
    "a re-exported default that is a module": {
        "a.cjs": "function ^f(){}\nmodule.exports = f",
        "b.js": "<export {default as g} from './a.cjs'",
        "c.js": "import {g} from './b'\ng()",
    },
    "a module by name": {
        "a.js": "export function ^f(){}",
        "b.js": "export * as a from './a'",
        "c.js": "import {a} from './b'\nconst g = <a>\ng.f()",
    },
    "a module that holds it by name": {
        "a.js": "export function ^f(){}",
        "b.js": "export * as a from './a'",
        "c.js": "import * as b from './b'\nconst g = <b>\ng.a.f()",
    },
    "modules that hold each other": {
        "a.js": "export function ^f(){}\nexport * as b from './b'",
        "b.js": "export * as a from './a'",
        "c.js": "import * as b from './b'\nconst g = <b>\ng.a.f()",
    },
    "a module as a default": {
        "a.js": "export function ^f(){}",
        "b.js": "export * as default from './a'",
        "c.js": "import a from './b'\nconst g = <a>\ng.f()",
    },
    "Python: the package of the module": {
        "p/__init__.py": "",
        "p/a.py": "def ^f(): pass",
        "b.py": "import p.a\nq = <p>\nq.a.f()",
    },
    "Python: the package as an argument": {
        "p/__init__.py": "from p import a",
        "p/a.py": "def ^f(): pass",
        "b.py": "import p\ng(<p>)",
    },
    "Python: the dictionary of a module": {
        "a.py": "def ^f(): pass",
        "b.py": "import a\na.<__dict__>['f']()",
    },
    "Python: the same by a call": {"a.py": "def ^f(): pass", "b.py": "import a\nvars(<a>)['f']()"},
    "Python: a name in a class": {
        "a.py": "def ^f(): pass",
        "b.py": "class C:\n    <from a import f\nC.f()",
    },
    "Python: a module in a class": {
        "a.py": "def ^f(): pass",
        "b.py": "class C:\n    <import a\nC.a.f()",
    },
}
KNOWN: dict[str, Files] = {
    "exports.f": {"a.js": "function ^f(){}\nexports.f = f", "b.js": "require('./a').<f>()"},
    "an object": {
        "a.js": "function ^f(){}\nmodule.exports = {f}",
        "b.js": "const {f} = require('./a')\n<f>()",
    },
    "a key": {"a.js": "function ^f(){}\nmodule.exports = {g: f}", "b.js": "require('./a').<g>()"},
    "a module as a default": {
        "a.js": "export function ^f(){}",
        "b.js": "export * as default from './a'",
        "c.js": "import a from './b'\na.<f>()",
    },
    "a chain": {"a.js": "function ^f(){}\nexports.a = exports.b = f", "b.js": "require('./a').<a>()"},
    "an inner assignment": {
        "a.js": "(function () { function ^f(){}\nmodule.exports = {f} })()",
        "b.js": "require('./a').<f>()",
    },
    "a whole module again": {
        "a.js": "function ^f(){}\nmodule.exports = {f}",
        "b.js": "module.exports = require('./a')",
        "c.js": "require('./b').<f>()",
    },
}


def trace(files: Files) -> tuple[TraceAnswer, tuple[str, int]]:
    """The answer, and the place in angle brackets."""
    spot = ("", -1)
    plain = {}
    for path, text in files.items():
        if "<" in text:
            at = text.index("<")
            spot = (path, at - text[:at].count("^"))
            text = text.replace("<", "", 1).replace(">", "", 1) if "=>" not in text else _strip(text)
        plain[path] = text
    project, found, _ = found_with_mark(plain)
    return trace_callers(project, found, 1), spot


def _strip(text: str) -> str:
    at = text.index("<")
    end = text.index(">", at)
    return text[:at] + text[at + 1 : end] + text[end + 1 :]


@every_case("language", sorted(CALLING))
def test_a_trace_names_functions_never_variables(language: str) -> None:
    files, names = CALLING[language]
    project, found, _ = found_with_mark(files)

    traced = trace_callers(project, found, 3)

    assert sorted({node.name for node in traced.nodes}) == names


@every_case("case", UNSURE)
def test_what_may_be_a_call_is_unsure_with_its_place(case: str) -> None:
    told, spot = trace(UNSURE[case])
    assert not told.nodes
    assert spot in {(one.path, one.start) for one in told.unsure}
    assert {one.code for one in told.troubles} & {"used_as_value", "unproven_member"}


@every_case("case", REACHED)
def test_what_holds_all_names_of_a_module_may_call_each(case: str) -> None:
    told, spot = trace(REACHED[case])
    assert not told.nodes
    assert spot in {(one.path, one.start) for one in told.troubles}


def test_asking_what_a_module_is_holds_nothing() -> None:
    asked = "if (require.main === module && typeof exports !== typeof module) module.id"
    told, _ = trace({"a.js": f"function ^f(){{}}\nexports.f = f\n{asked}"})
    assert told == TraceAnswer(nodes=(), left_out=0, unsure=(), troubles=())


@every_case("case", KNOWN)
def test_a_call_through_exports_is_known(case: str) -> None:
    told, spot = trace(KNOWN[case])
    assert [(one.spot_path, *one.spots) for one in told.nodes] == [spot]
    assert not told.unsure
    assert not told.troubles


def test_nobody_is_said_where_nobody_is() -> None:
    told, _ = trace({"a.js": "export function ^f(){}", "b.js": "import {f} from './a'"})
    assert told == TraceAnswer(nodes=(), left_out=0, unsure=(), troubles=())


def test_analyze_says_the_same() -> None:
    project, found, _ = found_with_mark({"a.js": "function ^f(){}\nsetTimeout(f)"})
    told = find_callers(project, found, find_uses(project, found))
    assert told.known == ()
    assert told.unsure == told.troubles == (Trouble(code="used_as_value", path="a.js", start=26, end=27),)


@pytest.mark.parametrize(
    "files",
    [
        {"a.js": "function ^f(){}\nexport const g = () => f()", "b.js": "import {g} from './a'\ng()"},
        {"a.js": "export class C { ^m(){} }", "b.js": "import {C} from './a'\nnew C().m()"},
        {"a.js": "export class C { ^m(){} }", "b.js": "x.m()"},
    ],
)
def test_a_ripple_reaches_the_files_around_a_helper_and_a_member(files: Files) -> None:
    project, found, _ = found_with_mark(files)
    told = ripple(project, ModuleGraph(project), found)
    assert {path for layer in told.layers for path in layer} == {"b.js"}


def test_a_search_finds_names_that_only_a_clause_spells() -> None:
    project = project_of(
        {
            "a.js": "export function bar() {}",
            "b.js": "export { bar as foo } from './a'",
            "c.js": "export * as foo from './a'\nimport {bar as b} from './a'\nexport {b as foo}",
        }
    )
    assert [(one.path, one.start, one.role) for one in search(project, "foo").matches] == [
        ("b.js", 16, "export"),
        ("c.js", 12, "export"),
        ("c.js", 69, "export"),
    ]
    assert [one.path for one in search(project, "bar").matches] == ["a.js", "b.js", "c.js"]
