"""Modules that are named in quotes and not imported: a move lists them, and never leads them elsewhere."""

from __future__ import annotations

import pytest

from handrail_code.edit.plan import Plan, Refusal
from tests.code_tools.edit.test_move import FUNCTION, LEFT, move
from tests.code_tools.planning import plan_move
from tests.code_tools.reading import project_with_mark

IN_QUOTES = [
    "jest.mock('./m.js');",
    "vi.mock('./m.js', () => ({ a: 1 }));",
    "require.resolve('./m.js');",
    "new Worker(new URL('./m.js', import.meta.url));",
]


@pytest.mark.parametrize("line", IN_QUOTES)
def test_a_module_that_is_named_and_not_imported_is_listed(line: str) -> None:
    files = {"m.js": FUNCTION, "n.js": f"import {{ a }} from './m.js';\n// not './m.js'\n{line}\na();\n"}
    project, symbol, plain = project_with_mark(files)

    plan = plan_move(project, symbol, "t.js")

    assert isinstance(plan, Plan)
    assert [(reason.code, reason.path) for reason in plan.reasons] == [("module_named", "n.js")]
    assert plain["n.js"][plan.reasons[0].start : plan.reasons[0].end] == "./m.js"
    assert plan.reasons


@pytest.mark.parametrize("line", IN_QUOTES[:3])
def test_a_path_in_the_moved_text_stays_in_its_folder(line: str) -> None:
    files = {"n.js": f"export function ^a() {{\n  {line}\n}}\n\nexport const z = 1;\n", "m.js": LEFT}

    refusal = move(files, "deep/t.js")
    beside = move(files, "t.js")

    assert isinstance(refusal, Refusal)
    assert (refusal.code, refusal.path) == ("place_dependent", "n.js")
    assert isinstance(beside, dict)
    assert line in beside["t.js"]


def test_literal_import_is_written_for_its_new_folder() -> None:
    files = {"n.js": "export const ^a = () => import('./m.js');\nexport const z = 1;\n", "m.js": LEFT}

    after = move(files, "deep/t.js")

    assert isinstance(after, dict)
    assert "import('../m.js')" in after["deep/t.js"]
