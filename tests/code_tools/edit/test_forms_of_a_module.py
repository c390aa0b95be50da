"""A declaration file and the source that it describes are one module: an edit changes both, or says so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pytest

from handrail_code.edit.plan import Plan, Refusal
from handrail_code.edit.rename import Answers
from tests.cases import every_case
from tests.code_tools.planning import apply_in_memory, plan_extract, plan_move, plan_rename, texts_after
from tests.code_tools.reading import project_with_mark

Files = Mapping[str, str]

ES = "export function a() {}"
DECLARED = "export declare function a(): number;"
RENAMED: dict[str, Files] = {
    "beside it": {"m.js": ES, "m.d.ts": DECLARED, "n.js": "import {a as x} from './m.js'; x()"},
    "without the ending": {"m.js": ES, "m.d.ts": DECLARED, "n.ts": "import {a as x} from './m'"},
    "with .mjs": {"m.mjs": ES, "m.d.mts": DECLARED, "n.mjs": "import {a as x} from './m.mjs'"},
    "with .cjs": {"m.cjs": "exports.a = () => 1", "m.d.cts": DECLARED, "n.cjs": "require('./m.cjs').a()"},
    "in CommonJS": {
        "m.js": "exports.a = function () {}",
        "m.d.ts": DECLARED,
        "n.js": "const m = require('./m'); m.a()",
    },
    "a default import of CommonJS": {
        "m.js": "exports.a = function () {}",
        "m.d.ts": DECLARED,
        "n.js": "import m from './m.js'; m.a()",
    },
    "by conditions of a package": {
        "package.json": '{"name":"p","exports":{".":{"types":"./i.d.ts","default":"./lib/i.js"}}}',
        "lib/i.js": ES,
        "i.d.ts": DECLARED,
        "n.js": "import {a as x} from 'p'",
    },
    "by conditions inside of conditions": {
        "package.json": '{"name":"p","exports":{"import":{"types":"./i.d.mts","default":"./i.mjs"},'
        '"require":{"types":"./i.d.cts","default":"./i.cjs"}}}',
        "i.mjs": ES,
        "i.d.mts": DECLARED,
        "i.cjs": "exports.a = function () {}",
        "i.d.cts": DECLARED,
        "n.cjs": "const {a: x} = require('p')",
    },
    "by the pattern of a package": {
        "package.json": '{"name":"p","exports":{"./*":{"types":"./types/*.d.ts","default":"./lib/*.js"}}}',
        "lib/m.js": ES,
        "types/m.d.ts": DECLARED,
        "n.js": "import {a as x} from 'p/m'",
    },
    "by the fields of a package": {
        "package.json": '{"name":"p","types":"./t.d.ts","main":"lib"}',
        "lib/index.js": ES,
        "t.d.ts": DECLARED,
        "n.js": "import {a as x} from 'p'",
    },
    "that a bundler takes instead": {
        "package.json": '{"name":"p","browser":{"./m.js":"./web/k","./lib":"./web/k.js","fs":false}}',
        "m.js": ES,
        "web/k.js": ES,
        "n.js": "import {a as x} from './m'",
    },
    "that a bundler takes instead, in CommonJS": {
        "package.json": '{"react-native":{"./lib/index.js":"./w.js"}}',
        "lib/index.js": "exports.a = function () {}",
        "w.js": "exports.a = function () {}",
        "n.js": "const m = require('./lib'); m.a()",
    },
    "that gives all of another module": {
        "m.js": "export * from './k.js'",
        "k.js": ES,
        "m.d.ts": DECLARED,
        "n.js": "import {a as x} from './m.js'",
    },
    "that describes less": {
        "m.js": ES,
        "m.d.ts": "export declare let c: 1;",
        "n.js": "import {a as x} from './m.js'",
    },
    "that has a type of its own": {
        "m.js": "export let c",
        "m.d.ts": "export interface a {}",
        "n.ts": "import type {a as x} from './m.js'",
    },
    "a stub with a type of its own": {
        "m.py": "c = 1",
        "m.pyi": "class a: ...",
        "n.py": "from m import a as x",
    },
}


def each_start(files: Files) -> Iterator[Files]:
    """The same files with the mark before the name in each of them, one after the other."""
    for path, text in files.items():
        place = re.search(r"\ba\b(?!:)", text) if not path.startswith(("n.", "package")) else None
        if place is not None:
            yield {**files, path: f"{text[: place.start()]}^{text[place.start() :]}"}


@every_case("files", RENAMED.values())
def test_a_name_changes_in_every_form_wherever_the_rename_begins(files: Files) -> None:
    expected = {path: re.sub(r"\ba\b", "b", text) for path, text in files.items()}
    for marked in each_start(files):
        project, symbol, plain = project_with_mark(marked)

        plan = plan_rename(project, symbol, "b")

        assert isinstance(plan, Plan), plan
        assert not plan.reasons
        assert texts_after(project, plain, plan) == expected


UNPROVEN: dict[str, tuple[Files, str]] = {
    "the declaration hides it in a namespace": (
        {
            "m.js": "exports.^a = function () {}",
            "m.d.ts": "declare namespace m { function a(): 1 } export = m;",
        },
        "m.d.ts",
    ),
    "a compiler writes this file": ({"m.js": "export let ^a", "m.ts": "export let a"}, "m.ts"),
    "a compiler writes this declaration": ({"m.d.ts": "export let ^a: 1", "m.ts": "export let a"}, "m.ts"),
}


@pytest.mark.parametrize("case", UNPROVEN)
def test_a_form_that_is_not_proven_to_be_the_same_is_a_reason(case: str) -> None:
    files, path = UNPROVEN[case]
    project, symbol, _ = project_with_mark(files)

    found = project.references(symbol)

    assert [(each.code, each.path) for each in found.reasons] == [("twin_file", path)]
    assert path in {each.path for each in found.items}


def test_a_whole_module_is_followed_through_its_other_form() -> None:
    files = {"m.js": "export let ^a", "m.d.ts": "export {}", "n.js": "import * as m from './m.js'; f(m)"}
    project, symbol, _ = project_with_mark(files)

    assert [each.code for each in project.references(symbol).reasons] == ["whole_module_used"]


def test_move_out_of_a_described_module_is_refused() -> None:
    files = {"m.js": f"{ES.replace(' a', ' ^a')}\nexport const c = 1;\n", "m.d.ts": DECLARED}
    project, symbol, _ = project_with_mark(files)

    moved = plan_move(project, symbol, "t.js")

    assert isinstance(moved, Refusal)
    assert (moved.code, "m.d.ts" in moved.message) == ("twin", True)
    assert isinstance(plan_extract(project, symbol, "t.js"), Plan)


def test_a_move_into_a_described_module_is_refused() -> None:
    project, symbol, _ = project_with_mark({"m.js": "export let ^a = 1;\n", "t.d.ts": "export let c: 1;\n"})

    assert [getattr(plan(project, symbol, "t.js"), "code", "") for plan in (plan_move, plan_extract)] == [
        "twin",
        "twin",
    ]


INSIDE = '{"imports":{"#m":{"node":"./m.js","default":"./k.js"}}}'
OUTSIDE = '{"imports":{"#m":{"node":"fs","default":"./m.js"},"#all/*":["./all/*.js","other/*"]}}'
BROWSER = '{"browser":{"./m.js":"./k.js"}}'
CONDITIONS: dict[str, tuple[str, Files]] = {
    "one of two files": (INSIDE, {"k.js": ES, "n.js": "import {a as x} from '#m'; x();\n"}),
    "all of two files": (INSIDE, {"k.js": ES, "n.js": "export * from '#m';\n"}),
    "another package": (OUTSIDE, {"n.js": "import {a as x} from '#m'; x();\n"}),
    "a whole package": (OUTSIDE, {"n.js": "import * as x from '#m'; x.a();\n"}),
    "all of a package": (OUTSIDE, {"n.js": "export * from '#m';\n"}),
    "another name of a package": (OUTSIDE, {"n.js": "export {a as x} from '#m';\n"}),
    "a file for browsers": (BROWSER, {"k.js": ES, "n.js": "import {a as x} from './m.js'; x();\n"}),
}


@pytest.mark.parametrize("case", CONDITIONS)
def test_importer_that_may_get_another_module_is_left_alone(case: str) -> None:
    manifest, files = CONDITIONS[case]
    whole = {**files, "package.json": manifest, "m.js": f"{ES.replace(' a', ' ^a')}\nexport const c = 1;\n"}
    project, symbol, _ = project_with_mark(whole)

    plan = plan_move(project, symbol, "t.js")

    assert isinstance(plan, Plan), plan
    changed = apply_in_memory(plan, project.source)
    assert sorted(changed) == ["m.js", "t.js"]
    assert changed["m.js"].startswith(b"export { a } from './t.js';\n")


@pytest.mark.parametrize("case", [case for case, (manifest, _) in CONDITIONS.items() if manifest == OUTSIDE])
def test_name_that_another_package_needs_is_not_renamed(case: str) -> None:
    manifest, files = CONDITIONS[case]
    whole = {**files, "package.json": manifest, "m.js": ES.replace(" a", " ^a"), "o.js": "import './n.js'"}
    project, symbol, _ = project_with_mark(whole)

    refusal = plan_rename(project, symbol, "b")
    looked_at = plan_rename(project, symbol, "b", answers=Answers(leave=frozenset({"n.js:1:1"})))

    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.path) == ("external", "n.js")
    assert isinstance(looked_at, Plan)
    assert [(each.code, each.path) for each in looked_at.reasons][:1] == [("left_unproven", "n.js")]


def test_a_private_name_with_one_meaning_is_followed() -> None:
    files = {
        "package.json": '{"name":"p","imports":{"#m":"./m.js","#p":"p","#x":"fs"},"exports":"./m.js"}',
        "m.js": ES.replace(" a", " ^a"),
        "n.js": "import {a as x} from '#m'; import {a as y} from '#p'; import {a as z} from '#x'",
    }
    project, symbol, _ = project_with_mark(files)

    plan = plan_rename(project, symbol, "b")

    assert isinstance(plan, Plan), plan
    assert [edit.path for edit in plan.edits] == ["m.js", "n.js", "n.js"]


def test_file_taken_for_a_package_may_be_used_through_it() -> None:
    files = {
        "package.json": '{"browser":{"util":"./shim.js"},"dependencies":{"util":"1"}}',
        "shim.js": "export function ^a() {}",
        "n.js": "import {a} from 'util'; a()",
    }
    project, symbol, _ = project_with_mark(files)

    reasons = project.references(symbol).reasons

    assert [(each.code, each.path) for each in reasons] == [("unresolved_module", "n.js")]
