"""What git says about a project: its list of files, and the files of a commit. Nothing is written or started.

`status`, `diff` and `add` run filters of the repository, so they are never asked. Paths are bytes here, as
git and the file system have them, relative to the project.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import msgspec

from handrail.host.private_files import open_regular_file, walk_up
from handrail.host.programs import Git, RunningGit, open_listing
from handrail.host.worktree.bounds import Bounds, is_plain

FILE, EXECUTABLE, LINK = b"f", b"x", b"l"
"""Modes of a file, as one byte."""

_SUBMODULE = b"160000"
_FACTS = ("rev-parse", "--is-inside-work-tree", "--show-object-format", "--git-path", "index")
_SETTINGS = (
    "config",
    "--includes",
    "-z",
    "--get-regexp",
    r"^core\.(autocrlf|eol|filemode|attributesfile)$",
)
_IGNORING = (
    "config",
    "--includes",
    "-z",
    "--get-regexp",
    r"^(core\.(excludesfile|worktree)|include(if)?\..*)$",
)
_CONVERTING = re.compile(rb"(?:^|\s)(?:text|eol|crlf|filter|ident|working-tree-encoding)\b")
_STAT_LINE = re.compile(
    rb"  ctime: (\d+):(\d+)\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n"
    rb"  size: (\d+)\tflags: [0-9a-f]+\n"
)
_NO = (b"false", b"no", b"off", b"0", b"")
_MOST_ATTRIBUTE_BYTES = 1_000_000


class RepositoryFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked out, and the file that lists it."""

    head: str
    """Empty before the first commit."""
    algorithm: Literal["sha1", "sha256"]
    index: str


class Tracked(msgspec.Struct, frozen=True, kw_only=True):
    """The files that git tracks."""

    paths: list[bytes]
    """Sorted; without those that git was told to leave alone."""
    sparse: list[bytes]
    """Those: left out of a sparse checkout, or marked by hand (`skip-worktree`)."""
    submodules: list[bytes]


class IndexedFile(NamedTuple):
    """What git remembers of a file: its stat data when it last had this content."""

    digest: bytes
    mtime_ns: int
    ctime_ns: int
    inode: int
    size: int


class Repository:
    """Git's answers about one project; every question has the same time limit."""

    def __init__(self, bounds: Bounds, environment: Mapping[str, str], seconds: float) -> None:
        self._bounds = bounds
        self._project = bounds.root
        self._environment = environment
        self._git: Git = open_listing(bounds.root, environment, seconds)
        self._settings: dict[bytes, bytes] | None = None

    def find_facts(self) -> RepositoryFacts | None:
        """None when git is not installed, or refuses."""
        status, printed = self._git.ask(*_FACTS, "HEAD")
        lines = printed.split(b"\n")
        if status < 0 or len(lines) < 4 or lines[0] != b"true":
            return None
        head = lines[3].decode("ascii", "replace")
        return RepositoryFacts(
            head=head if _is_id(head) else "",
            algorithm="sha256" if lines[1] == b"sha256" else "sha1",
            index=os.path.join(self._project, os.fsdecode(lines[2])),
        )

    def start_untracked(self) -> RunningGit:
        """The files that are neither tracked nor ignored."""
        return self._git.start("ls-files", "-o", "--exclude-standard", "-z")

    def find_tracked(self) -> Tracked | None:
        printed = self._git.run("ls-files", "-s", "-t", "-z")
        if printed is None:
            return None
        paths: set[bytes] = set()
        sparse: set[bytes] = set()
        submodules: set[bytes] = set()
        for line in printed.split(b"\0")[:-1]:
            facts, _, path = line.partition(b"\t")
            if facts[2:8] == _SUBMODULE:
                submodules.add(path)
            elif is_plain(path):
                (sparse if facts[:1] == b"S" else paths).add(path)
        return Tracked(
            paths=sorted(paths),
            sparse=sorted(sparse - paths),
            submodules=sorted(filter(is_plain, submodules)),
        )

    def find_listed(self, paths: Iterable[bytes]) -> list[tuple[bytes, bytes]] | None:
        """Which of these, or of the files below them, git lists, with the letter that it gives them."""
        asked = [os.fsdecode(b":(literal)" + path) for path in paths]
        printed = self._git.run("ls-files", "-t", "-z", "-c", "-o", "--exclude-standard", "--", *asked)
        if printed is None:
            return None
        rows = (line.partition(b" ") for line in printed.split(b"\0")[:-1])
        return [(path, letter) for letter, _, path in rows]

    def find_indexed(self) -> dict[bytes, IndexedFile]:
        """Stat data that git keeps; empty if it prints them in a form that is not known."""
        printed = self._git.run("ls-files", "-s", "-z", "--debug")
        found: dict[bytes, IndexedFile] = {}
        if printed is None:
            return found
        at = 0
        while at < len(printed):
            end = printed.find(b"\0", at)
            stat_data = _STAT_LINE.match(printed, end + 1) if end >= 0 else None
            if stat_data is None:
                return {}
            facts, _, path = printed[at:end].partition(b"\t")
            mode, digest, stage = facts.split(b" ")
            if mode != _SUBMODULE and stage == b"0":
                found[path] = _read_stat_data(digest, stat_data)
            at = stat_data.end()
        return found

    def keeps_modes(self) -> bool:
        """Whether the executable bit of a file means something here."""
        return self._find_settings().get(b"core.filemode", b"true") not in _NO

    def find_ignore_settings(self) -> str | None:
        """The user's file of ignore rules, empty for the usual one; None where settings lead to others."""
        status, printed = self._git.ask(*_IGNORING)
        if status < 0:
            return None
        pairs = [entry.partition(b"\n") for entry in printed.split(b"\0") if entry]
        if any(name.lower() != b"core.excludesfile" for name, _, _ in pairs):
            return None
        return os.fsdecode(pairs[-1][2]) if pairs else ""

    def find_ignored(self, folders: Iterable[bytes]) -> set[bytes] | None:
        """Those of these untracked folders that git does not look into; None when it cannot be asked."""
        asked = b"".join(folder + b"\0" for folder in folders)
        status, printed = self._git.ask("check-ignore", "-z", "--stdin", given=asked)
        return set(printed.split(b"\0")[:-1]) if status in (0, 1) else None

    def changes_bytes(self, paths: Iterable[bytes]) -> bool:
        """Whether git may keep other bytes than those in the file: line ends, filters, encodings.

        If not, a file whose stat data git knows has the content that git knows.
        """
        settings = self._find_settings()
        if settings.get(b"core.autocrlf", b"false") not in _NO or b"core.attributesfile" in settings:
            return True
        below = (path for path in paths if path == b".gitattributes" or path.endswith(b"/.gitattributes"))
        return any(
            _converts(path)
            for path in (
                *(os.path.join(os.fsencode(self._project), path) for path in below),
                *_attributes_above(self._project),
                *_own_attributes(self._environment),
            )
        )

    def _find_settings(self) -> dict[bytes, bytes]:
        """The settings that say how git turns the bytes of a file into those it keeps."""
        if self._settings is None:
            _, printed = self._git.ask(*_SETTINGS)
            pairs = (entry.partition(b"\n") for entry in printed.split(b"\0") if entry)
            self._settings = {name.lower(): value.lower() for name, _, value in pairs}
        return self._settings


def _attributes_above(project: str) -> Iterable[bytes]:
    """Those of the directories around the project, up to the one with the repository."""
    for folder in map(os.fsencode, walk_up(os.path.abspath(project))):
        yield os.path.join(folder, b".gitattributes")
        if os.path.lexists(os.path.join(folder, b".git")):
            yield os.path.join(folder, b".git", b"info", b"attributes")
            return


def _own_attributes(environment: Mapping[str, str]) -> Iterable[bytes]:
    place = _find_own_settings(environment)
    if os.path.isabs(place):
        yield os.fsencode(os.path.join(place, "attributes"))


def _find_own_settings(environment: Mapping[str, str]) -> str:
    place = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME", ""), ".config")
    return os.path.join(place, "git")


def _converts(path: bytes) -> bool:
    try:
        with open(path, "rb", opener=open_regular_file) as file:
            content = file.read(_MOST_ATTRIBUTE_BYTES)
    except FileNotFoundError:
        return False
    except OSError:  # a linked worktree keeps them elsewhere: then every file is read
        return True
    return len(content) == _MOST_ATTRIBUTE_BYTES or _CONVERTING.search(content) is not None


def _is_id(text: str) -> bool:
    return re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) is not None


def _read_stat_data(digest: bytes, found: re.Match[bytes]) -> IndexedFile:
    ctime, ctime_ns, mtime, mtime_ns, inode, size = (int(number) for number in found.groups())
    return IndexedFile(
        digest=bytes.fromhex(digest.decode("ascii")),
        mtime_ns=mtime * 1_000_000_000 + mtime_ns,
        ctime_ns=ctime * 1_000_000_000 + ctime_ns,
        inode=inode,
        size=size,
    )


# Git's index, read without git: which files are tracked, and their stat data when git last saw them.
#
# Two questions to git about ten thousand files take longer than everything else in a first look. The form
# is
# that of `gitformat-index`, versions 2 and 3. Whatever else a file holds (a split or a sparse index,
# version 4,
# anything that does not fit), git is asked as before.


MOST_INDEX_BYTES = 100_000_000
_HEAD = struct.Struct(">4sLL")
_EXTENSION = struct.Struct(">4sL")
_LENGTHS = {"sha1": 20, "sha256": 32}
_EXTENDED, _NAME_LENGTH = 0x4000, 0xFFF
_SKIP_WORKTREE = 0x4000
_STRANGE = (b"\0.git\0", b"\0.git/", b"/.git\0", b"/.git/", b"\0/", b"../", b"/\0", b"\0\0")
_KIND, _LINK = 0o170000, 0o160000


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
        if mode & _KIND == _LINK:
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
