"""Outside text in our sentences: quoted, short, visible, and never a whole token."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest

from handrail.contract.wording import escape_hidden, list_names, make_prompt_json, quote
from tests.cases import every_case

QUOTED: list[tuple[str, str]] = [
    ("", '""'),
    ("wr.review", '"wr.review"'),
    ("Überprüfung 検査 🚀", '"Überprüfung 検査 🚀"'),
    ('say "hi"', "\"say 'hi'\""),
    ("a\n\r\tb\u2028c", '"a b c"'),
    ("\x1b[31mred", '"\ufffd[31mred"'),
    ("user\u202etxt.exe", '"user\ufffdtxt.exe"'),
    ("in\u200b\u200d\ufeffvisible", '"in\ufffdvisible"'),
    ("half\ud800", '"half\ufffd"'),
    ("tag\U000e0041\U000e007f", '"tag\ufffd"'),
    ("x" * 80, '"' + "x" * 80 + '"'),
    ("x" * 81, '"' + "x" * 79 + '…"'),
    ("\u200b" * 1000 + "x", '"\ufffd…"'),
]
TOKENS = [
    "ak1" + "0123456789abcdefghjkmnpqrs" * 2,
    "AK1" + "0123456789ABCDEFGHJKMNPQRS" * 2,
    "st1" + "7k2m" * 11,
    "ct_eyJhIjoxfQ.c2lnbmF0dXJl-_",
    "cu1" + "eyJvIjoxfQ" * 4,
]


@every_case(("text", "expected"), QUOTED)
def test_outside_text_is_quoted_short_and_visible(text: str, expected: str) -> None:
    assert quote(text) == expected


def test_no_character_that_hides_or_reorders_survives() -> None:
    hiding = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    suspects = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in hiding]

    survivors = [f"U+{ord(one):04X}" for one in suspects if one in quote(f"a{one}b")]

    assert survivors == []


@every_case("token", TOKENS)
def test_a_token_is_shortened_to_its_kind(token: str) -> None:
    assert quote(f"continue --ack={token} now") == f'"continue --ack={token[:3]}… now"'


@every_case("text", ["st1", "stable", "ch1 and ch2", "checkpoint_workflow", "act_as_somebody_else_now"])
def test_ordinary_words_are_not_taken_for_tokens(text: str) -> None:
    assert quote(text) == f'"{text}"'


def test_json_text_keeps_its_meaning_and_hides_nothing() -> None:
    hiding = {"Cc", "Cf", "Zl", "Zp"}
    suspects = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) in hiding]
    document = {"text": "".join(suspects), "plain": "Größe 🎏"}

    shown = escape_hidden(json.dumps(document, ensure_ascii=False))

    assert json.loads(shown) == document
    assert [f"U+{ord(one):04X}" for one in suspects if one in shown] == []
    assert "Größe 🎏" in shown


STEERING = [*range(9), *range(11, 13), *range(14, 32), *range(0x7F, 0xA0), *range(0x202A, 0x202F)]
STEERING += [*range(0x2066, 0x206A), *range(0xE0000, 0xE0080)]


@pytest.mark.parametrize("around", ["a", "…\n\t\u200d"])
def test_no_text_for_an_agent_can_steer_its_reader(around: str) -> None:
    told = {f"{around}{chr(code)}": [f"{around}{chr(code)}{around}", 7] for code in STEERING}

    shown = [make_prompt_json({name: held}) for name, held in told.items()]

    assert shown == [{f"{around}\ufffd": [f"{around}\ufffd{around}", 7]}] * len(STEERING)
    assert make_prompt_json({"a": f"{around}\r\n"}) == {"a": f"{around}\n"}
    assert make_prompt_json({"a": "\udcff"}) == {"a": "\\xff"}


@every_case(
    ("count", "expected"),
    [(0, ""), (1, "a"), (5, "a, b, c, d, e"), (6, "a, b, c, d, e and 1 more")],
)
def test_names_of_a_sentence_are_five_and_a_count(count: int, expected: str) -> None:
    assert list_names("abcdef"[:count]) == expected
