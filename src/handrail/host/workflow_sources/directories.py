"""Where workflows are: the two `config.json` files that say it, and the files in a directory, within limits.

A key that this file does not know is somebody else's setting and is left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from handrail.contract.ids import SourceKind
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import make_readable, quote
from handrail.contract.workflow_files import WorkflowFile
from handrail.host.bounds import Bounds
from handrail.host.private_files import content_of, explain_unreadable, leads_outside
from handrail.workflows.limits import (
    MAX_SOURCE_BYTES,
    explain_misnaming,
    file_kind,
    is_looked_into,
    is_page,
    kind_if_renamed,
)
from handrail.workflows.spellings.decoded import is_workflow_page

# The workflow and contract files in a directory, limited in number and size

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
    bounds: Bounds | None = None,
) -> list[WorkflowFile]:
    """Every workflow file in a directory and below it, and what is meant to be one, by name.

    `shown_as` stands before the names where a directory is not the usual one. A folder `contracts` holds
    contracts, wherever it is. Links to folders are not followed, and nothing is read that lies outside of
    `root`, which is the directory itself if no other is named. `bounds` are those of a project.
    """
    if root and leads_outside(directory, root):
        return [describe_outside_link(source_kind, shown_as or os.path.relpath(directory, root), holds)]
    below = _look_below(directory)
    prefix = f"{shown_as}/" if shown_as else ""
    found = [
        _read_file(
            os.path.join(directory, name),
            source_kind,
            make_readable(prefix + name),
            holds,
            root or directory,
            bounds,
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
    remedy = "Let this user read the folder, or move it away."
    return describe_trouble(
        source_kind, make_readable(shown), f"{quote(shown)} may not be read.", remedy, holds
    )


def describe_outside_link(
    source_kind: SourceKind, source_ref: str, holds: _Holds = "workflow"
) -> WorkflowFile:
    """A link out of the directory, as it is listed: its target may be anyone's and is not read."""
    owner = "project" if source_kind == "project" else "directory"
    message = f"{quote(source_ref)} is a link that leads out of the {owner}, so it is not read."
    remedy = "Put what it leads to in its place, or remove the link."
    return describe_trouble(source_kind, make_readable(source_ref), message, remedy, holds)


def _read_file(
    path: str, source_kind: SourceKind, source_ref: str, holds: _Holds, root: str, bounds: Bounds | None
) -> WorkflowFile:
    held: _Holds = "contract" if kind_if_renamed(os.path.abspath(path)) == "contract" else holds
    if os.path.islink(path) and leads_outside(path, root):
        return describe_outside_link(source_kind, source_ref, held)
    is_private = bounds is not None and bounds.is_another_name(path)
    content = b"" if is_private else content_of(path, MAX_SOURCE_BYTES)
    why = "is another name of a private file" if is_private else "" if content else explain_unreadable(path)
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


def _too_many(source_kind: SourceKind, shown_as: str, held: str, most: int) -> WorkflowFile:
    where = quote(shown_as) if shown_as else f"the {source_kind} directory"
    message = f"There are {held} in {where}; only the first {most} are looked at."
    return describe_trouble(source_kind, "more files", message, "Move some of them to another directory.")


# Where the user and the project say that workflows are

OWN_FOLDER = ".handrail"
MOST_BYTES = 65_536
MOST_SOURCES = 50
_COMMIT = r"[0-9a-f]{40}|[0-9a-f]{64}"
_NAMESPACE = r"[a-z][a-z0-9_-]*"

Object: TypeAlias = dict[str, Json]


class GitSource(msgspec.Struct, frozen=True, kw_only=True):
    """A repository at one commit. Exactly one of `path` and `url` is set."""

    path: str = ""
    url: str = ""
    ref: str
    """A full commit id: a branch would mean something else tomorrow."""
    directory: str = ""
    namespaces: dict[str, str] = {}
    """Its own namespaces to what they are called here, both without the dot."""


class UserSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What the user's `config.json` says about workflows; `troubles` are listed beside the workflows."""

    git: tuple[GitSource, ...] = ()
    plugins: tuple[str, ...] = ()
    troubles: tuple[WorkflowFile, ...] = ()


class ProjectSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Directories inside the project that hold workflows, relative to it."""

    directories: tuple[str, ...] = ()
    troubles: tuple[WorkflowFile, ...] = ()


def read_user_settings(home: str) -> UserSettings:
    read = _read_config(os.path.join(home, "config.json"), "user", "config.json")
    return UserSettings(troubles=(read,)) if isinstance(read, WorkflowFile) else parse_user_settings(read)


def parse_user_settings(read: Object) -> UserSettings:
    """What the document of the user says about workflows."""
    git: list[GitSource] = []
    troubles: list[WorkflowFile] = []
    for place, source in enumerate(_list(read, "workflowSources")):
        found = _git_source(source, f"config.json workflowSources[{place}]")
        if isinstance(found, GitSource):
            git.append(found)
        else:
            troubles.append(found)
    plugins = tuple(name for name in _list(read, "plugins") if isinstance(name, str) and name)
    return UserSettings(git=tuple(git), plugins=plugins, troubles=tuple(troubles))


def read_project_settings(project: str) -> ProjectSettings:
    shown = ".handrail/config.json"
    for name in (OWN_FOLDER, shown):
        if leads_outside(os.path.join(project, name), project):
            return ProjectSettings(troubles=(describe_outside_link("project", name),))
    read = _read_config(os.path.join(project, ".handrail", "config.json"), "project", shown)
    if isinstance(read, WorkflowFile):
        return ProjectSettings(troubles=(read,))
    directories: list[str] = []
    troubles: list[WorkflowFile] = []
    if not isinstance(read.get("workflowDirectories", []), list):
        message = f"workflowDirectories in {shown} is no list, so no further directory is looked at."
        remedy = 'Write a list of directories, such as ["more"].'
        troubles.append(describe_trouble("project", f"{shown} workflowDirectories", message, remedy))
    for place, name in enumerate(_list(read, "workflowDirectories")):
        if isinstance(name, str) and _is_inside(project, name) and os.path.isdir(os.path.join(project, name)):
            directories.append(os.path.normpath(name))
        else:
            remedy = "Write a directory inside the project, relative to it."
            message = f"{shown} names {quote(str(name))}, which is not a directory inside the project."
            troubles.append(
                describe_trouble("project", f"{shown} workflowDirectories[{place}]", message, remedy)
            )
    return ProjectSettings(directories=tuple(dict.fromkeys(directories)), troubles=tuple(troubles))


def describe_trouble(
    source_kind: SourceKind, source_ref: str, message: str, remedy: str, holds: _Holds = "workflow"
) -> WorkflowFile:
    """What cannot be used, as it is listed among the workflows."""
    return WorkflowFile(
        source_kind=source_kind,
        source_ref=source_ref,
        content=b"",
        holds=holds,
        trouble=message,
        remedy=remedy,
    )


def _read_config(path: str, source_kind: SourceKind, shown: str) -> Object | WorkflowFile:
    if not os.path.exists(path):
        return {}
    # Without a file there is nothing to read, and the reader is slow to load.
    from handrail.contract.json.strict import decode_json  # noqa: PLC0415 - see above

    try:
        document = decode_json(content_of(path, MOST_BYTES), max_bytes=MOST_BYTES)
    except Fault as fault:
        message = f"{shown} cannot be read, so its workflow sources are not looked at: {fault.message}"
        return describe_trouble(
            source_kind, shown, message, "Correct the file; the other workflows are not affected."
        )
    return document if isinstance(document, dict) else {}


def _list(document: Object, key: str) -> Iterator[Json]:
    value = document.get(key)
    yield from value[:MOST_SOURCES] if isinstance(value, list) else ()


def _is_inside(project: str, name: str) -> bool:
    """Whether it stays in the project, even through links: a repository must not reach the user's files."""
    root = os.path.realpath(project)
    real = os.path.realpath(os.path.join(root, name))
    return not os.path.isabs(name) and os.path.commonpath([root, real]) == root


def _git_source(source: Json, shown: str) -> GitSource | WorkflowFile:
    def refused(message: str, remedy: str) -> WorkflowFile:
        return describe_trouble("git", shown, f"{shown} {message}", remedy)

    if not isinstance(source, dict) or source.get("kind") != "git":
        return refused("is not a source of the kind git.", 'Write {"kind": "git", "path": ..., "ref": ...}.')
    texts = {name: source.get(name, "") for name in ("path", "url", "ref", "directory")}
    if any(not isinstance(value, str) or "\0" in value for value in texts.values()):
        return refused("has a value that is not a text.", "Write path or url, ref and directory as texts.")
    if bool(texts["path"]) == bool(texts["url"]):
        return refused("needs either a path or a url.", "Write one of them.")
    if texts["url"].startswith("-") or texts["path"].startswith("-"):
        return refused("begins with a hyphen.", "Write a path or an address.")
    if not re.fullmatch(_COMMIT, texts["ref"]):
        return refused("is not pinned.", "Write ref as a full commit id of 40 or 64 digits.")
    directory = texts["directory"].strip("/")
    if any(part in ("", ".", "..") for part in directory.split("/") if directory):
        return refused("has a directory that leads elsewhere.", "Write a directory of the repository.")
    namespaces = _namespaces(source.get("namespaces", {}))
    if namespaces is None:
        remedy = 'Write a map such as {"wr.": "workrail."}: its own namespace, then what you call it.'
        return refused("has namespaces that cannot be used; wr. is reserved for bundled workflows.", remedy)
    return GitSource(
        path=texts["path"], url=texts["url"], ref=texts["ref"], directory=directory, namespaces=namespaces
    )


def _namespaces(written: Json) -> dict[str, str] | None:
    """The map without dots; None where a name is none, or is reserved."""
    if not isinstance(written, dict) or not all(isinstance(name, str) for name in written.values()):
        return None
    found = {theirs.removesuffix("."): ours.removesuffix(".") for theirs, ours in written.items()}
    is_sound = all(re.fullmatch(_NAMESPACE, ours) and ours != "wr" for ours in found.values())
    return found if is_sound else None
