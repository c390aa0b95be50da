"""Proving a change by its trees: which runs are asked for, what is answered, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Failure, Outcome, Success
from handrail.ports.trials import TrialResult
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.operations.mini_trials import MiniTrials
from tests.worktree.repositories import commit, open_trees, run_git, write

OLD, NEW = "old: begin\n", "new: fixed\n"


class World:
    """A repository whose first commit has one test, and what proves changes of it."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        root.mkdir()
        run_git(root, "init", "-q", "-b", "main")
        write(root, "code.py", "begin\n")
        write(root, "test_a.txt", OLD)
        commit(root)
        self.trials = MiniTrials(open_trees(home))
        own = {"trials": lambda: self.trials}
        self.runtime: Runtime = msgspec.structs.replace(build_runtime({}, home=str(home)), **own)

    def prove(self, **params: Any) -> Outcome:
        return perform(self.runtime, "check.prove", {"project": str(self.root), "argv": ["mini"], **params})

    def declare(self, **checks: Any) -> None:
        (self.root / ".handrail").mkdir(exist_ok=True)
        write(self.root, ".handrail/config.json", json.dumps({"checks": checks}))

    def prove_declared(self, **params: Any) -> Outcome:
        return perform(self.runtime, "check.prove", {"project": str(self.root), **params})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "project", tmp_path / "home")


def fix(world: World) -> None:
    write(world.root, "code.py", "begin fixed\n")
    write(world.root, "test_a.txt", OLD + NEW)


def read(outcome: Outcome) -> dict[str, Any]:
    assert isinstance(outcome, Success), outcome
    assert isinstance(outcome.data, dict)
    return outcome.data


def test_fix_with_a_new_test_is_proved(world: World) -> None:
    fix(world)
    data = read(world.prove())
    (proven,) = data["checks"]
    assert (data["word"], proven["word"], proven["names"]) == ("proved", "proved", ("test_a.txt::new",))
    assert proven["sentence"] == "1 new test fails without the change and passes with it"
    assert world.trials.ran == [
        "old=passed new=passed",
        "old=passed new=failed",
        "old=passed",
        "old=passed new=failed",  # the run that decides, once more
    ]
    assert proven["command"] == "mini"
    assert proven["remarks"] == ("the command was typed, not declared",)


def test_second_proof_of_the_same_files_runs_nothing(world: World) -> None:
    fix(world)
    first = read(world.prove())
    world.trials.ran.clear()
    again = read(world.prove())
    assert world.trials.ran == []
    assert again["checks"][0]["remarks"][-1].startswith("4 of 4 runs are remembered")
    assert again["checks"][0]["cells"] == first["checks"][0]["cells"]
    world.prove(fresh=True)
    assert len(world.trials.ran) == 4


def test_weakened_test_is_rewritten(world: World) -> None:
    write(world.root, "code.py", "other\n")
    write(world.root, "test_a.txt", "old: other\n")
    data = read(world.prove())
    assert (data["word"], data["checks"][0]["names"]) == ("rewrote", ("test_a.txt::old",))


def test_change_without_a_test_is_kept(world: World) -> None:
    write(world.root, "code.py", "begin and more\n")
    assert read(world.prove())["word"] == "kept"


def test_code_that_no_test_reads_is_unseen(world: World) -> None:
    write(world.root, "notes.txt", "begin\n")
    commit(world.root)
    write(world.root, "code.py", "begin and more\n")
    data = read(world.prove())
    assert (data["word"], data["checks"][0]["names"]) == ("unseen", ("code.py",))


def test_red_end_fails_with_the_proof_in_its_details(world: World) -> None:
    write(world.root, "code.py", "broken\n")
    failure = world.prove()
    assert isinstance(failure, Failure)
    assert (failure.kind.code, failure.kind.exit_status) == ("E_CHECK_FAILED", 1)
    assert failure.message == "FAILS. The check fails at the end: 1 test fails."
    assert failure.details["proof"]["word"] == "fails"
    assert failure.details["proof"]["checks"][0]["names"] == ["test_a.txt::old"]
    assert "in place" in world.trials.ran


def test_check_that_passes_in_place_alone_is_not_tried(world: World) -> None:
    write(world.root, "code.py", "broken\n")
    world.trials.is_red_here = False
    data = read(world.prove())
    assert data["word"] == "not_tried"
    assert 'not in a copy of the files: "no file data.bin"' in data["checks"][0]["reason"]


def test_head_that_is_a_commit_is_never_run_in_place(world: World) -> None:
    write(world.root, "code.py", "broken\n")
    commit(world.root)
    failure = world.prove(base="HEAD~1", head="HEAD")
    assert isinstance(failure, Failure)
    assert "in place" not in world.trials.ran


def test_another_word_than_expected_fails(world: World) -> None:
    fix(world)
    assert read(world.prove(expect="proved"))["word"] == "proved"
    failure = world.prove(expect="kept")
    assert isinstance(failure, Failure)
    assert failure.kind.code == "E_CHECK_FAILED"
    assert failure.message.endswith("Expected was KEPT.")


def test_expected_failure_succeeds(world: World) -> None:
    write(world.root, "code.py", "broken\n")
    assert read(world.prove(expect="fails"))["word"] == "fails"


def test_markdown_is_added_on_request(world: World) -> None:
    fix(world)
    assert "**PROVED** – 1 new test" in read(world.prove(**{"as": "markdown"}))["markdown"]


# Which files


def test_nothing_changed_names_the_start_and_a_way_on(world: World) -> None:
    data = read(world.prove())
    assert data["word"] == "not_tried"
    assert (
        data["checks"][0]["reason"]
        == "nothing changed since the merge base with main; name an earlier start with --base"
    )


def test_unknown_base_is_refused(world: World) -> None:
    failure = world.prove(base="nowhere")
    assert isinstance(failure, Failure)
    assert failure.message == 'There is no commit "nowhere" in this repository.'
    assert failure.details["problems"][0]["param"] == "base"


def test_folder_without_git_is_not_tried(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    runtime = build_runtime({}, home=str(tmp_path / "home"))
    for more in ({}, {"base": "HEAD"}):
        data = read(perform(runtime, "check.prove", {"project": str(folder), "argv": ["mini"], **more}))
        assert data["word"] == "not_tried"
        assert data["checks"][0]["reason"] == "the project is not in a git repository"


def test_repository_without_a_commit_is_not_tried(tmp_path: Path) -> None:
    folder = tmp_path / "young"
    folder.mkdir()
    run_git(folder, "init", "-q")
    runtime = build_runtime({}, home=str(tmp_path / "home"))
    data = read(perform(runtime, "check.prove", {"project": str(folder), "argv": ["mini"]}))
    assert data["word"] == "not_tried"
    assert data["checks"][0]["reason"] == "there is no commit yet; name the start with --base"


def test_in_place_is_refused_over_uncommitted_changes(world: World) -> None:
    fix(world)
    failure = world.prove(inPlace=True)
    assert isinstance(failure, Failure)
    assert failure.kind.code == "E_CONFLICT"
    assert failure.hint == "Commit or stash them first, or leave out --in-place."
    commit(world.root)
    assert read(world.prove(inPlace=True, base="HEAD~1"))["checks"][0]["isolation"] == "in_place"


def test_dependencies_are_those_of_the_end_and_named(world: World) -> None:
    fix(world)
    write(world.root, "requirements.txt", "some\n")
    assert read(world.prove())["checks"][0]["remarks"][-1] == (
        "dependencies are those of the end in every run: requirements.txt"
    )


# Which check


def test_declaration_of_the_start_counts(world: World) -> None:
    world.declare(tests={"command": ["mini", "all"], "timeoutSeconds": 5})
    commit(world.root)
    fix(world)
    world.declare(tests={"command": ["true"]})
    data = read(world.prove_declared())
    assert (data["word"], data["checks"][0]["check"]) == ("proved", "tests")
    assert [check.command for check in world.trials.opened] == [("mini", "all")]
    assert world.trials.opened[0].timeout_seconds == 5


def test_declaration_of_the_end_counts_if_the_start_has_none(world: World) -> None:
    fix(world)
    world.declare(tests={"command": ["mini"]})
    data = read(world.prove_declared(names=["tests"]))
    assert data["checks"][0]["remarks"][0] == "the change itself declares the check tests"


def test_narrow_form_runs_the_changed_test_files_alone(world: World) -> None:
    write(world.root, "test_b.txt", "steady: begin\n")
    world.declare(tests={"command": ["mini"], "narrow": ["mini", "{files}"]})
    commit(world.root)
    fix(world)
    data = read(world.prove_declared())
    assert (data["word"], data["checks"][0]["names"]) == ("proved", ("test_a.txt::new",))
    assert world.trials.ran == [
        "old=passed new=passed steady=passed",
        "old=passed new=failed",
        "old=passed",
        "old=passed new=failed",
    ]
    assert data["checks"][0]["cells"]["testsBeforeCodeAfter"]["counts"]["passed"] == 2
    assert "after the first run, only the changed test files were run" in data["checks"][0]["remarks"]


def test_changed_file_without_tests_needs_every_test_file(world: World) -> None:
    write(world.root, "test_b.txt", "steady: begin\n")
    world.declare(tests={"command": ["mini"], "narrow": ["mini", "{files}"]})
    commit(world.root)
    fix(world)
    write(world.root, "test_helpers.py", "")
    world.prove_declared()
    assert [line.count("steady") for line in world.trials.ran] == [1, 1, 1, 1]


def test_several_checks_have_the_worst_word(world: World) -> None:
    world.declare(one={"command": ["mini"]}, two={"command": ["mini", "2"], "tests": ["nothing"]})
    commit(world.root)
    fix(world)
    data = read(world.prove_declared())
    assert {row["check"]: row["word"] for row in data["checks"]} == {"one": "proved", "two": "kept"}
    assert data["word"] == "kept"


def test_undeclared_check_is_refused_with_the_declared_ones(world: World) -> None:
    world.declare(tests={"command": ["mini"]})
    failure = world.prove_declared(names=["test"])
    assert isinstance(failure, Failure)
    assert failure.message == 'The project declares no check "test".'
    assert failure.details["did_you_mean"] == ["tests"]


def test_names_and_a_command_exclude_each_other(world: World) -> None:
    failure = world.prove(names=["tests"])
    assert isinstance(failure, Failure)
    assert failure.message == "Name declared checks or give a command after --, not both."


def test_without_any_check_the_files_suggest_one(world: World) -> None:
    write(world.root, "package.json", '{"scripts": {"test": "mocha"}}')
    write(world.root, "pyproject.toml", '[dependency-groups]\ndev = ["pytest"]\n')
    data = read(world.prove_declared())
    assert (data["word"], data["checks"][0]["reason"]) == ("not_tried", "no check is declared")
    assert {one["because"]: one["line"] for one in data["suggestions"]} == {
        "pyproject.toml": "handrail prove -- python -m pytest -q",
        "package.json": "handrail prove -- npm test",
    }
    assert world.trials.ran == []


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [
        ("test_b.py", "def test_it():\n    pass\n", "handrail prove -- python -m pytest -q"),
        ("test_b.py", "import unittest\n", "handrail prove -- python -m unittest"),
        ("package.json", '{"scripts": {"test": "echo \\"Error: no test specified\\""}}', ""),
        ("Makefile", "all:\n\ttrue\ntest: all\n\ttrue\n", "handrail prove -- make test"),
        ("go.mod", "module a\n", "handrail prove -- go test ./..."),
    ],
)
def test_suggested_command_fits_the_files(world: World, path: str, text: str, line: str) -> None:
    write(world.root, path, text)
    found = read(world.prove_declared()).get("suggestions", ())
    assert [one["line"] for one in found] == ([line] if line else [])


# Ends, limits and secrets


def test_slow_check_is_not_tried(world: World) -> None:
    fix(world)
    world.trials.change = lambda _, __: TrialResult(state="timed_out")
    assert read(world.prove())["checks"][0]["reason"].startswith("too slow: no end within 600 seconds")


def test_flaky_run_is_not_remembered_as_a_repeat(world: World) -> None:
    fix(world)

    def change(number: int, result: TrialResult) -> TrialResult:
        if number != 4 or result.cases is None:
            return result
        cases = tuple(msgspec.structs.replace(case, outcome="passed") for case in result.cases)
        return msgspec.structs.replace(result, cases=cases, state="passed", exit_status=0)

    world.trials.change = change
    assert read(world.prove())["word"] == "flaky"


def test_secret_in_the_first_different_line_is_hidden(world: World) -> None:
    write(world.root, "code.py", "broken\n")
    world.trials.is_red_here = False
    world.trials.change = lambda _, result: msgspec.structs.replace(
        result, tail="\x1b[31mpassword=hunter2hunter2\x1b[0m"
    )
    reason = read(world.prove())["checks"][0]["reason"]
    assert "hunter2" not in reason
    assert "\x1b" not in reason


def test_ceiling_of_reads_starts_no_program(world: World) -> None:
    fix(world)
    settings = Path(world.runtime.settings.desired().user_file)
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"maxEffect": "read"}', encoding="utf-8")
    failure = world.prove()
    assert isinstance(failure, Failure)
    assert failure.kind.code == "E_FORBIDDEN"
    assert world.trials.opened == []
