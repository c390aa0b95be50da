"""Print the files that import inside functions, how often, and why.

    python tools/late_imports.py

An import belongs at the top of its file. A seam, where it may come later, is listed here with its reason.
The list informs; nothing here fails a build.
"""

from __future__ import annotations

import ast
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from tools.measures import imports_inside_functions, python_files  # noqa: E402 - needs the path above

SEAMS = {
    "src/handrail/host/workspace.py": "an advance starts no program to find its project",
    "src/handrail/main.py": "the entry point imports only what the command needs",
    "src/handrail/wiring.py": "what a call on a running session does not touch is loaded when asked for",
    "src/handrail/__init__.py": "the public library loads its names on first use",
    "src/handrail/contract/json/canonical.py": "only a refused value pays for saying where the trouble is",
    "src/handrail/contract/disclosure/estimate.py": "regex is needed only for text with grapheme clusters",
    "src/handrail/host/workflow_library.py": "the language, git and plugins: only who needs them pays",
    "src/handrail/host/process.py": "there is seldom news of a release",
    "src/handrail/host/workflow_sources/named.py": "only a plugin needs the list of installed packages",
    "src/handrail/worktree/local_worktree.py": "questions about code name no places in files",
    "src/handrail_code/operations/scanning.py": "a search needs no other question's code",
    "src/handrail/host/checks.py": "the library is an extra, and only receipts need it",
    "src/handrail/host/settings.py": "most homes have no settings file to read",
    "src/handrail/host/workflow_sources/directories.py": "most homes have no settings file to read",
    "src/handrail/runtime/sessions.py": "few sessions are kept folded, and fewer are damaged",
    "src/handrail/runtime/hub.py": "only a refusal needs its words, only a cut list a cursor",
    "src/handrail/operations/runs/continue_run.py": "few calls read again, preview, act or send two tokens",
    "src/handrail/operations/checkpoints.py": "one token needs no proof that two are of one reply",
    "src/handrail/operations/runs/reread_run.py": "only an older step is compared with the present files",
    "src/handrail/operations/source_drift.py": "a run of unchanged files does not pay for the compiler",
    "src/handrail/surfaces/cli/self_description/help.py": "only the help of a command needs the tables",
    "src/handrail/surfaces/mcp/results.py": "only a refused call looks at workflow files",
    "src/handrail_code/operations/project_source.py": "kept facts need no parser",
    "src/handrail_code/languages/grammars.py": "few projects have Python and JavaScript",
    "src/handrail_code/languages/reading.py": "each language's reader is loaded by its first file",
    "src/handrail/workflows/prompt_sections.py": "most values in a prompt are plain",
    "src/handrail/operations/replies.py": "only a fork or an action knows what lies beside it",
    "src/handrail/operations/report.py": "notes alone name no file",
    "src/handrail/contract/disclosure/disclose.py": "few calls name fields or a budget",
    "src/handrail/engine/decide.py": "notes that nobody answered settle nothing and are held against nothing",
    "src/handrail/engine/progress.py": "few prompts hold what helpers wrote",
    "src/handrail/engine/standing.py": "few steps hand out work or ask for a check",
    "src/handrail/operations/handles.py": "few tokens need forgiving, few logs lack a step",
    "src/handrail/engine/judge/assess.py": "only a report that names something is held against it",
    "src/handrail/engine/judge/artifacts.py": "only an artifact needs kinds and contracts",
    "src/handrail/engine/judge/requirements.py": "few rules need a pattern, a schema or an example",
    "src/handrail/surfaces/cli/rendering/human.py": "few answers are a proof or a receipt",
    "src/handrail/trials/hooks/handrail_cases.py": "most processes of a project run no test",
    "src/handrail/operations/finding.py": "few runs are older than the latest sessions",
    "src/handrail_team/operations/admit_machine.py": "a plain install has no library of a database",
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


def count_late_imports(top: str) -> dict[str, int]:
    """The number of imports inside functions of each file that has some."""
    counts = {}
    for path in python_files(top):
        with open(path, encoding="utf-8") as file:
            found = len({*imports_inside_functions(ast.parse(file.read()))})
        if found:
            counts[os.path.relpath(path, ROOT).replace(os.sep, "/")] = found
    return counts


def main() -> None:
    counts = count_late_imports(os.path.join(ROOT, "src"))
    for path, count in sorted(counts.items()):
        print(f"{count:4}  {path}: {SEAMS.get(path, 'not a listed seam')}")
    for path in sorted(set(SEAMS) - set(counts)):
        print(f"   0  {path}: listed, and imports nothing late")
    print(f"{sum(counts.values())} imports inside functions, in {len(counts)} files")


if __name__ == "__main__":
    main()
