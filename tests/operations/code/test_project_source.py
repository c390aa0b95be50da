"""Sources of a project in little memory and bounded time: the answers stay what they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.code_tools.languages import reading
from handrail.operations.code.tools import project_source
from tests.host.worktree.project import write
from tests.journeys.code_project import CodeProject

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
    parsed: list[str] = []
    read = reading.read_facts

    def count(path: str, *rest: Any) -> Any:
        parsed.append(path)
        return read(path, *rest)

    monkeypatch.setattr(reading, "read_facts", count)
    monkeypatch.setattr(project_source, "_MEMORY_OF_FACTS", 1)
    monkeypatch.setattr(project_source, "_KEPT_AT_ONCE", 3)
    (tmp_path / "home" / "data" / "cache").rename(tmp_path / "gone")
    crowded = [code.told(question) for question in QUESTIONS]

    assert crowded == roomy
    assert sum(layer["file_count"] for layer in roomy[4]["layers"]) == 30
    assert len(parsed) == len(set(parsed)), "no file is parsed twice"


@pytest.mark.promise("code.hostile.files")
def test_a_file_that_takes_too_long_is_a_reason_and_is_tried_again(
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
