"""Taking a function out of its file, and replacing one."""

from __future__ import annotations

from handrail_code.edit.plan import Refusal
from tests.cases import every_case
from tests.code_tools.planning import plan_extract, plan_replace, texts_after
from tests.code_tools.reading import found_with_mark, project_with_mark

Files = dict[str, str]


def extract(files: Files, to_module: str = "t.js") -> dict[str, str] | Refusal:
    project, symbol, plain = project_with_mark(files)
    return texts_after(project, plain, plan_extract(project, symbol, to_module))


EXTRACTED: dict[str, tuple[Files, str, Files]] = {
    "it is imported back where it is used": (
        {"m.js": "import k from 'k';\n\nfunction ^a() { return k }\n\nexport const z = a();\n"},
        "t.js",
        {
            "m.js": "import { a } from './t.js';\n\nexport const z = a();\n",
            "t.js": "import k from 'k';\n\nexport function a() { return k }\n",
        },
    ),
    "importers stay as they are": (
        {"m.js": "export function ^a() {}\n\na();\n", "n.js": "import { a } from './m.js';\na();\n"},
        "t.js",
        {
            "m.js": "import { a } from './t.js';\nexport { a } from './t.js';\n\na();\n",
            "t.js": "export function a() {}\n",
        },
    ),
    "exports of CommonJS stay": (
        {"m.js": "function ^a() {}\n\nexports.a = a;\n"},
        "lib/t.js",
        {
            "m.js": "const { a } = require('./lib/t');\n\nexports.a = a;\n",
            "lib/t.js": "function a() {}\n\nexports.a = a;\n",
        },
    ),
    "a statement about it stays behind": (
        {"m.js": "export class ^A {}\n\nA.b = 1;\n"},
        "t.js",
        {
            "m.js": "import { A } from './t.js';\nexport { A } from './t.js';\n\nA.b = 1;\n",
            "t.js": "export class A {}\n",
        },
    ),
    "a function inside of another": (
        {
            "m.js": "import k from 'k';\n\nexport function f(x) {\n  // adds\n  function ^a(y) {\n"
            "    return `${y}\n  ` + k;\n  }\n\n  return a(x);\n}\n"
        },
        "t.js",
        {
            "m.js": "import { a } from './t.js';\n\nexport function f(x) {\n  return a(x);\n}\n",
            "t.js": "import k from 'k';\n\n// adds\nexport function a(y) {\n  return `${y}\n  ` + k;\n}\n",
        },
    ),
    "a constant": (
        {"m.js": "export const ^a = 1;\n\nexport const z = a;\n"},
        "t.js",
        {
            "m.js": "import { a } from './t.js';\nexport { a } from './t.js';\n\nexport const z = a;\n",
            "t.js": "export const a = 1;\n",
        },
    ),
    "a type": (
        {"m.ts": "export interface ^T { a: 1 }\n\nexport const z: T = { a: 1 };\n"},
        "t.ts",
        {
            "m.ts": "import type { T } from './t';\nexport type { T } from './t';\n\n"
            "export const z: T = { a: 1 };\n",
            "t.ts": "export interface T { a: 1 }\n",
        },
    ),
    "an arrow inside of a method": (
        {"m.js": "export class C {\n  m() {\n    const ^a = (x) => x + 1;\n    return a(1);\n  }\n}\n"},
        "t.js",
        {
            "m.js": "import { a } from './t.js';\n\nexport class C {\n  m() {\n    return a(1);\n  }\n}\n",
            "t.js": "export const a = (x) => x + 1;\n",
        },
    ),
}


@every_case(("before", "to_module", "after"), EXTRACTED.values())
def test_an_extraction(before: Files, to_module: str, after: Files) -> None:
    plain = {path: text.replace("^", "") for path, text in before.items()}

    assert extract(before, to_module) == plain | after


REFUSED: dict[str, tuple[str, str, str]] = {
    "closed-over variables": (
        "export function f(x, y) { function ^a() { return x + y } return a() }",
        "closed_over",
        "x, y",
    ),
    "this of the function around": (
        "export function f() { const ^a = () => this.x; return a() }",
        "place_dependent",
        "around",
    ),
    "another name at the top": (
        "export let a; export function f() { function ^a() {} a() }",
        "collision",
        "a",
    ),
    "an assigned function": ("export function f() { function ^a() {} a = 1 }", "assigned", "a"),
    "one of two declarators": ("export function f() { const ^a = () => 1, b = 2; a() }", "nested", "a"),
    "a parameter": ("export function f(^a) {}", "nested", "function"),
}


@every_case(("text", "code", "word"), REFUSED.values())
def test_an_extraction_is_refused_with_the_reason(text: str, code: str, word: str) -> None:
    refusal = extract({"m.ts": text}, "t.ts")

    assert isinstance(refusal, Refusal), refusal
    assert (refusal.code, word in refusal.message) == (code, True), refusal


def test_a_nested_function_keeps_its_strictness() -> None:
    files = {
        "m.js": "'use strict';\nexports.f = () => { function ^a() {} a(); };\n",
        "t.js": "exports.b = 1;\n",
    }

    refusal = extract(files)

    assert isinstance(refusal, Refusal), refusal
    assert refusal.code == "changed_meaning"


def test_an_extraction_undone_by_hand_gives_the_same_bytes() -> None:
    files = {
        "m.js": "import { z } from './z.js';\n\nexport function f() {\n  return z(a());\n}\n\n"
        "function ^a() {}\n"
    }
    plain = files["m.js"].replace("^", "")

    after = extract(files)

    assert isinstance(after, dict)
    by_hand = after["m.js"].replace("import { a } from './t.js';\n", "")
    assert by_hand + "\n" + after["t.js"].removeprefix("export ") == plain


def replace(files: Files, text: str) -> tuple[dict[str, str], tuple[str, ...]] | Refusal:
    project, found, plain = found_with_mark(files)
    plan = plan_replace(project, found, text)
    if isinstance(plan, Refusal):
        return plan
    after = texts_after(project, plain, plan)
    assert isinstance(after, dict)
    return after, plan.unresolved


REPLACED = {
    "a function": (
        "/** Says. */\nexport function ^a() { return 1 }\na();\n",
        "export function a() {\n  return two() + Math.PI;\n}\n",
        "/** Says. */\nexport function a() {\n  return two() + Math.PI;\n}\na();\n",
        ("two",),
    ),
    "a variable keeps its semicolon": (
        "export const ^a = 1;\n",
        "export const a = 2;",
        "export const a = 2;\n",
        (),
    ),
    "a nested function": (
        "{ function ^a() {} a() }\nexport {}\n",
        "function a(x) { x }",
        "{ function a(x) { x } a() }\nexport {}\n",
        (),
    ),
    "line ends of the file": (
        "export class ^A {}\r\n",
        "export class A {\n}\n",
        "export class A {\r\n}\r\n",
        (),
    ),
    "a method": (
        "class A {\n  ^a() { return this.b; }\n\n  get b() { return 1; }\n}\n",
        "async a(x) {\n    return x;\n  }\n",
        "class A {\n  async a(x) {\n    return x;\n  }\n\n  get b() { return 1; }\n}\n",
        (),
    ),
    "an assigned export": (
        "exports.^a = function () {};\n",
        "exports.a = () => 1;\n",
        "exports.a = () => 1;\n",
        (),
    ),
}


@every_case("case", REPLACED)
def test_a_replacement(case: str) -> None:
    before, text, after, unresolved = REPLACED[case]

    assert replace({"m.js": before}, text) == ({"m.js": after}, unresolved)


NOT_REPLACED = {
    "another name": ("export function ^a() {}\n", "export function b() {}", "not_found"),
    "a lost export": ("export function ^a() {}\na();\n", "function a() {}", "changed_meaning"),
    "one export more": (
        "export function ^a() {}\n",
        "export function a() {} export let b",
        "changed_meaning",
    ),
    "no source": ("export function ^a() {}\n", "export function a() {", "parse_error"),
    "a name that others mean": (
        "export function ^a() {}\nfetch();\n",
        "export function a() {} function fetch() {}",
        "captured",
    ),
    "an inner definition only": ("export {};\nfunction ^a() {}\n", "{ let a }", "not_found"),
    "nothing": ("export function ^a() {}\n", "", "not_found"),
    "a method that becomes another one": ("class A { ^a() {} }\n", "b() { const a = 1; }", "not_found"),
    "a method that ends its class": ("class A { ^a() {} }\n", "} class B { a() {}", "not_found"),
    "a parameter": ("export function f(^a) {}\n", "b", "nested"),
    "a constant that is there": (
        "const k = 1;\nfunction ^a() {}\n",
        "const k = 2;\nfunction a() {}",
        "collision",
    ),
    "a constant that comes later": ("function ^a() {}\nlet k\n", "let k; function a() {}", "collision"),
    "itself twice": ("const ^a = 1\n", "const a = 1\nconst a = 2", "collision"),
    "an import again": (
        "import {k} from 'k';\nfunction ^a() {}\n",
        "import {k} from 'k'; function a() {}",
        "collision",
    ),
    "a parameter again": ("function f(x) { function ^a() {} }\n", "let x; function a() {}", "collision"),
    "a method that is there": ("class A { ^a() {} b() {} }\n", "a() {} b() {}", "collision"),
}


@every_case(("before", "text", "code"), NOT_REPLACED.values())
def test_a_replacement_is_refused(before: str, text: str, code: str) -> None:
    refusal = replace({"m.js": before}, text)

    assert isinstance(refusal, Refusal), refusal
    assert refusal.code == code, refusal
