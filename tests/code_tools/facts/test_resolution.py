"""Which file a module name means."""

from __future__ import annotations

import pytest

from handrail_code.facts.compiler_settings import read_jsonc
from handrail_code.facts.resolution import Resolved
from tests.cases import every_case
from tests.code_tools.edit.test_rename import rename
from tests.code_tools.reading import project_of, project_with_mark

FILES = dict.fromkeys(
    (
        *("a.js", "b.ts", "b.js", "c.tsx", "d.d.ts", "d.js", "e.mts", "f.cts", "g.mjs", "h.jsx", "i.min.js"),
        *("dir/index.js", "both.ts", "both/index.ts", "main/lib/entry.js", "deep/a/b.ts", "deep/c.ts"),
        *("src/app/x.ts", "src/shared/y.ts", "src/shared/index.ts"),
        *("packages/one/src/index.ts", "packages/one/src/part.ts", "packages/two/src/main.ts"),
        *("packages/three/lib/index.js", "packages/four/internal/deep.js", "packages/four/index.js"),
    ),
    "",
) | {
    "data.json": "{}",
    "main/package.json": '{"main": "./lib/entry.js"}',
    "tsconfig.json": """{
        // comments and trailing commas are what people write
        "extends": "./tsconfig.shared",
        "compilerOptions": { "strict": true, },
    }""",
    "deep/jsconfig.json": '{"compilerOptions": {"baseUrl": ".", "paths": {"up/*": ["../*"]}}}',
    "tsconfig.shared.json": """{"compilerOptions": {
        "paths": {"@/*": ["src/*"], "@/app/*": ["src/app/*"], "only": ["src/shared"]}
    }}""",
    "packages/one/package.json": """{
        "name": "@scope/one",
        "exports": {
            ".": {"types": "./src/index.ts", "default": "./dist/index.js"},
            "./*": "./src/*.ts",
            "./hidden": null
        }
    }""",
    "packages/two/package.json": '{"name": "two", "main": "src/main.js"}',
    "packages/three/package.json": '{"name": "three", "exports": "./lib/index.js"}',
    "packages/four/package.json": """{
        "name": "four",
        "imports": {"#deep": "./internal/deep.js", "#in/*": "./internal/*.js", "#two": "two"}
    }""",
}

CASES = {
    ("x.js", "./a"): "a.js",
    ("x.js", "./a.js"): "a.js",
    ("x.js", "./b"): "b.ts",
    ("x.js", "./b.js"): "b.ts",
    ("x.js", "./c"): "c.tsx",
    ("x.js", "./c.jsx"): "c.tsx",
    ("x.js", "./d"): "d.d.ts",
    ("x.js", "./e.mjs"): "e.mts",
    ("x.js", "./f.cjs"): "f.cts",
    ("x.js", "./g.mjs"): "g.mjs",
    ("x.js", "./h"): "h.jsx",
    ("x.js", "./i.min"): "i.min.js",
    ("x.js", "./dir"): "dir/index.js",
    ("x.js", "./dir/"): "dir/index.js",
    ("dir/index.js", "."): "dir/index.js",
    ("dir/x.js", ".."): None,
    ("x.js", "./both"): "both.ts",
    ("x.js", "./main"): "main/lib/entry.js",
    ("deep/a/b.ts", "../c"): "deep/c.ts",
    ("deep/a/b.ts", "../../a"): "a.js",
    ("deep/a/b.ts", "../../../a"): None,
    ("x.js", "./absent"): None,
    ("src/app/x.ts", "@/shared/y"): "src/shared/y.ts",
    ("src/app/x.ts", "@/app/x"): "src/app/x.ts",
    ("src/app/x.ts", "@/shared"): "src/shared/index.ts",
    ("src/app/x.ts", "only"): "src/shared/index.ts",
    ("deep/a/b.ts", "c"): "deep/c.ts",
    ("deep/a/b.ts", "up/a"): "a.js",
    ("x.js", "@scope/one"): "packages/one/src/index.ts",
    ("x.js", "@scope/one/part"): "packages/one/src/part.ts",
    ("x.js", "two"): "packages/two/src/main.ts",
    ("x.js", "two/src/main"): "packages/two/src/main.ts",
    ("x.js", "three"): "packages/three/lib/index.js",
    ("packages/four/index.js", "#deep"): "packages/four/internal/deep.js",
    ("packages/four/internal/deep.js", "#in/deep"): "packages/four/internal/deep.js",
    ("packages/four/index.js", "#two"): "packages/two/src/main.ts",
    ("packages/four/index.js", "#absent"): None,
}
EXTERNAL = ["react", "node:fs", "@scope/other", "@scope/one/hidden", "three/lib/index.js", "./data.json"]


@every_case(("importer", "specifier"), CASES)
def test_a_module_name_means_one_file(importer: str, specifier: str) -> None:
    expected = CASES[importer, specifier]

    found = project_of(FILES).slots.resolve(importer, specifier)

    assert found == (None if expected is None else Resolved(path=expected))


@every_case("specifier", EXTERNAL)
def test_what_is_no_source_of_the_project_is_external(specifier: str) -> None:
    assert project_of(FILES).slots.resolve("x.js", specifier) is None


@every_case(("importer", "specifier"), [key for key, path in CASES.items() if path])
def test_an_importer_is_found_by_a_text_that_it_must_have(importer: str, specifier: str) -> None:
    """The prefilter for default exports: none of the names above may slip through it."""
    path = CASES[importer, specifier]
    assert path is not None

    spellings = project_of(FILES).slots.modules.spellings(path)

    assert any(text in specifier for text in spellings) or specifier.strip("./") == ""


SETTINGS: dict[str, tuple[dict[str, str], str, str]] = {
    "a base of any name": (
        {
            "tsconfig.json": '{"extends": "./base.json"}',
            "base.json": '{"compilerOptions": {"paths": {"~/*": ["./src/*"]}}}',
        },
        "~/x",
        "src/x.ts",
    ),
    "the last of several bases": (
        {
            "tsconfig.json": '{"extends": ["./one", "./two.json"]}',
            "one.json": '{"compilerOptions": {"paths": {"~/*": ["./gen/*"]}}}',
            "two.json": '{"compilerOptions": {"paths": {"~/*": ["./src/*"]}}}',
        },
        "~/x",
        "src/x.ts",
    ),
    "a base in a package of the project": (
        {
            "tsconfig.json": '{"extends": "@own/config/base.json"}',
            "config/package.json": '{"name": "@own/config"}',
            "config/base.json": '{"compilerOptions": {"paths": {"~/*": ["${configDir}/src/*"]}}}',
        },
        "~/x",
        "src/x.ts",
    ),
    "a base of a base with the folder of all": (
        {
            "tsconfig.json": '{"extends": "./a/one.json"}',
            "a/one.json": '{"extends": "./two.json", "compilerOptions": {"paths": {"~/*": ["src/*"]}}}',
            "a/two.json": '{"compilerOptions": {"baseUrl": ".."}}',
        },
        "~/x",
        "src/x.ts",
    ),
    "a project that is referred to": (
        {
            "tsconfig.json": '{"references": [{"path": "./tsconfig.app.json"}, {"path": "none"}]}',
            "tsconfig.app.json": '{"compilerOptions": {"paths": {"~/*": ["./src/*"]}}}',
        },
        "~/x",
        "src/x.ts",
    ),
    "folders that count as one": (
        {"tsconfig.json": '{"compilerOptions": {"rootDirs": ["src", "gen", "."]}}'},
        "./y",
        "gen/y.ts",
    ),
}


@every_case(("settings", "specifier", "expected"), SETTINGS.values())
def test_settings_are_put_together(settings: dict[str, str], specifier: str, expected: str) -> None:
    project = project_of(settings | {"src/x.ts": "", "gen/x.ts": "", "gen/y.ts": "", "src/main.ts": ""})

    assert project.slots.resolve("src/main.ts", specifier) == Resolved(path=expected)


@every_case(
    ("files", "specifier", "is_told"),
    [
        ({"tsconfig.json": '{"extends": "elsewhere/base.json"}'}, "any", True),
        ({}, "~/x", True),
        ({}, "~/y", False),
        ({"package.json": '{"dependencies": {"~": "1"}}'}, "~/x", False),
        ({}, "./gone/x.js", True),
        ({}, "fs", False),
        ({"src/package.json": '{"name": "own", "exports": "./dist/x.js"}'}, "own", True),
        ({"other/package.json": '{"name": "own", "exports": "./dist/x.js"}'}, "own", False),
    ],
)
def test_a_module_name_that_may_mean_the_file_is_told(
    files: dict[str, str], specifier: str, is_told: bool
) -> None:
    text = f"import {{a}} from '{specifier}'"
    project, symbol, _ = project_with_mark(files | {"src/x.ts": "export let ^a", "main.ts": text})

    found = project.references(symbol)

    told = [(each.code, each.path) for each in found.reasons]
    assert told == ([("unresolved_module", "main.ts")] if is_told else [])
    assert (("main.ts", text.index(specifier)) in [(one.path, one.start) for one in found.items]) == is_told


@pytest.mark.parametrize("start", ["c.js", "s.js"])
def test_every_condition_of_a_package_is_followed(start: str) -> None:
    files = {
        "package.json": '{"name": "own", "exports": {"./c": {"special": "./s.js", "default": "./c.js"}}}',
        "c.js": "export const a = 3",
        "s.js": "export const a = 33",
        "m.js": "import {a} from 'own/c'; a",
        "other.js": "export const a = 4",
    }
    marked = files | {start: files[start].replace("a =", "^a =")}

    changed = rename(marked)

    assert changed == files | {
        "c.js": "export const b = 3",
        "s.js": "export const b = 33",
        "m.js": "import {b} from 'own/c'; b",
    }
    project, symbol, _ = project_with_mark(marked)
    assert {each.path for each in project.references(symbol).items} == {"c.js", "m.js", "s.js"}


@pytest.mark.parametrize("settings", ['{"extends": "./tsconfig.json"}', "[]", '{"compilerOptions": 1}', "{"])
def test_broken_settings_end_nothing(settings: str) -> None:
    project = project_of({"tsconfig.json": settings, "a.ts": "", "package.json": settings})

    assert project.slots.resolve("a.ts", "b") is None


@every_case(
    ("text", "expected"),
    [
        ('{"a": 1, // b\n}', {"a": 1}),
        ('{"a": "// no comment", /* c */ "b": [1, 2,],}', {"a": "// no comment", "b": [1, 2]}),
        ('\ufeff{"a": ",}"}', {"a": ",}"}),
        ("{", None),
        ("[" * 100_000, None),
    ],
)
def test_json_may_have_comments_and_trailing_commas(text: str, expected: object) -> None:
    assert read_jsonc(text) == expected
