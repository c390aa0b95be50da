"""The `evidence` of a contract file: what is read, and what is refused at its place."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.workflows.catalog import read_checked_contract
from handrail.workflows.evidence import PathExists, Ran
from tests.cases import every_case

SCHEMA = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string"},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "status": {"type": "integer"}},
            },
        },
    },
}
DOCUMENT = {"id": "project.contracts.change", "schema": SCHEMA, "example": {"verdict": "passed"}}


def read(*rules: Any) -> Any:
    document = {**DOCUMENT, "evidence": list(rules)}
    return read_checked_contract(msgspec.json.encode(document), "change.json")


def test_rules_are_read_and_an_earlier_one_is_left_out() -> None:
    found = read(
        {"check": "not_example"},
        {"check": "path_exists", "at": "/files/*/path"},
        {"check": "ran", "at": "/files/*/path", "status": "status", "demand": "required"},
    )

    assert found.problems == ()
    assert found.contract.evidence == (
        PathExists(at="/files/*/path"),
        Ran(at="/files/*/path", status="status", demand="required"),
    )


@every_case(
    ("rule", "pointer", "said"),
    [
        ({"check": "path_exist", "at": "/files/*/path"}, "/evidence/0/check", "Did you mean path_exists?"),
        ({"check": "seen", "at": "/x"}, "/evidence/0/check", "Write one of consistent, path_exists"),
        ({"at": "/files/*/path"}, "/evidence/0", "check is missing."),
        ("path_exists", "/evidence/0", "A rule of evidence is an object."),
        ({"check": "path_exists", "at": "/files/*/paht"}, "/evidence/0/at", "Did you mean path?"),
        ({"check": "path_exists", "at": "files"}, "/evidence/0/at", "is not a place of the artifact"),
        ({"check": "path_exists", "at": "/verdict/*"}, "/evidence/0/at", "nothing is known at"),
        ({"check": "place_exists", "at": "/verdict", "line": "exit"}, "/evidence/0", "The schema has no"),
        ({"check": "path_exists", "at": "/verdict", "must": True}, "/evidence/0", "must"),
        ({"check": "path_exists", "at": "/verdict", "demand": "always"}, "/evidence/0", "always"),
        (
            {
                "check": "consistent",
                "when": {"at": "/verdict", "equals": "a", "differs": "b"},
                "then": {"at": "/verdict", "exists": True},
            },
            "/evidence/0/when",
            "exactly one thing",
        ),
    ],
)
def test_rule_that_can_never_apply_is_refused(rule: Any, pointer: str, said: str) -> None:
    found = read(rule)

    (problem,) = found.problems
    assert problem.pointer == pointer
    assert said in f"{problem.message} {problem.fix}"
    assert problem.line > 0


def test_there_is_a_limit() -> None:
    found = read(*[{"check": "path_exists", "at": "/verdict"}] * 51)

    assert [problem.code for problem in found.problems] == ["too_large"]


def test_faults_of_schema_and_example_stand_beside_rules() -> None:
    broken = {**SCHEMA, "required": ["verdct"]}
    document = {**DOCUMENT, "schema": broken, "evidence": [{"check": "seen"}]}
    other = {**document, "schema": SCHEMA, "example": {"verdict": 3}}

    found = read_checked_contract(msgspec.json.encode(document), "change.json")
    beside = read_checked_contract(msgspec.json.encode(other), "change.json")

    assert [one.pointer for one in found.problems] == ["/schema/required/0", "/evidence/0/check"]
    assert {one.pointer for one in beside.problems} == {"/example/verdict", "/evidence/0/check"}
