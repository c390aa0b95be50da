"""Contents of the files of a linked project, kept in the home of its machine: a server has their names alone.

One file per content under `data/contents/`, named by its digest, so that trees share what they have in
common, and so do the checkouts of a repository. What no tree of this machine named for long is removed when
something new is kept, and so is the oldest where there is too much.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from handrail.contract.catalogue import E_IO
from handrail.contract.outcome import Fault
from handrail.contract.tokens.confirm import refusal
from handrail.host.private_files import ensure_private_directory, open_regular_file, replace_private
from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.host.worktree.restore import compress, unpack
from handrail.ports.worktree import MOST_PACK_BYTES, FileWrite, Packed, Tree, TreeEntry, Unseen, Written
from handrail.runtime.hub import try_afterwards
from handrail.runtime.runtime import Runtime

MOST_KEPT_BYTES: Final = 256_000_000
"""Of one project, compressed."""
KEPT_DAYS: Final = 90
_DAY: Final = 86_400


class KeepingWorktree(LocalWorktree):
    """Whatever it packs is kept in the home, and whatever is kept there is found again.

    `note` has the server record the files that are there, and tells the id of their tree.
    """

    def __init__(
        self, home: str, environment: Mapping[str, str], local: Runtime, note: Callable[[], str]
    ) -> None:
        super().__init__(home, environment)
        self._contents = os.path.join(home, "data", "contents")
        self._local = local
        self._note = note
        self._seen = ""

    def take_tree(self, project: str, seconds: float = 10.0) -> Tree | Unseen:
        taken = super().take_tree(project, seconds)
        self._seen = taken.tree_id if isinstance(taken, Tree) else ""
        return taken

    def write_files(self, project: str, writes: Sequence[FileWrite], *, is_whole: bool = False) -> Written:
        """Raises Fault before anything is written where the server does not record what is there now."""
        if self._note() != self._seen:
            raise refusal("target_changed")
        done = super().write_files(project, writes, is_whole=is_whole)
        try_afterwards(self._local, self._note)
        return done

    def pack_contents(
        self, project: str, tree: Tree, known: Collection[str] = (), most_bytes: int = MOST_PACK_BYTES
    ) -> Packed:
        """Raises Fault E_IO where the home takes nothing."""
        folder = self._find_folder(project)
        packed = super().pack_contents(project, tree, {*known, *_list_kept(folder)}, most_bytes)
        try:
            self._keep(folder, tree, unpack(packed.content) if packed.content else {})
        except OSError as trouble:
            raise Fault(
                E_IO,
                f"The contents of files could not be kept in {folder}: {trouble.strerror}.",
                details={"reason": trouble.strerror or "unknown"},
                hint="Make room in the Handrail home, then send the same call again.",
            ) from trouble
        return packed

    def read_contents(
        self, project: str, present: Sequence[TreeEntry], digests: Collection[str]
    ) -> Mapping[str, bytes]:
        found = super().read_contents(project, present, digests)
        folder = self._find_folder(project)
        # Only names that are there are opened: a digest is the word of a server.
        missing = _list_kept(folder).intersection(digests).difference(found)
        return {**found, **_read(folder, missing)}

    def _find_folder(self, project: str) -> str:
        """Checkouts of one repository share it; what a project says of itself does not choose it."""
        place = self._local.workspace.repository(project) or os.path.realpath(project)
        return os.path.join(self._contents, hashlib.sha256(os.fsencode(place)).hexdigest()[:32])

    def _keep(self, folder: str, tree: Tree, contents: Mapping[str, bytes]) -> None:
        now = self._local.clock.unix_seconds()
        for digest in {entry.digest for entry in tree.entries if entry.digest}:
            path = os.path.join(folder, _name_file(digest))
            with suppress(FileNotFoundError):
                if os.stat(path, follow_symlinks=False).st_mtime < now - _DAY:
                    os.utime(path, (now, now), follow_symlinks=False)
        if not contents:
            return
        ensure_private_directory(folder)
        for digest, content in contents.items():
            replace_private(os.path.join(folder, _name_file(digest)), compress({digest: content}))
        with suppress(FileNotFoundError):  # another process removes the same; the next call goes on
            _remove_oldest(folder, now)


def _list_kept(folder: str) -> set[str]:
    try:
        return {name.replace("-", ":", 1) for name in os.listdir(folder)}
    except FileNotFoundError:
        return set()


def _read(folder: str, digests: Iterable[str]) -> dict[str, bytes]:
    """Without what was removed meanwhile, or is damaged."""
    found: dict[str, bytes] = {}
    for digest in digests:
        with (
            suppress(OSError),
            open(os.path.join(folder, _name_file(digest)), "rb", opener=open_regular_file) as file,
        ):
            found.update(unpack(file.read()))
    return found


def _remove_oldest(folder: str, now: int) -> None:
    total = 0
    with os.scandir(folder) as listed:
        facts = [(one.stat(follow_symlinks=False), one.path) for one in listed]
    for found, path in sorted(facts, key=lambda one: -one[0].st_mtime):
        total += found.st_size
        if total > MOST_KEPT_BYTES or found.st_mtime < now - KEPT_DAYS * _DAY:
            os.unlink(path)


def _name_file(digest: str) -> str:
    return digest.replace(":", "-", 1)
