"""What a receipt is worth: nothing ran, fewer ran, another door, other files, and what made it pass."""

from __future__ import annotations

import msgspec
import pytest

from handrail.engine.judge.red_then_green import match_red_then_green
from handrail.engine.judge.run_claims import Witnessed
from handrail.engine.judge.standing import find_failing
from handrail.engine.receipts import Counts, Exited, NotStarted, PinnedCheck, RunOutcome, digest_argv
from tests.engine.test_evidence import BEFORE, CHANGED, NOW, Body, of, receipt, seeing, weighed


@pytest.mark.promise("evidence.nothing-ran")
@pytest.mark.parametrize("outcome", [Exited(status=5), Exited(status=127), NotStarted(reason="gone")])
def test_what_ran_nothing_neither_passes_nor_fails_and_the_fact_says_so(outcome: RunOutcome) -> None:
    pinned = PinnedCheck(name="tests", argv=("pytest", "-q"), argv_digest=digest_argv(("pytest", "-q")))
    known = Witnessed(
        sighting=seeing(), checks=(pinned,), receipts=(receipt(outcome=outcome, check="tests"),)
    )
    told = {"command": "pytest -q", "exitCode": 5, "summary": "There are no tests."}

    assert find_failing(known) == []
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
    first = receipt(tree=BEFORE, counts=Counts(passed=5), name="rcp_a")
    last = receipt(counts=Counts(passed=3, skipped=1), name="rcp_b")

    ((_, level, verdict, fact),) = of(
        weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(first, last))), "ran"
    )

    assert (level, verdict) == ("ran", "holds")
    told = "3 tests ran, 5 at the start of the run; 1 skipped, 0 at the start of the run"
    assert fact == f"exit 0; {told}"


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
    again = weighed(CHANGED, msgspec.structs.replace(known, told_receipts=frozenset({"rcp_1"})))

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


@pytest.mark.promise("evidence.red-then-green")
@pytest.mark.parametrize(
    ("red", "green", "since", "verdict", "fact"),
    [
        (
            {},
            {},
            ("src/bill.py", "tests/test_bill.py"),
            "holds",
            "what differs: src/bill.py, tests/test_bill.py",
        ),
        ({}, {}, ("tests/test_bill.py",), "unknown", "only tests differ: tests/test_bill.py"),
        ({}, {}, ("web/bill.spec.ts",), "unknown", "only tests differ"),
        (
            {"counts": Counts(passed=1, failed=1)},
            {"counts": Counts(passed=1)},
            ("src/bill.py",),
            "unknown",
            "1 tests ran, 2 then",
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
    sighting = msgspec.structs.replace(seeing(), since={BEFORE: since})

    result = match_red_then_green(Witnessed(sighting=sighting, receipts=receipts), "pytest -q")

    assert (result.verdict, fact in result.fact) == (verdict, True), result.fact
