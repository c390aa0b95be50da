"""What people read about code: names with their places, who uses them, what an edit changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.host.worktree.project import write
from tests.journeys.code_project import CodeProject
from tests.surfaces.cli.here import run_here


@pytest.fixture
def project(tmp_path: Path) -> CodeProject:
    return CodeProject(tmp_path)


def read(project: CodeProject, line: str) -> str:
    ran = run_here(project.runtime, [*line.split(), "--human"], environment={"COLUMNS": "80"})
    assert ran.status == 0, ran.out
    return ran.out.decode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("code search twice", "src/app.js:9  definition  export const twice = (name) =>\n\n1 place.\n"),
        ("code search zzz", "No name holds this text; try a part of it, or --text.\n"),
        (
            "code outline src/app.js",
            "src/app.js:4  function  export function myFunc(name)\n"
            "src/app.js:9  function  export const twice = (name) =>\n\n2 places.\n",
        ),
        (
            "code explain myFunc",
            "src/app.js:4  export function myFunc(name)\n\nFetches what is there.\n\nCalled by:\n"
            "  src/app.js:9  twice, 2 times\n  src/main.js:4  the module itself, 2 times\n"
            "  test/app.test.js:3  the module itself\nCalls:\n  src/util.js  helper\n"
            "Imported by:\n  src/main.js\n  test/app.test.js\nTests:\n  test/app.test.js\n",
        ),
        (
            "code trace helper",
            "src/util.js:1  export function helper(name)\n\n  myFunc  src/app.js:5, 6\n"
            "    twice  src/app.js:9\n    the module itself  src/main.js:4\n"
            "    the module itself  test/app.test.js:3\n",
        ),
        (
            "code ripple myFunc",
            "src/app.js:4  export function myFunc(name)\n\nRisk of a change: medium (36 of 100).\n"
            "Reached directly:\n  src/main.js\n  test/app.test.js\nWhere programs start:\n  src/main.js\n"
            "Tests to run:\n  test/app.test.js\n",
        ),
        (
            "code deps src/app.js",
            "src/app.js\n\nImports:\n  src/util.js  helper\nImported by:\n"
            "  src/main.js:1\n  test/app.test.js:1\n",
        ),
        ("code explain twice --locate --file src/app.js", "src/app.js:9  export const twice = (name) =>\n"),
        (
            "code explain helper --context --file src/util.js",
            "src/util.js:1  export function helper(name)\n\n1  export function helper(name) {\n"
            "2    return `hello ${name}`;\n3  }\n",
        ),
    ],
)
def test_a_question_about_code_is_answered_in_places_and_words(
    project: CodeProject, line: str, expected: str
) -> None:
    assert read(project, line) == expected


def test_more_places_than_are_shown_are_counted(project: CodeProject) -> None:
    assert read(project, "code search myFunc --limit 2").endswith("\n2 of 7 places; --limit shows more.\n")


def test_an_edit_is_shown_as_its_diff_and_its_line_writes_it(project: CodeProject) -> None:
    without = read(project, "code rename twice --to thrice")
    shown = read(project, "code rename twice --to thrice --ai-mode")
    command = shown.splitlines()[-1].removeprefix("Write it: handrail ")
    written = read(project, command)

    assert "-export const twice = " in without
    assert "+export const thrice = " in without
    assert "nothing is written yet" in without
    assert without.endswith("Write it: the same line with --ai-mode shows the command.\n")
    assert written == "Written: 1 file.\n  src/app.js\n"
    assert "export const thrice = " in project.text("src/app.js")
    assert "sha256" not in without


def test_what_could_not_be_looked_at_is_told(project: CodeProject) -> None:
    write(project.root, "src/broken.js", "import { twice } from './app.js';\ntwice(;\n")

    shown = read(project, "code explain twice")

    assert "There may be more: " in shown


@pytest.mark.parametrize("question", ["explain", "ripple", "trace"])
def test_a_name_that_several_definitions_have_asks_which_and_shows_what_to_answer(
    project: CodeProject, question: str
) -> None:
    write(project.root, "src/other.js", "export function myFunc() {}\n")

    *rows, _, asked = read(project, f"code {question} myFunc").splitlines()

    assert asked == "Several definitions have this name: which one? Take its id or its token."
    ids = [row.split()[0] for row in rows]
    assert [one.partition("@")[0] for one in ids] == ["src/app.js#myFunc", "src/other.js#myFunc"]
    assert read(project, f"code {question} {ids[1]}").startswith("src/other.js:1  export function myFunc()")
