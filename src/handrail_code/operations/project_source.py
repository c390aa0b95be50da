"""The sources of a project for the code tools: files and freshness from the worktree, facts from the store.

Lazy first: a question names a text, only the files that hold it are analysed, and what was analysed is kept.
Whether a file holds a text is asked of the kept words or of its bytes; both say the same, so no answer
depends on what happens to be kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UnsetType

from handrail.contract.catalogue import E_CONFLICT, E_IO
from handrail.contract.credential_files import holds_credentials
from handrail.contract.outcome import Fault
from handrail.contract.wording import has_whole_characters, shorten
from handrail.ports.worktree import (
    NO_ENDING,
    FactView,
    FileList,
    KeptFacts,
    ListedFile,
    Sought,
    TreeLook,
    Unseen,
)
from handrail.runtime.runtime import ReadPorts
from handrail_code.facts.compiler_settings import read_jsonc
from handrail_code.facts.model import FACTS_VERSION, FileFacts, Links, Unreadable, links_of
from handrail_code.facts.python_words import PYTHON, is_python
from handrail_code.facts.source import HOLDERS, MANIFEST, Skipped, may_hold_code
from handrail_code.languages.extensions import LANGUAGES, is_declaration_file

MOST_SOURCE_BYTES = 2_000_000
"""A larger source file is skipped."""
MOST_PARSE_MS = 5_000
"""Of processor time for one source file: the parser takes very long for large files that are all errors."""
LONGEST_SCAN_SECONDS = 20.0
"""How long listing the files of a project may take."""

AskedLanguage: TypeAlias = Literal["javascript", "python"]
"""TypeScript is `javascript` here: a project mixes both."""
EVERY_LANGUAGE: Final = frozenset[AskedLanguage]({"javascript", "python"})

_SKIPPED_FOLDERS = {
    **dict.fromkeys(("node_modules", "bower_components", "jspm_packages"), "installed"),
    **dict.fromkeys(("site-packages", ".venv", "venv", ".tox", ".nox", ".eggs", "__pycache__"), "installed"),
    **dict.fromkeys(("dist", "coverage", ".next", ".nuxt", ".svelte-kit", ".output", ".turbo"), "generated"),
}
"""By path segment, never by a part of a name: `dist/` is skipped and `dialogs/` or `distance/` is not."""
_SKIPPED_FOLDER = re.compile(rf"(?:^|/)({'|'.join(map(re.escape, _SKIPPED_FOLDERS))})/")
_MINIFIED_NAME = re.compile(r"[.-]min\.[cm]?js$")
_ODD_PARTS = ("min.", ".env", ".ssh/")
"""What names to skip may have: of minified files, and of credentials that look like code."""
_GENERATED_MARK = re.compile(rb"@generated\b|\bDO NOT EDIT\b")
_MARK_BYTES = 1_000
_MINIFIED_BYTES = 10_000
_MINIFIED_LINE = 1_000
"""A file whose lines are this long on average was not written by a person."""
_WORD = re.compile(rb"[0-9A-Za-z_$\x80-\xff]+")
_T = TypeVar("_T")
_F = TypeVar("_F", FileFacts, Links)
_TRIES = 5
_KEPT_AT_ONCE = 200
_MEMORY_OF_FACTS = 12_000_000
"""How many bytes of source have their facts in memory; decoded they take several times as much."""
_LOADED_AT_ONCE = 300
_WORTH_REMEMBERING = 64
"""Files that were read in vain."""
_TEXT_MEMORY_BYTES = 32_000_000

_FACTS, _UNREADABLE, _SKIPPED = b"f", b"u", b"s"


class FilesChangedError(Exception):
    """A file is not as it was when the files were listed."""


class ProjectSource:
    """`code_tools.facts.source.Source` of one call: it sees the files as they were when it was opened."""

    def __init__(
        self,
        worktree: TreeLook,
        project: str,
        view: FactView,
        listed: FileList,
        processor_ms: Callable[[], int],
        languages: frozenset[AskedLanguage] = EVERY_LANGUAGE,
    ) -> None:
        self._processor_ms = processor_ms
        self._worktree = worktree
        self._project = project
        self._view = view
        self._listed = listed
        self._settings_files: dict[str, ListedFile] = {}
        self._skipped: dict[str, str] = {}
        self.entries: dict[str, ListedFile] = {}
        self._holders: list[ListedFile] = []
        self._others: list[ListedFile] = []
        """Files in languages that nobody asked about: their facts are kept all the same."""
        odd_names = _find_odd_names(listed.files)
        for entry in listed.files:
            path = entry.path
            if not path.isascii() and not has_whole_characters(path):
                self._skipped[path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")] = (
                    "name_not_utf8"
                )
            elif path.endswith(".json"):
                if "node_modules" not in path.split("/"):
                    self._settings_files[path] = entry
            elif may_hold_code(path):
                if entry.mode != "link" and not _explain_skipped(entry):
                    self._holders.append(entry)
            elif ("python" if path.endswith(PYTHON) else "javascript") not in languages:
                self._others.append(entry)
            elif (entry.size > MOST_SOURCE_BYTES or not entry.content or path in odd_names) and (
                reason := _explain_skipped(entry)
            ):
                self._skipped[path] = reason
            elif entry.mode != "link":
                self.entries[path] = entry
        self._kept = view.find_kept()
        self._facts: dict[str, FileFacts | Unreadable | None] = {}
        self._bytes_of_facts = 0
        self._bodies: dict[str, bytes] = {}
        self._texts: dict[str, bytes] = {}
        self._text_bytes = 0
        self._new: dict[str, KeptFacts] = {}
        self._added: set[str] = set()
        """Keys of what this call has given to the store, which may have it or not."""
        self._settings: dict[str, object | None] = {}
        self._candidates: dict[str, tuple[str, ...]] = {}

    def files(self) -> Sequence[str]:
        return tuple(path for path in self.entries if path not in self._skipped)

    def manifests(self) -> Sequence[str]:
        return tuple(path for path in self._settings_files if path.rpartition("/")[2] == MANIFEST)

    def facts(self, path: str) -> FileFacts | Unreadable | None:
        if path in self._facts or path not in self.entries:
            return self._facts.get(path)
        body = self._load(path)
        found = self._analyse(path) if body is None else self._decode(path, body, FileFacts)
        size = self.entries[path].size
        while self._facts and self._bytes_of_facts + size > _MEMORY_OF_FACTS:
            oldest = next(iter(self._facts))
            self._bytes_of_facts -= self.entries[oldest].size
            del self._facts[oldest]
        self._bytes_of_facts += size
        self._facts[path] = found
        return found

    def links(self, path: str) -> Links | Unreadable | None:
        """The same as of the facts, decoded alone, which takes little time and leaves nothing behind."""
        body = None if path in self._facts or path not in self.entries else self._load(path)
        found = self.facts(path) if body is None else self._decode(path, body, Links)
        return links_of(found) if isinstance(found, FileFacts) else found

    def _load(self, path: str) -> bytes | None:
        """What is kept of the file, taken out of memory."""
        key = _key(self.entries[path])
        if key in self._new:
            return self._new[key].body
        if key not in self._bodies and (key in self._kept or key in self._added):
            self._bodies.update(self._view.load([key]))
        return self._bodies.pop(key, None)

    def candidates(self, name: str) -> Sequence[str]:
        known = self._candidates.get(name)
        if known is None:
            known = self._candidates[name] = tuple(self._find_candidates(name))
        return tuple(path for path in known if path not in self._skipped)

    def text(self, path: str) -> bytes | None:
        if path in self._texts:
            return self._texts[path]
        entry = self.entries.get(path)
        found = None if entry is None else self._read_one(entry)
        if found is not None:
            self._remember(path, found)
        return found

    def holders(self, words: Sequence[str]) -> Sequence[tuple[str, bytes]]:
        needles = [word.encode("utf-8", "surrogatepass") for word in words]
        found = self._worktree.find_text(self._project, self._holders, needles, MOST_SOURCE_BYTES)
        return [(entry.path, text) for entry, text in found if text is not None]

    def settings(self, path: str) -> object | None:
        if path not in self._settings:
            entry = self._settings_files.get(path)
            text = None if entry is None else self._read_one(entry)
            self._settings[path] = None if text is None else read_jsonc(text.decode("utf-8", "replace"))
        return self._settings[path]

    def skipped(self) -> Sequence[Skipped]:
        return tuple(Skipped(path=path, reason=self._skipped[path]) for path in sorted(self._skipped))

    def unasked(self) -> Sequence[str]:
        looked_at = (one for one in self._others if one.mode != "link" and not _explain_skipped(one))
        return tuple(one.path for one in looked_at)

    @property
    def known(self) -> frozenset[str]:
        """Every path that can be distinguished from a mistyped one."""
        return frozenset((*self.entries, *self._skipped, *self.unasked()))

    def finish(self) -> None:
        """Keep what was analysed."""
        if self._new or self._added:
            self._view.keep(list(self._new.values()))
            entries = (*self.entries.values(), *self._others)
            self._view.forget_others(len(entries), lambda: [_key(entry) for entry in entries])
        self._new = {}

    def _find_candidates(self, name: str) -> list[str]:
        needle = name.encode("utf-8", "surrogatepass")
        is_word = _WORD.fullmatch(needle) is not None
        holding = self._view.find_with(name) if is_word else frozenset()
        kept = {key.partition(":")[2] for key in self._kept} if is_word else set()
        sought = self._view.find_sought(name)
        absent: frozenset[str] = frozenset() if sought is None else sought.digests
        absent_before = 0 if sought is None else sought.listed_at
        found: list[str] = []
        unknown: list[ListedFile] = []
        for path, entry in self.entries.items():
            if entry.content in kept and (key := _key(entry)) in self._kept:
                if key in holding:
                    found.append(path)
            elif entry.content not in absent or entry.changed_ns >= absent_before:
                unknown.append(entry)
        missing = [key for path in found if (key := _key(self.entries[path])) not in self._bodies]
        self._bodies = dict(self._view.load(missing[:_LOADED_AT_ONCE]))
        holders: set[str] = set()
        for entry, text in self._worktree.find_text(self._project, unknown, [needle], MOST_SOURCE_BYTES):
            if text is None:
                raise FilesChangedError
            found.append(entry.path)
            holders.add(entry.content)
            self._remember(entry.path, text)
        if len(unknown) - len(holders) >= _WORTH_REMEMBERING:
            self._keep_sought(name, absent.union(one.content for one in unknown) - holders)
        return sorted(found)

    def _keep_sought(self, name: str, digests: frozenset[str]) -> None:
        """So that the next question about this name reads what holds it, and nothing else."""
        present = digests.intersection(entry.content for entry in self.entries.values())
        self._view.keep_sought(name, Sought(listed_at=self._listed.listed_at, digests=present))

    def _decode(self, path: str, body: bytes, wanted: type[_F]) -> _F | FileFacts | Unreadable | None:
        kind, content = body[:1], body[1:]
        try:
            if kind == _FACTS:
                return msgspec.msgpack.decode(content, type=wanted)
            if kind == _UNREADABLE:
                return msgspec.msgpack.decode(content, type=Unreadable)
            if kind == _SKIPPED:
                self._skipped[path] = content.decode()
                return None
        except (msgspec.MsgspecError, UnicodeDecodeError):
            pass  # damaged: it is read again
        return self._analyse(path)

    def read(self, path: str, text: bytes) -> FileFacts | Unreadable:
        # The grammars are loaded by the first text that is not kept.
        from handrail_code.languages.reading import read_facts  # noqa: PLC0415 - see above

        ends_at = self._processor_ms() + MOST_PARSE_MS
        return read_facts(path, text, lambda: self._processor_ms() < ends_at)

    def _analyse(self, path: str) -> FileFacts | Unreadable | None:
        text = self.text(path)
        assert text is not None, "a file that cannot be read is skipped"
        reason = find_mark(text)
        if reason:
            self._skipped[path] = reason
            self._note(path, text, _SKIPPED + reason.encode())
            return None
        found = self.read(path, text)
        if isinstance(found, Unreadable) and found.reason == "too_long_to_parse":
            return found  # not kept: a faster machine may read it
        kind = _FACTS if isinstance(found, FileFacts) else _UNREADABLE
        self._note(path, text, kind + msgspec.msgpack.encode(found))
        return found

    def _note(self, path: str, text: bytes, body: bytes) -> None:
        key = _key(self.entries[path])
        self._new[key] = KeptFacts(key=key, words=list_words(text), body=body)
        if len(self._new) >= _KEPT_AT_ONCE:
            self._view.keep(list(self._new.values()))
            self._added |= self._new.keys()
            self._new = {}

    def _read_one(self, entry: ListedFile) -> bytes | None:
        for _, text in self._worktree.find_text(self._project, [entry], (), MOST_SOURCE_BYTES):
            if text is None:
                raise FilesChangedError
            return text
        return None

    def _remember(self, path: str, text: bytes) -> None:
        """Contents are read again when there are too many of them."""
        if self._text_bytes + len(text) > _TEXT_MEMORY_BYTES:
            self._texts.clear()
            self._text_bytes = 0
        self._text_bytes += len(text)
        self._texts[path] = text


def list_languages(asked: Sequence[AskedLanguage] | UnsetType, subject: str = "") -> frozenset[AskedLanguage]:
    """Those that are asked for, and that of the file which a token is about."""
    if isinstance(asked, UnsetType) or not asked:
        return EVERY_LANGUAGE
    return frozenset({*asked, "python"}) if is_python(subject) else frozenset(asked)


def read_sources(
    rt: ReadPorts,
    project: str,
    work: Callable[[ProjectSource], _T],
    languages: frozenset[AskedLanguage] = EVERY_LANGUAGE,
) -> _T:
    """Do something with the sources of a project as they are now, all at one moment.

    Raises Fault E_IO when they cannot be listed, E_CONFLICT when they change again and again meanwhile.
    """
    for _ in range(_TRIES):
        with suppress(FilesChangedError), _open_source(rt, project, languages) as source:
            return work(source)
    raise Fault(
        E_CONFLICT,
        "The files of the project change while they are read.",
        details={"reason": "target_changed"},
        hint="Wait until nothing writes to them, then send the same call again.",
    )


@contextmanager
def _open_source(rt: ReadPorts, project: str, languages: frozenset[AskedLanguage]) -> Iterator[ProjectSource]:
    worktree = rt.worktree()
    suffixes = (*LANGUAGES, *HOLDERS, ".json", NO_ENDING)
    listed = worktree.list_files(project, suffixes, LONGEST_SCAN_SECONDS)
    if isinstance(listed, Unseen):
        raise Fault(
            E_IO,
            f"The files of the project cannot be listed: {listed.reason}.",
            details={"reason": shorten(listed.reason)},
        )
    with rt.facts().open_view(project, f"facts {FACTS_VERSION}") as view:
        source = ProjectSource(worktree, project, view, listed, rt.clock.processor_ms, languages)
        yield source
        source.finish()


def find_skip_reason(path: str, size: int = 0) -> str:
    """Why a file is not looked at, known without reading it; empty when it is."""
    folder = _SKIPPED_FOLDER.search(path)
    if folder is not None:
        return _SKIPPED_FOLDERS[folder[1]]
    if _MINIFIED_NAME.search(path):
        return "minified"
    if holds_credentials(path):
        return "holds_credentials"
    return "too_large" if size > MOST_SOURCE_BYTES else ""


def _explain_skipped(file: ListedFile) -> str:
    return find_skip_reason(file.path, file.size) or ("" if file.content else "unreadable")


def _find_odd_names(files: Sequence[ListedFile]) -> frozenset[str]:
    """Those that may be names to skip, found by their folders, which are few."""
    paths = [entry.path for entry in files]
    folders = {path[: path.rfind("/") + 1] for path in paths}
    odd = tuple(folder for folder in folders if not _SKIPPED_FOLDERS.keys().isdisjoint(folder.split("/")))
    joined = "\n".join(paths).lower()
    parts = tuple(part for part in _ODD_PARTS if part in joined)
    if not odd and not parts:
        return frozenset()
    return frozenset(
        path for path in paths if path.startswith(odd) or any(part in path.lower() for part in parts)
    )


def find_mark(text: bytes) -> str:
    """The same, by the content: nobody edits what a program wrote."""
    if _GENERATED_MARK.search(text[:_MARK_BYTES]):
        return "generated"
    if len(text) > _MINIFIED_BYTES and len(text) // (text.count(b"\n") + 1) > _MINIFIED_LINE:
        return "minified"
    return ""


def list_words(text: bytes) -> str:
    """The words of a text, each once: what has no other characters is in it just if it is in one of them."""
    return b"\n".join(sorted(set(_WORD.findall(text)))).decode("utf-8", "replace")


def count_skipped(skipped: Iterable[Skipped]) -> dict[str, int]:
    """How many files were skipped, by reason."""
    counts: dict[str, int] = {}
    for one in skipped:
        counts[one.reason] = counts.get(one.reason, 0) + 1
    return dict(sorted(counts.items()))


def _key(entry: ListedFile) -> str:
    """The content, and the ending of the name, which decides how it is read."""
    ending = entry.path[entry.path.rfind(".") :]
    return f"{'.d' if is_declaration_file(entry.path) else ''}{ending}:{entry.content}"
