"""What evidence costs an honest agent: the same run with it and without, reply by reply.

The reply that ends a run holds the sum of the evidence and has its own bound: in a run of two steps it
costs more than they may, so no bound per step is held against a whole run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.honest_run import BEFORE, is_within, measure
from bench.tokens import (
    EVIDENCE_BOUND,
    EVIDENCE_END_BOUND,
    forget_evidence,
    tokens_emptied,
    without_evidence,
)
from handrail.contract.disclosure.estimate import estimate_tokens
from tests.journeys.cast import Reply, play
from tests.surfaces.mcp.scripted_agents import IDS

pytestmark = pytest.mark.thorough


def count(reply: Reply) -> int:
    session = reply["session"] | {"project": ""}
    return estimate_tokens(tokens_emptied(reply | {"session": session})) or 0


@pytest.mark.promise("evidence.cost")
@pytest.mark.parametrize("workflow_id", IDS)
def test_evidence_adds_at_most_25_tokens_to_a_step_of_an_honest_agent(
    tmp_path: Path, workflow_id: str
) -> None:
    paid = play(tmp_path / "with", workflow_id, "full_auto_stop_on_user_deps")
    with without_evidence():
        free = play(tmp_path / "without", workflow_id, "full_auto_stop_on_user_deps")

    added = [
        count(one) - count(forget_evidence(other))
        for one, other in zip(paid.replies, free.replies, strict=True)
    ]
    assert (paid.kinds, paid.blocks, free.end["isComplete"]) == (free.kinds, 0, True)
    assert max(added[:-1]) <= EVIDENCE_BOUND
    assert added[-1] <= EVIDENCE_END_BOUND
    assert added[-1] > 0, "the sum of the evidence is told"


@pytest.mark.promise("evidence.cost")
@pytest.mark.parametrize("way", BEFORE)
def test_an_honest_run_costs_no_call_and_no_token_more_than_in_the_edition_before(way: str) -> None:
    now = measure(way)

    assert is_within(now, BEFORE[way]), (now, BEFORE[way])
    assert now.calls == (5 if way == "check run" else 4), "hooks and approved checks spare a call"
