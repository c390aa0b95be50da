"""What came of every test, read from the JUnit reports of one or more runs; as a command, where time went.

    python -m tools.test_report .fcc/*.xml

prints the twenty tests that took longest, each with all its parameters, and the twenty files.
"""

from __future__ import annotations

import itertools
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]
Results: TypeAlias = dict[str, list[Outcome]]
"""By the test's file and name, without parameters."""
SLOWEST = 20


def read_reports(paths: Iterable[str]) -> Results:
    """Raises OSError, and ElementTree.ParseError when a run was cut off."""
    found: Results = {}
    for case in _cases(paths):
        kinds = {child.tag for child in case}
        outcome: Outcome = "passed"
        if kinds & {"failure", "error"}:
            outcome = "failed"
        elif "skipped" in kinds:
            outcome = "skipped"
        found.setdefault(_node_of(case), []).append(outcome)
    return found


def _cases(paths: Iterable[str]) -> Iterator[ElementTree.Element]:
    return itertools.chain.from_iterable(ElementTree.parse(path).iter("testcase") for path in paths)


def _node_of(case: ElementTree.Element) -> str:
    file = case.get("classname", "").replace(".", "/") + ".py"
    return f"{file}::{case.get('name', '').partition('[')[0]}"


def slowest(paths: Iterable[str]) -> list[str]:
    """Lines that say where the time went. Raises what `read_reports` raises."""
    seconds: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for case in _cases(paths):
        node = _node_of(case)
        for place in (node, node.partition("::")[0], ""):
            seconds[place] += float(case.get("time", "0"))
            counts[place] += 1
    by_time = sorted(seconds, key=lambda place: -seconds[place])
    tests = [place for place in by_time if "::" in place]
    files = [place for place in by_time if place and "::" not in place]
    return [
        f"{seconds['']:8.1f} s in {counts['']} tests",
        *(
            f"{seconds[place]:8.1f} s {counts[place]:6d}  {place}"
            for places in (tests, files)
            for place in places[:SLOWEST]
        ),
    ]


def outcomes_below(results: Results, place: str) -> list[Outcome]:
    """Those of one test, of one file, or of every file in a folder, which ends in a slash."""
    is_folder = place.endswith("/")
    return [
        one
        for node, outcomes in results.items()
        if node == place or node.startswith(place if is_folder else f"{place}::")
        for one in outcomes
    ]


def main(arguments: Sequence[str]) -> int:
    """The exit status: 2 for a wrong call."""
    if not arguments:
        print("Usage: python -m tools.test_report REPORT.xml...", file=sys.stderr)
        return 2
    print("\n".join(slowest(arguments)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
