"""The repository of a project, the settings of it that count, and our own git directory beside it.

Our git directory lies in the home. The objects of the project are its alternates, so only what no commit
has is stored twice. Of the project's configuration only `VALUES` are taken over, as values, and the files
of ignore rules and attributes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Literal, TypeVar

import msgspec

from handrail.host.bounds import Bounds
from handrail.host.private_files import (
    content_of,
    ensure_private_directory,
    replace_cache,
    walk_up,
)
from handrail.ports.worktree import Unseen
from handrail.worktree.git_child import REFUSED, GitChild, NotSeen

NO_REPOSITORY = "the project is not in a git repository"
BARE = "this is a bare repository, which has no files"
VALUES = (
    "core.autocrlf",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.symlinks",
    "core.excludesfile",
    "core.attributesfile",
)
"""Settings that decide which bytes and modes a commit has."""
_OWN_VALUES = {
    "core.splitIndex": "false",
    "index.sparse": "false",
    "core.bigFileThreshold": "32m",
    "core.fsync": "loose-object",  # an empty object after a power failure would never be written again
    "core.fsyncMethod": "batch",
}
_COPIED = ("info/exclude", "info/attributes")
_MOST_BYTES = 1_000_000
_MOST_RECORD_BYTES = 50_000_000
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")

_T = TypeVar("_T")
Algorithm = Literal["sha1", "sha256"]
Stamp = tuple[int, ...]
"""Data that changes with a file; empty if there is no file."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One project and its repository; paths are absolute and without links."""

    project: str
    top: str
    """The folder of the working tree; its own `core.worktree` is not followed."""
    sub: str
    """The project relative to `top`; empty if both are the same."""
    git_dir: str
    """The git directory; empty if the project is in no repository."""
    common: str
    """The git directory that all worktrees share; without a repository, the project."""
    algorithm: Algorithm
    values: dict[str, str]
    sources: dict[str, Stamp]
    """The files from which these values were read, with their stamps."""
    is_sparse: bool
    """Whether files may be left out of the working tree on purpose (sparse checkout)."""
    is_lasting: bool
    """Whether the settings hold on every branch; otherwise they are read each time."""
    home: str

    @property
    def store(self) -> str:
        """Our git directory; worktrees of one repository share it."""
        return os.path.join(self.home, "trees", "stores", _digest(f"{self.algorithm} {self.common}"))

    @property
    def folder(self) -> str:
        """The folder of what Handrail remembers of this project alone."""
        return make_project_folder(self.home, self.project)

    @property
    def project_index(self) -> str:
        """The index of the project's git; outside of a repository a file that does not exist."""
        return os.path.join(self.git_dir or self.folder, "index" if self.git_dir else "index.none")

    def make_variables(self, index: str = "") -> dict[str, str]:
        """Return the environment of a child process that works with the files."""
        return {"GIT_DIR": self.store, "GIT_WORK_TREE": self.top, "GIT_INDEX_FILE": index}

    def make_object_variables(self) -> dict[str, str]:
        """Return the environment of a child process that reads only objects, and attributes from nowhere."""
        return {"GIT_DIR": self.store}

    def make_repository_variables(self) -> dict[str, str]:
        """Return the environment of a child process that reads the project's own git directory."""
        return {"GIT_DIR": self.git_dir, "GIT_WORK_TREE": self.top}

    def show(self, path: str) -> str:
        """Return a path below the working tree as one below the project."""
        return path[len(self.sub) + 1 :] if self.sub else path

    def make_values(self) -> dict[str, str]:
        return {**self.values, **_OWN_VALUES}

    @property
    def empty_tree(self) -> str:
        return hashlib.new(self.algorithm, b"tree 0\0").hexdigest()


def make_project_folder(home: str, project: str) -> str:
    return os.path.join(home, "trees", "projects", _digest(project))


def ask(
    project: str,
    home: str,
    environment: Mapping[str, str],
    work: Callable[[Place, GitChild], _T],
    seconds: float,
    *,
    is_anywhere: bool,
) -> _T | Unseen:
    """Return the result of some work at the place of a project; whatever prevents the work becomes a
    reason.
    """
    try:
        git = GitChild(environment, seconds)
        return work(find_place(project, home, environment, git, is_anywhere=is_anywhere), git)
    except NotSeen as trouble:
        return Unseen(reason=str(trouble))
    except OSError as trouble:
        return Unseen(reason=f"the files could not be looked at ({trouble.strerror})")


def is_id(text: str) -> bool:
    """Whether the text can be an id; other text from outside is never given to git."""
    return _ID.fullmatch(text) is not None


def _explain_refusal(complaint: bytes, top: str) -> str:
    """Return why git does not read a repository: by default it trusts none of another user."""
    if b"dubious ownership" not in complaint:
        return REFUSED
    return f"another user owns the repository; allow it: git config --global --add safe.directory {top}"


def find_place(
    project: str, home: str, environment: Mapping[str, str], git: GitChild, *, is_anywhere: bool = False
) -> Place:
    """Return the place of a project, ready to be used. Raises NotSeen, and OSError if the home cannot be
    written.

    `is_anywhere` also accepts a project in no repository.
    """
    bounds = Bounds(project, home)
    if bounds.trouble:
        raise NotSeen(bounds.trouble)
    root = bounds.root
    if not os.path.isdir(root):
        raise NotSeen("the project directory does not exist")
    top = _find_top(root)
    if not top and not is_anywhere:
        raise NotSeen(NO_REPOSITORY)
    is_outside = not top
    top = top or root
    record = os.path.join(make_project_folder(home, root), "place.json")
    known = read_record(record, Place)
    if (
        known is not None
        and (known.project, known.top, known.home, known.is_lasting) == (root, top, home, True)
        and (known.git_dir == "") == is_outside
        and all(read_stamp(path) == stamp for path, stamp in known.sources.items())
        and os.path.isdir(os.path.join(known.store, "objects"))
    ):
        return known
    place = _look_up(root, top, home, environment, git, is_outside=is_outside)
    _prepare(place)
    ensure_private_directory(place.folder)
    write_record(record, place)
    return place


def read_record(path: str, kind: type[_T]) -> _T | None:
    """Return what `write_record` wrote; None for anything else."""
    try:
        return msgspec.convert(json.loads(content_of(path, _MOST_RECORD_BYTES)), kind)
    except (ValueError, RecursionError):
        return None


def write_record(path: str, value: msgspec.Struct) -> None:
    """Names that are not UTF-8 included, for which msgspec has no form. Raises OSError."""
    replace_cache(path, json.dumps(msgspec.to_builtins(value)).encode("ascii"))


def read_stamp(path: str) -> Stamp:
    """Return the stamp of a file; of a folder only its identity, because its time changes with everything
    in it.
    """
    try:
        found = os.stat(path)
    except OSError:
        return ()
    if os.path.isdir(path):
        return (found.st_dev, found.st_ino)
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino)


def _find_top(root: str) -> str:
    for folder in walk_up(root):
        inside = os.path.join(folder, ".git")
        if os.path.isfile(inside) or os.path.lexists(os.path.join(inside, "HEAD")):
            return folder
    if os.path.isfile(os.path.join(root, "HEAD")) and all(
        os.path.isdir(os.path.join(root, name)) for name in ("objects", "refs")
    ):
        raise NotSeen(BARE)
    return ""


def _look_up(
    root: str, top: str, home: str, environment: Mapping[str, str], git: GitChild, *, is_outside: bool
) -> Place:
    variables = {
        "GIT_WORK_TREE": top,
        "GIT_CEILING_DIRECTORIES": os.path.dirname(top),
        "GIT_CONFIG_GLOBAL": "",
        "GIT_CONFIG_NOSYSTEM": "",
        **{name: environment.get(name, "") for name in ("HOME", "XDG_CONFIG_HOME")},
    }

    def ask(*arguments: str) -> bytes:
        # A path of git's may be relative to the folder in which it runs.
        ran = git.run(*arguments, variables=variables, where=top)
        if ran.status:
            raise NotSeen(_explain_refusal(ran.complaint, top))
        return ran.printed

    git_dir, common = "", top
    algorithm: Algorithm = "sha1"
    if not is_outside:
        git_dir, common = (
            os.path.realpath(os.path.join(top, os.fsdecode(ask("rev-parse", name)[:-1])))
            for name in ("--git-dir", "--git-common-dir")
        )
        algorithm = "sha256" if ask("rev-parse", "--show-object-format") == b"sha256\n" else "sha1"
        _check_linked(top, git_dir, common)
    settings, origins, is_lasting = _read_settings(
        ask("config", "--includes", "--show-origin", "-z", "--list")
    )
    own = environment.get("HOME", "")
    below = environment.get("XDG_CONFIG_HOME", "") or (os.path.join(own, ".config") if own else "")
    read = {
        *(os.path.join(top, path) for path in origins),
        *(os.path.join(common, name) for name in ("config", *_COPIED) if git_dir),
        *((os.path.join(own, ".gitconfig"),) if own else ()),
        *((os.path.join(below, "git", "config"),) if below else ()),
        *((os.path.join(git_dir, "config.worktree"),) if git_dir else ()),
        os.path.join(top, ".git"),
        "/etc/gitconfig",
    }
    usual = {
        "core.excludesfile": os.path.join(below, "git", "ignore") if below else "",
        "core.attributesfile": os.path.join(below, "git", "attributes") if below else "",
    }
    values = {**usual, **{name: _expand(settings[name], own) for name in VALUES if name in settings}}
    sub = os.path.relpath(root, top)
    return Place(
        project=root,
        top=top,
        sub="" if sub == "." else sub,
        git_dir=git_dir,
        common=common,
        algorithm=algorithm,
        values=values,
        sources={path: read_stamp(path) for path in sorted(read)},
        is_sparse=settings.get("core.sparsecheckout", "false").lower() not in ("false", "no", "off", "0", ""),
        is_lasting=is_lasting,
        home=home,
    )


def _check_linked(top: str, git_dir: str, common: str) -> None:
    """A linked worktree is one only if the repository names it back."""
    if git_dir == common:
        return
    named = content_of(os.path.join(git_dir, "gitdir"), _MOST_BYTES).rstrip(b"\n")
    back = os.path.realpath(os.path.join(git_dir, os.fsdecode(named))) if named else ""
    if back != os.path.realpath(os.path.join(top, ".git")):
        raise NotSeen("the folder names a git repository that does not name it back")


def _read_settings(printed: bytes) -> tuple[dict[str, str], set[str], bool]:
    """Return the settings, the files that hold them, and whether they are valid on every branch."""
    settings: dict[str, str] = {}
    origins: set[str] = set()
    words = iter(printed.split(b"\0")[:-1])
    for origin, pair in zip(words, words, strict=False):
        kind, _, path = os.fsdecode(origin).partition(":")
        if kind != "file":
            continue
        origins.add(path)
        name, has_value, value = os.fsdecode(pair).partition("\n")
        settings[name.lower()] = value if has_value else "true"
    return settings, origins, not any(name.startswith("includeif.") for name in settings)


def _expand(value: str, own: str) -> str:
    return os.path.join(own, value[2:]) if value.startswith("~/") else value


def _prepare(place: Place) -> None:
    store = place.store
    for name in ("objects/info", "objects/pack", "refs/kept", "info"):
        ensure_private_directory(os.path.join(store, name))
    form = "1\n[extensions]\n\tobjectformat = sha256" if place.algorithm == "sha256" else "0"
    objects = _quote(os.path.join(place.common, "objects")) if place.git_dir else b""
    contents: Iterator[tuple[str, bytes]] = iter(
        (
            ("HEAD", b"ref: refs/heads/none\n"),
            ("config", f"[core]\n\tbare = true\n\trepositoryformatversion = {form}\n".encode()),
            ("objects/info/alternates", objects + b"\n"),
            *(
                (name, content_of(os.path.join(place.common, name), _MOST_BYTES) if place.git_dir else b"")
                for name in _COPIED
            ),
        )
    )
    for name, content in contents:
        path = os.path.join(store, name)
        if content_of(path, _MOST_BYTES) != content or not os.path.exists(path):
            replace_cache(path, content)


def _quote(path: str) -> bytes:
    """Return a path as git expects it in a list of alternates."""
    raw = os.fsencode(path)
    if raw[:1] not in (b'"', b"#") and b"\n" not in raw:
        return raw
    return (
        b'"'
        + b"".join(b"\\%03o" % byte if byte < 32 or byte in b'"\\' else bytes((byte,)) for byte in raw)
        + b'"'
    )


def read_head(place: Place, git: GitChild) -> str:
    """Return the commit that is checked out; empty before the first. The usual forms start no child
    process.
    """
    if not place.git_dir:
        return ""
    held = (
        content_of(os.path.join(place.git_dir, "HEAD"), _MOST_BYTES)
        .decode("utf-8", "surrogateescape")
        .strip()
    )
    if is_id(held):
        return held
    name = held.removeprefix("ref: ").strip()
    if name.startswith("refs/heads/") and ".." not in name and not name.endswith("/.invalid"):
        loose = content_of(os.path.join(place.common, name), _MOST_BYTES).decode("ascii", "replace").strip()
        if is_id(loose):
            return loose
        if not loose:
            return _read_packed(place, os.fsencode(name))
    ran = git.run(
        "rev-parse", "--verify", "-q", "HEAD", variables=place.make_repository_variables(), where=place.top
    )
    return ran.printed.decode("ascii", "replace").strip() if ran.status == 0 else ""


def _read_packed(place: Place, name: bytes) -> str:
    with suppress(OSError), open(os.path.join(place.common, "packed-refs"), "rb") as file:
        for line in file:
            if line.rstrip(b"\n").endswith(b" " + name):
                return line.partition(b" ")[0].decode("ascii", "replace")
    return ""


def _digest(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:32]
