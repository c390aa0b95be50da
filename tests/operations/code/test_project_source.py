"""Sources of a project in little memory and bounded time: the answers stay what they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.host.bounds import Bounds
from handrail.ports.worktree import ListedFile
from handrail.worktree import list_files
from handrail_code.languages import reading
from handrail_code.operations import project_source
from tests.journeys.code_project import CodeProject
from tests.worktree.project import write

QUESTIONS = (
    "js-scan --search myFunc",
    "js-scan --analyze myFunc",
    "js-scan --trace helper",
    "js-scan --ripple helper",
    "js-scan --ripple make",
    "js-scan --deps src/app.js",
    "js-edit --rename myFunc --to fetchData",
)


def add_modules(code: CodeProject) -> None:
    """CommonJS modules whose default has no name that importers share, so all files are asked."""
    write(code.root, "lib/index.js", "function make() {}\nmodule.exports = make;\n")
    for number in range(30):
        write(code.root, f"lib/use{number}.js", f"const made{number} = require('.');\nmade{number}();\n")


def answers(code: CodeProject) -> Iterator[dict[str, Any]]:
    for question in QUESTIONS:
        yield code.told(question)


def test_answers_do_not_depend_on_how_many_facts_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = CodeProject(tmp_path)
    add_modules(code)
    roomy = list(answers(code))
    parsed: list[tuple[str, bytes]] = []
    read = reading.read_facts

    def count(path: str, text: bytes, *rest: Any) -> Any:
        parsed.append((path, text))
        return read(path, text, *rest)

    monkeypatch.setattr(reading, "read_facts", count)
    monkeypatch.setattr(project_source, "_MEMORY_OF_FACTS", 1)
    monkeypatch.setattr(project_source, "_KEPT_AT_ONCE", 3)
    (tmp_path / "home" / "data" / "cache").rename(tmp_path / "gone")
    crowded = [code.told(question) for question in QUESTIONS]

    assert crowded == roomy
    assert sum(layer["file_count"] for layer in roomy[4]["layers"]) == 30
    assert len(parsed) == len(set(parsed)), "no text is parsed twice"


def test_file_that_takes_too_long_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = CodeProject(tmp_path)
    write(code.root, "src/slow.js", "export const myFunc = 1;\n" + "// long\n" * 2_000)
    worked = iter(range(0, 10**9, 1_000))
    with monkeypatch.context() as slowly:
        slowly.setattr(code.clock, "processor_ms", lambda: next(worked))
        slow = code.told("js-scan --search myFunc")
    again = code.told("js-scan --search myFunc")

    assert (slow["complete"], slow["reasons"]) == (
        False,
        [{"code": "too_long_to_parse", "file": "src/slow.js", "line": 0, "column": 0}],
    )
    assert {one["file"] for one in slow["results"]} < {one["file"] for one in again["results"]}
    assert again["complete"] is True


def test_an_edited_file_is_read_within_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = CodeProject(tmp_path)
    line = "js-edit --rename myFunc --to fetchData"
    code.told(line)
    monkeypatch.setattr(project_source, "MOST_PARSE_MS", 0)

    status, refused = code.line(line)

    assert (status != 0, refused["code"]) == (True, "EDIT_REFUSED")


def test_a_name_is_looked_for_only_in_files_that_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = CodeProject(tmp_path)
    add_modules(code)
    monkeypatch.setattr(project_source, "_WORTH_REMEMBERING", 1)
    monkeypatch.setattr(list_files, "COARSEST_CLOCK_NS", -3_600_000_000_000)
    read: list[str] = []
    find_text = list_files.find_text

    def note(project: Bounds, files: Iterable[ListedFile], *rest: Any) -> Any:
        listed = list(files)
        read.extend(entry.path for entry in listed)
        return find_text(project, listed, *rest)

    monkeypatch.setattr(list_files, "find_text", note)
    first = code.told("js-scan --search made7")
    read.clear()
    again = code.told("js-scan --search made7")
    again_read = {*read}
    write(code.root, "lib/use9.js", "const made7 = 1;\n")
    changed = code.told("js-scan --search made7")

    assert first == again
    assert again_read == {"lib/use7.js"}
    assert {one["file"] for one in changed["results"]} == {"lib/use7.js", "lib/use9.js"}
