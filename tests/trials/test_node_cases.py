"""Cases of node:test and mocha, with nothing declared."""

from __future__ import annotations

import shutil

import pytest

from handrail.ports.trials import TrialCheck, UnloadedFile
from tests.trials.rooms import Workshop, list_outcomes

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")

_NODE_TEST = """
const { test, describe, it, before } = require("node:test");
const assert = require("assert");
const lib = require("../lib");
describe("lib", () => {
  it("adds", () => assert.equal(lib.add(1, 2), 3));
  it("fails", () => assert.equal(lib.add(1, 2), 4));
  it("missing", () => lib.sub(1, 2));
  it.skip("skipped", () => {});
  it.todo("todo");
});
describe("hooked", () => { before(() => { throw new Error("x"); }); it("never", () => {}); });
test("outer", async (t) => { await t.test("inner", () => {}); });
"""


def test_node_test_gives_every_case(linked: Workshop) -> None:
    linked.write(
        {
            "lib.js": "exports.add = (a, b) => a + b;\n",
            "esm.mjs": "export const x = 1;\n",
            "test/a.test.js": _NODE_TEST,
            "test/b.test.js": 'require("../nothing");\n',
            "test/c.test.mjs": 'import { nope } from "../esm.mjs";\n',
            "test/plain.test.js": "console.log(1);\n",
        }
    )

    result = linked.run(TrialCheck(command=("node", "--test")))

    assert list_outcomes(result) == {
        "lib > adds": "passed",
        "lib > fails": "failed",
        "lib > missing": "failed",
        "lib > skipped": "skipped",
        "lib > todo": "skipped",
        "hooked": "error",
        "hooked > never": "failed",
        "outer": "passed",
        "outer > inner": "passed",
        "test/plain.test.js": "passed",
    }
    assert {case.file for case in result.cases or ()} == {"test/a.test.js", "test/plain.test.js"}
    assert [case.missing_name for case in result.cases or () if case.missing_name] == ["lib.sub"]
    assert result.unloaded == (
        UnloadedFile(
            file="test/b.test.js", missing_name="nothing", trouble="Error: Cannot find module '../nothing'"
        ),
        UnloadedFile(
            file="test/c.test.mjs",
            missing_name="nope",
            trouble="SyntaxError: The requested module '../esm.mjs' does not provide an export named 'nope'",
        ),
    )


def test_node_test_that_ends_early_has_not_passed(linked: Workshop) -> None:
    linked.write({"test/a.test.js": 'require("node:test")("early", () => process.exit(0));\n'})

    result = linked.run(TrialCheck(command=("node", "--test")))

    assert (result.state, result.exit_status, result.is_ended_early) == ("failed", 0, True)


_RUNNER = """
const { EventEmitter } = require("events");
module.exports = class Runner extends EventEmitter {};
"""
_LOADING = "exports.requireOrImport = async (file) => require(file);\n"
_MOCHA = """
const path = require("path");
const Runner = require("./lib/runner.js");
const loading = require("./lib/nodejs/esm-utils.js");
const tests = [];
global.it = (title, work) => tests.push([title, work]);
(async () => {
  const runner = new Runner();
  runner.failures = 0;
  for (const name of process.argv.slice(2)) {
    const file = path.resolve(name);
    const first = tests.length;
    await loading.requireOrImport(file);
    tests.slice(first).forEach((test) => test.push(file));
  }
  runner.total = tests.length;
  for (const [title, work, file] of tests) {
    const test = { type: "test", file, titlePath: () => ["group", title] };
    if (!work) runner.emit("pending", test);
    else try { work(); runner.emit("pass", test); }
    catch (error) { runner.failures += 1; runner.emit("fail", test, error); }
  }
  runner.emit("end");
})();
"""
_MOCHA_FILES = {
    "node_modules/mocha/lib/runner.js": _RUNNER,
    "node_modules/mocha/lib/nodejs/esm-utils.js": _LOADING,
    "node_modules/mocha/bin.js": _MOCHA,
}
"""What we use of mocha, without the rest of it."""


def test_mocha_gives_every_case(linked: Workshop) -> None:
    linked.write(
        {
            **_MOCHA_FILES,
            ".gitignore": "node_modules\n",
            "test/a.js": 'it("one", () => {}); it("two", () => { nope(); }); it("later");\n',
            "test/b.js": 'require("../nothing");\n',
            "test/c.js": 'it("three", () => {});\n',
        }
    )
    command = ("node", "node_modules/mocha/bin.js", "test/a.js", "test/b.js", "test/c.js")

    result = linked.run(TrialCheck(command=command))

    assert [(case.name, case.file, case.outcome, case.missing_name) for case in result.cases or ()] == [
        ("group > later", "test/a.js", "skipped", ""),
        ("group > one", "test/a.js", "passed", ""),
        ("group > three", "test/c.js", "passed", ""),
        ("group > two", "test/a.js", "failed", "nope"),
    ]
    assert result.unloaded == (
        UnloadedFile(
            file="test/b.js", missing_name="nothing", trouble="Error: Cannot find module '../nothing'"
        ),
    )
    assert (result.exit_status, result.is_ended_early) == (1, False)


def test_mocha_that_ends_early_has_not_passed(linked: Workshop) -> None:
    files = {".gitignore": "node_modules\n", "test/a.js": 'it("one", () => process.exit(0));\n'}
    linked.write({**_MOCHA_FILES, **files})

    result = linked.run(TrialCheck(command=("node", "node_modules/mocha/bin.js", "test/a.js")))

    assert (result.state, result.exit_status, result.is_ended_early) == ("failed", 0, True)
