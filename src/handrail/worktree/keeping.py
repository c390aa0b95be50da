"""Keeping trees, and packing trees into one pack.

A tree is kept by a file with its id below `refs/kept`, which is a reference of our git directory. Once a
day git removes what is older than two weeks and belongs to no file snapshot.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from handrail.host.private_files import content_of, ensure_private_directory, replace_private
from handrail.ports.trees import LASTING_DAYS, LASTING_PREFIX
from handrail.worktree.git_child import GitChild, NotSeen
from handrail.worktree.place import Place, is_id
from handrail.worktree.read_trees import NOT_HERE, check_id, has_tree

MOST_TREE_PACK_BYTES = 200_000_000
KEPT_FOR = "2.weeks.ago"
_PRUNE_SECONDS = 86_400
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:/[A-Za-z0-9_][A-Za-z0-9_-]*)*")


def keep_tree(place: Place, name: str, tree: str, git: GitChild) -> None:
    """Raises NotSeen, and OSError if the home cannot be written."""
    if not _NAME.fullmatch(name):
        raise NotSeen(f"{name!r} cannot be the name of a tree")
    if not os.path.exists(_loose_path(place, check_id(tree))) and not has_tree(place, tree, git):
        raise NotSeen(NOT_HERE)
    path = os.path.join(place.store, "refs", "kept", name)
    ensure_private_directory(os.path.dirname(path))
    replace_private(path, tree.encode("ascii") + b"\n")


def drop_trees(place: Place, prefix: str) -> None:
    """Raises OSError."""
    for name, path in _list_kept(place):
        if name.startswith(prefix):
            os.unlink(path)
            with suppress(OSError):
                os.rmdir(os.path.dirname(path))


def prune(place: Place, git: GitChild) -> None:
    """Remove what is old and not kept, at most once a day; file snapshots that are incomplete go too.

    So does what earlier versions remembered of files.
    """
    mark = os.path.join(place.store, "pruned")
    with suppress(OSError):
        if os.stat(mark).st_mtime > time.time() - _PRUNE_SECONDS:
            return
    with open(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb"):
        pass
    shutil.rmtree(os.path.join(place.home, "data", "cache", "trees"), ignore_errors=True)
    for name, path in _list_kept(place):
        if (
            name.startswith(LASTING_PREFIX)
            and os.stat(path).st_mtime < time.time() - LASTING_DAYS * _PRUNE_SECONDS
        ):
            os.unlink(path)
    if _run_prune(place, git):
        return
    for _, path in _list_kept(place):
        tree = content_of(path, 100).decode("ascii", "replace").strip()
        if not is_id(tree) or not has_tree(place, tree, git):
            os.unlink(path)
    _run_prune(place, git)


def _run_prune(place: Place, git: GitChild) -> bool:
    ran = git.run("prune", f"--expire={KEPT_FOR}", variables=place.make_object_variables(), where=os.sep)
    return ran.status == 0


def _list_kept(place: Place) -> Iterator[tuple[str, str]]:
    root = os.path.join(place.store, "refs", "kept")
    found = [os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names]
    return ((os.path.relpath(path, root), path) for path in sorted(found))


def _loose_path(place: Place, tree: str) -> str:
    return os.path.join(place.store, "objects", tree[:2], tree[2:])


def pack_step(place: Place, tree: str, known: Sequence[str], most_bytes: int, git: GitChild) -> bytes:
    """Return what a tree has beyond the known trees, without contents above a size; empty if there is
    nothing.

    Names and ids are always in it. Raises NotSeen.
    """
    given = "".join((f"{check_id(tree)}\n", *(f"^{one}\n" for one in known))).encode("ascii")
    chosen = f"blob:limit={most_bytes + 1}" if most_bytes else "blob:none"
    ran = git.run(
        *("pack-objects", "--revs", "--stdout", "-q", "--window=0", f"--filter={chosen}"),
        variables=place.make_object_variables(),
        where=os.sep,
        given=given,
    )
    if ran.status:
        raise NotSeen(NOT_HERE)
    return ran.printed if int.from_bytes(ran.printed[8:12], "big") else b""


def unpack_trees(place: Place, content: bytes, git: GitChild) -> None:
    """Raises NotSeen."""
    ran = git.run(
        *("index-pack", "--stdin", "--fsck-objects", f"--max-input-size={MOST_TREE_PACK_BYTES}"),
        variables=place.make_object_variables(),
        where=os.sep,
        given=content,
    )
    if ran.status:
        raise NotSeen("it is no git pack, or one that git refuses")
