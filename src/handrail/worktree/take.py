"""The current tree of a project, and its differences from a tree that was taken before.

Each project has an index of our own: a copy of the project's, so that it knows what is tracked, with the
files of the working tree added. It is changed as a copy and then replaces the old one, so that a killed
process leaves no half of it, and two processes at once do not disturb each other.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

import msgspec

from handrail.host.bounds import Bounds
from handrail.host.private_files import (
    ensure_private_directory,
    open_unfollowed,
    replace_cache,
)
from handrail.ports.trees import TakenTree
from handrail.ports.worktree import LeftOut
from handrail.worktree.by_products import is_by_product
from handrail.worktree.git_child import REFUSED, GitChild, NotSeen, Ran
from handrail.worktree.place import Place, Stamp, read_head, read_record, read_stamp, write_record

MOST_FILE_BYTES = 100_000_000
"""A larger file that no commit has is left out."""
KEPT_STAMPS = 16
"""Trees per project whose stamps are kept."""
_MOST_AT_ONCE = 2_000
_MOST_BYTES_AT_ONCE = 64_000_000
_ATTEMPTS = 3
_OLD_SECONDS = 3_600
_GITLINK = b"160000"
_MAY_BE_GITLINK = b"\0\0\xe0\0"
_OTHER = b"?"
_MAY_NOT_BE_READ = "it may not be read"
_TOO_LARGE = f"it is larger than {MOST_FILE_BYTES // 1_000_000} MB"
_NOT_A_FILE = "it is no file"
_REFUSED_FILE = "git could not read it"
_NO_COMMIT = "it is another repository, without a commit"


class _Row(msgspec.Struct, frozen=True, kw_only=True):
    """A file that differs from the project's index."""

    is_tracked: bool
    stamp: Stamp = ()
    """Stamp of the file; empty if it is gone."""
    size: int = 0


class _State(msgspec.Struct, frozen=True, kw_only=True):
    """The state that our index holds."""

    index: Stamp
    """Stamp of the project's index from which ours was copied."""
    rows: dict[str, _Row] = {}
    taken: TakenTree | None = None
    marked: tuple[str, ...] = ()
    """Files of the project's index that git leaves alone."""


class _Listed(msgspec.Struct, frozen=True, kw_only=True):
    """What differs from an index; paths are below the top of the working tree."""

    rows: dict[str, _Row] = {}
    replaced: tuple[str, ...] = ()
    """Tracked files that are a folder now, or of which a folder became a link."""
    nested: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def take_tree(place: Place, git: GitChild) -> TakenTree:
    """Raises NotSeen, and OSError if the home cannot be written."""
    for attempt in range(_ATTEMPTS):
        taken = _try_to_take(place, git, is_afresh=attempt > 0)
        if taken is not None:
            return taken
    raise NotSeen(REFUSED)


def list_changed(place: Place, tree: str, git: GitChild) -> tuple[str, ...]:
    """Raises NotSeen."""
    index = _stamps_of(place, tree)
    state = read_record(f"{index}.json", _State)
    if state is None or state.taken is None or not os.path.exists(index):
        raise NotSeen("the times of the files of that tree are not kept any more")
    listed = _list(place, index, git, place.sub)
    changed = set(map(place.show, (*listed.rows, *listed.replaced, *listed.nested)))
    changed |= {one.path for one in listed.left_out}
    return tuple(sorted(changed - {one.path for one in state.taken.left_out}, key=os.fsencode))


def _try_to_take(place: Place, git: GitChild, *, is_afresh: bool) -> TakenTree | None:
    """Return the tree; None if the caller must try again with a new copy of the project's index."""
    own = os.path.join(place.folder, "index")
    source = place.project_index
    stamp = read_stamp(source)
    state = None if is_afresh or not os.path.exists(own) else read_record(_record_of(place), _State)
    if state is not None and state.index != stamp:
        state = None
    copy_shared(place)
    head = read_head(place, git)
    # Conflicts outside of the project keep git from writing its tree, until their files are added too.
    marked = _find_marked(place, source, git) if state is None else state.marked
    listed = _list(place, source, git, "" if is_afresh else place.sub, marked)
    if state is not None and state.taken is not None and _is_same(place, state, listed):
        return msgspec.structs.replace(state.taken, head=head)
    with _working_copy(place, source if state is None else own) as index:
        if state is None:
            _unmark(place, index, [path for path in marked if path in listed.rows], git)
        refused = _update(place, index, state or _State(index=stamp), listed, git)
        tree = _write_tree(place, index, git)
        if tree is None:
            return None
        taken = TakenTree(
            tree=tree,
            head=head,
            filtered=_find_filtered(place, index, git),
            nested=_find_nested(place, index, git),
            left_out=_sort_left_out((*listed.left_out, *refused)),
        )
        rows = {path: row for path, row in listed.rows.items() if path not in {one.path for one in refused}}
        _save(place, index, _State(index=stamp, rows=rows, taken=taken, marked=marked))
        return taken


def _is_same(place: Place, state: _State, listed: _Listed) -> bool:
    assert state.taken is not None, "checked by the caller"
    return (
        not listed.nested
        and not listed.replaced
        and listed.rows == state.rows
        and listed.left_out == state.taken.left_out
        and os.path.exists(f"{_stamps_of(place, state.taken.tree)}.json")
    )


# The index


@contextmanager
def _working_copy(place: Place, source: str) -> Iterator[str]:
    """Yield an index that no other process uses: a copy of our own one, or of the project's."""
    work = os.path.join(place.folder, "work")
    ensure_private_directory(work)
    _remove_old(work)
    index = os.path.join(work, os.urandom(8).hex())
    try:
        _copy(source, index)
        yield index
    finally:
        for path in (index, f"{index}.lock"):
            with suppress(OSError):
                os.unlink(path)


def _copy(source: str, target: str) -> None:
    """With its time: files that are not older than their index are compared by content."""
    try:
        with open(source, "rb") as file:
            content, found = file.read(), os.fstat(file.fileno())
    except FileNotFoundError:
        return
    except OSError as trouble:
        raise NotSeen(REFUSED) from trouble
    with open(target, "xb", opener=open_unfollowed) as file:
        file.write(content)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))


def copy_shared(place: Place) -> None:
    """The other half of a split index; its name is the digest of its content."""
    if not place.git_dir:
        return
    with os.scandir(place.git_dir) as entries:
        names = [entry.name for entry in entries if entry.name.startswith("sharedindex.")]
    for name in names:
        target = os.path.join(place.store, name)
        if not os.path.exists(target):
            with open(os.path.join(place.git_dir, name), "rb") as file:
                replace_cache(target, file.read())


def _save(place: Place, index: str, state: _State) -> None:
    if not os.path.exists(index):  # of no file at all git writes none
        return
    assert state.taken is not None, "it was taken"
    stamps = _stamps_of(place, state.taken.tree)
    ensure_private_directory(os.path.dirname(stamps))
    _copy(index, f"{index}.stamps")
    os.replace(f"{index}.stamps", stamps)
    write_record(f"{stamps}.json", state)
    _drop_old_stamps(os.path.dirname(stamps))
    _replace_own(place, index, state)


def _replace_own(place: Place, index: str, state: _State) -> None:
    # Without its record an index counts for nothing, so the record goes first and comes back last.
    with suppress(FileNotFoundError):
        os.unlink(_record_of(place))
    os.replace(index, os.path.join(place.folder, "index"))
    write_record(_record_of(place), state)


def _record_of(place: Place) -> str:
    return os.path.join(place.folder, "state.json")


def _stamps_of(place: Place, tree: str) -> str:
    return os.path.join(place.folder, "stamps", tree)


def _drop_old_stamps(folder: str) -> None:
    with suppress(OSError):
        names = [name for name in os.listdir(folder) if name.endswith(".json")]
        names.sort(key=lambda name: os.stat(os.path.join(folder, name)).st_mtime_ns, reverse=True)
        for name in names[KEPT_STAMPS:]:
            for path in (name, name.removesuffix(".json")):
                with suppress(OSError):
                    os.unlink(os.path.join(folder, path))


def _remove_old(folder: str) -> None:
    """Remove what killed processes left."""
    with suppress(OSError):
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if os.lstat(path).st_ctime < time.time() - _OLD_SECONDS:
                os.unlink(path)


# What differs from it


def _list(place: Place, index: str, git: GitChild, scope: str, marked: Sequence[str] = ()) -> _Listed:
    ran = git.run(
        *("ls-files", "-z", "-t", "-m", "-o", "--exclude-standard"),
        *(("--", scope) if scope else ()),
        variables=place.make_variables(index),
        values=place.make_values(),
        where=place.top,
    )
    if ran.status:
        raise NotSeen(REFUSED)
    return _Sorting(place).sort(ran, marked)


def _find_marked(place: Place, index: str, git: GitChild) -> tuple[str, ...]:
    """Return the files that git ignores in the working tree because of `assume-unchanged` or `skip-
    worktree`.
    """
    rows = _list_index(place, index, git, "-v")
    return tuple(os.fsdecode(row[2:]) for row in rows if row[:1] == b"S" or row[:1].islower())


def _unmark(place: Place, index: str, paths: Sequence[str], git: GitChild) -> None:
    for how in ("--no-assume-unchanged", "--no-skip-worktree") if paths else ():
        _run_update(place, index, paths, git, how)


class _Sorting:
    """Says of each listed path what is to be done with it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._bounds = Bounds(place.project, place.home)
        self._links: dict[str, bool] = {"": False}
        self._rows: dict[str, _Row] = {}
        self._replaced: dict[str, None] = {}
        self._nested: dict[str, None] = {}
        self._left_out: dict[str, str] = {}

    def sort(self, ran: Ran, marked: Sequence[str]) -> _Listed:
        for path in marked:
            if not self._place.is_sparse or os.path.lexists(os.path.join(self._place.top, path)):
                self._sort_one(path, is_tracked=True)
        for row in ran.printed.split(b"\0")[:-1]:
            self._sort_one(os.fsdecode(row[2:].rstrip(b"/")), is_tracked=row[:1] != _OTHER)
        for line in ran.complaint.split(b"\n"):
            if line.startswith(b"warning: could not open directory '"):
                path = os.fsdecode(line.split(b"'")[1].rstrip(b"/"))
                self._left_out[self._place.show(path)] = _MAY_NOT_BE_READ
        return _Listed(
            rows=self._rows,
            replaced=tuple(self._replaced),
            nested=tuple(self._nested),
            left_out=_sort_left_out(LeftOut(path=path, why=why) for path, why in self._left_out.items()),
        )

    def _sort_one(self, path: str, *, is_tracked: bool) -> None:
        shown = self._place.show(path)
        if not is_tracked and is_by_product(os.fsencode(shown)):
            return
        if self._bounds.is_hidden(os.fsencode(shown)):  # in no list, and no answer says whether it is there
            return
        if is_tracked and self._is_below_link(path):
            self._replaced[path] = None
            return
        place = os.path.join(self._place.top, path)
        try:
            found = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            self._rows[path] = _Row(is_tracked=is_tracked)
            return
        except OSError:
            self._left_out[shown] = _MAY_NOT_BE_READ
            return
        if stat.S_ISDIR(found.st_mode):
            is_repository = not is_tracked or os.path.lexists(os.path.join(place, ".git"))
            (self._nested if is_repository else self._replaced)[path] = None
            return
        why = self._explain(place, shown, found)
        if why:
            self._left_out[shown] = why
            return
        stamp = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)
        self._rows[path] = _Row(is_tracked=is_tracked, stamp=stamp, size=found.st_size)

    def _explain(self, place: str, shown: str, found: os.stat_result) -> str:
        """Return why a file is left out; empty if it is not."""
        if stat.S_ISLNK(found.st_mode):
            return ""
        if not stat.S_ISREG(found.st_mode):
            return _NOT_A_FILE
        if found.st_size > MOST_FILE_BYTES:
            return _TOO_LARGE
        why = self._bounds.explain_closed(shown, found)
        if why:
            return why
        try:
            os.close(open_unfollowed(place, os.O_RDONLY))
        except OSError:
            return _MAY_NOT_BE_READ
        return ""

    def _is_below_link(self, path: str) -> bool:
        folder = os.path.dirname(path)
        if folder not in self._links:
            place = os.path.join(self._place.top, folder)
            self._links[folder] = self._is_below_link(folder) or os.path.islink(place)
        return self._links[folder]


def _sort_left_out(left_out: Iterable[LeftOut]) -> tuple[LeftOut, ...]:
    rows = {one.path: one for one in left_out}
    return tuple(rows[path] for path in sorted(rows, key=os.fsencode))


# Bringing it up to date


def _update(place: Place, index: str, state: _State, listed: _Listed, git: GitChild) -> tuple[LeftOut, ...]:
    """Make an index that held `state` hold what was listed. Returns what git could not read."""
    rows = dict(state.rows)
    over = [path for path in rows if path not in listed.rows]
    removed = [path for path in over if not rows[path].is_tracked]
    _remove(place, index, sorted({*listed.replaced, *removed}), git)
    for path in removed:
        del rows[path]
    changed = [(path, 0) for path in over if path in rows and path not in listed.replaced]
    changed += [(path, row.size) for path, row in listed.rows.items() if row != rows.get(path)]
    refused: list[LeftOut] = []
    portions = list(_split(changed))
    for portion in portions:
        refused += [
            LeftOut(path=place.show(path), why=_REFUSED_FILE) for path in _add(place, index, portion, git)
        ]
        for path in portion:
            rows.pop(path, None)
        rows |= {path: listed.rows[path] for path in portion if path in listed.rows}
        if portion is not portions[-1]:  # after a kill, or too long, these are not read again
            _copy(index, f"{index}.part")
            _replace_own(place, f"{index}.part", _State(index=state.index, rows=rows))
    refused += [
        LeftOut(path=place.show(path), why=_NO_COMMIT) for path in _add(place, index, listed.nested, git)
    ]
    return tuple(refused)


def _split(files: Sequence[tuple[str, int]]) -> Iterator[list[str]]:
    portion: list[str] = []
    size = 0
    for path, count in files:
        if portion and (len(portion) >= _MOST_AT_ONCE or size + count > _MOST_BYTES_AT_ONCE):
            yield portion
            portion, size = [], 0
        portion.append(path)
        size += count
    if portion:
        yield portion


def _remove(place: Place, index: str, paths: Sequence[str], git: GitChild) -> None:
    if paths and not _run_update(place, index, paths, git, "--force-remove"):
        raise NotSeen(REFUSED)


def _add(place: Place, index: str, paths: Sequence[str], git: GitChild) -> list[str]:
    """Add the paths to the index. Return the files that git refuses. One of them makes it refuse the others
    too, so they are found by halving.
    """
    if not paths or _run_update(place, index, paths, git, "--add", "--remove", "--replace"):
        return []
    if len(paths) == 1:
        return list(paths)
    middle = len(paths) // 2
    return _add(place, index, paths[:middle], git) + _add(place, index, paths[middle:], git)


def _run_update(place: Place, index: str, paths: Sequence[str], git: GitChild, *how: str) -> bool:
    ran = git.run(
        *("update-index", "-z", *how, "--stdin"),
        variables=place.make_variables(index),
        values=place.make_values(),
        where=place.top,
        given=b"".join(os.fsencode(path) + b"\0" for path in paths),
    )
    return ran.status == 0


def _write_tree(place: Place, index: str, git: GitChild) -> str | None:
    ran = git.run(
        "write-tree",
        *((f"--prefix={place.sub}/",) if place.sub else ()),
        variables=place.make_variables(index),
        values=place.make_values(),
        where=place.top,
    )
    if ran.status == 0:
        return ran.printed.decode("ascii").strip()
    if place.sub and ran.complaint.rstrip().endswith(b"not found"):  # nothing is below this folder
        return place.empty_tree
    return None


# What else is to be said of it


def _find_nested(place: Place, index: str, git: GitChild) -> tuple[str, ...]:
    with suppress(FileNotFoundError), open(index, "rb") as file:
        if _MAY_BE_GITLINK not in file.read():
            return ()
    rows = _list_index(place, index, git, "-s")
    found = (row.partition(b"\t")[2] for row in rows if row.startswith(_GITLINK))
    return tuple(sorted(map(place.show, map(os.fsdecode, found)), key=os.fsencode))


def _find_filtered(place: Place, index: str, git: GitChild) -> tuple[str, ...]:
    """Files with a filter; asked only if some file of attributes names one."""
    with suppress(FileNotFoundError), open(index, "rb") as file:
        is_named = b".gitattributes" in file.read()
    paths = _list_index(place, index, git) if is_named else []
    named = [path for path in paths if os.path.basename(path) == b".gitattributes"]
    files = [
        *(os.path.join(os.fsencode(place.top), path) for path in named),
        os.fsencode(os.path.join(place.store, "info", "attributes")),
        os.fsencode(place.values.get("core.attributesfile", "")),
    ]
    if not any(map(_names_filter, files)):
        return ()
    paths = paths or _list_index(place, index, git)
    ran = git.run(
        *("check-attr", "-z", "--stdin", "filter"),
        variables=place.make_variables(index),
        values=place.make_values(),
        where=place.top,
        given=b"".join(path + b"\0" for path in paths),
    )
    words = ran.printed.split(b"\0")
    found = {
        path
        for path, value in zip(words[::3], words[2::3], strict=False)
        if value not in (b"unspecified", b"unset")
    }
    return tuple(sorted(map(place.show, map(os.fsdecode, found)), key=os.fsencode))


def _names_filter(path: bytes) -> bool:
    try:
        with open(path, "rb", opener=open_unfollowed) as file:
            return b"filter" in file.read(1_000_000)
    except OSError:
        return False


def _list_index(place: Place, index: str, git: GitChild, *how: str) -> list[bytes]:
    ran = git.run(
        *("ls-files", "-z", *how),
        *(("--", place.sub) if place.sub else ()),
        variables=place.make_variables(index),
        values=place.make_values(),
        where=place.top,
    )
    return ran.printed.split(b"\0")[:-1]
