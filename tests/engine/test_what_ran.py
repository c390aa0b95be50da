"""What a receipt is worth: nothing ran, fewer ran, another door, other files, and what made it pass."""

from __future__ import annotations

import msgspec
import pytest

from handrail.engine.events import Claim
from handrail.engine.judge.earlier_reports import find_failing
from handrail.engine.judge.red_then_green import list_own, match_red_then_green
from handrail.engine.judge.witnessed import (
    AskedPlace,
    ChangedPaths,
    LocatedPath,
    SeenPlace,
    StandingClaims,
    Turn,
    Witnessed,
)
from handrail.engine.receipts import (
    ELSEWHERE,
    Counts,
    Exited,
    NotStarted,
    PinnedCheck,
    RunOutcome,
    compare_counts,
    digest_argv,
)
from handrail.operations.checks.reports import (
    add_up,
    count_pytest,
    count_tests,
    count_unittest,
    count_wrapped,
    find_one,
)
from tests.cases import every_case
from tests.engine.test_evidence import BEFORE, CHANGED, NOW, Body, of, place, receipt, seeing, weighed


@pytest.mark.promise("evidence.nothing-ran")
@pytest.mark.parametrize(
    "outcome", [Exited(status=4), Exited(status=5), Exited(status=127), NotStarted(reason="gone")]
)
def test_what_ran_nothing_neither_passes_nor_fails_and_the_fact_says_so(outcome: RunOutcome) -> None:
    pinned = PinnedCheck(name="tests", argv=("pytest", "-q"), argv_digest=digest_argv(("pytest", "-q")))
    known = Witnessed(
        sighting=seeing(), checks=(pinned,), receipts=(receipt(outcome=outcome, check="tests"),)
    )
    told = {"command": "pytest -q", "exitCode": 5, "summary": "There are no tests."}

    assert find_failing(known) == find_failing(msgspec.structs.replace(known, receipts=())) == []
    (boast,) = of(weighed(CHANGED, known), "ran")[:1]
    (honest,) = of(weighed(CHANGED | {"checks": [told]}, known), "ran")[:1]
    assert (boast[2], honest[2]) == ("missing", "unknown")
    assert "so it has neither passed nor failed" in boast[3]


@pytest.mark.promise("evidence.nothing-ran")
def test_a_runner_that_is_asked_to_tell_has_run_nothing() -> None:
    line = "pytest --collect-only -q"
    check = {"command": line, "exitCode": 0, "summary": "All."}

    result = weighed(CHANGED | {"checks": [check]}, Witnessed(sighting=seeing(), receipts=(receipt(line),)))

    assert [one[2] for one in of(result, "ran")] == ["missing"]


@pytest.mark.promise("evidence.nothing-ran")
def test_fewer_tests_than_at_the_start_are_told_beside_the_result() -> None:
    first = receipt(tree=BEFORE, counts=Counts(passed=4, errors=1), name="rcp_a")
    last = receipt(counts=Counts(passed=3, skipped=1), name="rcp_b")

    ((_, level, verdict, fact),) = of(
        weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(first, last))), "ran"
    )

    assert (level, verdict) == ("ran", "holds")
    told = "3 tests ran, 5 at the start of the run; 1 skipped, 0 at the start of the run"
    assert fact == f"exit 0; {told}"


@pytest.mark.promise("evidence.doors")
@pytest.mark.promise("evidence.ran")
def test_on_the_same_files_the_stronger_door_stands_and_opposite_results_are_told() -> None:
    own = receipt(outcome=Exited(status=1), name="rcp_a")
    hook = msgspec.structs.replace(receipt(name="rcp_b"), by="client_hook")

    stronger = of(weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(own, hook))), "ran")
    again = of(weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(own, receipt(name="rcp_c")))), "ran")

    assert [one[2] for one in stronger] == ["contradicted"]
    assert [one[2] for one in again] == ["holds"]
    assert "exit 1 on the same files: it is flaky" in again[0][3]


@pytest.mark.promise("evidence.stale-once")
@pytest.mark.parametrize("outcome", [Exited(status=0), Exited(status=5)])
def test_a_receipt_is_refused_once_and_then_leaves_a_gap(outcome: RunOutcome) -> None:
    tree = BEFORE if outcome == Exited(status=0) else NOW
    known = Witnessed(sighting=seeing(), receipts=(receipt(outcome=outcome, tree=tree),))

    first = weighed(CHANGED, known)
    again = weighed(CHANGED, msgspec.structs.replace(known, refused_receipts=frozenset({"rcp_1"})))

    assert len(first.reasons) == 1
    assert (again.reasons, len(again.gaps)) == ((), 1)


@pytest.mark.promise("evidence.stale-once")
def test_what_a_report_leaves_out_and_what_checks_write_make_nothing_stale() -> None:
    pinned = PinnedCheck(
        name="lint",
        argv=("ruff",),
        argv_digest="sha256:0",
        report_path="build/junit.xml",
        report_format="junit",
    )
    sighting = msgspec.structs.replace(
        seeing(("src/bill.py", "notes.txt", "build/junit.xml")),
        since={BEFORE: ("build/junit.xml", "notes.txt")},
    )
    known = Witnessed(sighting=sighting, receipts=(receipt(tree=BEFORE),), checks=(pinned,))
    left = [{"path": path, "why": "Of somebody else."} for path in ("notes.txt", "build/junit.xml")]

    unnamed = of(weighed(CHANGED, known), "ran")
    named = of(weighed(CHANGED | {"leftOut": left}, known), "ran")

    assert (unnamed[0][2], named[0][2]) == ("stale", "holds")


@pytest.mark.promise("evidence.red-is-the-change")
@pytest.mark.promise("evidence.red-then-green")
@every_case(
    ("red", "green", "since", "verdict", "fact"),
    [
        (
            {},
            {},
            ("src/bill.py", "src/old.py"),
            "holds",
            "what differs in the files that are seen: src/bill.py, src/old.py",
        ),
        (
            {},
            {},
            ("src/bill.py", "tests/test_bill.py"),
            "unknown",
            "what it tests by changed in between: tests/test_bill.py",
        ),
        ({}, {}, ("conftest.py", "src/bill.py"), "unknown", "changed in between: conftest.py"),
        ({}, {}, (), "unknown", "what differs could not be found"),
        ({}, {}, ("tests/test_bill.py",), "unknown", "only tests differ: tests/test_bill.py"),
        ({}, {}, ("web/bill.spec.ts",), "unknown", "only tests differ"),
        (
            {"counts": Counts(passed=1, failed=1)},
            {"counts": Counts(passed=1)},
            ("src/bill.py",),
            "unknown",
            "1 test ran, 2 then",
        ),
        ({"counts": Counts(errors=1)}, {"counts": Counts(passed=1)}, ("src/bill.py",), "missing", ""),
        ({"outcome": Exited(status=2)}, {}, ("src/bill.py",), "missing", ""),
        ({"outcome": Exited(status=4)}, {}, ("src/bill.py",), "missing", ""),
        (
            {"steering": {"PYTEST_ADDOPTS": "-k nothing"}},
            {},
            ("src/bill.py",),
            "unknown",
            "under different PYTEST_ADDOPTS",
        ),
        (
            {"program": "/usr/bin/pytest", "program_digest": "sha256:1"},
            {"program": "/tmp/pytest", "program_digest": "sha256:2"},
            ("src/bill.py",),
            "unknown",
            "passes by another program: /tmp/pytest",
        ),
        (
            {"program": "./check.sh", "program_digest": "sha256:1"},
            {"program": "./check.sh", "program_digest": "sha256:2"},
            ("src/bill.py",),
            "holds",
            "what differs in the files that are seen: src/bill.py",
        ),
    ],
)
def test_red_then_green_is_about_what_differs(
    red: Body, green: Body, since: tuple[str, ...], verdict: str, fact: str
) -> None:
    failed = receipt(outcome=Exited(status=1), tree=BEFORE, name="rcp_a")
    receipts = (
        msgspec.structs.replace(failed, **red),
        msgspec.structs.replace(receipt(name="rcp_b"), **green),
    )
    sighting = msgspec.structs.replace(seeing(), turns={"rcp_a": Turn(since=since)})

    result = match_red_then_green(Witnessed(sighting=sighting, receipts=receipts), "pytest -q")

    assert (result.verdict, fact in result.fact) == (verdict, True), result.fact


@pytest.mark.promise("evidence.red-is-the-change")
@every_case(
    ("line", "since", "gone", "verdict", "paths"),
    [
        (
            "pytest tests/test_bill.py",
            ("src/bill.py", "tests/test_old.py"),
            (),
            "holds",
            ("tests/test_old.py",),
        ),
        ("pytest tests/test_bill.py", ("src/bill.py", "tests/test_new.py"), (), "holds", ()),
        ("pytest -q", ("src/bill.py", "tests/test_bill.py"), ("tests/test_bill.py",), "unknown", ()),
        ("pytest tests", ("src/bill.py", "tests/test_bill.py"), ("tests/test_bill.py",), "unknown", ()),
        ("pytest tests/", ("src/bill.py", "tests/test_bill.py"), ("tests/test_bill.py",), "unknown", ()),
        (
            "pytest tests/test_bill.py::test_total",
            ("src/bill.py", "tests/test_old.py"),
            ("tests/test_old.py",),
            "holds",
            ("tests/test_old.py",),
        ),
    ],
)
def test_a_test_that_differs_since_it_failed_is_named_and_one_that_is_gone_shows_nothing(
    line: str, since: tuple[str, ...], gone: tuple[str, ...], verdict: str, paths: tuple[str, ...]
) -> None:
    receipts = (
        receipt(line, outcome=Exited(status=1), tree=BEFORE, name="rcp_a"),
        receipt(line, name="rcp_b"),
    )
    turn = Turn(since=since, added=("tests/test_new.py",), gone=gone)
    sighting = msgspec.structs.replace(seeing(), turns={"rcp_a": turn})

    result = match_red_then_green(Witnessed(sighting=sighting, receipts=receipts), line)

    assert (result.verdict, result.paths) == (verdict, paths), result.fact
    assert ("tests of then are gone: tests/test_bill.py" in result.fact) == (verdict == "unknown")


@pytest.mark.promise("evidence.red-is-the-change")
def test_a_test_that_was_moved_is_not_gone_where_as_many_ran_and_is_another_one() -> None:
    counts = Counts(passed=1)
    failed = receipt(outcome=Exited(status=1), tree=BEFORE, name="rcp_a", counts=Counts(failed=1))
    since = ("src/bill.py", "tests/test_a.py", "tests/test_b.py")
    turn = Turn(since=since, added=since[2:], gone=since[1:2])
    sighting = msgspec.structs.replace(seeing(), turns={"rcp_a": turn})
    known = Witnessed(sighting=sighting, receipts=(failed, receipt(counts=counts, name="rcp_b")))

    result = match_red_then_green(known, "pytest -q")

    assert (result.verdict, "changed in between: tests/test_a.py, tests/test_b.py" in result.fact) == (
        "unknown",
        True,
    )


UNITTEST = ("python3", "-m", "unittest", "-q")
PINNED = PinnedCheck(name="tests", argv=UNITTEST, argv_digest=digest_argv(UNITTEST))


def listing(command: str, status: int) -> Body:
    return CHANGED | {"checks": [{"command": command, "exitCode": status, "summary": "As it was."}]}


@pytest.mark.promise("evidence.stale-once")
@pytest.mark.parametrize(("command", "status"), [("tests", 0), ("ruff check", 0)], ids=["boast", "other"])
def test_a_declared_check_that_cannot_start_is_told_once_however_often_it_is_tried(
    command: str, status: int
) -> None:
    gone = NotStarted(reason="no such program")
    tried = tuple(receipt(UNITTEST, outcome=gone, name=f"rcp_{at}", check="tests") for at in (1, 2))
    known = Witnessed(
        sighting=seeing(), checks=(PINNED,), receipts=(receipt("ruff check", name="rcp_0"), tried[0])
    )

    first = weighed(listing(command, status), known)
    told = frozenset(ref for one in first.claims if one.verdict in ("stale", "missing") for ref in one.refs)
    later = msgspec.structs.replace(known, receipts=(*known.receipts, tried[1]), refused_receipts=told)
    again = weighed(listing(command, status), later)

    assert [one.fix.endswith("the run goes on with a gap.") for one in first.reasons] == [True]
    assert again.reasons == ()
    assert any("did not pass on the present files" in one.summary for one in again.gaps)


@pytest.mark.promise("evidence.stale-once")
def test_who_reports_that_a_declared_check_could_not_start_is_not_told_to_report_it() -> None:
    tried = receipt(UNITTEST, outcome=NotStarted(reason="no such program"), check="tests")
    known = Witnessed(sighting=seeing(), checks=(PINNED,), receipts=(tried,))

    honest, boast = (weighed(listing("tests", status), known) for status in (127, 0))

    assert honest.reasons == ()
    assert ["did not pass on the present files" in one.summary for one in honest.gaps] == [True]
    assert len(boast.reasons) == 1


@pytest.mark.promise("evidence.stale-once")
def test_what_a_list_left_out_makes_no_later_report_stale_and_reports_of_checks_are_nobodys_change() -> None:
    report = msgspec.structs.replace(PINNED, report_path="./junit.xml", report_format="junit")
    sighting = msgspec.structs.replace(
        seeing(("src/bill.py", "notes.txt", "junit.xml")), since={BEFORE: ("junit.xml", "notes.txt")}
    )
    known = Witnessed(
        sighting=sighting,
        receipts=(receipt(tree=BEFORE),),
        checks=(report,),
        standing=StandingClaims(left_out=("notes.txt",)),
    )

    (ran,) = of(weighed(CHANGED, known), "ran")[:1]
    listed = [one for one in weighed(CHANGED, known).claims if one.check == "changed_in_run" and one.paths]

    assert (ran[2], ran[3]) == ("holds", "exit 0, before notes.txt changed (left out)")
    assert [one.paths for one in listed] == [("notes.txt",)]


@pytest.mark.promise("evidence.ran")
def test_a_steered_run_never_stands_for_a_declared_check_and_names_its_variable() -> None:
    steered = msgspec.structs.replace(receipt(UNITTEST, name="rcp_2"), steering={"PYTHONPATH": "/tmp/fake"})
    red = receipt(UNITTEST, outcome=Exited(status=1), check="tests")
    hooked = msgspec.structs.replace(receipt(UNITTEST, name="rcp_3"), by="client_hook")
    known = Witnessed(sighting=seeing(), checks=(PINNED,), receipts=(red, steered, hooked))
    alone = msgspec.structs.replace(known, receipts=(steered,))
    undeclared = msgspec.structs.replace(alone, checks=())
    report = listing(" ".join(UNITTEST), 0)

    assert [one[2] for one in of(weighed(report, known), "ran")] == ["contradicted"]
    assert [one.is_flaky for one in find_failing(known)] == [False]
    told = Claim(contract_ref="one", pointer="/", check="ran", refs=("rcp_1",))
    for ref in ("one", "another"):  # only what the last list names must not fail
        standing = StandingClaims(runs=(told,), list_ref=ref)
        found = find_failing(Witnessed(sighting=seeing(), receipts=(red,), standing=standing))
        assert len(found) == (ref == "one")
    ((_, _, verdict, fact),) = of(weighed(report, alone), "ran")[:1]
    assert (verdict, "ran under PYTHONPATH, and the check tests is without it" in fact) == ("missing", True)
    assert "handrail check run tests" in weighed(report, alone).reasons[0].fix
    assert of(weighed(report, undeclared), "ran")[0][2:] == ("holds", "exit 0, under PYTHONPATH")


@pytest.mark.promise("evidence.red-is-the-change")
@pytest.mark.promise("evidence.red-then-green")
def test_a_failure_before_any_test_is_no_red_and_the_fact_says_so() -> None:
    broken = receipt(outcome=Exited(status=1), tree=BEFORE, counts=Counts(errors=1), name="rcp_a")
    green = receipt(counts=Counts(passed=1), name="rcp_b")
    sighting = msgspec.structs.replace(seeing(), since={BEFORE: ("src/bill.py",)})

    result = match_red_then_green(Witnessed(sighting=sighting, receipts=(broken, green)), "pytest -q")

    assert (result.verdict, "no test failed then: a syntax error" in result.fact) == ("missing", True)


@pytest.mark.parametrize(
    ("printed", "counts"),
    [
        ("\nRan 0 tests in 0.000s\n\nOK\n", Counts()),
        (
            "ERROR: test_bill (unittest.loader._FailedTest.test_bill)\nSyntaxError: invalid syntax\n"
            "Ran 1 test in 0.001s\n\nFAILED (errors=1)\n",
            Counts(errors=1),
        ),
        (
            "ERROR: test_total (test_bill.Bill.test_total)\nZeroDivisionError\n"
            "Ran 2 tests in 0.001s\n\nFAILED (errors=1)\n",
            Counts(passed=1, failed=1),
        ),
        (
            "Ran 4 tests in 0.001s\n\nOK (skipped=1, expected failures=2)\n",
            Counts(passed=1, skipped=1, xfailed=2),
        ),
        ("Ran 2 tests in 0.001s\n\nFAILED (failures=1)\nRan 2 tests in 0.001s\n\nOK\n", None),
    ],
    ids=["none", "cannot-be-imported", "a-test-raises", "some-fail-as-expected", "two"],
)
def test_unittest_says_itself_what_it_ran(printed: str, counts: Counts) -> None:
    assert count_unittest(printed) == counts


@pytest.mark.parametrize(
    ("printed", "counts"),
    [
        (
            ".F\nFAILED a.py::test_b - assert 1 == 2\n1 failed, 2 passed in 4.24s\n",
            Counts(passed=2, failed=1),
        ),
        (
            "==== 3 passed, 1 skipped, 2 xfailed, 1 warning in 61.20s (0:01:01) ====\n",
            Counts(passed=3, skipped=1, xfailed=2),
        ),
        ("1 passed, 3 subtests passed, 4 deselected in 0.01s\n", Counts(passed=1)),
        ("\nno tests ran in 0.00s\n", Counts()),
        ("ERROR a.py::test_b - boom\n1 passed, 2 errors in 0.10s\n", Counts(passed=1, failed=2)),
        (
            "!!!! Interrupted: 1 error during collection !!!!\n==== 1 error in 4.07s ====\n",
            Counts(errors=1),
        ),
        ("9 passed in 0.01s, it printed itself\n2 tests collected in 0.01s\n", None),
        ("5 passed in 0.01s\n1 failed in 0.02s\n", None),
        ("5 passed in 0.01s\n5 passed in 0.02s\n", Counts(passed=5)),
    ],
    ids=[
        "one-failed",
        "skipped",
        "subtests",
        "none",
        "a-fixture-raises",
        "cannot-be-read",
        "other",
        "two",
        "twice",
    ],
)
def test_pytest_says_itself_what_it_ran(printed: str, counts: Counts | None) -> None:
    assert count_pytest(printed) == counts


@pytest.mark.promise("evidence.ran")
@pytest.mark.parametrize(
    ("printed", "counts"),
    [
        ("$ pytest -q\n..\n2 passed in 0.10s\n", Counts(passed=2)),
        ("Ran 3 tests in 0.001s\n\nOK (skipped=1)\nmake: done\n", Counts(passed=2, skipped=1)),
        ("test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured; 0 out\n", Counts(passed=4, skipped=1)),
        ("ok 1 - a\n# tests 1\n# pass 1\n# fail 0\n", Counts(passed=1)),
        ("✔ adds\nℹ tests 2\nℹ pass 2\nℹ fail 0\n", Counts(passed=2)),
        ("Tests:       2 skipped, 3 passed, 5 total\n", Counts(passed=3, skipped=2)),
        (" Test Files  1 passed (1)\n      Tests  6 passed | 1 skipped (7)\n", Counts(passed=6, skipped=1)),
        ("  12 passing (5ms)\n  1 pending\n", Counts(passed=12, skipped=1)),
        ("ok  \texample.com/bill\t0.003s\n", None),
        ("All checks passed!\n", None),
        ("no tests ran in 0.01s\n", None),
        ("2 passed in 0.10s\nRan 3 tests in 0.001s\n\nOK\n1 passed in 0.02s\n", Counts(passed=6)),
        ("Tests: 4 passed, 4 total\nTests: 1 skipped, 2 passed, 3 total\n", Counts(passed=6, skipped=1)),
        ("ℹ tests 2\nℹ pass 2\nℹ fail 0\n\nℹ tests 1\nℹ pass 1\nℹ fail 0\n", Counts(passed=3)),
        ("1 failed, 1 passed in 0.10s\n2 passed in 0.01s\n", None),
    ],
)
def test_a_program_that_starts_a_runner_hands_on_what_it_counted(printed: str, counts: Counts | None) -> None:
    assert count_wrapped(printed, add_up, has_passed=True) == counts


@pytest.mark.promise("evidence.ran")
def test_a_sum_that_disagrees_with_the_end_of_a_program_is_of_something_else() -> None:
    assert count_wrapped("1 failed, 2 passed in 0.10s\n", add_up, has_passed=True) is None
    assert count_wrapped("2 passed in 0.10s\n", add_up, has_passed=False) is None
    assert count_wrapped("1 failed in 0.10s\n", add_up, has_passed=False) == Counts(failed=1)


@pytest.mark.promise("evidence.ran")
@pytest.mark.parametrize(("again", "counts"), [(2, Counts(passed=2)), (3, None)])
def test_one_runner_has_one_sum(again: int, counts: Counts | None) -> None:
    printed = f"Tests: 2 passed, 2 total\nTests: {again} passed, {again} total\n"

    assert count_wrapped(printed, find_one, has_passed=True) == counts


@pytest.mark.promise("evidence.ran")
@pytest.mark.parametrize("field", ["changed", "arrived"])
def test_a_check_whose_own_tests_changed_says_so_and_a_test_that_is_only_new_does_not(field: str) -> None:
    paths = ("conftest.py", "src/bill.py", "tests/test_bill.py", "tests/test_new.py")
    empty = ChangedPaths(added=("conftest.py", "tests/test_new.py"))
    changes = msgspec.structs.replace(empty, **{field: paths})
    known = Witnessed(
        sighting=msgspec.structs.replace(seeing(), changes=changes),
        receipts=(receipt(), receipt("ruff check", name="rcp_2"), receipt("make", counts=Counts(passed=1))),
    )

    (made,) = [one for one in weighed(listing("make", 0), known).claims if one.check == "ran"]
    (tests,) = [one for one in weighed(CHANGED, known).claims if one.check == "ran"]
    (lint,) = [one for one in weighed(listing("ruff check", 0), known).claims if one.check == "ran"]

    assert (tests.verdict, tests.paths) == ("holds", ("conftest.py", "tests/test_bill.py"))
    assert made.paths == tests.paths
    assert (
        "its configuration changed in this run: conftest.py; its tests changed in this run: tests"
        in tests.fact
    )
    assert (lint.fact, lint.paths) == ("exit 0", ())


@pytest.mark.promise("evidence.ran")
def test_what_ran_outside_of_the_project_is_not_called_a_longer_line() -> None:
    known = Witnessed(sighting=seeing(), receipts=(receipt(directory=ELSEWHERE),))

    (told,) = of(weighed(CHANGED, known), "ran")

    assert (told[2], told[3]) == ("unknown", "it ran (exit 0), outside of the project")


@pytest.mark.promise("evidence.worth")
def test_an_absolute_path_is_the_same_claim() -> None:
    spelt = ("src/bill.py", "/p/src/bill.py")
    listed = [{"path": path, "change": "modified", "why": "Rounding."} for path in spelt]
    there = {AskedPlace(path=one): SeenPlace(path=one, state="here", own="src/bill.py") for one in spelt}
    located = {one: LocatedPath(paths=("src/bill.py",), is_there=True) for one in spelt}
    sighting = msgspec.structs.replace(seeing(), places=there, files=located)

    claims = weighed(CHANGED | {"files": listed}, Witnessed(sighting=sighting)).claims

    assert {one.pointer for one in claims if one.check in ("path_exists", "changed_in_run")} == {
        "/files/0/path"
    }


PIPED = "sh -c 'pytest -q | tail -1'"


@pytest.mark.promise("evidence.whose-status")
@pytest.mark.promise("evidence.stale-once")
@every_case("line", [PIPED, "pytest -q | tail -1", "pytest -q; true", "pytest -q || true"])
@every_case("has_run", [True, False])
def test_tests_behind_a_pipe_are_refused_once_and_then_leave_a_gap(line: str, has_run: bool) -> None:
    own = (receipt(("sh", "-c", line), outcome=Exited(status=0)),) if has_run else ()
    known = Witnessed(sighting=seeing(), receipts=own)
    body = CHANGED | {"checks": [{"command": line, "exitCode": 0, "summary": "4 passed"}]}

    first = weighed(body, known)
    places = frozenset((one.contract_ref, one.pointer) for one in first.claims if one.verdict == "missing")
    again = weighed(body, msgspec.structs.replace(known, refused_places=places))

    (reason,) = first.reasons
    assert reason.fix.startswith("Run handrail check run -- pytest -q, name the program alone")
    assert [one[2] for one in of(again, "ran")] == ["unknown"]
    assert (again.reasons, len(again.gaps)) == ((), 1)


@pytest.mark.parametrize("line", ["grep -rn total src | head -3", "git log | head", "make && pytest -q"])
def test_other_lines_of_several_programs_are_somebodys_word_as_ever(line: str) -> None:
    body = CHANGED | {"checks": [{"command": line, "exitCode": 0, "summary": "Three places."}]}

    assert weighed(body, Witnessed(sighting=seeing())).reasons == ()


@pytest.mark.promise("evidence.whose-status")
def test_a_line_that_the_project_declares_is_its_check() -> None:
    words = ("sh", "-c", "pytest -q | tail -1")
    pinned = PinnedCheck(name="tests", argv=words, argv_digest=digest_argv(words))
    known = Witnessed(sighting=seeing(), checks=(pinned,), receipts=(receipt(words, check="tests"),))
    body = CHANGED | {"checks": [{"command": PIPED, "exitCode": 0, "summary": "4 passed"}]}

    assert [one[2] for one in of(weighed(body, known), "ran")] == ["holds"]


@pytest.mark.promise("evidence.red-then-green")
def test_a_guard_that_only_tests_made_pass_is_told_as_a_gap() -> None:
    sighting = msgspec.structs.replace(seeing(), turns={"rcp_a": Turn(since=("tests/test_bill.py",))})
    red = receipt(outcome=Exited(status=1), tree=BEFORE, name="rcp_a")
    known = Witnessed(sighting=sighting, receipts=(red, receipt(name="rcp_b")))

    result = weighed(
        CHANGED | {"kind": "wr.bug_fix", "guard": "pytest -q"}, known, place("wr.contracts.bug_fix")
    )

    assert any("and only tests differ: tests/test_bill.py" in gap.summary for gap in result.gaps)


@pytest.mark.promise("evidence.stale-once")
def test_one_run_that_settles_two_places_is_asked_for_once() -> None:
    sighting = msgspec.structs.replace(seeing(), since={BEFORE: ("src/bill.py",)})
    lines = [{"command": "pytest -q", "exitCode": 0, "summary": said} for said in ("4 passed", "All.")]

    result = weighed(
        CHANGED | {"checks": lines}, Witnessed(sighting=sighting, receipts=(receipt(tree=BEFORE),))
    )

    assert len(result.reasons) == 1


def test_a_test_that_fails_as_expected_is_none_that_was_skipped() -> None:
    case = '<testcase name="{}"><skipped type="pytest.{}"/></testcase>'
    cases = "".join([case.format("a", "skip"), case.format("b", "xfail"), '<testcase name="c"/>'])
    content = f"<testsuites><testsuite>{cases}</testsuite></testsuites>".encode()

    counts = count_tests(content, "junit")

    assert counts == Counts(passed=1, skipped=1, xfailed=1)
    assert compare_counts(Counts(passed=2), counts, "then") == (
        "1 skipped, 0 then; 1 failed as expected, 0 then"
    )
    assert compare_counts(Counts(passed=3), counts, "then").startswith("2 tests ran, 3 then")


@every_case(
    "line",
    ["make test", "npm test", "just test", "pytest tests", "pytest tests/test_bill.py"]
    + [f"python -m unittest {name}" for name in ("tests.test_bill", "tests.test_bill.T.test_x", "discover")],
)
def test_a_bare_word_of_a_command_keeps_no_test_out(line: str) -> None:
    assert list_own(receipt(line), ["src/bill.py", "tests/test_bill.py"]) == ["tests/test_bill.py"]


def test_tests_that_a_command_leaves_out_decide_nothing_about_it() -> None:
    assert list_own(receipt("pytest tests/test_bill.py"), ["tests/test_other.py"]) == []
