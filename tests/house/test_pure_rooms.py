"""The pure rooms touch nothing outside: an allow-list of modules, and no builtin that reaches the world.

The import linter refuses modules by name; it cannot see the builtin `open`, and it lets a new module pass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, in_pure_room, nodes, plant, python_files

ALLOWED = frozenset(
    {
        *("__future__", "base64", "binascii", "bisect", "collections", "contextlib", "difflib", "enum"),
        *(
            "functools",
            "hashlib",
            "heapq",
            "hmac",
            "itertools",
            "json",
            "math",
            "operator",
            "re",
            "string",
            "struct",
        ),
        *("textwrap", "typing", "unicodedata", "zlib"),
        *("handrail", "handrail_code", "handrail_serve", "msgspec"),
    }
)
ALLOWED_IN = {
    # A public library that loads its names on first use, and keeps a file from shadowing one of them.
    "src/handrail/contract/__init__.py": {"sys", "types", "__import__"},
    # Grapheme clusters, loaded only for text that has some.
    "src/handrail/contract/disclosure/estimate.py": {"regex"},
    # JSON Schema with remote references switched off, loaded only where an artifact is checked.
    "src/handrail/workflows/contracts/check.py": {"jsonschema_rs"},
    "src/handrail/workflows/contracts/patterns.py": {"jsonschema_rs"},
    # YAML: text in, events out, loaded only by a file that is no JSON.
    "src/handrail/workflows/spellings/strict_yaml.py": {"ruamel"},
    # Bytes in, a syntax tree out; nothing else knows the parser.
    "src/handrail_code/languages/grammars.py": {
        "tree_sitter",
        "tree_sitter_javascript",
        "tree_sitter_python",
        "tree_sitter_typescript",
    },
    # What a walk has found so far grows until the walk has ended; values are frozen structs.
    "src/handrail_code/languages/draft.py": {"dataclasses"},
    "src/handrail_code/languages/javascript/draft.py": {"dataclasses"},
    # As above; and Python looks names up in this form, whatever the source spells.
    "src/handrail_code/languages/python/draft.py": {"dataclasses", "unicodedata"},
    # Whether a name fits a pattern, as text: `fnmatchcase` folds no case, on no machine.
    "src/handrail/contract/credential_files.py": {"fnmatch"},
    "src/handrail/engine/judge/places.py": {"fnmatch"},
    # Joining and splitting paths as text: `os.path` would differ from machine to machine.
    "src/handrail/evidence/cases.py": {"posixpath"},
    "src/handrail/evidence/change.py": {"posixpath"},
    "src/handrail/evidence/file_sets.py": {"posixpath", "tomllib"},
    "src/handrail/engine/receipts.py": {"posixpath"},
    "src/handrail/engine/judge/evidence.py": {"posixpath"},
    "src/handrail_code/facts/compiler_settings.py": {"posixpath"},
    "src/handrail_code/facts/resolution.py": {"posixpath"},
    "src/handrail_code/facts/python_names.py": {"posixpath"},
    "src/handrail_code/edit/moving/named_modules.py": {"posixpath"},
    "src/handrail_code/edit/moving/importers.py": {"posixpath"},
    "src/handrail_code/edit/moving/meanings.py": {"posixpath"},
    "src/handrail_code/edit/moving/needs.py": {"posixpath"},
    "src/handrail_code/edit/moving/shift.py": {"posixpath"},
    "src/handrail_code/edit/moving/specifiers.py": {"posixpath"},
    # Notes become HTML: text in, text out, loaded only where a report shows them.
    "src/handrail/projections/html/elements.py": {"markdown_it", "nh3"},
}
REACHES_OUT = frozenset(
    {
        *("open", "print", "input", "eval", "exec", "compile", "__import__", "breakpoint", "exit", "quit"),
        *("id", "hash"),
    }
)
"""`id` and `hash` are here because their values differ from process to process."""


def foreign_imports(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{line}: a pure room does not import {module}; take the value as an argument, "
        "or add the module to the list with a reason"
        for source in sources
        if in_pure_room(source)
        for line, module in _imports(source)
        if module not in ALLOWED | ALLOWED_IN.get(source.path, set())
    ]


def builtins_that_reach_out(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{node.lineno}: a pure room does not use {node.id}; take the value as an argument"
        for source in sources
        if in_pure_room(source)
        for node in nodes(source)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if node.id in REACHES_OUT - ALLOWED_IN.get(source.path, set())
    ]


def _imports(source: Source) -> Iterator[tuple[int, str]]:
    for node in nodes(source):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node.lineno, alias.name.split(".")[0]
            case ast.ImportFrom(module=str(module)):
                yield node.lineno, module.split(".")[0]
            case ast.ImportFrom():
                yield node.lineno, "a relative module"
            case _:
                pass


def test_pure_rooms_import_only_what_is_listed() -> None:
    check(foreign_imports(python_files("src/")))


def test_pure_rooms_use_no_builtin_that_reaches_out() -> None:
    check(builtins_that_reach_out(python_files("src/")))


@every_case(
    ("path", "text", "expected"),
    [
        ("src/handrail/engine/gate.py", "import time\n", "does not import time"),
        ("src/handrail/engine/gate.py", "from os import path\n", "does not import os"),
        ("src/handrail/engine/gate.py", "from . import state\n", "a relative module"),
        ("src/handrail/projections/recap.py", "def f():\n    import random\n", "does not import random"),
        ("src/handrail/contract/outcome.py", "import regex\n", "does not import regex"),
        ("src/handrail_code/facts/join.py", "import tree_sitter\n", "does not import tree_sitter"),
        ("src/handrail_code/languages/grammars.py", "import tree_sitter\n", ""),
        ("src/handrail/contract/disclosure/estimate.py", "import regex\n", ""),
        ("src/handrail/engine/gate.py", "from collections.abc import Sequence\n", ""),
        ("src/handrail/host/clock.py", "import time\n", ""),
    ],
)
def test_a_foreign_import_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(foreign_imports, plant(path, text), expected)


@every_case(
    ("path", "text", "expected"),
    [
        ("src/handrail/workflows/read.py", "text = open('x').read()\n", "does not use open"),
        ("src/handrail/engine/gate.py", "show = print\n", "does not use print"),
        ("src/handrail/engine/gate.py", "key = hash('a')\n", "does not use hash"),
        ("src/handrail/engine/gate.py", "import re\npattern = re.compile('a')\n", ""),
        ("src/handrail/host/files.py", "text = open('x').read()\n", ""),
        ("src/handrail/contract/__init__.py", "m = __import__('x')\n", ""),
        ("src/handrail/contract/disclosure/fields.py", "m = __import__('x')\n", "does not use __import__"),
    ],
)
def test_a_builtin_that_reaches_out_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(builtins_that_reach_out, plant(path, text), expected)
