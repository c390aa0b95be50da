"""Everything that means one symbol, how it is known, and why something may be missing."""

from __future__ import annotations

from handrail_code.facts.join import References
from tests.code_tools.reading import project_of, project_with_mark
from tests.code_tools.symbols import symbol_at

FILES = {
    "lib/m.js": "export function ^load() {}\nload()",
    "lib/index.js": "export * from './m'; export {load as fetch} from './m'",
    "app.js": "import {load, fetch} from './lib'; load(); fetch(); x.load(); // load",
    "other.js": "import * as all from './lib/index.js'; all.fetch(); all.load",
    "alone.js": "function load() {} load()",
}


def find(files: dict[str, str]) -> References:
    project, symbol, _ = project_with_mark(files)
    return project.references(symbol)


def test_references_come_through_every_alias_with_their_level() -> None:
    found = find(FILES)
    plain = {path: text.replace("^", "") for path, text in FILES.items()}

    shown = [f"{each.path} {plain[each.path][each.start : each.end]} {each.level}" for each in found.items]

    assert shown == [
        "app.js load alias",
        "app.js fetch alias",
        "app.js load alias",
        "app.js fetch alias",
        "app.js load member",
        "app.js load possible",
        "lib/index.js load alias",
        "lib/index.js fetch alias",
        "lib/m.js load exact",
        "lib/m.js load exact",
        "other.js fetch alias",
        "other.js load alias",
    ]


def test_the_same_references_are_found_from_an_import() -> None:
    from_home = find(FILES)
    from_use = find(
        {path: text.replace("^", "") for path, text in FILES.items()}
        | {"app.js": FILES["app.js"].replace("fetch()", "^fetch()")}
    )

    assert from_use.items == from_home.items


def test_a_local_name_is_not_looked_for_in_other_files() -> None:
    found = find({"a.js": "function f() { let ^x; x; y.x }", "b.js": "x; z.x"})

    assert {each.path for each in found.items} == {"a.js"}


def test_an_unreadable_file_is_a_reason() -> None:
    found = find({"a.js": "export let ^x", "b.js": "import {x} from './a'; f((", "c.js": "x\0"})

    assert [(reason.code, reason.path) for reason in found.reasons] == [
        ("parse_error", "b.js"),
        ("unreadable_file", "c.js"),
    ]


def test_name_is_found_behind_many_star_exports() -> None:
    modules = {f"m{at}.ts": f"export const n{at} = {at}\n" for at in range(120)}
    barrel = "".join(f"export * from './m{at}'\n" for at in range(120))
    user = "import {n119} from './barrel'\nn119\n"
    project = project_of({**modules, "barrel.ts": barrel, "user.ts": user})
    symbol = symbol_at(project, "m119.ts", len("export const "))
    assert symbol is not None

    found = project.references(symbol)

    assert [each.path for each in found.items] == ["m119.ts", "user.ts", "user.ts"]
    assert not found.reasons
