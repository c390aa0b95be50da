"""Workflow files that the user's config names: of a git repository at one commit, and of installed packages.

A repository is read from its objects: no checkout, no network. A package declares an entry point in the
group `handrail.workflows`; it names a function without arguments that returns a mapping from file name to the
file's bytes.
"""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import msgspec

from handrail.contract.redaction import REDACTED, redact_credentials
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.contract.workflow_files import WorkflowFile
from handrail.host.programs import Git, open_objects
from handrail.host.workflow_sources.directories import (
    MOST_FILES,
    GitSource,
    UserSettings,
    describe_trouble,
)
from handrail.workflows.limits import (
    MAX_SOURCE_BYTES,
    explain_misnaming,
    file_kind,
    is_looked_into,
    is_page,
)
from handrail.workflows.spellings.decoded import is_workflow_page

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def read_named_files(own: UserSettings, home: str, environment: Mapping[str, str]) -> list[WorkflowFile]:
    """The files of the repositories, then those of the plugins."""
    found = [file for source in own.git for file in read_git_files(source, home, environment)]
    return [*found, *read_plugin_files(own.plugins)] if own.plugins else found


# A git repository at one commit

SECONDS = 20
_PLAIN_FILES = ("100644", "100755")


def clone_directory(home: str, url: str) -> str:
    """Where a repository with an address is kept."""
    return os.path.join(home, "data", "git", hashlib.sha256(url.encode()).hexdigest()[:32])


def read_git_files(source: GitSource, home: str, environment: Mapping[str, str]) -> list[WorkflowFile]:
    """Every workflow file of the directory at the pinned commit; nothing is ever fetched."""
    repository = _repository(source, home)
    address = redact_credentials(source.path or source.url)
    named = address.rpartition(f"{REDACTED}@")[2]
    shown = f"{named.rstrip('/').rpartition('/')[2] or 'repository'}@{source.ref[:12]}"
    if not os.path.isdir(repository):
        return [_absent(source, repository, shown)]
    git = open_objects(repository, environment, SECONDS)
    if git.run("cat-file", "-e", f"{source.ref}^{{commit}}") is None:
        return [_no_commit(source, repository, shown)]
    listing = git.run("ls-tree", "-r", "-z", f"{source.ref}:{source.directory}")
    if listing is None:
        message = f"{shown} has no directory {quote(source.directory)}."
        return [describe_trouble("git", shown, message, "Correct directory in config.json.")]
    names = _listed(listing)
    contents = _contents(git, [digest for _, digest in names])
    return [
        msgspec.structs.replace(
            _read_file(f"{shown}/{name}", content), namespaces=source.namespaces, address=address
        )
        for (name, _), content in zip(names, contents, strict=True)
        if not is_page(name) or is_workflow_page(content)
    ]


def _read_file(source_ref: str, content: bytes) -> WorkflowFile:
    if (trouble := explain_misnaming(source_ref)) is not None:
        return describe_trouble("git", source_ref, *trouble)
    held: Literal["workflow", "contract"] = "contract" if file_kind(source_ref) == "contract" else "workflow"
    return WorkflowFile(source_kind="git", source_ref=source_ref, content=content, holds=held)


def _contents(git: Git, digests: list[str]) -> list[bytes]:
    """The blobs, in order; empty where one is missing or larger than a workflow may be."""
    sizes = git.run("cat-file", "--batch-check=%(objectsize)", given=_lines(digests))
    wanted = [
        size.isdigit() and int(size) <= MAX_SOURCE_BYTES + 1
        for size in ("" if sizes is None else sizes.decode("ascii", "replace")).split("\n")
    ][: len(digests)]
    chosen = [digest for digest, is_wanted in zip(digests, wanted, strict=False) if is_wanted]
    printed = git.run("cat-file", "--batch=%(objectname) %(objectsize)", given=_lines(chosen)) or b""
    found = _blobs(printed)
    return [found.get(digest, b"") for digest in digests]


def _repository(source: GitSource, home: str) -> str:
    if source.path:
        return os.path.abspath(os.path.join(home, os.path.expanduser(source.path)))
    return clone_directory(home, source.url)


def _listed(listing: bytes) -> list[tuple[str, str]]:
    """Name and object of each plain file that is, or is meant to be, a workflow."""
    found = []
    for row in listing.split(b"\0"):
        facts, _, name = row.decode("utf-8", "replace").partition("\t")
        mode, _, rest = facts.partition(" ")
        is_looked_at = all(is_looked_into(folder) for folder in name.split("/")[:-1])
        if mode in _PLAIN_FILES and is_looked_at and file_kind(name):
            found.append((name, rest.partition(" ")[2]))
    return sorted(found)[:MOST_FILES]


def _blobs(printed: bytes) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    at = 0
    while at < len(printed):
        end = printed.index(b"\n", at)
        digest, _, size = printed[at:end].decode().partition(" ")
        start = end + 1
        found[digest] = printed[start : start + int(size)]
        at = start + int(size) + 1
    return found


def _lines(digests: list[str]) -> bytes:
    return "".join(f"{digest}\n" for digest in digests).encode()


def _absent(source: GitSource, repository: str, shown: str) -> WorkflowFile:
    if source.path:
        message = f"The repository {quote(source.path)} of config.json does not exist."
        return describe_trouble("git", shown, message, "Correct path in config.json.")
    address = redact_credentials(source.url)
    command = shlex.join(["git", "clone", "--bare", "--", address, repository])
    message = f"The repository {quote(source.url)} is not fetched yet; nothing is fetched unasked."
    how = "Fetch it" if address == source.url else f"Fetch it, with your login in place of {REDACTED}"
    return describe_trouble("git", shown, message, f"{how}: {command}")


def _no_commit(source: GitSource, repository: str, shown: str) -> WorkflowFile:
    message = f"The commit {source.ref[:12]} is not in the repository, or git cannot read it."
    if source.path:
        return describe_trouble(
            "git", shown, message, "Fetch the commit into that repository, or correct ref."
        )
    command = shlex.join(["git", "-C", repository, "fetch", "origin", source.ref])
    return describe_trouble("git", shown, message, f"Fetch it: {command}")


# Plugins

GROUP = "handrail.workflows"


def read_plugin_files(names: tuple[str, ...]) -> list[WorkflowFile]:
    """The files of each named plugin; one that is missing or fails is listed with its trouble."""
    # It looks at every installed package: only a user who named a plugin pays for that.
    from importlib.metadata import entry_points  # noqa: PLC0415 - see above

    installed = {point.name: point for point in entry_points(group=GROUP)}
    found: list[WorkflowFile] = []
    for name in dict.fromkeys(names):
        if name in installed:
            found += _files_of(installed[name])
        else:
            near = find_nearest(name, installed)
            remedy = f"Did you mean {' or '.join(near)}?" if near else "Install it, or remove its name."
            message = f"config.json names the plugin {quote(name)}, which is not installed."
            found.append(describe_trouble("plugin", name, message, remedy))
    return found


def _files_of(point: EntryPoint) -> list[WorkflowFile]:
    try:
        offered = point.load()()
    except Exception as error:  # noqa: BLE001 - a plugin is other people's code and may raise anything
        message = f"The plugin {quote(point.name)} failed with {type(error).__name__}: {quote(str(error))}."
        return [describe_trouble("plugin", point.name, message, "Update or remove the plugin.")]
    if not isinstance(offered, Mapping) or not all(
        isinstance(name, str) and isinstance(content, bytes) for name, content in offered.items()
    ):
        message = f"The plugin {quote(point.name)} does not return file names with their bytes."
        return [describe_trouble("plugin", point.name, message, "Update or remove the plugin.")]
    return [
        WorkflowFile(
            source_kind="plugin",
            source_ref=f"{point.name}/{name}",
            content=offered[name][: MAX_SOURCE_BYTES + 1],
        )
        for name in sorted(offered)[:MOST_FILES]
    ]
