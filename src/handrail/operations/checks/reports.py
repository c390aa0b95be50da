"""What a test runner's report counted. The file is somebody else's: bounded, no entities, nothing trusted.

Test cases are counted one by one; what a report says about its own sums is read only where it lists no case.
"""

from __future__ import annotations

import re
from typing import assert_never
from xml.parsers import expat

import msgspec

from handrail.contract.ids import ReportFormat
from handrail.engine.receipts import Counts
from handrail.operations.checks.printed_reports import PRINTED_FORMATS

MOST_CASES = 200_000
DEEPEST = 64


class UnreadableReport(Exception):
    """The content is not a report of its format; the message says why, as the end of a sentence."""


def count_tests(content: bytes, form: ReportFormat) -> Counts:
    """The tests of a report, by how they ended. Raises UnreadableReport."""
    match form:
        case "junit":
            return _count_junit(content)
        case "jest":
            return _count_jest(content)
        case "tap" | "go" | "cargo" | "unittest":
            counts = PRINTED_FORMATS[form](content.decode("utf-8", "replace"))
            if counts is None:
                raise UnreadableReport(f"it has no result in the form of {form}")
            return counts
        case never:
            assert_never(never)


class _Cases:
    """The walk through a JUnit file: one verdict per `testcase`, the worst that is inside it."""

    def __init__(self) -> None:
        self.ended = {"passed": 0, "failed": 0, "skipped": 0, "errors": 0}
        self.depth = 0
        self.has_suites = False
        self.told = {"passed": 0, "failed": 0, "skipped": 0, "errors": 0}
        """What the outermost suites with sums say of themselves."""
        self._told_at = 0
        self._verdict = ""

    def open(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnreadableReport("it is nested too deeply")
        match name.rpartition(":")[2]:
            case "testsuites" | "testsuite":
                self.has_suites = True
                self._take_sums(attributes)
            case "testcase":
                self._verdict = "passed"
            case "error" if self._verdict:
                self._verdict = "errors"
            case "failure" if self._verdict and self._verdict != "errors":
                self._verdict = "failed"
            case "skipped" if self._verdict == "passed":
                self._verdict = "skipped"
            case _:
                pass

    def _take_sums(self, attributes: dict[str, str]) -> None:
        """The sums of a suite include those of the suites in it."""
        if self._told_at or not _SUM.fullmatch(attributes.get("tests", "")):
            return
        self._told_at = self.depth
        sums = {name: _read_sum(attributes, name) for name in ("tests", "failures", "errors", "skipped")}
        skipped = sums["skipped"] + _read_sum(attributes, "disabled")
        self.told["failed"] += sums["failures"]
        self.told["errors"] += sums["errors"]
        self.told["skipped"] += skipped
        self.told["passed"] += max(0, sums["tests"] - sums["failures"] - sums["errors"] - skipped)

    def close(self, name: str) -> None:
        if self._told_at == self.depth:
            self._told_at = 0
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
    return Counts(**(cases.ended if any(cases.ended.values()) else cases.told))


_SUM = re.compile(r"[0-9]{1,9}")


def _read_sum(attributes: dict[str, str], name: str) -> int:
    told = attributes.get(name, "")
    return int(told) if _SUM.fullmatch(told) else 0


def _refuse_doctype(*_: object) -> None:
    """No document type, so no entities: nothing can grow while it is read."""
    raise UnreadableReport("it has a document type, which no JUnit report needs")


class _Jest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    num_passed_tests: int
    num_failed_tests: int
    num_pending_tests: int = 0
    num_todo_tests: int = 0
    num_runtime_error_test_suites: int = 0


def _count_jest(content: bytes) -> Counts:
    try:
        told = msgspec.json.decode(content, type=_Jest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UnreadableReport("it is not the JSON of Jest or Vitest") from error
    return Counts(
        passed=max(0, told.num_passed_tests),
        failed=max(0, told.num_failed_tests),
        skipped=max(0, told.num_pending_tests) + max(0, told.num_todo_tests),
        errors=max(0, told.num_runtime_error_test_suites),
    )
