"""Cases from a declared report."""

from __future__ import annotations

import json

import pytest

from handrail.contract.ids import ReportFormat
from handrail.ports.trials import MOST_CASE_NAME, CaseOutcome, TestCase, UnloadedFile
from handrail.ports.workspace import ReportPlace
from handrail.trials.case_file import make_found
from handrail.trials.reports import Unreadable, read_report
from tests.trials.rooms import Workshop, list_outcomes, shell

_FILES = {"tests/test_a.py", "test/a.js"}


def _read(content: str, form: ReportFormat) -> tuple[dict[tuple[str, str], str], tuple[str, ...], bool]:
    found = read_report(content.encode(), form, "/project", _FILES.__contains__)
    assert found is not None
    cases = {(case.file, case.name): str(case.outcome) for case in found.cases or ()}
    return cases, tuple(one.file for one in found.unloaded), found.is_ended_early


_JUNIT = """<testsuites><testsuite name="s" file="test/suite.js">
<testcase classname="tests.test_a.Group" name="one" file="tests/test_a.py"/>
<testcase classname="other" name="two"><failure/><error/></testcase>
<testcase classname="other" name="three"><skipped/></testcase>
<testcase classname="other" name="four"><error/></testcase>
</testsuite>
<testsuite name="p">
<testcase classname="tests.test_a" name="five"/>
<testcase classname="" name="tests.test_a"><error message="collection failure"/></testcase>
</testsuite></testsuites>"""


def test_junit_gives_cases_and_files() -> None:
    assert _read(_JUNIT, "junit") == (
        {
            ("tests/test_a.py", "tests.test_a.Group.one"): "passed",
            ("test/suite.js", "other.two"): "failed",
            ("test/suite.js", "other.three"): "skipped",
            ("test/suite.js", "other.four"): "error",
            ("tests/test_a.py", "tests.test_a.five"): "passed",
        },
        ("tests/test_a.py",),
        False,
    )


def test_json_of_jest_gives_cases_and_files() -> None:
    report = {
        "testResults": [
            {
                "name": "/project/test/a.js",
                "status": "failed",
                "assertionResults": [
                    {"status": "passed", "ancestorTitles": ["lib"], "title": "one"},
                    {"status": "failed", "ancestorTitles": [], "title": "two"},
                    {"status": "pending", "ancestorTitles": [], "title": "three"},
                ],
            },
            {"name": "/project/test/b.js", "status": "failed", "assertionResults": []},
        ]
    }

    assert _read(json.dumps(report), "jest") == (
        {
            ("test/a.js", "lib > one"): "passed",
            ("test/a.js", "two"): "failed",
            ("test/a.js", "three"): "skipped",
        },
        ("test/b.js",),
        False,
    )


def test_go_gives_tests_with_their_subtests() -> None:
    rows = [
        {"Action": "run", "Package": "p", "Test": "TestA"},
        {"Action": "pass", "Package": "p", "Test": "TestA/one"},
        {"Action": "fail", "Package": "p", "Test": "TestA/two"},
        {"Action": "fail", "Package": "p", "Test": "TestA"},
        {"Action": "pass", "Package": "p", "Test": "TestB"},
        {"Action": "fail", "Package": "p"},
        {"Action": "fail", "Package": "broken"},
    ]

    cases, files, is_early = _read("\n".join(map(json.dumps, rows)), "go")

    assert cases == {("", "p.TestA"): "failed", ("", "p.TestB"): "passed"}
    assert (files, is_early) == (("broken",), False)
    assert _read(json.dumps(rows[0]), "go")[2], "a test that did not end"


_TAP = """TAP version 13
# Subtest: test/a.js
    ok 1 - one
    not ok 2 - two
    # Subtest: group
        ok 1 - inner
        1..1
    ok 3 - group # time=1.2ms
    1..3
not ok 1 - test/a.js # time=12ms
ok 2 - plain
ok 3 - left # SKIP because
1..3
"""


def test_tap_gives_its_innermost_lines() -> None:
    cases, _, is_early = _read(_TAP, "tap")

    assert cases == {
        ("test/a.js", "test/a.js > one"): "passed",
        ("test/a.js", "test/a.js > two"): "failed",
        ("test/a.js", "test/a.js > group > inner"): "passed",
        ("", "plain"): "passed",
        ("", "left"): "skipped",
    }
    assert not is_early


@pytest.mark.parametrize("text", ["ok 1 - a\n1..2\n", "1..1\nok 1 - a\nBail out!\n"])
def test_tap_that_is_not_complete_ended_early(text: str) -> None:
    assert _read(text, "tap")[2]


@pytest.mark.parametrize(
    ("form", "content"),
    [
        ("junit", "no xml"),
        ("junit", "<other/>"),
        ("junit", '<!DOCTYPE a [<!ENTITY b "c">]><testsuites/>'),
        ("jest", "[]"),
        ("go", "text"),
        ("tap", "text"),
    ],
)
def test_content_of_another_form_is_refused(form: ReportFormat, content: str) -> None:
    with pytest.raises(Unreadable):
        _read(content, form)


def test_declared_report_is_read_from_the_copy(workshop: Workshop) -> None:
    workshop.write({"report.xml": _JUNIT, "tests/test_a.py": ""})
    check = shell("mkdir out; cp report.xml out/r.xml", report=ReportPlace(path="out/r.xml"))

    result = workshop.run(check)

    assert list_outcomes(result)["tests.test_a.five"] == "passed"
    assert (result.state, result.exit_status) == ("failed", 0)


def test_report_that_is_printed_is_read(linked: Workshop) -> None:
    check = shell("echo noise >&2; printf 'ok 1 - a\\n1..1\\n'", report=ReportPlace(path="-", format="tap"))

    result = linked.run(check)

    assert (result.state, list_outcomes(result)) == ("passed", {"a": "passed"})
    assert "noise" in result.tail


def test_report_of_an_earlier_run_does_not_count(linked: Workshop) -> None:
    linked.write({"r.xml": "<testsuites><testsuite/></testsuites>"})
    declared = ReportPlace(path="r.xml")

    passed, failed = linked.run(shell("true", report=declared)), linked.run(shell("false", report=declared))

    assert (passed.state, passed.reason) == ("not_started", "it wrote no report to `r.xml`")
    assert (failed.state, failed.is_ended_early) == ("failed", True)


def test_case_has_the_worst_of_its_outcomes_and_a_bounded_name() -> None:
    ends: list[tuple[str, CaseOutcome]] = [
        ("a", "passed"),
        ("a", "error"),
        ("x" * 2000, "passed"),
        ("x" * 2001, "passed"),
    ]
    cases = [TestCase(name=name, outcome=end) for name, end in ends]

    found = make_found(cases, [UnloadedFile(file="f"), UnloadedFile(file="f", missing_name="n")])

    assert found.cases is not None
    assert [case.outcome for case in found.cases] == ["error", "passed", "passed"]
    assert {len(case.name) for case in found.cases} == {1, MOST_CASE_NAME}
    assert found.unloaded == (UnloadedFile(file="f", missing_name="n"),)
