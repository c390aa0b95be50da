"""Which identifiers are the same name: hoisting, closures, patterns, classes, types.

Each row has one name of a source and, for its identifiers in order, a letter per binding.
"""

from __future__ import annotations

import pytest

from tests.cases import every_case
from tests.code_tools.reading import meanings

JAVASCRIPT = {
    "a global is bound nowhere": ("console.log(a)", "-"),
    "a var is known before its line": ("f(a); var a", "aa"),
    "a var leaves its block": ("{ var a } a", "aa"),
    "a let stays in its block": ("{ let a; a } a", "aa-"),
    "a const shadows from the start of its block": ("let a; { a; const a = 1 }", "abb"),
    "a class stays in its block": ("{ class a {} } a", "a-"),
    "a sloppy function leaves its block": ("{ function a() {} } a()", "aa"),
    "a sloppy function stays where a let has its name": ("let a; { function a() {} a() } a", "abba"),
    "a sloppy function stays where a parameter has its name": (
        "function f(a) { { function a() {} } a }",
        "aba",
    ),
    "sloppy functions of two blocks are one": ("{ function a() {} } { function a() {} } a", "aaa"),
    "a sloppy function joins a var": ("var a; { function a() {} }", "aa"),
    "a strict function stays in its block": ("'use strict'; { function a() {} } a()", "a-"),
    "a function in a module stays in its block": ("export {}; { function a() {} } a()", "a-"),
    "a function is known before its line": ("a(); function a() {}", "aa"),
    "a closure sees outwards": ("let a; function f() { return () => a }", "aa"),
    "an inner var shadows": ("let a; function f() { a; var a }", "abb"),
    "a parameter shadows": ("let a; function f(a) { return a } a", "abba"),
    "a var with the name of a parameter is the parameter": (
        "function f(a) { var a = a || 1; return a }",
        "aaaa",
    ),
    "a let in the body is not the parameter's": ("function f(b = a) { let a }", "-a"),
    "a default sees parameters, not the body": ("let a; function f(b = a) { var a; a }", "aabb"),
    "a default sees earlier parameters": ("let a; function f(a, b = a) {}", "abb"),
    "a named function expression knows itself": ("let a; (function a() { a }); a", "abba"),
    "an arrow with a bare parameter": ("let a; g(a => a)", "abb"),
    "an arrow's body is an expression": ("let a; g((b) => a + b)", "aa"),
    "destructuring declares": ("const {a, b: [, ...c]} = x; a", "aa"),
    "a renamed property is a member": ("const {a: b} = x; a", ".-"),
    "a default in a pattern is a use": ("let a; const {b = a} = x", "aa"),
    "a computed key in a pattern is a use": ("let a; const {[a]: b} = x", "aa"),
    "a rest element declares": ("const {...a} = x; a", "aa"),
    "a nested pattern with defaults": ("function f({b: {a = 1} = {}} = {}) { a }", "aa"),
    "an assignment pattern writes": ("let a; ({a} = x); [a] = y; ({b: a} = z)", "aaaa"),
    "a shorthand property is a use": ("let a; f({a})", "aa"),
    "a key and a method are members": ("let a; f({a: 1, b: {a() {}}})", "a.."),
    "a computed key is a use": ("let a; f({[a]: 1})", "aa"),
    "a member is no use": ("let a; x.a; x?.a; x['a']", "a..."),
    "a subscript is a use": ("let a; x[a]", "aa"),
    "for with let has its own scope": ("let a; for (let a = 0; a < 1; a++) { a } a", "abbbba"),
    "for of declares in the loop": ("for (const a of b) { a } a", "aa-"),
    "for in with var leaks": ("for (var a in b) { a } a", "aaa"),
    "for of may assign": ("let a; for (a of b) ;", "aa"),
    "catch has its own scope": ("let a; try {} catch (a) { a } a", "abba"),
    "catch may destructure": ("try {} catch ({a}) { a }", "aa"),
    "catch without a name": ("let a; try {} catch { a }", "aa"),
    "a switch is one block": ("switch (x) { case 1: let a; case 2: a } a", "aa-"),
    "labels are names of their own": ("let a; a: for (;;) { a; break a }", "abab"),
    "a label ends with its statement": ("a: { break a } a: { break a }", "aabb"),
    "a class knows itself": ("class a { m() { return a } }", "aa"),
    "a class expression knows itself": ("let a; x = class a { m() { a } }; a", "abba"),
    "a method is a member": ("class x { a() { a } }", ".-"),
    "a field's value sees the outside": ("let a; class x { a = a }", "a.a"),
    "a static block is a var scope": ("class x { static { var a; a } } a", "aa-"),
    "heritage is a use": ("let a; class x extends a {}", "aa"),
    "super classes may be expressions": ("let a; class x extends f(a) {}", "aa"),
    "a template is a use": ("let a; `${a}` + f`${a}`", "aaa"),
    "typeof and delete are uses": ("let a; typeof a; delete a.a", "aaa."),
    "new is a use": ("class a {} new a()", "aa"),
    "an import is a binding": ("import a from 'x'; a", "aa"),
    "a named import is a binding": ("import {a, b as c} from 'x'; a", "aa"),
    "an imported name under an alias is not": ("import {a as b} from 'x'; a", "-"),
    "a namespace import is a binding": ("import * as a from 'x'; a.a", "aa."),
    "an export clause is a use": ("let a; export {a, a as b}", "aaa"),
    "a re-export is not": ("let a; export {a} from 'x'", "a"),
    "an exported default is a use": ("let a; export default a", "aa"),
    "an escaped name is the same name": ("let a; \\u0061", "aa"),
    "meta properties are no uses": ("new.target; import.meta.a", "."),
    "update and compound assignment": ("let a; a++; a += a; a ??= 1", "aaaaa"),
    "a comma and a conditional": ("let a; (a, a ? a : a)", "aaaaa"),
    "with is still lexical to us": ("let a; with (x) { a }", "aa"),
    "an async generator": ("async function* f(a) { for await (const b of a) yield* a }", "aaa"),
    "getters and setters": ("x = { get a() { return 1 }, set a(a) { a } }", "..aa"),
}

PRIVATE = {
    "a private name is lexical": ("class x { #a; m() { return this.#a } }", "aa"),
    "a private method is too": ("class x { m() { this.#a() } #a() {} }", "aa"),
    "an inner class has its own": ("class x { #a; m() { return class { #a; n(o) { o.#a } } } }", "abb"),
    "the brand check": ("class x { #a; static is(o) { return #a in o } }", "aa"),
}

TYPESCRIPT = {
    "a type and a value of one name are one symbol": ("interface a {} const a = 1; let b: a = a", "aaaa"),
    "a type does not shadow a value": ("let a = 1; { type a = 2; f(a) }", "aba"),
    "a value does not shadow a type": ("type a = 1; { let a = 2; let b: a }", "aba"),
    "interfaces of one name merge": ("interface a {} interface a {} let b: a", "aaa"),
    "overloads are one function": ("function a(): void; function a(b: 1): void; function a() {}", "aaa"),
    "a type parameter is bound in its function": ("function f<a>(b: a): a {} let c: a", "aaa-"),
    "a type parameter of a class": ("class x<a> { b: a; m<a>(c: a) {} n(): a {} }", "aabba"),
    "a type parameter of an alias": ("type x<a> = a | a[]; type y = a", "aaa-"),
    "merged interfaces share their parameters": ("interface x<a> { b: a } interface x<a> { c: a }", "aaaa"),
    "a mapped type": ("type x = {[a in 'k']: a}; type y = a", "aa-"),
    "infer is known where it holds": ("type x<t> = t extends (infer a)[] ? a : a", "aa-"),
    "infer twice is one name": ("type x<t> = t extends [infer a, infer a] ? a : 0", "aaa"),
    "a function type has its own parameters": ("let a; let b: (a: 1) => typeof a", "abb"),
    "a predicate names the parameter": ("function f(a: unknown): a is string { return a }", "aaa"),
    "asserts names the parameter": ("function f(a: unknown): asserts a {}", "aa"),
    "typeof in a type is a value": ("let a; let b: typeof a", "aa"),
    "a tuple's labels are no names": ("let a; type b = [a: string, c: a]", "a-"),
    "an index signature's key": ("let a; type b = {[a: string]: 1}", "ab"),
    "an enum is a value and a type": ("enum a { b } let c: a = a.b", "aaa"),
    "an enum's members see each other": ("enum x { a, b = a }", "aa"),
    "an enum's member outside is proven": ("enum x { a } x.a; y.a", "aa."),
    "a namespace has a scope": ("namespace x { export const a = 1; a } x.a; a", "aaa-"),
    "namespaces of one name merge": ("namespace x { export const a = 1 } namespace x { a }", "aa"),
    "a dotted namespace": ("namespace x.y { export type a = 1 } let b: x.y.a", "aa"),
    "an ambient module has a scope": ("declare module 'm' { const a: 1 } a", "a-"),
    "declare global has a scope": ("export {}; declare global { interface a {} } let b: a", "a-"),
    "an import is of every meaning": ("import {a} from 'x'; let b: a; a; let c: a.d", "aaaa"),
    "a type-only import": ("import type {a} from 'x'; let b: a", "aa"),
    "import equals require": ("import a = require('x'); a", "aa"),
    "import equals a namespace": ("namespace a.b {} import c = a.b", "aa"),
    "a parameter property is both": ("class x { constructor(private a: 1) { a; this.a } }", "aa."),
    "this is no parameter": ("function f(this: Window, a: 1) { a }", "aa"),
    "a decorator is a use": ("let a; @a class x { @a() m(@a b) {} }", "aaaa"),
    "generic arguments are uses": ("type a = 1; new x<a>(); f<a>(1); let b: c<a>", "aaaa"),
    "as and satisfies": ("type a = 1; (x as a); (x satisfies a)", "aaa"),
    "implements is a type": ("interface a {} class x implements a {}", "aa"),
    "an abstract class": ("abstract class a { abstract m(): a }", "aa"),
    "an export type star": ("export type * from './a'; let a", "a"),
    "variance of a type parameter": ("interface x<in out a, out b> { c: a }", "aa"),
    "a generic import in a type": ("let a; let b: import('./m').a<c>", "a."),
    "call signatures without semicolons": ("interface x {\n  (): a\n  <T>(a: T): T\n}\ntype a = 1", "aba"),
    "an optional parameter": ("function f(a?: 1, b = a) {}", "aa"),
}

JSX = {
    "an element is a use": ("let A; <A></A>", "aaa"),
    "a self-closing element": ("let A; <A/>", "aa"),
    "a member element": ("let A; <A.B/>", "aa"),
    "an attribute is a member": ("let A; <x A={A}/>", "a.a"),
    "spread and children": ("let A; <x {...A}>{A}</x>", "aaa"),
}

COMMENTS = {
    "a parameter's tag": ("/** @param {string} a what */\nfunction f(a) {}", "aa"),
    "a parameter's tag without a type": ("/** @param a */\nconst f = (a) => a", "aaa"),
    "an optional parameter's tag": ("/** @param {x} [a=1] */\nfunction f(a) {}", "aa"),
    "a nested parameter's tag": ("/** @param {x} a\n * @param {y} a.b */\nfunction f(a) {}", "aaa"),
    "a tag names no part of a pattern": ("/** @param a */ function f({...a}) {}", "a"),
    "a tag before a method": ("class x {\n/** @param a */ m(a) {} }", "aa"),
    "a tag behind something on its line": ("class x { /** @param a */ m(a) {} }", "a"),
    "a tag before a function as a value": ("f(/** @param a */ (a) => a)", "aaa"),
    "a tag before an assignment": ("/** @param a */\nx.y = function (a) {}", "aa"),
    "a tag before an export": ("/** @param a */\nexport default function (a) {}", "aa"),
    "a tag of another function": ("/** @param a */\nfunction f(b) {}\nfunction g(a) {}", "a"),
    "a variadic tag is prose": ("/** @param {x} a... */\nfunction f(a) {}", "a"),
    "a type in a tag": ("class a {}\n/** @returns {Promise<a>} */\nfunction f() {}", "aa"),
    "a key in a type is none": ("class a {}\n/** @type {{a: a}} */\nlet b", "aa"),
    "a link": ("function a() {}\n/** See {@link a}. */\nlet b", "aa"),
    "a name in prose is none": ("function a() {}\n/** Like a. */\nlet b", "a"),
    "a typedef": ("/** @typedef {object} a */\n/** @type {a} */\nlet b", "aa"),
}


@every_case(("text", "expected"), JAVASCRIPT.values())
def test_javascript_names_are_resolved(text: str, expected: str) -> None:
    assert meanings(text, "a", "a.js") == expected


@every_case("case", [case for case in JAVASCRIPT if "with" not in case.split()[:1]])
def test_typescript_resolves_them_alike(case: str) -> None:
    text, expected = JAVASCRIPT[case]

    assert meanings(text, "a", "a.ts") == expected


@pytest.mark.parametrize("case", PRIVATE)
def test_private_names_are_lexical(case: str) -> None:
    text, expected = PRIVATE[case]

    assert (meanings(text, "#a", "a.js"), meanings(text, "#a", "a.ts")) == (expected, expected)


@every_case(("text", "expected"), TYPESCRIPT.values())
def test_typescript_names_are_resolved(text: str, expected: str) -> None:
    assert meanings(text, "a") == expected


@every_case(("text", "expected"), JSX.values())
def test_elements_are_uses(text: str, expected: str) -> None:
    assert (meanings(text, "A", "a.jsx"), meanings(text, "A", "a.tsx")) == (expected, expected)


def test_a_small_element_is_the_hosts_own() -> None:
    assert meanings("let a; <a>{a}</a>", "a", "a.jsx") == "aa"


@every_case(("text", "expected"), COMMENTS.values())
def test_names_in_documentation_are_uses(text: str, expected: str) -> None:
    assert meanings(text, "a", "a.js") == expected


def test_a_template_tag_names_the_type_parameter() -> None:
    assert meanings("/** @template a what */\nexport type x<a> = a", "a") == "aaa"
