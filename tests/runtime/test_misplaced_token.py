"""A token in the wrong argument is offered in the right one, and nothing is guessed beyond that."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.catalogue import TOKEN_BAD_SIGNATURE, TOKEN_SCOPE_MISMATCH
from handrail.contract.outcome import Failure, NextCall
from handrail.runtime.refused_calls import correct_call
from tests.cases import every_case

OUTPUT = {"notesMarkdown": "done"}


def check(operation: str, params: dict[str, Any], expected: NextCall | None) -> None:
    failure = Failure(kind=TOKEN_SCOPE_MISMATCH, message="A state token was sent as ackToken.")

    assert correct_call(failure, operation, params).next_call == expected


@every_case(
    ("operation", "params", "expected"),
    [
        # a state token can only read, so the notes stay with the agent until it has an ack
        (
            "run.continue",
            {"ackToken": "st1x", "output": OUTPUT},
            NextCall(operation="run.continue", params={"stateToken": "st1x"}),
        ),
        (
            "run.continue",
            {"stateToken": " `AK1x` ", "output": OUTPUT, "project": "/p"},
            NextCall(
                operation="run.continue", params={"ackToken": " `AK1x` ", "output": OUTPUT, "project": "/p"}
            ),
        ),
        (
            "run.continue",
            {"ackToken": "st1x", "stateToken": "ak1x", "context": {"a": 1}},
            NextCall(
                operation="run.continue",
                params={"ackToken": "ak1x", "stateToken": "st1x", "context": {"a": 1}},
            ),
        ),
        (
            "run.continue",
            {"ackToken": "ck1x", "stateToken": "st1x", "output": OUTPUT},
            NextCall(
                operation="run.checkpoint",
                params={"stateToken": "st1x", "checkpointToken": "ck1x", "output": OUTPUT},
            ),
        ),
        (
            "run.checkpoint",
            {"checkpointToken": "st1x", "output": OUTPUT},
            NextCall(operation="run.continue", params={"stateToken": "st1x"}),
        ),
        # who asked to read must not be handed a call that finishes the step
        ("run.continue", {"stateToken": "ak1x"}, None),
        # the token of an option is an answer wherever it stands
        (
            "run.continue",
            {"stateToken": "ch1x", "project": "/p"},
            NextCall(operation="run.continue", params={"ackToken": "ch1x", "project": "/p"}),
        ),
        # a checkpoint must not become an advance
        ("run.checkpoint", {"checkpointToken": "ak1x", "output": OUTPUT}, None),
        ("run.continue", {"ackToken": "ck1x"}, None),
        # a checkpoint takes no context, and nothing is left out in silence
        ("run.continue", {"ackToken": "ck1x", "output": OUTPUT, "context": {"a": 1}}, None),
        ("run.continue", {"stateToken": "ak1x", "output": {"notesMarkdown": "x" * 5_000}}, None),
    ],
)
def test_the_token_is_moved_where_it_belongs(
    operation: str, params: dict[str, Any], expected: NextCall | None
) -> None:
    check(operation, params, expected)


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("run.continue", {"stateToken": "ak1x"}),
        ("run.checkpoint", {"checkpointToken": "ak1x", "output": OUTPUT}),
        ("run.continue", {"stateToken": "ak1x", "output": {"notesMarkdown": "x" * 5_000}}),
    ],
    ids=["reading with an ack", "a checkpoint with an ack", "too long to repeat"],
)
def test_session_of_the_token_is_offered_without_a_correction(operation: str, params: dict[str, Any]) -> None:
    failure = Failure(kind=TOKEN_SCOPE_MISMATCH, message="Misplaced.", details={"session_id": "ses_1"})

    told = correct_call(failure, operation, params)

    assert told.next_call == NextCall(operation="session.resume", params={"query": "ses_1"})


@pytest.mark.parametrize(
    "failure",
    [
        Failure(kind=TOKEN_BAD_SIGNATURE, message="Changed."),
        Failure(
            kind=TOKEN_SCOPE_MISMATCH,
            message="Two sessions.",
            next_call=NextCall(operation="session.resume", params={"query": "ses_1"}),
        ),
    ],
    ids=["another trouble", "has its call"],
)
def test_other_failures_are_left_as_they_are(failure: Failure) -> None:
    assert correct_call(failure, "run.continue", {"ackToken": "st1x"}) is failure
