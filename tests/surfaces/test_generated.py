"""Generated files are current, complete, and made of one source."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.contract.catalogue import KINDS
from handrail.engine.events import EVENT_KINDS
from handrail.surfaces.cli.call import OWN_OPERATION_NAMES
from handrail.surfaces.cli.reading.command_table import COMMANDS, GLOBALS
from handrail.surfaces.cli.reading.parse import words_of
from handrail.surfaces.cli.self_description.help_table import read_help
from handrail.surfaces.mcp.tools import offered_tools
from handrail.wiring import registry
from handrail.workflows.editor_schema import workflow_json_schema
from handrail_code.mcp.tool_set import tools
from tests.house.markdown import links
from tests.house.tree import ROOT, page
from tools.commands import merged
from tools.commands.merged import rows
from tools.commands.rows import GLOBAL_FLAGS
from tools.generate import generated_files, main, stale_files, write_files
from tools.operation_schemas import operation_schemas
from tools.workflow_pages import workflow_pages

WITHOUT_A_COMMAND = {"session.search", "team.admit"}
"""`session list --query` looks in the same texts; the Console shows the places."""

GATED_BY_THE_OPERATION = {("--out", "workflow convert"), ("--out", "workflow fmt")}
"""The file is one of the project, so the operation itself writes it, after a dry run."""


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
@pytest.mark.thorough
def test_every_generated_file_is_current(contents: dict[str, str]) -> None:
    assert stale_files(contents) == [], "run python tools/generate.py"


@pytest.mark.thorough
def test_the_attributes_mark_exactly_the_generated_files(contents: dict[str, str]) -> None:
    with open(os.path.join(ROOT, ".gitattributes"), encoding="utf-8") as file:
        rows = [line.split() for line in file if not line.startswith("#")]

    by_hand = workflow_pages(ROOT).keys()  # but for their tables: a review has to read them
    assert {path for path, *_ in rows} == set(contents) - {".gitattributes"} - by_hand
    assert {mark for _, *marks in rows for mark in marks} == {"linguist-generated=true"}


def test_the_list_of_reference_pages_names_each_of_them() -> None:
    listed = [target for _, target in links(page("docs/reference/index.md").text)]

    assert listed == sorted(set(os.listdir(os.path.join(ROOT, "docs/reference"))) - {"index.md"})


@pytest.mark.thorough
@pytest.mark.parametrize("path", ["src/handrail/packed/commands.json", "schemas/contract.json"])
def test_a_changed_file_is_named_and_written_anew(contents: dict[str, str], copy: str, path: str) -> None:
    with open(os.path.join(copy, path), "a", encoding="utf-8") as file:
        file.write("\n")

    assert stale_files(contents, copy) == [path]
    assert write_files(contents, copy) == [path]
    assert stale_files(contents, copy) == []


@pytest.mark.thorough
def test_a_missing_file_is_named_and_written(contents: dict[str, str], copy: str) -> None:
    os.remove(os.path.join(copy, "docs/reference/errors.md"))

    assert write_files(contents, copy) == ["docs/reference/errors.md"]
    assert stale_files(contents, copy) == []


@pytest.mark.thorough
def test_the_check_fails_and_names_the_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.generate.generated_files", lambda: {"docs/reference/cli.md": "# Changed\n"})

    status = main(["--check"])

    assert status == 1
    assert "docs/reference/cli.md" in capsys.readouterr().err


def test_the_check_passes_when_nothing_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    current = {"README.md": page("README.md").text}
    monkeypatch.setattr("tools.generate.generated_files", lambda: current)

    assert main(["--check"]) == 0


def test_the_schemas_are_written_where_somebody_wants_them(tmp_path: Path) -> None:
    assert main(["--schemas", str(tmp_path)]) == 0

    written = {path.name: json.loads(path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()}
    assert written["workflow.schema.json"] == workflow_json_schema()
    assert list(written["operations.json"]["operations"]) == list(registry().names)
    assert [tool["name"] for tool in written["mcp-tools.json"]] == list(offered_tools(start_session=True))
    assert [tool["name"] for tool in written["mcp-code-tools.json"]] == list(tools())


def test_an_unknown_argument_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--chek"]) == 2
    assert "Usage:" in capsys.readouterr().err


@pytest.mark.thorough
def test_command_table_reads_back_what_was_merged() -> None:
    assert json.dumps(COMMANDS) == json.dumps(merged.commands(registry()))
    assert json.dumps(read_help()) == json.dumps(merged.command_help(registry()))
    assert [flag["flag"] for flag in GLOBALS] == [flag.flag for flag in GLOBAL_FLAGS]


def test_every_operation_has_a_command() -> None:
    offered = [command["operation"] for command in COMMANDS.values() if command["operation"]]
    several = {name for name in offered if offered.count(name) > 1}

    assert set(offered) == {*registry().names, *OWN_OPERATION_NAMES} - WITHOUT_A_COMMAND
    assert several == {"code.scan", "code.edit", "code.workflow"}


def test_a_path_is_a_leaf_or_a_group_and_never_both() -> None:
    paths = {words_of(path) for path in COMMANDS}

    assert not any(other.startswith(path + " ") for path in paths for other in paths)
    assert paths <= set(COMMANDS)


def test_no_command_has_two_meanings_for_one_flag() -> None:
    shared = {param["flag"]: param for param in GLOBALS}

    for path, command in COMMANDS.items():
        own = {param["flag"]: param for param in command["params"] if param["flag"]}
        assert len(own) == len([param for param in command["params"] if param["flag"]]), path
        assert not own.keys() & set(command["globals"]), path
        for flag in own.keys() & shared.keys():  # it stands before the command, too, so it reads the same
            assert (flag, path) in GATED_BY_THE_OPERATION
            assert {**own[flag], "required": False} == {**shared[flag], "required": False}, path


def test_positions_are_numbered_and_only_the_last_is_plural() -> None:
    for path, command in COMMANDS.items():
        positions = [param for param in command["params"] if param["position"]]

        assert [param["position"] for param in positions] == list(range(1, len(positions) + 1)), path
        given = [param for param in positions if param["kind"] != "words"]  # these stand behind `--`
        assert not any(param["is_plural"] for param in given[:-1]), path


def test_every_command_has_description_example_and_flags() -> None:
    assert list(read_help()) == list(COMMANDS) == list(rows())
    for path, entry in read_help().items():
        assert COMMANDS[path]["summary"].endswith("."), path
        assert entry["examples"], path
        assert all(example.startswith(f"handrail {words_of(path)}") for example in entry["examples"])
        assert all(text.endswith((".", "?")) for text in entry["texts"]), path
        assert set(entry["errors"]) <= set(KINDS), path


@pytest.mark.thorough
def test_every_global_flag_is_on_the_page(contents: dict[str, str]) -> None:
    page = contents["docs/reference/global-flags.md"]

    for flag in GLOBAL_FLAGS:
        assert f"`{flag.flag}" in page
        assert not flag.environment or f"`{flag.environment}`" in page


@pytest.mark.thorough
def test_every_row_and_event_has_its_heading(contents: dict[str, str]) -> None:
    errors, events = contents["docs/reference/errors.md"], contents["docs/reference/events.md"]

    assert all(f"\n## {code}\n" in errors for code in KINDS)
    assert all(f"\n## {kind}\n" in events for kind in EVENT_KINDS)


@pytest.mark.thorough
def test_every_operation_has_a_valid_schema() -> None:
    document = operation_schemas()
    parts = {
        f"{name} {part}": described[part]
        for name, described in document["operations"].items()
        for part in ("input", "output")
    }

    assert list(document["operations"]) == list(registry().names)
    Draft202012Validator.check_schema({"$defs": {**document["$defs"], **parts}})
    for name, part in parts.items():
        Draft202012Validator({**part, "$defs": document["$defs"]}).is_valid({})  # every reference resolves
        assert part, name


def test_the_input_schema_takes_what_the_command_line_sends() -> None:
    document = operation_schemas()
    schema = {**document["operations"]["run.continue"]["input"], "$defs": document["$defs"]}
    validator = Draft202012Validator(schema)

    assert validator.is_valid({"ackToken": "ak1", "output": {"notesMarkdown": "x"}, "context": {"a": None}})
    assert not validator.is_valid({"ackToken": "ak1", "notes": "x"})
