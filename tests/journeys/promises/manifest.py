"""The manifest: every promise to users, one module per specification; tests/house compares it with tests."""

from __future__ import annotations

from tests.journeys.promises import design, execution, response_contract
from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    *execution.PROMISES,
    *response_contract.PROMISES,
    *design.PROMISES,
)
