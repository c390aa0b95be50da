"""Workflow files on disk: bundled with the package, in the user's home, in the project."""

from __future__ import annotations

import os
import stat

from handrail.contract.vocabulary import SourceKind
from handrail.ports import WorkflowFile
from handrail.workflows.source import MAX_SOURCE_BYTES

MOST_FILES = 5_000
"""Per directory; more is a mistake in the path, not a library."""

_BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bundled")


class DirectoryLibrary:
    """`ports.WorkflowLibrary` over three directories."""

    def __init__(self, home: str) -> None:
        self._user = os.path.join(home, "workflows")

    def files(self, project: str) -> list[WorkflowFile]:
        return [
            *_files_in(_BUNDLED, "bundled"),
            *_files_in(self._user, "user"),
            *_files_in(os.path.join(project, ".handrail", "workflows"), "project"),
        ]


def _files_in(directory: str, source_kind: SourceKind) -> list[WorkflowFile]:
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    except OSError:
        return []
    return [
        WorkflowFile(
            source_kind=source_kind, source_ref=name, content=_content(os.path.join(directory, name))
        )
        for name in names[:MOST_FILES]
    ]


def _content(path: str) -> bytes:
    """The file's bytes, one more than the limit at most; empty when it is not a readable regular file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        with os.fdopen(os.dup(descriptor), "rb") as file:
            return file.read(MAX_SOURCE_BYTES + 1)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
