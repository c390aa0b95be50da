"""Trees: the files of a project as git would commit them, with the ids that git gives.

A tree is what `git add -A` and a commit would record for the project's folder, so its id equals the id of
that folder in the commit. It is taken with Handrail's own git directory: no program of the repository runs,
and nothing in the repository is written. If the project is a subfolder of its repository, every path and
every tree id is that of the subfolder.

Paths are relative to the project with `/` between names. A name that is not UTF-8 is carried by
surrogateescape. Nothing here raises for an unusual project: what cannot be known is `Unseen`, with a reason
that ends a sentence, such as "the project is not in a git repository".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from handrail.ports.worktree import LeftOut, Unseen

TAKE_SECONDS = 10.0
CHANGED_SECONDS = 0.2
"""Time that a reply may spend on listing the changed files."""
MOST_READ_BYTES = 5_000_000
MOST_WRITTEN_BYTES = 100_000_000
"""Largest file that Handrail restores."""
MOST_STEP_BYTES = 32_000_000
"""Most bytes of new contents of one step; beyond that, only the names are kept."""

LASTING_PREFIX = "lasting/"
"""Prefix of the names of trees that are kept for some time, whatever happens to a run."""
LASTING_DAYS = 90

NO_GIT = "git is not installed"
"""Reason for `Unseen` if git is missing."""

GitMode: TypeAlias = Literal["100644", "100755", "120000", "160000"]
"""A file, an executable file, a symbolic link, or the commit of another repository."""
ChangeStatus: TypeAlias = Literal["added", "deleted", "changed", "mode"]
"""How a path differs; `mode` means that the content is the same."""


class TakenTree(msgspec.Struct, frozen=True, kw_only=True):
    """The files at one moment."""

    tree: str
    """The id of the tree, 40 or 64 hexadecimal digits."""
    head: str = ""
    """The commit that is checked out; empty before the first commit."""
    filtered: tuple[str, ...] = ()
    """Files with a `filter` attribute (Git LFS), sorted. The tree has them with the bytes on the disk, so
    they differ from those of a commit. A comparison with a commit leaves them out.
    """
    nested: tuple[str, ...] = ()
    """Submodules and other repositories inside; they count by the commit that is checked out in them."""
    left_out: tuple[LeftOut, ...] = ()
    """Paths that git would commit as they are now, but whose content was not read.

    These are files that are not readable, contain credentials or are very large, and repositories without a
    commit. The tree has them as git last had them, or not at all.
    """


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """A commit found by a name."""

    name: str
    """The name that was asked for, or the branch that was found."""
    commit: str
    tree: str
    """The tree of the project's folder in this commit."""
    root: str
    """The tree of the whole repository; equal to `tree` if the project is the repository."""


class GitEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One path of a tree."""

    path: str
    mode: GitMode
    object_id: str
    size: int = -1
    """Size in bytes; -1 if the content is not on this machine, or for another repository."""


class TreeChange(msgspec.Struct, frozen=True, kw_only=True):
    """One path that differs between two trees. Renames are a deletion and an addition."""

    path: str
    status: ChangeStatus
    added: int = 0
    """Number of added lines; 0 for a binary file."""
    removed: int = 0
    is_binary: bool = False
    before: GitEntry | None = None
    after: GitEntry | None = None


class EarlierFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a file snapshot that an earlier version of Handrail kept."""

    path: str
    mode: Literal["file", "executable", "link"]
    content: bytes | None = None
    """None if the content was not kept; git may still have the content of its id."""
    object_id: str = ""


class WrittenTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree that was written into a folder."""

    files: int
    left_out: tuple[LeftOut, ...] = ()
    """Links that lead out of the folder, other repositories, and contents that are not on this machine."""


class TreeReader(Protocol):
    """Reads trees and commits. No method writes anything."""

    def list_changed(
        self, project: str, tree: str, seconds: float = CHANGED_SECONDS
    ) -> tuple[str, ...] | Unseen:
        """Return the paths that differ from a tree that was taken here before, by their stamps; sorted.

        One child process, and no object is written. Unseen for a tree whose stamps are not kept any more.
        """

    def resolve(self, project: str, name: str) -> Revision | Unseen:
        """Return a commit by any name that git knows. Unseen if the commit was pruned."""

    def find_merge_base(self, project: str) -> Revision | Unseen:
        """Return where the present commit left the default branch: origin/HEAD, main or master."""

    def is_clean(self, project: str, taken: TakenTree) -> bool | Unseen:
        """Whether a tree equals the tree of its head, ignoring filtered files."""

    def has_tree(self, project: str, tree: str) -> bool:
        """Whether the tree can be listed on this machine."""

    def list_entries(self, project: str, tree: str) -> tuple[GitEntry, ...] | Unseen:
        """Return every path of a tree, sorted by the bytes of the path; folders are not listed."""

    def diff(self, project: str, before: str, after: str) -> tuple[TreeChange, ...] | Unseen:
        """Return what differs, sorted by the bytes of the path."""

    def read(self, project: str, object_id: str, most_bytes: int = MOST_READ_BYTES) -> bytes | None:
        """Return the content of a file as git keeps it; None if it is larger, or not on this machine."""

    def read_all(
        self, project: str, object_ids: Collection[str], most_bytes: int = MOST_READ_BYTES
    ) -> Mapping[str, bytes]:
        """Return the contents of several files; skips those that are larger or not on this machine."""

    def find_committed(self, project: str, object_ids: Collection[str]) -> frozenset[str]:
        """Return the objects among these that the project's own repository has."""


class Trees(TreeReader, Protocol):
    """Takes and builds trees, and writes them into other folders; never into the project."""

    def take(
        self, project: str, seconds: float = TAKE_SECONDS, *, is_anywhere: bool = False
    ) -> TakenTree | Unseen:
        """Return the present files. A file that did not change since the last tree costs one stat.

        Untracked files that tools leave behind (`__pycache__`) are in no tree. `is_anywhere` also works
        without a repository.
        """

    def find_filtered(self, project: str, tree: str, paths: Collection[str]) -> frozenset[str]:
        """Return the paths among these that have a `filter` attribute in a tree."""

    def find_ignored(self, project: str, tree: str, paths: Collection[str]) -> frozenset[str]:
        """Return the paths among these that the ignore files of a tree match.

        If git cannot answer, return all paths.
        """

    def read_written(
        self, project: str, tree: str, paths: Collection[str], most_bytes: int = MOST_WRITTEN_BYTES
    ) -> Mapping[str, bytes] | Unseen:
        """Return contents by path as a checkout writes them (for a link, its target), without larger files.

        No filter program runs. Contents that are not on this machine are missing.
        """

    def rebuild(
        self, project: str, commit: str, files: Sequence[EarlierFile], gone: Collection[str]
    ) -> str | Unseen:
        """Return the id of the tree of a commit with these files in place of its own; `commit` may be empty.

        Skips a file without content if git does not have its id.
        """

    def build(self, project: str, entries: Sequence[GitEntry]) -> str | Unseen:
        """Return the id of a tree with these entries, in any order, from any trees of the project.

        Unseen if a path occurs twice, is below a file, or is not plain (`..`, `.git`).
        """

    def write_out(
        self, project: str, tree: str, folder: str, keep: Collection[str] = ()
    ) -> WrittenTree | Unseen:
        """Make a folder contain exactly the files of a tree, as a checkout would write them.

        Other files in the folder are removed, except the names in `keep`: paths relative to the folder, such
        as `node_modules`. Files that are already right are not written again. The folder must be outside of
        the project, and is created if missing. Unseen if it has files and this method did not write it
        before. A link that leads out of the folder is left out.
        """

    def keep(self, project: str, name: str, tree: str) -> str:
        """Keep a tree until `drop`, under a name such as `run_…/n12`.

        Return the reason if that failed, else "".

        A tree that was taken or built and is not kept may be gone after two weeks.
        """

    def drop(self, project: str, prefix: str) -> None:
        """Stop keeping every tree whose name has this prefix."""

    def pack_step(
        self, project: str, tree: str, known: Sequence[str] = (), most_bytes: int = MOST_READ_BYTES
    ) -> bytes | Unseen:
        """Return what a tree has beyond the known trees and commits, as one git pack; empty if nothing.

        Leaves out contents above `most_bytes`; with 0 the pack has only names and ids.
        """

    def unpack(self, project: str, content: bytes) -> str:
        """Import such a pack. Return the reason if that failed, else an empty text."""


class UnseenTrees:
    """`Trees` that may not read files: for a store without a project, and over the network."""

    _UNSEEN = Unseen(reason="files are not looked at here")

    def take(
        self, project: str, seconds: float = TAKE_SECONDS, *, is_anywhere: bool = False
    ) -> TakenTree | Unseen:
        del project, seconds, is_anywhere
        return self._UNSEEN

    def find_committed(self, project: str, object_ids: Collection[str]) -> frozenset[str]:
        del project, object_ids
        return frozenset()

    def find_filtered(self, project: str, tree: str, paths: Collection[str]) -> frozenset[str]:
        del project, tree, paths
        return frozenset()

    def find_ignored(self, project: str, tree: str, paths: Collection[str]) -> frozenset[str]:
        del project, tree
        return frozenset(paths)

    def read_written(
        self, project: str, tree: str, paths: Collection[str], most_bytes: int = MOST_WRITTEN_BYTES
    ) -> Mapping[str, bytes] | Unseen:
        del project, tree, paths, most_bytes
        return self._UNSEEN

    def rebuild(
        self, project: str, commit: str, files: Sequence[EarlierFile], gone: Collection[str]
    ) -> str | Unseen:
        del project, commit, files, gone
        return self._UNSEEN

    def pack_step(
        self, project: str, tree: str, known: Sequence[str] = (), most_bytes: int = MOST_READ_BYTES
    ) -> bytes | Unseen:
        del project, tree, known, most_bytes
        return self._UNSEEN

    def list_changed(
        self, project: str, tree: str, seconds: float = CHANGED_SECONDS
    ) -> tuple[str, ...] | Unseen:
        del project, tree, seconds
        return self._UNSEEN

    def resolve(self, project: str, name: str) -> Revision | Unseen:
        del project, name
        return self._UNSEEN

    def find_merge_base(self, project: str) -> Revision | Unseen:
        del project
        return self._UNSEEN

    def is_clean(self, project: str, taken: TakenTree) -> bool | Unseen:
        del project, taken
        return self._UNSEEN

    def has_tree(self, project: str, tree: str) -> bool:
        del project, tree
        return False

    def list_entries(self, project: str, tree: str) -> tuple[GitEntry, ...] | Unseen:
        del project, tree
        return self._UNSEEN

    def diff(self, project: str, before: str, after: str) -> tuple[TreeChange, ...] | Unseen:
        del project, before, after
        return self._UNSEEN

    def read(self, project: str, object_id: str, most_bytes: int = MOST_READ_BYTES) -> bytes | None:
        del project, object_id, most_bytes
        return None

    def read_all(
        self, project: str, object_ids: Collection[str], most_bytes: int = MOST_READ_BYTES
    ) -> Mapping[str, bytes]:
        del project, object_ids, most_bytes
        return {}

    def build(self, project: str, entries: Sequence[GitEntry]) -> str | Unseen:
        del project, entries
        return self._UNSEEN

    def write_out(
        self, project: str, tree: str, folder: str, keep: Collection[str] = ()
    ) -> WrittenTree | Unseen:
        del project, tree, folder, keep
        return self._UNSEEN

    def keep(self, project: str, name: str, tree: str) -> str:
        del project, name, tree
        return self._UNSEEN.reason

    def drop(self, project: str, prefix: str) -> None:
        del project, prefix

    def unpack(self, project: str, content: bytes) -> str:
        del project, content
        return self._UNSEEN.reason
