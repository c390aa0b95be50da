"""Files that the wheel carries inside the package, each made of what people read at the root."""

from __future__ import annotations

import hashlib
import json
import os
import re

from handrail.workflows.limits import spelling_of
from handrail.workflows.spellings.spelling import decode_document

SKILL = "skills/handrail"
PACKED = "src/handrail/packed"
WORKFLOWS = "src/handrail/host/bundled"
DESCRIPTION = f"{PACKED}/DESCRIPTION.md"
"""The long description of a release, which `pyproject.toml` names."""
_PICTURE = re.compile(r"!\[[^\]]*\]\((?![a-z]+:)[^)]*\)\n?")
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)[^)]*\)")


def copies(root: str) -> dict[str, str]:
    """Path in the package → content: changelog, description, bundled workflows, the whole agent skill."""
    changelog = _text(root, "CHANGELOG.md")
    found = {
        f"{PACKED}/CHANGELOG.md": changelog,
        DESCRIPTION: description(_text(root, "README.md"), changelog),
        f"{PACKED}/workflows.json": decoded_workflows(root),
    }
    for name in skill_files(root):
        found[f"{PACKED}/skill/{name}"] = _text(root, f"{SKILL}/{name}")
    return found


def decoded_workflows(root: str) -> str:
    """The documents of the bundled workflows by the digest of their Markdown, one in a line."""
    rows = []
    for name in sorted(os.listdir(os.path.join(root, *WORKFLOWS.split("/")))):
        content = _text(root, f"{WORKFLOWS}/{name}").encode()
        document = decode_document(content, spelling_of(name))
        assert document is not None, f"{name} can be read"
        digest = hashlib.sha256(content).hexdigest()
        rows.append(f'"{digest}":{json.dumps(document, ensure_ascii=False, separators=(",", ":"))}')
    return "{\n" + ",\n".join(sorted(rows)) + "\n}\n"


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
