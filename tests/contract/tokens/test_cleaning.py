"""Cleaning: what agents wrap around a token comes off, and nothing else changes."""

from __future__ import annotations

from handrail.contract.tokens.workflow import clean, unwrap
from tests.cases import every_case
from tests.contract.tokens.samples import ACK, STATE


@every_case(
    "text",
    [
        ACK,
        ACK.upper(),
        ACK.replace("0", "O").replace("1", "l"),
        ACK.replace("0", "o").replace("1", "I"),
        f"  {ACK}\n",
        f'"{ACK}"',
        f"'{ACK}'",
        f"`{ACK}`",
        f"```\n{ACK}\n```",
        f"<{ACK}>",
        f"[{ACK}]",
        f"({ACK})",
        f"{{{ACK}}}",
        f"“{ACK}”",
        f"«{ACK}»",
        f"**{ACK}**",
        f"{ACK}.",
        f"{ACK},",
        f"{ACK};",
        f'{ACK}",',
        f"{ACK}\\n",
        f'"{ACK}\\r\\n"',
        f"ackToken: {ACK}",
        f"ackToken={ACK}",
        f"ackToken {ACK}",
        f"ack_token: {ACK}",
        f"ack-token: {ACK}",
        f'"ackToken": "{ACK}"',
        f'{{"ackToken": "{ACK}"}}',
        f"retryAckToken: {ACK}",
        f"--ack {ACK}",
        f"--ack={ACK}",
        f"the ack token is {ACK}",
        f"Next: {ACK}",
        f"ref: {ACK}",
        f"{ACK[:30]}\n{ACK[30:]}",
        f"{ACK[:20]} {ACK[20:40]}\r\n  {ACK[40:]}",
        "\u200b".join((ACK[:10], ACK[10:20], ACK[20:])),
        f"\ufeff{ACK}\u2060",
        f"{ACK[:30]}\u00ad{ACK[30:]}",
        f"\u202a{ACK}\u202c",
        f"\x00{ACK}\x07",
    ],
)
def test_wrapping_comes_off(text: str) -> None:
    assert clean(text) == ACK


@every_case(
    ("text", "expected"),
    [
        ("", ""),
        ("  \n", ""),
        ("😀😀", ""),
        ("ackToken:", ""),
        (ACK[:10] + "u" + ACK[11:], ACK[:10] + "?" + ACK[11:]),
        (ACK[:10] + "é" + ACK[11:], ACK[:10] + "?" + ACK[11:]),
        (ACK[:10] + "-" + ACK[11:], ACK[:10] + "?" + ACK[11:]),
        ("ack1" + ACK[3:], "ack1" + ACK[3:]),  # an inserted character, not a label
        (ACK[:3] + ":" + ACK[4:], ACK[:3] + "?" + ACK[4:]),  # a wrong character, not a label
    ],
)
def test_what_is_inside_stays_in_its_place(text: str, expected: str) -> None:
    assert clean(text) == expected


@every_case("text", ["cu1Ab-_", ' "cu1Ab-_" ', "`cu1Ab-_`.", "cu1A\nb-_", "<cu1Ab-_>"])
def test_unwrapping_keeps_case_and_the_base64url_alphabet(text: str) -> None:
    assert unwrap(text) == "cu1Ab-_"


def test_a_row_of_labels_ends_somewhere() -> None:
    assert clean("token " * 50 + STATE) != STATE
