"""Files of other tools that authors give by mistake, recognised by their own keys. Pure."""

from __future__ import annotations

import re
from typing import Final

from handrail.workflows.limits import Spelling

_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_KEY: Final = re.compile(r"^[\"']?([A-Za-z][\w-]*)[\"']?[ \t]*:", re.MULTILINE)
_HAS_ID: Final = re.compile(r"\{#[^{}\s]*\}")
_LONGEST: Final = 100_000

ACTIONS: Final = "a workflow of GitHub Actions"
SKILL: Final = "an agent's skill"
SPEC_KIT: Final = "a command of spec-kit"


def name_other_file(content: bytes, spelling: Spelling) -> str:
    """Return the kind of a foreign file; empty if its keys do not show it.

    A file with an `id`, or a page with a step that has one, is meant for Handrail.
    """
    text = content[:_LONGEST].decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
    if spelling == "yaml":
        keys = set(_KEY.findall(text))
        return ACTIONS if {"on", "jobs"} <= keys and "id" not in keys else ""
    front = _FRONT_MATTER.match(text) if spelling == "md" else None
    if front is None or _HAS_ID.search(text):
        return ""
    keys = set(_KEY.findall(front[1]))
    if "description" not in keys or "id" in keys:
        return ""
    if "name" in keys:
        return SKILL
    return SPEC_KIT if "$ARGUMENTS" in text or {"handoffs", "scripts"} & keys else ""
