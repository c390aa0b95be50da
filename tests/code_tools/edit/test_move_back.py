"""A move there and back restores the bytes, or its preview names the files that will differ."""

from __future__ import annotations

from handrail_code.facts.join import Found
from handrail_code.operations.edit_plans import make_plan
from tests.cases import every_case
from tests.code_tools.reading import found_with_mark, project_of

WAYS = {
    "the last of its module": (
        {"a.js": "export const k = 1\n\nexport function ^f() {}\n", "b.js": "export const l = 1\n"},
        [],
    ),
    "the first of its module": (
        {"a.js": "export function ^f() {}\n\nexport const k = 1\n", "b.js": "export const l = 1\n"},
        ["a.js"],
    ),
    "the only one of its module, whose lines end otherwise": (
        {"a.js": "export function ^f() {\r\n}\r\n", "b.js": "export const l = 1\r\n"},
        [],
    ),
    "named where it is imported": (
        {
            "c.js": "export function f() {}\n",
            "a.js": "import { ^f } from './c.js'\nexport const h = () => f()\n",
        },
        ["a.js", "c.js"],
    ),
    "the first of a list": (
        {
            "a.js": "export const k = 1\n\nexport function ^f() {}\n",
            "b.js": "export const l = 1\n",
            "c.js": "import { f, k } from './a.js'\nf(k)\n",
        },
        ["c.js"],
    ),
}


@every_case("case", WAYS)
def test_preview_of_a_move_names_what_the_way_back_changes(case: str) -> None:
    files, different = WAYS[case]
    project, found, plain = found_with_mark(files)

    other = found.path.replace("a.", "b.")
    there = make_plan(project, "move", found, {"to_module": other})

    texts = plain | {path: text.decode() for path, text in there.texts.items()}
    moved = project_of({path: text for path, text in texts.items() if path not in there.plan.removed})
    facts = moved.facts(other)
    assert facts is not None
    at = next(at for at, each in enumerate(facts.definitions) if each.name == "f")
    target = Found(path=other, index=at, definition=facts.definitions[at])
    back = make_plan(moved, "move", target, {"to_module": found.path})
    after = plain | {path: text.decode() for path, text in (there.texts | back.texts).items()}
    assert [path for path in sorted(after) if after[path] != plain.get(path, "")] == different
    assert [path for path in sorted(plain) if path in there.note] == different
    assert bool(there.note) is bool(different)
