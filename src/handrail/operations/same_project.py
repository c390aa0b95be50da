"""Whether a directory is the project that a log tells of: the same directory, or a clone or worktree of it.

Who a project is takes a look into its repository, so it is asked only where the directory is another.
"""

from __future__ import annotations

from handrail.engine.events import Project
from handrail.engine.facts import Place, encode_project, is_same_place, place_of
from handrail.ports.workspace import Workspace


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
