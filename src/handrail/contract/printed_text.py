"""What another program prints: safe to keep and safe to show. Pure.

Secrets are removed line by line, before anything is cut, so that no half of one stays. What a terminal would
obey is dropped. Memory is bounded, however much is printed and however long a line is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from handrail.contract.fence import drop_invisible
from handrail.contract.redaction import (
    MINTED_BEGINNINGS,
    REDACTED,
    Secrets,
    cut_minted_tokens,
    redact_credentials,
)

HEAD_BYTES = 2_048
TAIL_BYTES = 4_096
LONGEST_LINE = 2_000
"""Characters of a line that are shown and kept."""

_LINE_BYTES = 16_384
"""Bytes of a line that are looked at; more are counted and dropped."""
_LOST_AT_THE_CUT = 512
"""A secret may be cut in two where the looking ends."""

# Strings for the terminal, control sequences, two-byte escapes, and overstrikes.
_ESCAPES = (
    "\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?|.\x08"
)
_NAMES = {
    **{name: name for name in ("password", "passwd", "passphrase", "secret", "token")},
    **{name: name for name in ("authorization", "cookie", "credential")},
    "api": "api[_-]?key",
    "private": "private[_-]?key",
}
"""Names of secrets, each by a part that every spelling of it has."""
_VALUE = r"(?:\"[^\"]{4,}\"|'[^']{4,}'|[^\s\"',;)}\]]{4,})"
_ASSIGNS = r"[\"']?(?:\s{0,4}=\s{0,4}|:\s{1,4}|:(?=[\"']))"
_ASSIGNED = re.compile(  # what comes before a name stays anyway
    rf"(?i)((?:{'|'.join(_NAMES.values())})[\w-]{{0,64}}{_ASSIGNS})({_VALUE})"
)
_PLAIN_VALUE = r"(?i)[\"']?(?:[\d.,_%]+|true|false|null|none|undefined|required|optional)[\"']?"
_SCHEMES = re.compile(r"(?i)\b(bearer|basic|token)\s+[a-z0-9._~+/=-]{12,}")
_KNOWN_SHAPES = {
    **{f"gh{kind}_": rf"gh{kind}_\w{{16,}}" for kind in "pousr"},
    "github_pat_": r"github_pat_\w{16,}",
    "glpat-": r"glpat-[\w-]{12,}",
    "sk-": r"sk-[\w-]{16,}",
    "k_live_": r"[sr]k_live_\w{12,}",
    "k_test_": r"[sr]k_test_\w{12,}",
    "xox": r"xox[a-z]-[\w-]{10,}",
    "akia": r"AKIA[0-9A-Z]{12,}",
    "asia": r"ASIA[0-9A-Z]{12,}",
    "aiza": r"AIza[\w-]{24,}",
    "npm_": r"npm_\w{24,}",
    "ypi-": r"pyp[i]-[\w-]{16,}",
    "hf_": r"hf_\w{16,}",
    "eyj": r"eyJ[\w-]{6,}\.[\w-]{6,}\.?[\w-]*",
}
"""Secrets of known services, each by a part that it always has, in small letters."""
_KNOWN = re.compile(  # also after an escape inside a quoted text
    rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{'|'.join(_KNOWN_SHAPES.values())})"
)
_KEY_BEGINS = r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----"
_KEY_ENDS = r"-----END [A-Z ]{0,32}PRIVATE KEY-----"
_KEY = "-----BEGIN "


def _hide_value(found: re.Match[str]) -> str:
    return found[0] if re.fullmatch(_PLAIN_VALUE, found[2]) else found[1] + REDACTED


_Rule: TypeAlias = tuple[tuple[str, ...], Callable[[str], str]]
_RULES: tuple[_Rule, ...] = (
    (("://", "?"), redact_credentials),
    (MINTED_BEGINNINGS, cut_minted_tokens),
    # Before the next, which would take the scheme for the secret.
    (("bearer", "basic", "token"), lambda text: _SCHEMES.sub(rf"\1 {REDACTED}", text)),
    (tuple(_NAMES), lambda text: _ASSIGNED.sub(_hide_value, text)),
    (tuple(_KNOWN_SHAPES), lambda text: _KNOWN.sub(REDACTED, text)),
)
"""What removes secrets, each with parts one of which every secret of its kind has, in small letters.

Looking for a part costs a hundredth of looking for the pattern, and few lines have one.
"""
_LIKE_ASCII = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")
"""The letters outside ASCII that a pattern takes for one in it when case does not count."""


def redact_line(text: str, secrets: Secrets) -> str:
    """One line without secrets: those that this process knows, named ones, and those with a known shape."""
    return redact_lines([text], secrets)[0]


def redact_lines(lines: list[str], secrets: Secrets) -> list[str]:
    """The same for many lines at the price of a few: what the whole does not have, no line has."""
    whole = "\n".join(lines)
    if secrets.redact_text(whole) != whole:
        lines = [secrets.redact_text(line) for line in lines]
    rules = _choose_rules(_fold(whole), _RULES)
    return [_apply(line, rules) for line in lines] if rules else lines


def _choose_rules(folded: str, rules: tuple[_Rule, ...]) -> tuple[_Rule, ...]:
    present = ((tuple(part for part in parts if part in folded), apply) for parts, apply in rules)
    return tuple((parts, apply) for parts, apply in present if parts)


def _apply(line: str, rules: tuple[_Rule, ...]) -> str:
    for _, apply in _choose_rules(_fold(line), rules):
        line = apply(line)
    return line


def _fold(text: str) -> str:
    return (text if text.isascii() else text.translate(_LIKE_ASCII)).lower()


def strip_escapes(text: str) -> str:
    """Text that cannot steer a terminal: no escape sequences, no control or invisible characters."""
    if text.isprintable():
        return text
    return drop_invisible(re.sub(_ESCAPES, "", text)).replace("\n", " ")


class PrintedText:
    """Everything that a program prints, as it comes: a digest of the whole, its first and its last part."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._whole = hashlib.sha256()
        self.size = 0
        self._line = b""
        self._is_cut = False
        self._is_key = False
        self._head = ""
        self._is_head_full = False
        self._tail = ""

    def take(self, chunk: bytes) -> list[str]:
        """The lines that are complete now, ready to be shown."""
        self._whole.update(chunk)
        self.size += len(chunk)
        *ended, rest = re.split(rb"\r\n|\n|\r(?!\Z)", chunk)
        lines = self._end_lines(ended) if ended else []
        self._add(rest)
        return lines

    def finish(self) -> list[str]:
        """The last line, if it has no end."""
        return self._end_lines([b""]) if self._line or self._is_cut else []

    @property
    def digest(self) -> str:
        return "sha256:" + self._whole.hexdigest()

    @property
    def head(self) -> str:
        return self._head

    @property
    def tail(self) -> str:
        """What followed the head, its last part."""
        return _cut_front(self._tail)

    def _add(self, part: bytes) -> None:
        room = _LINE_BYTES - len(self._line)
        self._line += part[:room]
        self._is_cut = self._is_cut or len(part) > room

    def _end_lines(self, parts: Sequence[bytes]) -> list[str]:
        """Lines that ended, all at once; the first part completes what was there of its line."""
        self._add(parts[0])
        cut = {at for at, part in enumerate(parts) if len(part) > _LINE_BYTES}
        cut |= {0} if self._is_cut else set()
        content = b"\n".join((self._line.rstrip(b"\r"), *(part[:_LINE_BYTES] for part in parts[1:])))
        self._line, self._is_cut = b"", False
        texts = [strip_escapes(text) for text in content.decode("utf-8", "replace").split("\n")]
        lines = [
            line if at not in cut and len(line) <= LONGEST_LINE else _shorten(line, is_cut=at in cut)
            for at, line in enumerate(self._redact(texts))
        ]
        self._keep(lines)
        return lines

    def _redact(self, texts: list[str]) -> list[str]:
        """A private key spans lines: all of it goes."""
        if not self._is_key and not any(_KEY in text for text in texts):
            return redact_lines(texts, self._secrets)
        return [self._redact_beside_key(text) for text in texts]

    def _redact_beside_key(self, text: str) -> str:
        if self._is_key or re.search(_KEY_BEGINS, text):
            self._is_key = re.search(_KEY_ENDS, text) is None
            return REDACTED
        return redact_line(text, self._secrets)

    def _keep(self, lines: list[str]) -> None:
        at = 0
        while at < len(lines) and not self._is_head_full:
            grown = f"{self._head}{lines[at]}\n"
            self._is_head_full = len(grown.encode()) > HEAD_BYTES
            if not self._is_head_full:
                self._head = grown
                at += 1
        self._tail += "".join(f"{line}\n" for line in lines[at:])
        if len(self._tail) > 4 * TAIL_BYTES:
            self._tail = _cut_front(self._tail)


def _shorten(line: str, *, is_cut: bool) -> str:
    if is_cut:
        line = line[:-_LOST_AT_THE_CUT]
    return line[: LONGEST_LINE - 1] + "…"


def _cut_front(text: str) -> str:
    """The last whole lines that fit into the tail; of one line that is longer, its end."""
    content = text.encode()
    if len(content) <= TAIL_BYTES:
        return text
    kept = content[-TAIL_BYTES:].decode(errors="ignore")
    _, end, rest = kept.partition("\n")
    return rest if end and rest else kept
