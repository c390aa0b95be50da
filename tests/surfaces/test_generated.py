"""Generated files are current, complete, and made of one source."""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.contract.catalogue import KINDS
from handrail.engine.events import EVENT_KINDS
from handrail.runtime.operation import OPERATION_NAMES
from handrail.surfaces.cli.call import OWN_OPERATION_NAMES
from handrail.surfaces.cli.commands.all import ROWS
from handrail.surfaces.cli.commands.global_flags import GLOBAL_FLAGS
from handrail.surfaces.cli.reading import _table
from handrail.surfaces.cli.self_description import _catalog
from tests.house.markdown import links
from tests.house.tree import ROOT
from tools.generate import generated_files, main, stale_files, write_files


@pytest.fixture(scope="module")
def contents() -> dict[str, str]:
    return generated_files()


@pytest.fixture
def copy(tmp_path: Path, contents: dict[str, str]) -> str:
    """A tree in which every generated file is current."""
    for path, content in contents.items():
        os.makedirs(tmp_path / os.path.dirname(path), exist_ok=True)
        (tmp_path / path).write_text(content, encoding="utf-8")
    return str(tmp_path)


@pytest.mark.promise("cli.contract-published")
@pytest.mark.promise("cli.changelog")
def test_every_generated_file_is_current(contents: dict[str, str]) -> None:
    assert stale_files(contents) == [], "run python tools/generate.py"


def test_the_attributes_mark_exactly_the_generated_files(contents: dict[str, str]) -> None:
    with open(os.path.join(ROOT, ".gitattributes"), encoding="utf-8") as file:
        rows = [line.split() for line in file if not line.startswith("#")]

    assert {path for path, *_ in rows} == set(contents) - {".gitattributes"}
    assert {mark for _, *marks in rows for mark in marks} == {"linguist-generated=true"}


def test_the_list_of_reference_pages_names_each_of_them(contents: dict[str, str]) -> None:
    listed = [target for _, target in links(contents["docs/reference/index.md"])]

    assert listed == sorted(set(os.listdir(os.path.join(ROOT, "docs/reference"))) - {"index.md"})


@pytest.mark.parametrize("path", ["src/handrail/surfaces/cli/reading/_table.py", "schemas/operations.json"])
def test_a_changed_file_is_named_and_written_anew(contents: dict[str, str], copy: str, path: str) -> None:
    with open(os.path.join(copy, path), "a", encoding="utf-8") as file:
        file.write("\n")

    assert stale_files(contents, copy) == [path]
    assert write_files(contents, copy) == [path]
    assert stale_files(contents, copy) == []


def test_a_missing_file_is_named_and_written(contents: dict[str, str], copy: str) -> None:
    os.remove(os.path.join(copy, "docs/reference/errors.md"))

    assert write_files(contents, copy) == ["docs/reference/errors.md"]
    assert stale_files(contents, copy) == []


def test_the_check_fails_and_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.generate.generated_files", lambda: {"docs/reference/cli.md": "# Changed\n"})

    status = main(["--check"])

    assert status == 1
    assert "docs/reference/cli.md" in capsys.readouterr().err


def test_the_check_passes_when_nothing_is_stale(
    monkeypatch: pytest.MonkeyPatch, contents: dict[str, str]
) -> None:
    monkeypatch.setattr("tools.generate.generated_files", lambda: contents)

    assert main(["--check"]) == 0


def test_an_unknown_argument_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--chek"]) == 2
    assert "Usage:" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["reading/_table.py", "self_description/_catalog.py"])
def test_the_tables_are_literals_and_import_nothing_at_run_time(contents: dict[str, str], name: str) -> None:
    tree = ast.parse(contents[f"src/handrail/surfaces/cli/{name}"])

    assigned = [node for node in tree.body if isinstance(node, ast.AnnAssign) and node.value is not None]
    imported = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]

    assert [ast.unparse(node.target) for node in assigned] == ["GLOBALS", "COMMANDS"]
    assert all(ast.literal_eval(node.value) for node in assigned if node.value is not None)
    assert imported == ["__future__"]


def test_every_operation_has_exactly_one_command() -> None:
    offered = [command["operation"] for command in _table.COMMANDS.values() if command["operation"]]

    assert sorted(offered) == sorted((*OPERATION_NAMES, *OWN_OPERATION_NAMES))


def test_a_path_is_a_leaf_or_a_group_and_never_both() -> None:
    paths = set(_table.COMMANDS)

    assert not any(other.startswith(path + " ") for path in paths for other in paths)


def test_no_command_has_two_meanings_for_one_flag() -> None:
    shared = {param["flag"] for param in _table.GLOBALS}

    for path, command in _table.COMMANDS.items():
        own = [param["flag"] for param in command["params"] if param["flag"]]
        assert len(own) == len(set(own)), path
        assert not shared & set(own), path


def test_positions_are_numbered_from_one_and_only_the_last_is_plural() -> None:
    for path, command in _table.COMMANDS.items():
        positions = [param for param in command["params"] if param["position"]]

        assert [param["position"] for param in positions] == list(range(1, len(positions) + 1)), path
        assert not any(param["is_plural"] for param in positions[:-1]), path


def test_every_command_is_described_with_an_example_and_its_flags() -> None:
    assert list(_catalog.COMMANDS) == list(_table.COMMANDS) == [row.path for row in ROWS]
    for path, entry in _catalog.COMMANDS.items():
        assert entry["summary"].endswith("."), path
        assert entry["examples"], path
        assert all(example.startswith(f"handrail {path}") for example in entry["examples"])
        assert all(param["text"].endswith((".", "?")) for param in entry["params"]), path
        assert set(entry["errors"]) <= set(KINDS), path


def test_every_global_flag_is_on_the_page(contents: dict[str, str]) -> None:
    page = contents["docs/reference/cli.md"]

    for flag in GLOBAL_FLAGS:
        assert f"`{flag.flag}" in page
        assert not flag.environment or f"`{flag.environment}`" in page


def test_every_row_and_event_has_its_heading(contents: dict[str, str]) -> None:
    errors, events = contents["docs/reference/errors.md"], contents["docs/reference/events.md"]

    assert all(f"\n## {code}\n" in errors for code in KINDS)
    assert all(f"\n## {kind}\n" in events for kind in EVENT_KINDS)


def test_every_operation_has_a_valid_schema(contents: dict[str, str]) -> None:
    document: Any = json.loads(contents["schemas/operations.json"])
    parts = {
        f"{name} {part}": described[part]
        for name, described in document["operations"].items()
        for part in ("input", "output")
    }

    assert list(document["operations"]) == list(OPERATION_NAMES)
    Draft202012Validator.check_schema({"$defs": {**document["$defs"], **parts}})
    for name, part in parts.items():
        Draft202012Validator({**part, "$defs": document["$defs"]}).is_valid({})  # every reference resolves
        assert part, name


def test_the_input_schema_takes_what_the_command_line_sends(contents: dict[str, str]) -> None:
    document: Any = json.loads(contents["schemas/operations.json"])
    schema = {**document["operations"]["run.continue"]["input"], "$defs": document["$defs"]}
    validator = Draft202012Validator(schema)

    assert validator.is_valid({"ackToken": "ak1", "output": {"notesMarkdown": "x"}, "context": {"a": None}})
    assert not validator.is_valid({"ackToken": "ak1", "notes": "x"})
