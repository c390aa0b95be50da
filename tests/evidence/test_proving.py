"""Which runs a proof asks for in which order, and which word they give."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from handrail.evidence.change import RunName, list_run, split_change
from handrail.evidence.file_sets import Patterns
from handrail.evidence.proof import CaseCounts, Proof
from handrail.evidence.proving import ProofTask, RunNext, Step, decide
from handrail.evidence.rendering import describe
from handrail.evidence.runs import RanCase, RunResult
from tests.evidence.runs import make_run, make_status

NUMBERS: dict[str, Step] = {
    "1": "tests_before_code_before",
    "2": "tests_before_code_after",
    "3": "tests_after_code_before",
    "4": "tests_after_code_after",
    "rules": "rules_after",
    "control": "control",
    "in place": "in_place",
    "repeat": "repeat",
}
RUNS: tuple[RunName, ...] = (
    *("tests_before_code_before", "tests_before_code_after", "tests_after_code_before"),
    *("tests_after_code_after", "rules_after"),
)
FIX = {"a.py": "12", "test_a.py": "12", "test_b.py": "11"}
"""By path: the content before and after; a blank is a file that is not there."""
OLD = ". test_a.py::old"


def ask(files: dict[str, str], **known: Any) -> ProofTask:
    before, after = (
        {path: ("100644", both[end]) for path, both in files.items() if both[end] != " "} for end in (0, 1)
    )
    change = split_change(before, after, Patterns(), {})
    trees = {run: repr(sorted(list_run(change, run).items())) for run in RUNS}
    return ProofTask(change=change, trees=trees, **{"seconds": 600, **known})


def prove(files: dict[str, str], answers: dict[str, RunResult], **known: Any) -> tuple[str, Proof]:
    """The order of the runs, and the proof; each run that is asked for has its answer by its number."""
    question, given = ask(files, **known), {NUMBERS[key]: result for key, result in answers.items()}
    done: dict[Step, RunResult] = {}
    while isinstance(following := decide(question, done), RunNext):
        assert following.step not in done
        assert following.step in given, f"{following.step} was asked for after {list(done)}"
        done[following.step] = given[following.step]
    shown = {step: key for key, step in NUMBERS.items()}
    return " ".join(shown[step] for step in done), following


def test_three_runs_and_a_repeat_prove_a_fix_with_a_test() -> None:
    red = make_run(OLD, "F test_a.py::new")
    order, proof = prove(
        FIX, {"4": make_run(OLD, ". test_a.py::new"), "3": red, "2": make_run(OLD), "repeat": red}
    )
    assert order == "4 3 2 repeat"
    assert (proof.word, proof.names, proof.names_total, proof.new_tests) == (
        "proved",
        ("test_a.py::new",),
        1,
        1,
    )
    assert proof.cells.tests_after_code_before.counts == CaseCounts(passed=1, failed=1)
    assert proof.cells.tests_before_code_before.state == "not_run"
    assert (proof.isolation, proof.reason, proof.by_exit_status) == ("linked_folder", "", False)


@pytest.mark.parametrize("name", ["ends[15:{}]", "ends at 15:{}"])
def test_case_whose_name_has_the_time_shows_nothing(name: str) -> None:
    """A name with the present time is another one in every run."""
    ends = [f". test_a.py::{name.format(minute)}" for minute in range(3)]
    at_end, without = make_run(OLD, ". test_a.py::new", ends[0]), make_run(OLD, ". test_a.py::new", ends[1])
    control = make_run("F test_a.py::new")
    _, proof = prove(FIX, {"4": at_end, "3": without, "2": make_run(OLD, ends[2]), "control": control})
    assert (proof.word, proof.names) == ("kept", ())


def test_missing_case_is_told_from_one_with_another_name() -> None:
    at_end = make_run(OLD, ". test_a.py::new", ". test_a.py::ends[15:32]")
    without = make_run(OLD, ". test_a.py::ends[15:31]")
    _, proof = prove(FIX, {"4": at_end, "3": without, "2": make_run(OLD), "repeat": without})
    assert (proof.word, proof.names) == ("proved", ("test_a.py::new",))


def test_case_that_the_old_code_does_not_make_is_proof() -> None:
    at_end = make_run(OLD, ". test_a.py::ends[1]", ". test_a.py::ends[2]")
    without = make_run(OLD, ". test_a.py::ends[1]")
    _, proof = prove(FIX, {"4": at_end, "3": without, "2": make_run(OLD), "repeat": without})
    assert (proof.word, proof.names) == ("proved", ("test_a.py::ends[2]",))
    assert proof.reason == "only because the test is missing without the change"


def test_old_case_whose_name_has_the_time_is_not_broken() -> None:
    red = make_run(OLD, ". test_b.py::ends[1:31]", "F test_a.py::new")
    _, proof = prove(
        FIX,
        {
            "4": make_run(OLD, ". test_b.py::ends[1:32]", ". test_a.py::new"),
            "3": red,
            "2": make_run(OLD, ". test_b.py::ends[1:33]"),
            "1": make_run(OLD, ". test_b.py::ends[1:34]"),
            "repeat": red,
        },
    )
    assert (proof.word, proof.names) == ("proved", ("test_a.py::new",))


def test_name_without_its_file_is_shown_with_it() -> None:
    files = {"calc.js": "12", "test/calc.test.js": "12"}

    def run(outcome: Literal["passed", "failed"]) -> RunResult:
        cases = tuple(
            RanCase(name=name, file="test/calc.test.js", outcome=outcome)
            for name in ("adds", "calc subtracts")
        )
        return RunResult(state=outcome, cases=cases)

    _, proof = prove(files, {"4": run("passed"), "3": run("failed"), "2": make_run()})
    assert proof.names == ("test/calc.test.js: adds", "calc subtracts")


def test_two_new_tests_need_no_repeat() -> None:
    new = (". test_a.py::one", ". test_a.py::two")
    red = make_run(OLD, "F test_a.py::one", "E test_a.py::two")
    order, proof = prove(FIX, {"4": make_run(OLD, *new), "3": red, "2": make_run(OLD)})
    assert (order, proof.word, proof.new_tests) == ("4 3 2", "proved", 2)


def test_new_test_that_passes_when_repeated_is_flaky() -> None:
    end = make_run(OLD, ". test_a.py::new")
    _, proof = prove(
        FIX, {"4": end, "3": make_run(OLD, "F test_a.py::new"), "2": make_run(OLD), "repeat": end}
    )
    assert (proof.word, proof.names) == ("flaky", ("test_a.py::new",))


def test_test_that_was_red_before_proves_the_change() -> None:
    files = {"a.py": "12", "test_a.py": "11"}
    end, red = make_run(OLD, ". test_a.py::bug"), make_run(OLD, "F test_a.py::bug")
    order, proof = prove(files, {"4": end, "3": red})
    assert order == "4 3"  # the tests are the same, so 1 is 3 and 2 is 4
    assert (proof.word, proof.new_tests, proof.red_before) == ("proved", 0, 1)
    assert proof.cells.tests_before_code_before == proof.cells.tests_after_code_before


def test_changed_assertion_proves_without_being_new() -> None:
    order, proof = prove(FIX, {"4": make_run(OLD), "3": make_run("F test_a.py::old"), "2": make_run(OLD)})
    assert (order, proof.word, proof.new_tests, proof.red_before) == ("4 3 2", "proved", 0, 0)


def test_new_file_that_cannot_be_loaded_is_one_fact() -> None:
    new = [f". test_c.py::case{number}" for number in range(421)]
    files = {"a.py": "12", "test_a.py": "11", "test_c.py": " 2"}
    red = make_run(OLD, unloaded=("test_c.py rounded",))
    _, proof = prove(files, {"4": make_run(OLD, *new), "3": red, "2": make_run(OLD), "repeat": red})
    assert (proof.word, proof.names, proof.new_tests) == ("proved", ("test_c.py (cannot be loaded)",), 1)
    assert proof.reason == "only because rounded is missing without the change"


def test_missing_name_is_fine_if_a_new_test_fails_otherwise() -> None:
    red = make_run(OLD, "F test_a.py::one missing rounded", "F test_a.py::two")
    new = (". test_a.py::one", ". test_a.py::two")
    _, proof = prove(FIX, {"4": make_run(OLD, *new), "3": red, "2": make_run(OLD)})
    assert (proof.word, proof.reason) == ("proved", "")


def test_no_test_shows_the_change_is_kept_if_broken_code_fails() -> None:
    control = make_run(unloaded=("test_a.py",))
    order, proof = prove(
        {"a.py": "12", "test_a.py": "11"}, {"4": make_run(OLD), "3": make_run(OLD), "control": control}
    )
    assert (order, proof.word, proof.names) == ("4 3 control", "kept", ())


def test_passing_with_broken_code_is_unseen() -> None:
    files = {"a.py": "12", "test_a.py": "11"}
    same = make_run(OLD)
    _, proof = prove(files, {"4": same, "3": same, "control": same})
    assert (proof.word, proof.names) == ("unseen", ("a.py",))


def test_prose_that_may_be_empty_is_not_looked_at() -> None:
    files = {"README.md": "12", "test_a.py": "11"}
    same = make_run(OLD)
    order, proof = prove(files, {"4": same, "3": same, "control": same})
    assert (order, proof.word, proof.names) == ("4 3 control", "kept", ("README.md",))


def test_data_that_the_tests_read_is_not_called_unread() -> None:
    files = {"rates.json": "12", "test_a.py": "11"}
    control = make_run("F test_a.py::old")
    _, proof = prove(files, {"4": make_run(OLD), "3": make_run(OLD), "control": control})
    assert (proof.word, proof.names) == ("kept", ())


def test_change_of_tests_alone_is_kept() -> None:
    files = {"a.py": "11", "test_a.py": "12"}
    order, proof = prove(files, {"4": make_run(OLD, ". test_a.py::new"), "2": make_run(OLD)})
    assert (order, proof.word, proof.names) == ("4 2", "kept", ())


def test_old_test_that_fails_with_the_new_code_is_rewritten() -> None:
    order, proof = prove(
        FIX,
        {
            "4": make_run(OLD),
            "3": make_run("F test_a.py::old"),
            "2": make_run("F test_a.py::old"),
            "1": make_run(OLD),
        },
    )
    assert (order, proof.word, proof.names) == ("4 3 2 1", "rewrote", ("test_a.py::old",))


def test_old_test_that_was_red_is_not_rewritten() -> None:
    red = make_run("F test_a.py::odd", OLD)
    answers = {
        "4": make_run(OLD, ". test_a.py::odd"),
        "3": make_run(OLD, ". test_a.py::odd"),
        "2": red,
        "1": red,
    }
    _, proof = prove(FIX, {**answers, "control": make_run(unloaded=("test_a.py",))})
    assert (proof.word, proof.still_red) == ("kept", 0)
    assert describe(proof) == "Every old test that passed still passes; no test shows the change"


def test_file_that_was_loaded_in_part_is_proof() -> None:
    """As mocha does it: what the file declared before the trouble still runs."""
    answers = {
        "4": make_run(OLD, ". test_b.py::other"),
        "3": make_run(OLD, ". test_b.py::other", unloaded=("test_a.py fresh",)),
        "2": make_run(OLD, ". test_b.py::other"),
        "1": make_run(OLD, ". test_b.py::other"),
    }
    _, proof = prove(FIX, answers)
    assert (proof.word, proof.names) == ("proved", ("test_a.py (cannot be loaded)",))


def test_conftest_that_cannot_be_loaded_is_one_fact() -> None:
    end = make_run(OLD, ". test_b.py::other", ". test_a.py::new")
    answers = {
        "4": end,
        "3": make_run(unloaded=("conftest.py fresh",)),
        "2": make_run(OLD, ". test_b.py::other"),
    }
    _, proof = prove({**FIX, "conftest.py": "12"}, answers)
    assert (proof.word, proof.names) == ("proved", ("conftest.py (cannot be loaded)",))


def test_conftest_that_the_change_breaks_is_one_rewritten_fact() -> None:
    answers = {
        "4": make_run(OLD, ". test_b.py::other"),
        "3": make_run(unloaded=("conftest.py",)),
        "2": make_run(unloaded=("conftest.py",)),
        "1": make_run(OLD, ". test_b.py::other"),
    }
    _, proof = prove({**FIX, "conftest.py": "12"}, answers)
    assert (proof.word, proof.names) == ("rewrote", ("conftest.py (cannot be loaded)",))
    assert proof.reason == "1 test file cannot be loaded"


def test_old_file_that_cannot_be_loaded_is_one_rewritten_fact() -> None:
    old = [f". test_a.py::case{number}" for number in range(30)]
    new = [f". test_a.py::other{number}" for number in range(30)]
    _, proof = prove(
        FIX,
        {
            "4": make_run(*new),
            "3": make_run(unloaded=("test_a.py",)),
            "2": make_run(unloaded=("test_a.py",)),
            "1": make_run(*old),
        },
    )
    assert (proof.word, proof.names) == ("rewrote", ("test_a.py (cannot be loaded)",))


@pytest.mark.parametrize("gone", [(), ("s test_b.py::other",)], ids=["missing", "skipped"])
def test_old_test_that_the_new_code_hides_is_rewritten(gone: tuple[str, ...]) -> None:
    both = make_run(OLD, ". test_b.py::other")
    hidden = make_run(OLD, *gone)
    order, proof = prove(FIX, {"4": hidden, "3": both, "2": hidden, "1": both})
    assert (order, proof.word, proof.names) == ("4 3 2 1", "rewrote", ("test_b.py::other",))


def test_deleted_test_that_would_pass_is_kept() -> None:
    files = {"a.py": "12", "test_a.py": "1 ", "test_b.py": "11"}
    other = ". test_b.py::other"
    answers = {"4": make_run(other), "3": make_run(other), "2": make_run(other, OLD)}
    _, proof = prove(files, {**answers, "control": make_run("F test_b.py::other")})
    assert proof.word == "kept"


def test_moved_test_is_not_new() -> None:
    files = {"a.py": "12", "test_a.py": "1 ", "sub/test_a.py": " 1"}
    _, proof = prove(
        files,
        {
            "4": make_run(". sub/test_a.py::old"),
            "3": make_run("F sub/test_a.py::old"),
            "2": make_run(OLD),
        },
    )
    assert (proof.word, proof.new_tests) == ("proved", 0)


def test_new_doctest_in_the_code_shows_nothing() -> None:
    doctest = ". a.py::a.rounded"
    answers = {"4": make_run(OLD, doctest), "3": make_run(OLD), "2": make_run(OLD, doctest)}
    _, proof = prove(FIX, {**answers, "control": make_run(unloaded=("test_a.py",))})
    assert proof.word == "kept"


def test_red_end_fails_and_tells_what_was_red_before() -> None:
    end = make_run("F test_a.py::old", "F test_b.py::odd")
    order, proof = prove(FIX, {"4": end, "1": make_run(OLD, "F test_b.py::odd")})
    assert order == "4 1"
    assert (proof.word, proof.names, proof.still_red) == ("fails", ("test_a.py::old", "test_b.py::odd"), 1)


def test_red_case_fails_whatever_the_exit_status_says() -> None:
    end = make_run("F test_a.py::old", status=0)
    _, proof = prove(FIX, {"4": end, "1": make_run(OLD)})
    assert (proof.word, proof.names) == ("fails", ("test_a.py::old",))


def test_runner_that_ends_early_fails() -> None:
    _, proof = prove(FIX, {"4": make_run(OLD, is_ended_early=True)})
    assert proof.word == "fails"


def test_failed_check_names_why_a_file_cannot_be_loaded() -> None:
    broken = make_run(unloaded=("test_a.py because ImportError: no module b", "test_b.py"))
    _, proof = prove(FIX, {"4": broken, "1": make_run(OLD)})
    assert proof.names == (
        "test_a.py (cannot be loaded: ImportError: no module b)",
        "test_b.py (cannot be loaded)",
    )


def test_failed_check_without_cases_quotes_its_last_lines() -> None:
    tail = "started\nusage: runner\n=======\n  runner: no such option\n\nended\n"
    _, proof = prove(FIX, {"4": make_status(2, tail=tail)})
    assert (proof.word, proof.names, proof.reason) == (
        "fails",
        (),
        '"usage: runner / runner: no such option / ended"',
    )


def test_rewritten_file_names_why_it_cannot_be_loaded() -> None:
    broken, end = make_run(unloaded=("test_a.py because NameError: old",)), make_run(". test_a.py::new")
    _, proof = prove(FIX, {"4": end, "3": end, "2": broken, "1": make_run(OLD)})
    assert (proof.word, proof.names) == ("rewrote", ("test_a.py (cannot be loaded: NameError: old)",))


def test_files_that_cannot_be_loaded_are_not_counted_as_tests() -> None:
    end = make_run("F test_a.py::old", "F test_a.py::new", unloaded=("test_b.py",))
    _, proof = prove(FIX, {"4": end, "1": make_run(OLD, ". test_b.py::other")})
    assert (proof.word, proof.reason) == ("fails", "2 tests fail and 1 test file cannot be loaded")


def test_rules_of_the_end_are_tried_before_the_word_is_fails() -> None:
    files = {"a.py": "12", "test_a.py": "11", "tox.ini": "12"}
    red = make_run("F test_a.py::old")
    order, proof = prove(files, {"4": red, "rules": make_run(OLD)})
    assert (order, proof.word, proof.names) == ("4 rules", "new_rules", ("tox.ini",))
    order, proof = prove(files, {"4": red, "rules": red, "1": make_run(OLD)})
    assert (order, proof.word) == ("4 rules 1", "fails")


def test_check_that_passes_in_place_alone_is_not_tried() -> None:
    end = make_run("F test_a.py::old", tail="start\n\n===== ERRORS =====\nno file data.bin\nend")
    here = make_run(OLD, tail="start\nend", isolation="")
    order, proof = prove(FIX, {"4": end, "in place": here}, may_run_in_place=True)
    assert (order, proof.word) == ("4 in place", "not_tried")
    assert 'not in a copy of the files: "no file data.bin"' in proof.reason
    assert "`links` or `prepare`" in proof.reason


def test_check_that_fails_in_place_too_fails() -> None:
    red = make_run("F test_a.py::old")
    order, proof = prove(FIX, {"4": red, "in place": red, "1": make_run(OLD)}, may_run_in_place=True)
    assert (order, proof.word) == ("4 in place 1", "fails")


def test_nothing_changed_is_not_tried() -> None:
    order, proof = prove({"a.py": "11"}, {})
    assert (order, proof.word) == ("", "not_tried")
    assert proof.reason == "nothing changed: the files at the start and at the end are the same"


def test_check_without_any_test_is_not_tried() -> None:
    order, proof = prove(FIX, {"4": make_run()})
    assert (order, proof.word) == ("4", "not_tried")
    assert proof.reason.startswith("the check ran no test")


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (RunResult(state="timed_out"), "too slow: no end within 60 seconds (new tests with the new code)"),
        (RunResult(state="not_started", reason="pytest is not here"), "did not start: pytest is not here"),
        (RunResult(state="interrupted"), "it was interrupted"),
    ],
)
def test_run_without_an_end_is_not_tried(result: RunResult, reason: str) -> None:
    _, proof = prove(FIX, {"4": result}, seconds=60)
    assert proof.word == "not_tried"
    assert reason in proof.reason


def test_exit_status_alone_needs_all_four_runs() -> None:
    answers = {"4": make_status(0), "3": make_status(1), "2": make_status(0), "1": make_status(0)}
    order, proof = prove(FIX, answers)
    assert (order, proof.word, proof.by_exit_status) == ("4 3 2 1", "proved", True)


@pytest.mark.parametrize(
    ("three", "two", "one", "word"),
    [(1, 1, 0, "rewrote"), (0, 1, 0, "rewrote"), (1, 1, 1, "not_tried"), (1, 0, 1, "proved")],
)
def test_exit_statuses_give_a_word(three: int, two: int, one: int, word: str) -> None:
    statuses = {"4": 0, "3": three, "2": two, "1": one}
    _, proof = prove(FIX, {run: make_status(status) for run, status in statuses.items()})
    assert (proof.word, proof.by_exit_status) == (word, True)


def test_exit_status_of_a_control_that_passes_is_unseen() -> None:
    _, proof = prove(FIX, {run: make_status(0) for run in ("4", "3", "2", "1", "control")})
    assert (proof.word, proof.names, proof.by_exit_status) == ("unseen", ("a.py",), True)


def test_case_that_only_differs_by_an_address_is_the_same() -> None:
    one, other = (". test_a.py::old[<object at 0x7f01ab>]", ". test_a.py::old[<object at 0x7f99cd>]")
    answers = {"4": make_run(one), "3": make_run(other), "2": make_run(other)}
    _, proof = prove(FIX, {**answers, "control": make_run(unloaded=("test_a.py",))})
    assert proof.word == "kept"


def test_first_tests_of_a_project_prove_nothing_lost() -> None:
    files = {"a.py": "12", "test_a.py": " 2"}
    none = make_run(status=5)
    order, proof = prove(
        files,
        {
            "4": make_run(OLD),
            "3": make_run("F test_a.py::old"),
            "2": none,
            "repeat": make_run("F test_a.py::old"),
        },
    )
    assert (order, proof.word, proof.new_tests) == ("4 3 2 repeat", "proved", 1)


def test_names_are_bounded_and_counted() -> None:
    new = [f"test_a.py::case{number}" for number in range(60)]
    end, red = make_run(OLD, *(f". {one}" for one in new)), make_run(OLD, *(f"F {one}" for one in new))
    _, proof = prove(FIX, {"4": end, "3": red, "2": make_run(OLD)})
    assert (len(proof.names), proof.names_total, proof.new_tests) == (50, 60, 60)
