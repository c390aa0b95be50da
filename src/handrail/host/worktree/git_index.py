"""Git's index, read without git: which files are tracked, and their stat data when git last saw them.

Two questions to git about ten thousand files take longer than everything else in a first look. The form is
that of `gitformat-index`, versions 2 and 3. Whatever else a file holds (a split or a sparse index, version 4,
anything that does not fit), git is asked as before.
"""

from __future__ import annotations

import struct

import msgspec

from handrail.host.private_files import open_regular_file
from handrail.host.worktree.bounds import is_plain
from handrail.host.worktree.repository import IndexedFile, Tracked

MOST_INDEX_BYTES = 100_000_000
_HEAD = struct.Struct(">4sLL")
_EXTENSION = struct.Struct(">4sL")
_LENGTHS = {"sha1": 20, "sha256": 32}
_EXTENDED, _NAME_LENGTH = 0x4000, 0xFFF
_SKIP_WORKTREE = 0x4000
_STRANGE = (b"\0.git\0", b"\0.git/", b"/.git\0", b"/.git/", b"\0/", b"../", b"/\0", b"\0\0")
_KIND, _SUBMODULE = 0o170000, 0o160000


class ReadIndex(msgspec.Struct, frozen=True, kw_only=True):
    """What the index tells."""

    tracked: Tracked
    indexed: dict[bytes, IndexedFile]
    """Without submodules and without files in conflict."""


def read_index(path: str, algorithm: str) -> ReadIndex | None:
    """None where git has to be asked."""
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            content = file.read(MOST_INDEX_BYTES + 1)
        if len(content) > MOST_INDEX_BYTES:
            return None
        return _read(content, _LENGTHS[algorithm])
    except (OSError, struct.error, ValueError, IndexError):
        return None


def _read(content: bytes, length: int) -> ReadIndex | None:
    """Raises struct.error, ValueError for a file that ends too early."""
    mark, version, count = _HEAD.unpack_from(content)
    if mark != b"DIRC" or version not in (2, 3):
        return None
    form = struct.Struct(f">10L{length}sH")
    unpack, size_of_head = form.unpack_from, form.size
    paths: set[bytes] = set()
    sparse: set[bytes] = set()
    submodules: set[bytes] = set()
    indexed: dict[bytes, IndexedFile] = {}
    at = _HEAD.size
    for _ in range(count):
        ctime, ctime_ns, mtime, mtime_ns, _dev, inode, mode, _uid, _gid, size, digest, flags = unpack(
            content, at
        )
        name = at + size_of_head
        is_skipped = False
        if flags & _EXTENDED:
            is_skipped = bool(int.from_bytes(content[name : name + 2], "big") & _SKIP_WORKTREE)
            name += 2
        known = flags & _NAME_LENGTH
        end = name + known if known < _NAME_LENGTH else content.index(b"\0", name)
        path = content[name:end]
        if content[end]:
            return None
        at += (end - at + 8) & ~7
        if mode & _KIND == _SUBMODULE:
            submodules.add(path)
            continue
        if flags & 0x3000 == 0:
            seen = mtime * 1_000_000_000 + mtime_ns, ctime * 1_000_000_000 + ctime_ns
            indexed[path] = IndexedFile(digest, *seen, inode, size)
        (sparse if is_skipped else paths).add(path)
    has_strange_name = any(b"\0" in b"".join(some) for some in (paths, sparse, submodules))
    if has_strange_name or not _has_only_known_extensions(content, at, length):
        return None
    tracked = Tracked(
        paths=_keep_inside(paths),
        sparse=_keep_inside(sparse - paths),
        submodules=_keep_inside(submodules),
    )
    return ReadIndex(tracked=tracked, indexed=indexed)


def _keep_inside(paths: set[bytes]) -> list[bytes]:
    """Sorted. All are asked at once, because nearly always all of them are plain."""
    joined = b"\0" + b"\0".join(paths).lower() + b"\0"
    are_plain = not any(part in joined for part in _STRANGE)
    return sorted(paths if are_plain else filter(is_plain, paths))


def _has_only_known_extensions(content: bytes, at: int, length: int) -> bool:
    """One that git must understand begins with a small letter: another list, or folders in place of files."""
    while at + _EXTENSION.size <= len(content) - length:
        name, size = _EXTENSION.unpack_from(content, at)
        if not name[:1].isupper():
            return False
        at += _EXTENSION.size + size
    return at == len(content) - length
