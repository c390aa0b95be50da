"""The quick set shows nearly every promise, and what it leaves out is run by CI: nothing falls between."""

from __future__ import annotations

import ast
import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.markdown import fenced_blocks
from tests.house.promise_marks import shown_by_tests
from tests.house.tree import ROOT, nodes, page
from tests.journeys.promises.manifest import PROMISES
from tests.quick_set import MARK, QUICK, THOROUGH, all_but_thorough, is_collected, is_wholly_thorough

LEAST_SHARE = 0.9
WHOLE = "import pytest\n\npytestmark = pytest.mark.thorough\n\ndef test_whole(): ...\n"
LISTED = WHOLE.replace("pytest.mark.thorough", "[\n    pytest.mark.thorough,\n]")
PARTLY = "import pytest\n\n@pytest.mark.thorough\ndef test_long(): ...\n\ndef test_short(): ...\n"
PLAIN = "def test_plain(): ...\n"


@functools.cache
def thorough_tests(path: str) -> frozenset[str]:
    """The tests of one file that the quick set leaves out; one of many parameters may still run."""
    source = page(path)
    return frozenset(
        node.name
        for node in nodes(source)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (is_wholly_thorough(source.text) or MARK in map(ast.unparse, node.decorator_list))
    )


def is_quick(test: str) -> bool:
    path, _, name = test.partition("::")
    return name not in thorough_tests(path)


def test_the_quick_set_shows_nine_of_ten_promises() -> None:
    shown_by = shown_by_tests()

    left_out = [promise.id for promise in PROMISES if not any(map(is_quick, shown_by[promise.id]))]

    assert len(left_out) <= len(PROMISES) * (1 - LEAST_SHARE), left_out


@pytest.mark.parametrize(
    ("text", "quick", "thorough"),
    [(WHOLE, False, True), (LISTED, False, True), (PARTLY, True, True), (PLAIN, True, False)],
)
def test_every_file_is_in_one_of_the_two_runs(text: str, quick: bool, thorough: bool) -> None:
    assert (is_collected(text, QUICK), is_collected(text, THOROUGH)) == (quick, thorough)
    assert is_collected(text, "hypothesis")


def test_ci_runs_the_line_of_readme_and_the_same_line_for_the_rest() -> None:
    """Before it judges the promises; the line itself chooses nothing."""
    blocks = [block for block in fenced_blocks(page("README.md").text) if block.language == "sh"]
    verb = re.search(r"^verb_test\(\) \{$(.*?)^\}$", page(".ci/run").text, re.MULTILINE | re.DOTALL)
    assert verb is not None

    runs = re.findall(r'(-m \w+ )?--junitxml=.*?" stage .* (\w+)$', verb[1], re.MULTILINE)

    assert runs == [("", "run_readme_test_command"), (f"-m {THOROUGH} ", "run_readme_test_command")]
    assert verb[1].index(f"-m {THOROUGH}") < verb[1].index("checklist")
    assert blocks[0].lines[1].endswith("uv run pytest -n auto")


def run_planted(folder: Path, *words: str) -> str:
    for name, text in (("whole", WHOLE), ("partly", PARTLY), ("plain", PLAIN)):
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    (folder / "pytest.ini").write_text(f"[pytest]\nmarkers =\n    {THOROUGH}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "tests.quick_set", "-p", "no:cacheprovider", *words]
    around = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    around["PYTHONPATH"] = ROOT
    done = subprocess.run(command, cwd=folder, env=around, capture_output=True, check=False, timeout=120)
    return (done.stdout + done.stderr).decode()


@pytest.mark.parametrize(
    ("words", "expected"),
    all_but_thorough(
        [
            ((), "test_partly.py::test_short test_plain.py::test_plain"),
            (("-m", THOROUGH), "test_partly.py::test_long test_whole.py::test_whole"),
            (("test_whole.py",), "test_whole.py::test_whole"),
            (("test_partly.py::test_long",), "test_partly.py::test_long"),
        ],
        step=4,
    ),
)
@pytest.mark.thorough
def test_what_is_asked_for_runs(tmp_path: Path, words: tuple[str, ...], expected: str) -> None:
    told = run_planted(tmp_path, "-v", "-n", "0", *words)

    assert " ".join(sorted(re.findall(r"^(\S+) PASSED", told, re.MULTILINE))) == expected


@pytest.mark.parametrize("workers", ["0", pytest.param("2", marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_the_quick_set_tells_what_it_left_out_and_how_to_run_it(tmp_path: Path, workers: str) -> None:
    told = run_planted(tmp_path, "-n", workers)

    assert "left out 1 whole files and 1 tests of other files" in told
    assert f"uv run pytest -n auto -m {THOROUGH}" in told


@pytest.mark.thorough
def test_a_mark_that_no_run_would_find_is_refused(tmp_path: Path) -> None:
    (tmp_path / "marks.py").write_text("import pytest\nLONG = pytest.mark.thorough\n", encoding="utf-8")
    (tmp_path / "test_hidden.py").write_text(
        "from marks import LONG\n\n@LONG\ndef test_it(): ...\n", encoding="utf-8"
    )

    told = run_planted(tmp_path, "-n", "0")

    assert "test_hidden.py does not say `thorough`" in told
