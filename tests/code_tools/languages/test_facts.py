"""What a file's facts say about definitions, imports and exports."""

from __future__ import annotations

import hashlib

from handrail_code.facts.model import NONE, FileFacts
from tests.cases import every_case
from tests.code_tools.edit.test_rename import rename
from tests.code_tools.reading import facts_of

SOURCE = """
import x, {y as z} from "./x";
/**
 * Adds.
 * @param {number} left the first
 */
export async function add(left, right = 1) {
  if (left && right) return left ? 1 : 2;
  for (const one of z) x(one);
}
export const twice = (n) => n * 2, once = 1;
class Shape {
  #sides = 4;
  /** How big. */
  area(scale) { while (scale) scale--; return this.#sides }
  grow = () => 1;
}
"""


def lines(facts: FileFacts, *fields: str) -> list[str]:
    return [" ".join(str(getattr(each, field)) for field in fields) for each in facts.definitions]


def test_definitions_have_their_kind_and_export() -> None:
    facts = facts_of(SOURCE, "a.js")

    assert [
        line for line in lines(facts, "kind", "name", "exported") if not line.startswith("parameter")
    ] == [
        "import x False",
        "import z False",
        "function add True",
        "variable one False",
        "function twice True",
        "variable once True",
        "class Shape False",
        "property #sides False",
        "method area False",
        "method grow False",
    ]


def test_definitions_have_signature_and_digest() -> None:
    facts = facts_of(SOURCE, "a.js")
    add = next(each for each in facts.definitions if each.name == "add")
    area = next(each for each in facts.definitions if each.name == "area")
    extent = SOURCE.encode()[add.extent_start : add.extent_end]

    assert add.signature == "export async function add(left, right = 1)"
    assert add.doc == "Adds.\n@param {number} left the first"
    assert add.complexity == 5  # one, if, &&, the conditional, the loop
    assert add.digest == hashlib.sha256(extent).hexdigest()
    assert extent.startswith(b"export async function add")
    assert extent.endswith(b"}")
    assert (area.signature, area.doc, area.complexity) == ("area(scale)", "How big.", 2)
    assert facts.definitions[area.container].name == "Shape"


def test_a_use_knows_the_definition_around_it() -> None:
    facts = facts_of("function outer() { const inner = () => call() } call()", "a.js")

    around = [
        facts.definitions[use.definition].name if use.definition != NONE else ""
        for use in facts.uses
        if use.name == "call"
    ]

    assert around == ["inner", ""]


IMPORTS = {
    "import a from 'x'": ["default default a"],
    "import {a, b as c, default as d} from 'x'": ["named a a", "named b c", "default default d"],
    "import * as a from 'x'": ["namespace * a"],
    "import 'x'": ["bare  -"],
    "const a = require('x')": ["require * a"],
    "const {a, b: c, ...d} = require('x')": ["require * -", "require a a", "require b c"],
    "const a = require('x').b": ["require * -", "require b a"],
    "require('x')()": ["require * -"],
    "const a = await import('x')": ["dynamic * a"],
    "import('x').then(f)": ["dynamic * -"],
    "import(x)": [],
    "x.require('y')": [],
    "/** @type {import('x').a} */ let b": ["type a -"],
}


@every_case("text", IMPORTS)
def test_imports_say_what_comes_from_where(text: str) -> None:
    facts = facts_of(text, "a.js")

    found = [
        f"{each.kind} {each.imported} {facts.bindings[each.binding].name if each.binding != NONE else '-'}"
        for each in facts.imports
    ]

    assert found == IMPORTS[text]
    assert {each.module for each in facts.imports} <= {"x"}


EXPORTS = {
    "export let a, b": ["declared a a", "declared b b"],
    "export const {a, b: [c]} = x": ["declared a a", "declared c c"],
    "export function a() { let b }": ["declared a a"],
    "let a; export {a, a as b}": ["named a a", "named b a"],
    "export default function a() {}": ["default default a"],
    "export default () => {}": ["default default -"],
    "let a; export default a": ["default default a"],
    "let a; export {a as void}": ["named void a"],
    "export {a, b as c} from 'x'": ["reexport a -", "reexport c -"],
    "export * from 'x'": ["star * -"],
    "export * as a from 'x'": ["namespace a -"],
    "exports.a = 1": ["commonjs a -"],
    "let b; exports.a = b": ["commonjs a b"],
    "module.exports.a = function () {}": ["commonjs a -"],
    "let a; module.exports = a": ["commonjs = a"],
    "let a, c; module.exports = {a, b: c, d() {}, 'e': 1}": [
        *("commonjs = -", "commonjs a a", "commonjs b c", "commonjs d -", "commonjs e -"),
    ],
    "let a; exports = module.exports = a": ["commonjs = a", "commonjs = -"],
    "exports.a = exports.b = 1": ["commonjs a -", "commonjs b -"],
    "module.exports = require('x')": ["commonjs = -", "star * -"],
    "function f(exports) { exports.a = 1 }": [],
    "let module; module.exports = 1": [],
}


@every_case("text", EXPORTS)
def test_exports_say_which_name_others_see(text: str) -> None:
    facts = facts_of(text, "a.js")

    found = [
        f"{each.kind} {each.exported} {facts.bindings[each.binding].name if each.binding != NONE else '-'}"
        for each in facts.exports
    ]

    assert sorted(found) == sorted(EXPORTS[text])


@every_case(
    ("text", "path", "expected"),
    [
        ("var a", "a.js", (False, False)),
        ("var a", "a.mjs", (True, False)),
        ("import 'x'", "a.js", (True, False)),
        ("require('x')", "a.js", (True, True)),
        ("exports.a = 1", "a.js", (True, True)),
        ("exports.a = 1", "a.ts", (False, False)),
        ("import 'x'; exports.a = 1", "a.js", (True, False)),
    ],
)
def test_a_file_is_a_module_or_a_script(text: str, path: str, expected: tuple[bool, bool]) -> None:
    facts = facts_of(text, path)

    assert (facts.is_module, facts.is_commonjs) == expected


@every_case(
    ("text", "kinds"),
    [
        ("eval('a')", ["eval"]),
        ("new Function('a')", ["exec"]),
        ("with (a) {}", ["with"]),
        ("import(a)", ["import"]),
        ("require(a + b)", ["require"]),
        ("exports[a] = 1", ["exports"]),
        ("import('x'); require('y')", []),
    ],
)
def test_names_that_are_made_at_run_time_are_told(text: str, kinds: list[str]) -> None:
    assert [each.kind for each in facts_of(text, "a.js").dynamic] == kinds


def test_syntax_errors_are_told_with_their_place() -> None:
    facts = facts_of("let a = ;\nlet b", "a.js")

    assert facts.troubles != ()
    assert facts.troubles[0].start <= 8


def test_a_value_that_is_exported_by_assignment_is_a_definition() -> None:
    text = (
        "exports.limit = 3;\nexports.max = Math.max;\nmodule.exports.other = [1];\nconst a = 1; exports.a = a"
    )
    facts = facts_of(text, "a.js")

    shown = [(each.name, each.kind, each.exported) for each in facts.definitions]

    assert shown == [
        ("limit", "variable", True),
        ("max", "variable", True),
        ("other", "variable", True),
        ("a", "variable", True),
    ]
    changed = rename(
        {"a.js": text.replace("limit", "^limit"), "m.js": "const {limit} = require('./a'); limit"}
    )
    assert isinstance(changed, dict)
    assert (changed["a.js"][:13], changed["m.js"]) == ("exports.b = 3", "const {b} = require('./a'); b")
