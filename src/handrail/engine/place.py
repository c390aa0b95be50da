"""Where work belongs: the project it was begun in, and whether that is the caller's. Pure.

The log keeps the name of a project and hashes of its places, never a path: bundles carry the log elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from handrail.contract.ids import blob_ref
from handrail.contract.vocabulary import ObservationKey
from handrail.engine.events import Project
from handrail.engine.history import History, Run

LONGEST_NAME = 100
_HASH_LENGTH = 32

MOST_TAGS = 20
"""Words of a workflow that its runs are found by."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A project by its name, the hash of its directory, and that of its repository's root if it has one."""

    name: str = ""
    directory: str = ""
    repository: str = ""


def place_of(project: str, seen: Mapping[ObservationKey, str]) -> Place:
    """The place of a caller, from what can be seen there."""
    held = kept_project(project)
    return Place(name=held.name, directory=held.directory, repository=seen.get("repo_root_hash", ""))


def kept_project(project: str) -> Project:
    """A project's directory in the form in which the log keeps it."""
    name = project.replace("\\", "/").rstrip("/").rpartition("/")[2]
    directory = blob_ref(project.encode("utf-8", "surrogateescape")).removeprefix("sha256:")
    return Project(
        name=name.encode("utf-8", "replace").decode()[:LONGEST_NAME], directory=directory[:_HASH_LENGTH]
    )


def begun_at(run: Run) -> Place:
    """Where a run was begun; logs of older versions know the repository only."""
    return _place(run.project, run.seen.get("repo_root_hash", ""))


def opened_at(history: History) -> Place:
    """Where a session without a run was begun."""
    opening = history.opening
    return _place(opening.project if opening else None, history.observations.get("repo_root_hash", ""))


def _place(project: Project | None, repository: str) -> Place:
    if project is None:
        return Place(repository=repository)
    return Place(name=project.name, directory=project.directory, repository=repository)


def is_same_place(one: Place, other: Place) -> bool:
    """Whether both are one project. Two places of which nothing is known are not."""
    if one.repository and other.repository:
        return one.repository == other.repository  # a directory of it may be named as the project too
    return bool(one.directory) and one.directory == other.directory
