"""Where the user and the project say that workflows are: two `config.json` files, read and checked.

A key that this file does not know is somebody else's setting and is left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from handrail.contract.ids import SourceKind
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote
from handrail.host.private_files import leads_outside
from handrail.host.workflow_sources.directories import content_of, describe_outside_link
from handrail.ports.workspace import WorkflowFile

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
    read = _read(os.path.join(home, "config.json"), "user", "config.json")
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
    read = _read(os.path.join(project, ".handrail", "config.json"), "project", shown)
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


def describe_trouble(source_kind: SourceKind, source_ref: str, message: str, remedy: str) -> WorkflowFile:
    """A source that cannot be used, as it is listed among the workflows."""
    return WorkflowFile(
        source_kind=source_kind, source_ref=source_ref, content=b"", trouble=message, remedy=remedy
    )


def _read(path: str, source_kind: SourceKind, shown: str) -> Object | WorkflowFile:
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
