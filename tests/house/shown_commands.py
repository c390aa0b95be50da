"""The commands that pages show, run as they stand, and the pages with their real output.

A `console` block holds lines that begin with `$ ` and what each printed. `python -m
tests.house.shown_commands` writes the outputs into the pages; the house test compares them.
A comment `<!-- shown: PATTERN -->` above a block keeps only the output lines in which the pattern is found.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator

from tests.house.markdown import FENCE, closes
from tests.house.tree import ROOT

PAGES = (
    "README.md",
    "docs/tutorial/first-run.md",
    "docs/tutorial/first-helpers.md",
    "docs/tutorial/first-rename.md",
    "docs/how-to/prove-a-change.md",
)
FIRST_RUN = "first-run"
DEADLINE_SECONDS = 300
SAVE_AS = re.compile(r"Save this as `([^`]+)`:")
EXCERPT = re.compile(r"<!-- shown: (.+) -->")

TOKEN = re.compile(r"\b(st1|ak1|ck1|ch1|wk1)[0-9a-z]{46,53}\b")
PLACEHOLDER = re.compile(r"\b(st1|ak1|ck1|ch1|wk1)…")
DIFFERS_EACH_TIME = (
    (TOKEN, r"\1…"),
    (re.compile(r"\b(cu1)[\w.-]+"), r"\1…"),
    (re.compile(r"\b(ses|run|nod)_[0-9a-z]{12}\b"), r"\1_0123456789ab"),
    (re.compile(r'("duration_ms": ?)[0-9]+'), r"\g<1>0"),
    (re.compile(r"\bin a linked copy\b"), "in a copy"),
    (re.compile(r", [0-9]+\.[0-9] s$", re.MULTILINE), ", 0.8 s"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"), "2026-11-15T09:30:00.000Z"),
    (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2} UTC"), "2026-11-15 09:30 UTC"),
)


class ScratchShell:
    """Runs a page's commands in a folder of its own, and remembers the newest token of each kind."""

    def __init__(self, folder: str, name: str = FIRST_RUN, programs: str = "") -> None:
        self.project = os.path.join(folder, name)
        os.makedirs(self.project)
        scripts = os.path.dirname(sys.executable)
        self._environment = {
            "PATH": os.pathsep.join(
                [*([programs] if programs else []), scripts, os.environ.get("PATH", os.defpath)]
            ),
            "HOME": folder,
            "HANDRAIL_HOME": os.path.join(folder, "home"),
        }
        self._folder = folder
        self._tokens: dict[str, str] = {}

    def save(self, path: str, content: str) -> None:
        full = os.path.join(self.project, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(content)

    def run(self, command: str) -> str:
        """What the command printed, with everything that differs each time replaced by a fixed text."""
        finished = self.finished(PLACEHOLDER.sub(self._newest, command))
        self._tokens |= {found[1]: found[0] for found in TOKEN.finditer(finished.stdout)}
        printed = finished.stdout + finished.stderr
        if finished.returncode:
            printed += f"(exit {finished.returncode})\n"
        return steady(printed.replace(self._folder, "~"))

    def finished(self, script: str) -> subprocess.CompletedProcess[str]:
        """How a script of the page ended, and what it wrote."""
        return subprocess.run(
            ["bash", "-c", script],
            cwd=self.project,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=DEADLINE_SECONDS,
            check=False,
        )

    def _newest(self, placeholder: re.Match[str]) -> str:
        kind = placeholder[1]
        assert kind in self._tokens, f"no command above has printed a token that begins with {kind}"
        return self._tokens[kind]


def steady(text: str) -> str:
    """The same text on every machine and at every time."""
    for pattern, replacement in DIFFERS_EACH_TIME:
        text = pattern.sub(replacement, text)
    return text


def filled(text: str, save: Callable[[str, str], None], run: Callable[[str], str]) -> str:
    """The page with the real output below each command."""
    return "".join(line + "\n" for line in _filled_lines(text.splitlines(), save, run))


def _filled_lines(
    lines: list[str], save: Callable[[str, str], None], run: Callable[[str], str]
) -> Iterator[str]:
    language: str | None = None
    file_name = excerpt = mark = ""
    content: list[str] = []
    for line in lines:
        fence = FENCE.match(line)
        if fence and language is None:
            mark, language, content = fence[1], fence[2], []
        elif closes(line, mark) and language is not None:
            if file_name:
                save(file_name, "\n".join(content) + "\n")
            language, file_name, excerpt = None, "", ""
        elif language is None:
            named = SAVE_AS.search(line)
            file_name = named[1] if named else file_name
            marked = EXCERPT.fullmatch(line)
            excerpt = marked[1] if marked else excerpt
        elif language == "console":
            if line.startswith("$ "):
                yield line
                printed = run(line.removeprefix("$ ")).splitlines()
                yield from (one for one in printed if re.search(excerpt, one))
            continue
        else:
            content.append(line)
        yield line


def filled_page(path: str, text: str) -> str:
    """The page with what its commands print here and now, in a folder with the name of the page."""
    name = FIRST_RUN if path == "README.md" else os.path.basename(path).removesuffix(".md")
    with tempfile.TemporaryDirectory() as folder:
        shell = ScratchShell(os.path.realpath(folder), name)
        return filled(text, shell.save, shell.run)


def main() -> None:
    for path in sys.argv[1:] or PAGES:
        full = os.path.join(ROOT, path)
        with open(full, encoding="utf-8") as file:
            text = filled_page(path, file.read())
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
