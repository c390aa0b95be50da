"""Which place of the project a text of a report means. Pure.

Nothing here refuses: a text that is not clearly a place is asked for as it is, and whoever looks says what
it could be. Only a member that holds nothing but a quotation is compared: a sentence is the agent's word.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import dropwhile, pairwise, takewhile
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.wording import make_readable, spell_argv
from handrail.engine.command_lines import (
    WRAPPERS,
    distinguishes,
    find_program,
    list_loaded,
    list_patterns,
    list_programs,
    list_starts,
    read_words,
)
from handrail.engine.judge.witnessed import AskedPlace, SeenPlace, Sighting
from handrail.workflows.evidence import PathExists, PlaceExists

_PLACE = re.compile(
    r"(?P<path>.+?)(?:(?::L?|#L|,?\s+lines?\s+|\()(?P<line>[1-9]\d{0,8})"
    r"(?:\s*[-–]\s*L?(?P<end>\d{1,9}))?(?:[:,]\d{1,9}(?:-\d{1,9})?)?\)?)?"
)
_WRAPPED = re.compile(r"([\"'`])(?P<text>[^\"'`]+)\1")


def read_place(rule: PathExists | PlaceExists, text: str, around: dict[str, Any]) -> AskedPlace:
    """The place that a text means, with the line and the quotation that stand beside it."""
    if isinstance(rule, PathExists):
        return AskedPlace(path=text.strip().removeprefix("./"))
    bare = text.strip()
    wrapped = _WRAPPED.fullmatch(bare)
    path, line, end = (wrapped["text"] if wrapped else bare).removeprefix("./"), 0, 0
    found = _PLACE.fullmatch(path)
    if found is not None and found["line"]:
        path, line = found["path"], int(found["line"])
        end = int(found["end"] or 0) if int(found["end"] or 0) > line else 0
    written = bare if path != bare.removeprefix("./") else ""
    beside = around.get(rule.line) if rule.line else None
    if isinstance(beside, int) and not isinstance(beside, bool):
        line, end = beside, 0
    quoted = around.get(rule.quote) if rule.quote else None
    return AskedPlace(
        path=path, line=line, end=end, written=written, quote=quoted if isinstance(quoted, str) else ""
    )


def describe_place(seen: SeenPlace) -> str:
    """Why a place does not hold; empty: it does, or nobody can say."""
    path = make_readable(seen.path)
    match seen.state:
        case "missing":
            return f"{path} is not in the project"
        case "outside":
            return f"{path} is not inside the project"
        case "line_missing":
            return f"{path} has no line {seen.line}"
        case "quote_missing":
            place = f"{path} at line {seen.line}" if seen.line else path
            how = "quote its lines whole, with … for what is left out"
            return f"the quoted text does not stand in {place}; {how}"
        case "here" | "unreadable":
            return ""
        case never:
            assert_never(never)


# What a file is to a test runner, by the conventions of its place and name

DECLARATIONS = ".handrail/config.json"
"""Where a project declares its checks."""
_TEST_FOLDERS = frozenset(
    {"test", "tests", "__tests__", "spec", "specs", "testdata"}
    | {"fixtures", "golden", "goldens", "__snapshots__"}
)


_NAMED = re.compile(r"(?:test[_-].*|.*[_-](?:tests?|spec)|tests?)\..*|.*\.(?:test|spec)\..*")
_NAMED_BY_CASE = re.compile(
    r"(?:Test[A-Z].*|.*[a-z0-9](?:Tests?|TestCase|Spec))\.(?:java|kt|groovy|scala|php|swift)"
)
"""Names by which runners find tests when nobody says more: pytest, Django, Node, Jest, Go, JUnit."""


def is_test_file(path: str) -> bool:
    """Whether a file is a test by the conventions of its place and name."""
    *folders, name = path.split("/")
    is_inside = not _TEST_FOLDERS.isdisjoint((*folders, name))  # a repository of tests is named by its folder
    stem = name.partition(".")[0]
    return is_named_as_test(path) or stem == "conftest" or (is_inside and stem != "README")


def is_named_as_test(path: str) -> bool:
    """Whether runners find it by its name, in whichever folder."""
    name = posixpath.basename(path)
    return bool(_NAMED.fullmatch(name) or _NAMED_BY_CASE.fullmatch(name))


def is_test_of(argv: Sequence[str], path: str, directory: str = ".") -> bool:
    """The same for a command, which may say itself by which names it finds tests, or which files it loads."""
    name = posixpath.basename(path)
    is_named = path in list_loaded(argv, directory) or any(
        fnmatchcase(name, one) for one in list_patterns(argv)
    )
    return is_named or is_test_file(path)


def is_found_as_before(old: str, new: str, packages: Collection[str]) -> bool:
    """Whether runners find a test in its new place: in its folder, or in a package of Python below it."""
    (at, name), (folder, now) = posixpath.split(old), posixpath.split(new)
    (stem, _, rest), (now_stem, _, now_rest) = name.partition("."), now.partition(".")
    is_alike = rest == now_rest and all(
        stem.startswith(one) == now_stem.startswith(one) and stem.endswith(two) == now_stem.endswith(two)
        for one, two in (("test_", "_test"), ("test-", "-test"), ("test", "_spec"))
    )
    below = folder.removeprefix(f"{at}/").split("/") if folder.startswith(f"{at}/") else []
    inner = [posixpath.join(at, *below[: count + 1]) for count in range(len(below))]
    is_below = bool(below) and name == now and name.endswith(".py") and {*inner} <= {*packages}
    is_skipped = not _NEVER_ENTERED.isdisjoint(below) or not all(map(str.isidentifier, below))
    return is_alike and (folder == at or (is_below and not is_skipped))


_NEVER_ENTERED = frozenset({"build", "dist", "node_modules", "venv"})
_READ = {
    **dict.fromkeys(("conftest.py", "tox.ini", "setup.cfg", "pyproject.toml", "entry_points.txt"), "python"),
    **dict.fromkeys(("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"), "python"),
    **dict.fromkeys(("package.json", ".npmrc", ".yarnrc", ".yarnrc.yml"), "node"),
    **dict.fromkeys(("Makefile", "makefile", "GNUmakefile", "justfile"), "make"),
    **dict.fromkeys(("phpunit.xml", "phpunit.xml.dist"), "php"),
    "noxfile.py": "python",
    "Cargo.toml": "rust",
    ".rspec": "ruby",
}
"""Configuration, each with the language whose runners read it."""
_IMPORTED = frozenset({"pytest.py", "unittest.py", "sitecustomize.py", "usercustomize.py"})
_CONFIGURED = (
    *("jest.config.", "vitest.config.", "vitest.workspace.", "vite.config.", "babel.config.", ".babelrc"),
    *(".mocharc.", "playwright.config.", "karma.conf.", "ava.config."),
)
_SHADOWING = frozenset({"pytest", "_pytest", "unittest"})
"""Folders that Python takes for the runner itself."""
_LOADED = {".pth": "python", ".pyc": "python", ".mk": "make"}
"""Endings of what Python loads by itself, or in place of a module that has no source; parts of a makefile."""
_PROGRAMS = {
    **dict.fromkeys(("pytest", "py.test", "unittest"), "python"),
    **dict.fromkeys(("ruff", "mypy", "flake8", "pylint", "pyright", "black"), "python"),
    **dict.fromkeys(("jest", "vitest", "mocha", "node", "deno", "bun"), "node"),
    **dict.fromkeys(("eslint", "tsc", "prettier", "biome"), "node"),
    **dict.fromkeys(("mvn", "mvnw", "gradle", "gradlew"), "java"),
    **dict.fromkeys(("rspec", "rubocop"), "ruby"),
    **dict.fromkeys(("phpunit", "phpstan"), "php"),
    "cargo": "rust",
    "go": "go",
}
"""Runners and linters, each with the language of what it looks at; any other may start anything."""
_ENDINGS = {
    **dict.fromkeys((".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"), "node"),
    **dict.fromkeys((".java", ".kt", ".groovy", ".scala"), "java"),
    ".py": "python",
    ".go": "go",
    ".rs": "rust",
    ".rb": "ruby",
    ".php": "php",
}


def configures_runner(path: str) -> bool:
    """Whether a file may say what a runner runs, and how, or is loaded without being asked for."""
    return bool(_find_reader(path))


def _find_reader(path: str) -> str:
    """The language whose runners are configured by a file; empty: it configures none."""
    *folders, name = path.split("/")
    if name.endswith(".py") and not _SHADOWING.isdisjoint(folders):
        return "python"
    by_name = _READ.get(name) or _LOADED.get(posixpath.splitext(name)[1], "")
    return by_name or ("node" if name.startswith(_CONFIGURED) else "python" if name in _IMPORTED else "")


def concerns(argv: Sequence[str], directory: str, path: str) -> bool:
    """Whether a command may read a file of checks: of its own language, and of the package where it begins.

    Configuration is read on the way from where it begins up to the project, and below; what an interpreter
    loads by itself, from anywhere. What another package has is no matter of this check.
    """
    reader, known, starts = (
        _find_reader(path),
        _PROGRAMS.get(find_program(argv), ""),
        list_starts(argv, directory),
    )
    language = reader or (_ENDINGS.get(posixpath.splitext(path)[1], "") if is_named_as_test(path) else "")
    if known and language and known != language:
        return False
    name = posixpath.basename(path)
    if name in _READ or name.startswith(_CONFIGURED):
        folder = posixpath.dirname(path)
        return not folder or any(_is_below(one, folder) or _is_below(path, one) for one in starts)
    return bool(reader) or any(_is_below(path, one) for one in map(_find_package, starts))


def _is_below(path: str, folder: str) -> bool:
    return folder == "." or f"{path}/".startswith(f"{folder}/")


def decides(argv: Sequence[str], directory: str, path: str) -> bool:
    """Whether a file decides about the result of a command beside the code."""
    return (configures_runner(path) or is_test_of(argv, path, directory)) and concerns(argv, directory, path)


def list_moved(sighting: Sighting, argv: Sequence[str]) -> dict[str, str]:
    """Tests that a command finds in another place as it did before; with the old ones."""
    return {
        new: old
        for new, old in sighting.moved.items()
        if new not in sighting.displaced and not distinguishes(argv, old, new)
    }


def _find_package(start: str) -> str:
    """The folder that holds the tests at which a command begins."""
    start = posixpath.dirname(start) if start.endswith(".py") else start
    outer = takewhile(lambda name: name not in _TEST_FOLDERS and not is_named_as_test(name), start.split("/"))
    return "/".join(outer) or "."


Placed: TypeAlias = tuple[Sequence[str], str]
"""The words of a command, and where it starts."""
Use: TypeAlias = Literal["configuration", "program", "modules", "tests", "named files"]
"""What a file is to a command; a named one stands among its words, and may be what is checked."""


def sort_by_use(
    paths: Iterable[str], programs: Collection[str], commands: Collection[Placed]
) -> dict[Use, list[str]]:
    """Files of checks by what they are to these, in the order of how much they can hide."""
    uses: tuple[Use, ...] = ("configuration", "program", "modules", "tests", "named files")
    found: dict[Use, list[str]] = {use: [] for use in uses}
    own = [read_files(tuple(argv), place) for argv, place in commands]
    for path in paths:
        is_test = is_test_file(path) or any(is_test_of(one, path, at) for one, at in commands)
        is_module = any(stands_for_module(one, at, path) for one, at in commands)
        is_module = is_module and not any(is_named(one, at, path) for one, at in commands)
        use: Use = "modules" if is_module else "tests" if is_test else "named files"
        is_loaded = configures_runner(path) or any(is_among(path, one.loaded) for one in own)
        is_started = not is_named_as_test(path) and any(is_among(path, one.started) for one in own)
        use = "configuration" if is_loaded else "program" if path in programs or is_started else use
        found[use].append(path)
    return {use: held for use, held in found.items() if held}


# What the words of a command start, and what they load before that

_STARTING = re.compile(
    r"(?P<name>python|pypy|node|nodejs|tsx|ts-node|bun|deno|ruby|perl|php|lua|source|\."
    r"|sh|bash|dash|ash|zsh|ksh|fish)[\d.]*"
)
"""Programs that start the file which they are given."""
_VALUED = frozenset({"-W", "-X", "-o", "+o", "-O", "-I", "-C", "-d", "-r", "--rcfile", "--init-file"})
"""Their options whose value is the next word, perhaps."""
_ONLY_READING = {
    **dict.fromkeys(("sh", "bash", "dash", "ash", "zsh", "ksh", "fish"), ("-n",)),
    **dict.fromkeys(("node", "nodejs"), ("-c", "--check")),
    **dict.fromkeys(("ruby", "perl"), ("-c",)),
    "php": ("-l",),
}
"""Their options with which the file is looked at, and not started."""
_LOADING = frozenset(
    {"--config", "--config-file", "--rcfile", "--import", "--loader", "--experimental-loader", "--require"}
    | {"--setupFiles", "--setupFilesAfterEnv", "--globalSetup", "--preload", "--plugin", "--env-file"}
)
_LOADING_OF = {
    **dict.fromkeys(("pytest", "py.test"), ("-p", "-c")),
    **dict.fromkeys(("node", "nodejs", "mocha", "ruby", "vitest", "tsx"), ("-r",)),
    **dict.fromkeys(("make", "gmake"), ("-f", "--file", "--makefile")),
    "jest": ("-c",),
}
"""Options that name what a runner loads before the tests."""
_STEERING = re.compile(
    r"(?:PYTEST_PLUGINS|PYTEST_ADDOPTS|NODE_OPTIONS|BASH_ENV|RUBYOPT|MAKEFILES)=(?P<value>.*)"
)
_BEFORE = re.compile(r"[-+].*|\w+=.*|[\d.]+[smhd]?", re.DOTALL)
"""What may stand between a wrapper and the program that it starts."""


class RunBy(msgspec.Struct, frozen=True, kw_only=True):
    """Which files the words of a command may mean, as paths of the project."""

    started: frozenset[str]
    loaded: frozenset[str]


@lru_cache(maxsize=64)
def read_files(argv: tuple[str, ...], directory: str) -> RunBy:
    """The files that a command starts itself, whatever starts them, and those that its options load."""
    place, started, loaded = directory, set[str](), set[str]()
    for words in list_programs(argv[0] if len(argv) == 1 else spell_argv(argv)):
        if words[0] == "cd":
            place = posixpath.join(place, *words[1:2])
        started |= _place_all(place, _list_started(words))
        loaded |= _place_all(place, _list_loading(words))
    return RunBy(started=frozenset(started), loaded=frozenset(loaded))


def is_among(path: str, files: Collection[str]) -> bool:
    """Whether a file of the project is one of these, of which some are named from the root of the machine."""
    return path in files or any(one.endswith(f"/{path}") for one in files if one.startswith("/"))


def runs_by(argv: Sequence[str], directory: str, path: str) -> bool:
    """Whether a command starts or loads a file, beside the tests that are given to a runner."""
    own = read_files(tuple(argv), directory)
    return is_among(path, own.loaded) or (is_among(path, own.started) and not is_named_as_test(path))


def is_named(argv: Sequence[str], directory: str, path: str) -> bool:
    """Whether a file stands among the words of a command."""
    given = (word.rpartition("=")[2] for word in read_words(argv).words)
    return path in {posixpath.normpath(posixpath.join(directory, word)) for word in given}


def _list_started(words: Sequence[str]) -> list[str]:
    """The program behind what wraps it; of an interpreter, what it is given."""
    own = [*dropwhile(lambda word: word in WRAPPERS or _BEFORE.fullmatch(word), words)]
    found, rest = own[:1], iter(own[1:])
    by = _STARTING.fullmatch(posixpath.basename(own[0])) if own else None
    for word in rest if by else ():
        if word in _ONLY_READING.get(by["name"] if by else "", ()):
            break
        if word in _VALUED or word in _LOADING:
            found.append(next(rest, ""))
        elif word[:2] == "-m":
            return [*found, word[2:] or next(rest, "")]
        elif word != "run" and not word.startswith(("-", "+")):
            return [*found, word]
    return found


def _list_loading(words: Sequence[str]) -> list[str]:
    short = {one for word in words for one in _LOADING_OF.get(posixpath.basename(word), ())}
    found: list[str] = []
    for option, value in pairwise((*words, "")):
        name, _, given = option.partition("=")
        if name in short or name in _LOADING:
            found.append(given or value)
        elif option[:2] in short or option.startswith("@"):
            found.append(option.removeprefix("@") if option[0] == "@" else option[2:])
        elif steered := _STEERING.fullmatch(option):
            found += re.split(r"[\s,=]+", steered["value"])
    return found


def _place_all(place: str, given: Iterable[str]) -> set[str]:
    """The files that these words may mean where a command starts: paths, or modules by their names."""
    found: set[str] = set()
    for word in given:
        if not word or "\0" in word:
            continue
        parts = word.split("/") if "/" in word else word.split(".")
        packages = ["/".join(parts[: count + 1]) for count in range(len(parts))]
        modules = [*(f"{one}/__init__.py" for one in packages), *(packages[-1] + end for end in _MODULES)]
        found |= {posixpath.normpath(posixpath.join(place, one)) for one in (word, *modules)}
        found |= {posixpath.normpath(posixpath.join(place, "src", one)) for one in modules}
    return found


_MODULES = (".py", "/__main__.py", ".js", ".mjs", ".cjs", ".ts", "/index.js")


# What Python imports in place of its own

_STANDARD = frozenset(
    re.findall(
        r"\w+",
        """
    aifc annotationlib argparse array ast asynchat asyncio asyncore audioop base64 bdb binascii binhex
    bisect bz2 cProfile calendar cgi cgitb chunk cmath cmd code codeop collections colorsys compileall
    compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes dataclasses
    datetime decimal difflib dis distutils doctest email enum fcntl filecmp fileinput fnmatch formatter
    fractions ftplib functools getopt getpass gettext glob graphlib grp gzip hashlib heapq hmac html http
    imaplib imghdr imp importlib inspect ipaddress json keyword linecache locale logging lzma mailbox
    mailcap math mimetypes mmap modulefinder multiprocessing netrc nntplib numbers operator optparse
    parser pathlib pdb pickle pickletools pipes pkgutil platform plistlib poplib pprint profile pstats
    pty py_compile pyclbr pydoc pyexpat queue quopri random re readline reprlib resource rlcompleter
    runpy sched secrets select selectors shelve shlex shutil signal smtpd smtplib sndhdr socket
    socketserver sqlite3 sre_compile sre_constants sre_parse ssl statistics string stringprep struct
    subprocess sunau symbol symtable sysconfig syslog tabnanny tarfile telnetlib tempfile termios
    textwrap threading timeit token tokenize tomllib trace traceback tracemalloc tty types typing
    unicodedata unittest urllib uu uuid warnings wave weakref webbrowser wsgiref xdrlib xml xmlrpc zipapp
    zipfile zlib zoneinfo
        """,
    )
)
"""Modules that Python has, whichever of its versions. A run is judged alike whatever Python Handrail itself
has, which need not be that of the check; what Python imports before it looks anywhere else is none of them.
"""


def has_name_of_module(name: str) -> bool:
    """Whether a file or a folder takes the name of a module of Python's own."""
    stem, dot, rest = name.partition(".")
    return stem in _STANDARD and (not dot or rest.endswith(("py", "so", "pyd")))


def stands_for_module(argv: Sequence[str], directory: str, path: str) -> bool:
    """Whether Python may import a file in place of its own module where a command runs.

    That is where it starts, in `src` below, beside a script that it starts, and where it looks for tests.
    """
    folder, name = posixpath.split(path)
    folder, name = posixpath.split(folder) if name.startswith("__init__.") else (folder, name)
    if not has_name_of_module(name) or _PROGRAMS.get(find_program(argv), "python") != "python":
        return False
    started = map(posixpath.dirname, read_files(tuple(argv), directory).started)
    places = {directory, posixpath.join(directory, "src"), *list_starts(argv, directory), *started}
    return (folder or ".") in map(posixpath.normpath, places) or posixpath.basename(folder) in _TEST_FOLDERS


IGNORE_RULES = (".git/info/exclude", "core.excludesFile")
"""Ignore rules that are no files of a project, as they are kept; the folder of a repository goes before."""


def names_ignore_rules(path: str) -> bool:
    """Whether it is no file of a tree, but ignore rules: as they are kept, or where git has the file."""
    is_of_git = ".git" in path.split("/") and path.endswith("/info/exclude")
    return is_of_git or path.endswith(IGNORE_RULES)


def is_of_checks(path: str) -> bool:
    """Whether a file decides about the result of tests beside the code."""
    return is_test_file(path) or configures_runner(path)


def may_be_read(path: str) -> bool:
    """Whether a check may read a file, as code, as a test or as configuration."""
    return is_of_checks(path) or posixpath.splitext(path)[1] in _ENDINGS


def list_sparse_tests(apart: Mapping[str, str] | None) -> list[str]:
    """By the marks of a tree: what decides about tests, and the checkout leaves out."""
    return [path for path, mark in (apart or {}).items() if mark == "sparse" and is_of_checks(path)]
