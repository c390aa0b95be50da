"""Trees in the project itself: written before each trial, and brought back at the end."""

from __future__ import annotations

import os

from handrail.host.private_files import is_below
from handrail.ports.trees import GitEntry, TakenTree, TreeChange, Trees
from handrail.ports.worktree import Unseen

_LINK, _EXECUTABLE, _OTHER_REPOSITORY = "120000", "100755", "160000"


class NotPossible(Exception):
    """The files could not be written; the text ends a sentence."""


class PlacedTrees:
    """The files of a project that was as its last commit."""

    def __init__(self, trees: Trees, project: str) -> None:
        """Raises NotPossible."""
        taken = trees.take(project)
        if isinstance(taken, Unseen):
            raise NotPossible(taken.reason)
        is_clean = trees.is_clean(project, taken)
        if isinstance(is_clean, Unseen):
            raise NotPossible(is_clean.reason)
        if not is_clean:
            raise NotPossible("--in-place needs a project without uncommitted changes: commit or stash them")
        self._trees = trees
        self._project = project
        self._start = taken

    @property
    def start(self) -> TakenTree:
        return self._start

    def write(self, tree: str) -> None:
        """Make the files those of a tree. Raises NotPossible."""
        now = self._trees.take(self._project)
        if isinstance(now, Unseen):
            raise NotPossible(now.reason)
        changes = self._trees.diff(self._project, now.tree, tree)
        if isinstance(changes, Unseen):
            raise NotPossible(changes.reason)
        own = [change for change in changes if self._is_own(change)]
        wanted = {change.after.object_id for change in own if change.after is not None}
        contents = self._trees.read_all(self._project, wanted, 1 << 31)
        missing = sorted(wanted.difference(contents))
        if missing:
            raise NotPossible("some contents are not on this machine")
        try:
            for change in own:
                if change.after is None:
                    self._remove(change.path)
            for change in own:
                if change.after is not None:
                    self._put(change.after, contents[change.after.object_id])
        except OSError as error:
            raise NotPossible(f"the files could not be written ({error.strerror})") from error

    def put_back(self) -> None:
        """Bring back the files of the start. Raises NotPossible."""
        self.write(self._start.tree)

    def _is_own(self, change: TreeChange) -> bool:
        modes = {entry.mode for entry in (change.before, change.after) if entry is not None}
        return _OTHER_REPOSITORY not in modes and change.path not in self._start.filtered

    def _find(self, path: str) -> str:
        """Raises NotPossible for a path behind a link."""
        place = os.path.join(self._project, path)
        if not is_below(os.path.realpath(os.path.dirname(place)), self._project):
            raise NotPossible(f'"{path}" is behind a link that leads out of the project')
        return place

    def _remove(self, path: str) -> None:
        place = self._find(path)
        if os.path.lexists(place):
            os.unlink(place)
        above = os.path.dirname(path)
        while above and not os.listdir(os.path.join(self._project, above)):
            os.rmdir(os.path.join(self._project, above))
            above = os.path.dirname(above)

    def _put(self, entry: GitEntry, content: bytes) -> None:
        place = self._find(entry.path)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        temporary = f"{place}.{os.urandom(6).hex()}.tmp"
        if entry.mode == _LINK:
            os.symlink(os.fsdecode(content), temporary)
        else:
            mode = 0o777 if entry.mode == _EXECUTABLE else 0o666
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with open(descriptor, "wb") as file:
                file.write(content)
        os.replace(temporary, place)
