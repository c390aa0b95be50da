"""Which project a directory is of, on every machine: clones and worktrees of one repository are one project.

By the name in the project's own settings, else by the oldest root commit of its repository and the place in
it. A directory without either is only known by where it is, which the log keeps anyway. What git says is kept
in the home, because asking takes as long as the history is.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from contextlib import suppress

import msgspec

from handrail.host.git import open_listing
from handrail.host.private_files import ensure_private_directory, open_regular_file, replace_private

_KEPT = ("data", "cache", "projects")
ENDING = ".root"
"""Of the files that hold a root commit."""
_SECONDS = 5
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_LENGTH = 32


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """Where a repository is checked out."""

    root: str
    shared: str
    """The directory of git that all its worktrees share."""


def identify(
    project: str, name: str, checkout: Checkout | None, home: str, environment: Mapping[str, str]
) -> str:
    """The identity of a project with this name in its settings, or in this checkout.

    Empty: nothing but its directory tells it.
    """
    if name:
        return _digest("name", name)
    commit = "" if checkout is None else _find_root_commit(checkout, home, environment)
    if checkout is None or not commit:
        return ""
    return _digest("commit", commit, os.path.relpath(project, checkout.root))


def _find_root_commit(checkout: Checkout, home: str, environment: Mapping[str, str]) -> str:
    """The oldest commit without a parent; empty where there is none yet, or a shallow clone hides it."""
    if os.path.lexists(os.path.join(checkout.shared, "shallow")):
        return ""
    path = os.path.join(home, *_KEPT, _describe(checkout.shared) + ENDING)
    kept = _read(path) if home else ""
    if _COMMIT.fullmatch(kept):
        return kept
    git = open_listing(checkout.root, environment, _SECONDS)
    listed = git.run("rev-list", "--max-parents=0", "--timestamp", "HEAD") or b""
    dated = sorted((int(when), commit) for when, commit in map(str.split, listed.decode().splitlines()))
    commit = dated[0][1] if dated else ""
    if commit and home:  # without one there is no place for it, least of all where the call comes from
        with suppress(OSError, ValueError):
            ensure_private_directory(os.path.dirname(path))
            replace_private(path, commit.encode())
    return commit


def _describe(shared: str) -> str:
    """A repository and not only its place, where another one may be tomorrow."""
    facts = [shared]
    for path in (shared, os.path.join(shared, "description")):
        with suppress(OSError):
            found = os.stat(path)
            facts += [str(found.st_dev), str(found.st_ino), "" if path == shared else str(found.st_mtime_ns)]
    return _digest("repository", *facts)


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii", errors="replace", opener=open_regular_file) as file:
            return file.read(100)
    except OSError:
        return ""


def _digest(*parts: str) -> str:
    named = "\0".join(("handrail.project", *parts)).encode("utf-8", "surrogateescape")
    return hashlib.sha256(named).hexdigest()[:_LENGTH]
