"""Reads the places that a report names, once, after the gate accepts the attempt and before the lock.

The rules are pure, so they get what was observed as a value. Files that cannot be read are unknown and
block no report.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from handrail.contract.outcome import make_from
from handrail.engine.code_trees import find_baseline
from handrail.engine.history import History, Node
from handrail.engine.judge.places import AskedPlace, Look, SeenPlace, Sighting
from handrail.operations.changed_files import list_changed_files, list_named_change
from handrail.operations.proof_trees import take_present
from handrail.operations.stored_trees import load_tree
from handrail.ports.trees import TakenTree
from handrail.ports.worktree import MOST_PLACES, PlaceAsked, TreeLook, Unseen
from handrail.runtime.runtime import ReadPorts

NOT_HERE = "the project of the run is not where it was begun, or not on this machine"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """The observations that a report is compared with, and the whole tree if it was taken."""

    sighting: Sighting
    tree: TakenTree | None = None


def look(rt: ReadPorts, history: History, node: Node, wanted: Look, directory: str | None) -> Seen:
    """Return what a report can be compared with in the working tree of the run's project.

    Never raises for an unusual tree.
    """
    if not wanted.places and not wanted.wants_changes and wanted.change is None:
        return Seen(sighting=Sighting())
    if directory is None or history.runs[node.run_id].project is None:
        unknown = "" if wanted.change is None else NOT_HERE
        return Seen(sighting=Sighting(trouble=NOT_HERE, change_trouble=unknown))
    seen = _look_here(rt, history, node, wanted, directory)
    if wanted.change is None:
        return seen
    named = list_named_change(rt, directory, wanted.change)
    if isinstance(named, Unseen):
        sighting = msgspec.structs.replace(seen.sighting, change_trouble=named.reason)
    else:
        sighting = msgspec.structs.replace(seen.sighting, named_change=named)
    return msgspec.structs.replace(seen, sighting=sighting)


def _look_here(rt: ReadPorts, history: History, node: Node, wanted: Look, directory: str) -> Seen:
    worktree = rt.worktree()
    places = _see_places(worktree, directory, wanted.places)
    missing = [one.path for one in places if places[one].state == "missing"]
    if not wanted.wants_changes and not missing:  # a missing file may have been deleted in this run
        return Seen(sighting=Sighting(places=places))
    tree = take_present(rt, directory)
    if isinstance(tree, Unseen):
        return Seen(sighting=Sighting(places=places, trouble=tree.reason))
    deleted = _find_deleted(rt, history, node, directory, tree, missing) if missing else frozenset()
    changes = list_changed_files(rt, history, node, directory, tree.tree) if wanted.wants_changes else None
    sighting = Sighting(places=places, tree=tree.tree, deleted=deleted, changes=changes)
    return Seen(sighting=sighting, tree=tree)


def _find_deleted(
    rt: ReadPorts, history: History, node: Node, directory: str, tree: TakenTree, missing: Sequence[str]
) -> frozenset[str]:
    """Return the missing paths that existed when the run began."""
    first = find_baseline(history, node.node_id)
    stored = None if first is None else load_tree(rt, directory, history, first)
    if stored is None or isinstance(stored, Unseen):
        return frozenset()
    changes = rt.trees().diff(directory, stored.tree, tree.tree)
    found = () if isinstance(changes, Unseen) else changes
    gone = {one.path for one in found if one.status == "deleted"}
    located = rt.worktree().locate_files(directory, missing)
    return frozenset(
        path
        for path, one in zip(missing, located, strict=True)
        if any(file == held or file.startswith(f"{held}/") for held in one.paths for file in gone)
    )


def _see_places(
    worktree: TreeLook, directory: str, wanted: Sequence[AskedPlace]
) -> dict[AskedPlace, SeenPlace]:
    asked = wanted[:MOST_PLACES]
    seen = worktree.see_places(directory, [make_from(PlaceAsked, one) for one in asked])
    return {one: make_from(SeenPlace, found) for one, found in zip(asked, seen, strict=True)}
