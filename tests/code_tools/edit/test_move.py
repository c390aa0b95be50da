"""What a move changes in every form of import, what it keeps, and what it refuses."""

from __future__ import annotations

import pytest

from handrail_code.edit.plan import Plan, Refusal
from tests.cases import every_case
from tests.code_tools.planning import plan_move, texts_after
from tests.code_tools.reading import project_with_mark

Files = dict[str, str]
GONE = "(no such file)"


def move(files: Files, to_module: str = "t.js", is_exporting: bool = False) -> dict[str, str] | Refusal:
    """All texts after the declaration behind the mark has moved."""
    project, symbol, plain = project_with_mark(files)
    return texts_after(project, plain, plan_move(project, symbol, to_module, is_exporting))


FUNCTION = "export function ^a() {}\n\nexport const z = 1;\n"
LEFT = "export const z = 1;\n"
THERE = "export function a() {}\n"
IMPORTERS = {
    "a named import": ("import {a} from './m.js';\na();\n", "import {a} from './t.js';\na();\n"),
    "an alias": ("import { a as b } from './m.js';\nb();\n", "import { a as b } from './t.js';\nb();\n"),
    "one of several names": (
        "import { a, z } from './m.js';\na(z);\n",
        "import { z } from './m.js';\nimport { a } from './t.js';\na(z);\n",
    ),
    "the last of several names": (
        "import { z, a } from './m.js'\na(z)\n",
        "import { z } from './m.js'\nimport { a } from './t.js'\na(z)\n",
    ),
    "names on lines of their own": (
        "import {\n  a,\n  z,\n} from './m.js';\na(z);\n",
        "import {\n  z,\n} from './m.js';\nimport { a } from './t.js';\na(z);\n",
    ),
    "a namespace with other uses": (
        "import * as m from './m.js';\nm.a(m.z);\n",
        "import * as m from './m.js';\nimport { a } from './t.js';\na(m.z);\n",
    ),
    "a namespace with no other use": (
        "import * as m from './m.js';\n\nm.a();\n",
        "import { a } from './t.js';\n\na();\n",
    ),
    "a re-export": ("export { a } from './m.js';\n", "export { a } from './t.js';\n"),
    "a renamed re-export beside another": (
        "export { a as b, z } from './m.js';\n",
        "export { z } from './m.js';\nexport { a as b } from './t.js';\n",
    ),
    "export star": ("export * from './m.js';\n", "export * from './m.js';\nexport { a } from './t.js';\n"),
    "a dynamic import of one name": (
        "const { a } = await import('./m.js');\na();\n",
        "const { a } = await import('./t.js');\na();\n",
    ),
    "double quotes": ('import {a} from "./m.js";\na();\n', 'import {a} from "./t.js";\na();\n'),
    "no extension": ("import {a} from './m';\na();\n", "import {a} from './t';\na();\n"),
    "windows line ends": (
        "import {a, z} from './m.js';\r\na(z);\r\n",
        "import {z} from './m.js';\r\nimport {a} from './t.js';\r\na(z);\r\n",
    ),
    "another folder's name": ("import {z} from './m.js';\nz;\n", "import {z} from './m.js';\nz;\n"),
}


@every_case(("before", "after"), IMPORTERS.values())
def test_an_importer_takes_the_name_from_the_new_module(before: str, after: str) -> None:
    moved = move({"m.js": FUNCTION, "n.js": before})

    assert moved == {"m.js": LEFT, "t.js": THERE, "n.js": after}


REQUIRERS = {
    "a pattern": ("const { a } = require('./m');\na();\n", "const { a } = require('./t');\na();\n"),
    "an alias in a pattern": ("const { a: b } = require('./m');\n", "const { a: b } = require('./t');\n"),
    "one of several": (
        "const { a, z } = require('./m');\na(z);\n",
        "const { z } = require('./m');\nconst { a } = require('./t');\na(z);\n",
    ),
    "a member of the call": ("const b = require('./m').a;\n", "const b = require('./t').a;\n"),
    "a call in an expression": ("require('./m').a();\n", "require('./t').a();\n"),
    "members of the module": (
        "var m = require('./m');\n\nm.a(m.z);\n",
        "var m = require('./m');\nvar { a } = require('./t');\n\na(m.z);\n",
    ),
}


@every_case(("before", "after"), REQUIRERS.values())
def test_a_requirer_takes_the_name_from_the_new_module(before: str, after: str) -> None:
    home = "const z = 1;\n\nfunction ^a() {}\n\nmodule.exports = { z, a };\n"

    moved = move({"m.js": home, "n.js": before})

    assert moved == {
        "m.js": "const z = 1;\n\nmodule.exports = { z };\n",
        "t.js": "function a() {}\n\nmodule.exports = { a };\n",
        "n.js": after,
    }


WHOLE: dict[str, tuple[Files, str, Files]] = {
    "imports go along and those that nobody else uses go away": (
        {
            "src/m.js": "import { x, y } from './x.js';\nimport p from 'p';\n\n"
            "export const ^a = () => x(p);\n\ny();\n"
        },
        "src/deep/t.js",
        {
            "src/m.js": "import { y } from './x.js';\n\ny();\n",
            "src/deep/t.js": "import { x } from '../x.js';\nimport p from 'p';\n\n"
            "export const a = () => x(p);\n",
        },
    ),
    "a neighbour is imported from the old module": (
        {"m.js": "export const k = 1;\n\nexport function ^a() { return k }\n"},
        "t.js",
        {
            "m.js": "export const k = 1;\n",
            "t.js": "import { k } from './m.js';\n\nexport function a() { return k }\n",
        },
    ),
    "what still uses it imports it": (
        {"m.ts": "export type ^T = 1;\n\nexport const k: T = 1;\n"},
        "t.ts",
        {
            "m.ts": "import type { T } from './t';\n\nexport const k: T = 1;\n",
            "t.ts": "export type T = 1;\n",
        },
    ),
    "comments and decorators above go along": (
        {"m.ts": "export {};\n\n// far\n\n/** Says a. */\n// near\n@d()\nexport class ^A {} // tail\n"},
        "t.ts",
        {
            "m.ts": "export {};\n\n// far\n",
            "t.ts": "/** Says a. */\n// near\n@d()\nexport class A {} // tail\n",
        },
    ),
    "overloads go together": (
        {
            "m.ts": "export function ^a(x: 1): 1;\nexport function a(x: any) { return x }\n"
            "export const k = 1;\n"
        },
        "t.ts",
        {
            "m.ts": "export const k = 1;\n",
            "t.ts": "export function a(x: 1): 1;\nexport function a(x: any) { return x }\n",
        },
    ),
    "one of two declarators": (
        {"m.js": "export const ^a = 1, b = 2;\n"},
        "t.js",
        {"m.js": "export const b = 2;\n", "t.js": "export const a = 1;\n"},
    ),
    "the other of two declarators": (
        {"m.js": "let k = 1, ^b = 2;\nexport const c = () => [k, b];\nexport { b };\n"},
        "t.js",
        {
            "m.js": "import { b } from './t.js';\n\nlet k = 1;\nexport const c = () => [k, b];\n",
            "t.js": "export let b = 2;\n",
        },
    ),
    "an exported alias": (
        {"m.js": "function ^a() {}\nexport { a as b };\n", "n.js": "import { b } from './m.js';\nb();\n"},
        "t.js",
        {
            "m.js": GONE,
            "t.js": "export function a() {}\n",
            "n.js": "import { a as b } from './t.js';\nb();\n",
        },
    ),
    "a default export stays one": (
        {"m.js": "export default function ^a() {}\n", "n.js": "import b from './m.js';\nb();\n"},
        "t.js",
        {
            "m.js": GONE,
            "t.js": "export default function a() {}\n",
            "n.js": "import b from './t.js';\nb();\n",
        },
    ),
    "a default that is exported apart": (
        {
            "m.js": "const ^a = 1;\n\nexport default a;\n",
            "n.js": "import b, * as m from './m.js';\nm.z;\n",
            "o.js": "import b from './m.js';\nb;\n",
        },
        "t.js",
        {
            "m.js": "export {};\n",
            "t.js": "const a = 1;\n\nexport default a;\n",
            "n.js": "import * as m from './m.js';\nimport b from './t.js';\nm.z;\n",
            "o.js": "import b from './t.js';\nb;\n",
        },
    ),
    "the public entry goes on exporting it": (
        {
            "package.json": '{"main": "./m.js"}',
            "m.js": "export function ^a() {}\n",
            "n.js": "import { a } from './m.js';\na();\n",
        },
        "t.js",
        {
            "package.json": '{"main": "./m.js"}',
            "m.js": "export { a } from './t.js';\n",
            "t.js": "export function a() {}\n",
            "n.js": "import { a } from './t.js';\na();\n",
        },
    ),
    "so does a module that is handed around whole": (
        {"m.js": "export function ^a() {}\n", "n.js": "import * as m from './m.js';\nf(m);\n"},
        "t.js",
        {"m.js": "export { a } from './t.js';\n", "t.js": "export function a() {}\n"},
    ),
    "the target's own import of it goes": (
        {"m.js": "export function ^a() {}\n", "t.js": "import { a } from './m.js';\n\na();\n"},
        "t.js",
        {"m.js": GONE, "t.js": "a();\n\nexport function a() {}\n"},
    ),
    "an assigned function of CommonJS": (
        {"m.js": "exports.^a = function () {};\nexports.z = 1;\n", "n.js": "require('./m').a();\n"},
        "t.js",
        {
            "m.js": "exports.z = 1;\n",
            "t.js": "exports.a = function () {};\n",
            "n.js": "require('./t').a();\n",
        },
    ),
    "a module that is one value": (
        {
            "m.js": "'use strict';\n\nfunction ^a() {}\n\nmodule.exports = a;\n",
            "n.js": "const b = require('./m');\nb();\n",
        },
        "t.js",
        {
            "m.js": GONE,
            "t.js": "'use strict';\n\nfunction a() {}\n\nmodule.exports = a;\n",
            "n.js": "const b = require('./t');\nb();\n",
        },
    ),
    "a directive stays first in a new file": (
        {
            "m.js": "'use strict';\r\n\r\nvar k = require('k');\r\n\r\nvar ^a = () => k;\r\n\r\n"
            "module.exports = { a: a, k: k };\r\n"
        },
        "t.js",
        {
            "m.js": "'use strict';\r\n\r\nvar k = require('k');\r\n\r\nmodule.exports = { k: k };\r\n",
            "t.js": "'use strict';\r\n\r\nvar k = require('k');\r\n\r\nvar a = () => k;\r\n\r\n"
            "module.exports = { a };\r\n",
        },
    ),
    "a directive stays first in an empty file": (
        {"m.js": "'use strict';\nvar k = require('k');\nexports.^a = () => k;\nexports.b = 1;\n", "t.js": ""},
        "t.js",
        {
            "m.js": "'use strict';\nexports.b = 1;\n",
            "t.js": "'use strict';\n\nvar k = require('k');\n\nexports.a = () => k;\n",
        },
    ),
    "into an object of exports": (
        {"m.js": "class ^A {}\n\nexports.A = A;\n", "t.js": "const k = 1;\n\nmodule.exports = { k };\n"},
        "t.js",
        {"m.js": GONE, "t.js": "const k = 1;\n\nclass A {}\n\nmodule.exports = { k, A };\n"},
    ),
    "no newline at the end stays none": (
        {"m.js": "export const k = 1;\n\nexport const ^a = 2;", "t.js": "export const q = 1;"},
        "t.js",
        {"m.js": "export const k = 1;", "t.js": "export const q = 1;\n\nexport const a = 2;"},
    ),
    "line ends are those of the target": (
        {"m.js": "export function ^a() {\n  return 1\n}\n\nexport {};\n", "t.js": "export const q = 1;\r\n"},
        "t.js",
        {
            "m.js": GONE,
            "t.js": "export const q = 1;\r\n\r\nexport function a() {\r\n  return 1\r\n}\r\n",
        },
    ),
    "an enum that stays in use": (
        {"m.ts": "export enum ^E { x }\n\nexport const k = () => E.x;\n"},
        "t.ts",
        {
            "m.ts": "import { E } from './t';\n\nexport const k = () => E.x;\n",
            "t.ts": "export enum E { x }\n",
        },
    ),
    "an enum that it uses": (
        {"m.ts": "export enum E { x }\n\nexport const ^a = () => E.x;\n"},
        "t.ts",
        {
            "m.ts": "export enum E { x }\n",
            "t.ts": "import { E } from './m';\n\nexport const a = () => E.x;\n",
        },
    ),
    "what elements are made with": (
        {"m.jsx": "import React from 'react';\n\nexport const k = 1;\n\nexport const ^A = () => <p />;\n"},
        "t.jsx",
        {
            "m.jsx": "export const k = 1;\n",
            "t.jsx": "import React from 'react';\n\nexport const A = () => <p />;\n",
        },
    ),
    "relative modules inside": (
        {"src/m.js": "export const ^a = () => import('./x.js');\nexport const k = require('./y.json');\n"},
        "t.js",
        {
            "src/m.js": "export const k = require('./y.json');\n",
            "t.js": "export const a = () => import('./src/x.js');\n",
        },
    ),
}


@every_case(("before", "to_module", "after"), WHOLE.values())
def test_a_move(before: Files, to_module: str, after: Files) -> None:
    plain = {path: text.replace("^", "") for path, text in before.items()}

    assert move(before, to_module) == {path: text for path, text in (plain | after).items() if text != GONE}


LATE = {
    "a dynamic import": "const m = await import('./m.js');\nm.a();\n",
    "an import in a function": "export async function f() {\n  (await import('./m.js')).z;\n"
    "  const m = await import('./m.js');\n  m.a();\n}\n",
}


@pytest.mark.parametrize("case", LATE)
def test_what_is_loaded_late_stays_late(case: str) -> None:
    after = move({"m.js": FUNCTION, "n.js": LATE[case]})

    assert after == {"m.js": f"export {{ a }} from './t.js';\n\n{LEFT}", "n.js": LATE[case], "t.js": THERE}


def test_a_late_require_stays_late() -> None:
    late = "exports.f = () => {\n  const m = require('./m');\n  return m.a();\n};\n"

    after = move({"m.js": "exports.^a = () => 1;\nexports.b = 2;\n", "n.js": late})

    assert after == {
        "m.js": "exports.a = require('./t').a;\nexports.b = 2;\n",
        "n.js": late,
        "t.js": "exports.a = () => 1;\n",
    }


ABOVE = {
    "// @ts-expect-error": True,
    "// @ts-ignore: why": True,
    "/* eslint-disable-next-line no-console */": True,
    "// eslint-disable-next-line": True,
    "// @ts-nocheck": False,
    "/* eslint-disable */": False,
}


@every_case("comment", ABOVE)
def test_comment_for_the_next_line_moves(comment: str) -> None:
    after = move({"m.ts": f"{comment}\nexport const ^a = 1;\n\nexport const k = 2;\n"}, "t.ts")

    assert isinstance(after, dict)
    assert (comment in after["t.ts"], comment in after["m.ts"]) == (ABOVE[comment], not ABOVE[comment])


NAMED = {
    "an import for its effects": {"n.js": "import './m.js';\n"},
    "an import of all of it": {"n.js": "import * as all from './m.js';\nf(all);\n"},
    "a mock": {"n.js": "mock('./m', () => ({}));\n"},
    "a worker": {"n.js": "new Worker(new URL(`./m.js`, import.meta.url));\n"},
    "a package": {"package.json": '{"exports": "./m.js"}'},
}


@every_case("case", NAMED)
def test_an_empty_module_stays_where_somebody_names_it(case: str) -> None:
    files = {"m.js": "export function ^a() {}\n", **NAMED[case]}

    after = move(files)
    alone = move({"m.js": files["m.js"], "n.js": "// m.js, './mm.js'\n"})

    assert isinstance(after, dict)
    assert isinstance(alone, dict)
    assert "m.js" in after
    assert "m.js" not in alone


def test_a_comment_keeps_a_module() -> None:
    after = move({"m.js": "/* License */\n\nexport function ^a() {}\n"})

    assert after == {"m.js": "/* License */\n\nexport {};\n", "t.js": "export function a() {}\n"}


REFUSED: dict[str, tuple[Files, str, str]] = {
    "another package": (
        {
            "p/package.json": '{"name": "p"}',
            "p/lib/package.json": '{"type": "module"}',
            "p/lib/m.js": "export const ^a = 1;\n",
        },
        "other_package",
        "package",
    ),
    "a string that would become a directive": (
        {"m.js": "var k = require('k');\n'use strict';\nvar ^a = () => k;\nexports.a = a;\nexports.b = 1;\n"},
        "changed_meaning",
        "strict",
    ),
    "a name that stays behind": (
        {"m.js": "const k = 1;\nexport function ^a() { return k }\n"},
        "not_exported",
        "k",
    ),
    "several names": (
        {"m.js": "const k = 1, l = 2;\nexport const ^a = () => k + l;\n"},
        "not_exported",
        "k, l",
    ),
    "a name in the target": (
        {"m.js": "export const ^a = 1;\n", "t.js": "export const a = 2;\n"},
        "collision",
        "a",
    ),
    "a needed name in the target": (
        {"m.js": "import k from 'k';\nexport const ^a = () => k;\n", "t.js": "export const k = 2;\n"},
        "collision",
        "k",
    ),
    "an alias in the target": (
        {"m.js": "export const ^a = 1;\n", "t.js": "import { a as b } from './m.js';\nb;\n"},
        "collision",
        "another name",
    ),
    "a second default": (
        {"m.js": "export default function ^a() {}\n", "t.js": "export default 1;\n"},
        "default_export",
        "default",
    ),
    "a pattern of two": ({"m.js": "export const { ^a, b } = f();\n"}, "side_effects", "b"),
    "a statement that runs on load": (
        {"m.js": "export function ^a() {}\na.b = 1;\n"},
        "side_effects",
        "extract",
    ),
    "an assigned variable": ({"m.js": "export let ^a = 1;\nfunction f() { a = 2 }\n"}, "assigned", "a"),
    "a variable that it assigns": (
        {"m.js": "export let k = 1;\nexport const ^a = () => { k = 2 };\n"},
        "assigned",
        "k",
    ),
    "a place": ({"m.js": "export const ^a = () => import.meta.url;\n"}, "place_dependent", "another file"),
    "a place of CommonJS": ({"m.js": "exports.^a = () => __dirname;\n"}, "place_dependent", "another file"),
    "two module systems": (
        {"m.js": "export const ^a = 1;\n", "t.js": "exports.b = 1;\n"},
        "module_system",
        "CommonJS",
    ),
    "a script": ({"m.js": "function ^a() {}\n"}, "module_system", "script"),
    "a syntax error": (
        {"m.js": "export const ^a = 1;\n", "t.js": "export const = ;\n"},
        "parse_error",
        "syntax",
    ),
    "a syntax error in an importer": (
        {"m.js": "export const ^a = 1;\n", "n.js": "import { a } from './m.js'; const = ;\n"},
        "parse_error",
        "syntax",
    ),
    "names made at run time": ({"m.js": "export const ^a = (s) => eval(s);\n"}, "dynamic", "run time"),
    "strictness": (
        {"m.js": "'use strict';\nfunction ^a() {}\nexports.a = a;\n", "t.js": "exports.b = 1;\n"},
        "changed_meaning",
        "strict",
    ),
    "a line that would run into another": (
        {"m.js": "export const k = 1\nexport const ^a = 2\n;[1].map(k)\n"},
        "changed_meaning",
        "semicolon",
    ),
    "a global of the same name": (
        {"m.js": "export function ^fetch() {}\n", "t.js": "export const k = () => fetch();\n"},
        "captured",
        "global",
    ),
}


@every_case(("files", "code", "word"), REFUSED.values())
def test_a_move_is_refused_with_the_reason(files: Files, code: str, word: str) -> None:
    refusal = move(files)

    assert isinstance(refusal, Refusal), refusal
    assert (refusal.code, word in refusal.message) == (code, True), refusal


@every_case("path", ["../t.js", "/t.js", "t.css", "a/../t.js", "t.d.ts", "t\n.js", "m.js", ""])
def test_a_path_that_cannot_take_it_is_refused(path: str) -> None:
    refusal = move({"m.js": FUNCTION}, path)

    assert isinstance(refusal, Refusal)
    assert refusal.code in ("invalid_path", "same_name")


def test_file_that_differs_in_case_only_is_not_made() -> None:
    files = {"m.js": FUNCTION, "lib/T.js": "export const b = 1;\n"}

    refusal = move(files, "lib/t.js")

    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.path) == ("invalid_path", "lib/T.js")
    assert isinstance(move(files | {"lib/t.js": "export const c = 1;\n"}, "lib/t.js"), dict)


def test_what_cannot_be_followed_is_listed() -> None:
    files = {"m.js": "export function ^a() {}\n", "n.js": "import('./' + x).then((m) => m.a());\n"}
    project, symbol, _ = project_with_mark(files)

    plan = plan_move(project, symbol, "t.js")

    assert isinstance(plan, Plan)
    assert plan.reasons
    assert [reason.code for reason in plan.reasons] == ["dynamic_import"]
    assert [(each.path, each.level) for each in plan.untouched] == [("n.js", "member")]


def test_a_new_file_is_an_edit_of_nothing() -> None:
    project, symbol, _ = project_with_mark({"m.js": FUNCTION})

    plan = plan_move(project, symbol, "t.js")

    assert isinstance(plan, Plan)
    assert [(edit.start, edit.end) for edit in plan.edits if edit.path == "t.js"] == [(0, 0)]


HEADERS = {
    "a licence": ("// Copyright\n", True),
    "a block after a directive": ("'use strict';\n/* licence */\n", True),
    "a licence and a note for the linter": ("// Copyright\n// eslint-disable-next-line no-x\n", False),
    "a note for the compiler": ("// @ts-ignore\n", False),
}


@pytest.mark.parametrize("case", HEADERS)
def test_comment_above_a_lost_import_stays(case: str) -> None:
    header, stays = HEADERS[case]
    home = header + "const fs = require('fs');\n\nfunction ^a() { fs.x(); }\n\nmodule.exports = { a };\n"

    moved = move({"m.js": home})

    assert isinstance(moved, dict)
    kept = header if stays else "".join(header.splitlines(keepends=True)[:-1])
    assert moved["m.js"] == (f"{kept}\n" if kept else "") + "module.exports = {};\n"
