"""What another program prints, and the words it was started with: safe to keep and safe to show. Pure.

Secrets are removed line by line, before anything is cut, so that no half of one stays. What a terminal would
obey is dropped. Memory is bounded, however much is printed and however long a line is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

from handrail.contract.fence import drop_invisible
from handrail.contract.redaction import REDACTED, Secrets, is_secret_name, redact_shapes

HEAD_BYTES = 2_048
TAIL_BYTES = 4_096
LONGEST_LINE = 2_000
"""Characters of a line that are shown and kept."""
MOST_WORDS = 40
LONGEST_WORD = 200

_LINE_BYTES = 16_384
"""Bytes of a line that are looked at; more are counted and dropped."""
_LOST_AT_THE_CUT = 512
"""A secret may be cut in two where the looking ends."""

# Strings for the terminal, control sequences, two-byte escapes, and overstrikes.
_ESCAPES = (
    "\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?|\x1b[ -/]*[0-~]?|.\x08"
)
_NAME = r"password|passwd|passphrase|secret|token|authorization|cookie|api[_-]?key|private[_-]?key|credential"
_VALUE = r"(?:\"[^\"]{4,}\"|'[^']{4,}'|[^\s\"',;)}\]]{4,})"
_ASSIGNS = r"[\"']?(?:\s{0,4}=\s{0,4}|:\s{1,4}|:(?=[\"']))"
_ASSIGNED = rf"(?i)((?:{_NAME})[\w-]{{0,64}}{_ASSIGNS})({_VALUE})"  # what comes before a name stays anyway
_PLAIN_VALUE = r"(?i)[\"']?(?:[\d.,_%]+|true|false|null|none|undefined|required|optional)[\"']?"
_SCHEMES = r"(?i)\b(bearer|basic|token)\s+[a-z0-9._~+/=-]{12,}"
_KNOWN = (
    r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))"  # also after an escape inside a quoted text
    r"(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{12,}|sk-[\w-]{16,}|[sr]k_(?:live|test)_\w{12,}"
    r"|xox[a-z]-[\w-]{10,}|AKIA[0-9A-Z]{12,}|ASIA[0-9A-Z]{12,}|AIza[\w-]{24,}|npm_\w{24,}|pyp[i]-[\w-]{16,}"
    r"|hf_\w{16,}|eyJ[\w-]{6,}\.[\w-]{6,}\.?[\w-]*)"
)
_KEY_BEGINS = r"-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----"
_KEY_ENDS = r"-----END [A-Z ]{0,32}PRIVATE KEY-----"


def redact_line(text: str, secrets: Secrets) -> str:
    """One line without secrets: those that this process knows, named ones, and those with a known shape."""
    text = redact_shapes(secrets.redact_text(text))
    text = re.sub(_SCHEMES, rf"\1 {REDACTED}", text)  # before the next, which would take the scheme for it
    text = re.sub(_ASSIGNED, _hide_value, text)
    return re.sub(_KNOWN, REDACTED, text)


def _hide_value(found: re.Match[str]) -> str:
    return found[0] if re.fullmatch(_PLAIN_VALUE, found[2]) else found[1] + REDACTED


def strip_escapes(text: str) -> str:
    """Text that cannot steer a terminal: no escape sequences, no control or invisible characters."""
    if text.isprintable():
        return text
    return drop_invisible(re.sub(_ESCAPES, "", text)).replace("\n", " ")


def redact_argv(argv: Sequence[str], secrets: Secrets) -> tuple[str, ...]:
    """The words of a command for readers: redacted, one line each, and not too many of them."""
    shown: list[str] = []
    is_value = False
    for word in argv[:MOST_WORDS]:
        text = redact_line(strip_escapes(word), secrets)
        if is_value and not word.startswith("-"):
            text = REDACTED
        is_value = word.startswith("-") and "=" not in word and is_secret_name(word)
        shown.append(text if len(text) <= LONGEST_WORD else text[: LONGEST_WORD - 1] + "…")
    more = len(argv) - MOST_WORDS
    return (*shown, f"… {more} more") if more > 0 else tuple(shown)


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
        lines = []
        for part in ended:
            self._add(part)
            lines.append(self._end_line())
        self._add(rest)
        return lines

    def finish(self) -> list[str]:
        """The last line, if it has no end."""
        return [self._end_line()] if self._line or self._is_cut else []

    @property
    def digest(self) -> str:
        return "sha256:" + self._whole.hexdigest()

    @property
    def head(self) -> str:
        return self._head

    @property
    def tail(self) -> str:
        """What followed the head, its last part."""
        return _cut_front(self._tail, TAIL_BYTES)

    @property
    def last_lines(self) -> str:
        """The end of everything: the tail, or the head where there is no more."""
        return self.tail or self._head

    def _add(self, part: bytes) -> None:
        room = _LINE_BYTES - len(self._line)
        self._line += part[:room]
        self._is_cut = self._is_cut or len(part) > room

    def _end_line(self) -> str:
        text = strip_escapes(self._line.decode("utf-8", "replace").rstrip("\r"))
        text = self._redact(text)
        if self._is_cut:
            text = text[:-_LOST_AT_THE_CUT]
        if len(text) > LONGEST_LINE or self._is_cut:
            text = text[: LONGEST_LINE - 1] + "…"
        self._line, self._is_cut = b"", False
        self._keep(text + "\n")
        return text

    def _redact(self, text: str) -> str:
        """A private key spans lines: all of it goes."""
        if self._is_key:
            self._is_key = re.search(_KEY_ENDS, text) is None
            return REDACTED
        if re.search(_KEY_BEGINS, text):
            self._is_key = re.search(_KEY_ENDS, text) is None
            return REDACTED
        return redact_line(text, self._secrets)

    def _keep(self, line: str) -> None:
        if not self._is_head_full and len((self._head + line).encode()) <= HEAD_BYTES:
            self._head += line
            return
        self._is_head_full = True
        self._tail += line
        if len(self._tail) > 4 * TAIL_BYTES:
            self._tail = _cut_front(self._tail, TAIL_BYTES)


def _cut_front(text: str, most_bytes: int) -> str:
    """The last whole lines that fit; of one line that is longer, its end."""
    content = text.encode()
    if len(content) <= most_bytes:
        return text
    kept = content[-most_bytes:].decode(errors="ignore")
    _, end, rest = kept.partition("\n")
    return rest if end and rest else kept
