"""Whether a directory is the project that a log tells of: the same directory, or a clone or worktree of it.

Who a project is takes a look into its repository, so it is asked only where the directory is another.
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
    """Whether this directory is of the project that a run was begun in."""
    if begun.directory == encode_project(project).directory:
        return True
    return bool(begun.identity) and begun.identity == workspace.identity(project)


def is_begun_here(workspace: Workspace, begun: Place, project: str) -> bool:
    """Whether something was begun where the caller is now; a directory of the repository will do."""
    here = place_of(project, workspace.observations(project))
    if is_same_place(begun, here):
        return True
    return bool(begun.identity) and begun.identity == workspace.identity(project)


# The project of a run is the one that it was begun in, whichever directory a call comes from or names
#
# Its files are looked at, its settings count and its trees are kept: no call escapes them by naming another.


def find_own_project(
    workspace: Workspace, places: ProjectPlaces, run: Run, asked: str | UnsetType
) -> str | None:
    """The directory of the run's project; None: it is not at hand.

    Logs of older versions do not tell it: then the directory of the call stands for it.
    """
    begun = run.project
    if begun is not None and run.parent is not None:  # a child has one directory, and no clone of it
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
    """The directory that a child's first writing call is made in, if it may be the child's own.

    None: it has one, or the call comes from elsewhere, and the parent's directory stays.
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
    """What a reply says to a call that names another project; from the call and the log, as its replay."""
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
