"""The files of a project as they are: named places, whole trees, and what differs between two of them.

Paths are relative to the project with `/` between names. A name that is not UTF-8 is carried by
surrogateescape; `contract.wording.make_readable` makes it fit to show. Only files below the project count,
also where the repository around it is larger. Nothing here raises for an odd tree: what cannot be seen is
`Unseen`, with a reason in plain English. Nothing of the repository is written or started.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, TypeAlias

import msgspec

MOST_PLACES = 200
"""Places that one call looks at."""
MOST_PLACE_BYTES = 5_000_000
"""Bytes of one file that a line is looked for in."""
MOST_FILES = 100_000
"""Files of a tree."""
LIST_SECONDS = 10.0
"""How long listing the files of a project may take."""

NO_ENDING = "/"
"""As the last of the endings that files are listed by: also those whose name has no dot."""

FileMode: TypeAlias = Literal["file", "executable", "link", "absent"]
PlaceState: TypeAlias = Literal["here", "missing", "outside", "unreadable", "line_missing"]


class PlaceAsked(msgspec.Struct, frozen=True, kw_only=True):
    """A place that somebody names; line 0 means the file or directory as a whole."""

    path: str
    line: int = 0
    end: int = 0
    """The last line, where several are named."""
    written: str = ""
    """The text that path and line were read from: a file of that name comes first."""


class PlaceSeen(msgspec.Struct, frozen=True, kw_only=True):
    """What is there. `unreadable` means that it could not be looked at, and `note` says why."""

    path: str
    line: int = 0
    state: PlaceState
    note: str = ""


class LocatedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that somebody names, as trees name it."""

    paths: tuple[str, ...] = ()
    """The file, and where it leads to if it is a link; of one that is not there, every path it may mean.

    None for the project itself, or outside.
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
    """Names what it holds: two files of a project with the same name hold the same. Empty: not readable."""
    size: int
    changed_ns: int
    """When it last changed, as the file system tells it."""
    inode: int


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    """Files of a project at one moment, changed or not."""

    files: tuple[ListedFile, ...]
    """Sorted by path."""
    listed_at: int
    """When listing began, less what clocks may differ by: what changed earlier was seen as it is."""


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """Nothing can be said, and why: the end of a sentence, such as "the project is a bare repository"."""

    reason: str


class LeftOut(msgspec.Struct, frozen=True, kw_only=True):
    """A path that something was not done with, and why, as the end of a sentence."""

    path: str
    why: str


def absent(path: str) -> TreeEntry:
    """The entry of a path that is not there."""
    return TreeEntry(path=path, mode="absent", digest="", size=0)


def describe_content(path: str, mode: FileMode, content: bytes) -> TreeEntry:
    """The entry of a file with this content, or of a link with this target."""
    hasher = hashlib.sha256(b"blob %d\0" % len(content) + content)
    return TreeEntry(path=path, mode=mode, digest=f"sha256:{hasher.hexdigest()}", size=len(content))


READ_ONLY = "it is read-only"
"""Why a write is left out that spares such files."""


class PresentFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file as it is on the disk."""

    entry: TreeEntry
    content: bytes


class FileWrite(msgspec.Struct, frozen=True, kw_only=True):
    """One file as it is to become; `absent` removes it."""

    path: str
    mode: FileMode
    content: bytes = b""
    """Of a link: its target."""
    before: TreeEntry
    """As it must be now, else it is left alone."""
    before_content: bytes = b""
    """Of a write that is whole or nothing: what it is now, to be brought back."""
    spares_read_only: bool = False
    """A file that nobody may write to by its mode is left alone."""


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What came of writing files."""

    changed: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


class TreeLook(Protocol):
    """Looks at the files of a project; no method changes one. The limits above hold for all of them."""

    def see_places(self, project: str, asked: Sequence[PlaceAsked]) -> tuple[PlaceSeen, ...]:
        """One answer per place, in the same order. Looks at the named paths and at nothing else.

        Confined to the project: a path or link that leads out of it is `outside`, and is not opened. What
        belongs to git or to Handrail is `unreadable`, there or not; so are lines of credentials and of files
        of others. A directory is `here` for line 0. A text that is no plain path but holds the path of
        something that is there is `unreadable`.
        """

    def locate_files(self, project: str, named: Sequence[str]) -> tuple[LocatedFile, ...]:
        """What these texts mean, however they are spelt; one answer each, in the same order."""

    def list_files(
        self, project: str, suffixes: Sequence[str], seconds: float = LIST_SECONDS
    ) -> FileList | Unseen:
        """All files with one of these endings now, as git lists them; also where there is no repository."""

    def find_text(
        self, project: str, files: Iterable[ListedFile], needles: Sequence[bytes], most_bytes: int
    ) -> Iterator[tuple[ListedFile, bytes | None]]:
        """Those of these files that hold one of the needles, with their contents; without needles, all.

        In their order, one at a time. None stands for the content of a file that changed since it was listed.
        A file that is larger, not a plain one, or was not readable then is left out.
        """

    def read_files(self, project: str, paths: Collection[str]) -> Mapping[str, PresentFile]:
        """These files as they are now, by path; without what is no file, too large, or not to be read."""

    def find_obstacles(self, project: str, writes: Sequence[FileWrite]) -> tuple[LeftOut, ...]:
        """Why some of these writes would be left out, as things are. Changes nothing."""

    def is_unfinished(self, project: str) -> bool:
        """Whether a process was killed while it wrote files, and some are written and some are not."""


class Worktree(TreeLook, Protocol):
    """Writes files of a project too."""

    def write_files(self, project: str, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        """Write all of them through a journal: after a crash each file is old or new.

        With `is_whole` nothing is written unless every one of them can be, and the next `write_files` or
        `settle` takes back what a killed process wrote; without, it writes what is left. Never follows a
        link, never leaves the project, and leaves alone what is not as `before` says: an ignored file, or one
        that changed meanwhile. Raises Fault E_IO before the first file is touched; later trouble leaves a
        file out.
        """

    def settle(self, project: str) -> Written | None:
        """Finish what a killed process began to write, or take it back; None when there is nothing."""


class UnseenWorktree:
    """`Worktree` where nobody may look: in a store without a project, and over the network."""

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


# What is kept of source files between calls: facts by content. A cache, so its loss costs time only


MOST_FACT_PROJECTS = 16
"""Projects with kept facts; those used longest ago lose theirs."""
MOST_FACT_BYTES = 2_000_000_000
"""Of one project; more than that, and its facts are read again from the files."""


MOST_SOUGHT = 16
"""Texts of which a project remembers where they are not."""
MOST_SOUGHT_BYTES = 8_000_000
"""Of one of them."""


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """Where a text was looked for in vain, among contents of which no facts are kept."""

    listed_at: int
    """A file that changed later may have been read with another content."""
    digests: frozenset[str]


class KeptFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The facts of one content."""

    key: str
    """Names the content and how it was read."""
    words: str
    """Every run of letters, digits, `_`, `$` and characters beyond ASCII, each once, one per line."""
    body: bytes


class FactView(Protocol):
    """The kept facts of a project. Nothing here raises: what is broken counts as not kept."""

    def find_kept(self) -> frozenset[str]:
        """The keys of everything that is kept."""

    def find_with(self, word: str) -> frozenset[str]:
        """The keys of what holds this text within one of its words."""

    def find_sought(self, text: str) -> Sought | None:
        """What is remembered of looking for it."""

    def keep_sought(self, text: str, sought: Sought) -> None:
        """Remember it, instead of what was known; the oldest are forgotten."""

    def load(self, keys: Collection[str]) -> Mapping[str, bytes]:
        """The bodies of those that are kept."""

    def keep(self, facts: Sequence[KeptFacts]) -> None:
        """Add them; several processes may add the same."""

    def forget_others(self, count: int, list_keys: Callable[[], Iterable[str]]) -> None:
        """Drop what none of so many files has any more, when that is most of what is kept."""


class FactStore(Protocol):
    """The facts of all projects of this home."""

    def open_view(self, project: str, form: str) -> AbstractContextManager[FactView]:
        """Those of one project; facts of another form, from another version, are dropped."""


class NothingKept:
    """`FactStore` and `FactView` that keep nothing: every file is read again."""

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
