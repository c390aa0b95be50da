"""The house stays small enough to see: full folders, what one call reaches, and where operations live."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from handrail.runtime.operation import MODULES
from tests.house.tree import ROOT
from tools.measures import (
    AIMS,
    ENTRIES,
    folder_sizes,
    imported_at_once,
    is_reached,
    measures,
    module_files,
    reach_of,
)

MOST_MODULES_IN_A_FOLDER = 15
MOST_FILES_REACHED = 47
"""By the module of `run.continue`. It can only fall: whoever raises it says why in the decision on rooms."""
ROOMS_OF_OPERATIONS = ("handrail.operations.", "handrail.program.")


def full_folders(modules: Mapping[str, str]) -> list[str]:
    return [
        f"{folder}: {size} modules, the limit is {MOST_MODULES_IN_A_FOLDER}; give a group of them a folder"
        for folder, size in folder_sizes(modules).items()
        if size > MOST_MODULES_IN_A_FOLDER
    ]


def test_no_folder_is_a_flat_list() -> None:
    assert full_folders(module_files(ROOT)) == []


def test_a_folder_with_sixteen_modules_is_reported() -> None:
    planted = {f"handrail.lobby.m{one}": f"src/handrail/lobby/m{one}.py" for one in range(16)}
    planted["handrail.lobby"] = "src/handrail/lobby/__init__.py"

    assert full_folders(planted) == [
        "src/handrail/lobby: 16 modules, the limit is 15; give a group of them a folder"
    ]


def test_an_advance_reaches_few_files() -> None:
    assert len(reach_of(ENTRIES[0], module_files(ROOT))) <= MOST_FILES_REACHED


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

    assert [home for home in MODULES.values() if home not in modules] == []
    assert [home for home in MODULES.values() if not home.startswith(ROOMS_OF_OPERATIONS)] == []
    assert len(set(MODULES.values())) == len(MODULES)


def test_nothing_in_a_room_of_operations_is_named_like_one_and_left_out() -> None:
    defines = []
    for name, path in module_files(ROOT).items():
        if name.startswith(ROOMS_OF_OPERATIONS):
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                defines += [name] if "\nOPERATION = " in file.read() else []

    assert sorted(defines) == sorted(MODULES.values())


def test_an_aim_that_is_not_reached_has_a_reason() -> None:
    found = measures(ROOT)
    missed = [name for name, (aim, _) in AIMS.items() if not is_reached(found[name], aim)]

    assert [name for name in missed if not AIMS[name][1]] == []


@pytest.mark.parametrize(
    ("value", "aim", "expected"),
    [("60", "60", True), ("61", "60", False), ("45 / 9001", "45 / 9000", False), ("64 / 15", "15", True)],
)
def test_a_measure_is_held_against_its_aim(value: str, aim: str, expected: bool) -> None:
    assert is_reached(value, aim) is expected
