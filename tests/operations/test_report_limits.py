"""The limits of a report at their edges: artifacts of a call, and the context of a branch."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from handrail.contract.outcome import Fault
from handrail.contract.redaction import Secrets
from handrail.operations.report import CONTEXT_LIMIT_BYTES, Output, check_merged, read_report
from tests.engine.written_log import WrittenLog


def artifacts(count: int) -> Output:
    return Output(artifacts=[{"kind": "note", "number": number} for number in range(count)])


def test_report_takes_32_artifacts() -> None:
    assert len(read_report(artifacts(32), msgspec.UNSET, Secrets()).artifacts) == 32


def test_report_rejects_33_artifacts() -> None:
    with pytest.raises(Fault) as refused:
        read_report(artifacts(33), msgspec.UNSET, Secrets())

    assert "33 artifacts are more than 32" in str(refused.value.details)


@pytest.mark.parametrize(
    ("delta", "is_taken"),
    [
        ({"large": None}, True),
        ({"large": "x" * CONTEXT_LIMIT_BYTES}, True),
        ({"more": "x"}, False),
        ({}, True),
    ],
)
def test_context_over_its_limit_may_only_shrink(delta: dict[str, Any], *, is_taken: bool) -> None:
    log = WrittenLog()
    node = log.start(context={"large": "x" * (CONTEXT_LIMIT_BYTES + 1)})

    if is_taken:
        check_merged(log.history, node, delta)
    else:
        with pytest.raises(Fault, match="at most"):
            check_merged(log.history, node, delta)


def test_context_of_the_same_size_over_the_limit_is_taken() -> None:
    log = WrittenLog()
    node = log.start(context={"large": "x" * (CONTEXT_LIMIT_BYTES + 1)})

    check_merged(log.history, node, {"large": "y" * (CONTEXT_LIMIT_BYTES + 1)})
