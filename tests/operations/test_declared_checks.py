"""Which check a name means for a run: the one of its start, as far as the log tells it."""

from __future__ import annotations

from handrail.contract.redaction import Secrets
from handrail.engine.receipts import (
    PinnedCheck,
    digest_argv,
)
from handrail.operations.declared_checks import find_check
from handrail.ports.workspace import DeclaredCheck, ReportPlace, Settings

OLD_PIN = PinnedCheck(name="tests", argv=("make", "test"), argv_digest=digest_argv(("make", "test")))


def test_missing_facts_of_an_older_log_come_from_the_present() -> None:
    report = ReportPlace(path="r.xml", format="junit")
    now = DeclaredCheck(name="tests", command=("true",), directory="inner", timeout_seconds=9, report=report)

    found = find_check(Settings(checks=(now,)), (OLD_PIN,), "tests", Secrets())

    assert found.check == DeclaredCheck(
        name="tests", command=("make", "test"), directory="inner", timeout_seconds=9, report=report
    )
    assert "make test" in found.change


def test_a_check_that_is_gone_runs_with_the_usual_limits() -> None:
    found = find_check(Settings(), (OLD_PIN,), "tests", Secrets())

    assert found.check == DeclaredCheck(name="tests", command=("make", "test"))
    assert found.change.endswith("The project no longer declares it.")
