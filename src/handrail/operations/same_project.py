"""Whether a directory belongs to the project that a log names: the same one, a clone, or a worktree.

Identifying a project reads its repository, so this is done only if the directory differs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.engine.events import Project
from handrail.engine.facts import Place, encode_project, is_same_place, place_of
from handrail.engine.history import Run
from handrail.engine.reply import ReplyWarning

if TYPE_CHECKING:
    from handrail.ports.workspace import ProjectPlaces, Workspace
    from handrail.runtime.runtime import ReadPorts


def is_project(workspace: Workspace, begun: Project, project: str) -> bool:
    """Whether this directory belongs to the project that a run was begun in."""
    if begun.directory == encode_project(project).directory:
        return True
    return bool(begun.identity) and begun.identity == workspace.identity(project)


def is_begun_here(workspace: Workspace, begun: Place, project: str) -> bool:
    """Whether something was begun in the caller's present project.

    A directory of the repository is enough.
    """
    here = place_of(project, workspace.observations(project))
    if is_same_place(begun, here):
        return True
    return bool(begun.identity) and begun.identity == workspace.identity(project)


# The project of a run is the one that it was begun in, whichever directory a call comes from or names.
#
# Handrail reads its files and settings and keeps its trees, so no call avoids them by naming another.


def find_own_project(
    workspace: Workspace, places: ProjectPlaces, run: Run, asked: str | UnsetType
) -> str | None:
    """Return the directory of the run's project; None if it is not on this machine.

    Logs of older versions do not name the project: then the directory of the call is used.
    """
    begun = run.project
    if begun is not None and run.parent is not None:  # a child run has one directory, and no clone of it
        begun = msgspec.structs.replace(begun, identity="")
    for named in dict.fromkeys(("" if asked is UNSET else asked, "")):
        project = _resolve(workspace, named)
        if project is not None and (begun is None or is_project(workspace, begun, project)):
            return project
    kept = None if begun is None else places.find(begun.directory)
    project = None if kept is None else _resolve(workspace, kept)
    if project is None or begun is None or not is_project(workspace, begun, project):
        return None
    return project


def settle_project(rt: ReadPorts, run: Run, asked: str | UnsetType, own: str | None) -> str | None:
    """Return the directory of a child run's first writing call, if it may become the child's own; None if
    the child has a directory already, or the call comes from another repository; the parent's directory
    then stays.
    """
    if run.parent is None or run.has_own_project or run.project is None:
        return None
    try:
        here = rt.workspace.project("" if asked is UNSET else asked)
    except Fault:
        return None
    if here == own:
        return here
    main = rt.places.find(run.project.directory) if own is None else own
    if not main or not is_same_repository(rt.workspace, here, main):
        return None
    rt.places.keep(encode_project(here).directory, here)
    return here


def is_same_repository(workspace: Workspace, one: str, other: str) -> bool:
    """Whether two directories are worktrees of one repository, by their common git directory."""
    held = workspace.repository(one)
    return bool(held) and held == workspace.repository(other)


def warn_of_other_project(workspace: Workspace, run: Run, asked: str | UnsetType) -> tuple[ReplyWarning, ...]:
    """Return the warning for a call that names another project.

    It depends only on the call and the log, so a replay repeats it.
    """
    if asked is UNSET or run.project is None:
        return ()
    project = _resolve(workspace, asked)
    if project is not None and is_project(workspace, run.project, project):
        return ()
    message = f"The run belongs to the project {quote(run.project.name)}; {quote(asked)} was not used."
    details = {"project": run.project.name}
    return (ReplyWarning(code="PROJECT_NOT_USED", message=message[:500], details=details),)


def _resolve(workspace: Workspace, named: str) -> str | None:
    try:
        return workspace.project(named)
    except Fault:
        return None
