"""The files of a project with certain endings, as git lists them, and the text in them.

The project's own index says what a file holds that did not change: nothing else is remembered. New files are
read, and those that changed lately. Where git keeps other bytes than the disk has, as with line ends, the
size tells them apart, so it is part of the name of a content.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import groupby

from handrail.contract.credential_files import holds_credentials
from handrail.host.bounds import Bounds, is_plain_path, read_path
from handrail.host.private_files import open_unfollowed
from handrail.ports.worktree import MOST_FILES, NO_ENDING, FileList, FileMode, ListedFile
from handrail.worktree.by_products import is_by_product
from handrail.worktree.git_child import REFUSED, GitChild, NotSeen
from handrail.worktree.place import Place
from handrail.worktree.restore import FOLDER, open_below
from handrail.worktree.take import copy_shared

MOST_NAMED_BYTES = 64_000_000
"""Bytes of a file; a larger one that git does not know in its current form counts as not readable."""
COARSEST_CLOCK_NS = 2_000_000_000
"""Nanoseconds of the coarsest file times: two seconds, as on FAT."""

_TOO_MANY = f"the project has more than {MOST_FILES:,} files".replace(",", " ")
_NO_ENDING = os.fsencode(NO_ENDING)
_NEVER_LISTED = ("node_modules", "__pycache__", ".hg", ".svn", ".jj")
"""Outside of a repository few people write ignore rules."""
_NEW, _AS_KNOWN, _SUBMODULE = b"?", b"H", b"160000"
_CHUNK_BYTES = 1 << 20
_BY_BYTES = "bytes:"


def list_files(place: Place, suffixes: Sequence[str], git: GitChild) -> FileList:
    """Raises NotSeen."""
    listed_at = time.time_ns() - COARSEST_CLOCK_NS
    bounds = Bounds(place.project, place.home)
    copy_shared(place)
    known = _ask_git(place, bounds, tuple(map(os.fsencode, suffixes)), git)
    linked = _find_linked(place.project, {path.rpartition("/")[0] for path in known})
    root = os.open(place.project, FOLDER)
    try:
        files = [
            file
            for path in sorted(known, key=os.fsencode)
            if path.rpartition("/")[0] not in linked
            and (file := _describe(bounds, root, path, known[path], listed_at, git)) is not None
        ]
    finally:
        os.close(root)
    return FileList(files=tuple(files), listed_at=listed_at)


def _ask_git(place: Place, bounds: Bounds, suffixes: tuple[bytes, ...], git: GitChild) -> Mapping[str, str]:
    """Return the requested paths, each with its id if the file is as git knows it."""
    ran = git.run(
        *("ls-files", "-z", "-v", "-s", "-m", "-o", "--exclude-standard"),
        *(word for name in (() if place.git_dir else _NEVER_LISTED) for word in ("-x", name)),
        *(("--", place.sub) if place.sub else ()),
        variables=place.make_variables(place.project_index),
        values=place.make_values(),
        where=place.top,
    )
    if ran.status:
        raise NotSeen(REFUSED)
    below = len(place.sub) + 1 if place.sub else 0
    known: dict[str, str] = {}
    count = 0
    for row in ran.printed.split(b"\0")[:-1]:
        facts, _, path = row.partition(b"\t") if row[:1] != _NEW else (_NEW, b"", row[2:])
        path = path[below:]
        count += facts[:1] in (_AS_KNOWN, _NEW)
        is_asked = path.endswith(suffixes) or (suffixes[-1] == _NO_ENDING and _has_no_ending(path))
        if not is_asked or path[-1:] == b"/" or facts[2:8] == _SUBMODULE or bounds.is_hidden(path):
            continue
        if facts != _NEW or not is_by_product(path):
            tag, _, rest = facts.partition(b" ")
            is_known = tag == _AS_KNOWN and rest.endswith(b" 0")
            known[os.fsdecode(path)] = rest.split(b" ")[1].decode("ascii") if is_known else ""
    if count > MOST_FILES:
        raise NotSeen(_TOO_MANY)
    return known


def _has_no_ending(path: bytes) -> bool:
    return b"." not in path[path.rfind(b"/") + 1 :]


def _find_linked(project: str, folders: Iterable[str]) -> frozenset[str]:
    """Return folders that are a link, or below one: the files that git tracked there no longer exist."""
    found: dict[str, bool] = {"": False}
    for folder in sorted(folders):
        names = folder.split("/") if folder else []
        for count in range(1, len(names) + 1):
            path = "/".join(names[:count])
            if path not in found:
                above = path.rpartition("/")[0]
                found[path] = found[above] or os.path.islink(os.path.join(project, path))
    return frozenset(folder for folder, is_linked in found.items() if is_linked)


def _describe(
    bounds: Bounds, root: int, path: str, object_id: str, listed_at: int, git: GitChild
) -> ListedFile | None:
    """Return the file; None if it is gone, a folder, or a pipe."""
    try:
        found = os.lstat(path, dir_fd=root)
    except OSError:
        return None
    mode: FileMode = "executable" if found.st_mode & 0o100 else "file"
    content = ""
    if stat.S_ISLNK(found.st_mode):
        mode, content = "link", "link"
    elif not stat.S_ISREG(found.st_mode):
        return None
    elif not bounds.explain_anothers(found):
        is_known = object_id and found.st_ctime_ns < listed_at
        content = f"{object_id}-{found.st_size}" if is_known else _name_content(bounds, path, found, git)
    return ListedFile(
        path=path,
        mode=mode,
        content=content,
        size=found.st_size,
        changed_ns=found.st_ctime_ns,
        inode=found.st_ino,
    )


def _name_content(bounds: Bounds, path: str, found: os.stat_result, git: GitChild) -> str:
    """By the bytes on the disk; empty for a file that is too large, or may not be read."""
    if found.st_size > MOST_NAMED_BYTES:
        return ""
    hasher = hashlib.sha256()
    with suppress(OSError), open(os.path.join(bounds.root, path), "rb", opener=open_unfollowed) as file:
        while part := file.read(_CHUNK_BYTES):
            git.check_time()
            hasher.update(part)
        return f"{_BY_BYTES}{hasher.hexdigest()}"
    return ""


# Reading many files one by one, without following a link

_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def find_text(
    bounds: Bounds, files: Iterable[ListedFile], needles: Sequence[bytes], most_bytes: int
) -> Iterator[tuple[ListedFile, bytes | None]]:
    """Return the files that contain one of the needles, with None for a file that changed since it was
    listed.
    """
    only = needles[0] if len(needles) == 1 else b""
    searched = (file for file in files if _is_searched(bounds, file, most_bytes))
    with ExitStack() as opened:
        root = os.open(bounds.root, FOLDER)
        opened.callback(os.close, root)
        for above, group in groupby(searched, lambda file: file.path.rpartition("/")[0]):
            with ExitStack() as inside:
                folder = -1
                with suppress(OSError):
                    if not above or is_plain_path(above):
                        folder = inside.enter_context(open_below(root, read_path(above)))
                for file in group:
                    content = None if folder < 0 else _read(folder, file)
                    if content is None:
                        yield file, None
                    elif only in content if only else not needles or any(one in content for one in needles):
                        yield file, content if _has_its_name(file, content) else None


def _is_searched(bounds: Bounds, file: ListedFile, most_bytes: int) -> bool:
    is_closed = holds_credentials(file.path) or bounds.is_hidden(read_path(file.path))
    return file.mode != "link" and bool(file.content) and not is_closed and file.size <= most_bytes


def _read(folder: int, file: ListedFile) -> bytes | None:
    """Return the bytes of a regular file; None if it is none any more, or changed."""
    name = read_path(file.path.rpartition("/")[2])
    try:
        descriptor = os.open(name, _READING, dir_fd=folder)
    except OSError:
        return None
    try:
        content = os.read(descriptor, file.size + 1)
        while len(content) < file.size and (more := os.read(descriptor, file.size - len(content))):
            content += more
        found = os.fstat(descriptor)
    except OSError:  # a folder, or a pipe that nobody writes to
        return None
    finally:
        os.close(descriptor)
    is_same = (found.st_ctime_ns, found.st_ino) == (file.changed_ns, file.inode)
    return content if is_same and len(content) == file.size else None


def _has_its_name(file: ListedFile, content: bytes) -> bool:
    """What changed lately may have changed twice within one tick of the clock."""
    is_by_bytes = file.content.startswith(_BY_BYTES)
    return not is_by_bytes or file.content == f"{_BY_BYTES}{hashlib.sha256(content).hexdigest()}"


# Which of some files git lists


def find_unlisted(place: Place, paths: Sequence[str], git: GitChild) -> frozenset[str]:
    """Return the files that are ignored, or belong to another repository. Raises NotSeen."""
    above = f"{place.sub}/" if place.sub else ""
    ran = git.run(
        *("ls-files", "-z", "-c", "-o", "--exclude-standard", "--", *(f"{above}{path}" for path in paths)),
        variables=place.make_variables(place.project_index),
        values=place.make_values(),
        where=place.top,
    )
    if ran.status:
        raise NotSeen(REFUSED)
    listed = frozenset(place.show(os.fsdecode(path)) for path in ran.printed.split(b"\0")[:-1])
    return frozenset(paths) - listed
