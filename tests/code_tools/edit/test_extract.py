"""Extracting a declaration: what comes along, what stays, and what is refused."""

from __future__ import annotations

import pytest

from handrail.code_tools.edit.extract import apply_with_new_files, name_module, plan_extract
from handrail.code_tools.edit.plan import Plan, Refusal
from handrail.code_tools.facts.join import Project
from handrail.code_tools.facts.source import MemorySource
from handrail.code_tools.languages.extensions import language_of
from handrail.code_tools.languages.reading import read_facts


def plan(files: dict[str, str], name: str, to_module: str = "") -> tuple[Plan | Refusal, dict[str, bytes]]:
    texts = {path: text.encode() for path, text in files.items()}
    project = Project(MemorySource(texts, read_facts, lambda path: language_of(path) is not None))
    return plan_extract(project, project.find_definitions(name)[0], to_module), texts


def extract(files: dict[str, str], name: str, to_module: str = "") -> dict[str, str]:
    made, texts = plan(files, name, to_module)
    assert isinstance(made, Plan), made
    return {path: text.decode() for path, text in apply_with_new_files(made, texts).items()}


def refuse(files: dict[str, str], name: str, to_module: str = "") -> str:
    made, _ = plan(files, name, to_module)
    assert isinstance(made, Refusal), made
    return made.code


def test_a_function_takes_its_imports_along_and_leaves_an_export() -> None:
    files = {
        "src/app.ts": "import fs, { join as glue } from 'node:path';\nimport * as up from '../up';\n"
        "import type { Shape } from './shape';\nimport { unused } from './unused';\n\n"
        "// One line.\n/* And\n a block. */\n"
        "export async function load(shape: Shape) {\n  return glue(fs.sep, up.here, load, shape);\n}\n\n"
        "export const rest = unused;\n",
        "up.ts": "export const here = 1;\n",
        "src/shape.ts": "export type Shape = 1;\n",
        "src/unused.ts": "export const unused = 1;\n",
    }

    after = extract(files, "load", "src/deep/load.ts")

    assert after["src/deep/load.ts"] == (
        "import fs from 'node:path';\nimport { join as glue } from 'node:path';\n"
        "import * as up from '../../up';\nimport type { Shape } from '../shape';\n\n"
        "// One line.\n/* And\n a block. */\n"
        "export async function load(shape: Shape) {\n  return glue(fs.sep, up.here, load, shape);\n}\n"
    )
    assert after["src/app.ts"] == (
        "import fs, { join as glue } from 'node:path';\nimport * as up from '../up';\n"
        "import type { Shape } from './shape';\nimport { unused } from './unused';\n"
        "export { load } from './deep/load';\n\n"
        "export const rest = unused;\n"
    )


def test_a_function_may_use_what_its_module_exports() -> None:
    text = "export const base = 1;\nexport const f = 2;\nfunction sum() {\n  return base + f;\n}\nsum();\n"

    after = extract({"a.js": text}, "sum")

    assert after["sum.js"] == (
        "import { base } from './a.js';\nimport { f } from './a.js';\n\n"
        "export function sum() {\n  return base + f;\n}\n"
    )
    assert after["a.js"] == (
        "import { sum } from './sum.js';\nexport const base = 1;\nexport const f = 2;\nsum();\n"
    )


@pytest.mark.parametrize(
    ("source", "name", "code"),
    [
        ("const hidden = 1;\nexport function f() { return hidden; }\n", "f", "captured"),
        ("export let n = 0;\nexport function f() { n += 1; }\n", "f", "captured"),
        ("export const one = 1;\nexport const two = one + 1;\n", "two", "captured"),
        ("export let f = () => 1;\nf = 2;\n", "f", "member"),
        ("export const a = 1, b = 2;\n", "a", "member"),
        ("export const a = 1; export const b = 2;\n", "a", "member"),
        ("export default function f() {}\n", "f", "member"),
        ("export class C { m() {} }\n", "m", "member"),
        ("module.exports = { f };\nfunction f() {}\n", "f", "external"),
        ("export function f() {}\nlet x = (;\n", "f", "parse_error"),
    ],
)
def test_what_cannot_be_taken_along_is_refused(source: str, name: str, code: str) -> None:
    assert refuse({"module.js": source}, name) == code


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("../out.js", "invalid_name"),
        ("/out.js", "invalid_name"),
        ("a//b.js", "invalid_name"),
        ("b.ts", "invalid_name"),
        ("b.js", "collision"),
    ],
)
def test_the_new_module_is_a_new_file_in_the_project(target: str, code: str) -> None:
    files = {"a.js": "export function f() {}\n", "b.js": "export const b = 1;\n"}

    assert refuse(files, "f", target) == code


def test_a_module_is_named_after_what_it_holds() -> None:
    assert name_module("src/app.tsx", "fetchData") == "src/fetch-data.tsx"
    assert name_module("app.js", "URLParser2") == "urlparser2.js"
