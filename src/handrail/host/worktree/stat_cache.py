"""What was digested before: one file per project, so that an unchanged file is never read twice.

A cache and nothing else: it can be deleted at any time, and a damaged file counts as none. An entry holds
while size, times, inode and mode of its file are the same. A file that changed shortly before it was read is
not kept, because a second change could bear the same time: clocks of file systems are coarse.

What git tracks stands in columns, because a hundred thousand small values take long to make.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from array import array
from collections.abc import Iterable
from contextlib import suppress

import msgspec

from handrail.host.private_files import ensure_private_directory, open_regular_file, replace_cache
from handrail.host.worktree.repository import Tracked
from handrail.ports.worktree import MOST_FILES, TreeEntry

MOST_PROJECTS = 32
"""Projects with a file; those used longest ago lose theirs."""
MOST_CACHE_BYTES = 200_000_000

COARSEST_CLOCK_NS = 2_000_000_000
"""Two seconds, as on FAT."""

WORTH_SAVING = 64
"""Files read again that make writing the cache worth its price."""

_VERSION = 5
_COLUMNS = 5
LARGEST = (1 << 63) - 1
_LENGTHS = {"sha1": 20, "sha256": 32}

Stamp = tuple[int, int, int, int, int]
"""Time of the content, time of the file, inode, size, mode."""


class KnownFolders(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """What git listed as untracked, and what has to be unchanged for it to hold (`list_files`)."""

    index: str
    untracked: bytes
    """As git printed it."""
    folders: bytes
    stamps: bytes
    """Three columns: time of the content, time of the folder, inode."""
    files: bytes
    """Those that decide what is ignored."""
    marks: bytes
    """Five numbers for each of them."""


class Kept(msgspec.Struct, kw_only=True, frozen=True, array_like=True):
    """The file as encoded."""

    version: int
    project: bytes
    algorithm: str
    paths: bytes
    stamps: tuple[bytes, ...]
    digests: bytes
    index: tuple[int, ...] = ()
    submodules: bytes = b""
    keeps_modes: bool = True
    tracked: bytes = b""
    sparse: bytes = b""
    folders: bytes = b""
    tracked_stamps: tuple[bytes, ...] = ()
    tracked_digests: bytes = b""
    known_folders: KnownFolders | None = None


class TrackedTable:
    """Git's list of tracked files with what is known of each; good while git's index is the same."""

    def __init__(
        self,
        index: tuple[int, ...],
        tracked: Tracked,
        length: int,
        *,
        keeps_modes: bool,
        folders: list[bytes],
    ) -> None:
        self.index = index
        self.paths = tracked.paths
        self.sparse = tracked.sparse
        self.sparse_folders = group_by_folder(tracked.sparse)
        self.submodules = tracked.submodules
        self.keeps_modes = keeps_modes
        self.folders = folders
        self.length = length
        self.columns = [array("q", bytes(8 * len(self.paths))) for _ in range(_COLUMNS)]
        self.digests = bytearray(length * len(self.paths))
        self.entries: dict[int, TreeEntry] = {}
        """Made from a row, and good until the row changes."""

    def find(self, at: int, stamp: Stamp) -> bytes | None:
        """The digest of the file with this stat data."""
        if tuple(column[at] for column in self.columns) != stamp:
            return None
        return bytes(self.digests[at * self.length : (at + 1) * self.length])

    def set(self, at: int, stamp: Stamp, digest: bytes) -> None:
        self.entries.pop(at, None)
        for column, value in zip(self.columns, stamp, strict=True):
            column[at] = value
        self.digests[at * self.length : (at + 1) * self.length] = digest


class StatCache:
    """Everything known about one project. Changed in place, and saved when it is worth it."""

    def __init__(self, algorithm: str) -> None:
        self.algorithm = algorithm
        self.tracked: TrackedTable | None = None
        self.others: dict[bytes, tuple[Stamp, bytes]] = {}
        self.folders: KnownFolders | None = None
        self.unsaved = 0
        """About how many files would be read again if it were lost."""

    @property
    def length(self) -> int:
        return _LENGTHS[self.algorithm]

    def find(self, path: bytes, stamp: Stamp) -> bytes | None:
        """The digest of a file that git does not track."""
        known = self.others.get(path)
        return known[1] if known is not None and known[0] == stamp else None

    def keep(self, path: bytes, at: int, stamp: Stamp, digest: bytes) -> None:
        """`at` is its place among the tracked ones; -1 when it is none of them."""
        self.unsaved += 1
        if at >= 0 and self.tracked is not None:
            self.tracked.set(at, stamp, digest)
        elif len(self.others) < MOST_FILES:
            self.others[path] = (stamp, digest)

    def replace_tracked(self, table: TrackedTable) -> None:
        """Put a newer list in place, with what the old one knew."""
        known = dict(self.others)
        old = self.tracked
        if old is not None:
            stamps = zip(*old.columns, strict=True)
            digests = _cut(bytes(old.digests), old.length)
            known.update(zip(old.paths, zip(stamps, digests, strict=True), strict=True))
        for at, path in enumerate(table.paths):
            found = known.get(path)
            if found is not None:
                table.set(at, *found)
        self.tracked = table
        self.unsaved += WORTH_SAVING

    def forget_others(self, paths: Iterable[bytes]) -> None:
        """Drop what is no file of the project any more."""
        kept = set(paths)
        if len(self.others) > 2 * len(kept) + 100:
            self.others = {path: known for path, known in self.others.items() if path in kept}


def group_by_folder(paths: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """The paths in their folders, so that a folder that is not there answers for all of them."""
    found: dict[bytes, list[bytes]] = {}
    for path in paths:
        found.setdefault(path.rpartition(b"/")[0], []).append(path)
    return found


def is_recent(stamp: Stamp, now_ns: int) -> bool:
    """Whether another change could still leave the same stamp."""
    return max(stamp[0], stamp[1]) + COARSEST_CLOCK_NS >= now_ns


def read_index_stamp(path: str) -> tuple[int, ...]:
    """Of git's index; zeros where nothing was ever added."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0, 0)
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size)


def make_stamp(found: os.stat_result) -> Stamp:
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_ino & LARGEST, found.st_size, found.st_mode)


def find_folders(paths: Iterable[bytes]) -> list[bytes]:
    """Every folder above one of these paths."""
    folders: set[bytes] = set()
    for path in paths:
        folder = path.rpartition(b"/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition(b"/")[0]
    return sorted(folders)


class CacheFiles:
    """The files, in the home."""

    def __init__(self, home: str) -> None:
        self._directory = os.path.join(home, "data", "cache", "trees")

    def load(self, project: str, algorithm: str = "") -> StatCache:
        """What is kept for this algorithm; without one, for the one that it was kept for."""
        cache = StatCache(algorithm or "sha1")
        try:
            with open(self._path(project), "rb", opener=open_regular_file) as file:
                content = memoryview(file.read(MOST_CACHE_BYTES))
            if zlib.crc32(content[4:]).to_bytes(4, "big") != content[:4]:
                return cache
            kept = msgspec.msgpack.decode(content[4:], type=Kept)
            is_ours = kept.version == _VERSION and kept.project == os.fsencode(project)
            if is_ours and kept.algorithm in ((algorithm,) if algorithm else _LENGTHS):
                cache = StatCache(kept.algorithm)
                _fill(cache, kept)
        except (OSError, ValueError, msgspec.MsgspecError):
            return StatCache(algorithm or "sha1")
        return cache

    def save(self, project: str, cache: StatCache) -> None:
        """Replace the file. A look does not fail if it cannot be written."""
        body = msgspec.msgpack.encode(_make_kept(os.fsencode(project), cache))
        try:
            ensure_private_directory(self._directory)
            replace_cache(self._path(project), zlib.crc32(body).to_bytes(4, "big") + body)
            self._remove_oldest()
        except OSError:
            return
        cache.unsaved = 0

    def _remove_oldest(self) -> None:
        found = [(entry.stat().st_mtime_ns, entry.path) for entry in os.scandir(self._directory)]
        for _, path in sorted(found)[:-MOST_PROJECTS]:
            with suppress(OSError):
                os.unlink(path)

    def _path(self, project: str) -> str:
        return os.path.join(self._directory, hashlib.sha256(os.fsencode(project)).hexdigest()[:32])


def _make_kept(project: bytes, cache: StatCache) -> Kept:
    others = sorted(cache.others.items())
    columns = zip(*(known[0] for _, known in others), strict=True)
    kept = Kept(
        version=_VERSION,
        project=project,
        algorithm=cache.algorithm,
        paths=b"\0".join(path for path, _ in others),
        stamps=tuple(array("q", column).tobytes() for column in columns),
        digests=b"".join(known[1] for _, known in others),
    )
    tracked = cache.tracked
    if tracked is not None:
        kept = msgspec.structs.replace(
            kept,
            index=tracked.index,
            submodules=b"\0".join(tracked.submodules),
            keeps_modes=tracked.keeps_modes,
            tracked=b"\0".join(tracked.paths),
            sparse=b"\0".join(tracked.sparse),
            folders=b"\0".join(tracked.folders),
            tracked_stamps=tuple(column.tobytes() for column in tracked.columns),
            tracked_digests=bytes(tracked.digests),
        )
    return msgspec.structs.replace(kept, known_folders=cache.folders)


def _fill(cache: StatCache, kept: Kept) -> None:
    """Raises ValueError when the columns do not fit together."""
    if kept.paths:
        stamps = zip(*(read_numbers(column) for column in kept.stamps), strict=True)
        known = zip(stamps, _cut(kept.digests, cache.length), strict=True)
        cache.others = dict(zip(_names(kept.paths), known, strict=True))
    if kept.index:
        tracked = Tracked(
            paths=_names(kept.tracked), sparse=_names(kept.sparse), submodules=_names(kept.submodules)
        )
        table = TrackedTable(
            kept.index,
            tracked,
            cache.length,
            keeps_modes=kept.keeps_modes,
            folders=_names(kept.folders),
        )
        table.columns = [read_numbers(column) for column in kept.tracked_stamps]
        table.digests = bytearray(kept.tracked_digests)
        lengths = {len(column) for column in table.columns}
        if lengths != {len(table.paths)} or len(table.columns) != _COLUMNS:
            raise ValueError("columns of different lengths")
        cache.tracked = table
    cache.folders = kept.known_folders


def read_numbers(column: bytes) -> array[int]:
    numbers = array("q")
    numbers.frombytes(column)
    return numbers


def _names(joined: bytes) -> list[bytes]:
    return joined.split(b"\0") if joined else []


def _cut(joined: bytes, length: int) -> list[bytes]:
    return [joined[at : at + length] for at in range(0, len(joined), length)]
