"""The files of a project as they are now: named paths, lists of files, and guarded writes.

Paths are relative to the project with `/` between names. A name that is not UTF-8 is carried by
surrogateescape; `contract.wording.make_readable` makes it printable. Only files below the project count,
even if the repository around it is larger. Nothing here raises for an unusual project: what cannot be
observed is `Unseen`, with a reason in plain English. Nothing writes into git's own files or starts a program
of the repository.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

MOST_PLACES = 200
"""Most places that one call reads."""
MOST_PLACE_BYTES = 5_000_000
"""Most bytes of one file in which a line is searched for."""
MOST_FILES = 100_000
"""Most files that a list of a project has."""
LIST_SECONDS = 10.0
"""How long listing the files of a project may take."""

NO_ENDING = "/"
"""As the last of the endings that files are listed by: include files whose name has no dot."""

FileMode: TypeAlias = Literal["file", "executable", "link", "absent"]
PlaceState: TypeAlias = Literal["here", "missing", "outside", "unreadable", "line_missing"]


class PlaceAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A place that a caller names; line 0 means the file or directory as a whole."""

    path: str
    line: int = 0
    end: int = 0
    """The last line of a range; 0 for a single line."""
    written: str = ""
    """The text that path and line were read from: a file with exactly this name takes precedence."""


class PlaceSeen(msgspec.Struct, frozen=True, kw_only=True):
    """What is at a place. `unreadable` means that it could not be read, and `note` says why."""

    path: str
    line: int = 0
    state: PlaceState
    note: str = ""


class LocatedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a caller names, as trees name it."""

    paths: tuple[str, ...] = ()
    """The path of the file, and the target if it is a link; if it does not exist, every path it may mean.

    Empty for the project itself and for paths outside.
    """


class TreeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One file. Only the executable bit of its mode counts, and a link is the text of its target."""

    path: str
    mode: FileMode
    digest: str
    """`sha1:…` or `sha256:…`, the id that git gives the bytes on the disk. Empty when absent."""
    size: int


class ListedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file at the moment when the files were listed."""

    path: str
    mode: FileMode
    content: str
    """A name for the content: two files of a project with the same name have the same content; empty if
    unreadable.
    """
    size: int
    changed_ns: int
    """When it last changed, according to the file system."""
    inode: int


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """Files of a project at one moment, changed or not."""

    files: tuple[ListedFile, ...]
    """Sorted by path."""
    listed_at: int
    """When listing began, minus the possible clock difference; files changed earlier were listed as they
    are.
    """


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """No answer, and the reason as the end of a sentence, such as "the project is a bare repository"."""

    reason: str


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A path that was skipped, and the reason as the end of a sentence."""

    path: str
    why: str


def absent(path: str) -> TreeEntry:
    """Return the entry of a path that does not exist."""
    return TreeEntry(path=path, mode="absent", digest="", size=0)


def describe_content(path: str, mode: FileMode, content: bytes) -> TreeEntry:
    """Return the entry of a file with this content, or of a link with this target."""
    hasher = hashlib.sha256(b"blob %d\0" % len(content) + content)
    return TreeEntry(path=path, mode=mode, digest=f"sha256:{hasher.hexdigest()}", size=len(content))


READ_ONLY = "it is read-only"
"""Reason for leaving out a write that spares read-only files."""


class PresentFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it is on the disk."""

    entry: TreeEntry
    content: bytes


class FileWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The wanted state of one file; `absent` removes it."""

    path: str
    mode: FileMode
    content: bytes = b""
    """The new content; the target if it is a link."""
    before: TreeEntry
    """The state that the file must have now; Handrail leaves a file in any other state alone."""
    before_content: bytes = b""
    """The present content, to be restored if an all-or-nothing write fails."""
    spares_read_only: bool = False
    """Whether a file that is read-only by its mode is left alone."""


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """The result of writing files."""

    changed: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class TreeLook(Protocol):
    """Reads the files of a project; no method changes one. The limits above hold for all methods."""

    def see_places(self, project: str, asked: Sequence[PlaceAsked]) -> tuple[PlaceSeen, ...]:
        """Return one answer per place, in the same order. Reads the named paths and nothing else.

        Confined to the project: a path or link that leads out of it is `outside`, and is not opened. Files
        of git or of Handrail are `unreadable`, whether they exist or not; so are lines of credentials and of
        files of other users. A directory is `here` for line 0. A text that is no plain path but contains the
        path of an existing file is `unreadable`.
        """

    def locate_files(self, project: str, named: Sequence[str]) -> tuple[LocatedFile, ...]:
        """Return the files that these texts mean, however they are spelt.

        One answer each, in the same order.
        """

    def list_files(
        self, project: str, suffixes: Sequence[str], seconds: float = LIST_SECONDS
    ) -> FileList | Unseen:
        """Return all present files with one of these endings, as git lists them.

        Works without a repository too.
        """

    def find_text(
        self, project: str, files: Iterable[ListedFile], needles: Sequence[bytes], most_bytes: int
    ) -> Iterator[tuple[ListedFile, bytes | None]]:
        """Yield the files that contain one of the needles, with their contents; without needles, all files.

        In the given order, one at a time. None stands for the content of a file that changed since it was
        listed. A file that is larger than allowed, not a plain file, or was not readable when listed is
        skipped.
        """

    def read_files(self, project: str, paths: Collection[str]) -> Mapping[str, PresentFile]:
        """Return these files as they are now, by path.

        Skips what is not a file, too large, or not readable.
        """

    def find_obstacles(self, project: str, writes: Sequence[FileWrite]) -> tuple[LeftOut, ...]:
        """Return the writes that would be left out now, with the reasons. Changes nothing."""

    def is_unfinished(self, project: str) -> bool:
        """Whether a process was killed while it wrote files, so that only some of them are written."""


class Worktree(TreeLook, Protocol):
    """Reads and writes files of a project."""

    def write_files(self, project: str, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        """Write all files through a journal: after a crash each file is old or new.

        With `is_whole` nothing is written unless every file can be, and the next `write_files` or `settle`
        takes back what a killed process wrote. Without it, every file that can be written is, and the next
        call finishes what a killed process began. Never follows a link and never leaves the project. Leaves
        alone every file that is not as `before` says, such as an ignored file or one that changed
        meanwhile. Raise Fault E_IO before the first file is touched; a later problem leaves a file out.
        """

    def settle(self, project: str) -> Written | None:
        """Finish or take back what a killed process began to write; return None if there is nothing to do."""


class UnseenWorktree:
    """`Worktree` that may not read files: for a store without a project, and over the network."""

    _REASON = "files are not looked at here"

    def see_places(self, project: str, asked: Sequence[PlaceAsked]) -> tuple[PlaceSeen, ...]:
        del project
        return tuple(
            PlaceSeen(path=place.path, line=place.line, state="unreadable", note=self._REASON)
            for place in asked
        )

    def locate_files(self, project: str, named: Sequence[str]) -> tuple[LocatedFile, ...]:
        del project
        return tuple(LocatedFile() for _ in named)

    def list_files(
        self, project: str, suffixes: Sequence[str], seconds: float = LIST_SECONDS
    ) -> FileList | Unseen:
        del project, suffixes, seconds
        return Unseen(reason=self._REASON)

    def find_text(
        self, project: str, files: Iterable[ListedFile], needles: Sequence[bytes], most_bytes: int
    ) -> Iterator[tuple[ListedFile, bytes | None]]:
        del project, files, needles, most_bytes
        return iter(())

    def read_files(self, project: str, paths: Collection[str]) -> Mapping[str, PresentFile]:
        del project, paths
        return {}

    def find_obstacles(self, project: str, writes: Sequence[FileWrite]) -> tuple[LeftOut, ...]:
        del project
        return tuple(LeftOut(path=write.path, why=self._REASON) for write in writes)

    def write_files(self, project: str, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        del is_whole
        return Written(left_out=self.find_obstacles(project, writes))

    def is_unfinished(self, project: str) -> bool:
        del project
        return False

    def settle(self, project: str) -> Written | None:
        del project
        return None


# Facts about source files, kept between calls by content. A cache: losing it costs only time


MOST_FACT_PROJECTS = 16
"""Most projects with kept facts; Handrail drops those that were used longest ago."""
MOST_FACT_BYTES = 2_000_000_000
"""Most bytes of facts of one project; beyond that, Handrail reads the facts from the files again."""


MOST_SOUGHT = 16
"""Most texts for which a project remembers the files that lack them."""
MOST_SOUGHT_BYTES = 8_000_000
"""Most bytes of one remembered text."""


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """A text that was not found, among contents of which no facts are kept."""

    listed_at: int
    """When the files were listed; a file that changed later may have had another content."""
    digests: frozenset[str]


class KeptFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about one content."""

    key: str
    """Identifies the content and how it was read."""
    words: str
    """Every run of letters, digits, `_`, `$` and characters beyond ASCII, each once, one per line."""
    body: bytes


class FactView(Protocol):
    """The kept facts of a project. Nothing here raises: broken facts count as not kept."""

    def find_kept(self) -> frozenset[str]:
        """Return the keys of all kept facts."""

    def find_with(self, word: str) -> frozenset[str]:
        """Return the keys of the contents that have this text within one of their words."""

    def find_sought(self, text: str) -> Sought | None:
        """Return what earlier searches for this text found out; None if nothing is remembered."""

    def keep_sought(self, text: str, sought: Sought) -> None:
        """Remember the result of a search, in place of an earlier one; the oldest are dropped."""

    def load(self, keys: Collection[str]) -> Mapping[str, bytes]:
        """Return the bodies of the kept facts among these keys."""

    def keep(self, facts: Sequence[KeptFacts]) -> None:
        """Add facts; several processes may add the same ones."""

    def forget_others(self, count: int, list_keys: Callable[[], Iterable[str]]) -> None:
        """Drop facts that no current file needs, if those are most of what is kept.

        `count` is the number of current files, and `list_keys` gives the keys that they need.
        """


class FactStore(Protocol):
    """The kept facts of all projects of this home."""

    def open_view(self, project: str, form: str) -> AbstractContextManager[FactView]:
        """Open the facts of one project.

        Facts of another form (of another version of Handrail) are dropped.
        """


class NothingKept:
    """`FactStore` and `FactView` that keep nothing, so every file is read again."""

    def open_view(self, project: str, form: str) -> AbstractContextManager[FactView]:
        del project, form
        return self

    def __enter__(self) -> FactView:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def find_kept(self) -> frozenset[str]:
        return frozenset()

    def find_with(self, word: str) -> frozenset[str]:
        del word
        return frozenset()

    def find_sought(self, text: str) -> Sought | None:
        del text
        return None

    def keep_sought(self, text: str, sought: Sought) -> None:
        del text, sought

    def load(self, keys: Collection[str]) -> Mapping[str, bytes]:
        del keys
        return {}

    def keep(self, facts: Sequence[KeptFacts]) -> None:
        del facts

    def forget_others(self, count: int, list_keys: Callable[[], Iterable[str]]) -> None:
        del count, list_keys
