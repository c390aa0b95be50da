"""Names that a module goes on exporting: somebody takes them in a way that no move rewrites."""

from __future__ import annotations

from tests.cases import every_case
from tests.code_tools.edit.test_move import move

REACHED = (
    "f(exports)",
    "f(module)",
    "f(this)",
    "const k = () => exports.a()",
    "const k = () => module.exports.a()",
    "const k = (name) => exports[name]()",
    "const k = () => require('./m').a()",
    "exports.k = function () { this.a() }",
)
"""How a CommonJS module itself takes what it exports, or lets others take it."""


@every_case("reached", REACHED)
def test_name_reached_through_exports_stays_exported(reached: str) -> None:
    files = {"m.js": f"function ^a() {{}}\nexports.a = a;\n{reached};\n", "n.js": "require('./m').a();\n"}

    moved = move(files)

    assert moved == {
        "m.js": f"const {{ a }} = require('./t');\n\nexports.a = a;\n{reached};\n",
        "t.js": "function a() {}\nexports.a = a;\n",
        "n.js": "require('./t').a();\n",
    }


WHOLE_REQUIRERS = {
    "all its names": ("n.js", "module.exports = require('./m');\n"),
    "all its names among others": ("n.js", "module.exports = { ...require('./m'), z: 1 };\n"),
    "the module as a default": ("n.mjs", "import * as m from './m.js';\nm.default.a();\n"),
    "the module re-exported": ("n.mjs", "export { default } from './m.js';\n"),
}


@every_case("case", WHOLE_REQUIRERS)
def test_name_taken_with_its_whole_module_stays_exported(case: str) -> None:
    path, text = WHOLE_REQUIRERS[case]

    moved = move({"m.js": "function ^a() {}\nexports.a = a;\n", path: text})

    assert moved == {
        "m.js": "const { a } = require('./t');\n\nexports.a = a;\n",
        "t.js": "function a() {}\nexports.a = a;\n",
        path: text,
    }


def test_a_name_that_is_reexported_in_quotes_stays_exported() -> None:
    moved = move({"m.js": "export function ^a() {}\n", "n.js": "export { a as 'a b' } from './m.js';\n"})

    assert isinstance(moved, dict)
    assert moved["m.js"] == "export { a } from './t.js';\n"


@every_case(
    "taken",
    ["import * as own from './m.js';\nown.a();\n", "import { a as own } from './m.js';\nown();\n"],
)
def test_name_imported_from_its_own_module_stays_exported(taken: str) -> None:
    moved = move({"m.js": f"{taken}export function ^a() {{}}\n"})

    first, *rest = taken.splitlines()
    left = "\n".join([first, "export { a } from './t.js';", *rest, ""])
    assert moved == {"m.js": left, "t.js": "export function a() {}\n"}
