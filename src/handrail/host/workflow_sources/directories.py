"""JSON files in a directory, bounded in number and size, whatever else lies there."""

from __future__ import annotations

import os
import stat
from typing import Literal

from handrail.contract.vocabulary import SourceKind
from handrail.contract.wording import quoted
from handrail.ports import WorkflowFile
from handrail.workflows.limits import MAX_SOURCE_BYTES

MOST_FILES = 5_000
"""Per directory; more is a mistake in the path, not a library."""


def files_in(
    directory: str,
    source_kind: SourceKind,
    *,
    holds: Literal["workflow", "contract"] = "workflow",
    shown_as: str = "",
) -> list[WorkflowFile]:
    """Every `*.json`, by name; `shown_as` stands before the names where a directory is not the usual one."""
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json"))
    except OSError:
        return []
    prefix = f"{shown_as}/" if shown_as else ""
    found = [
        WorkflowFile(
            source_kind=source_kind,
            source_ref=prefix + name,
            content=content_of(os.path.join(directory, name)),
            holds=holds,
        )
        for name in names[:MOST_FILES]
    ]
    if len(names) > MOST_FILES:
        found.append(_too_many(source_kind, shown_as, len(names)))
    return found


def content_of(path: str, most: int = MAX_SOURCE_BYTES) -> bytes:
    """The file's bytes, one more than the limit at most; empty when it is not a readable regular file."""
    try:
        # O_NONBLOCK: opening a pipe to read would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return _read(descriptor, most + 1)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _read(descriptor: int, most: int) -> bytes:
    content = os.read(descriptor, most)
    while len(content) < most:
        more = os.read(descriptor, most - len(content))
        if not more:
            break
        content += more
    return content


def _too_many(source_kind: SourceKind, shown_as: str, count: int) -> WorkflowFile:
    where = quoted(shown_as) if shown_as else f"the {source_kind} directory"
    return WorkflowFile(
        source_kind=source_kind,
        source_ref="more files",
        content=b"",
        trouble=f"There are {count} workflow files in {where}; only the first {MOST_FILES} are looked at.",
        remedy="Move some of them to another directory.",
    )
