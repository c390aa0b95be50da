"""What a command line starts, where, and whose status its status is. Pure.

The one reader of commands: receipts, claims and hooks ask it. `cd X && CMD` is CMD in X, and a shell that is
given a script (`sh -c`) is that script. The status of a line with a pipe, `||`, `;`, `&`, `!` or a command
substitution belongs to no program in it: `pytest | tee log` ends with 0 whatever the tests do.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase as fnmatch
from itertools import pairwise
from typing import assert_never

import msgspec

from handrail.contract.wording import quote_for_shell
from handrail.engine.receipts import (
    ELSEWHERE,
    Counts,
    Exited,
    NotStarted,
    RunOutcome,
    Signalled,
    StatusUnknown,
    TimedOut,
    describe_outcome,
)

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
_GIVEN = re.compile(r"-[A-Za-z]*c")
"""The option of a shell with which it takes a script, alone or among others."""
_HIDING = frozenset({"|", "||", "|&", ";", ";;", "&", "\n", "$(", "<(", ">(", "`", "!"})
_EXPANDED = frozenset("$*?[]{}~\\!#")
"""What a shell reads in a word, so that its text is not the word that the program gets."""
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=")
_SETTING = frozenset({"cd", "export", "set", "source", ".", "true", "false", ":", "echo", "exit", "wait"})
"""Programs of a line that are never the one that counts."""


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """A command line as it is read."""

    words: tuple[str, ...]
    """Of the one program that it starts; the line itself as one word where there is no such thing."""
    line: str
    """Without what changes the directory."""
    directory: str = "."
    """Where it starts, seen from where the line does."""
    is_alone: bool = True
    """Its status is that of what it starts."""
    is_literal: bool = True
    """The words are those that the program gets: no shell has to read them."""


class _Token(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    start: int
    is_sign: bool = False
    is_literal: bool = True


def read_command(line: str) -> Command:
    """What a shell would do with the line."""
    line = line.strip()
    tokens = _read_tokens(line)
    if tokens is None:
        return Command(words=(line,), line=line, is_alone=False, is_literal=False)
    directory = "."
    while (entered := _find_entered(tokens)) is not None:
        directory = posixpath.normpath(posixpath.join(directory, entered))
        tokens = tokens[3:]
    rest = line[tokens[0].start :] if tokens else ""
    words = tuple(one.text for one in tokens if not one.is_sign)
    is_alone = not any(one.is_sign and one.text in _HIDING for one in tokens)
    is_literal = bool(words) and all(one.is_literal and not one.is_sign for one in tokens)
    if is_literal and name_env(words) != words:
        words, rest = name_env(words), f"env {rest}"
    if not is_literal or "=" in words[0]:
        is_given = any(_find_script(part) is not None for part in _split(tokens))
        return Command(
            words=(rest,),
            line=rest,
            directory=directory,
            is_alone=is_alone and not is_given,
            is_literal=False,
        )
    inner = _read_words(words, rest)
    return msgspec.structs.replace(
        inner, directory=posixpath.normpath(posixpath.join(directory, inner.directory))
    )


def name_env(words: tuple[str, ...]) -> tuple[str, ...]:
    """Variables in front of a program, which only a shell takes, in words that start a program."""
    is_set = bool(_ASSIGNED.match(words[0])) and not all(map(_ASSIGNED.match, words))
    return ("env", *words) if is_set else words


def read_words(argv: Sequence[str]) -> Command:
    """The same of words that were given to a program; one word is a line."""
    return read_command(argv[0]) if len(argv) == 1 else _read_words(tuple(argv), " ".join(argv))


def _read_words(words: tuple[str, ...], line: str) -> Command:
    at = _find_script(words)
    if at is None:
        return Command(words=words, line=line)
    script = read_command(words[at])
    if at + 1 < len(words) or not script.is_alone or _find_shell(words) > 0:
        return Command(words=words, line=line, is_alone=script.is_alone)
    return script if script.is_literal else Command(words=words, line=line, directory=script.directory)


def list_programs(line: str) -> list[tuple[str, ...]]:
    """The words of each program in a line, as far as they can be read."""
    tokens = _read_tokens(line.strip()) or []
    found: list[tuple[str, ...]] = []
    for words in _split(tokens):
        at = _find_script(words)
        found += [words] if at is None else list_programs(words[at])
    return found


_DRESSED = re.compile(
    r"(?P<tick>`{0,3})\s*(?:\$\s+)?(?P<line>[^`]*?)"
    r"(?:\s+2>&1)?(?:\s+\(exit(?: status| code)? -?\d+\))?\s*(?P=tick)"
)


def undress_line(text: str) -> str:
    """The command line of a text, without what people put around one when they write it down."""
    found = _DRESSED.fullmatch(text.strip())
    return text.strip() if found is None or not found["line"] else found["line"].strip()


def find_counting(line: str) -> tuple[str, ...]:
    """The first program of a line that does more than prepare another; empty: none is found."""
    return next((words for words in list_programs(line) if words[0] not in _SETTING), ())


def reaches(argv: Sequence[str], directory: str, path: str) -> bool:
    """Whether a runner may come to a test: it is below where it begins, as far as it is known."""
    return any(one == "." or f"{path}/".startswith(f"{one}/") for one in list_starts(argv, directory))


def list_starts(argv: Sequence[str], directory: str) -> list[str]:
    """The folders and files at which a command begins to look for tests; `.`: in the whole project.

    Of a name that unittest is given, every one that it may mean: a part of it may be a class.
    """
    return _list_places(argv, directory, [place for one in _list_given(argv) for place in _spell_name(one)])


def list_selected(argv: Sequence[str], directory: str) -> list[str]:
    """The same down to the class and the function that it names, as folders of their file."""
    return _list_places(argv, directory, [_place_name(one) for one in _list_given(argv)])


def list_loaded(argv: Sequence[str], directory: str) -> list[str]:
    """The files that a command tells its runner to load."""
    files = [_place_name(one).partition(".py/")[0].removesuffix(".py") for one in _list_given(argv)]
    named = [one + end for one in files for end in (".py", "/__init__.py")]
    return [one for one in _list_places(argv, directory, named) if one != "."]


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    """A word that says where a runner looks for tests, or which."""

    word: str
    is_name: bool = False
    """Of a module, and what is in it, as unittest takes it."""


_TOP = re.compile(r"-[stpk]|--(?:start-directory|top-level-directory|pattern|durations)")
"""Options of unittest whose value is the next word."""


def _list_given(argv: Sequence[str]) -> list[_Given]:
    words = read_words(argv).words
    names = [posixpath.basename(word) for word in words]
    if "unittest" in names:
        own = list(pairwise(words[names.index("unittest") :]))
        plain = [word for option, word in own if not word.startswith("-") and not _TOP.fullmatch(option)]
        if plain[:1] != ["discover"]:
            return [_Given(word=word, is_name=True) for word in plain]
        starts = [word for option, word in own if option in ("-s", "--start-directory")]
        starts += [word.partition("=")[2] for word in words if word.startswith("--start-directory=")]
        return [_Given(word=word) for word in starts or plain[1:2]]
    if "pytest" in names:
        pairs = pairwise(words[names.index("pytest") :])
        return [
            _Given(word=one) for by, one in pairs if not one.startswith("-") and not _takes_value(by, words)
        ]
    return []


def _list_places(argv: Sequence[str], directory: str, given: Sequence[str]) -> list[str]:
    place = posixpath.join(directory, read_words(argv).directory)
    found = [posixpath.normpath(posixpath.join(place, one)) for one in given or ["."]]
    is_known = directory != ELSEWHERE and not any(one.startswith(("/", "..")) for one in found)
    return found if is_known else ["."]


def _split_name(word: str) -> list[str]:
    return word.removeprefix("./").removesuffix(".py").replace("/", ".").split(".")


def _spell_name(given: _Given) -> list[str]:
    """Every file and folder that a word may mean."""
    if not given.is_name:
        return [given.word.partition("::")[0]]
    parts = _split_name(given.word)
    inner = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    return [one + end for one in inner for end in (".py", "/__init__.py")] + inner[-1:]


def _place_name(given: _Given) -> str:
    """The file that a word means, and what of it: by convention, a class has a capital and a module none."""
    if not given.is_name:
        return given.word.replace("::", "/").replace("[", "/[")
    parts = _split_name(given.word)
    count = next((at for at, one in enumerate(parts) if at and one[:1].isupper()), len(parts))
    return "/".join(["/".join(parts[:count]) + ".py", *parts[count:]])


_SELECTING = re.compile(
    r"(?P<long>-[km]|--(?:deselect|ignore|ignore-glob))(?:=(?P<value>.*))?|(?P<short>-[km])(?P<rest>[^=].*)"
)
_ONLY_SOME = frozenset({"--lf", "--last-failed", "--sw", "--stepwise", "--nf"})


def _list_selecting(argv: Sequence[str]) -> set[str]:
    """What else leaves out tests that stand where a command looks."""
    words = read_words(argv).words
    names = [posixpath.basename(word) for word in words]
    at = next((names.index(one) for one in ("unittest", "pytest", "py.test") if one in names), 0)
    found = {word for word in words[at:] if word in _ONLY_SOME}
    for word, following in pairwise((*words[at:], "")):
        if one := _SELECTING.fullmatch(word):
            is_apart = one["long"] and one["value"] is None
            value = following if is_apart else one["value"] or one["rest"]
            found.add(f"{one['long'] or one['short']} {value}")
    return found


def selects_all(later: Sequence[str], at: str, argv: Sequence[str], directory: str) -> bool:
    """Whether the tests of a later command are those of another one and more, as far as words say it."""
    own, known = list_selected(later, at), list_selected(argv, directory)
    is_named = {*own}.isdisjoint({"."}) and any(".py" in one for one in own)
    if (own != known and known == ["."] and is_named) or _list_selecting(later) - _list_selecting(argv):
        return False
    if {one for one in _list_selecting(argv) if one.startswith("-k")} and _list_selecting(later):
        return _list_selecting(later) == _list_selecting(argv) and own == known
    named = [one for one in known if one != "."]
    is_below = all(any(_is_at(one, start) for start in own) for one in named)
    return is_below and _matches_all(later, argv, named)


def _is_at(path: str, start: str) -> bool:
    return start == "." or f"{path}/".startswith(f"{start}/")


def _matches_all(later: Sequence[str], argv: Sequence[str], named: Sequence[str]) -> bool:
    """Whether the patterns of a command that looks through folders match what another one looks at."""
    if "discover" not in read_words(later).words:
        return True
    files = [posixpath.basename(one.partition(".py/")[0].removesuffix(".py")) + ".py" for one in named]
    is_folder = "discover" in read_words(argv).words or not any(".py" in one for one in named)
    sought = list_patterns(argv) if is_folder else files
    return all(any(fnmatch(one, pattern) for pattern in list_patterns(later)) for one in sought)


def _takes_value(word: str, words: Sequence[str]) -> bool:
    """Whether the next word may be the value of an option."""
    return word.startswith("-") and "=" not in word and not _is_telling(word, words)


def list_patterns(argv: Sequence[str]) -> list[str]:
    """By which names of files a command finds its tests, where its words say so, or its runner by itself."""
    words = read_words(argv).words
    given = [word for option, word in pairwise(words) if option in ("-p", "--pattern")]
    given += [word.rpartition("=")[2] for word in words if not {*"*?["}.isdisjoint(word)]
    is_unittest = "unittest" in map(posixpath.basename, words)
    return given or (["test*.py"] if is_unittest else [])


def distinguishes(argv: Sequence[str], one: str, other: str) -> bool:
    """Whether a command may select a file by the one name and not by the other."""
    words = [part for word in read_words(argv).words for part in re.findall(r"[\w.*?\[\]-]+", word)]
    names = [posixpath.basename(path) for path in (one, other)]
    return any(
        (word in names[0]) != (word in names[1]) or fnmatch(names[0], word) != fnmatch(names[1], word)
        for word in words
    )


_TELLING = re.compile(r"-v+|-q+|--(?:verbose|quiet)")
_TELLING_OF = {
    **dict.fromkeys(("pytest", "py.test"), re.compile(r"-[xl]|--(?:exitfirst|no-header|tb=.*)")),
    "unittest": re.compile(r"-[fb]|--(?:failfast|buffer)"),
}
"""Words with which runners say how much they tell, and where they stop."""
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")


def read_core(argv: Sequence[str]) -> tuple[str, ...]:
    """The words of a runner that say what it tests, not how much it tells or where it stops."""
    program, *rest = read_words(argv).words or ("",)
    name, own = posixpath.basename(program), [word.removeprefix("./").rstrip("/") for word in rest]
    if _PYTHON.fullmatch(name):
        own = [word for word in own if word != "-B"]
        name, own = (own[1], own[2:]) if own[:1] == ["-m"] and own[1:] else (name, own)
    return name, *(word for word in own if not _is_telling(word, (name, *own)))


def _is_telling(word: str, words: Sequence[str]) -> bool:
    """Whether a word of a command changes only what its runner prints; of other programs nobody knows."""
    if not names_runner(words):
        return False
    own = (_TELLING_OF[one] for one in map(posixpath.basename, words) if one in _TELLING_OF)
    return any(one.fullmatch(word) for one in (_TELLING, *own))


def split_command(line: str) -> tuple[str, ...]:
    """The words of a command line, if a shell would start exactly one program with them; else the line."""
    line = line.strip()
    tokens = _read_tokens(line)
    is_one = bool(tokens) and all(one.is_literal and not one.is_sign for one in tokens or ())
    words = tuple(one.text for one in tokens or ())
    return words if is_one and "=" not in words[0] else (line,)


def _find_entered(tokens: Sequence[_Token]) -> str | None:
    """The directory of a `cd X &&` at the beginning."""
    if len(tokens) < 4 or tokens[0].text != "cd" or not (tokens[2].is_sign and tokens[2].text == "&&"):
        return None
    place = tokens[1]
    is_plain = place.is_literal and not place.is_sign and not place.text.startswith("-")
    return place.text if is_plain else None


def _find_shell(words: Sequence[str]) -> int:
    return next((at for at, word in enumerate(words) if posixpath.basename(word) in _SHELLS), -1)


def _find_script(words: Sequence[str]) -> int | None:
    """Where the script is that a shell among these words is given."""
    if words and words[0] == "eval":
        return 1 if len(words) > 1 else None
    at = _find_shell(words)
    options = range(at + 1, len(words)) if at >= 0 else ()
    for place in options:
        if not words[place].startswith("-"):
            return None
        if _GIVEN.fullmatch(words[place]):
            return place + 1 if place + 1 < len(words) else None
    return None


def _split(tokens: Sequence[_Token]) -> list[tuple[str, ...]]:
    """The words between the signs, without those that name a file to write to or to read."""
    parts: list[list[str]] = [[]]
    is_target = False
    for one in tokens:
        if one.is_sign and one.text[-1:] not in "<>":
            parts.append([])
        elif not one.is_sign and not is_target:
            parts[-1].append(one.text)
        is_target = one.is_sign and one.text[-1:] in "<>"
    return [tuple(part) for part in parts if part]


class _Reader:
    """Reads a line character by character, as a shell does; what it does not know it keeps as it is."""

    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._word: str | None = None
        self._start = 0
        self._is_literal = True
        self.tokens: list[_Token] = []

    def read(self) -> bool:
        """Whether every quotation ends."""
        while self._at < len(self._line):
            character = self._line[self._at]
            if character == "'" or character == '"':
                if not self._read_quoted(character):
                    return False
            elif character == "\\":
                following = self._line[self._at + 1 : self._at + 2]
                self._add(following, is_literal=following not in ("", "\n"))
                self._at += 2
            elif character == "#" and self._word is None:
                end = self._line.find("\n", self._at)
                self._at = len(self._line) if end < 0 else end
            elif character == "\n" or not character.isspace():
                self._read_plain(character)
            else:
                self._end()
                self._at += 1
        self._end()
        return True

    def _read_quoted(self, quote: str) -> bool:
        end = self._line.find(quote, self._at + 1)
        while quote == '"' and end > 0 and self._line[end - 1] == "\\":
            end = self._line.find(quote, end + 1)
        if end < 0:
            return False
        inner = self._line[self._at + 1 : end]
        is_read = quote == '"' and any(sign in inner for sign in "$`\\")
        self._add(inner, is_literal=not is_read)
        if is_read and ("`" in inner or "$(" in inner):
            self._mark("$(")
        self._at = end + 1
        return True

    def _read_plain(self, character: str) -> None:
        pair = self._line[self._at : self._at + 2]
        if pair in ("$(", "<(", ">("):
            self._sign(pair)
        elif character == "`":
            self._sign(character)
        elif character in "<>" or pair == "&>":
            self._read_redirection()
        elif pair in ("&&", "||", "|&", ";;"):
            self._sign(pair)
        elif character in "|&;\n()" or (character == "!" and self._word is None and not pair[1:].strip()):
            self._sign(character)
        else:
            self._add(character, is_literal=character not in _EXPANDED)
            self._at += 1

    def _read_redirection(self) -> None:
        """As `>`, `2>`, `&>`, `>>`, `>&1`: the number before it is no word."""
        if self._word is not None and self._word.isdigit():
            self._word = None
        self._end()
        start = self._at
        while self._at < len(self._line) and self._line[self._at] in "<>&|":
            self._at += 1
        self.tokens.append(_Token(text=">", start=start, is_sign=True))

    def _sign(self, text: str) -> None:
        self._end()
        self.tokens.append(_Token(text=text, start=self._at, is_sign=True))
        self._at += len(text)

    def _mark(self, text: str) -> None:
        """A command substitution in a word: nothing is known of what it prints."""
        self.tokens.append(_Token(text=text, start=self._at, is_sign=True))

    def _add(self, text: str, *, is_literal: bool) -> None:
        if self._word is None:
            self._word, self._start, self._is_literal = "", self._at, True
        self._word += text
        self._is_literal = self._is_literal and is_literal

    def _end(self) -> None:
        if self._word is not None:
            self.tokens.append(_Token(text=self._word, start=self._start, is_literal=self._is_literal))
        self._word = None


def _read_tokens(line: str) -> list[_Token] | None:
    """None where a quotation does not end."""
    reader = _Reader(line)
    return reader.tokens if reader.read() else None


# Whether what it started ran anything

_RUNNERS = frozenset({"pytest", "py.test", "unittest", "jest", "vitest", "mocha", "cargo", "go"})
_TESTING = {"node": "--test", "deno": "test", "bun": "test"}
"""Interpreters that are a runner where they are given this word."""
WRAPPERS = frozenset(
    {"env", "uv", "run", "poetry", "pdm", "hatch", "pipenv", "npx", "pnpm", "yarn", "exec", "coverage"}
    | {"timeout", "nice", "time", "nohup", "stdbuf", "setsid", "sudo", "command"}
)
"""Programs and their words that start the runner which is named after them."""
_NO_TEST = "no test was found, or all were deselected"
_OF_PYTEST = {4: "a file, test or option that the call names does not exist", 5: _NO_TEST}
_RAN_NONE = {"pytest": _OF_PYTEST, "py.test": _OF_PYTEST, "unittest": {5: _NO_TEST}}
"""The statuses with which a runner says that it ran no test, and why."""
_ONLY_TELLING = frozenset(
    {"--collect-only", "--co", "--setup-plan", "--listTests", "--list-tests", "--no-run"}
    | {"--help", "--version"}
)
"""Words with which a runner runs no test."""
NOT_STARTED_BY_SHELL = (126, 127)


def names_runner(words: Sequence[str]) -> bool:
    """Whether a program among these words is known to run tests."""
    names = [posixpath.basename(word) for word in words]
    return any(one in _RUNNERS or _TESTING.get(one) in names for one in names)


def prints_sum(argv: Sequence[str]) -> bool:
    """Whether a command is a runner that says how many tests it ran, unless it is told not to."""
    return not _RAN_NONE.keys().isdisjoint(map(posixpath.basename, read_words(argv).words))


def find_program(argv: Sequence[str]) -> str:
    """The name of the program that does the work: what others start, as far as the words say it."""
    names = [posixpath.basename(word) for word in read_words(argv).words]
    own = (one for one in names if not one.startswith("-") and "=" not in one and one not in WRAPPERS)
    return next((one for one in own if not _PYTHON.fullmatch(one) and _TESTING.get(one, one) in names), "")


def explain_not_run(argv: Sequence[str], outcome: RunOutcome, counts: Counts | None) -> str:
    """Why nothing ran, so that it has neither passed nor failed; empty: something did, as far as is known."""
    words = read_words(argv).words
    runners = [name for name in map(posixpath.basename, words) if name in _RUNNERS]
    match outcome:
        case NotStarted():
            return describe_outcome(outcome)
        case Exited(status=status) if status in NOT_STARTED_BY_SHELL:
            return f"a shell found no such program, or could not start it (exit {status})"
        case Exited(status=status) if any(why := _RAN_NONE.get(name, {}).get(status, "") for name in runners):
            return f"{why} (exit {status})"
        case Exited() if runners and not _ONLY_TELLING.isdisjoint(words):
            return "it was asked to tell, not to run"
        case Exited() if counts is not None and not counts.passed + counts.failed + counts.errors:
            beside = counts.skipped + (counts.xfailed or 0)
            return f"all {beside} tests were skipped" if beside else "its report counts no test"
        case Exited() | Signalled() | TimedOut() | StatusUnknown():
            return ""
        case never:
            assert_never(never)


_TESTS_FAILED = 1
"""The status with which pytest says that tests failed; others are errors of its own, or of its call."""


def has_tests_failed(argv: Sequence[str], outcome: RunOutcome, counts: Counts | None) -> bool:
    """Whether it is a test that failed: no syntax error, missing file or wrong call, as far as is known."""
    if not isinstance(outcome, Exited) or outcome.status == 0 or explain_not_run(argv, outcome, counts):
        return False
    if counts is not None:
        return counts.failed > 0
    programs = map(posixpath.basename, read_words(argv).words)
    return {"pytest", "py.test"}.isdisjoint(programs) or outcome.status == _TESTS_FAILED


def is_status_own(argv: Sequence[str], check: str = "") -> bool:
    """Whether the status is that of the program that counts: of one program, or of what the project declares.

    A line that was cut to be shown was read whole when it was recorded.
    """
    is_cut = len(argv) == 1 and argv[0].endswith("…")
    return bool(check) or is_cut or read_words(argv).is_alone


# What would show something: made and printed here, and read again from the log, which keeps the line

OWN_CHECK = ("handrail", "check", "run")


class Suggested(msgspec.Struct, frozen=True, kw_only=True):
    """A declared check, or a program and where it starts, whose run would show something."""

    check: str = ""
    program: str = ""
    directory: str = ""
    """Empty: the project's own."""
    flags: str = ""

    @property
    def name(self) -> str:
        """As people know it; empty: there is nothing to run."""
        return self.check or self.program

    @property
    def line(self) -> str:
        """The line that brings the receipt, fit to be pasted into a shell."""
        where = f"--directory {quote_for_shell(self.directory)}" if self.directory else ""
        program = f"-- {self.program}" if self.program else ""
        return " ".join(filter(None, (*OWN_CHECK, self.check, self.flags, where, program)))


NOTHING = Suggested()


def read_suggested(line: str) -> Suggested:
    """What a line of Handrail itself runs."""
    before, _, program = line.partition(" -- ")
    words = list(split_command(before)[len(OWN_CHECK) :])
    at = words.index("--directory") if "--directory" in words[:-1] else len(words)
    directory = "".join(words[at + 1 : at + 2])
    del words[at : at + 2]
    check = words.pop(0) if words and not words[0].startswith("-") else ""
    flags = " ".join(map(quote_for_shell, words))
    return Suggested(check=check, program=program, directory=directory, flags=flags)
