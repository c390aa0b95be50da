"""Every rule of the command line, checked by its tests, as one table.

    python -m tests.checklist               run the tests that show the rules
    python -m tests.checklist REPORT.xml    judge a run of the whole suite by its JUnit report

Exit 1 when a rule is broken or nothing showed it. A rule that waits for a later part is told and not counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from tests.checklist.rows import RULES, Rule
from tools.test_report import Results, outcomes_below, read_report

DEADLINE_SECONDS = 600
LINE = "{:>2}  {:<8} {:>5}  {}"


def run_tests(nodes: Sequence[str]) -> Results:
    """What came of every test, by its node without parameters."""
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.xml")
        line = [sys.executable, "-m", "pytest", "-q", "-n", "auto", f"--junitxml={report}", *nodes]
        subprocess.run(line, stdout=subprocess.DEVNULL, timeout=DEADLINE_SECONDS, check=False)
        return read_report(report)


def verdict(rule: Rule, results: Results) -> tuple[str, int]:
    """`pass`, `FAIL` or `not yet`, and how many tests passed. A test that did not run shows nothing."""
    seen = [outcomes_below(results, test) for test in rule.tests]
    passed = sum(outcomes.count("passed") for outcomes in seen)
    if any("failed" in outcomes or "passed" not in outcomes for outcomes in seen):
        return "FAIL", passed
    return ("not yet" if rule.later or not seen else "pass"), passed


def main(arguments: Sequence[str]) -> int:
    nodes = sorted({test for rule in RULES for test in rule.tests})
    results = read_report(arguments[0]) if arguments else run_tests(nodes)
    verdicts = {rule.number: verdict(rule, results) for rule in RULES}
    print(LINE.format("#", "verdict", "tests", "rule"))
    for rule in RULES:
        told, passed = verdicts[rule.number]
        print(LINE.format(rule.number, told, passed, rule.says + (f" ({rule.later})" if rule.later else "")))
    counts = [told for told, _ in verdicts.values()]
    print(f"{counts.count('pass')} kept, {counts.count('not yet')} not yet, {counts.count('FAIL')} broken.")
    return 1 if "FAIL" in counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
