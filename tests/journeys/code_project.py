"""A small project of JavaScript sources, and the scripts that an agent calls in it, in this process."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from handrail.host.process import ConfirmedTokenFiles
from handrail.runtime.runtime import Runtime
from handrail.worktree.fact_store import FactFiles
from handrail.worktree.local_worktree import LocalWorktree
from tests.conftest import FixedClock, GivenWorkspace, memory_runtime
from tests.surfaces.cli.here import run_here
from tests.worktree.project import ENVIRONMENT, write

FILES = {
    "src/app.js": """\
import { helper } from './util.js';

/** Fetches what is there. */
export function myFunc(name) {
  if (!name) return helper('nobody');
  return helper(name);
}

export const twice = (name) => myFunc(name) + myFunc(name);
""",
    "src/util.js": "export function helper(name) {\n  return `hello ${name}`;\n}\n",
    "src/main.js": """\
import { myFunc as run } from './app.js';
import * as app from './app.js';

console.log(run('a'), app.myFunc('b'));
""",
    "test/app.test.js": "import { myFunc } from '../src/app.js';\n\nmyFunc('t');\n",
    "package.json": '{"name": "sample", "main": "src/main.js"}\n',
}


class CodeProject:
    """The files, and answers of `js-scan`, `js-edit` and `js-tools` about them."""

    def __init__(self, folder: Path, files: Mapping[str, str] = FILES) -> None:
        self.home = folder / "home"
        self.root = folder / "project"
        self.root.mkdir()
        for name, content in files.items():
            write(self.root, name, content)
        self.clock = FixedClock()
        self.runtime = self.make_runtime()

    def make_runtime(self) -> Runtime:
        """A runtime as another process would have it: nothing in memory is shared."""
        workspace = GivenWorkspace()
        workspace.directory = str(self.root)
        worktree = LocalWorktree(str(self.home), ENVIRONMENT)
        return msgspec.structs.replace(
            memory_runtime(),
            clock=self.clock,
            workspace=workspace,
            confirmed=ConfirmedTokenFiles(str(self.home)),
            worktree=lambda: worktree,
            facts=lambda: FactFiles(str(self.home)),
        )

    def line(self, text: str, **tokens: str) -> tuple[int, dict[str, Any]]:
        """The exit status and the document of a command line as CONT prints it; names in it are tokens."""
        script, *arguments = (tokens.get(word, word) for word in shlex.split(text))
        assert script in ("js-scan", "js-edit", "js-tools")
        languages = [] if script == "js-tools" else ["--languages", "javascript"]
        words = [script, *languages, *arguments]
        ran = run_here(self.runtime, words, envelope="cont")
        document: dict[str, Any] = json.loads(ran.out)
        return ran.status, document

    def told(self, text: str, **tokens: str) -> dict[str, Any]:
        """The document of a line that succeeds."""
        status, document = self.line(text, **tokens)
        assert status == 0, document
        return document

    def preview(self, name: str, to: str) -> dict[str, Any]:
        return self.told(f"js-edit --rename {name} --to {to} --ai-mode")

    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8")

    def texts(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }
