"""The words that a program is started with, without secrets: safe to keep and safe to show. Pure.

Besides what every line is searched for, words are known by the options of well-known programs: a login with
`-u` of curl, a password joined to `-p` of mysql, the value after `--token`. Which command it was is told by a
digest of the words as they were, so what is hidden here changes no match.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from handrail.contract.printed_text import redact_line, strip_escapes
from handrail.contract.redaction import REDACTED, Secrets, is_secret_name

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
"""Options whose value is a login: what follows the colon in it is a password."""
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
"""Options with the password in the next word; of docker only where it logs in."""
_CONTAINERS = frozenset({"docker", "podman"})
_JOINED_ANYWHERE = re.compile(r"-p(?=\w*[A-Za-z])(?=\w*\d)\w{8,}")
"""Letters and digits joined to `-p`: no port, no path and no word."""
_HEADER = re.compile(
    r"(?i)((?:proxy-)?authorization|(?:set-)?cookie|[\w-]*(?:api-?key|token|secret|password)[\w-]*)(\s*:\s*)(\S.*)"
)
_ASSIGNMENT = re.compile(r"(--?[A-Za-z][\w.-]*|[A-Za-z_]\w*)=(.+)", re.DOTALL)
_PASSWORD_NAME = re.compile(r"(?i)passw|passphrase|secret|(?<!old)(?<!^)pwd$|pass$")
"""Names whose value is never a plain number or word."""
_PLAIN = re.compile(r"(?i)[\d.,_%]+|true|false|null|none")
_FIRST_WORDS = 2


def redact_argv(argv: Sequence[str], secrets: Secrets) -> tuple[str, ...]:
    """The words of a command for readers: redacted, one line each, and not too many of them."""
    words = _hide_in_words([strip_escapes(word) for word in argv[:MOST_WORDS]], secrets)
    shown = [word if len(word) <= LONGEST_WORD else word[: LONGEST_WORD - 1] + "…" for word in words]
    more = len(argv) - MOST_WORDS
    return (*shown, f"… {more} more") if more > 0 else tuple(shown)


def redact_command_line(line: str, secrets: Secrets) -> str:
    """The same for a line as a shell gets it; what stands between the words stays."""
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
    """The words of one command."""
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
    """The name of the program, and where it stands; assignments and wrappers come before it."""
    for at, word in enumerate(words):
        name = word.strip("'\"").rpartition("/")[2]
        if name in _WRAPPERS or word.startswith("-") or _ASSIGNMENT.fullmatch(word):
            continue
        return name, at
    return "", len(words)


def _hide_value_of(word: str, option: str, program: str, beginning: list[str]) -> str | None:
    """The value after an option; None where the option asks for no secret."""
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
    """A word that tells by itself what it is."""
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
    """A user alone stays, and so do two numbers."""
    user, colon, password = word.partition(":")
    is_secret = colon and password and not password.startswith("//") and not (user + password).isdigit()
    return f"{user}:{REDACTED}" if is_secret else word


def _is_plain(name: str, value: str) -> bool:
    """A number after a name such as `--max-tokens` is none; after a password it is one."""
    return _PASSWORD_NAME.search(name) is None and _PLAIN.fullmatch(value) is not None
