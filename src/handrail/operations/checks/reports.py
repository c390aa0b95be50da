"""What a test runner's report counted. The file is untrusted: bounded, without entities.

Test cases are counted one by one; totals in the report are not read.
"""

from __future__ import annotations

import re
from typing import assert_never
from xml.parsers import expat

import msgspec

from handrail.contract.ids import ReportFormat
from handrail.engine.receipts import Counts

MOST_CASES = 200_000
DEEPEST = 64


class UnreadableReport(Exception):
    """The content is not a report of its format; the message is the reason as the end of a sentence."""


def count_tests(content: bytes, form: ReportFormat) -> Counts | None:
    """Return the tests of a report, by how they ended; None for a format that is text for people.

    Raise UnreadableReport.
    """
    match form:
        case "junit":
            return _count_junit(content)
        case "jest":
            return _count_jest(content)
        case "tap":
            return _require_result(count_tap(content.decode("utf-8", "replace")), "TAP")
        case "go":
            return _require_result(count_go(content.decode("utf-8", "replace")), "`go test -json`")
        case "cargo" | "unittest":
            return None
        case never:
            assert_never(never)


def _require_result(counts: Counts | None, form: str) -> Counts:
    if counts is None:
        raise UnreadableReport(f"it has no result in the form of {form}")
    return counts


class _Cases:
    """The walk through a JUnit file: one verdict per `testcase`, the worst that is inside it."""

    def __init__(self) -> None:
        self.ended = {"passed": 0, "failed": 0, "skipped": 0, "errors": 0, "xfailed": 0}
        self.depth = 0
        self.has_suites = False
        self._verdict = ""

    def open(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnreadableReport("it is nested too deeply")
        match name.rpartition(":")[2]:
            case "testsuites" | "testsuite":
                self.has_suites = True
            case "testcase":
                self._verdict = "passed"
            case "error" if self._verdict:
                self._verdict = "errors"
            case "failure" if self._verdict and self._verdict != "errors":
                self._verdict = "failed"
            case "skipped" if self._verdict == "passed":
                self._verdict = "xfailed" if attributes.get("type") == "pytest.xfail" else "skipped"
            case _:
                pass

    def close(self, name: str) -> None:
        self.depth -= 1
        if name.rpartition(":")[2] == "testcase" and self._verdict:
            self.ended[self._verdict] += 1
            self._verdict = ""
            if sum(self.ended.values()) > MOST_CASES:
                raise UnreadableReport(f"it has more than {MOST_CASES} test cases")


def _count_junit(content: bytes) -> Counts:
    cases = _Cases()
    parser = expat.ParserCreate()
    parser.StartElementHandler = cases.open
    parser.EndElementHandler = cases.close
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise UnreadableReport("it is not XML") from error
    if not cases.has_suites:
        raise UnreadableReport("it has no test suite")
    return msgspec.convert({name: number for name, number in cases.ended.items() if number}, Counts)


def _refuse_doctype(*_: object) -> None:
    """Refuse document types, and with them entities: nothing can grow while it is read."""
    raise UnreadableReport("it has a document type, which no JUnit report needs")


class _Jest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    num_passed_tests: int
    num_failed_tests: int
    num_pending_tests: int = 0
    num_todo_tests: int = 0
    num_runtime_error_test_suites: int = 0


def _count_jest(content: bytes) -> Counts:
    try:
        report = msgspec.json.decode(content, type=_Jest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UnreadableReport("it is not the JSON of Jest or Vitest") from error
    return Counts(
        passed=max(0, report.num_passed_tests),
        failed=max(0, report.num_failed_tests),
        skipped=max(0, report.num_pending_tests) + max(0, report.num_todo_tests),
        errors=max(0, report.num_runtime_error_test_suites),
    )


# What a test runner counted, from the lines that it prints for programs.
#
# Each reader knows one format and returns None if no line matches it: then nothing was counted.


_TAP_SUM = re.compile(r"(?m)^# (tests|pass|fail|cancelled|skipped|todo) (\d{1,9})$")
"""The totals at the end of the TAP that `node --test` prints."""
_TAP_LINE = re.compile(r"(?m)^(not )?ok\b[^#\n]*(?:#\s*(skip|todo)\b)?", re.IGNORECASE)
_TAP_PLAN = re.compile(r"(?m)^1\.\.(\d{1,9})\b")


def count_tap(text: str) -> Counts | None:
    """Return the counts of TAP; of `node --test` its totals, because it also prints a line per suite."""
    sums = {name: int(number) for name, number in _TAP_SUM.findall(text)}
    if "tests" in sums:
        return Counts(
            passed=sums.get("pass", 0),
            failed=sums.get("fail", 0),
            skipped=sums.get("skipped", 0) + sums.get("todo", 0),
            errors=sums.get("cancelled", 0),
        )
    lines = [(bool(failed), bool(directive)) for failed, directive in _TAP_LINE.findall(text)]
    plan = _TAP_PLAN.search(text)
    if not lines and plan is None:
        return None
    return Counts(
        passed=lines.count((False, False)),
        failed=lines.count((True, False)),
        skipped=sum(has_directive for _, has_directive in lines),
        errors=max(0, int(plan[1]) - len(lines)) if plan is not None else 0,
    )


class _GoLine(msgspec.Struct, frozen=True, kw_only=True):
    Action: str
    Package: str = ""
    Test: str = ""


def count_go(text: str) -> Counts | None:
    """Return the counts of `go test -json`.

    A package that fails without a failed test could not be built or started.
    """
    read = msgspec.json.Decoder(_GoLine)
    ended: list[_GoLine] = []
    for line in text.splitlines():
        if line.startswith("{"):
            try:
                found = read.decode(line)
            except msgspec.MsgspecError:
                continue
            ended += [found] if found.Action in ("pass", "fail", "skip") else []
    if not ended:
        return None
    tests = [one.Action for one in ended if one.Test]
    broken = {one.Package for one in ended if one.Action == "fail" and one.Test}
    errors = [one for one in ended if one.Action == "fail" and not one.Test and one.Package not in broken]
    return Counts(
        passed=tests.count("pass"),
        failed=tests.count("fail"),
        skipped=tests.count("skip"),
        errors=len(errors),
    )
