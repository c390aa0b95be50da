"""Reading many files of a project one by one, without following a link."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from handrail.host.worktree.packs import matches
from handrail.host.worktree.trees import is_plain_path, read_path
from handrail.ports.worktree import TreeEntry

_READING = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
    | os.O_CLOEXEC
)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | os.O_CLOEXEC


def find_text(
    project: str, files: Iterable[TreeEntry], needles: Sequence[bytes], most_bytes: int
) -> Iterator[tuple[TreeEntry, bytes | None]]:
    """The files that hold one of the needles. Only those are digested: to look for text is cheaper."""
    folder, descriptor = "", os.open(project, _FOLDER)
    only = needles[0] if len(needles) == 1 else b""
    try:
        for entry in files:
            is_plain = entry.mode in ("file", "executable") and not entry.digest.startswith("size:")
            if not is_plain or entry.size > most_bytes:
                continue
            above, _, name = entry.path.rpartition("/")
            if above != folder or descriptor < 0:
                if descriptor >= 0:
                    os.close(descriptor)
                folder, descriptor = above, _open_folder(project, above)
            content = None if descriptor < 0 else _read(descriptor, read_path(name), entry.size)
            if content is None:
                yield entry, None
            elif only in content if only else not needles or any(needle in content for needle in needles):
                yield entry, content if matches(content, entry.digest) else None
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _open_folder(project: str, folder: str) -> int:
    """The folder below the project, opened name by name so that no link is followed; -1 if it cannot be."""
    if folder and not is_plain_path(folder):
        return -1
    current = os.open(project, _FOLDER)
    for name in read_path(folder).split(b"/") if folder else ():
        try:
            below = os.open(name, _FOLDER, dir_fd=current)
        except OSError:
            os.close(current)
            return -1
        os.close(current)
        current = below
    return current


def _read(folder: int, name: bytes, size: int) -> bytes | None:
    """The bytes of a regular file; None if it is none any more, or not of this size."""
    try:
        descriptor = os.open(name, _READING, dir_fd=folder)
    except OSError:
        return None
    try:
        content = os.read(descriptor, size + 1)
        while len(content) < size and (more := os.read(descriptor, size - len(content))):
            content += more
    except OSError:  # a folder, or a pipe that nobody writes to
        return None
    finally:
        os.close(descriptor)
    return content if len(content) == size else None
