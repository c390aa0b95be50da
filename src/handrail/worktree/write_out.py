"""Trees that are made of entries, and trees that are written into a folder outside of the project."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from handrail.host.private_files import ensure_private_directory, is_below
from handrail.host.worktree.bounds import is_plain
from handrail.ports.trees import GitEntry, WrittenTree
from handrail.ports.worktree import LeftOut
from handrail.worktree.git_child import GitChild, NotSeen
from handrail.worktree.place import Place, is_id
from handrail.worktree.read_trees import list_entries

NOT_HERE = "its content is not on this machine"
OTHER_REPOSITORY = "it is the commit of another repository"
LEADS_OUT = "it is a link that leads out of the folder"
_GITLINK, _LINK = "160000", "120000"


def build_tree(place: Place, entries: Sequence[GitEntry], git: GitChild) -> str:
    """Raises NotSeen."""
    _check_entries(entries)
    with _temporary_index(place) as index:
        variables = {"GIT_DIR": place.store, "GIT_INDEX_FILE": index}
        given = b"".join(
            f"{entry.mode} {entry.object_id}\t".encode("ascii") + os.fsencode(entry.path) + b"\0"
            for entry in entries
        )
        ran = git.run("update-index", "-z", "--index-info", variables=variables, where=os.sep, given=given)
        if ran.status or b"Ignoring path" in ran.complaint:
            raise NotSeen("git refused one of the paths")
        ran = git.run("write-tree", variables=variables, where=os.sep)
    if ran.status:
        raise NotSeen("some contents are not on this machine")
    return ran.printed.decode("ascii").strip()


def _check_entries(entries: Sequence[GitEntry]) -> None:
    paths = {entry.path for entry in entries}
    if len(paths) != len(entries):
        raise NotSeen("a path is there twice")
    for entry in entries:
        names = entry.path.split("/")
        if not is_id(entry.object_id) or "\0" in entry.path or not is_plain(os.fsencode(entry.path)):
            raise NotSeen(f"{entry.path!r} is not a plain path")
        if any(name in ("", ".", "..") for name in names):
            raise NotSeen(f"{entry.path!r} is not a plain path")
        above = next(
            ("/".join(names[:count]) for count in range(1, len(names)) if "/".join(names[:count]) in paths),
            "",
        )
        if above:
            raise NotSeen(f"{entry.path!r} is below the file {above!r}")


def write_tree_out(place: Place, tree: str, folder: str, keep: Collection[str], git: GitChild) -> WrittenTree:
    """Raises NotSeen, and OSError if the folder cannot be written."""
    folder = os.path.realpath(folder)
    if is_below(folder, place.top) or is_below(place.top, folder):
        raise NotSeen("the folder is not outside of the project")
    own = os.path.join(place.home, "trees", "folders", hashlib.sha256(os.fsencode(folder)).hexdigest()[:32])
    os.makedirs(folder, exist_ok=True)
    if not os.path.exists(own) and os.listdir(folder):
        raise NotSeen("the folder holds files that Handrail did not write")
    ensure_private_directory(os.path.dirname(own))
    with open(own, "ab"):  # from now on the folder is ours
        pass
    entries = list_entries(place, tree, git)
    kept = frozenset(os.path.normpath(name) for name in keep)
    left_out = {entry.path: why for entry in entries if (why := _explain(entry, folder, kept))}
    written = [entry for entry in entries if entry.path not in left_out]
    _remove_others(folder, "", {entry.path for entry in written}, kept, git)
    if left_out:
        tree = build_tree(place, written, git)
    _check_out(place, tree, folder, own, git)
    for entry in written:
        path = os.path.join(folder, entry.path)
        if entry.mode == _LINK and not is_below(os.path.realpath(path), folder):
            os.unlink(path)
            left_out[entry.path] = LEADS_OUT
    return WrittenTree(
        files=len(entries) - len(left_out),
        left_out=tuple(LeftOut(path=path, why=left_out[path]) for path in sorted(left_out)),
    )


def _explain(entry: GitEntry, folder: str, kept: Collection[str]) -> str:
    """Why an entry is not written; empty: it is."""
    if entry.mode == _GITLINK:
        return OTHER_REPOSITORY
    if entry.size < 0:
        return NOT_HERE
    names = entry.path.split("/")
    above = ("/".join(names[:count]) for count in range(1, len(names) + 1))
    if any(name in kept and os.path.islink(os.path.join(folder, name)) for name in above):
        return LEADS_OUT
    return ""


def _check_out(place: Place, tree: str, folder: str, own: str, git: GitChild) -> None:
    with _temporary_index(place) as index:
        if os.path.getsize(own):
            found = os.stat(own)
            shutil.copyfile(own, index)
            os.utime(index, ns=(found.st_atime_ns, found.st_mtime_ns))
        ran = git.run(
            *("read-tree", "--reset", "-u", tree),
            variables={"GIT_DIR": place.store, "GIT_WORK_TREE": folder, "GIT_INDEX_FILE": index},
            values=place.make_values(),
            where=folder,
        )
        if ran.status:
            with suppress(OSError):  # what is there is not known, so all of it is written the next time
                os.truncate(own, 0)
            raise NotSeen("git could not write the files")
        os.replace(index, own)


def _remove_others(
    folder: str, below: str, paths: Collection[str], kept: Collection[str], git: GitChild
) -> None:
    """Remove what is in no tree; links are removed, never followed."""
    folders = {
        "/".join(names[:count])
        for names in (path.split("/") for path in paths)
        for count in range(1, len(names))
    }
    waiting = [below]
    while waiting:
        git.check_time()
        above = waiting.pop()
        with os.scandir(os.path.join(folder, above)) as found:
            rows = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in found]
        for name, is_folder in rows:
            path = f"{above}/{name}" if above else name
            place = os.path.join(folder, path)
            if path in kept:
                continue
            if is_folder and (path in folders or any(one.startswith(f"{path}/") for one in kept)):
                waiting.append(path)
            elif is_folder:
                shutil.rmtree(place)
            elif path not in paths:
                os.unlink(place)


@contextmanager
def _temporary_index(place: Place) -> Iterator[str]:
    work = os.path.join(place.folder, "work")
    ensure_private_directory(work)
    index = os.path.join(work, os.urandom(8).hex())
    try:
        yield index
    finally:
        for path in (index, f"{index}.lock"):
            with suppress(OSError):
                os.unlink(path)
