"""Moves into CommonJS modules: what the target exports stays, or the move is refused."""

from __future__ import annotations

from handrail_code.edit.plan import Refusal
from tests.cases import every_case
from tests.code_tools.edit.test_move import move

UNCLEAR_EXPORTS = (
    "exports = module.exports = {b: 1};",
    "var api = module.exports = {};",
    "Object.assign(module.exports, {b: 1});",
    "const {exports: e} = module;",
    "module['exports'] = {b: 1};",
    "if (x) { module.exports = {b: 1}; }",
    "(function () { module.exports = {b: 1}; })();",
    "(function (f) { if (typeof module === 'object') module.exports = f(); })(g);",
    "install(module);",
    "module.exports = {b: 1};\nmodule.exports = {c: 1};",
    "module.exports = {...require('./x'), b: 1};",
    "module.exports = {...x, b: 1};",
)


@every_case("target", UNCLEAR_EXPORTS)
def test_a_move_into_exports_that_cannot_be_told_is_refused(target: str) -> None:
    refusal = move({"m.js": "function ^a() {}\nexports.a = a;\nexports.z = 1;\n", "t.js": f"{target}\n"})

    assert isinstance(refusal, Refusal), refusal
    assert refusal.code in ("module_system", "default_export")
    assert refusal.path == "t.js"


@every_case(
    "target",
    [
        "exports['b'] = 1;",
        "for (const k of l) exports[k] = 1;",
        "Object.defineProperty(exports, 'b', {value: 1});",
        "this.b = 1;\nrequire('x');",
        "exports.b = 1, exports.c = 2;",
        "f(() => { module.exports.b = 1; });",
        "exports.b = 1;\nif (require.main === module) run(module.parent);",
    ],
)
def test_a_move_adds_to_what_the_target_exports_in_any_way(target: str) -> None:
    after = move({"m.js": "function ^a() {}\nmodule.exports = {a, z: 1};\n", "t.js": f"{target}\n"})

    assert isinstance(after, dict), after
    assert after["t.js"] == f"{target}\n\nfunction a() {{}}\n\nexports.a = a;\n"
