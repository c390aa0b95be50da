"""Test cases from the reports that runners write, which are somebody else's files: nothing is trusted."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import assert_never
from xml.parsers import expat

import msgspec

from handrail.contract.ids import ReportFormat
from handrail.ports.trials import CaseOutcome, TestCase, UnloadedFile
from handrail.trials.case_file import Found, make_found

_DEEPEST = 64


class Unreadable(Exception):
    """It is not a report of its format; the text ends a sentence."""


def read_report(
    content: bytes, form: ReportFormat, root: str, has_file: Callable[[str], bool]
) -> Found | None:
    """Return the cases of a report; None for a format that is text for people. Raises Unreadable.

    `root` is where the project was while the program ran, and `has_file` whether it has a file of this path.
    """
    match form:
        case "junit":
            return _read_junit(content, root, has_file)
        case "jest":
            return _read_jest(content, root)
        case "tap":
            return _read_tap(content.decode("utf-8", "replace"), has_file)
        case "go":
            return _read_go(content)
        case "cargo" | "unittest":
            return None
        case never:
            assert_never(never)


def _relate(path: str, root: str) -> str:
    if not os.path.isabs(path):
        return os.path.normpath(path).replace(os.sep, "/") if path else ""
    return path[len(root) + 1 :] if path.startswith(root + os.sep) else ""


# JUnit


class _Junit:
    """The walk through a file: one case per `testcase`, with the worst that is inside it."""

    def __init__(self, root: str, has_file: Callable[[str], bool]) -> None:
        self.cases: list[TestCase] = []
        self.unloaded: list[UnloadedFile] = []
        self.has_suites = False
        self._root = root
        self._has_file = has_file
        self._files: list[str] = []
        self._open: dict[str, str] | None = None
        self._outcome: CaseOutcome = "passed"

    def start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(":")[2]
        if len(self._files) > _DEEPEST:
            raise Unreadable("it is nested too deeply")
        above = self._files[-1] if self._files else ""
        match tag:
            case "testsuites" | "testsuite":
                self.has_suites = True
                above = attributes.get("file") or attributes.get("filepath") or above
            case "testcase":
                self._open, self._outcome = attributes, "passed"
            case "failure" if self._open is not None:
                self._outcome = "failed"
            case "error" if self._open is not None and self._outcome != "failed":
                self._outcome = "error"
            case "skipped" if self._open is not None and self._outcome == "passed":
                self._outcome = "skipped"
            case _:
                pass
        self._files.append(above)

    def end(self, name: str) -> None:
        self._files.pop()
        if name.rpartition(":")[2] != "testcase" or self._open is None:
            return
        title, group = self._open.get("name", ""), self._open.get("classname", "")
        file = self._find_file(self._open.get("file") or (self._files[-1] if self._files else ""), group)
        is_collection = self._outcome == "error" and not group and file == ""
        if is_collection and (place := self._find_file("", title)):  # as pytest reports a broken file
            self.unloaded.append(UnloadedFile(file=place))
        else:
            full = f"{group}.{title}" if group else title
            self.cases.append(TestCase(name=full, file=file, outcome=self._outcome))
        self._open = None

    def _find_file(self, path: str, group: str) -> str:
        if path:
            return _relate(path, self._root)
        words = group.split(".")
        for count in range(len(words), 0, -1):
            place = "/".join(words[:count]) + ".py"
            if self._has_file(place):
                return place
        return group if "/" in group and self._has_file(group) else ""


def _read_junit(content: bytes, root: str, has_file: Callable[[str], bool]) -> Found:
    walk = _Junit(root, has_file)
    parser = expat.ParserCreate()
    parser.StartElementHandler = walk.start
    parser.EndElementHandler = walk.end
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise Unreadable("it is not XML") from error
    if not walk.has_suites:
        raise Unreadable("it has no test suite")
    return make_found(walk.cases, walk.unloaded)


def _refuse_doctype(*_: object) -> None:
    """No document type, so no entities: nothing can grow while it is read."""
    raise Unreadable("it has a document type, which no JUnit report needs")


# The JSON of Jest and Vitest


class _Assertion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    status: str
    full_name: str = ""
    title: str = ""
    ancestor_titles: tuple[str, ...] = ()


class _JestFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str = ""
    status: str = ""
    assertion_results: tuple[_Assertion, ...] = ()


class _Jest(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    test_results: tuple[_JestFile, ...]


_JEST: dict[str, CaseOutcome] = {"passed": "passed", "failed": "failed"}


def _read_jest(content: bytes, root: str) -> Found:
    try:
        report = msgspec.json.decode(content, type=_Jest)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Unreadable("it is not the JSON of Jest or Vitest") from error
    cases: list[TestCase] = []
    unloaded: list[UnloadedFile] = []
    for one in report.test_results:
        file = _relate(one.name, root)
        if one.status == "failed" and not any(each.status == "failed" for each in one.assertion_results):
            unloaded.append(UnloadedFile(file=file))
        for each in one.assertion_results:
            name = " > ".join((*each.ancestor_titles, each.title)) if each.title else each.full_name
            cases.append(TestCase(name=name, file=file, outcome=_JEST.get(each.status, "skipped")))
    return make_found(cases, unloaded)


# go test -json


class _GoLine(msgspec.Struct, frozen=True, kw_only=True):
    Action: str = ""
    Package: str = ""
    Test: str = ""


_GO: dict[str, CaseOutcome] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def _read_go(content: bytes) -> Found:
    """Subtests belong to their test. A package that fails without a test could not be built or started."""
    read = msgspec.json.Decoder(_GoLine)
    lines: list[_GoLine] = []
    started: set[tuple[str, str]] = set()
    for row in content.splitlines():
        if not row.startswith(b"{"):
            continue
        try:
            line = read.decode(row)
        except (msgspec.MsgspecError, UnicodeDecodeError):
            continue
        if line.Action == "run" and line.Test:
            started.add((line.Package, line.Test))
        lines += [line] if line.Action in _GO else []
    if not lines and not started:
        raise Unreadable("it has no result of `go test -json`")
    cases = [
        TestCase(name=f"{line.Package}.{line.Test.partition('/')[0]}", outcome=_GO[line.Action])
        for line in lines
        if line.Test
    ]
    broken = {line.Package for line in lines if line.Action == "fail" and line.Test}
    unended = started - {(line.Package, line.Test) for line in lines}
    unloaded = [
        UnloadedFile(file=line.Package)
        for line in lines
        if line.Action == "fail" and not line.Test and line.Package not in broken
    ]
    return make_found(cases, unloaded, is_ended_early=bool(unended))


# TAP

_TAP_LINE = re.compile(
    r"^( *)(not )?ok\b(?: +\d+)?(?: +-)? *(.*?)(?: +# *(skip|todo)\b.*)?(?: *\{)?$", re.IGNORECASE
)
_TAP_PLAN = re.compile(r"^1\.\.(\d{1,9})\b")
_TAP_BAIL = re.compile(r"^ *Bail out!", re.IGNORECASE)
_TIME = re.compile(r" +# time=[\d.]+m?s$")


def _read_tap(text: str, has_file: Callable[[str], bool]) -> Found:
    """The lines that have none inside; a line after deeper ones is their suite."""
    cases: list[TestCase] = []
    inside: list[tuple[int, list[str], CaseOutcome]] = []
    planned: int | None = None
    count = 0
    is_early = False
    for row in text.splitlines():
        if plan := _TAP_PLAN.match(row):
            planned = int(plan[1])
        is_early = is_early or _TAP_BAIL.match(row) is not None
        found = _TAP_LINE.match(_TIME.sub("", row))
        if found is None:
            continue
        depth, title = len(found[1]), found[3]
        count += depth == 0
        outcome: CaseOutcome = "skipped" if found[4] else "failed" if found[2] else "passed"
        below = [one for one in inside if one[0] > depth]
        inside = [one for one in inside if one[0] <= depth]
        for _, titles, _ in below:
            titles.insert(0, title)
        own = [] if below and (outcome != "failed" or any(one[2] == "failed" for one in below)) else [title]
        rows = [(depth, titles, end) for _, titles, end in below]
        if own:
            rows.append((depth, own, outcome))
        if depth == 0:
            cases += _make_tap_cases(rows, has_file)
        else:
            inside += rows
    if planned is None and not count:
        raise Unreadable("it has no result in the form of TAP")
    return make_found(cases, (), is_ended_early=is_early or (planned is not None and planned > count))


def _make_tap_cases(
    rows: list[tuple[int, list[str], CaseOutcome]], has_file: Callable[[str], bool]
) -> Iterator[TestCase]:
    for _, titles, outcome in rows:
        file = titles[0] if has_file(titles[0]) else ""
        yield TestCase(name=" > ".join(titles), file=file, outcome=outcome)
