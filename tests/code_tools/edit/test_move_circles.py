"""Modules that load each other: a move must not make one need a name that is not made yet."""

from __future__ import annotations

import pytest

from handrail_code.edit.moving import cycles
from handrail_code.edit.plan import Refusal
from tests.code_tools.edit.test_move import Files, move

CIRCLES: dict[str, tuple[Files, str]] = {
    "an early use in a circle": (
        {"m.js": "export const k = 1;\nexport const ^a = k + 1;\nexport const l = a;\n"},
        "when it is loaded",
    ),
    "a circle of CommonJS": (
        {"m.js": "const k = 1;\nfunction ^a() { return k }\nconst l = a();\nmodule.exports = { k, a, l };\n"},
        "when it is loaded",
    ),
    "an early use in a circle that there is": (
        {
            "m.js": "import { t } from './t.js';\nexport const ^a = 1;\nexport const l = a;\n"
            "export const f = () => t;\n",
            "t.js": "import { f } from './m.js';\nexport const t = () => f();\n",
        },
        "m.js needs t.js when it is loaded",
    ),
    "another order in a circle that there is": (
        {  # whoever loads n.js first would load t.js before it
            "k.js": "import { n } from './n.js';\nexport class K {}\nexport const f = () => n;\n",
            "n.js": "import { a } from './m.js';\nimport { K } from './k.js';\nexport class N extends K {}\n"
            "export const n = () => a();\n",
            "m.js": "export function ^a() {}\nexport const z = 1;\n",
            "t.js": "import { f } from './k.js';\nimport { N } from './n.js';\nexport class T extends N {}\n"
            "export const t = () => f;\n",
        },
        "when it is loaded",
    ),
}


@pytest.mark.parametrize("case", CIRCLES)
def test_a_name_that_would_be_needed_too_early_is_not_moved(case: str) -> None:
    files, words = CIRCLES[case]

    refusal = move(files)

    assert isinstance(refusal, Refusal), refusal
    assert (refusal.code, words in refusal.message) == ("cycle", True), refusal


def test_early_need_of_a_circle_does_not_stop_moving_out() -> None:
    files = {
        "m.js": "import { N } from './n.js';\nexport class M extends N {}\nexport function ^a() {}\n",
        "n.js": "import { a } from './m.js';\nexport class N {}\nexport const n = () => a();\n",
    }

    after = move(files)

    assert isinstance(after, dict), after
    assert after["n.js"].startswith("import { a } from './t.js';\n")


def test_in_a_large_circle_every_early_use_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cycles, "MAX_CIRCLE", 1)
    files = {
        "m.js": "import { N } from './n.js';\nexport class M extends N {}\nexport function ^a() {}\n",
        "n.js": "import { M } from './m.js';\nexport class N {}\nexport const n = () => M;\n",
    }

    refusal = move(files)

    assert isinstance(refusal, Refusal)
    assert refusal.code == "cycle"
