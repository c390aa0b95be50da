"""Tokens pasted together are taken apart."""

from __future__ import annotations

import pytest

from handrail.contract.tokens.workflow import split_glued
from tests.cases import every_case
from tests.contract.tokens.samples import ACK, CHECKPOINT, STATE


@every_case(
    "text",
    [
        STATE + ACK,
        (STATE + ACK).upper(),
        f"{STATE} {ACK}",
        f"{STATE}\n{ACK}\n",
        f"{STATE},{ACK}",
        f"{STATE}, {ACK}.",
        f"{STATE}|{ACK}",
        f"{STATE}/{ACK}",
        f"{STATE} and {ACK}",
        f'"{STATE}" "{ACK}"',
        f"[`{STATE}`, `{ACK}`]",
        f'{{"stateToken":"{STATE}","ackToken":"{ACK}"}}',
        f'{{\n  "stateToken": "{STATE}",\n  "ackToken": "{ACK}"\n}}',
        f"stateToken: {STATE}\nackToken: {ACK}",
        f"--state {STATE} --ack {ACK}",
        f"state token {STATE} ack token {ACK}",
        f"{STATE[:20]}\n{STATE[20:]}{ACK[:30]}\n{ACK[30:]}",
    ],
)
def test_two_tokens_come_out_in_order(text: str) -> None:
    assert split_glued(text) == [STATE, ACK]


def test_three_and_more_come_out_too() -> None:
    assert split_glued(STATE + ACK + CHECKPOINT + STATE) == [STATE, ACK, CHECKPOINT, STATE]


@every_case(
    ("text", "pieces"),
    [
        (STATE[:-1] + ACK, [STATE[:-1], ACK]),
        (STATE[:30] + STATE[31:] + ACK, [STATE[:30] + STATE[31:], ACK]),
        (STATE + "7" + ACK, [STATE + "7", ACK]),
        (STATE + ACK[:-1], [STATE, ACK[:-1]]),
        (STATE + ACK + "7", [STATE, ACK + "7"]),
    ],
)
def test_a_piece_may_be_one_character_short_or_long(text: str, pieces: list[str]) -> None:
    assert split_glued(text) == pieces


@every_case(
    ("text", "whole"),
    [
        (ACK, ACK),
        (f"ackToken: {ACK}", ACK),
        ("", ""),
        ("hello", "he110"),
        (STATE[:-2] + ACK, STATE[:-2] + ACK),
        (STATE + "7777" + ACK, STATE + "7777" + ACK),
        (ACK + "xyz", ACK + "xyz"),
    ],
)
def test_anything_else_stays_whole(text: str, whole: str) -> None:
    assert split_glued(text) == [whole]


def test_a_token_in_front_of_a_remark_is_found() -> None:
    assert split_glued(f"{ACK} (from step 2)") == [ACK]


@pytest.mark.parametrize("broken", [ACK[:-3], ACK[:20] + "--" + ACK[20:], ACK + "777"])
def test_a_broken_token_beside_a_whole_one_is_not_left_out(broken: str) -> None:
    assert split_glued(f"{broken}, {ACK}") not in ([ACK], [STATE])


def test_a_wrong_character_does_not_hide_a_glued_pair() -> None:
    assert split_glued(STATE[:20] + "-" + STATE[21:] + ACK) == [STATE[:20] + "?" + STATE[21:], ACK]
