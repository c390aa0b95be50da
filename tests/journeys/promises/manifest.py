"""The manifest: every promise to users, one module per specification; tests/house compares it with tests."""

from __future__ import annotations

from tests.journeys.promises import design, execution, response_contract, resumption_pack
from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    *execution.PROMISES,
    *resumption_pack.PROMISES,
    *response_contract.PROMISES,
    *design.PROMISES,
)
