"""Every block of every page does what it shows: commands run, documents are what they claim to be."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import handrail
from handrail.host.settings import LocalSettings
from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.workflows.compiling.shelf import find_contract_problems, read_contract
from handrail.workflows.reading.reader import read_workflow
from tests.conformance.forked import ForkServer
from tests.house.markdown import code_spans, fenced_blocks
from tests.house.page_blocks import (
    PageShell,
    Saved,
    blocks_of,
    command_lines,
    doings,
    scripts_of,
)
from tests.house.shown_commands import PAGES as FILLED_PAGES
from tests.house.test_spelled_commands import trouble_of as refused_by_the_parser
from tests.house.tree import Source, check, is_generated, markdown_files, page

RUN_ELSEWHERE = {
    "docs/reference/cli.md": "examples of the commands: tests/conformance/test_every_declaration.py",
    "skills/": "lines of the skill: tests/surfaces/cli/test_skill_lines.py",
    "src/handrail/packed/": "links to the skill and the changelog, and the description of a release",
}
RUNNABLE = ("handrail", "js-tools", "echo", "for")
"""What a script of a page may begin with, after an assignment; anything else could touch the machine."""
NOT_RUN = {
    "uv tool install": "changes the machine",
    "pip install uv": "CI takes its own commands from here",
    "uv sync": "makes the environment that runs this",
    ".ci/run": "runs this",
    "uv run python bench/": "measures for minutes",
    "handrail console": "opens a browser; tests/surfaces/http/test_serving.py runs it without one",
    "handrail store selftest": "takes a minute; tests/store_proof/ runs its parts",
    "handrail update": "asks a package index; tests/updates/ and tests/conformance/ have one",
    "handrail login": "needs a team server; tests/team/test_team_client.py has one",
    "handrail logout": "needs a team server, too",
    "handrail whoami": "needs a team server, too",
    "handrail team": "needs a team server, too",
    "handrail store adopt": "needs a person; tests/journeys/test_proven_history.py has one",
    "handrail store move": "needs a person, too",
    "handrail receipt export": "needs a proven run; tests/journeys/test_travelling_receipts.py has one",
    "handrail receipt verify": "needs a proven run, too",
    "handrail store copy --to ./everything": "needs a database; tests/team/ has one",
    "handrail prove --in-place": "needs commits; tests/journeys/test_prove_action.py runs it",
    "handrail changelog --since 0.1.0": "follows an update; there is no release yet",
}
"""How a command begins, and why it is not run here; its words are still checked."""
FREE = ("", "text")
"""Languages of drawings, formats and usage lines."""

PAGES = [
    source
    for source in markdown_files()
    if not source.path.startswith(tuple(RUN_ELSEWHERE)) and source.path != "CHANGELOG.md"
]
WITH_COMMANDS = [source.path for source in PAGES if blocks_of(source, "sh")]
JSON_BLOCKS = [
    (source.path, "\n".join(block.lines)) for source in PAGES for block in blocks_of(source, "json")
]
OTHERS_YAML = "docs/how-to/prove-in-ci.md"
"""Files of CI services: tests/journeys/test_prove_action.py reads them."""
YAML_BLOCKS = [
    (source.path, "\n".join(block.lines))
    for source in PAGES
    if source.path != OTHERS_YAML
    for block in blocks_of(source, "yaml")
]


def unknown_commands(sources: Sequence[Source]) -> list[str]:
    """Command lines, in blocks and in the text, whose words or flags the command line does not have."""
    return [
        f"{source.path}:1: `{shlex.join(words)}`: {trouble}; correct the line"
        for source in sources
        for words in (*_lines_in_blocks(source), *_lines_in_text(source))
        if (trouble := trouble_of(words))
    ]


def _lines_in_blocks(source: Source) -> list[list[str]]:
    return list(command_lines([script for block in blocks_of(source, "sh") for script in scripts_of(block)]))


def _lines_in_text(source: Source) -> list[list[str]]:
    spans = [span for _, span in code_spans(source.text) if span.startswith("handrail ")]
    return [words for span in spans for words in command_lines([span])]


def trouble_of(line: Sequence[str]) -> str:
    """What the table of the parser does not know; a group of commands may stand for all of them."""
    words = line[1:]
    path = next((" ".join(words[:n]) for n in (3, 2, 1) if " ".join(words[:n]) in COMMANDS), "")
    if not path:
        is_group = words and any(known.startswith(words[0] + " ") for known in COMMANDS)
        return "" if (is_group and len(words) == 1) or _is_global(words) else "no such command"
    return "" if "…" in words else refused_by_the_parser(words)


def _is_global(words: Sequence[str]) -> bool:
    return len(words) > 0 and words[0] in ("--version", "--help", "COMMAND")


def stray_blocks(sources: Sequence[Source]) -> list[str]:
    """A language that nothing runs or reads, a console that nobody fills, a command dressed as a drawing."""
    problems = []
    for source in sources:
        for block in fenced_blocks(source.text):
            first = block.lines[0] if block.lines else ""
            if block.language == "console" and source.path not in FILLED_PAGES:
                problems.append(f"{source.path}:1: console '{first}' is not filled; add it to shown_commands")
            elif (
                block.language in FREE and first.startswith(("handrail ", "$ ")) and not is_generated(source)
            ):
                problems.append(f"{source.path}:1: '{first}' is a command; call the block sh")
            elif block.language not in (*FREE, "sh", "console", "json", "toml", "python", "markdown", "yaml"):
                problems.append(f"{source.path}:1: nothing reads {block.language}; use another language")
    return problems


def is_harmless(script: str) -> bool:
    first = re.sub(r"^([a-z]+=\$\(|HANDRAIL_[A-Z]+=\S+ )", "", script).split()[0]
    return first in RUNNABLE


def kind_of(document: Any) -> str:
    """What a JSON document of a page is, by its keys; empty when nobody could check it."""
    if not isinstance(document, dict):
        return ""
    known = {
        "workflow": "steps" in document,
        "contract": "schema" in document,
        "part": "type" in document,
        "client": "mcpServers" in document or "servers" in document,
        "input": set(document) == {"output"} and "artifacts" in document["output"],
        "settings": bool(
            set(document)
            & {"workflowSources", "plugins", "startSession", "maxEffect", "update", "notify", "limits"}
        ),
        "project settings": "checks" in document or "code" in document,
        "record": "dedupeKey" in document or "segment" in document,
    }
    return next((kind for kind, is_so in known.items() if is_so), "")


@pytest.mark.thorough
@pytest.mark.parametrize("path", WITH_COMMANDS)
def test_the_commands_of_a_page_run_in_their_order(
    path: str, tmp_path: Path, fork_server: ForkServer
) -> None:
    shell = PageShell(str(tmp_path), fork_server)

    for doing in doings(page(path)):
        if isinstance(doing, Saved):
            shell.save(doing.path, doing.content)
        elif not doing.startswith(tuple(NOT_RUN)):
            assert is_harmless(doing), f"say in NOT_RUN why this is not run: {doing}"
            ran = shell.ran(doing)
            assert ran.returncode == 0, (doing, ran.stdout[-2000:], ran.stderr[-2000:])


def test_every_reason_not_to_run_a_command_is_needed() -> None:
    scripts = [
        script for source in PAGES for block in blocks_of(source, "sh") for script in scripts_of(block)
    ]

    assert [begin for begin in NOT_RUN if not any(one.startswith(begin) for one in scripts)] == []


def test_every_command_line_in_a_page_exists() -> None:
    check(unknown_commands(PAGES))


@pytest.mark.parametrize(("path", "text"), YAML_BLOCKS)
def test_a_yaml_block_is_a_workflow_or_an_overlay(path: str, text: str) -> None:
    reading = read_workflow(text.encode(), "yaml")

    assert [problem.message for problem in reading.problems] == [], path
    assert reading.workflow is not None or reading.extends


def test_no_block_is_without_a_reader() -> None:
    check(stray_blocks(PAGES))


@pytest.mark.parametrize(("path", "text"), JSON_BLOCKS)
def test_a_json_block_is_what_it_claims_to_be(path: str, text: str, tmp_path: Path) -> None:
    document = json.loads(text)

    match kind_of(document):
        case "client":
            (servers,) = document.values()
            assert [*servers["handrail"]["args"]][-2:] == ["handrail", "mcp"]
        case "settings":
            (tmp_path / "config.json").write_text(text, encoding="utf-8")
            assert LocalSettings(str(tmp_path), {}).problems() == ()
        case "project settings":
            (tmp_path / ".handrail").mkdir()
            (tmp_path / ".handrail" / "config.json").write_text(text, encoding="utf-8")
            assert LocalSettings(str(tmp_path / "home"), {}).problems(str(tmp_path)) == ()
        case "workflow":
            assert saved_as(path, text)
            assert errors_in(document, tmp_path) == 0
        case "part":
            workflow = {"id": "project.x", "name": "X", "description": "X.", "steps": [document]}
            assert errors_in(workflow, tmp_path) == 0
        case "contract":
            contract = read_contract(text.encode(), saved_as(path, text)).contract
            assert contract is not None
            assert find_contract_problems(contract) == []
        case "input":
            assert saved_as(path, text)
        case kind:
            assert kind == "record", f"{path}: say in kind_of what this is, and check it"


def saved_as(path: str, text: str) -> str:
    """The file that the page asks its reader to save it as, so that the commands below meet it."""
    saved = [one for one in doings(page(path)) if isinstance(one, Saved)]
    return next((one.path for one in saved if one.content == text + "\n"), "")


def errors_in(workflow: dict[str, Any], home: Path) -> int:
    store = handrail.Handrail(home=str(home))
    told = store.call("workflow.validate", {"documents": [{"source": "x", "text": json.dumps(workflow)}]})
    return int(told["counts"]["error"])


def test_toml_for_codex_names_the_command() -> None:
    blocks = [block for source in PAGES for block in blocks_of(source, "toml")]

    servers = [tomllib.loads("\n".join(block.lines))["mcp_servers"]["handrail"] for block in blocks]

    assert [server["args"][-2:] for server in servers] == [["handrail", "mcp"]]
