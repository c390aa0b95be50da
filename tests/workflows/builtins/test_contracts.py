"""Contracts hold what they promise: examples fit, whatever is required is really required.

The oracle is the `jsonschema` library, not the one that the product uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it ships no types

from handrail.engine.artifact_shapes import SHAPES, read_kind
from handrail.workflows.builtins.contracts import CONTRACTS
from handrail.workflows.builtins.specs import ContractSpec
from handrail.workflows.builtins.templates import find_contract
from handrail.workflows.contracts.check import check_contract_schema
from tests.cases import every_case

every_contract = every_case("contract", CONTRACTS)

FREE = {"wr.contracts.loop_control", "wr.contracts.assessment", "wr.contracts.user_input"}
"""Documents from elsewhere bring members of their own in these."""


def fits(contract: ContractSpec, document: Any) -> bool:
    return bool(Draft202012Validator(contract.schema).is_valid(document))


def without_each_required(schema: dict[str, Any], document: Any) -> Iterator[tuple[str, Any]]:
    """The document once for each required member at any depth, without that member."""
    if isinstance(document, list):
        for index, item in enumerate(document):
            for path, changed in without_each_required(schema.get("items", {}), item):
                yield f"[{index}]{path}", [*document[:index], changed, *document[index + 1 :]]
    if not isinstance(document, dict):
        return
    for name in schema.get("required", []):
        yield f".{name}", {key: value for key, value in document.items() if key != name}
    for name, value in document.items():
        inner = schema.get("properties", {}).get(name, {})
        for path, changed in without_each_required(inner, value):
            yield f".{name}{path}", {**document, name: changed}


@every_contract
def test_the_example_fits(contract: ContractSpec) -> None:
    assert list(Draft202012Validator(contract.schema).iter_errors(contract.example)) == []


@every_contract
def test_the_absence_of_each_required_member_does_not_fit(contract: ContractSpec) -> None:
    spoiled = list(without_each_required(contract.schema, contract.example))

    assert len(spoiled) >= 2
    assert [path for path, document in spoiled if fits(contract, document)] == []


@every_contract
def test_the_artifact_kind_follows_from_the_id(contract: ContractSpec) -> None:
    assert contract.artifact_kind == contract.id.replace("wr.contracts.", "wr.")
    assert contract.example["kind"] == contract.artifact_kind
    assert not fits(contract, {**contract.example, "kind": "wr.something_else"})


@every_contract
def test_unknown_member_is_refused_in_closed_contracts(
    contract: ContractSpec,
) -> None:
    """An unknown member is refused except where documents from elsewhere have some."""
    widened = {**contract.example, "metadata": {"reason": "more to do"}}

    assert fits(contract, widened) == (contract.id in FREE)


@every_contract
def test_the_guidance_is_one_line_that_tells_what_to_do(contract: ContractSpec) -> None:
    assert contract.guidance.endswith(".")
    assert "\n" not in contract.guidance
    assert 20 <= len(contract.guidance) <= 110


@every_contract
def test_builtin_contracts_keep_the_rules_of_projects(contract: ContractSpec) -> None:
    assert check_contract_schema(contract.schema) == []


@every_case("kind", sorted(set(SHAPES) - {"wr.user_input"}))
def test_what_the_engine_reads_itself_fits_its_contract(kind: str) -> None:
    contract = find_contract(kind.replace("wr.", "wr.contracts.", 1))

    assert contract is not None
    assert isinstance(read_kind(kind, contract.example), SHAPES[kind])


EVIDENCE = {"source": "command", "ref": "just test", "result": "12 passed"}
CLAIM = {"claim": "It works.", "status": "confirmed", "evidence": [EVIDENCE]}
OPTION = {"id": "a", "description": "A", "advantages": ["fast"], "drawbacks": ["loud"]}
FINDING = {
    "title": "Off by one",
    "severity": "major",
    "problem": "The last row is lost.",
    "suggestion": "Use <=.",
    "evidence": [EVIDENCE],
}

CASES: list[tuple[str, dict[str, Any], bool]] = [
    ("loop_control", {"decision": "continue"}, True),
    ("loop_control", {"decision": "stop", "loopId": "fix-loop", "summary": "Nothing left."}, True),
    ("loop_control", {"decision": "stop", "metadata": {"reason": "done", "iterationIndex": 1}}, True),
    ("loop_control", {"decision": "maybe"}, False),
    ("loop_control", {"decision": True}, False),
    ("loop_control", {"loopId": "fix-loop"}, False),
    ("loop_control", {"decision": "stop", "loopId": 3}, False),
    (
        "capability_observation",
        {"capability": "delegation", "status": "unavailable", "summary": "None."},
        True,
    ),
    ("capability_observation", {"capability": "telepathy", "status": "available", "summary": "Yes."}, False),
    ("capability_observation", {"capability": "delegation", "status": "available"}, False),
    ("capability_observation", {"capability": "delegation", "status": "available", "summary": "  "}, False),
    ("gap", {"severity": "critical", "summary": "No access."}, True),
    ("gap", {"severity": "huge", "summary": "No access."}, False),
    ("gap", {"severity": "info", "summary": "Settled.", "resolvesGapId": "gap_1"}, True),
    ("workflow_divergence", {"reason": "safety_stop", "summary": "Did not deploy."}, True),
    ("workflow_divergence", {"reason": "bored", "summary": "Did not deploy."}, False),
    ("verification_report", {"verdict": "passed", "claims": [CLAIM], "notChecked": []}, True),
    ("verification_report", {"verdict": "passed", "claims": [], "notChecked": []}, False),
    (
        "verification_report",
        {"verdict": "passed", "claims": [CLAIM | {"evidence": []}], "notChecked": []},
        False,
    ),
    (
        "verification_report",
        {"verdict": "passed", "claims": [CLAIM | {"evidence": ["I looked."]}], "notChecked": []},
        False,
    ),
    (
        "review_findings",
        {"verdict": "approve", "findings": [], "reviewed": ["a.py"], "notReviewed": []},
        True,
    ),
    ("review_findings", {"verdict": "approve", "findings": [], "reviewed": [], "notReviewed": []}, False),
    (
        "review_findings",
        {"verdict": "reject", "findings": [FINDING | {"line": 0}], "reviewed": ["a"], "notReviewed": []},
        False,
    ),
    ("changed_files", {"why": "Totals are rounded once."}, True),
    ("changed_files", {"why": {"a.py": "Totals are rounded once."}}, True),
    ("changed_files", {"why": "Rounded.", "files": [{"path": "a"}], "filesTotal": 1}, True),
    ("changed_files", {"why": " "}, False),
    ("changed_files", {"why": {"a.py": ""}}, False),
    ("changed_files", {"files": [{"path": "a"}], "checks": []}, False),
    (
        "decision",
        {
            "question": "Which?",
            "options": [OPTION, OPTION | {"id": "b"}],
            "chosen": "a",
            "rationale": "It is fast.",
            "decidedBy": "agent",
            "revisitWhen": "Noise matters.",
        },
        True,
    ),
    (
        "decision",
        {
            "question": "Which?",
            "options": [OPTION],
            "chosen": "a",
            "rationale": "It is fast.",
            "decidedBy": "agent",
            "revisitWhen": "Noise matters.",
        },
        False,
    ),
    ("assessment", {"assessmentId": "readiness", "dimensions": {"evidence": "high"}}, True),
    ("assessment", {"assessmentId": "readiness", "dimensions": {"evidence": 3}}, False),
    ("assessment", {"assessmentId": "readiness", "dimensions": ["high"]}, False),
]


@every_case(("name", "body", "expected"), CASES)
def test_a_document_fits_or_does_not(name: str, body: dict[str, Any], expected: bool) -> None:
    contract = find_contract("wr.contracts." + name)
    assert contract is not None

    assert fits(contract, {"kind": "wr." + name, **body}) is expected
