"""Make another program's output and command line safe to store and to show. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

from handrail.contract.fence import break_marks, drop_invisible
from handrail.contract.redaction import (
    MINTED_BEGINNINGS,
    REDACTED,
    Secrets,
    cut_minted_tokens,
    is_secret_name,
    redact_credentials,
)
from handrail.contract.wording import spell_argv

HEAD_BYTES = 2_048
TAIL_BYTES = 4_096
LONGEST_LINE = 2_000
"""Characters of a line that are shown and kept."""

_LINE_BYTES = 16_384
"""Bytes of a line that are read; more are counted and dropped."""
_LOST_AT_THE_CUT = 512
"""Overlap for a secret that may be cut in two at that limit."""

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
"""Names of secrets, each by a part that all its spellings share."""
_VALUE = r"(?:\"[^\"]{4,}\"|'[^']{4,}'|[^\s\"',;)}\]]{4,})"
_ASSIGNS = r"[\"']?(?:\s{0,4}=\s{0,4}|:\s{1,4}|:(?=[\"']))"
_ASSIGNED = re.compile(  # the text before a name stays
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
"""Secrets of known services, each by a part that it always contains, in lower case."""
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
    # Before the next pattern, which would take the scheme for the secret.
    (("bearer", "basic", "token"), lambda text: _SCHEMES.sub(rf"\1 {REDACTED}", text)),
    (tuple(_NAMES), lambda text: _ASSIGNED.sub(_hide_value, text)),
    (tuple(_KNOWN_SHAPES), lambda text: _KNOWN.sub(REDACTED, text)),
)
"""Functions that remove secrets, each with parts of which every secret of its kind has one, in
lower case.

Searching for a part costs a hundredth of searching for the pattern, and few lines have one.
"""
_LIKE_ASCII = str.maketrans("\u0130\u0131\u017f\u212a", "iisk")
"""Letters outside ASCII that a case-insensitive pattern takes for ASCII ones."""


def redact_line(text: str, secrets: Secrets) -> str:
    """Return one line without secrets: known to this process, named ones, and those with a known shape."""
    return redact_lines([text], secrets)[0]


def redact_lines(lines: list[str], secrets: Secrets) -> list[str]:
    """Return lines without secrets. A part that the joined text lacks is in no line, so few patterns run
    per line.
    """
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
    """Return text that cannot steer a terminal: no escape sequences, no control or invisible characters."""
    if text.isprintable():
        return text
    return drop_invisible(re.sub(_ESCAPES, "", text)).replace("\n", " ")


def spell_whole(text: str) -> str:
    """Return a text for approval: invisible characters are spelled out, and many blanks are counted."""
    seen = (one if one.isprintable() else one.encode("unicode_escape").decode() for one in text)
    return break_marks(re.sub(r" {9,}", lambda run: f" ({len(run[0])} blanks) ", "".join(seen)))


class PrintedText:
    """Everything that a program prints, as it arrives: a digest of all, its first and its last part."""

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
        """Return the lines that are complete now, ready to be shown."""
        self._whole.update(chunk)
        self.size += len(chunk)
        *ended, rest = re.split(rb"\r\n|\n|\r(?!\Z)", chunk)
        lines = self._end_lines(ended) if ended else []
        self._add(rest)
        return lines

    def finish(self) -> list[str]:
        """Return the last line, if it has no end."""
        return self._end_lines([b""]) if self._line or self._is_cut else []

    @property
    def digest(self) -> str:
        return "sha256:" + self._whole.hexdigest()

    @property
    def head(self) -> str:
        return self._head

    @property
    def tail(self) -> str:
        """Return the last part of what followed the head."""
        return _cut_front(self._tail)

    def _add(self, part: bytes) -> None:
        room = _LINE_BYTES - len(self._line)
        self._line += part[:room]
        self._is_cut = self._is_cut or len(part) > room

    def _end_lines(self, parts: Sequence[bytes]) -> list[str]:
        """Return lines that ended, redacted; the first part completes the pending line."""
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
        """Redact lines; a private key spans several, and all of them are removed."""
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
    """Return the last whole lines that fit into the tail; if a single line is longer, its end."""
    content = text.encode()
    if len(content) <= TAIL_BYTES:
        return text
    kept = content[-TAIL_BYTES:].decode(errors="ignore")
    _, end, rest = kept.partition("\n")
    return rest if end and rest else kept


# The words of a program's command line

MOST_WORDS = 40
LONGEST_WORD = 200

_TOKENS = re.compile(r"""\s+|[;|&()]+|(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s;|&()'"\\])+|.""", re.DOTALL)
_WRAPPERS = frozenset({"sudo", "env", "time", "nice", "nohup", "exec", "command", "xargs", "doas", "stdbuf"})
_LOGINS = {
    "curl": ("-u", "--user", "-U", "--proxy-user"),
    "http": ("-a", "--auth"),
    "https": ("-a", "--auth"),
    "xh": ("-a", "--auth"),
}
"""Options whose value is a login: the text after its colon is a password."""
_MYSQL = ("mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlshow", "mariadb", "mariadb-dump", "mycli")
_JOINED = {
    **dict.fromkeys(_MYSQL, "-p"),
    "sshpass": "-p",
    "7z": "-p",
    "7za": "-p",
    "zip": "-P",
    "redis-cli": "-a",
}
"""Options with the password in the same word."""
_FOLLOWED = {
    "sshpass": ("-p",),
    "redis-cli": ("-a",),
    "docker": ("-p",),
    "podman": ("-p",),
    "sqlcmd": ("-P",),
    "ldapsearch": ("-w",),
    "ldapmodify": ("-w",),
    "mongosh": ("-p",),
    "mongo": ("-p",),
    "openssl": ("-passin", "-passout", "-pass"),
    "zip": ("-P",),
}
"""Options with the password in the next word; for docker only in `login`."""
_CONTAINERS = frozenset({"docker", "podman"})
_JOINED_ANYWHERE = re.compile(r"-p(?=\w*[A-Za-z])(?=\w*\d)\w{8,}")
"""Letters and digits joined to `-p`: no port, no path and no word."""
_HEADER = re.compile(
    r"(?i)((?:proxy-)?authorization|(?:set-)?cookie|[\w-]*(?:api-?key|token|secret|password)[\w-]*)(\s*:\s*)(\S.*)"
)
_ASSIGNMENT = re.compile(r"(--?[A-Za-z][\w.-]*|[A-Za-z_]\w*)=(.+)", re.DOTALL)
_PASSWORD_NAME = re.compile(r"(?i)passw|passphrase|secret|(?<!old)(?<!^)pwd$|pass$")
"""Names whose value is always secret, even a plain number or word."""
_PLAIN = re.compile(r"(?i)[\d.,_%]+|true|false|null|none")
_FIRST_WORDS = 2


def redact_whole_argv(argv: Sequence[str], secrets: Secrets) -> tuple[str, ...]:
    """Return the words of a command for a person who approves it: redacted, and otherwise complete."""
    return tuple(_hide_in_words(list(map(spell_whole, argv)), secrets))


def redact_argv(argv: Sequence[str], secrets: Secrets) -> tuple[str, ...]:
    """Return the words of a command for readers: redacted, one line each, and limited in number."""
    words = _hide_in_words([strip_escapes(word) for word in argv[:MOST_WORDS]], secrets)
    shown = [word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…" for word in words]
    more = len(argv) - MOST_WORDS
    return (*shown, f"… {more} more") if more > 0 else tuple(shown)


def redact_command_line(line: str, secrets: Secrets) -> str:
    """Return a redacted shell line; the text between the words stays."""
    tokens: list[str] = _TOKENS.findall(line)
    done: list[str] = []
    words: list[int] = []
    for at, token in enumerate([*tokens, ";"]):
        if at < len(tokens):
            done.append(token)
        if token[0] in ";|&()":
            bare = _hide_in_words([tokens[one] for one in words], secrets)
            for one, word in zip(words, bare, strict=True):
                done[one] = word
            words = []
        elif not token.isspace():
            words.append(at)
    return redact_line("".join(done), secrets)


def _hide_in_words(words: list[str], secrets: Secrets) -> list[str]:
    """Return the words of one command without secrets."""
    program, first = _find_program(words)
    shown: list[str] = []
    before = ""
    for at, written in enumerate(words):
        quote = written[0] if len(written) > 1 and written[0] in "'\"" and written[-1] == written[0] else ""
        word = written[1:-1] if quote else written
        hidden = _hide_value_of(word, before, program, words[first : first + _FIRST_WORDS])
        if hidden is None:
            hidden = _hide_in_word(word, program if at > first else "", secrets)
        shown.append(quote + hidden + quote)
        before = word
    return shown


def _find_program(words: list[str]) -> tuple[str, int]:
    """Return the name of the program and its position, after assignments and wrappers."""
    for at, word in enumerate(words):
        name = word.strip("'\"").rpartition("/")[2]
        if name in _WRAPPERS or word.startswith("-") or _ASSIGNMENT.fullmatch(word):
            continue
        return name, at
    return "", len(words)


def _hide_value_of(word: str, option: str, program: str, beginning: list[str]) -> str | None:
    """Return the redacted value after an option; None if the option takes no secret."""
    if not option.startswith("-") or "=" in option or not word:
        return None
    if option in _LOGINS.get(program, ()):
        return _hide_login(word)
    if option in _FOLLOWED.get(program, ()):
        is_login = program not in _CONTAINERS or beginning[1:] == ["login"]
        return REDACTED if is_login and not word.startswith("-") else None
    if is_secret_name(option) and not word.startswith("-"):
        return word if _is_plain(option, word) else REDACTED
    return None


def _hide_in_word(word: str, program: str, secrets: Secrets) -> str:
    """Return a word without the secret that its own form reveals."""
    joined = _JOINED.get(program, "")
    if joined and word.startswith(joined) and len(word) > len(joined) and not word.startswith("--"):
        return joined + REDACTED
    if _JOINED_ANYWHERE.fullmatch(word):
        return "-p" + REDACTED
    if program in _LOGINS and re.match(r"-[uUa][^-\s]", word):
        return word[:2] + _hide_login(word[2:])
    header = _HEADER.fullmatch(word)
    if header is not None and not word.startswith("-"):
        return f"{header[1]}{header[2]}{REDACTED}"
    assigned = _ASSIGNMENT.fullmatch(word)
    if assigned is not None:
        name, value = assigned[1], assigned[2]
        if name in _LOGINS.get(program, ()):
            return f"{name}={_hide_login(value)}"
        if (is_secret_name(name) or _PASSWORD_NAME.search(name)) and not _is_plain(name, value):
            return f"{name}={REDACTED}"
    first = _TOKENS.match(word)
    if first is not None and first[0] != word and " " in word:  # a line for another shell
        return redact_command_line(word, secrets)
    return redact_line(word, secrets)


def _hide_login(word: str) -> str:
    """Return a login without its password; a user alone stays, and so do two numbers."""
    user, colon, password = word.partition(":")
    is_secret = colon and password and not password.startswith("//") and not (user + password).isdigit()
    return f"{user}:{REDACTED}" if is_secret else word


def _is_plain(name: str, value: str) -> bool:
    """Whether a plain number needs no hiding: after `--max-tokens` it does not, after a password
    name it does.
    """
    return _PASSWORD_NAME.search(name) is None and _PLAIN.fullmatch(value) is not None


def show_line(
    secrets: Secrets, argv: Sequence[str], environment: Sequence[tuple[str, str]], folder: str = "."
) -> str:
    """Return a whole command as a shell takes it, with its variables and its folder, and without secrets."""
    words = redact_whole_argv([*(f"{name}={value}" for name, value in environment), *argv], secrets)
    line = spell_argv(words[len(environment) :], words[: len(environment)])
    return line if folder == "." else f"{line} (in {folder})"
