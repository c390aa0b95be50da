"""`store.selftest`: the order it gives, the report it makes, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from handrail.contract.disclosure.fields import Ask
from handrail.contract.outcome import Failure, Success
from handrail.ports.store import ProofOrder, ProofPart
from handrail.runtime.hub import perform, perform_stream
from handrail.runtime.operation import StreamItem
from handrail.runtime.permission import Caller
from handrail.runtime.runtime import Runtime
from tests.conftest import memory_runtime


class GivenProof:
    """Remembers the order and gives the parts a test named."""

    def __init__(self, *problems: str) -> None:
        self.orders: list[ProofOrder] = []
        self.parts = (
            ProofPart(name="kills", cases=30, facts={"acknowledged": 90}, problems=problems),
            ProofPart(name="crowd_in_one_session", cases=12, facts={}, problems=()),
        )

    def run(self, order: ProofOrder) -> Iterator[ProofPart]:
        self.orders.append(order)
        yield from self.parts


def runtime_with(proof: GivenProof) -> Runtime:
    return msgspec.structs.replace(memory_runtime(), proof=lambda: proof)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"seed": 7}, ProofOrder(kills=200, seed=7, directory="")),
        ({"kills": 5, "seed": 0, "dir": "/disk"}, ProofOrder(kills=5, seed=0, directory="/disk")),
    ],
)
def test_the_order_is_what_was_asked_for(params: dict[str, Any], expected: ProofOrder) -> None:
    proof = GivenProof()

    perform(runtime_with(proof), "store.selftest", params)

    assert proof.orders == [expected]


def test_the_report_has_counts_seed_and_the_bound() -> None:
    outcome = perform(runtime_with(GivenProof()), "store.selftest", {"kills": 300, "seed": 7})

    assert isinstance(outcome, Success)
    assert msgspec.json.decode(msgspec.json.encode(outcome.data)) == {
        "ok": True,
        "seed": 7,
        "cases": 42,
        "kills": 300,
        "kill_bound": 0.01,
        "parts": [
            {"name": "kills", "cases": 30, "facts": {"acknowledged": 90}, "problems": []},
            {"name": "crowd_in_one_session", "cases": 12, "facts": {}, "problems": []},
        ],
    }


def test_without_a_seed_chance_gives_one_and_the_report_tells_it() -> None:
    proof = GivenProof()

    outcome: Any = perform(runtime_with(proof), "store.selftest", {})

    assert outcome.data["seed"] == proof.orders[0].seed > 0


def test_negative_verdict_fails_unless_a_report_was_asked_for() -> None:
    failed = perform(runtime_with(GivenProof("lost")), "store.selftest", {})
    told: Any = perform(runtime_with(GivenProof("lost")), "store.selftest", {"reportOnly": True})

    assert isinstance(failed, Failure)
    assert (failed.kind.code, failed.kind.exit_status) == ("E_INTEGRITY", 1)
    assert list(failed.details["report"]["parts"][0]["problems"]) == ["lost"]
    assert told.data["ok"] is False


@pytest.mark.parametrize("params", [{"kills": 0}, {"seed": -1}, {"kills": "many"}])
def test_an_order_that_makes_no_sense_is_refused(params: dict[str, Any]) -> None:
    proof = GivenProof()

    outcome = perform(runtime_with(proof), "store.selftest", params)

    assert isinstance(outcome, Failure)
    assert outcome.kind.code == "VALIDATION_ERROR"
    assert proof.orders == []


def test_stream_shows_each_part_and_then_the_answer() -> None:
    runtime = runtime_with(GivenProof("an event is gone"))
    params = {"kills": 300, "seed": 7, "reportOnly": True}

    *told, last = perform_stream(runtime, "store.selftest", params, Ask(), Caller())

    whole = perform(runtime, "store.selftest", params)
    assert [(line.data["name"], line.data["ok"]) for line in told if isinstance(line, StreamItem)] == [
        ("kills", False),
        ("crowd_in_one_session", True),
    ]
    assert last == whole
