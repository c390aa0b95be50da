"""The `sh` blocks of pages, run in order in a scratch home; what words in capitals stand for."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from tests.conformance.forked import ForkServer
from tests.house.markdown import FENCE, Block, closes, fenced_blocks
from tests.house.shown_commands import SAVE_AS, ScratchShell
from tests.house.tree import Source

ASSIGNMENT = re.compile(r"[a-z_]+=\$\(")
LEARNT = {
    "ACK_TOKEN": re.compile(r"\bak1[0-9a-z]{53}\b"),
    "STATE_TOKEN": re.compile(r"\bst1[0-9a-z]{46}\b"),
    "CHECKPOINT_TOKEN": re.compile(r"\bck1[0-9a-z]{53}\b"),
    "WORK_TOKEN": re.compile(r"\bwk1[0-9a-z]+\b"),
    "CONFIRM_TOKEN": re.compile(r"\bct_[\w.-]+"),
    "NODE_ID": re.compile(r"\bnod_[0-9a-z]{12}\b"),
    "TREE_ID": re.compile(r'"undo": ?"([0-9a-f]{40})"'),
    "TOKEN_YES": re.compile(r'"choice:yes": "([\w-]+)"'),
}
"""What a later line takes from the output of an earlier one, the newest of each kind."""
IDS = {
    "SESSION_ID": re.compile(r"\bses_[0-9a-z]{12}\b"),
    "RUN_ID": re.compile(r"\brun_[0-9a-z]{12}\b"),
}
"""Those of the run that was started last."""
PREPARED = "git init -q; mkdir ../.cursor"
"""What pages take for granted: a project in git, and the client of an agent. Runs they start themselves."""


class Saved(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a page asks its reader to save."""

    path: str
    content: str


class PageShell:
    """A home in which the lines of one page follow each other, each `handrail` forked from the server."""

    def __init__(self, folder: str, server: ForkServer) -> None:
        self._shell = ScratchShell(folder, programs=server.program(folder))
        self.project = self._shell.project
        self.names = {"BACKUP": os.path.join(folder, "backup"), "DIR": self.project}
        prepared = self.ran(PREPARED)
        assert prepared.returncode == 0, (PREPARED, prepared.stdout, prepared.stderr)

    def save(self, path: str, content: str) -> None:
        self._shell.save(path, content)

    def ran(self, script: str) -> subprocess.CompletedProcess[str]:
        finished = self._shell.finished("set -eo pipefail; " + spelt(script, self.names))
        learnt = LEARNT | IDS if "handrail run start" in script else LEARNT
        for name, pattern in learnt.items():
            found = pattern.findall(finished.stdout)
            self.names |= {name: found[-1]} if found else {}
        return finished


def spelt(script: str, names: Mapping[str, str]) -> str:
    """The script with values in place of the words in capitals."""
    return re.sub(r"\b[A-Z]+(?:_[A-Z]+)*\b", lambda word: names.get(word[0], word[0]), script)


def scripts_of(block: Block) -> list[str]:
    """The commands of a block: a line each, unless it needs the next ones to be whole."""
    scripts: list[str] = []
    waiting = ""
    for line in block.lines:
        waiting += line + "\n"
        if not ASSIGNMENT.match(line) and _is_whole(waiting):
            scripts.append(waiting.strip())
            waiting = ""
    assert not waiting, f"a command without an end: {waiting}"
    return [script for script in scripts if script]


def _is_whole(script: str) -> bool:
    if script.rstrip().endswith("\\"):
        return False
    if script.split(maxsplit=1)[:1] != ["for"]:
        return True
    return subprocess.run(["bash", "-n", "-c", script], capture_output=True, check=False).returncode == 0


def doings(source: Source) -> Iterator[Saved | str]:
    """What a reader of the page does, in its order: save a file, or run a command."""
    name = ""
    waiting = iter(fenced_blocks(source.text))
    mark = ""
    for line in source.text.splitlines():
        fence = FENCE.match(line)
        if mark:
            mark = "" if closes(line, mark) else mark
        elif fence is not None:
            mark = fence[1]
            block = next(waiting)
            if name:
                yield Saved(path=name, content="\n".join(block.lines) + "\n")
            elif block.language == "sh":
                yield from scripts_of(block)
            name = ""
        elif found := SAVE_AS.search(line):
            name = found[1]


def blocks_of(source: Source, *languages: str) -> list[Block]:
    return [block for block in fenced_blocks(source.text) if block.language in languages]


def command_lines(scripts: Sequence[str]) -> Iterator[list[str]]:
    """The words of every `handrail …` in a script: on its own, in a substitution, behind a pipe."""
    for script in scripts:
        words = shlex.shlex(script.replace("\\\n", " "), posix=True, punctuation_chars="();<>|&\n")
        words.whitespace, words.commenters, words.whitespace_split = " ", "", True
        line: list[str] = []
        for word in [*words, ";"]:
            if line and set(word) <= set("();<>|&\n"):
                yield line
                line = []
            elif line or word == "handrail":
                line.append(word)
