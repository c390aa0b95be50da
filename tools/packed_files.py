"""Files that the wheel carries inside the package, each made of what people read at the root."""

from __future__ import annotations

import os
import re

SKILL = "skills/handrail"
PACKED = "src/handrail/packed"
DESCRIPTION = f"{PACKED}/DESCRIPTION.md"
"""The long description of a release, which `pyproject.toml` names."""
_PICTURE = re.compile(r"!\[[^\]]*\]\((?![a-z]+:)[^)]*\)\n?")
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)[^)]*\)")


def copies(root: str) -> dict[str, str]:
    """Path in the package → content: changelog, long description, the whole directory of the agent skill."""
    changelog = _text(root, "CHANGELOG.md")
    found = {
        f"{PACKED}/CHANGELOG.md": changelog,
        DESCRIPTION: description(_text(root, "README.md"), changelog),
    }
    for name in skill_files(root):
        found[f"{PACKED}/skill/{name}"] = _text(root, f"{SKILL}/{name}")
    return found


def description(readme: str, changelog: str) -> str:
    """README, then the changelog: an older version reads there what a newer one changed.

    A package index has no files beside the description, so links into the repository become their words.
    """
    return _LINK.sub(r"\1", _PICTURE.sub("", readme)).rstrip() + "\n\n" + changelog


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
