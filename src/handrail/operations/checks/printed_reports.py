"""What a test runner counted, from the lines that it prints for programs. Pure.

Each reader knows one form and gives None where no line is of it: then nothing was counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

import msgspec

from handrail.engine.receipts import Counts

_TAP_SUM = re.compile(r"(?m)^# (tests|pass|fail|cancelled|skipped|todo) (\d{1,9})$")
_TAP_LINE = re.compile(r"(?m)^(not )?ok\b[^#\n]*(?:#\s*(skip|todo)\b)?", re.IGNORECASE)
_TAP_PLAN = re.compile(r"(?m)^1\.\.(\d{1,9})\b")
_CARGO = re.compile(
    r"(?m)^test result: \w+\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored; \d+ measured;"
)
_UNITTEST = re.compile(r"(?m)^Ran (\d{1,9}) tests? in [\d.]+s$")
_UNITTEST_END = re.compile(r"(?m)^(?:OK|FAILED|NO TESTS RAN)(?: \(([a-z0-9=, ]*)\))?$")


_NOT_A_TEST = re.compile(
    r"(?m)^ERROR: (?:.* \(unittest\.loader\._FailedTest\b|(?:setUp|tearDown)(?:Class|Module) \()"
)
"""Errors of unittest before or after a test: a module that cannot be imported, a fixture that fails."""


def count_tap(text: str) -> Counts | None:
    """TAP; where the sums of `node --test` end it, those, because its suites are lines too."""
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
    """`go test -json`; a package that fails without a test that does could not be built or started."""
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


def count_cargo(text: str) -> Counts | None:
    """`cargo test`: one sum for each binary and for the examples in comments."""
    found = [tuple(map(int, numbers)) for numbers in _CARGO.findall(text)]
    if not found:
        return None
    passed, failed, skipped = (sum(column) for column in zip(*found, strict=True))
    return Counts(passed=passed, failed=failed, skipped=skipped)


def count_unittest(text: str) -> Counts | None:
    """`python -m unittest`: its last two lines. A test that raises has failed; an error is no test."""
    ran, ends = _UNITTEST.findall(text), _UNITTEST_END.findall(text)
    if not ran or not ends:
        return None
    told = dict(pair.strip().split("=", 1) for pair in ends[-1].split(",") if "=" in pair)
    sums = {name: int(number) for name, number in told.items() if number.isdigit()}
    skipped, raised = sums.get("skipped", 0), sums.get("errors", 0)
    errors = min(raised, len(_NOT_A_TEST.findall(text)))
    failed = sums.get("failures", 0) + sums.get("unexpected successes", 0) + raised - errors
    passed = max(0, int(ran[-1]) - failed - errors - skipped)
    return Counts(passed=passed, failed=failed, skipped=skipped, errors=errors)


PRINTED_FORMATS: dict[Literal["tap", "go", "cargo", "unittest"], Callable[[str], Counts | None]] = {
    "tap": count_tap,
    "go": count_go,
    "cargo": count_cargo,
    "unittest": count_unittest,
}
