"""Where a project's files and facts come from. Pure.

A question asks for few files: `candidates` is the prefilter that keeps it so. What a source answers must not
depend on how it found it: a cold and a warm store give the same facts for the same bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Protocol

import msgspec

from handrail_code.facts.model import FileFacts, Links, ReadFile, Unreadable, links_of

MANIFEST = "package.json"

HOLDERS: Final = (".vue", ".svelte", ".astro", ".html", ".htm", ".mdx")
"""Files with code among other text, which nobody here parses."""
INTERPRETER = re.compile(rb"#![^\n]*?\b(node|deno|bun|tsx|ts-node|python)")


class Skipped(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was left out, and why: answers are then perhaps not complete."""

    path: str
    reason: str


class Source(Protocol):
    """All paths are relative to the root of the project, with `/`, and sorted."""

    def files(self) -> Sequence[str]:
        """Return every source file of a known language."""

    def manifests(self) -> Sequence[str]:
        """Return every package.json outside of node_modules."""

    def facts(self, path: str) -> ReadFile | None:
        """None where there is no such file. Memory has room for few: those of a file may be read again."""

    def links(self, path: str) -> Links | Unreadable | None:
        """Return a part of the same facts, for questions that go over all files."""

    def candidates(self, name: str) -> Sequence[str]:
        """At least every file whose bytes contain this name."""

    def text(self, path: str) -> bytes | None: ...

    def holders(self, words: Sequence[str]) -> Sequence[tuple[str, bytes]]:
        """Files that are no sources and may hold code, and that have one of these words; with their text."""

    def settings(self, path: str) -> object | None:
        """The parsed value of a JSON file; None where absent or broken. A tsconfig may extend any of them."""

    def skipped(self) -> Sequence[Skipped]: ...

    def unasked(self) -> Sequence[str]:
        """Source files in languages that the question leaves out."""

    def read(self, path: str, text: bytes) -> ReadFile:
        """The facts that a file would have with this text, within the limits that other files are read in."""


class EditedSource:
    """A source as it would be after an edit: changed texts lie over it, everything else comes from below."""

    def __init__(self, below: Source, changed: Mapping[str, bytes], removed: Sequence[str] = ()) -> None:
        self._below = below
        self._changed: dict[str, bytes | None] = {**changed, **dict.fromkeys(removed)}
        self._facts: dict[str, ReadFile] = {}
        self.manifests = below.manifests
        self.holders = below.holders
        self.settings = below.settings
        self.skipped = below.skipped
        self.unasked = below.unasked
        self.read = below.read

    def files(self) -> Sequence[str]:
        kept = (path for path in self._below.files() if path not in self._changed)
        return sorted([*kept, *(path for path, text in self._changed.items() if text is not None)])

    def facts(self, path: str) -> ReadFile | None:
        if path not in self._changed:
            return self._below.facts(path)
        text = self._changed[path]
        if text is not None and path not in self._facts:
            self._facts[path] = self.read(path, text)
        return self._facts.get(path)

    def links(self, path: str) -> Links | Unreadable | None:
        return shorten(self.facts(path)) if path in self._changed else self._below.links(path)

    def candidates(self, name: str) -> Sequence[str]:
        wanted = name.encode()
        found = {path for path in self._below.candidates(name) if path not in self._changed}
        return sorted(found | {path for path, text in self._changed.items() if text and wanted in text})

    def text(self, path: str) -> bytes | None:
        return self._changed[path] if path in self._changed else self._below.text(path)


def list_folders(files: Iterable[str]) -> frozenset[str]:
    """Return every folder above these files."""
    folders = {""}
    for path in files:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return frozenset(folders)


def folders_up(folder: str) -> Iterator[str]:
    """Yield the folder and those around it, to the root."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def may_hold_code(path: str) -> bool:
    """Decided by its name; a file without an ending may be a program."""
    return path.endswith(HOLDERS) or "." not in path.rpartition("/")[2]


def find_holders(
    source: Source, names: Sequence[str], modules: Sequence[str], is_from_python: bool
) -> Iterator[str]:
    """Files beside the sources that seem to load one of these modules, or to take one of these names."""
    stems = b"|".join(re.escape(word.encode()) for word in modules if word)
    named = b"|".join(re.escape(word.encode()) for word in names)
    name = re.compile(rb"(?<![\w$])(?:" + named + rb")(?![\w$])")
    spelled = rb"\b(?:import|from)\s+[\w.]*\b(?:" if is_from_python else rb"[/\"'`](?:"
    module = re.compile(spelled + stems + (rb")\b" if is_from_python else rb")(?:\.\w+)*[\"'`]"))
    for path, text in source.holders([*names, *(word for word in modules if word)]):
        program = INTERPRETER.match(text)
        if not path.endswith(HOLDERS) and program is None:
            continue
        if (program is not None and program[1] == b"python") != is_from_python:
            continue
        loads = any(word in text for word in (b"import", b"require", b"<script"))
        if (loads and name.search(text)) or (stems and module.search(text)):
            yield path


def shorten(facts: ReadFile | None) -> Links | Unreadable | None:
    return links_of(facts) if isinstance(facts, FileFacts) else facts


def line_and_column(text: bytes, offset: int) -> tuple[int, int]:
    """Both count from one; columns count characters."""
    start = text.rfind(b"\n", 0, offset) + 1
    return text.count(b"\n", 0, offset) + 1, len(text[start:offset].decode("utf-8", "replace")) + 1
