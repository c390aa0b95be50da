"""What a rename changes, what it keeps, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.facts.join import References, Style
from tests.cases import every_case
from tests.code_tools.planning import plan_rename, texts_after
from tests.code_tools.reading import project_with_mark

Files = Mapping[str, str]


def rename(files: Files, new_name: str = "b", style: Style = "keep") -> dict[str, str] | Refusal:
    """All texts after the rename of what stands after the mark."""
    project, symbol, plain = project_with_mark(files)
    return texts_after(project, plain, plan_rename(project, symbol, new_name, style))


def read_marked(text: str) -> tuple[str, str]:
    """A text before and after: the name that is asked for, and those behind a `°`, which change along."""
    return text.replace("°", ""), re.sub(r"[\^°]a\b", "b", text)


def read_case(case: Files | tuple[Files, Files]) -> tuple[Files, Files]:
    if isinstance(case, tuple):
        return case
    read = {path: read_marked(text) for path, text in case.items()}
    return {path: both[0] for path, both in read.items()}, {path: both[1] for path, both in read.items()}


ONE_FILE = {
    "a local": ("let ^a = 1; f(a)", "let b = 1; f(b)"),
    "from a use": ("let a = 1; f(^a)", "let b = 1; f(b)"),
    "a shorthand keeps the property": ("let ^a; f({a})", "let b; f({a: b})"),
    "a pattern keeps the property": ("const {^a} = x; a", "const {a: b} = x; b"),
    "a pattern with a default": ("const {^a = 1} = x; a", "const {a: b = 1} = x; b"),
    "an assigned pattern": ("let ^a; ({a} = x)", "let b; ({a: b} = x)"),
    "a parameter in a pattern": ("function f({^a}) { return a }", "function f({a: b}) { return b }"),
    "the inner of two": ("let a; { let ^a; a } a", "let a; { let b; b } a"),
    "an export clause keeps the exported name": ("let ^a; export {a}", "let b; export {b as a}"),
    "an export alias": ("let ^a; export {a as c}", "let b; export {b as c}"),
    "a local import": ("import {^a} from 'x'; a", "import {a as b} from 'x'; b"),
    "an aliased import": ("import {c as ^a} from 'x'; a", "import {c as b} from 'x'; b"),
    "a default import": ("import ^a from 'x'; a", "import b from 'x'; b"),
    "a namespace import": ("import * as ^a from 'x'; a.a", "import * as b from 'x'; b.a"),
    "a required module": ("const ^a = require('x'); a.a()", "const b = require('x'); b.a()"),
    "a required name": ("const {^a} = require('x'); a", "const {a: b} = require('x'); b"),
    "an exported object keeps its keys": (
        "const ^a = 1; module.exports = {a}",
        "const b = 1; module.exports = {a: b}",
    ),
    "a label": ("^a: for (;;) break a", "b: for (;;) break b"),
    "documentation": ("/** @param a x */ function f(^a) {}", "/** @param b x */ function f(b) {}"),
    "letters of two bytes": ("let ä = 'ü', ^a = 1; f('ß', a)", "let ä = 'ü', b = 1; f('ß', b)"),
    "a byte order mark": ("\ufefflet ^a; a", "\ufefflet b; b"),
    "windows line ends": ("let ^a\r\na\r\n", "let b\r\nb\r\n"),
}
JOINED = {
    "an object": ("let ^a; f({a})", "let c; f({a: c})"),
    "a pattern": ("const {^a} = x; a", "const {a: c} = x; c"),
    "a pattern with a default": ("const {^a = 1} = x; a", "const {a: c = 1} = x; c"),
    "an assigned pattern": ("let ^a; ({a} = x)", "let c; ({a: c} = x)"),
    "an import": ("import {^a} from 'x'; a", "import {a as c} from 'x'; c"),
    "an export": ("let ^a; export {a}", "let c; export {c as a}"),
    "a required name": ("const {^a} = require('x'); a", "const {a: c} = require('x'); c"),
    "an exported object": ("const ^a = 1; module.exports = {a}", "const c = 1; module.exports = {a: c}"),
}


@every_case(("text", "between"), JOINED.values())
def test_a_rename_there_and_back_leaves_the_same_bytes(text: str, between: str) -> None:
    there = rename({"m.js": text}, "c")
    assert there == {"m.js": between}

    back = rename({"m.js": re.sub(r"\bc\b", "^c", between, count=1)}, "a")

    assert back == {"m.js": text.replace("^", "")}


@every_case(
    "text",
    [
        *("let ^b; f({a:b})", "let ^b; f({'a': b})", "let ^b; f({a: b + 1})", "let ^b; f({a: b()})"),
        *("let ^b; f({a: b == 1})", "let ^b; f({a: b = 1})"),
    ],
)
def test_two_names_that_are_spelt_otherwise_stay_two(text: str) -> None:
    assert rename({"m.js": text}, "a") == {"m.js": text.replace("^", "").replace("b", "a")}


TYPES = {
    "a parameter's decorator is none": "function ^a(): any {} class C { m(@°a a: number) { return a } }",
    "an interface with a value": "interface ^a {} const °a = 1; let c: °a",
    "a type parameter": "function f<^a>(x: °a): °a {}",
    "an enum": "enum ^a { x } °a.x",
    "an enum's member": "enum E { ^a, c = °a } E.°a",
    "a namespace's member": "namespace N { export let ^a } N.°a",
    "overloads": "function ^a(): 1; function °a() {}",
}


@every_case(("before", "after"), ONE_FILE.values())
def test_a_name_changes_within_its_file(before: str, after: str) -> None:
    assert rename({"m.js": before}) == {"m.js": after}


@every_case("case", TYPES)
def test_a_type_changes_within_its_file(case: str) -> None:
    before, after = read_marked(TYPES[case])

    assert rename({"m.ts": before}) == {"m.ts": after}


def test_a_private_name_keeps_its_hash() -> None:
    files = {"m.js": "class X { ^#a = 1; m() { return this.#a } }"}

    assert rename(files, "#b") == {"m.js": "class X { #b = 1; m() { return this.#b } }"}


ACROSS: dict[str, Files | tuple[Files, Files]] = {
    "importers change along": {"m.js": "export function ^a() {}", "n.js": "import {°a} from './m'; °a()"},
    "an alias of an importer stays": {"m.js": "export let ^a", "n.js": "import {°a as c} from './m'; c"},
    "a namespace's members change": {"m.js": "export let ^a", "n.js": "import * as m from './m'; m.°a; x.a"},
    "a re-export keeps its name": (
        {"m.js": "export let ^a", "n.js": "export {a} from './m'", "o.js": "import {a} from './n'"},
        {"m.js": "export let b", "n.js": "export {b as a} from './m'", "o.js": "import {a} from './n'"},
    ),
    "export star has no name of its own": {
        "m.js": "export let ^a",
        "n.js": "export * from './m'",
        "o.js": "import {°a} from './n'; °a",
    },
    "an import is renamed for itself": (
        {"m.js": "export let a", "n.js": "import {^a} from './m'; a"},
        {"m.js": "export let a", "n.js": "import {a as b} from './m'; b"},
    ),
    "a default that importers call by its name": {
        "m.js": "export default function ^a() {}",
        "n.js": "import °a from './m'; °a()",
        "o.js": "import c from './m'",
    },
    "an exported property": {
        "m.js": "exports.^a = function () {}; exports.°a()",
        "n.js": "const {°a} = require('./m'); °a(); require('./m').°a",
    },
    "a member of a required module": {"m.js": "exports.°a = 1", "n.js": "const m = require('./m'); m.^a"},
    "an enum's member in another file": {
        "m.ts": "export enum E { ^a }",
        "n.ts": "import {E} from './m'; E.°a",
    },
    "a type import": {
        "m.ts": "export type ^a = 1",
        "n.ts": "import type {°a} from './m'; let x: °a; let y: import('./m').°a",
    },
    "a generic type import": {"m.ts": "export type ^a<T> = T", "n.ts": "let y: import('./m').°a<1>"},
    "scripts share their top level": {"m.js": "var ^a = 1", "n.js": "f(°a)", "o.mjs": "let a; a; export {}"},
    "a module that is another one": {
        "m.js": "exports.^a = 1",
        "n.js": "module.exports = require('./m')",
        "o.js": "require('./n').°a",
    },
    "a module that spreads another one": {
        "m.js": "exports.^a = 1",
        "n.js": "module.exports = {...require('./m')}",
        "o.js": "const {°a} = require('./n')",
    },
    "an augmented module": {
        "m.ts": "export interface ^a {}",
        "n.ts": "import './m'; declare module './m' { interface °a { x: °a } }",
    },
    "from the augmentation": {
        "m.ts": "export interface °a {}",
        "n.ts": "import './m'; declare module './m' { interface ^a {} }",
    },
    "a global type of declaration files": {"m.d.ts": "interface ^a {}", "n.ts": "let x: °a; export {}"},
    "a type in a comment of another file": {
        "m.js": "export class ^a {}",
        "n.js": "/** @type {import('./m').°a} */ let x",
    },
}


@every_case("case", ACROSS)
def test_a_name_changes_across_files(case: str) -> None:
    before, after = read_case(ACROSS[case])

    assert rename(before) == after


FOLLOWED: dict[str, Files | tuple[Files, Files]] = {
    "from an import to its home": {
        "m.js": "export let °a",
        "n.js": "import {^a} from './m'; °a",
        "o.js": "import {°a} from './m'",
    },
    "through clauses and re-exports": {
        "m.js": "let ^a; export {°a}",
        "n.js": "export {°a} from './m'",
        "o.js": "import {°a} from './n'; °a",
    },
    "not into another package": (
        {"n.js": "import {^a} from 'other'; a"},
        {"n.js": "import {a as b} from 'other'; b"},
    ),
    "not out of an object": (
        {"m.js": "const ^a = 1; module.exports = {a}", "n.js": "require('./m').a"},
        {"m.js": "const b = 1; module.exports = {a: b}", "n.js": "require('./m').a"},
    ),
}


@pytest.mark.parametrize("case", FOLLOWED)
def test_a_followed_name_changes_on_both_sides(case: str) -> None:
    before, after = read_case(FOLLOWED[case])

    assert rename(before, style="follow") == after


REFUSED: dict[str, tuple[Files, str]] = {
    "the same scope has the name": ({"m.js": "let ^a, b"}, "collision"),
    "the same function has a parameter of the name": ({"m.js": "function f(^a, b) {}"}, "collision"),
    "an inner declaration catches a use": ({"m.js": "let ^a; { let b; a }"}, "shadowed"),
    "an inner parameter catches a use": ({"m.js": "let ^a; (b) => a"}, "shadowed"),
    "the new name catches a global": ({"m.js": "export let ^a; b()"}, "captured"),
    "the new name catches an outer name": ({"m.js": "let b; { let ^a; b }"}, "captured"),
    "an importer has the name": (
        {"m.js": "export let ^a", "n.js": "import {a} from './m'; let b"},
        "collision",
    ),
    "an importer's inner scope has the name": (
        {"m.js": "export let ^a", "n.js": "import {a} from './m'; function f(b) { return a }"},
        "shadowed",
    ),
    "the module exports the name": ({"m.js": "export let ^a; let c; export {c as b}"}, "collision"),
    "a star export of the name is caught": (
        {
            "m.js": "export let ^a",
            "k.js": "export let b",
            "n.js": "export * from './m'; export * from './k'",
            "o.js": "import {b} from './n'",
        },
        "captured",
    ),
    "scripts share the name": ({"m.js": "var ^a", "n.js": "var b"}, "collision"),
    "a script uses a global of the name": ({"m.js": "var ^a", "n.js": "f(b)"}, "collision"),
    "the file has a syntax error": ({"m.js": "let ^a; f(("}, "parse_error"),
    "an importer has a syntax error": (
        {"m.js": "export let ^a", "n.js": "import {a} from './m'; f(("},
        "parse_error",
    ),
    "the name is used inside with": ({"m.js": "let ^a; with (x) { a }"}, "dynamic"),
    "the name is declared globally": ({"m.ts": "export {}; declare global { interface ^a {} }"}, "external"),
    "the parameter is a property": ({"m.ts": "class X { constructor(private ^a: 1) {} }"}, "member"),
}


@every_case(("files", "code"), REFUSED.values())
def test_a_rename_that_would_change_the_meaning_is_refused(files: Files, code: str) -> None:
    refusal = rename(files)

    assert isinstance(refusal, Refusal), refusal
    assert (refusal.code, refusal.path in files) == (code, True)


@every_case("name", ["", "1a", "a-b", "a b", "class", "await", "Infinity", "NaN", "a", "#b", "ä!", "b\n"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    refusal = rename({"m.js": "let ^a"}, name)

    assert isinstance(refusal, Refusal)
    assert refusal.code in ("invalid_name", "same_name")


def test_a_refusal_names_the_place() -> None:
    refusal = rename({"m.js": "let ^a; { let b; a }"})

    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.path, refusal.start, refusal.end) == ("shadowed", "m.js", 16, 17)
    assert refusal.message == "An inner declaration of this name would catch this use."


def test_what_is_not_proven_is_listed_and_left_alone() -> None:
    project, symbol, _ = project_with_mark(
        {"m.js": "export function ^a() {}", "n.js": "import {a} from './m'; a(); x.a; // a\nf('a')"}
    )

    plan = plan_rename(project, symbol, "b")

    assert isinstance(plan, Plan)
    assert [(edit.path, edit.start) for edit in plan.edits] == [("m.js", 16), ("n.js", 8), ("n.js", 23)]
    assert [(each.path, each.start, each.level) for each in plan.untouched] == [
        ("n.js", 30, "member"),
        ("n.js", 36, "possible"),
        ("n.js", 41, "possible"),
    ]
    assert not plan.reasons


def test_dynamic_code_makes_a_plan_incomplete() -> None:
    project, symbol, _ = project_with_mark({"m.js": "export let ^a", "n.js": "require(x).a; eval('a')"})

    plan = plan_rename(project, symbol, "b")

    assert isinstance(plan, Plan)
    assert [reason.code for reason in plan.reasons] == ["dynamic_require", "eval"]


@pytest.mark.parametrize(
    ("text", "is_complete"),
    [
        ("function f(^a) { return new Function('x', 'return x')(a) }", True),
        ("let ^a = 1; export const g = Function('return 1')() + a", True),
        ("let ^a = 1; export const g = eval('a')", False),
        ("export let ^a = 1; new Function('return 1')", False),
    ],
)
def test_function_made_of_text_sees_no_name_of_a_module(text: str, is_complete: bool) -> None:
    project, symbol, _ = project_with_mark({"m.mjs": text})

    plan = plan_rename(project, symbol, "b")

    assert isinstance(plan, Plan)
    assert bool(plan.reasons) is not is_complete


@every_case(
    ("text", "is_read"),
    [
        ("function f(^a) { const using = 1; return using + a }", True),
        ("function f(^a) { const using 1; return using + a }", False),
        ("function f(^a, using) { using.x = a; using[a] = 1; return using(a) }", True),
        ("function f(^a) { let using = 1; using = a; using++; if (using) using() }", True),
        ("function f(^a) { let using; for (using of a) {}\nusing\n.g(); return using in a }", True),
        ("function f(^a) { using d = a(); let c, using = 1; using = d; return using }", True),
        ("function f(^a) { using a 1; using = 2 }", False),
    ],
)
def test_a_variable_named_using_is_no_syntax_error(text: str, is_read: bool) -> None:
    project, symbol, _ = project_with_mark({"m.mjs": text})

    plan = plan_rename(project, symbol, "b")

    assert (isinstance(plan, Plan) and not plan.reasons) is is_read


@every_case(
    ("text", "code"),
    [
        ("const m = require('./m'); f(m)", "whole_module_used"),
        ("import * as m from './m'; export {m}", "whole_module_used"),
        ("import * as m from './m'; m[x]", "whole_module_used"),
        ("import('./m').then(f)", "whole_module_used"),
        ("import('./m').then(m => f(m))", "whole_module_used"),
        ("import('./m').then(({b, ...rest}) => rest)", "whole_module_used"),
        ("const load = () => import('./m'); load().then(({a}) => a)", "whole_module_used"),
        ("const p = import('./m'); p.then(({a}) => a)", "whole_module_used"),
        ("const [{a}] = await Promise.all([import('./m')])", "whole_module_used"),
        ("(await import('./m'))[x]", "whole_module_used"),
        ("(await import(`./m`))[x]", "whole_module_used"),
        ("f({...require('./m')})", "whole_module_used"),
        ("f(require('./m'))", "whole_module_used"),
        ("Object.assign(x, require('./m'))", "whole_module_used"),
        ("const {[x]: y} = require('./m')", "whole_module_used"),
        ("let m; m = require('./m'); m.a", "whole_module_used"),
        ("exports.m = require('./m')", "whole_module_used"),
        ("const {b, ...rest} = require('./m')", "whole_module_used"),
        ("import * as m from './m'; const {b, ...rest} = m", "whole_module_used"),
        ("jest.mock('./m', () => ({a: 1}))", "module_named"),
        ("import('./' + x).then(m => m.a)", "dynamic_import"),
        ("module.exports = {...a}", "computed_exports"),
        ("a; f(exports)", "computed_exports"),
        ("a; exports[x] = 1", "computed_exports"),
    ],
)
def test_what_cannot_be_followed_is_a_reason(text: str, code: str) -> None:
    project, symbol, _ = project_with_mark({"m.js": "export let ^a", "n.js": text})

    found = project.references(symbol)

    assert {reason.code for reason in found.reasons} == {code}
    assert "const [{a}]" not in text or (("n.js", text.index("a}"), "member") in _levels(found))
    places = {(each.path, each.start) for each in found.items if each.level == "possible"}
    whole = [each for each in found.reasons if each.code == "whole_module_used"]
    assert {(each.path, each.start) for each in whole} <= places


def _levels(found: References) -> set[tuple[str, int, str]]:
    return {(each.path, each.start, each.level) for each in found.items}


@every_case(
    ("text", "after"),
    [
        ("import('./m').then(({a}) => a)", "import('./m').then(({b}) => b)"),
        ("import('./m').then(m => m.a)", "import('./m').then(m => m.b)"),
        ("import('./m').then(async (m) => { m.a })", "import('./m').then(async (m) => { m.b })"),
        ("import('./m').then(() => 1)", "import('./m').then(() => 1)"),
        ("import('./m'); await import('./m')", "import('./m'); await import('./m')"),
        ("(await import(`./m`)).a", "(await import(`./m`)).b"),
        ("const {'a': x} = require('./m')", "const {'b': x} = require('./m')"),
        ("import * as m from './m'; const {a} = m; a", "import * as m from './m'; const {b: a} = m; a"),
        (
            "import * as m from './m'; const {a: x, c} = m; x",
            "import * as m from './m'; const {b: x, c} = m; x",
        ),
        ("module.exports = {...require('./m')}", "module.exports = {...require('./m')}"),
    ],
)
def test_a_module_that_an_expression_loads_is_followed(text: str, after: str) -> None:
    files = {"m.js": "export let ^a; export let c", "n.js": text}
    project, symbol, _ = project_with_mark(files)

    assert rename(files) == {"m.js": "export let b; export let c", "n.js": after}
    assert project.references(symbol).reasons == ()


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("import x = require('./m'); x.N.a()", "import x = require('./m'); x.N.b()"),
        ("import * as x from './m'; x.N.a(); x.E.a", "import * as x from './m'; x.N.b(); x.E.a"),
        ("import {N} from './m'; N.a(); N.I.a", "import {N} from './m'; N.b(); N.I.a"),
        ("import * as x from './all'; x.all.N.a()", "import * as x from './all'; x.all.N.b()"),
    ],
)
def test_a_name_in_a_namespace_is_found_through_modules(text: str, after: str) -> None:
    inside = "export namespace N { export function a() {} export namespace I { export let a } } enum E { a }"
    files = {
        "m.ts": inside.replace("function a", "function ^a"),
        "all.ts": "export * as all from './m'",
        "n.ts": text,
    }
    project, symbol, _ = project_with_mark(files)

    assert rename(files) == files | {"m.ts": inside.replace("function a", "function b"), "n.ts": after}
    assert not project.references(symbol).reasons


def test_a_namespace_that_goes_somewhere_is_a_reason() -> None:
    files = {
        "m.ts": "export namespace N { export let ^a }",
        "n.ts": "import * as x from './m'; f(x.N); import L = x.N; L.a",
    }
    project, symbol, _ = project_with_mark(files)

    found = project.references(symbol)

    assert {(each.code, each.path) for each in found.reasons} == {("whole_module_used", "n.ts")}
    assert ("n.ts", files["n.ts"].index("a", 44), "member") in _levels(found)


def test_a_type_names_a_member_of_a_module() -> None:
    files = {
        "m.ts": "export const ^a = 1",
        "n.ts": "import * as m from './m'\n"
        "type A = [typeof import('./m')['a'], typeof import('./m').a, typeof m['a']]",
    }

    changed = rename(files)

    assert isinstance(changed, dict)
    assert changed["n.ts"].endswith("[typeof import('./m')['b'], typeof import('./m').b, typeof m['b']]")


@every_case(
    ("path", "text", "is_told"),
    [
        ("App.vue", "<script setup>import {a} from './m'; a()</script>", True),
        ("page.html", "<script type=module>import * as m from './m.js'</script>", True),
        ("bin/cli", "#!/usr/bin/env node\nimport {a} from '../m.js'", True),
        ("bin/cli", "#!/usr/bin/env node\nimport {c} from '../other.js'", False),
        ("bin/tool", "#!/usr/bin/python3\nfrom m import a", False),
        ("Makefile", "a: require m", False),
        ("page.html", "<p>a</p>", False),
    ],
)
def test_a_file_that_nobody_parses_is_a_reason(path: str, text: str, is_told: bool) -> None:
    project, symbol, _ = project_with_mark({"m.js": "export let ^a", path: text})

    found = project.references(symbol)

    assert [(each.code, each.path) for each in found.reasons] == ([("unread_file", path)] if is_told else [])
    assert (path in {each.path for each in found.items}) == is_told


def test_a_default_import_holds_a_whole_commonjs_module() -> None:
    files = {"m.js": "exports.^a = () => 1", "n.mjs": "import m from './m.js'; m.a(); f(m)"}
    project, symbol, _ = project_with_mark(files)

    assert [each.code for each in project.references(symbol).reasons] == ["whole_module_used"]


def test_a_whole_module_behind_a_star_is_a_reason() -> None:
    project, symbol, _ = project_with_mark(
        {"m.js": "export let ^a", "all.js": "export * from './m'", "n.js": "import * as x from './all'; f(x)"}
    )

    assert [(each.code, each.path) for each in project.references(symbol).reasons] == [
        ("whole_module_used", "n.js")
    ]


def test_default_is_found_by_neighbours_that_import_a_dot() -> None:
    project, symbol, _ = project_with_mark(
        {"lib/index.js": "export default function ^a() {}", "lib/n.js": "import other from '.'; other()"}
    )

    assert [each.path for each in project.references(symbol).items] == [
        "lib/index.js",
        "lib/n.js",
        "lib/n.js",
    ]


def test_a_member_of_a_namespace_leaks_nothing() -> None:
    project, symbol, _ = project_with_mark({"m.js": "export let ^a", "n.js": "import * as m from './m'; m.a"})

    assert not project.references(symbol).reasons
