"""How many files of a project differ from its last commit, as git tells; nothing of the project is run."""

from __future__ import annotations

from collections.abc import Mapping

from handrail.host.git import open_working_tree

SECONDS = 2
_STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all")


def count_changed_files(project: str, environment: Mapping[str, str]) -> int | None:
    """None where git is not there, refuses, takes too long or would start a filter."""
    git = open_working_tree(project, environment, SECONDS)
    if git.names_filters():
        return None
    listed = git.run(*_STATUS)
    return None if listed is None else listed.count(b"\0")
