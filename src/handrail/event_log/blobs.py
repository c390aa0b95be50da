"""Blobs on disk: one file per content, named by its digest, shared by all sessions.

A blob is written in place, without a temporary name. That is safe because whoever writes this file
writes the same bytes, nothing names it before it is durable, and every reader checks its digest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence

from handrail.contract.catalogue import STORE_CORRUPT
from handrail.contract.ids import BlobRef, blob_ref
from handrail.contract.outcome import Fault
from handrail.event_log.disk import Disk, make_directory, opened, opened_directory, read_from, write_all
from handrail.ports import Blob

_REF = re.compile(r"sha256:([0-9a-f]{2})([0-9a-f]{62})")


def read_blob(disk: Disk, root: str, ref: BlobRef) -> bytes:
    """The content of a blob below `root`.

    Raises: Fault STORE_CORRUPT when it is missing or is not what its ref says.
    """
    content = _content(disk, root, ref)
    if content is None:
        raise Fault(
            STORE_CORRUPT, f"The blob {ref[:80]} is not in the store.", details={"reason": "missing_blob"}
        )
    if blob_ref(content) != ref:
        raise Fault(
            STORE_CORRUPT,
            f"The blob {ref} does not have the content it is named after.",
            details={"reason": "digest_mismatch"},
        )
    return content


def write_blobs(disk: Disk, root: str, blobs: Sequence[Blob], pinned: Collection[BlobRef]) -> None:
    """Make every blob durable.

    A blob that an intact manifest record pins was durable before that record. Of any other blob
    that is already there we cannot know it: its writer may be at work or dead. So it is written again.
    """
    directories: dict[str, None] = {}
    for blob in blobs:
        if blob.ref in pinned and _content(disk, root, blob.ref) == blob.content:
            continue
        directory, name = _place(root, blob.ref)
        make_directory(disk, directory)
        _write(disk, directory, name, blob.content)
        directories[directory] = None
    for directory in directories:
        with opened_directory(disk, directory) as descriptor:
            disk.sync_names(descriptor)


def _place(root: str, ref: BlobRef) -> tuple[str, str]:
    matched = _REF.fullmatch(ref)
    assert matched, "a blob ref is sha256: and 64 hex digits"
    return f"{root}/{matched[1]}", matched[1] + matched[2]


def _content(disk: Disk, root: str, ref: BlobRef) -> bytes | None:
    if _REF.fullmatch(ref) is None:
        return None
    path, name = _place(root, ref)
    try:
        with (
            opened_directory(disk, path) as directory,
            opened(disk, name, os.O_RDONLY, directory) as descriptor,
        ):
            return read_from(disk, descriptor)
    except FileNotFoundError:
        return None


def _write(disk: Disk, path: str, name: str, content: bytes) -> None:
    with (
        opened_directory(disk, path) as directory,
        opened(disk, name, os.O_RDWR | os.O_CREAT, directory) as descriptor,
    ):
        write_all(disk, descriptor, content, 0)
        if disk.status(descriptor).st_size != len(content):
            disk.cut(descriptor, len(content))
        disk.sync(descriptor)
