"""Every promise, judged by what came of the tests that show it.

    python -m tests.checklist .fcc/*.xml

reads the JUnit reports of the runs that together are the whole suite. The table is the manifest of
tests/journeys/promises/ with the marks of the tests, and there is no other.
Exit 1 when a promise is broken or nothing showed it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal

from tests.house.promise_marks import shown_by_tests
from tests.journeys.promises.manifest import PROMISES
from tools.test_report import Results, outcomes_below, read_reports

Verdict = Literal["kept", "broken", "not shown"]


def verdict(tests: Sequence[str], results: Results) -> Verdict:
    """A test that was skipped shows nothing, and breaks nothing."""
    seen = [outcome for test in tests for outcome in outcomes_below(results, test)]
    if "failed" in seen:
        return "broken"
    return "kept" if "passed" in seen else "not shown"


def main(arguments: Sequence[str]) -> int:
    """The exit status: 1 for a promise that is not kept, 2 for a wrong call."""
    if not arguments:
        print("Usage: python -m tests.checklist REPORT.xml...", file=sys.stderr)
        return 2
    results, tests = read_reports(arguments), shown_by_tests()
    verdicts = {promise: verdict(tests[promise.id], results) for promise in PROMISES}
    for promise, told in verdicts.items():
        if told != "kept":
            print(f"{told}: {promise.id}: {promise.says} ({', '.join(tests[promise.id])})")
    counts = [list(verdicts.values()).count(told) for told in ("kept", "broken", "not shown")]
    print("{} promises kept, {} broken, {} not shown.".format(*counts))
    return 1 if counts[1:] != [0, 0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
