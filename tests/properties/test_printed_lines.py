"""Law: what a program prints is shown and kept the same, however it arrives, and no secret gets through."""

from __future__ import annotations

import re
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.contract.printed_text import PrintedText, redact_line, redact_lines
from handrail.contract.redaction import Secrets

KNOWN = b"correct-horse-battery-staple"
LONG = "0123456789abcdefghijABCDEFGHIJ"
SHAPES = (
    "Password: hunter2-hunter2",
    "passwd=hunter2-hunter2",
    "passphrase = 'hunter2-hunter2'",
    "my_secret: hunter2-hunter2",
    "TOKEN=hunter2-hunter2",
    "pa\u017f\u017fword=hunter2-hunter2",
    "to\u212aen=hunter2-hunter2",
    "author\u0131zation: hunter2-hunter2",
    "AUTHOR\u0130ZATION: hunter2-hunter2",
    "cookie: hunter2-hunter2",
    "api_key=hunter2-hunter2",
    "apikey=hunter2-hunter2",
    "private-key=hunter2-hunter2",
    "credential=hunter2-hunter2",
    f"Bearer {LONG}",
    f"basic {LONG}",
    *(f"gh{kind}_{LONG}" for kind in "pousr"),
    f"github_pat_{LONG}",
    f"glpat-{LONG}",
    f"sk-{LONG}",
    f"rk_live_{LONG}",
    f"sk_test_{LONG}",
    f"xoxb-{LONG}",
    "AKIA0123456789ABCDEF",
    "ASIA0123456789ABCDEF",
    f"AIza{LONG}",
    f"npm_{LONG}",
    f"pyp{'i'}-{LONG}",
    f"hf_{LONG}",
    f"eyJ{LONG}.{LONG}.x",
    "https://someone:hunter2-hunter2@example.org/",
    "https://example.org/?access_token=hunter2-hunter2",
    f"ST1{LONG}",
    f"ct_{LONG}",
    KNOWN.decode(),
)
PIECES = (
    *SHAPES,
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "api test1 basic",
    "\x1b[31mred\x1b[0m",
    "\u202e",
    "✓ é",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "x" * 3_000,
    "y" * 17_000,
)


def secrets() -> Secrets:
    known = Secrets()
    known.register(KNOWN)
    return known


def told(content: bytes, cuts: list[int]) -> tuple[list[str], str, str, str]:
    """Everything that is shown and kept of it, when it arrives cut in these places."""
    printed = PrintedText(secrets())
    places = sorted({min(cut, len(content)) for cut in cuts} | {0, len(content)})
    lines = [line for start, end in pairwise(places) for line in printed.take(content[start:end])]
    return [*lines, *printed.finish()], printed.head, printed.tail, printed.digest


@pytest.mark.thorough
@given(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.lists(st.integers(0, 2_000), max_size=8)
)
def test_lines_do_not_depend_on_how_they_arrive(text: str, cuts: list[int]) -> None:
    content = re.sub("\r(?!\n)", "", text).encode()  # a bare one at the end of a part may still begin a pair

    assert told(content, cuts) == told(content, [*range(len(content))][:: max(1, len(content) // 400)])


@given(st.lists(st.sampled_from((*SHAPES, "plain", "api st1 sk-")), max_size=12))
def test_a_line_loses_its_secret_alone_and_among_others(lines: list[str]) -> None:
    alone = [redact_line(line, secrets()) for line in lines]

    assert redact_lines(lines, secrets()) == alone
    assert not [line for line in alone if "hunter2-hunter2" in line or LONG in line]
    assert not [line for line in alone if "0123456789ABCDEF" in line or KNOWN.decode() in line]


@pytest.mark.thorough
def test_no_other_letter_counts_as_one_of_ascii() -> None:
    """The patterns do not mind case; this is what that means beyond ASCII."""
    alike = [chr(point) for point in range(128, sys.maxunicode + 1) if re.match("(?i)[a-z0-9]", chr(point))]

    assert alike == ["\u0130", "\u0131", "\u017f", "\u212a"]
