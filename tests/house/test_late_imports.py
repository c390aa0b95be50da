"""An import inside a function hides an arrow between rooms, so each place that may do it is listed."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence

import pytest

from tests.cases import every_case
from tests.house.tree import ROOT, Source, check, check_planted, nodes, plant, python_files
from tools.measures import module_files, reach_of

ALLOWED = {
    "src/handrail/main.py": "the front door imports only what the command needs",
    "src/handrail/wiring.py": "what a call on a running session does not touch is loaded when asked for",
    "src/handrail/runtime/operation.py": "a command line pays for one operation",
    "src/handrail/__init__.py": "the public library loads its names on first use",
    "src/handrail/contract/__init__.py": "the public library loads its names on first use",
    "src/handrail/contract/json/canonical.py": "only a refused value pays for saying where the trouble is",
    "src/handrail/contract/disclosure/estimate.py": "regex is needed only for text with grapheme clusters",
    "src/handrail/host/workflow_library.py": "the language, git and plugins: only who needs them pays",
    "src/handrail/host/process.py": "there is seldom news of a release",
    "src/handrail/host/workflow_sources/named.py": "only a plugin needs the list of installed packages",
    "src/handrail/host/workspace.py": "an advance does not ask who its project is",
    "src/handrail/host/worktree/local_worktree.py": "questions about code name no places in files",
    "src/handrail_code/operations/scanning.py": "a search needs no other question's code",
    "src/handrail/host/checks.py": "the library is an extra, and only receipts need it",
    "src/handrail/host/settings.py": "most homes have no settings file to read",
    "src/handrail/host/workflow_sources/directories.py": "most homes have no settings file to read",
    "src/handrail/runtime/runtime.py": "few calls look at the files of a project",
    "src/handrail/runtime/sessions.py": "few sessions are kept folded, and fewer are damaged",
    "src/handrail/runtime/hub.py": "only a refusal needs its words, only a cut list a cursor",
    "src/handrail/operations/runs/continue_run.py": "few calls read again, preview, act or send two tokens",
    "src/handrail/operations/checkpoints.py": "one token needs no proof that two are of one reply",
    "src/handrail/operations/runs/reread_run.py": "only an older step is compared with the present files",
    "src/handrail/operations/source_drift.py": "a run of unchanged files does not pay for the compiler",
    "src/handrail/surfaces/cli/self_description/help.py": "only the help of a command needs the tables",
    "src/handrail/surfaces/mcp/adapter.py": "the tools of another part are loaded where its set is served",
    "src/handrail/surfaces/mcp/results.py": "only a refused call looks at workflow files",
    "src/handrail_code/operations/project_source.py": "kept facts need no parser",
    "src/handrail_code/languages/grammars.py": "few projects have Python and JavaScript",
    "src/handrail_code/languages/reading.py": "each language's reader is loaded by its first file",
    "src/handrail/workflows/prompt_sections.py": "most values in a prompt are plain",
    "src/handrail/operations/replies.py": "only a fork or an action knows what lies beside it",
    "src/handrail_team/operations/machines.py": "a plain install has no library of a database",
    "src/handrail/operations/report.py": "notes alone name no file",
    "src/handrail/contract/disclosure/disclose.py": "few calls name fields or a budget",
    "src/handrail/engine/decide.py": "notes that nobody answered settle nothing and are held against nothing",
    "src/handrail/engine/navigate.py": "few steps hand out work",
    "src/handrail/engine/progress.py": "few prompts hold what helpers wrote",
    "src/handrail/engine/standing.py": "few steps hand out work or ask for a check",
    "src/handrail/engine/ask.py": "few steps hand out work",
    "src/handrail/engine/owners.py": "only a choice may need words",
    "src/handrail/operations/kept_trees.py": "few steps hand out work",
    "src/handrail/operations/looking.py": "few runs have helpers beside them",
    "src/handrail/operations/handles.py": "few tokens need forgiving, few logs lack a step",
    "src/handrail/engine/judge/arrival.py": "few moves miss a list or hand out work",
    "src/handrail/engine/judge/assess.py": "only a report that names something is held against it",
    "src/handrail/engine/judge/artifacts.py": "only an artifact needs kinds and contracts",
    "src/handrail/engine/judge/requirements.py": "few rules need a pattern, a schema or an example",
    "src/handrail/engine/reply.py": "only a gap and a refusal need words",
    "src/handrail/surfaces/cli/run.py": "most lines are spelled right",
    "src/handrail/surfaces/cli/rendering/render.py": "text and the LAFS dialect: only who asks for them pays",
    "src/handrail/surfaces/cli/reading/params.py": "only an import reads a bundle",
    "src/handrail/surfaces/cli/reading/parse.py": "most command lines carry no JSON",
    "src/handrail/projections/html/elements.py": "the Markdown parser is dear, and only reports show notes",
    "src/handrail/surfaces/cli/call.py": "a command line pays for one operation, few for fields or files",
    "src/handrail_serve/command.py": "few servers are watched, and an extra brings A2A",
    "src/handrail/workflows/spellings/spelling.py": "most files are JSON, and YAML is slow to load",
    "src/handrail/workflows/contracts/check.py": "jsonschema_rs is needed only where an artifact is checked",
    "src/handrail/workflows/contracts/patterns.py": "jsonschema_rs is needed only where a pattern is matched",
}


MAY_BE_LATE = re.compile(
    r"^[ \t]+(import|from)\s|[;:][ \t]*(import|from)\s|import_module|__import__", re.MULTILINE
)
"""Few files need to be walked through."""


def late_imports(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{line}: {what} inside a function; move it to the top, or list the file here"
        for source in sources
        if source.path not in ALLOWED
        for line, what in _late(source)
    ]


def _late(source: Source) -> Iterator[tuple[int, str]]:
    if not MAY_BE_LATE.search(source.text):
        return
    inside: set[ast.AST] = set()
    for node in nodes(source):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if node not in inside:
                inside.update(ast.walk(node))
            case ast.Import() | ast.ImportFrom() if node in inside:
                yield node.lineno, "an import"
            case ast.Call(func=ast.Name(id="import_module" | "__import__" as name)):
                yield node.lineno, f"a call of {name}"
            case ast.Call(func=ast.Attribute(attr="import_module" as name)):
                yield node.lineno, f"a call of {name}"
            case _:
                pass


def test_imports_inside_functions_stand_only_where_listed() -> None:
    check(late_imports(python_files("src/")))


def test_every_listed_place_exists_and_still_needs_its_listing() -> None:
    """A listing that nothing uses would let the next late import pass unseen."""
    used = {source.path for source in python_files("src/") if any(_late(source))}

    assert set(ALLOWED) - used == set()


@pytest.mark.thorough
@every_case("path", ALLOWED)
def test_a_late_import_defers_something(path: str) -> None:
    """What a file loads at once anyway, through whatever it imports, stands at its top."""
    modules = module_files(ROOT)
    own = {os.path.relpath(found, ROOT): module for module, found in modules.items()}[path]
    loaded = reach_of(own, modules)
    (source,) = python_files(path)
    lines = {line for line, _ in _late(source)}
    found = (node for node in nodes(source) if isinstance(node, ast.ImportFrom) and node.lineno in lines)
    assert [node.module for node in found if node.module in loaded - {own}] == []


@every_case(
    ("path", "text", "expected"),
    [
        ("src/handrail/host/clock.py", "def now():\n    import time\n", "an import inside"),
        ("src/handrail/host/clock.py", "async def now():\n    from time import time\n", "an import inside"),
        ("src/handrail/host/clock.py", "m = importlib.import_module('time')\n", "import_module"),
        ("src/handrail/host/clock.py", "m = __import__('time')\n", "__import__"),
        ("src/handrail/host/clock.py", "import time\n\ndef now():\n    return time.time()\n", ""),
        ("src/handrail/main.py", "def main():\n    import handrail.surfaces\n", ""),
    ],
)
def test_a_late_import_is_reported(path: str, text: str, expected: str) -> None:
    check_planted(late_imports, plant(path, text), expected)
