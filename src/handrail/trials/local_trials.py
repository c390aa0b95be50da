"""`Trials` of this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager

from handrail.contract.catalogue import E_IO
from handrail.contract.outcome import Fault
from handrail.ports.trees import Trees
from handrail.ports.trials import RefusedRoom, StopReason, TrialCheck, TrialRoom
from handrail.trials.in_place import NotPossible, PlacedTrees
from handrail.trials.processes import can_mount
from handrail.trials.room import LocalRoom, Place
from handrail.trials.scratch import MOST_SLOTS, Slot, find_cache, hold_slot


class LocalTrials:
    """Rooms in the user's cache folder."""

    def __init__(
        self, home: str, environment: Mapping[str, str], trees: Trees, *, may_mount: bool = True
    ) -> None:
        self._home = home
        self._environment = environment
        self._trees = trees
        self._may_mount = may_mount

    def open(
        self,
        project: str,
        check: TrialCheck,
        *,
        is_in_place: bool = False,
        stop_reason: Callable[[], StopReason] = lambda: "",
    ) -> AbstractContextManager[TrialRoom]:
        return self._open(os.path.realpath(project), check, stop_reason, is_in_place=is_in_place)

    @contextmanager
    def _open(
        self, project: str, check: TrialCheck, stop_reason: Callable[[], StopReason], *, is_in_place: bool
    ) -> Iterator[TrialRoom]:
        if sys.platform == "win32":
            yield RefusedRoom("checks run on Linux and macOS")
            return
        with ExitStack() as stack:
            try:
                # A home knows which folders it wrote, so each has its own.
                mark = f"{os.path.realpath(self._home)}\0{project}"
                slot = stack.enter_context(hold_slot(find_cache(self._environment), mark))
            except OSError as error:
                yield RefusedRoom(f"the cache folder could not be written ({error.strerror})")
                return
            if slot is None:
                yield RefusedRoom(f"{MOST_SLOTS} checks of this project are under way")
            elif is_in_place:
                yield from self._place_trees(project, slot, check, stop_reason)
            else:
                yield LocalRoom(self._make_place(project, slot), check, stop_reason)

    def _make_place(self, project: str, slot: Slot) -> Place:
        os.makedirs(slot.files, exist_ok=True)
        is_free = self._may_mount and can_mount([(slot.files, project)], self._environment)
        return Place(
            project=project,
            slot=slot,
            trees=self._trees,
            caller=self._environment,
            can_mount=is_free,
        )

    def _place_trees(
        self, project: str, slot: Slot, check: TrialCheck, stop_reason: Callable[[], StopReason]
    ) -> Iterator[TrialRoom]:
        try:
            placed = PlacedTrees(self._trees, project)
        except NotPossible as trouble:
            yield RefusedRoom(str(trouble))
            return
        place = Place(
            project=project,
            slot=slot,
            trees=self._trees,
            caller=self._environment,
            can_mount=False,
            placed=placed,
        )
        try:
            yield LocalRoom(place, check, stop_reason)
        finally:
            _put_back(placed)


def _put_back(placed: PlacedTrees) -> None:
    try:
        placed.put_back()
    except NotPossible as trouble:
        raise Fault(
            E_IO,
            f"The files of the project could not be brought back: {trouble}.",
            hint="Look at `git status`, then run `git restore .`",
        ) from trouble
