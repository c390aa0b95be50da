"""The long description of a release, and the files of the agent skill.

The wheel carries the changelog and the skill as links in `src/handrail/packed/`, which the build follows.
"""

from __future__ import annotations

import hashlib
import json
import os
import re

from handrail.program.update.find_release import Release, read_releases
from handrail.workflows.limits import spelling_of
from handrail.workflows.spellings.spelling import decode_document

SKILL = "skills/handrail"
WORKFLOWS = "src/handrail/host/bundled"
DESCRIPTION = "src/handrail/packed/DESCRIPTION.md"
"""The long description of a release, which `pyproject.toml` names."""
_PICTURE = re.compile(r"!\[[^\]]*\]\((?![a-z]+:)[^)]*\)\n?")
_LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:)[^)]*\)")


def description_file(root: str) -> str:
    """The description of the release that these files would make."""
    return description(_text(root, "README.md"), _text(root, "CHANGELOG.md"))


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
    """README, then every release with its security fixes: from them an older version learns how urgent it is.

    A package index has no files beside the description, so links into the repository become their words.
    """
    releases = "".join("\n" + _release_text(one) for one in read_releases(changelog))
    return _LINK.sub(r"\1", _PICTURE.sub("", readme)).rstrip() + "\n\n# Changelog\n" + releases


def skill_files(root: str) -> list[str]:
    """The files of the skill, relative to it, sorted."""
    top = os.path.join(root, *SKILL.split("/"))
    return sorted(
        os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")
        for folder, _, files in os.walk(top)
        for name in files
    )


def _release_text(release: Release) -> str:
    """A release as the changelog writes it, without what an older version has no use for."""
    date = f" - {release.date}" if release.date else ""
    fixes = "".join(f"- {one}\n" for one in release.changes.security)
    return f"## [{release.version}]{date}\n" + (f"\n### Security\n\n{fixes}" if fixes else "")


def _text(root: str, name: str) -> str:
    with open(os.path.join(root, *name.split("/")), encoding="utf-8", newline="") as file:
        return file.read()
