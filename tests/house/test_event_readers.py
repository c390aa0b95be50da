"""Whoever adds an event kind is asked about every reader that names some kinds and passes over the rest.

Folding ends in `assert_never`, so the type checker asks there. A reader to which most kinds
mean nothing has a `case _`; this table says which kinds that are, so that a new one fails here first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_args

from handrail.engine.events import Event
from tests.house.tree import python_files, syntax

KINDS = {kind.__name__ for kind in get_args(Event)}
_FACTS = "CapabilityObserved ContextSet DecisionTraceAppended DivergenceRecorded ValidationPerformed"
"""What an attempt brings to its node."""
PASSED_OVER = {
    # what a bundle takes along: blobs, and nothing else names one
    "src/handrail/engine/bundles/writing.py:_relied_on": f"{_FACTS} AdvanceRecorded ConfirmationRecorded "
    "EdgeCreated EvidenceRecorded GapRecorded ObservationRecorded PreferencesChanged ReceiptRecorded "
    "RunClosed SessionCreated SessionImported",
    "src/handrail/engine/bundles/writing.py:pins_of": f"{_FACTS} AdvanceRecorded ConfirmationRecorded "
    "EdgeCreated EvidenceRecorded GapRecorded ObservationRecorded PreferencesChanged ReceiptRecorded "
    "RunClosed SessionCreated SessionImported TreeRecorded",  # a tree may be absent: nothing relies on it
    # what a stranger's log says: the rest must be a fact about a node that is there
    "src/handrail/engine/bundles/lineage.py:take": f"{_FACTS} AdvanceRecorded",
    "src/handrail/engine/bundles/lineage.py:_about_node": "CapabilityObserved ConfirmationRecorded "
    "ContextSet DivergenceRecorded EdgeCreated EvidenceRecorded GapRecorded NodeCreated ObservationRecorded "
    "PreferencesChanged ReceiptRecorded RunClosed RunStarted SessionCreated SessionImported TreeRecorded "
    "ValidationPerformed",
    "src/handrail/engine/bundles/lineage.py:_count": "CapabilityObserved ConfirmationRecorded "  # copied once
    "DivergenceRecorded EdgeCreated EvidenceRecorded GapRecorded NodeCreated NodeOutputAppended "
    "ObservationRecorded ReceiptRecorded RunStarted SessionCreated SessionImported TreeRecorded "
    "ValidationPerformed",
    # what the ledger shows: decisions, artifacts, gaps and the context
    "src/handrail/projections/ledger.py:_operation": f"{_FACTS} EdgeCreated EvidenceRecorded "  # opens none
    "NodeOutputAppended ObservationRecorded ReceiptRecorded SessionCreated SessionImported TreeRecorded",
    "src/handrail/projections/ledger.py:take": f"{_FACTS} EvidenceRecorded NodeOutputAppended "
    "ObservationRecorded PreferencesChanged ReceiptRecorded SessionCreated SessionImported TreeRecorded",
    "src/handrail/projections/ledger.py:_record": "AdvanceRecorded CapabilityObserved ConfirmationRecorded "
    "EdgeCreated EvidenceRecorded NodeCreated ObservationRecorded ReceiptRecorded RunClosed RunStarted "
    "SessionCreated SessionImported TreeRecorded ValidationPerformed",
    # what people outside are told: a block, the end, a critical gap
    "src/handrail/runtime/outward.py:_classify": f"{_FACTS} ConfirmationRecorded EdgeCreated "
    "EvidenceRecorded NodeOutputAppended ObservationRecorded PreferencesChanged ReceiptRecorded RunClosed "
    "RunStarted SessionCreated SessionImported TreeRecorded",
    # what a pin must lead to: only kinds that have one get here
    "src/handrail/engine/bundles/reading.py:_check_target": f"{_FACTS} AdvanceRecorded ConfirmationRecorded "
    "EdgeCreated EvidenceRecorded GapRecorded NodeCreated ObservationRecorded PreferencesChanged "
    "ReceiptRecorded RunClosed RunStarted SessionCreated SessionImported TreeRecorded",
}
"""By reader, the kinds that its `case _` takes."""


def passed_over(tree: ast.AST) -> Iterator[tuple[str, set[str]]]:
    """Each function with a `match` over event kinds that ends in `case _`, and the kinds it does not name."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Match) and _takes_all(node.cases[-1].pattern):
                    named = _named_kinds(node)
                    yield from [(function.name, KINDS - named)] if named else ()


def _takes_all(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.name is None and pattern.pattern is None


def _named_kinds(node: ast.Match) -> set[str]:
    classes = (
        part.cls for case in node.cases for part in ast.walk(case.pattern) if isinstance(part, ast.MatchClass)
    )
    return KINDS & {one.id for one in classes if isinstance(one, ast.Name)}


def test_every_reader_of_some_kinds_says_which_it_passes_over() -> None:
    found = {
        f"{source.path}:{name}": kinds
        for source in python_files("src")
        if "case _" in source.text and any(kind in source.text for kind in KINDS)
        for name, kinds in passed_over(syntax(source))
    }

    assert found == {reader: set(kinds.split()) for reader, kinds in PASSED_OVER.items()}
