"""Which of the four sets a path belongs to, by the patterns that the page of proofs lists."""

from __future__ import annotations

import pytest

from handrail.evidence.file_sets import MixedContent, Patterns, make_patterns, matches, sort_path


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/invoice.py", "code"),
        ("README.md", "code"),
        ("docs/latest.md", "code"),
        ("contest.py", "code"),
        ("src/testing.py", "code"),
        ("tests/data/words.txt", "tests"),
        ("Tests/images/a.png", "tests"),
        ("pkg/test/util.py", "tests"),
        ("src/__tests__/a.js", "tests"),
        ("src/__snapshots__/a.js.snap", "tests"),
        ("spec/a_spec.rb", "tests"),
        ("test_invoice.py", "tests"),
        ("invoice_test.go", "tests"),
        ("lib/parse.test.ts", "tests"),
        ("lib/parse.spec.mjs", "tests"),
        ("test.js", "tests"),
        ("conftest.py", "tests"),
        ("tests/pytest.ini", "tests"),
        ("pytest.ini", "rules"),
        ("tox.ini", "rules"),
        ("sub/Makefile", "rules"),
        ("vitest.config.ts", "rules"),
        (".mocharc.json", "rules"),
        (".gitignore", "rules"),
        (".handrail/config.json", "rules"),
        ("uv.lock", "dependencies"),
        ("requirements-dev.txt", "dependencies"),
        ("requirements/dev.txt", "dependencies"),
        ("package-lock.json", "dependencies"),
        ("setup.py", "dependencies"),
        ("Cargo.toml", "dependencies"),
        ("pyproject.toml", "dependencies"),
        ("packages/a/package.json", "dependencies"),
    ],
)
def test_path_is_sorted_by_its_name_and_its_folders(path: str, expected: str) -> None:
    assert sort_path(path, Patterns(), {}) == expected


def test_declared_tests_replace_the_usual_patterns() -> None:
    patterns = make_patterns(("check",), declared_tests=("/qa/", "*.case.txt"))
    paths = ("qa/a.py", "lib/qa/a.py", "lib/b.case.txt", "tests/test_a.py", "conftest.py")
    assert [sort_path(path, patterns, {}) for path in paths] == ["tests", "code", "tests", "code", "code"]


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("qa/a.py", "qa/", True),
        ("qa", "qa/", False),
        ("src/QA/a.py", "qa/", True),
        ("src/qa/a.py", "src/qa", True),
        ("x/src/qa/a.py", "src/qa", False),
        ("src/x/y/a_qa.py", "src/**/*_qa.py", True),
        ("src/a_qa.py", "src/**/*_qa.py", True),
        ("src/a_qa.py.orig", "*_qa.py", False),
        ("a+b.py", "a+b.py", True),
        ("aab.py", "a+b.py", False),
        ("test_a.py", "test_?.py", True),
        ("test_ab.py", "test_?.py", False),
    ],
)
def test_pattern_matches_a_path(path: str, pattern: str, expected: bool) -> None:
    assert matches(path, (pattern,)) is expected


@pytest.mark.parametrize(
    ("path", "before", "after", "expected"),
    [
        ("pyproject.toml", b'[project]\nversion = "1"', b'[project]\nversion = "2"', "dependencies"),
        ("pyproject.toml", b"", b'[tool.pytest.ini_options]\naddopts = "-k fast"', "rules"),
        (
            "pyproject.toml",
            b"[tool.ruff]\nline-length = 80",
            b"[tool.ruff]\nline-length = 90",
            "dependencies",
        ),
        (
            "pyproject.toml",
            b"[tool.pdm.dev-dependencies]\na = []",
            b"[tool.pdm.dev-dependencies]\na = ['b']",
            "dependencies",
        ),
        ("pyproject.toml", b"[tool.coverage.report]\nfail_under = 90", b"", "rules"),
        ("pyproject.toml", b"[broken", b"", "rules"),
        ("pyproject.toml", None, b"[project]\nname = 'a'", "dependencies"),
        ("package.json", b'{"version": "1"}', b'{"version": "2"}', "dependencies"),
        ("package.json", b'{"scripts": {"test": "a"}}', b'{"scripts": {"test": "b"}}', "rules"),
        ("package.json", b'{"jest": {"a": 1}}', b'{"jest": {"a": 2}}', "rules"),
        ("package.json", b"{", b"{}", "rules"),
        ("setup.cfg", b"[metadata]\nname = a\n", b"[metadata]\nname = b\n", "dependencies"),
        ("setup.cfg", b"[tool:pytest]\naddopts = -q\n", b"[tool:pytest]\naddopts = -x\n", "rules"),
    ],
)
def test_manifest_is_a_rule_if_its_runner_tables_differ(
    path: str, before: bytes | None, after: bytes | None, expected: str
) -> None:
    mixed = {path: MixedContent(before=before, after=after)}
    assert sort_path(path, Patterns(), mixed) == expected


def test_table_of_the_tool_that_the_command_names_is_a_rule() -> None:
    patterns = make_patterns(("uv", "run", "ruff", "check"))
    content = MixedContent(before=b"[tool.ruff]\nline-length = 80", after=b"[tool.ruff]\nline-length = 90")
    assert sort_path("pyproject.toml", patterns, {"pyproject.toml": content}) == "rules"


def test_file_that_the_check_reads_is_no_rule() -> None:
    for command in (("ruff", "check", "src/a.py"), ("sh", "-c", "grep -q it src/a.py && eslint src/a.py")):
        assert make_patterns(command, paths=("src/a.py",)).scripts == set()


@pytest.mark.parametrize(
    ("command", "directory", "script"),
    [
        (("sh", "run.sh"), ".", "run.sh"),
        (("./ci/run",), ".", "ci/run"),
        (("./run",), "ci", "ci/run"),
        (("bash", "-c", "set -e; ci/run && echo done"), ".", "ci/run"),
        (("npm", "test"), ".", "ci/run"),
        (("npm", "run", "verify"), ".", "run.sh"),
        (("env", "A=1", "timeout", "60", "python", "-u", "ci/run"), ".", "ci/run"),
        (("uv", "run", "ci/run", "src/a.py"), ".", "ci/run"),
    ],
)
def test_script_of_the_check_is_a_rule(command: tuple[str, ...], directory: str, script: str) -> None:
    manifest = b'{"scripts": {"test": "node ci/run --fast", "verify": "sh run.sh"}}'
    patterns = make_patterns(command, directory, (), manifest, ("run.sh", "ci/run", "src/a.py"))
    assert patterns.scripts == {script}
    assert sort_path(script, patterns, {}) == "rules"


def test_test_file_that_the_command_names_stays_a_test() -> None:
    patterns = make_patterns(("pytest", "tests/test_a.py"), paths=("tests/test_a.py",))
    assert sort_path("tests/test_a.py", patterns, {}) == "tests"
