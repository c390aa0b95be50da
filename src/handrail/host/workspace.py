"""The caller's project, its git facts and account, and the folders of the projects of earlier runs.

A project is the same on every machine: clones and worktrees of one repository are one, by the name in its
own settings, else by the oldest root commit of its repository and its path in it. A directory without
either is only identified by its path, which the log keeps anyway. What git answers is kept in the home,
because asking takes longer with a longer history; nothing else here starts a process.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
from collections.abc import Mapping
from contextlib import suppress

from handrail.contract.catalogue import E_VALIDATION
from handrail.contract.ids import ObservationKey
from handrail.contract.outcome import Fault
from handrail.contract.wording import make_readable, quote
from handrail.host.private_files import (
    content_of,
    ensure_private_directory,
    find_homes,
    is_of_git,
    lies_in_home,
    open_regular_file,
    replace_private,
    walk_up,
)
from handrail.host.settings import LocalSettings

MOST_PROJECTS = 1_000
"""Projects whose place is kept; those begun in longest ago are forgotten."""

_PLACES = ("data", "cache", "projects")
_MOST_PATH_BYTES = 16_384
_SMALL_FILE_BYTES = 4_096
_COMMIT = r"[0-9a-f]{40}|[0-9a-f]{64}"
ENDING = ".root"
"""Of the files that hold a root commit."""
_HISTORY_SECONDS = 5
_IDENTITY_LENGTH = 32


class LocalWorkspace:
    """`ports.Workspace` over the local file system."""

    def __init__(self, environment: Mapping[str, str], home: str = "") -> None:
        self._environment = environment
        self._home = home

    def project(self, asked: str) -> str:
        path = self._find_project(asked)
        is_home = lies_in_home(path, find_homes(self._home))
        if is_home or is_of_git(os.fsencode(path)):
            whose = "Handrail's own home" if is_home else "a folder of git"
            raise Fault(
                E_VALIDATION,
                f"The project directory {quote(path)} is {whose}, or lies in it.",
                details={"param": "project"},
                hint="Name a directory outside of it; nobody works on the files in there.",
            )
        return path

    def _find_project(self, asked: str) -> str:
        named = asked or self._environment.get("HANDRAIL_PROJECT", "")
        if not named:
            here = _working_directory()
            return git_root(here) or here
        # The working directory comes resolved, so a name with a link in it must mean the same project.
        path = _resolved(named)
        if not os.path.isdir(path):
            raise Fault(
                E_VALIDATION,
                f"The project directory {quote(named)} does not exist.",
                details={"param": "project"},
                hint="Give an existing directory, or leave project out to use the git root here.",
            )
        return path

    def observations(self, project: str) -> dict[ObservationKey, str]:
        root = git_root(project)
        if root is None:
            return {}
        root_hash = hashlib.sha256(os.fsencode(root)).hexdigest()[:32]
        seen: dict[ObservationKey, str] = {"repo_root_hash": root_hash}
        directory = _git_directory(root)
        head = _read_line(os.path.join(directory, "HEAD"))
        if head.startswith("ref: "):
            name = head.removeprefix("ref: ").strip()
            if not _is_ref(name):
                return seen
            seen["git_branch"] = make_readable(name.removeprefix("refs/heads/"))[:200]
            head = _commit_of(directory, name)
        if re.fullmatch(_COMMIT, head):
            seen["git_head_sha"] = head
        return seen

    def identity(self, project: str) -> str:
        try:
            name = LocalSettings(self._home, self._environment).of(project).project_name
        except Fault:  # settings that cannot be read name nothing
            name = ""
        if name:
            return _make_identity("name", name)
        root = git_root(project)
        commit = "" if root is None else _find_root_commit(root, self._home, self._environment)
        return _make_identity("commit", commit, os.path.relpath(project, root)) if commit else ""

    def repository(self, project: str) -> str:
        root = git_root(project)
        return "" if root is None else shared_directory(root)

    def main_checkout(self, project: str) -> str:
        root = git_root(project)
        if root is None or os.path.isdir(os.path.join(root, ".git")):
            return ""
        checkout, name = os.path.split(shared_directory(root))
        return checkout if name == ".git" else ""

    def work_token(self) -> str:
        return self._environment.get("HANDRAIL_WORK", "").strip()

    def worker(self) -> str:
        return self._environment.get("HANDRAIL_WORKER", "").strip()

    def account(self) -> str:
        named = self._environment.get("USER") or self._environment.get("USERNAME")
        if not named:
            with suppress(KeyError):  # an account may have no name, as in many containers
                named = pwd.getpwuid(os.getuid()).pw_name
        return make_readable(named or str(os.getuid()))


def _resolved(named: str) -> str:
    """The place without links; a name that no file can have stays as it is, and is found nowhere."""
    try:
        return os.path.realpath(os.path.expanduser(named))
    except ValueError:  # a null byte, or half of a surrogate pair
        return named


def _is_ref(name: str) -> bool:
    """Whether git would allow the name. The file may be anyone's, so it must not lead out of the repository.

    A repository with a ref table says `refs/heads/.invalid`: its branch is not in any file we read.
    """
    parts = name.split("/")
    return (
        len(parts) > 2
        and parts[0] == "refs"
        and not any(part == "" or part.startswith(".") for part in parts)
    )


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError as error:
        raise Fault(
            E_VALIDATION,
            "The working directory no longer exists.",
            details={"param": "project"},
            hint="Change to an existing directory, or name one with project.",
        ) from error


def git_root(start: str) -> str | None:
    """The nearest folder with a `.git`, from here upwards."""
    above = walk_up(os.path.abspath(start))
    # Quicker than `exists`: nothing is raised.
    return next((one for one in above if os.access(os.path.join(one, ".git"), os.F_OK)), None)


def _git_directory(root: str) -> str:
    """The repository behind a checkout; a linked worktree has a `.git` file that points to it."""
    marker = os.path.join(root, ".git")
    if os.path.isdir(marker):
        return marker
    pointed = _read_line(marker).removeprefix("gitdir: ")
    return os.path.normpath(os.path.join(root, pointed)) if pointed else marker


def shared_directory(root: str) -> str:
    """The git directory of a repository, from any of its worktrees; empty where git would not agree.

    A `.git` file may be anyone's, so the repository must know the worktree, too.
    """
    directory = os.path.realpath(_git_directory(root))
    shared = _read_line(os.path.join(directory, "commondir"))
    if not shared:
        return directory
    known = _read_line(os.path.join(directory, "gitdir"))
    if not known or os.path.realpath(known) != os.path.realpath(os.path.join(root, ".git")):
        return ""
    return os.path.realpath(os.path.join(directory, shared))


def _commit_of(directory: str, ref: str) -> str:
    """The commit of a branch: loose, packed, or kept by the main checkout of a worktree."""
    shared = _read_line(os.path.join(directory, "commondir"))
    for place in (directory, os.path.normpath(os.path.join(directory, shared))) if shared else (directory,):
        loose = _read_line(os.path.join(place, ref))
        if loose:
            return loose
        packed = _packed_commit(os.path.join(place, "packed-refs"), ref)
        if packed:
            return packed
    return ""


def _packed_commit(path: str, ref: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape", opener=open_regular_file) as lines:
            for line in lines:
                commit, _, name = line.rstrip("\n").partition(" ")
                if name == ref:
                    return commit
    except OSError:
        return ""
    return ""


def _read_line(path: str) -> str:
    """The first line of a small file; empty when there is none. Git facts are helpful, never required."""
    content = content_of(path, _SMALL_FILE_BYTES)
    return content.decode("utf-8", "surrogateescape").partition("\n")[0].strip()


class ProjectPlaceFiles:
    """`ports.ProjectPlaces` in the home: one small file each, named by the hash that the log keeps.

    The log tells no path, because it is shared. Without these files nothing is found, and nothing fails.
    """

    def __init__(self, home: str) -> None:
        self._directory = os.path.join(home, *_PLACES)

    def keep(self, key: str, project: str) -> None:
        path = self._path(key)
        if not path or self.find(key) == project:
            return
        with suppress(OSError, ValueError):
            ensure_private_directory(self._directory)
            replace_private(path, os.fsencode(project))
            self._forget()

    def find(self, key: str) -> str | None:
        path = self._path(key)
        if not path:
            return None
        try:
            with open(path, "rb", opener=open_regular_file) as file:
                project = os.fsdecode(file.read(_MOST_PATH_BYTES))
            return project if os.path.isdir(project) else None
        except (OSError, ValueError):
            return None

    def _path(self, key: str) -> str:
        """Empty for what is no hash: it may come from a bundle."""
        return os.path.join(self._directory, key) if re.fullmatch(r"[0-9a-f]{16,64}", key) else ""

    def _forget(self) -> None:
        paths = [os.path.join(self._directory, name) for name in os.listdir(self._directory)]
        for path in sorted(paths, key=os.path.getmtime)[:-MOST_PROJECTS]:
            os.unlink(path)


# Which project a directory is of


def _find_root_commit(root: str, home: str, environment: Mapping[str, str]) -> str:
    """The oldest commit without a parent; empty where there is none yet, or a shallow clone hides it."""
    shared = shared_directory(root)
    if os.path.lexists(os.path.join(shared, "shallow")):
        return ""
    path = os.path.join(home, *_PLACES, _identify_repository(shared) + ENDING)
    kept = _read_line(path) if home else ""
    if re.fullmatch(_COMMIT, kept):
        return kept
    from handrail.host.programs import open_listing  # noqa: PLC0415 - an advance starts no program

    git = open_listing(root, environment, _HISTORY_SECONDS)
    listed = git.run("rev-list", "--max-parents=0", "--timestamp", "HEAD") or b""
    dated = sorted((int(when), commit) for when, commit in map(str.split, listed.decode().splitlines()))
    commit = dated[0][1] if dated else ""
    if commit and home:  # without one there is no place for it, least of all where the call comes from
        with suppress(OSError, ValueError):
            ensure_private_directory(os.path.dirname(path))
            replace_private(path, commit.encode())
    return commit


def _identify_repository(shared: str) -> str:
    """A repository and not only its place, where another one may be tomorrow."""
    facts = [shared]
    for path in (shared, os.path.join(shared, "description")):
        with suppress(OSError):
            found = os.stat(path)
            facts += [str(found.st_dev), str(found.st_ino), "" if path == shared else str(found.st_mtime_ns)]
    return _make_identity("repository", *facts)


def _make_identity(*parts: str) -> str:
    named = "\0".join(("handrail.project", *parts)).encode("utf-8", "surrogateescape")
    return hashlib.sha256(named).hexdigest()[:_IDENTITY_LENGTH]
