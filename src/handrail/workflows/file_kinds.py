"""What a file in a folder of workflows is, by its name alone: one rule for every reader of folders. Pure."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal, TypeAlias

from handrail.contract.wording import quoted

FileKind: TypeAlias = Literal["workflow", "contract", "misnamed", ""]

CONTRACT_FOLDER = "contracts"
_ENDING = ".json"
_LIKE_JSON = (".jsonc", ".json5")
_YAML = (".yaml", ".yml")
_SETTINGS = (".handrail", "config.json")


def file_kind(path: str) -> FileKind:
    """A workflow, a contract, something that is meant to be one, or nothing of ours.

    A file directly in a folder `contracts`, or anywhere below `.handrail/contracts`, is a contract. One with
    the ending of JSON in capitals, of its relatives or of YAML is told apart, because its author would look
    for it in vain. The project's settings are neither.
    """
    *folders, name = path.replace("\\", "/").split("/")
    if misnaming(name) is not None:
        return "misnamed"
    if not name.endswith(_ENDING) or (*folders[-1:], name) == _SETTINGS:
        return ""
    is_below = (_SETTINGS[0], CONTRACT_FOLDER) in pairwise(folders)
    return "contract" if folders[-1:] == [CONTRACT_FOLDER] or is_below else "workflow"


def misnaming(path: str) -> tuple[str, str] | None:
    """Why a file is not found under its name, and what to do; None where the name is not the trouble."""
    name = path.replace("\\", "/").rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    folded = f"{dot}{ending}".lower()
    wanted = quoted(f"{stem}{_ENDING}")
    if name.startswith(".") or name.endswith(_ENDING):
        return None  # a hidden file is another tool's
    if folded in _YAML:
        fix = f"Write the same as JSON into {wanted}, and remove this file."
        return f"{quoted(name)} is YAML; workflow files are JSON.", fix
    why = f"{quoted(name)} is not looked for: only names that end in {_ENDING} are."
    if folded == _ENDING:
        return why, f"Rename it to {wanted}."
    if folded in _LIKE_JSON:
        return why, f"Rename it to {wanted}, and take out comments and trailing commas."
    return None


def kind_if_renamed(path: str) -> FileKind:
    """What a file would be under a name that is looked for."""
    return file_kind(f"{path.rpartition('.')[0]}{_ENDING}" if misnaming(path) else path)


def is_looked_into(folder: str) -> bool:
    """Whether a folder below is read; what a version control system keeps there is not for us."""
    return folder not in (".git", ".hg", ".svn")
