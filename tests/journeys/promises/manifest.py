"""The manifest: every promise to users, one module per specification; tests/house compares it with tests."""

from __future__ import annotations

from tests.journeys.promises import (
    claims,
    code_tools,
    code_workflows,
    command_line_answers,
    command_line_gate,
    command_line_queries,
    command_line_self,
    command_line_update,
    companion,
    console_pages,
    delegation,
    design,
    evidence,
    evidence_code,
    execution,
    http,
    people,
    response_contract,
    resumption_pack,
    team,
    values,
)
from tests.journeys.promises.hardening import attacks, bundles, door, limits, programs, store
from tests.journeys.promises.promise import Promise
from tests.journeys.promises.truth import branches, commits, files, finding, judging, telling, terminals

COMMAND_LINE: tuple[Promise, ...] = (
    *command_line_answers.PROMISES,
    *command_line_gate.PROMISES,
    *command_line_queries.PROMISES,
    *command_line_self.PROMISES,
    *command_line_update.PROMISES,
)
TRUTH: tuple[Promise, ...] = (
    *judging.PROMISES,
    *telling.PROMISES,
    *branches.PROMISES,
    *finding.PROMISES,
    *commits.PROMISES,
    *terminals.PROMISES,
    *files.PROMISES,
)
HARDENING: tuple[Promise, ...] = (
    *programs.PROMISES,
    *store.PROMISES,
    *limits.PROMISES,
    *bundles.PROMISES,
    *door.PROMISES,
    *attacks.PROMISES,
)
EVIDENCE: tuple[Promise, ...] = (
    *claims.PROMISES,
    *evidence.PROMISES,
    *evidence_code.PROMISES,
    *people.PROMISES,
    *delegation.PROMISES,
    *values.PROMISES,
)
PROMISES: tuple[Promise, ...] = (
    *execution.PROMISES,
    *resumption_pack.PROMISES,
    *COMMAND_LINE,
    *response_contract.PROMISES,
    *design.PROMISES,
    *TRUTH,
    *HARDENING,
    *EVIDENCE,
    *code_tools.PROMISES,
    *console_pages.PROMISES,
    *http.PROMISES,
    *code_workflows.PROMISES,
    *companion.PROMISES,
    *team.PROMISES,
)
