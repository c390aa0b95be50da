"""Which files other packages can import: the entries that a package.json names. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from handrail_code.facts.join import Project
from handrail_code.facts.source import MANIFEST

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
        targets = [target for field in FIELDS for target in _strings(settings.get(field))]
        if not any(field in settings for field in ("main", "module", "exports")):
            targets.append("./index")
        for target in targets[:MAX_TARGETS]:
            if _names(project, folder, target, path):
                return True
    return False


def package_type(project: Project, path: str) -> str:
    """`module` or `commonjs`: how the nearest package.json makes Node read a plain .js file."""
    folder = posixpath.dirname(path)
    while True:
        value = project.source.settings(posixpath.join(folder, MANIFEST))
        if isinstance(value, dict):
            return "module" if value.get("type") == "module" else "commonjs"
        if not folder:
            return ""
        folder = posixpath.dirname(folder)


def package_of(project: Project, path: str) -> str:
    """The folder of the package that this file belongs to; a package.json without a name makes none."""
    folder = posixpath.dirname(path)
    while folder:
        value = project.source.settings(posixpath.join(folder, MANIFEST))
        if isinstance(value, dict) and isinstance(value.get("name"), str):
            return folder
        folder = posixpath.dirname(folder)
    return ""


def _names(project: Project, folder: str, target: str, path: str) -> bool:
    if "*" in target:
        before, _, after = posixpath.normpath(posixpath.join(folder, target)).partition("*")
        return path.startswith(before) and path.endswith(after)
    relative = target if target.startswith(".") else "./" + target
    return project.slots.module_of(posixpath.join(folder, MANIFEST), relative) == path


def _strings(value: object) -> Iterator[str]:
    waiting = [value]
    left = MAX_TARGETS
    while waiting and left:
        left -= 1
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
