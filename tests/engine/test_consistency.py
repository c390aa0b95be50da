"""Rules between the members of an artifact: where the first part holds, the second must."""

from __future__ import annotations

from typing import Any

from handrail.engine.judge.consistency import find_inconsistent
from handrail.workflows.compiled import Contract
from handrail.workflows.evidence import Consistent, Term
from tests.cases import every_case

RENAMED = Consistent(
    when=Term(at="/files/*/change", equals="renamed"), then=Term(at="/files/*/from", exists=True)
)
PASSED = Consistent(
    when=Term(at="/verdict", equals="passed"), then=Term(at="/claims/*/status", differs="refuted")
)


def judge(rule: Consistent, body: dict[str, Any]) -> list[tuple[str, str]]:
    contract = Contract(artifact_kind="project.x", schema={}, example={}, guidance="", evidence=(rule,))
    return find_inconsistent(contract, body)


@every_case(
    ("rule", "body", "place"),
    [
        (RENAMED, {"files": [{"change": "renamed", "from": "a"}, {"change": "added"}]}, ""),
        (RENAMED, {"files": [{"change": "added", "from": "a"}, {"change": "renamed"}]}, "/files/1/change"),
        (RENAMED, {}, ""),
        (PASSED, {"verdict": "passed", "claims": [{"status": "confirmed"}]}, ""),
        (PASSED, {"verdict": "failed", "claims": [{"status": "refuted"}]}, ""),
        (
            PASSED,
            {"verdict": "passed", "claims": [{"status": "confirmed"}, {"status": "refuted"}]},
            "/verdict",
        ),
        (PASSED, {"verdict": "passed"}, ""),
    ],
)
def test_rows_that_disagree_are_named(rule: Consistent, body: dict[str, Any], place: str) -> None:
    assert [found for found, _ in judge(rule, body)] == ([place] if place else [])
