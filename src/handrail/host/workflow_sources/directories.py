"""The workflow and contract files in a directory, limited in number and size."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from handrail.contract.ids import SourceKind
from handrail.contract.wording import make_readable, quote
from handrail.host.private_files import explain_unreadable, leads_outside, open_regular_file
from handrail.ports.workspace import WorkflowFile
from handrail.workflows.limits import (
    MAX_SOURCE_BYTES,
    explain_misnaming,
    file_kind,
    is_looked_into,
    is_page,
    kind_if_renamed,
)
from handrail.workflows.spellings.decoded import is_workflow_page

_Holds: TypeAlias = Literal["workflow", "contract"]

MOST_FILES = 5_000
"""Per directory, with what is below it; more is a mistake in the path, not a library."""
MOST_FOLDERS = 1_000

Roots: TypeAlias = Sequence[tuple[SourceKind, str]]
"""Directories whose files are listed, absolute, each with whose they are."""


def list_files(
    directory: str,
    source_kind: SourceKind,
    *,
    holds: _Holds = "workflow",
    shown_as: str = "",
    root: str = "",
) -> list[WorkflowFile]:
    """Every workflow file in a directory and below it, and what is meant to be one, by name.

    `shown_as` stands before the names where a directory is not the usual one. A folder `contracts` holds
    contracts, wherever it is. Links to folders are not followed, and nothing is read that lies outside of
    `root`, which is the directory itself if no other is named.
    """
    if root and leads_outside(directory, root):
        return [describe_outside_link(source_kind, shown_as or os.path.relpath(directory, root), holds)]
    below = _look_below(directory)
    prefix = f"{shown_as}/" if shown_as else ""
    found = [
        _read_file(
            os.path.join(directory, name), source_kind, make_readable(prefix + name), holds, root or directory
        )
        for name in below.names[:MOST_FILES]
    ]
    found = [file for file in found if not _is_another_page(file)]
    found += [_closed_folder(source_kind, prefix, name, holds) for name in below.closed]
    if len(below.names) > MOST_FILES:
        found.append(_too_many(source_kind, shown_as, f"{len(below.names)} workflow files", MOST_FILES))
    if below.has_more_folders:
        found.append(_too_many(source_kind, shown_as, f"more than {MOST_FOLDERS} folders", MOST_FOLDERS))
    return found


def _is_another_page(file: WorkflowFile) -> bool:
    """Whether it is Markdown that is no workflow, such as a README beside them."""
    is_read = bool(file.content) or not file.source_ref.endswith(".md")
    return is_read and is_page(file.source_ref) and not is_workflow_page(file.content)


def list_named_files(directory: str, roots: Roots) -> list[WorkflowFile]:
    """What a listing would give of a directory that a caller names, each under the path to it."""
    source_kind, root = _owner(directory, roots)
    return list_files(directory, source_kind, shown_as=directory.rstrip("/"), root=root)


def refuse_named_file(path: str, roots: Roots) -> WorkflowFile | None:
    """A file that a caller names, if no listing would read it because it leads out of where it belongs."""
    source_kind, root = _owner(path, roots)
    if not root or not leads_outside(path, root):
        return None
    held: _Holds = "contract" if kind_if_renamed(os.path.abspath(path)) == "contract" else "workflow"
    return describe_outside_link(source_kind, path, held)


def _owner(path: str, roots: Roots) -> tuple[SourceKind, str]:
    """Whose a path is, and the directory that its links must not leave; none for one that nobody lists."""
    full = os.path.abspath(path)
    for source_kind, root in roots:
        if full == root or full.startswith(root.rstrip(os.sep) + os.sep):
            return source_kind, root
    return "user", ""


class _Below(NamedTuple):
    """What a directory holds, as names relative to it, sorted."""

    names: list[str]
    closed: list[str]
    """Folders that may not be read."""
    has_more_folders: bool


def _look_below(directory: str) -> _Below:
    names: list[str] = []
    closed: list[str] = []
    has_more_folders = False
    top = os.path.abspath(directory)  # what a file is depends on the folders above it too
    folders = [""]
    for folder in folders:  # grows while it is walked
        try:
            with os.scandir(os.path.join(directory, folder)) as entries:
                seen = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
        except PermissionError:
            closed.append(folder)
            continue
        except OSError:
            continue
        for name, is_folder in seen:
            path = f"{folder}/{name}" if folder else name
            if not is_folder or name.endswith(".json"):
                names += [path] if file_kind(f"{top}/{path}") else []
            elif is_looked_into(name) and len(folders) < MOST_FOLDERS:
                folders.append(path)
            elif is_looked_into(name):
                has_more_folders = True
    return _Below(sorted(names), sorted(closed), has_more_folders)


def _closed_folder(source_kind: SourceKind, prefix: str, name: str, holds: _Holds) -> WorkflowFile:
    shown = f"{prefix}{name}".rstrip("/") or f"the {source_kind} directory"
    return WorkflowFile(
        source_kind=source_kind,
        source_ref=make_readable(shown),
        content=b"",
        holds=holds,
        trouble=f"{quote(shown)} may not be read.",
        remedy="Let this user read the folder, or move it away.",
    )


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
    held: _Holds = "contract" if kind_if_renamed(os.path.abspath(path)) == "contract" else holds
    if os.path.islink(path) and leads_outside(path, root):
        return describe_outside_link(source_kind, source_ref, held)
    content = content_of(path)
    why = "" if content else explain_unreadable(path)
    trouble, remedy = explain_misnaming(os.path.abspath(path)) or ("", "")
    if why:
        trouble, remedy = f"{quote(source_ref)} {why}.", "Put a workflow file in its place, or remove it."
    return WorkflowFile(
        source_kind=source_kind,
        source_ref=source_ref,
        content=content,
        holds=held,
        trouble=trouble,
        remedy=remedy,
    )


def content_of(path: str, most: int = MAX_SOURCE_BYTES) -> bytes:
    """The bytes of a file, one more than the limit at most; empty if it is not a readable regular file."""
    try:
        with os.fdopen(open_regular_file(path, os.O_RDONLY), "rb") as file:
            return file.read(most + 1)
    except OSError:
        return b""


def _too_many(source_kind: SourceKind, shown_as: str, held: str, most: int) -> WorkflowFile:
    where = quote(shown_as) if shown_as else f"the {source_kind} directory"
    return WorkflowFile(
        source_kind=source_kind,
        source_ref="more files",
        content=b"",
        trouble=f"There are {held} in {where}; only the first {most} are looked at.",
        remedy="Move some of them to another directory.",
    )
