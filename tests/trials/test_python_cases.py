"""Cases of pytest and unittest, with nothing declared."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from handrail.ports.trials import TrialCheck, TrialResult, UnloadedFile
from tests.trials.rooms import Workshop, list_outcomes, shell

Run = Callable[..., TrialResult]

_EVERY_END = """
import unittest, pytest, calc

pytestmark = pytest.mark.thorough

def test_passes(): assert calc.add(1, 2) == 3
@pytest.mark.parametrize("x", [1, 2])
def test_each(x): assert x == 1
def test_missing_name(): calc.sub(1)
def test_missing_key(): {}["a"]
def test_none(): None.a
@pytest.fixture
def bad(): raise ValueError
def test_set_up(bad): pass
@pytest.fixture
def late():
    yield
    raise ValueError
def test_clean_up(late): pass
@pytest.mark.skip
def test_skipped(): pass
@pytest.mark.xfail
def test_expected(): assert 0
class TestGroup(unittest.TestCase):
    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
def twice():
    '''
    >>> 1 + 1
    2
    '''
"""


def test_pytest_gives_every_case(run_pytest: Run) -> None:
    result = run_pytest(
        {
            "calc.py": "def add(a, b): return a + b\n",
            "tests/test_all.py": _EVERY_END,
            "tests/test_broken.py": "from calc import nothing\n",
            "tests/test_odd.py": "1 / 0\n",
        },
        *("--doctest-modules", "tests"),
    )

    mark = "tests/test_all.py::"
    assert list_outcomes(result) == {
        f"{mark}test_passes": "passed",
        f"{mark}test_each[1]": "passed",
        f"{mark}test_each[2]": "failed",
        f"{mark}test_missing_name": "failed",
        f"{mark}test_missing_key": "failed",
        f"{mark}test_none": "failed",
        f"{mark}test_set_up": "error",
        f"{mark}test_clean_up": "error",
        f"{mark}test_skipped": "skipped",
        f"{mark}test_expected": "skipped",
        f"{mark}TestGroup::test_subtests": "failed",
        f"{mark}test_all.twice": "passed",
    }
    assert {case.file for case in result.cases or ()} == {"tests/test_all.py"}
    missing = {case.name: case.missing_name for case in result.cases or () if case.missing_name}
    assert missing == {f"{mark}test_missing_name": "sub"}
    assert result.unloaded == (
        UnloadedFile(
            file="tests/test_broken.py",
            missing_name="nothing",
            trouble="ImportError: cannot import name 'nothing' from 'calc' (./calc.py)",
        ),
        UnloadedFile(file="tests/test_odd.py", trouble="ZeroDivisionError: division by zero"),
    )
    assert (result.state, result.exit_status, result.is_ended_early) == ("failed", 1, False)


@pytest.mark.thorough
def test_workers_of_pytest_give_the_same_cases(run_pytest: Run) -> None:
    pytest.importorskip("xdist")
    result = run_pytest(
        {"test_a.py": "def test_a(): pass\ndef test_b(): nope()\n", "test_c.py": "import nothing_such\n"},
        *("-n", "2"),
    )

    assert result.unloaded == (
        UnloadedFile(
            file="test_c.py",
            missing_name="nothing_such",
            trouble="ModuleNotFoundError: No module named 'nothing_such'",
        ),
    )
    assert [(case.name, case.outcome, case.missing_name) for case in result.cases or ()] == [
        ("test_a.py::test_a", "passed", ""),
        ("test_a.py::test_b", "failed", "nope"),
    ]
    assert not result.is_ended_early


@pytest.mark.thorough
@pytest.mark.parametrize(
    "files",
    [
        {"conftest.py": "import os\nos._exit(0)\n"},
        {"conftest.py": "import sys\nsys.exit(0)\n"},
        {"test_a.py": "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\n"},
        {"conftest.py": "import pytest\ndef pytest_collection_finish(): pytest.exit('x', returncode=0)\n"},
        {"conftest.py": "def pytest_runtestloop(): return True\n"},
    ],
)
def test_pytest_that_ends_early_has_not_passed(run_pytest: Run, files: dict[str, str]) -> None:
    result = run_pytest({"test_a.py": "def test_a(): pass\n", **files})

    assert (result.state, result.exit_status, result.is_ended_early) == ("failed", 0, True)
    assert result.reason == "the test runner ended before its tests were finished"


@pytest.mark.thorough
def test_conftest_that_cannot_be_loaded_is_named(run_pytest: Run) -> None:
    result = run_pytest({"conftest.py": "from calc import gone\n", "calc.py": "", "test_a.py": ""})

    assert result.unloaded == (
        UnloadedFile(
            file="conftest.py",
            missing_name="gone",
            trouble="ImportError: cannot import name 'gone' from 'calc' (./calc.py)",
        ),
    )
    assert (result.state, result.cases, result.is_ended_early) == ("failed", (), False)


@pytest.mark.thorough
def test_exit_status_that_hides_a_failure_is_no_pass(linked: Workshop) -> None:
    linked.write({"test_a.py": "def test_a(): assert 0\n"})
    line = f"{sys.executable} -m pytest -p no:cacheprovider -c /dev/null --rootdir=. || true"

    result = linked.run(shell(line))

    assert (result.state, result.exit_status) == ("failed", 0)
    assert list_outcomes(result) == {"test_a.py::test_a": "failed"}


@pytest.mark.thorough
def test_two_runs_of_pytest_are_both_read(linked: Workshop) -> None:
    linked.write({"test_a.py": "def test_a(): pass\n", "test_b.py": "def test_b(): pass\n"})
    line = f"{sys.executable} -m pytest -p no:cacheprovider -c /dev/null --rootdir=. "

    result = linked.run(shell(f"{line} test_a.py && {line} test_b.py"))

    assert list_outcomes(result) == {"test_a.py::test_a": "passed", "test_b.py::test_b": "passed"}
    assert result.state == "passed"


_INNER = """
import os, subprocess, sys
def test_inner():
    assert "HANDRAIL_CASES" not in os.environ
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", "inner.py"]
    assert subprocess.run(command).returncode == 1
"""


@pytest.mark.thorough
def test_pytest_that_a_test_starts_gives_no_cases(run_pytest: Run) -> None:
    result = run_pytest({"test_a.py": _INNER, "inner.py": "def test_x(): assert 0\n"})

    assert list_outcomes(result) == {"test_a.py::test_inner": "passed"}
    assert result.state == "passed"


_FORGER = """
import glob, os
def test_a():
    for path in glob.glob(os.path.join(os.path.dirname(os.environ["TMPDIR"]), "cases-*")):
        with open(path, "a", encoding="utf-8") as file:
            file.write('{"k": "", "at": "end", "run": "1"}' + chr(10))
"""


def test_foreign_row_in_the_case_file_is_no_pass(run_pytest: Run) -> None:
    result = run_pytest({"test_a.py": _FORGER})

    assert (result.state, result.exit_status) == ("failed", 0)
    assert result.reason == "something else wrote into the list of test cases"


# unittest

_UNITTEST = """
import unittest, calc
class Group(unittest.TestCase):
    def test_passes(self): self.assertEqual(calc.add(1, 2), 3)
    def test_fails(self): self.assertEqual(calc.add(1, 2), 4)
    def test_raises(self): raise KeyError
    def test_missing(self): calc.sub()
    @unittest.skip("x")
    def test_skipped(self): pass
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    def test_subtests(self):
        for i in range(3):
            with self.subTest(i=i): self.assertNotEqual(i, 1)
class Unready(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError
    def test_a(self): pass
"""


def test_unittest_gives_every_case(linked: Workshop) -> None:
    linked.write(
        {
            "calc.py": "def add(a, b): return a + b\n",
            "tests/__init__.py": "",
            "tests/test_all.py": _UNITTEST,
            "tests/test_broken.py": "from calc import nothing\n",
        }
    )

    result = linked.run(TrialCheck(command=(sys.executable, "-m", "unittest")))

    mark = "tests.test_all.Group."
    assert list_outcomes(result) == {
        f"{mark}test_passes": "passed",
        f"{mark}test_fails": "failed",
        f"{mark}test_raises": "failed",
        f"{mark}test_missing": "failed",
        f"{mark}test_skipped": "skipped",
        f"{mark}test_expected": "skipped",
        f"{mark}test_subtests": "failed",
        "setUpClass (tests.test_all.Unready)": "error",
    }
    assert [case.missing_name for case in result.cases or () if case.name == f"{mark}test_missing"] == ["sub"]
    assert result.unloaded == (
        UnloadedFile(
            file="tests/test_broken.py",
            missing_name="nothing",
            trouble="ImportError: cannot import name 'nothing' from 'calc' (./calc.py)",
        ),
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    "body",
    [
        "import os\nos._exit(0)\n",
        "import unittest, os\nclass A(unittest.TestCase):\n    def test_a(self): os._exit(0)\n",
    ],
)
def test_unittest_that_ends_early_has_not_passed(linked: Workshop, body: str) -> None:
    linked.write({"test_a.py": body})

    result = linked.run(TrialCheck(command=(sys.executable, "-m", "unittest")))

    assert (result.state, result.is_ended_early) == ("failed", True)


@pytest.mark.thorough
def test_script_of_unittest_names_its_cases_by_file(linked: Workshop) -> None:
    body = "import unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\nunittest.main()\n"
    linked.write({"tests/check.py": body})

    result = linked.run(TrialCheck(command=(sys.executable, "tests/check.py")))

    assert list_outcomes(result) == {"tests.check.A.test_a": "passed"}
    assert (result.state, (result.cases or ())[0].file) == ("passed", "tests/check.py")


@pytest.mark.thorough
def test_program_without_tests_gives_no_cases(linked: Workshop) -> None:
    result = linked.run(TrialCheck(command=(sys.executable, "-c", "import unittest")))

    assert (result.state, result.cases) == ("passed", None)
