"""Every promise of the specifications, one module for each; tests/house compares it with the tests."""

from __future__ import annotations

from tests.journeys.promises import (
    answers,
    command_line_answers,
    command_line_gate,
    command_line_queries,
    command_line_self,
    command_line_update,
    continuation_tokens,
    execution,
    resumption_pack,
)
from tests.journeys.promises.promise import Promise

COMMAND_LINE: tuple[Promise, ...] = (
    *command_line_answers.PROMISES,
    *command_line_gate.PROMISES,
    *command_line_queries.PROMISES,
    *command_line_self.PROMISES,
    *command_line_update.PROMISES,
)
PROMISES: tuple[Promise, ...] = (
    *execution.PROMISES,
    *resumption_pack.PROMISES,
    *COMMAND_LINE,
    *continuation_tokens.PROMISES,
    *answers.PROMISES,
)
