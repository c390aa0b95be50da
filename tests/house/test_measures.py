"""The house stays small enough to see: every budget is kept, and operations live where one looks for them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from handrail.wiring import registry
from tests.house.tree import ROOT
from tools.measures import (
    BUDGETS,
    Budget,
    imported_at_once,
    measures,
    module_files,
)

ROOMS_OF_OPERATIONS = (
    "handrail.operations.",
    "handrail.program.",
    "handrail_code.operations.",
    "handrail_proof.",
    "handrail_team.operations.",
)
OF_HOOKS = ("NOTE_COMMAND", "WORK_HERE")
"""No caller asks for these, only the hook of a client."""
MODULES = {
    name: home if ":" in home else f"{home}:OPERATION"
    for part in registry().parts
    for name, home in part.operations.items()
}


def over_budget(found: Mapping[str, int], budgets: Mapping[str, Budget]) -> list[str]:
    """What passed its budget, and what has none: a new package brings a row."""
    return [
        f"{name}: {figure}, the budget is {budget.most}; take something away"
        for name, figure in found.items()
        if figure > (budget := budgets.get(name, Budget(0, 0))).most
    ]


def test_nothing_is_over_its_budget() -> None:
    found = measures(ROOT)

    assert over_budget(found, BUDGETS) == []
    assert [name for name in BUDGETS if name not in found] == []


def test_one_line_too_many_and_a_package_without_a_budget_are_reported() -> None:
    found = {"lines of tests": 10, "lines of handrail": 11, "lines of handrail_new": 1}
    budgets = {"lines of tests": Budget(10, 5), "lines of handrail": Budget(10, 5)}

    assert over_budget(found, budgets) == [
        "lines of handrail: 11, the budget is 10; take something away",
        "lines of handrail_new: 1, the budget is 0; take something away",
    ]


def test_an_import_for_type_checkers_or_inside_a_function_is_not_reached(tmp_path: Path) -> None:
    source = tmp_path / "planted.py"
    source.write_text(
        "from handrail.a import one\n"
        "if TYPE_CHECKING:\n    from handrail.b import two\n"
        "def late():\n    from handrail.c import three\n",
        encoding="utf-8",
    )

    assert [*imported_at_once(str(source), {f"handrail.{name}": "" for name in "abc"})] == ["handrail.a"]


def test_every_operation_stands_in_a_room_of_operations() -> None:
    modules = module_files(ROOT)

    assert [home for home in MODULES.values() if home.partition(":")[0] not in modules] == []
    assert [home for home in MODULES.values() if not home.startswith(ROOMS_OF_OPERATIONS)] == []
    assert len(set(MODULES.values())) == len(MODULES)


def test_nothing_in_a_room_of_operations_is_named_like_one_and_left_out() -> None:
    defines = []
    for name, path in module_files(ROOT).items():
        if name.startswith(ROOMS_OF_OPERATIONS):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                made = re.findall(r"\n([A-Z_]+) = Operation\(", file.read())
                defines += [f"{name}:{one}" for one in made if one not in OF_HOOKS]

    assert sorted(defines) == sorted(MODULES.values())
