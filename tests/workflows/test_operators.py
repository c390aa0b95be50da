"""Every comparison of conditions has its rule, its words, and the values that it takes."""

from __future__ import annotations

from handrail.workflows import conditions
from handrail.workflows.reading.repairs import OPERATOR_FITS

OPERATORS = {"equals", "not_equals", "in", "contains", "gt", "gte", "lt", "lte", "exists"}
"""As the workflow language documents them."""


def test_comparison_tables_name_every_operator() -> None:
    assert set(OPERATOR_FITS) == OPERATORS
    assert set(conditions._OPERATOR_WORDS) == OPERATORS
    assert set(conditions._OPERATORS) == OPERATORS - {"exists"}
    assert set(conditions._LENIENT_OPERATORS) == OPERATORS - {"exists"}
