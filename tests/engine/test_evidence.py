"""The weighing of a report: every rule, without a file in sight."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.contract.ids import NodeId, ReceiptId
from handrail.engine.events import (
    ReceiptRecorded,
)
from handrail.engine.judge.artifacts import Place, judge_report
from handrail.engine.judge.copied_examples import find_copied
from handrail.engine.judge.evidence import find_inconsistent, plan_look, weigh
from handrail.engine.judge.run_claims import suggest_command
from handrail.engine.judge.witnessed import AskedPlace, ChangedPaths, Sighting, Turn, Weighed, Witnessed
from handrail.engine.receipts import (
    Counts,
    Exited,
    NotStarted,
    PinnedCheck,
    RunOutcome,
    StatusUnknown,
    TimedOut,
    digest_argv,
)
from handrail.workflows.builtins.templates import find_contract
from handrail.workflows.evidence import Consistent, Evidence, RedThenGreen, Term
from tests.cases import every_case
from tests.engine.written_log import step, workflow_of

Body = dict[str, Any]
NOW, BEFORE = "tree_now", "tree_before"
FILES = "wr.contracts.changed_files"
CHANGES = "changed_in_run"
CHANGED: Body = {
    "kind": "wr.changed_files",
    "files": [{"path": "src/bill.py", "change": "modified", "why": "Rounds once now."}],
    "checks": [{"command": "pytest -q", "exitCode": 0, "summary": "4 passed"}],
}


def place(ref: str = FILES, *, check: str = "", evidence: tuple[Evidence, ...] | None = None) -> Place:
    spec = find_contract(ref)
    assert spec is not None
    contract = spec.compiled()
    if evidence is not None:
        contract = type(contract)(
            artifact_kind=contract.artifact_kind,
            schema=contract.schema,
            example=contract.example,
            guidance="",
            evidence=evidence,
        )
    asking = step("do", contract=ref, check=check)
    return Place(workflow=workflow_of(asking, contracts={ref: contract}), leaf_id="do", step=asking)


PINNED = PinnedCheck(name="tests", argv=("pytest", "-q"), argv_digest=digest_argv(("pytest", "-q")))


def receipt(
    command: str | tuple[str, ...] = "pytest -q",
    outcome: RunOutcome | None = None,
    tree: str = NOW,
    counts: Counts | None = None,
    name: str = "rcp_1",
    directory: str = ".",
    check: str = "",
) -> ReceiptRecorded:
    words = tuple(command.split()) if isinstance(command, str) else command
    return ReceiptRecorded(
        receipt_id=ReceiptId(name),
        node_id=NodeId("nod_1"),
        by="handrail",
        argv=words,
        argv_digest=digest_argv(words),
        directory=directory,
        check=check,
        outcome=Exited(status=0) if outcome is None else outcome,
        tree_before=tree,
        tree_after=tree,
        counts=counts,
        head="4 passed in 0.12s",
    )


def weighed(body: Body, known: Witnessed, where: Place | None = None) -> Weighed:
    where = place() if where is None else where
    judged = judge_report(where, [body])
    assert all(found.is_good for found in judged), judged
    return weigh(where, judged, known)


def of(result: Weighed, check: str) -> list[tuple[str, str, str, str]]:
    return [(one.pointer, one.level, one.verdict, one.fact) for one in result.claims if one.check == check]


def seeing(changed: tuple[str, ...] = ("src/bill.py",), **fields: Any) -> Sighting:
    return Sighting(tree=NOW, changes=ChangedPaths(changed=changed, **fields))


@pytest.mark.promise("evidence.no-prose")
@every_case("summary", ["412 passed", "3 failed", "0 tests ran", "all 900 tests are green"])
@every_case("counts", [None, Counts(passed=4)])
def test_a_number_in_a_sentence_is_a_sentence(summary: str, counts: Counts | None) -> None:
    check = {"command": "pytest -q", "exitCode": 0, "summary": summary}

    result = weighed(
        CHANGED | {"checks": [check]}, Witnessed(sighting=seeing(), receipts=(receipt(counts=counts),))
    )

    assert of(result, "ran") == [("/checks/0/command", "ran", "holds", "exit 0")]


@pytest.mark.promise("evidence.worth")
def test_one_file_in_four_spellings_is_one_file_and_a_false_word_is_still_seen() -> None:
    spelt = ["src/bill.py", "./src/bill.py", " src/bill.py", "src/bill.py "]
    listed = [{"path": path, "change": "modified", "why": "Rounding."} for path in spelt]
    known = Witnessed(sighting=seeing(), receipts=(receipt(),))

    honest = weighed(CHANGED | {"files": listed}, known)
    liar = weighed(CHANGED | {"files": [*listed, listed[1] | {"change": "added"}]}, known)

    assert [one[2] for one in of(honest, CHANGES)] == ["holds"]
    assert [one[2] for one in of(liar, CHANGES)] == ["holds", "contradicted"]


@pytest.mark.promise("evidence.ran")
@every_case(
    "written", ["`pytest -q`", "$ pytest -q", "pytest -q 2>&1", "pytest -q (exit 0)", "`$ pytest -q`"]
)
def test_what_people_put_around_a_command_line_does_not_hide_its_receipt(written: str) -> None:
    check = {"command": written, "exitCode": 0, "summary": "All."}

    result = weighed(CHANGED | {"checks": [check]}, Witnessed(sighting=seeing(), receipts=(receipt(),)))

    assert [one[2] for one in of(result, "ran")] == ["holds"]
    assert suggest_command(Witnessed(), written).line == "handrail check run -- pytest -q"


@pytest.mark.promise("evidence.ran")
@pytest.mark.parametrize("line", ["pytest -q 2>&1 | tail -5", "cd sub && pytest -q | cat", "make; pytest -q"])
def test_a_command_within_a_longer_line_ran_and_its_status_is_unknown(line: str) -> None:
    hooked = msgspec.structs.replace(receipt((line,)), by="client_hook", head="")

    result = weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(hooked,)))

    ((_, level, verdict, fact),) = of(result, "ran")[:1]
    assert (level, verdict, result.reasons) == ("claimed", "unknown", ())
    assert "longer line" in fact


@pytest.mark.promise("evidence.contradicted")
def test_why_a_file_is_left_out_is_the_agents_word() -> None:
    left = {"leftOut": [{"path": "src/tax.py", "why": "Yours."}, {"path": "ghost.py", "why": "Not mine."}]}
    known = Witnessed(sighting=seeing(("src/bill.py", "src/tax.py")), receipts=(receipt(),))

    told = {
        pointer: (verdict, fact) for pointer, _, verdict, fact in of(weighed(CHANGED | left, known), CHANGES)
    }

    assert told["/leftOut/0/path"] == ("unknown", "src/tax.py is left out by the agent's word")
    assert told["/leftOut/1/path"] == ("unknown", "ghost.py did not change in this run")


@pytest.mark.promise("evidence.contradicted")
@pytest.mark.parametrize(("before", "verdict"), [("old.py", "holds"), ("never_was.py", "unknown")])
def test_a_renamed_file_had_a_name_that_the_run_began_with(before: str, verdict: str) -> None:
    file = {"path": "src/bill.py", "change": "renamed", "from": before, "why": "A better name."}
    known = Witnessed(sighting=seeing(("src/bill.py", "old.py"), deleted=("old.py",)), receipts=(receipt(),))

    result = weighed(CHANGED | {"files": [file]}, known)

    assert of(result, CHANGES)[0][2] == verdict


@pytest.mark.promise("evidence.ran")
@every_case(
    ("receipts", "level", "verdict"),
    [
        ([receipt()], "ran", "holds"),
        ([receipt(tree=BEFORE)], "ran", "stale"),
        ([receipt(outcome=Exited(status=1))], "observed", "contradicted"),
        ([receipt(outcome=TimedOut(seconds=5))], "observed", "contradicted"),
        ([receipt(outcome=StatusUnknown())], "claimed", "unknown"),
        ([receipt(tree="")], "claimed", "unknown"),
        ([receipt("ruff check")], "claimed", "missing"),
        ([], "claimed", "missing"),
        ([receipt(outcome=Exited(status=1), tree=BEFORE), receipt()], "ran", "holds"),
        (
            [receipt(), receipt(outcome=Exited(status=1))],
            "claimed",
            "missing",
        ),  # flaky: neither shown nor a lie
        ([receipt(counts=Counts(passed=4))], "ran", "holds"),
        ([receipt(counts=Counts(passed=3))], "ran", "holds"),
        ([receipt(counts=Counts())], "claimed", "missing"),
        ([receipt(counts=Counts(skipped=7))], "claimed", "missing"),
        ([receipt(outcome=Exited(status=5))], "claimed", "missing"),
        ([receipt(outcome=Exited(status=127))], "claimed", "missing"),
        ([receipt(outcome=NotStarted(reason="no such program"))], "claimed", "missing"),
    ],
)
def test_a_command_counts_by_its_newest_receipt_on_the_present_files(
    receipts: list[ReceiptRecorded], level: str, verdict: str
) -> None:
    result = weighed(CHANGED, Witnessed(sighting=seeing(), receipts=tuple(receipts)))

    ((_, found_level, found, _),) = of(result, "ran")
    assert (found_level, found) == (level, verdict)


@pytest.mark.promise("evidence.ran")
def test_a_receipt_is_demanded_of_a_command_that_is_declared_or_was_seen_and_of_no_other() -> None:
    nothing_known = weighed(CHANGED, Witnessed(sighting=seeing()))
    other_ran = weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(receipt("ruff check"),)))
    declared = weighed(CHANGED, Witnessed(sighting=seeing(), checks=(PINNED,)))
    old = weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(receipt(tree=BEFORE),)))

    assert nothing_known.reasons == other_ran.reasons == ()
    for refused, named in ((declared, "tests"), (old, "-- pytest -q")):
        (reason,) = refused.reasons
        assert reason.name == "contract_violation:missing_required_output"
        assert f"handrail check run {named}" in reason.fix
    ruff = CHANGED | {"checks": [CHANGED["checks"][0] | {"command": "ruff check"}]}
    elsewhere = Witnessed(checks=(PINNED,), receipts=(receipt("ruff check", directory=""),))
    assert ["handrail check run tests" in one.fix for one in weighed(ruff, elsewhere).reasons] == [True]


@pytest.mark.promise("evidence.ran")
def test_a_receipt_is_found_by_its_id_and_must_be_of_that_command() -> None:
    known = Witnessed(sighting=seeing(), receipts=(receipt(name="rcp_a"), receipt("true", name="rcp_b")))

    def told(name: str) -> str:
        checks = [CHANGED["checks"][0] | {"receiptId": name}]
        ((_, _, verdict, _),) = of(weighed(CHANGED | {"checks": checks}, known), "ran")
        return verdict

    assert [told(name) for name in ("rcp_a", "rcp_b", "rcp_c")] == ["holds", "contradicted", "contradicted"]


@pytest.mark.promise("evidence.ran")
def test_a_failing_command_may_be_reported_as_failing() -> None:
    body = CHANGED | {"checks": [{"command": "pytest -q", "exitCode": 1, "summary": "One fails."}]}

    honest = weighed(body, Witnessed(sighting=seeing(), receipts=(receipt(outcome=Exited(status=1)),)))
    boast = weighed(body, Witnessed(sighting=seeing(), receipts=(receipt(),)))

    assert [one[2] for one in of(honest, "ran") + of(boast, "ran")] == ["holds", "contradicted"]


@pytest.mark.promise("evidence.ran")
def test_a_step_may_ask_for_a_declared_check_by_its_name() -> None:
    where = place("wr.contracts.changed_files", check="tests")
    none = weigh(where, [], Witnessed(checks=(PINNED,)))
    failed = weigh(
        where,
        [],
        Witnessed(sighting=seeing(), checks=(PINNED,), receipts=(receipt(outcome=Exited(status=2)),)),
    )
    passed = weigh(where, [], Witnessed(sighting=seeing(), checks=(PINNED,), receipts=(receipt(),)))
    undeclared = weigh(where, [], Witnessed(sighting=seeing()))

    assert "handrail check run tests" in none.reasons[0].fix
    assert failed.reasons[0].name == "contract_violation:invalid_required_output"
    assert (passed.reasons, passed.claims[0].level) == ((), "ran")
    assert (undeclared.reasons, undeclared.claims[0].verdict) == ((), "unknown")


FIX: Body = CHANGED | {"kind": "wr.bug_fix", "guard": "pytest -k cents"}
GUARDS = "pytest -k cents"
RED = receipt(GUARDS, outcome=Exited(status=1), tree=BEFORE, name="rcp_red")
GREEN = receipt(GUARDS, name="rcp_green")


@pytest.mark.promise("evidence.red-then-green")
@every_case(
    ("receipts", "verdict", "is_refused"),
    [
        ((), "missing", False),
        ((RED, GREEN), "holds", False),
        ((GREEN,), "missing", True),
        ((RED,), "stale", True),
        ((receipt(GUARDS, outcome=Exited(status=1), name="rcp_red"), GREEN), "missing", True),
        ((receipt(GUARDS, outcome=Exited(status=127), tree=BEFORE), GREEN), "missing", True),
        ((msgspec.structs.replace(RED, counts=Counts()), GREEN), "missing", True),
        ((msgspec.structs.replace(RED, counts=Counts(failed=1)), GREEN), "holds", False),
        ((msgspec.structs.replace(GREEN, by="client_hook"),), "unknown", False),
        (
            (msgspec.structs.replace(GREEN, by="client_hook"), receipt("ruff", outcome=Exited(status=1))),
            "missing",
            True,
        ),
        ((msgspec.structs.replace(RED, by="client_hook"), GREEN), "holds", False),
        ((receipt(GUARDS, outcome=StatusUnknown()),), "unknown", False),
        ((RED, receipt(GUARDS, outcome=Exited(status=1))), "contradicted", True),
    ],
)
def test_a_guard_must_have_failed_on_other_files_first(
    receipts: tuple[ReceiptRecorded, ...], verdict: str, is_refused: bool
) -> None:
    checked = (receipt(name="rcp_check"),) if receipts else ()
    turns = {RED.receipt_id: Turn(since=("src/bill.py",))}
    sighting = msgspec.structs.replace(seeing(), turns=turns)
    known = Witnessed(sighting=sighting, receipts=(*checked, *receipts), run_flag="--session ses_1")

    result = weighed(FIX, known, place("wr.contracts.bug_fix"))

    assert [one[2] for one in of(result, "red_then_green")] == [verdict]
    assert bool(result.reasons or not result.judged[0].is_good) is is_refused
    for reason in result.reasons:
        assert "handrail check run --session ses_1 -- pytest -k cents" in reason.fix


@pytest.mark.promise("evidence.red-then-green")
def test_both_receipts_are_named_and_the_refusal_says_how_to_get_the_first() -> None:
    where = place(evidence=(RedThenGreen(at="/checks/*/command"),))
    red = receipt(outcome=Exited(status=1), tree=BEFORE, name="rcp_red")

    sighting = msgspec.structs.replace(seeing(), turns={"rcp_red": Turn(since=("src/bill.py",))})
    both = weighed(CHANGED, Witnessed(sighting=sighting, receipts=(red, receipt())), where)
    green = weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(receipt(),)), where)

    assert (both.claims[0].verdict, both.claims[0].refs, both.reasons) == ("holds", ("rcp_red", "rcp_1"), ())
    assert green.reasons[0].fix == (
        "Run handrail check run -- pytest -q without the fix, then again with it, "
        "and make the call in nextCall again."
    )
    assert green.reasons[0].waits_for.values["command"] == "handrail check run -- pytest -q"


@pytest.mark.promise("evidence.contradicted")
def test_listed_files_must_have_changed_and_changed_files_are_listed_or_named() -> None:
    invented = weighed(CHANGED, Witnessed(sighting=seeing(("src/other.py",))))
    omitted = weighed(CHANGED, Witnessed(sighting=seeing(("src/bill.py", "src/tax.py"))))
    explained = CHANGED | {"leftOut": [{"path": "src/tax.py", "why": "A tool wrote it."}]}
    told = weighed(explained, Witnessed(sighting=seeing(("src/bill.py", "src/tax.py"))))
    committed = weighed(CHANGED, Witnessed(sighting=seeing((), arrived=("src/bill.py", "src/pulled.py"))))

    assert [issue.message for issue in invented.judged[0].issues] == [
        "src/bill.py did not change in this run; changed in this run: src/other.py",
        "changed in this run and not listed: src/other.py; list them, or name them in leftOut with the "
        "reason",
    ]
    assert [issue.pointer for issue in omitted.judged[0].issues] == ["/files"]
    assert (told.judged[0].is_good, committed.judged[0].is_good) == (True, True)


@pytest.mark.promise("evidence.contradicted")
def test_a_file_that_is_left_out_again_is_disclosed_and_stops_nobody_twice() -> None:
    sighting = seeing(("src/bill.py", "src/tax.py"))

    again = weighed(CHANGED, Witnessed(sighting=sighting, named_before=frozenset({"src/tax.py"})))

    assert again.judged[0].is_good
    assert ("/files", "observed", "contradicted", "changed in this run and not listed: src/tax.py") in of(
        again, "changed_in_run"
    )
    assert [gap.summary for gap in again.gaps] == ["The report leaves out what changed: src/tax.py."]


@pytest.mark.promise("evidence.late-baseline")
def test_files_that_were_first_recorded_later_refute_no_claim_and_still_show_what_is_left_out() -> None:
    unchanged = weighed(CHANGED, Witnessed(sighting=seeing((), is_partial=True)))
    omitted = weighed(CHANGED, Witnessed(sighting=seeing(("src/bill.py", "src/tax.py"), is_partial=True)))

    assert unchanged.judged[0].is_good
    ((_, level, verdict, fact),) = of(unchanged, "changed_in_run")
    assert (level, verdict) == ("claimed", "unknown")
    assert fact == "unchanged since then; the files of this run were first recorded after it began"
    assert [issue.pointer for issue in omitted.judged[0].issues] == ["/files"]


@pytest.mark.promise("evidence.contradicted")
def test_without_a_baseline_nothing_is_demanded_and_nothing_is_verified() -> None:
    result = weighed(CHANGED, Witnessed(sighting=Sighting(trouble="no repository")))

    assert result.judged[0].is_good
    assert of(result, "changed_in_run") == [("/files/0/path", "claimed", "unknown", "no repository")]


def test_only_what_a_report_names_is_looked_at() -> None:
    finding = {"file": "a.py", "line": 7, "evidence": [{"source": "file", "ref": "b.py:3-9"}]}
    look = plan_look(
        place("wr.contracts.review_findings"), [{"kind": "wr.review_findings", "findings": [finding]}]
    )

    assert look.places == (
        AskedPlace(path="a.py", line=7),
        AskedPlace(path="b.py", line=3, end=9, written="b.py:3-9"),
    )
    assert look.wants_tree is False
    assert plan_look(place(), [CHANGED]).wants_tree is True


def test_a_rule_between_members_is_read_row_by_row() -> None:
    rule = Consistent(
        when=Term(at="/rows/*/state", equals="moved"), then=Term(at="/rows/*/from", exists=True)
    )
    body = {"rows": [{"state": "new"}, {"state": "moved", "from": "x"}, {"state": "moved"}]}

    assert find_inconsistent(rule, body) == [("/rows/2/state", "is moved, so rows/2/from must be there")]


@every_case(
    ("body", "found"),
    [
        ({"decision": "stop"}, ""),
        ({"decision": "stop", "summary": "All of it is done, and nothing is left."}, "/"),
        ({"decision": "stop", "summary": "All of  it is done, and nothing is left."}, "/"),
        ({"decision": "stop", "summary": "Two of them are left."}, ""),
        ({"summary": "My own words here.", "rows": [{"a": "Copied word by word from the page."}]}, "/rows/0"),
        ({"summary": "My own words here.", "rows": [{"a": "short"}]}, ""),
        ({"short": "It is there."}, ""),
        ({"summary": "My own words here.", "rows": [{"a": "It is there."}]}, ""),
    ],
)
def test_what_is_copied_from_the_example_is_found(body: Body, found: str) -> None:
    example = {
        "decision": "stop",
        "summary": "All of it is done, and nothing is left.",
        "rows": [{"a": "Copied word by word from the page."}, {"a": "short"}, {"a": "It is there."}],
    }

    assert find_copied(body, example) == found


@pytest.mark.promise("evidence.ran")
def test_a_command_in_a_folder_of_its_own_proves_nothing_about_the_project() -> None:
    elsewhere = weighed(CHANGED, Witnessed(sighting=seeing(), receipts=(receipt(directory="ignored"),)))
    where = place(check="tests")
    by_words = Witnessed(sighting=seeing(), checks=(PINNED,), receipts=(receipt(directory="ignored"),))
    by_name = Witnessed(
        sighting=seeing(), checks=(PINNED,), receipts=(receipt(directory="sub", check="tests"),)
    )

    assert [one[2] for one in of(elsewhere, "ran")] == ["missing"]
    assert len(weigh(where, [], by_words).reasons) == 1
    assert weigh(where, [], by_name).reasons == ()


@pytest.mark.promise("evidence.ran")
@every_case(
    ("claimed", "ran"),
    [
        ("pytest tests/x.py::test_a[1-2]", ("pytest", "tests/x.py::test_a[1-2]")),
        ("cd web && npm test", ("sh", "-c", "cd web && npm test")),
        ("cd web && npm test", ("bash", "-c", "cd web && npm test")),
        ("cd web && npm test", ("sh", "-c", "cd ./web && npm  test")),
        ("pytest -k 'a or b'", ("pytest", "-k", "a or b")),
        ("handrail check run -- pytest -q", ("pytest", "-q")),
    ],
)
def test_a_command_line_is_found_however_a_shell_would_have_read_it(
    claimed: str, ran: tuple[str, ...]
) -> None:
    body = CHANGED | {"checks": [CHANGED["checks"][0] | {"command": claimed}]}

    result = weighed(body, Witnessed(sighting=seeing(), receipts=(receipt(ran),)))

    assert [one[2] for one in of(result, "ran")] == ["holds"]


@every_case(
    ("claimed", "told"),
    [
        ("pytest -q", "handrail check run --session ses_1 -- pytest -q"),
        ("cd web && npm test", "handrail check run --session ses_1 --directory web -- npm test"),
        ("pytest -q | tee log", "handrail check run --session ses_1 -- pytest -q"),
        ("pytest -q || true", "handrail check run --session ses_1 -- pytest -q"),
        ("sh -c 'cd web; npm test'", "handrail check run --session ses_1 -- npm test"),
        ("$(cat line)", "handrail check run --session ses_1 -- cat line"),
        ("`x`", "handrail check run --session ses_1 -- x"),
        ("pytest 'x", "handrail check run tests --session ses_1"),
        ("FOO=1 pytest", "handrail check run --session ses_1 -- env FOO=1 pytest"),
        ("tests", "handrail check run tests --session ses_1"),
        ("handrail check run tests", "handrail check run tests"),
    ],
)
def test_the_command_that_is_told_can_be_pasted(claimed: str, told: str) -> None:
    pinned = PinnedCheck(name="tests", argv=("pytest",), argv_digest="sha256:0")

    assert suggest_command(Witnessed(run_flag="--session ses_1", checks=(pinned,)), claimed).line == told


@pytest.mark.promise("evidence.ran")
def test_an_old_failure_is_stale_and_one_that_is_shown_on_purpose_holds() -> None:
    red = receipt(outcome=Exited(status=1), tree=BEFORE, name="rcp_red")
    known = Witnessed(sighting=seeing(), receipts=(red,))
    on_purpose = {"command": "pytest -q", "exitCode": 1, "summary": "Fails without the fix."}

    old = weighed(CHANGED, known)
    shown = weighed(CHANGED | {"checks": [on_purpose | {"receiptId": "rcp_red"}]}, known)

    assert [one[2] for one in of(old, "ran") + of(shown, "ran")] == ["stale", "holds"]
    assert shown.reasons == ()


def test_a_step_whose_check_nobody_declared_leaves_a_gap() -> None:
    result = weigh(place(check="tests"), [], Witnessed(sighting=seeing()))

    assert ["the project declared no check tests" in gap.summary for gap in result.gaps] == [True]


@every_case(
    ("ref", "line", "end"),
    [
        ("a.py:4-900", 4, 900),
        ("a.py:4–9", 4, 9),
        ("a.py:7", 7, 0),
        ("a.py:L7", 7, 0),
        ("a.py#L3", 3, 0),
        ("a.py#L3-L8", 3, 8),
        ("a.py:2:9", 2, 0),
        ("a.py:2:9-14", 2, 0),
        ("a.py(12,5)", 12, 0),
        ("a.py line 4", 4, 0),
        ("a.py, lines 4-6", 4, 6),
        ("`a.py:7`", 7, 0),
    ],
)
def test_a_place_is_read_as_editors_compilers_and_people_write_it(ref: str, line: int, end: int) -> None:
    finding = {"evidence": [{"source": "file", "ref": ref}]}
    look = plan_look(
        place("wr.contracts.review_findings"), [{"kind": "wr.review_findings", "findings": [finding]}]
    )

    assert look.places == (AskedPlace(path="a.py", line=line, end=end, written=ref),)
