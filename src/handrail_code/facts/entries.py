"""Which files other packages can import: the entries that a package.json names. Pure."""

from __future__ import annotations

import posixpath
from itertools import islice

from handrail_code.facts.join import Project
from handrail_code.facts.resolution import list_targets
from handrail_code.facts.source import MANIFEST, folders_up

FIELDS = ("main", "module", "types", "typings", "browser", "bin", "exports", "source")
MAX_TARGETS = 500


def is_entry(project: Project, path: str) -> bool:
    """Whether package.json names this file, so that others may import what it exports."""
    for manifest in project.source.manifests():
        folder = posixpath.dirname(manifest)
        if folder and not path.startswith(folder + "/"):
            continue
        value = project.source.settings(manifest)
        settings = value if isinstance(value, dict) else {}
        targets = list(islice(list_targets([settings.get(field) for field in FIELDS], None), MAX_TARGETS))
        if not any(field in settings for field in ("main", "module", "exports")):
            targets.append("./index")
        if any(_names(project, folder, target, path) for target in targets):
            return True
    return False


def package_type(project: Project, path: str) -> str:
    """`module` or `commonjs`: how the nearest package.json makes Node read a plain .js file."""
    for folder in folders_up(posixpath.dirname(path)):
        value = project.source.settings(posixpath.join(folder, MANIFEST))
        if isinstance(value, dict):
            return "module" if value.get("type") == "module" else "commonjs"
    return ""


def package_of(project: Project, path: str) -> str:
    """The folder of the package that this file belongs to; a package.json without a name makes none."""
    for folder in folders_up(posixpath.dirname(path)):
        value = project.source.settings(posixpath.join(folder, MANIFEST))
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            return folder
    return ""


def _names(project: Project, folder: str, target: str, path: str) -> bool:
    if "*" in target:
        before, _, after = posixpath.normpath(posixpath.join(folder, target)).partition("*")
        return path.startswith(before) and path.endswith(after)
    relative = target if target.startswith(".") else "./" + target
    return project.slots.module_of(posixpath.join(folder, MANIFEST), relative) == path
