"""The commands of the code tools: `handrail code …`, `handrail run file` and the scripts of CONT."""

from __future__ import annotations

from typing import Any

from tools.commands.rows import Row, Spelling

_PREVIEWED = "Files of the preview; none without --fix."
_RUNNING = "Appends to one session; files of the project only where an action writes them."
_WORKFLOW = "A workflow file, or the id of a workflow; `-` is stdin."
_CHANGES = 'Edits, [{"rename": NAME, "to": NEW}]; `-` is stdin.'
_TOKEN = Spelling(field="continuation", kind="token", value="TOKEN", text="A token of an answer.")
_HASH = Spelling(field="hash", kind="ids", value="HASH", text="Only with this hash.")
_LANGUAGES = Spelling(
    field="languages",
    kind="choices",
    value="LANGUAGE",
    choices=("javascript", "python"),
    text="TypeScript is javascript.",
)
_FILE = Spelling(field="file", kind="text", value="FILE")
_WITH_FILE = Spelling(
    field="withText",
    flag="--with-file",
    kind="file",
    value="FILE",
    text="That text; `-` is stdin.",
)
_ANSWERS = (
    Spelling(field="also", kind="ids", value="PLACE", text="Rename it too: FILE:LINE:COLUMN of a refusal."),
    Spelling(field="not", kind="ids", value="PLACE", text="Leave it as it is."),
    Spelling(field="accept", kind="text", value="TOKEN", text="Leave every place of that refusal."),
)
_SCOPE = Spelling(field="scope", kind="text", value="DIR")
_KINDS = Spelling(
    field="kind",
    kind="choices",
    value="KIND",
    choices=("function", "class", "method", "variable", "type", "import"),
    text="Only these kinds.",
)
_LIMIT = Spelling(field="limit", value="N")
_KEY = "Your key for a start: letters, digits, `._:-`. A repeat returns the same run."
_RUN_WITH = (
    Spelling(field="context", kind="object", value="JSON", text="External facts the steps need, or @FILE."),
    Spelling(field="notes", kind="text", value="TEXT"),
    Spelling(field="requestId", kind="text", value="KEY", text=_KEY),
)
_GOES_ON = (_TOKEN, *(Spelling(field=field) for field in ("refetch", "refresh", "aiMode")))
"""What every question and every edit takes: how a token of an answer goes on."""
_SPAN = Spelling(field="span", kind="text", value="A:B")
_NAMES = Spelling(field="names", kind="ids", value="NAME", text="Several to locate.")


def _row(path: str, operation: str, example: str, *spellings: Spelling, **own: Any) -> Row:
    """One command of the code tools."""
    own |= {"needs": ("tree_sitter",), "examples": (f"handrail {example} --compact",), "seconds": 120}
    return Row(path=path, operation=operation, spellings=spellings, **own)


def _take(field: str, value: str) -> Spelling:
    return Spelling(field=field, kind="text", value=value)


_EXAMPLES = {"TEXT": "greet", "NAME": "greet", "FILE": "src/app.js"}


def _ask(verb: str, value: str, summary: str, *own: Spelling, field: str = "") -> Row:
    """One question about source files."""
    asked = Spelling(field=field or verb, position=1, kind="text", value=value)
    spellings = (asked, _SCOPE, *own, _LANGUAGES, *_GOES_ON)
    example = f"code {verb} {_EXAMPLES[value]}"
    return _row(f"code {verb}", "code.scan", example, *spellings, summary=summary, takes_rest=False)


def _about_one(path: str, field: str, example: str, *own: Spelling, **rest: Any) -> Row:
    """Something about one definition, named by its name, its hash or its place."""
    asked = Spelling(field=field, position=1, kind="text", value="NAME")
    last = (Spelling(field="fix"),) if "blast_radius" in rest else ()
    spellings = (asked, _FILE, *own, _HASH, _SPAN, _LANGUAGES, *_GOES_ON, *last)
    return _row(path, "code.edit", example, *spellings, takes_rest=False, **rest)


def _edit(verb: str, flags: str, what: str, *own: Spelling) -> Row:
    """One edit of source files: a preview, then its token with `--fix`."""
    example, summary = f"code {verb} greet {flags} --ai-mode", f"Preview, then apply, {what}"
    return _about_one(f"code {verb}", verb, example, *own, summary=summary, blast_radius=_PREVIEWED)


def _locate(field: str, summary: str, *own: Spelling) -> Row:
    """Where a name is defined, or the definition with what is around it."""
    example = f"code explain greet --{field}"
    return _about_one(f"code explain --{field}", field, example, *own, summary=summary)


_SEARCHED = (_KINDS, _HASH, Spelling(field="exported"), Spelling(field="text"), _LIMIT)
_EXPLAINED = "Show one definition: what it is, who uses it, what it uses."
_TRACED = (Spelling(field="depth", value="N"), Spelling(field="down"), _HASH, _LIMIT)
_RENAMED = (_take("to", "NEW"), Spelling(field="public"), *_ANSWERS)
_MOVED = (_take("toModule", "FILE"), Spelling(field="exportNeeds"))
_WORDS = "--to-module src/words.js --export-needs"
_TOOL_ROWS = (
    _ask("search", "TEXT", "Find names in source files.", *_SEARCHED),
    _ask("outline", "FILE", "Show what a file defines.", _LIMIT),
    _ask("explain", "NAME", _EXPLAINED, _KINDS, _HASH, _LIMIT, field="analyze"),
    _locate("locate", "Only where it is defined.", _NAMES),
    _locate("context", "The definition with what is around it."),
    _ask("trace", "NAME", "Show who calls it, as a tree.", *_TRACED),
    _ask("ripple", "NAME", "Show what may break if it changes.", _HASH, _LIMIT),
    _ask("deps", "FILE", "Show what a file imports, and who imports it.", _LIMIT),
    _edit("rename", "--to welcome", "a new name in every file.", *_RENAMED),
    _edit("move", _WORDS, "a move to another module with its imports.", *_MOVED),
    _edit("extract", "--export-needs", "a move to a module of its own.", *_MOVED),
    _edit("replace", "--with-file greet.txt", "another text of a definition.", _WITH_FILE),
    _row(
        "run file",
        "code.workflow",
        "run file my-refactor.json --checkpoint-mode",
        Spelling(field="workflowId", position=1, kind="source", value="FILE", text=_WORKFLOW),
        Spelling(field="workflowResume", flag="--resume", kind="token", value="TOKEN"),
        *_RUN_WITH,
        blast_radius=_RUNNING,
    ),
)


_SCRIPT_ROWS = (
    _row(
        "js-scan",
        "code.scan",
        "js-scan --search greet",
        _take("search", "TEXT"),
        *(_take(field, "NAME") for field in ("analyze", "trace", "ripple")),
        *(_take(field, "FILE") for field in ("outline", "deps")),
        *(_TOKEN, _SCOPE, _KINDS, _HASH, _LANGUAGES, _LIMIT),
    ),
    _row(
        "js-edit",
        "code.edit",
        "js-edit --rename greet --to welcome --ai-mode",
        _TOKEN,
        _FILE,
        *(_take(field, "NAME") for field in ("locate", "context", "extract", "move")),
        _take("toModule", "FILE"),
        _take("replace", "NAME"),
        _WITH_FILE,
        _take("rename", "NAME"),
        _take("to", "NEW"),
        *(_NAMES, _HASH, _LANGUAGES, _SPAN),
        Spelling(field="changes", kind="records", value="FILE", text=_CHANGES),
        *(Spelling(field=name) for name in ("exportNeeds", "refetch", "refresh", "fix", "aiMode")),
        takes_rest=False,
        blast_radius=_PREVIEWED,
    ),
    _row(
        "js-tools",
        "code.workflow",
        "js-tools --workflow my-refactor.json --checkpoint-mode",
        Spelling(field="workflowResume", kind="token", value="TOKEN"),
        Spelling(field="workflowId", flag="--workflow", kind="source", value="FILE", text=_WORKFLOW),
        *_RUN_WITH,
        blast_radius=_RUNNING,
    ),
)

ROWS = (*_TOOL_ROWS, *_SCRIPT_ROWS)
