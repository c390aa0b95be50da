"""What a moved declaration needs comes along: imports of the target, and neighbours on request."""

from __future__ import annotations

import pytest

from tests.code_tools.edit.test_move import Files, move

TYPES: dict[str, tuple[Files, Files]] = {
    "what the target imports as a type alone and the moved text needs as a value": (
        {
            "m.ts": "export class K {}\n\nexport const ^a = () => new K();\n",
            "t.ts": "import type { K } from './m';\n\nexport const k = (it: K) => it;\n",
        },
        {
            "m.ts": "export class K {}\n",
            "t.ts": "import { K } from './m';\n\nexport const k = (it: K) => it;\n\n"
            "export const a = () => new K();\n",
        },
    ),
    "the same among other names, from a third module": (
        {
            "k.ts": "export class K {}\nexport const l = 1;\n",
            "m.ts": "import { K } from './k';\n\nexport const ^a = () => new K();\nexport const b = 1;\n",
            "t.ts": "import { type K, l } from './k';\n\nexport const k = (it: K) => l;\n",
        },
        {
            "k.ts": "export class K {}\nexport const l = 1;\n",
            "m.ts": "export const b = 1;\n",
            "t.ts": "import { l, K } from './k';\n\nexport const k = (it: K) => l;\n\n"
            "export const a = () => new K();\n",
        },
    ),
}


@pytest.mark.parametrize("case", TYPES)
def test_a_value_is_not_taken_from_an_import_of_its_type(case: str) -> None:
    files, after = TYPES[case]

    assert move(files, "t.ts") == after


def test_what_it_needs_is_exported_on_request() -> None:
    files = {"m.js": "const k = 1;\n\nexport function ^a() { return k }\n"}

    assert move(files, is_exporting=True) == {
        "m.js": "export const k = 1;\n",
        "t.js": "import { k } from './m.js';\n\nexport function a() { return k }\n",
    }


def test_what_is_needed_may_stand_at_the_first_byte() -> None:
    moved = move({"m.js": "const b = 1;\nexport const ^a = b;\n"}, is_exporting=True)

    assert moved == {
        "m.js": "export const b = 1;\n",
        "t.js": "import { b } from './m.js';\n\nexport const a = b;\n",
    }


def test_file_that_node_loads_gets_imports_that_node_loads() -> None:
    files = {
        "k.js": "export const k = 1;\n",
        "m.js": "import { k } from './k';\n\nexport const ^a = () => k;\nexport const b = 1;\n",
        "t.js": "export const t = 1;\n",
    }
    needy = "export const a = () => k;\n"

    into_t, into_new = move(files), move(files, "new.js")

    assert isinstance(into_t, dict)
    assert isinstance(into_new, dict)
    assert into_t["t.js"] == "import { k } from './k.js';\n\nexport const t = 1;\n\n" + needy
    assert into_new["new.js"] == "import { k } from './k';\n\n" + needy  # as the file that it comes from
