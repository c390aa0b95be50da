"""Building trees from entries, and writing trees into a folder outside of the project."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress

from handrail.host.bounds import is_plain
from handrail.host.private_files import ensure_private_directory, is_below
from handrail.ports.trees import EarlierFile, GitEntry, GitMode, WrittenTree
from handrail.ports.worktree import LeftOut
from handrail.worktree.git_child import GitChild, NotSeen
from handrail.worktree.place import Place, is_id
from handrail.worktree.read_trees import check_id, find_commit_tree, list_entries, read_all

NOT_HERE = "its content is not on this machine"
OTHER_REPOSITORY = "it is the commit of another repository"
LEADS_OUT = "it is a link that leads out of the folder"
_GITLINK, _LINK = "160000", "120000"


def build_tree(place: Place, entries: Sequence[GitEntry], git: GitChild) -> str:
    """Raises NotSeen."""
    _check_entries(entries)
    with _temporary_index(place) as index:
        _read_into(place, index, entries, git)
        variables = {"GIT_DIR": place.store, "GIT_INDEX_FILE": index}
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
    """Return why an entry is not written; empty if it is."""
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


# Some files of a tree, and trees from files


def read_written(
    place: Place, tree: str, paths: Collection[str], most_bytes: int, git: GitChild
) -> dict[str, bytes]:
    """Contents by path, as a checkout of the tree would write them; without what is larger or not here.

    Raises NotSeen, and OSError if the home cannot be written.
    """
    entries = list_entries(place, tree, git)
    wanted = [one for one in entries if one.path in paths and 0 <= one.size <= most_bytes]
    links = {one.path: one.object_id for one in wanted if one.mode == _LINK}
    files = [one for one in wanted if one.mode not in (_LINK, _GITLINK)]
    targets = read_all(place, links.values(), most_bytes, git) if links else {}
    found = {path: targets[one] for path, one in links.items() if one in targets}
    if not files:
        return found
    rules = [one for one in entries if os.path.basename(one.path) == ".gitattributes" and one not in files]
    with _temporary_folder(place) as folder, _temporary_index(place) as index:
        _write_files(place, [*files, *(one for one in rules if one.size >= 0)], folder, index, git)
        for one in files:
            with open(os.path.join(folder, one.path), "rb") as file:
                found[one.path] = file.read()
    return found


def _write_files(place: Place, entries: Sequence[GitEntry], folder: str, index: str, git: GitChild) -> None:
    _check_entries(entries)
    _read_into(place, index, entries, git)
    ran = git.run(
        *("checkout-index", "-a", "-q"),
        variables={"GIT_DIR": place.store, "GIT_WORK_TREE": folder, "GIT_INDEX_FILE": index},
        values=place.make_values(),
        where=folder,
    )
    if ran.status:
        raise NotSeen("git could not write the files")


def find_ignored(place: Place, tree: str, paths: Collection[str], git: GitChild) -> frozenset[str]:
    """Return the paths that the ignore files of a tree name. Raises NotSeen, OSError."""
    rules = [
        one
        for one in list_entries(place, tree, git)
        if os.path.basename(one.path) == ".gitignore" and one.mode in ("100644", "100755") and one.size >= 0
    ]
    with _temporary_folder(place) as folder, _temporary_index(place) as index:
        _write_files(place, rules, folder, index, git)
        ran = git.run(
            *("check-ignore", "--no-index", "-z", "--stdin"),
            variables={
                "GIT_DIR": place.store,
                "GIT_WORK_TREE": folder,
                "GIT_INDEX_FILE": index,
                "GIT_LITERAL_PATHSPECS": "",  # this command refuses it
            },
            values=place.make_values(),
            where=folder,
            given=b"".join(b"./" + os.fsencode(path) + b"\0" for path in sorted(paths)),
        )
    if ran.status not in (0, 1):
        raise NotSeen("git could not read the ignore files")
    return frozenset(os.fsdecode(path[2:]) for path in ran.printed.split(b"\0")[:-1])


def find_filtered(place: Place, tree: str, paths: Collection[str], git: GitChild) -> frozenset[str]:
    """Return the paths for which the attributes of a tree name a filter. Raises NotSeen."""
    with _temporary_index(place) as index:
        variables = {"GIT_DIR": place.store, "GIT_INDEX_FILE": index}
        if git.run("read-tree", check_id(tree), variables=variables, where=os.sep).status:
            return frozenset()
        ran = git.run(
            *("check-attr", "-z", "--stdin", "--cached", "filter"),
            variables=variables,
            values=place.make_values(),
            where=os.sep,
            given=b"".join(os.fsencode(path) + b"\0" for path in sorted(paths)),
        )
    words = ran.printed.split(b"\0")
    pairs = zip(words[::3], words[2::3], strict=False)
    return frozenset(os.fsdecode(path) for path, value in pairs if value not in (b"unspecified", b"unset"))


def rebuild_tree(
    place: Place, commit: str, files: Sequence[EarlierFile], gone: Collection[str], git: GitChild
) -> str:
    """Return the tree of a commit with these files in place of its own. Raises NotSeen, OSError."""
    base = list_entries(place, find_commit_tree(place, commit, git), git) if commit else ()
    held = {one.path: one for one in base}
    for path in (*gone, *(one.path for one in files)):
        held.pop(path, None)
    with _temporary_folder(place) as folder, _temporary_index(place) as index:
        known = [_make_entry(one) for one in files if one.content is None and is_id(one.object_id)]
        known = [one for one in known if _has_object(place, one.object_id, git)]
        kept = [*held.values(), *known]
        _check_entries([*kept, *(_make_entry(one) for one in files if one.content is not None)])
        _read_into(place, index, kept, git)
        written = [one for one in files if one.content is not None]
        for one in written:
            _write_file(os.path.join(folder, one.path), one)
        ran = git.run(
            *("update-index", "-z", "--add", "--stdin"),
            variables={"GIT_DIR": place.store, "GIT_WORK_TREE": folder, "GIT_INDEX_FILE": index},
            values=place.make_values(),
            where=folder,
            given=b"".join(os.fsencode(one.path) + b"\0" for one in written),
        )
        if ran.status:
            raise NotSeen("git could not read the files")
        variables = {"GIT_DIR": place.store, "GIT_INDEX_FILE": index}
        made = git.run("write-tree", "--missing-ok", variables=variables, where=os.sep)
    if made.status:
        raise NotSeen("git could not write the tree")
    return made.printed.decode("ascii").strip()


def _make_entry(one: EarlierFile) -> GitEntry:
    modes: dict[str, GitMode] = {"file": "100644", "executable": "100755", "link": "120000"}
    return GitEntry(path=one.path, mode=modes[one.mode], object_id=one.object_id or "0" * 40)


def _has_object(place: Place, object_id: str, git: GitChild) -> bool:
    ran = git.run("cat-file", "-e", object_id, variables=place.make_object_variables(), where=os.sep)
    return ran.status == 0


def _write_file(path: str, one: EarlierFile) -> None:
    assert one.content is not None, "chosen by the caller"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if one.mode == "link":
        os.symlink(one.content, os.fsencode(path))
        return
    with open(path, "xb") as file:
        file.write(one.content)
    os.chmod(path, 0o700 if one.mode == "executable" else 0o600)


def _read_into(place: Place, index: str, entries: Sequence[GitEntry], git: GitChild) -> None:
    given = b"".join(
        f"{one.mode} {one.object_id}\t".encode("ascii") + os.fsencode(one.path) + b"\0" for one in entries
    )
    variables = {"GIT_DIR": place.store, "GIT_INDEX_FILE": index}
    ran = git.run("update-index", "-z", "--index-info", variables=variables, where=os.sep, given=given)
    if ran.status or b"Ignoring path" in ran.complaint:
        raise NotSeen("git refused one of the paths")


@contextmanager
def _temporary_folder(place: Place) -> Iterator[str]:
    work = os.path.join(place.folder, "work")
    ensure_private_directory(work)
    folder = tempfile.mkdtemp(dir=work)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
