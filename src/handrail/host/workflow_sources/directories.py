"""The JSON files in a directory, limited in number and size."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias

from handrail.contract.ids import SourceKind
from handrail.contract.wording import make_readable, quote
from handrail.host.private_files import explain_unreadable, leads_outside, open_regular_file
from handrail.ports.workspace import WorkflowFile
from handrail.workflows.limits import (
    MAX_SOURCE_BYTES,
    explain_misnaming,
    file_kind,
    is_looked_into,
    kind_if_renamed,
)

_Holds: TypeAlias = Literal["workflow", "contract"]

MOST_FILES = 5_000
"""Per directory, with what is below it; more is a mistake in the path, not a library."""
MOST_FOLDERS = 1_000


def list_files(
    directory: str,
    source_kind: SourceKind,
    *,
    holds: _Holds = "workflow",
    shown_as: str = "",
    root: str = "",
) -> list[WorkflowFile]:
    """Every `*.json` in a directory and below it, and what is meant to be one, by name.

    `shown_as` stands before the names where a directory is not the usual one. A folder `contracts` holds
    contracts, wherever it is. Links to folders are not followed, and nothing is read that lies outside of
    `root`, which is the directory itself if no other is named.
    """
    if root and leads_outside(directory, root):
        return [describe_outside_link(source_kind, shown_as or os.path.relpath(directory, root), holds)]
    names = sorted(_names_below(directory))
    prefix = f"{shown_as}/" if shown_as else ""
    found = [
        _read_file(
            os.path.join(directory, name), source_kind, make_readable(prefix + name), holds, root or directory
        )
        for name in names[:MOST_FILES]
    ]
    if len(names) > MOST_FILES:
        found.append(_too_many(source_kind, shown_as, len(names)))
    return found


def _names_below(directory: str) -> list[str]:
    """Names of files, relative to the directory; a folder that cannot be opened is empty."""
    found: list[str] = []
    folders = [""]
    for folder in folders:  # grows while it is walked
        try:
            with os.scandir(os.path.join(directory, folder)) as entries:
                seen = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            continue
        for name, is_folder in seen:
            path = f"{folder}/{name}" if folder else name
            if not is_folder or (file_kind(name) and explain_misnaming(name) is None):
                found += [path] if file_kind(path) else []
            elif is_looked_into(name) and len(folders) < MOST_FOLDERS:
                folders.append(path)
    return found


def describe_outside_link(
    source_kind: SourceKind, source_ref: str, holds: _Holds = "workflow"
) -> WorkflowFile:
    """A link out of the directory, as it is listed: its target may be anyone's and is not read."""
    owner = "project" if source_kind == "project" else "directory"
    return WorkflowFile(
        source_kind=source_kind,
        source_ref=make_readable(source_ref),
        content=b"",
        holds=holds,
        trouble=f"{quote(source_ref)} is a link that leads out of the {owner}, so it is not read.",
        remedy="Put what it leads to in its place, or remove the link.",
    )


def _read_file(path: str, source_kind: SourceKind, source_ref: str, holds: _Holds, root: str) -> WorkflowFile:
    held: _Holds = "contract" if kind_if_renamed(path) == "contract" else holds

    def unusable(trouble: str, remedy: str) -> WorkflowFile:
        return WorkflowFile(
            source_kind=source_kind,
            source_ref=source_ref,
            content=b"",
            holds=held,
            trouble=trouble,
            remedy=remedy,
        )

    if os.path.islink(path) and leads_outside(path, root):
        return describe_outside_link(source_kind, source_ref, held)
    if (told := explain_misnaming(source_ref)) is not None:
        return unusable(*told)
    content = content_of(path)
    why = "" if content else explain_unreadable(path)
    if why:
        return unusable(f"{quote(source_ref)} {why}.", "Put a JSON file in its place, or remove it.")
    return WorkflowFile(source_kind=source_kind, source_ref=source_ref, content=content, holds=held)


def content_of(path: str, most: int = MAX_SOURCE_BYTES) -> bytes:
    """The bytes of a file, one more than the limit at most; empty if it is not a readable regular file."""
    try:
        descriptor = open_regular_file(path, os.O_RDONLY)
    except OSError:
        return b""
    try:
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
    where = quote(shown_as) if shown_as else f"the {source_kind} directory"
    return WorkflowFile(
        source_kind=source_kind,
        source_ref="more files",
        content=b"",
        trouble=f"There are {count} workflow files in {where}; only the first {MOST_FILES} are looked at.",
        remedy="Move some of them to another directory.",
    )
