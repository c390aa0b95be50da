"""What came of every test of a run, read from its JUnit report."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Literal, TypeAlias

Outcome: TypeAlias = Literal["passed", "failed", "skipped"]
Results: TypeAlias = dict[str, list[Outcome]]
"""By the test's file and name, without parameters."""


def read_report(path: str) -> Results:
    """Raises OSError, and ElementTree.ParseError when the run was cut off."""
    found: Results = {}
    for case in ElementTree.parse(path).iter("testcase"):
        file = case.get("classname", "").replace(".", "/") + ".py"
        name = case.get("name", "").partition("[")[0]
        kinds = {child.tag for child in case}
        outcome: Outcome = "passed"
        if kinds & {"failure", "error"}:
            outcome = "failed"
        elif "skipped" in kinds:
            outcome = "skipped"
        found.setdefault(f"{file}::{name}", []).append(outcome)
    return found


def outcomes_below(results: Results, place: str) -> list[Outcome]:
    """Those of one test, of one file, or of every file in a folder, which ends in a slash."""
    is_folder = place.endswith("/")
    return [
        one
        for node, outcomes in results.items()
        if node == place or node.startswith(place if is_folder else f"{place}::")
        for one in outcomes
    ]
