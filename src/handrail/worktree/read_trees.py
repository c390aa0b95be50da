"""Reading trees and commits. Nothing here writes, and no file of the working tree is read."""

from __future__ import annotations

import os
from collections.abc import Collection
from typing import IO, cast

import msgspec

from handrail.host.bounds import Bounds
from handrail.ports.trees import ChangeStatus, GitEntry, GitMode, Revision, TakenTree, TreeChange
from handrail.worktree.git_child import GitChild, NotSeen
from handrail.worktree.place import Place, is_id, read_head

_DEFAULTS = ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master")
_GITLINK: GitMode = "160000"
_MODES: dict[str, GitMode] = {"100644": "100644", "100755": "100755", "120000": "120000", "160000": _GITLINK}
_CHUNK_BYTES = 1_000_000
NOT_HERE = "the files of that tree are not on this machine any more"


# Commits


def resolve(place: Place, name: str, git: GitChild) -> Revision:
    """Raises NotSeen."""
    unknown = NotSeen(f"git knows no commit {name!r} here")
    if not name or name.startswith(("-", "^")) or "\0" in name or "\n" in name:
        raise unknown
    found = _ask(place, git, "rev-parse", "--verify", "-q", name)
    if not is_id(found):
        raise unknown
    return _describe(place, name, found, git)


def find_merge_base(place: Place, git: GitChild) -> Revision:
    """Raises NotSeen."""
    listed = _ask(place, git, "for-each-ref", "--format=%(objectname) %(refname)", *_DEFAULTS)
    branches = {name: commit for commit, _, name in (line.partition(" ") for line in listed.split("\n"))}
    branch = next((name for name in _DEFAULTS if is_id(branches.get(name, ""))), "")
    head = read_head(place, git)
    if not branch or not head:
        raise NotSeen(
            "there is no default branch here (origin/HEAD, main or master)"
            if head
            else "there is no commit yet"
        )
    base = _ask(place, git, "merge-base", head, branches[branch])
    if not is_id(base):
        raise NotSeen(f"the commit that is checked out and {_shorten(branch)} have no common past here")
    return _describe(place, _shorten(branch), base, git)


def _describe(place: Place, name: str, found: str, git: GitChild) -> Revision:
    asked = (
        f"{found}^{{commit}}",
        f"{found}^{{tree}}",
        *((f"{found}^{{commit}}:{place.sub}",) if place.sub else ()),
    )
    lines = _ask(place, git, "rev-parse", *asked).split("\n")
    if len(lines) < 2 or not all(map(is_id, lines[:2])):
        raise NotSeen(f"{name!r} is no commit, or is not on this machine any more")
    below = lines[2] if len(lines) > 2 and is_id(lines[2]) else place.empty_tree
    return Revision(name=name, commit=lines[0], tree=below if place.sub else lines[1], root=lines[1])


def find_commit_tree(place: Place, commit: str, git: GitChild) -> str:
    """Return the tree of the project's folder in a commit. Raises NotSeen."""
    return _describe(place, commit, check_id(commit), git).tree


def _ask(place: Place, git: GitChild, *arguments: str) -> str:
    ran = git.run(*arguments, variables=place.make_repository_variables(), where=place.top)
    return os.fsdecode(ran.printed).strip()


def _shorten(branch: str) -> str:
    return branch.removeprefix("refs/heads/").removeprefix("refs/remotes/")


def is_clean(place: Place, taken: TakenTree, git: GitChild) -> bool:
    """Raises NotSeen."""
    committed = _describe(place, taken.head, taken.head, git).tree if taken.head else place.empty_tree
    if committed == taken.tree:
        return True
    filtered = frozenset(taken.filtered)
    return bool(filtered) and all(path in filtered for path in _compare(place, committed, taken.tree, git))


# Trees


def list_entries(place: Place, tree: str, git: GitChild) -> tuple[GitEntry, ...]:
    """Raises NotSeen."""
    ran = git.run(
        "ls-tree", "-r", "-z", "-l", check_id(tree), variables=place.make_object_variables(), where=os.sep
    )
    if ran.status:
        raise NotSeen(NOT_HERE)
    return tuple(map(_read_entry, ran.printed.split(b"\0")[:-1]))


def has_tree(place: Place, tree: str, git: GitChild) -> bool:
    """Raises NotSeen."""
    ran = git.run(
        "ls-tree", "-r", "-z", check_id(tree), variables=place.make_object_variables(), where=os.sep
    )
    return ran.status == 0


def _read_entry(row: bytes) -> GitEntry:
    facts, _, path = row.partition(b"\t")
    mode, _, object_id, size = facts.decode("ascii").split(maxsplit=3)
    return GitEntry(
        path=os.fsdecode(path),
        mode=_MODES.get(mode, "100644"),
        object_id=object_id,
        size=int(size) if size.isdigit() else -1,
    )


def check_id(text: str) -> str:
    """Return the id unchanged; raises NotSeen if it cannot be an id."""
    if not is_id(text):
        raise NotSeen(NOT_HERE)
    return text


def find_committed(place: Place, object_ids: Collection[str], git: GitChild) -> frozenset[str]:
    """Return the ids that the repository of the project itself has. Raises NotSeen."""
    if not place.git_dir:
        return frozenset()
    given = "".join(f"{one}\n" for one in sorted(set(filter(is_id, object_ids)))).encode("ascii")
    ran = git.run(
        "cat-file",
        "--batch-check",
        variables=place.make_repository_variables(),
        where=place.top,
        given=given,
    )
    rows = (line.split(" ") for line in ran.printed.decode("ascii", "replace").split("\n"))
    return frozenset(row[0] for row in rows if len(row) == 3)


def diff(place: Place, before: str, after: str, git: GitChild) -> tuple[TreeChange, ...]:
    """Raises NotSeen."""
    is_hidden = Bounds(place.project, place.home).is_hidden
    compared = _compare(place, before, after, git)
    pairs = {path: pair for path, pair in compared.items() if not is_hidden(os.fsencode(path))}
    lines = _count_lines(place, before, after, git)
    sizes = _find_sizes(
        place, {side.object_id for pair in pairs.values() for side in pair if side is not None}, git
    )
    return tuple(
        _make_change(path, *pairs[path], lines.get(path), sizes) for path in sorted(pairs, key=os.fsencode)
    )


def _make_change(
    path: str,
    before: GitEntry | None,
    after: GitEntry | None,
    lines: tuple[int, int] | None,
    sizes: dict[str, int],
) -> TreeChange:
    if before is None or after is None:
        status: ChangeStatus = "added" if before is None else "deleted"
    else:
        status = "mode" if before.object_id == after.object_id else "changed"
    is_link = _GITLINK in (side.mode for side in (before, after) if side is not None)
    added, removed = (0, 0) if lines is None or is_link else lines
    return TreeChange(
        path=path,
        status=status,
        added=added,
        removed=removed,
        is_binary=lines is None and status != "mode",
        before=_add_size(before, sizes),
        after=_add_size(after, sizes),
    )


def _add_size(entry: GitEntry | None, sizes: dict[str, int]) -> GitEntry | None:
    return None if entry is None else msgspec.structs.replace(entry, size=sizes.get(entry.object_id, -1))


_DIFF = (
    "diff-tree",
    "-r",
    "-z",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--ignore-submodules=none",
)


def _compare(
    place: Place, before: str, after: str, git: GitChild
) -> dict[str, tuple[GitEntry | None, GitEntry | None]]:
    """Return both states by path."""
    trees = (check_id(before), check_id(after))
    ran = git.run(*_DIFF, "--raw", *trees, variables=place.make_object_variables(), where=os.sep)
    if ran.status:
        raise NotSeen(NOT_HERE)
    words = ran.printed.split(b"\0")[:-1]
    found: dict[str, tuple[GitEntry | None, GitEntry | None]] = {}
    for facts, path in zip(words[::2], map(os.fsdecode, words[1::2]), strict=True):
        old_mode, new_mode, old, new, _ = facts.decode("ascii")[1:].split(" ")
        found[path] = (_make_side(path, old_mode, old), _make_side(path, new_mode, new))
    return found


def _make_side(path: str, mode: str, object_id: str) -> GitEntry | None:
    return (
        None
        if mode == "000000"
        else GitEntry(path=path, mode=_MODES.get(mode, "100644"), object_id=object_id)
    )


def _count_lines(place: Place, before: str, after: str, git: GitChild) -> dict[str, tuple[int, int]]:
    """Return added and removed lines by path, without binary files; empty if a content is not on this
    machine.
    """
    ran = git.run(*_DIFF, "--numstat", before, after, variables=place.make_object_variables(), where=os.sep)
    found: dict[str, tuple[int, int]] = {}
    for row in ran.printed.split(b"\0")[:-1] if ran.status == 0 else ():
        added, removed, path = row.split(b"\t", 2)
        if added != b"-":
            found[os.fsdecode(path)] = (int(added), int(removed))
    return found


def _find_sizes(place: Place, object_ids: Collection[str], git: GitChild) -> dict[str, int]:
    given = "".join(f"{one}\n" for one in sorted(object_ids)).encode("ascii")
    ran = git.run(
        "cat-file", "--batch-check", variables=place.make_object_variables(), where=os.sep, given=given
    )
    rows = (line.split(" ") for line in ran.printed.decode("ascii", "replace").split("\n"))
    return {row[0]: int(row[2]) for row in rows if len(row) == 3 and row[1] == "blob"}


# Contents


def read_all(place: Place, object_ids: Collection[str], most_bytes: int, git: GitChild) -> dict[str, bytes]:
    """Return contents of files; a larger one is skipped while git prints it. Raises NotSeen."""
    given = "".join(f"{one}\n" for one in sorted(set(filter(is_id, object_ids)))).encode("ascii")
    found: dict[str, bytes] = {}
    with git.start("cat-file", "--batch", variables=place.make_object_variables(), given=given) as child:
        printed = cast("IO[bytes]", child.stdout)
        try:
            while header := printed.readline():
                words = header.decode("ascii", "replace").split()
                if len(words) != 3:  # `… missing`
                    continue
                size = int(words[2])
                if words[1] == "blob" and size <= most_bytes:
                    found[words[0]] = printed.read(size)
                    printed.read(1)
                else:
                    _pass_over(printed, size + 1)
                git.check_time()
        finally:
            child.kill()
    return found


def _pass_over(printed: IO[bytes], count: int) -> None:
    while count > 0:
        chunk = printed.read(min(count, _CHUNK_BYTES))
        if not chunk:
            return
        count -= len(chunk)
