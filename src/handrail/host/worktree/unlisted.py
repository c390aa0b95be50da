"""Why a tree says nothing about a path: it is ignored, belongs to another repository, or cannot be read."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence

from handrail.host.worktree.bounds import HIDDEN, Bounds
from handrail.host.worktree.repository import Repository
from handrail.host.worktree.trees import MOST_DIGESTED_BYTES, read_path, show_path
from handrail.host.worktree.walking import is_by_product, is_ignored_below, walk_files

_IGNORED = "it is ignored, so it is not compared"
_NOT_LISTED = "git does not list it"
_OF_ANOTHER = "it belongs to another repository"
_NO_FILE = "it is not a regular file"
_UNREADABLE = "it may not be read"
_SPARSE = "it is left out of the sparse checkout"
UNKNOWN = "git could not be asked about it"
_TOO_LARGE = f"it is larger than {MOST_DIGESTED_BYTES:,} bytes, so only its size is known".replace(",", " ")
_BY_PRODUCT = "a tool leaves it behind, so it is not compared"
_SKIPPED, _UNTRACKED = b"S", b"?"


def explain_unlisted(bounds: Bounds, paths: Sequence[str], repository: Repository | None) -> dict[str, str]:
    """The paths of which trees say nothing, with the reason; without git, of the walk."""
    root = bounds.root
    found: dict[str, str] = {}
    plain: list[str] = []
    for path in paths:
        why = HIDDEN if bounds.is_hidden(read_path(path)) else _explain_file(root, path)
        if why:
            found[path] = why
        else:
            plain.append(path)
    listed = _find_listed(bounds, plain, repository) if plain else {}
    for path in plain:
        if listed is None:
            found[path] = UNKNOWN
        elif path not in listed:
            why = _explain_absence(root, path)
            found |= {path: why} if why else {}
        elif listed[path] == _SKIPPED and not os.path.lexists(os.path.join(root, path)):
            found[path] = _SPARSE
        elif listed[path] == _UNTRACKED and is_by_product(read_path(path)):
            found[path] = _BY_PRODUCT
    return found


def _explain_file(root: str, path: str) -> str:
    """What the file itself tells."""
    above = path
    while above:
        if os.path.lexists(os.path.join(root, above, ".git")):
            return _OF_ANOTHER
        above = os.path.dirname(above)
    try:
        state = os.lstat(os.path.join(root, path))
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(state.st_mode) or stat.S_ISLNK(state.st_mode):
        return ""
    if not stat.S_ISREG(state.st_mode):
        return _NO_FILE
    if state.st_size > MOST_DIGESTED_BYTES:
        return _TOO_LARGE
    return "" if os.access(os.path.join(root, path), os.R_OK) else _UNREADABLE


def _find_listed(
    bounds: Bounds, paths: Sequence[str], repository: Repository | None
) -> dict[str, bytes] | None:
    """Those that are files of the project, or folders with some; with git's letter. None: nobody knows."""
    if repository is not None:
        printed = repository.find_listed([read_path(path) for path in paths])
        every = None if printed is None else [(show_path(path), letter) for path, letter in printed]
    else:
        walked = walk_files(bounds, lambda: None)
        every = None if walked is None else [(show_path(path), b"H") for path in walked.paths]
    if every is None:
        return None
    listed: dict[str, bytes] = {}
    for path, letter in every:
        above = os.path.dirname(path)
        while above and above not in listed:
            listed[above] = b""
            above = os.path.dirname(above)
        listed[path] = letter
    return {path: listed[path] for path in paths if path in listed}


def _explain_absence(root: str, path: str) -> str:
    """Of a path that is not listed: it is ignored, or would be. Empty: it is nowhere, and would be listed."""
    if is_ignored_below(root, read_path(path)):
        return _IGNORED
    if is_by_product(read_path(path)):
        return _BY_PRODUCT
    return _NOT_LISTED if os.path.lexists(os.path.join(root, path)) else ""
