"""Command lines: which program counts, where it runs, and whether the status of the line is its own."""

from __future__ import annotations

import shlex

import pytest

from handrail.contract.wording import spell_argv
from handrail.engine.command_lines import (
    Suggested,
    explain_not_run,
    find_counting,
    has_tests_failed,
    list_programs,
    reaches,
    read_command,
    read_core,
    read_suggested,
    read_words,
    selects_all,
)
from handrail.engine.receipts import Exited
from tests.cases import every_case

ALONE = [
    ("pytest", ("pytest",), "."),
    ("cd sub && pytest", ("pytest",), "sub"),
    ("cd sub && cd deep && pytest -q", ("pytest", "-q"), "sub/deep"),
    ('cd "a b" && pytest', ("pytest",), "a b"),
    ("cd sub/../other && pytest", ("pytest",), "other"),
    ("cd - && pytest", ("cd - && pytest",), "."),
    ("env A=1 pytest", ("env", "A=1", "pytest"), "."),
    ("FOO=1 pytest", ("env", "FOO=1", "pytest"), "."),
    ("cd sub && FOO=1 BAR=2 pytest", ("env", "FOO=1", "BAR=2", "pytest"), "sub"),
    ("FOO=1", ("FOO=1",), "."),
    ("sh -c 'FOO=1 pytest'", ("env", "FOO=1", "pytest"), "."),
    ("pytest && true", ("pytest && true",), "."),
    ("timeout 5 pytest", ("timeout", "5", "pytest"), "."),
    ("uv run pytest", ("uv", "run", "pytest"), "."),
    ('pytest -k "a|b"', ("pytest", "-k", "a|b"), "."),
    ("pytest -k 'a; b && c || d $(e)'", ("pytest", "-k", "a; b && c || d $(e)"), "."),
    ("pytest > log 2>&1", ("pytest > log 2>&1",), "."),
    ("pytest &>", ("pytest &>",), "."),
    ("pytest tests/*.py", ("pytest tests/*.py",), "."),
    ("pytest # a; b", ("pytest",), "."),
    (r"pytest -k a\|b", ("pytest", "-k", "a|b"), "."),
    (r"DB=x\ y pytest", ("env", "DB=x y", "pytest"), "."),
    ("sh -c pytest", ("pytest",), "."),
    ("bash -lc 'pytest -q'", ("pytest", "-q"), "."),
    ("sh -c 'cd sub && pytest'", ("pytest",), "sub"),
    ("cd a && sh -c 'cd b && pytest'", ("pytest",), "a/b"),
    ("/bin/sh -ec 'pytest'", ("pytest",), "."),
    ("bash script.sh", ("bash", "script.sh"), "."),
    ("timeout 5 sh -c 'pytest'", ("timeout", "5", "sh", "-c", "pytest"), "."),
    ('grep -c "!" a.txt', ("grep", "-c", "!", "a.txt"), "."),
]
HIDDEN = [
    "pytest | tee log",
    "pytest |& tee log",
    "pytest || true",
    "pytest; true",
    "pytest ;; true",
    "pytest & wait",
    "pytest &",
    'sh -c "pytest || true"',
    "bash -lc 'pytest | cat'",
    "bash -l -c 'pytest; true'",
    "env A=1 sh -c 'pytest || true'",
    "timeout 5 bash -c 'pytest | cat'",
    "uv run sh -c 'pytest || true'",
    "sh -c 'sh -c \"pytest || true\"'",
    "eval 'pytest || true'",
    "$(pytest)",
    "`pytest`",
    'echo "$(pytest)"',
    'echo "`pytest`"',
    "pytest\ntrue",
    "! pytest",
    "cd sub && pytest | tail",
    "cd sub && pytest || true",
    "cd sub; pytest",
    "(pytest || true)",
    "pytest > log || true",
    "pytest -k 'unended",
    "true && pytest | cat",
    "cat <(pytest)",
]


@every_case(("line", "words", "directory"), ALONE)
def test_the_status_of_one_program_is_its_own(line: str, words: tuple[str, ...], directory: str) -> None:
    read = read_command(line)

    assert (read.words, read.directory, read.is_alone) == (words, directory, True)


@every_case("line", HIDDEN)
def test_the_status_of_a_line_of_several_programs_is_nobodys(line: str) -> None:
    assert read_command(line).is_alone is False


def test_words_that_were_given_are_read_as_their_line() -> None:
    assert read_words(("sh", "-c", "pytest || true")).is_alone is False
    assert read_words(("sh", "-c", "cd sub && pytest -q")).words == ("pytest", "-q")
    assert read_words(("sh", "-c", "cd sub && pytest -q")).directory == "sub"
    assert read_words(("pytest", "-k", "a|b")).is_alone is True
    assert "not to run" in explain_not_run(("sh", "-c", "pytest --co"), Exited(status=0), None)
    assert not has_tests_failed(("sh", "-c", "pytest"), Exited(status=2), None)


def test_a_runner_that_only_tells_more_or_less_is_the_same() -> None:
    same = [
        "python3 -B -m pytest -q tests",
        "/usr/bin/python3.12 -m pytest tests -vv",
        "pytest ./tests/",
        "pytest --tb=short tests",
    ]
    others = ["pytest", "pytest tests -k a", "python3 tests -m pytest", "python3 -m unittest tests"]

    assert {read_core(line.split()) for line in same} == {("pytest", "tests")}
    assert {read_core(line.split()) for line in others}.isdisjoint({("pytest", "tests")})
    assert read_core(("python", "-m", "unittest", "-f", "-b")) == read_core(("python", "-m", "unittest"))


@every_case("option", ["-f", "-b", "-l", "-v", "-x"])
def test_what_an_option_of_another_program_means_is_not_known(option: str) -> None:
    assert read_core(("sh", "run.sh", option)) != read_core(("sh", "run.sh"))
    assert read_core(("jest", option)) != read_core(("jest",)) or option == "-v"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pytest -q | tee log", ("pytest", "-q")),
        ("cd sub && pytest -q 2>&1 | tail -5", ("pytest", "-q")),
        ("set -e; export A=1; sh -c 'pytest || true'", ("pytest",)),
        ("true", ()),
    ],
)
def test_the_program_that_counts_is_found_in_a_longer_line(line: str, words: tuple[str, ...]) -> None:
    assert find_counting(line) == words


def test_every_program_of_a_line_is_listed() -> None:
    line = 'make a\\ b "c\\"d" > out # e\nbash -c "cd a && pytest -q" | tail -1 && echo done'
    rest = [("cd", "a"), ("pytest", "-q"), ("tail", "-1"), ("echo", "done")]

    assert list_programs(line) == [("make", "a b", 'c\\"d'), *rest]


@every_case(
    "value", ["x", "x y", "", "it's", "$HOME", "a=b", 'say "hi"', "two\nlines", "a;b|c&d", "`id`", "~", "é"]
)
def test_a_command_with_variables_is_read_as_it_is_printed(value: str) -> None:
    argv = ("python3", "-c", value or "pass", "--x=1")

    line = spell_argv(argv, [f"DB={value}", "A=1"])

    assert read_command(line).words == ("env", f"DB={value}", "A=1", *argv)
    assert shlex.split(line) == [f"DB={value}", "A=1", *argv]


@every_case(
    ("line", "path"),
    [
        ("pytest", "big/test_a.py"),
        ("make test", "big/test_a.py"),
        ("pytest -q tests/unit::T", "tests/unit/test_a.py"),
        ("pytest --junitxml out/tests.xml", "big/test_a.py"),
        ("python3 -m unittest discover", "big/test_a.py"),
        ("python3 -m unittest discover -s .", "big/test_a.py"),
        ("cd sub && python3 -m unittest discover -s tests", "sub/tests/test_a.py"),
    ],
)
def test_a_runner_may_come_to_what_is_not_outside_of_where_it_begins(line: str, path: str) -> None:
    command = read_command(line)

    assert reaches(command.words, command.directory, path)


MORE = [
    ("pytest a.py::T::test_a", "pytest a.py::T", True),
    ("pytest a.py::test_a", "pytest a.py::test_a b.py", True),
    ("pytest -k test_a", "pytest", True),
    ("python -m unittest tests.test_a", "python -m unittest discover -s tests", True),
    ("python -m unittest tests.test_a.T.test_x", "python -m unittest tests.test_a", True),
    ("python -m unittest tests/test_a.py", "python -m unittest tests.test_a", True),
    ("python -m unittest discover -s tests -p test_a.py", "python -m unittest discover -s tests", True),
    ("pytest a.py::T::test_a", "pytest a.py::T::test_b", False),
    ("pytest -k test_a", "pytest -k 'test_b and not test_a'", False),
    ("pytest a.py", "pytest a.py --deselect a.py::test_a", False),
    ("pytest", "pytest tests/test_a.py", False),
    ("python -m unittest test_a", "python -m unittest test_b", False),
    ("python -m unittest discover", "python -m unittest test_a", False),
    ("python -m unittest test_a", "python -m unittest test_a.T", False),
    ("python -m unittest spec_a", "python -m unittest discover", False),
    ("python -m unittest discover -s tests", "python -m unittest discover -s tests -p test_a.py", False),
]


@pytest.mark.parametrize(("line", "later", "expected"), MORE)
def test_other_words_answer_where_they_select_the_same_tests_and_more(
    line: str, later: str, *, expected: bool
) -> None:
    assert selects_all(shlex.split(later), ".", shlex.split(line), ".") is expected


@every_case("line", ["pytest tests/unit", "python3 -m unittest discover -s tests -v"])
def test_a_runner_does_not_come_to_what_is_outside_of_where_it_begins(line: str) -> None:
    assert not reaches(tuple(line.split()), ".", "big/tests/test_a.py")


@pytest.mark.parametrize(
    "suggested",
    [
        Suggested(check="tests"),
        Suggested(check="tests", flags="--session ses_1"),
        Suggested(program="pytest -q", flags="--session ses_1"),
        Suggested(program="pytest -k 'a -- b'", directory="my app"),
        Suggested(program="sh -c 'cd x; make'", directory="a'b", flags="--state st1x"),
    ],
)
def test_what_is_suggested_is_read_again_from_its_line(suggested: Suggested) -> None:
    assert read_suggested(suggested.line) == suggested


def test_a_line_that_names_nothing_suggests_nothing() -> None:
    assert [read_suggested(one).name for one in ("", "handrail check run")] == ["", ""]
