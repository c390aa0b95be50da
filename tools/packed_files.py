"""Files that the wheel carries inside the package, each a copy of one that people read at the root."""

from __future__ import annotations

import os

SKILL = "skills/handrail"
PACKED = "src/handrail/packed"


def copies(root: str) -> dict[str, str]:
    """Path in the package → content: the changelog, and the whole directory of the agent skill."""
    found = {f"{PACKED}/CHANGELOG.md": _text(root, "CHANGELOG.md")}
    for name in skill_files(root):
        found[f"{PACKED}/skill/{name}"] = _text(root, f"{SKILL}/{name}")
    return found


def skill_files(root: str) -> list[str]:
    """The files of the skill, relative to it, sorted."""
    top = os.path.join(root, *SKILL.split("/"))
    return sorted(
        os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")
        for folder, _, files in os.walk(top)
        for name in files
    )


def _text(root: str, name: str) -> str:
    with open(os.path.join(root, *name.split("/")), encoding="utf-8", newline="") as file:
        return file.read()
