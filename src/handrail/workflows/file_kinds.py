"""What a file in a folder of workflows is, by its name alone: one rule for every reader of folders. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, TypeAlias

FileKind: TypeAlias = Literal["workflow", "contract", "yaml", ""]

CONTRACT_FOLDER = "contracts"
_YAML = (".yaml", ".yml")
_SETTINGS = (".handrail", "config.json")


def file_kind(path: str) -> FileKind:
    """A workflow, a contract, something that is meant to be one, or nothing of ours.

    A file directly in a folder `contracts`, or anywhere below `.handrail/contracts`, is a contract. YAML
    is told apart because its author would look for it in vain. The project's settings are neither.
    """
    *folders, name = path.replace("\\", "/").split("/")
    if name.endswith(_YAML):
        return "yaml"
    if not name.endswith(".json") or (*folders[-1:], name) == _SETTINGS:
        return ""
    is_below = (_SETTINGS[0], CONTRACT_FOLDER) in pairwise(folders)
    return "contract" if folders[-1:] == [CONTRACT_FOLDER] or is_below else "workflow"


def is_looked_into(folder: str) -> bool:
    """Whether a folder below is read; what a version control system keeps there is not for us."""
    return folder not in (".git", ".hg", ".svn")
