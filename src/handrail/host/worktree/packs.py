"""Contents of files as one compressed value, each with the digest that it is checked against."""

from __future__ import annotations

import os
import zlib
from collections.abc import Collection, Mapping

import msgspec

from handrail.host.private_files import is_below, open_unfollowed
from handrail.host.worktree.bounds import HIDDEN, Bounds
from handrail.host.worktree.trees import digest_content, is_plain_path, read_path
from handrail.ports.worktree import (
    MOST_BINARY_BYTES,
    MOST_CONTENT_BYTES,
    MOST_PACK_BYTES,
    LeftOut,
    Packed,
    Tree,
    TreeEntry,
)

_MOST_UNPACKED = MOST_PACK_BYTES + MOST_PACK_BYTES // 2
_LOOKED_AT = 8_000
_LARGE = 1_000_000
_ALGORITHMS = ("sha1", "sha256")


def pack_contents(
    bounds: Bounds, tree: Tree, known: Collection[str], most_bytes: int = MOST_PACK_BYTES
) -> Packed:
    """The contents of the tree's entries as they are on the disk, without those already known."""
    contents: dict[str, bytes] = {}
    left_out: list[LeftOut] = []
    total = 0
    for entry in tree.entries:
        if entry.mode == "absent" or entry.digest in known or entry.digest in contents:
            continue
        found = read_present(bounds, entry) if total + entry.size <= most_bytes else _NO_ROOM
        if isinstance(found, str):
            left_out.append(LeftOut(path=entry.path, why=found))
        else:
            contents[entry.digest] = found
            total += len(found)
    return Packed(
        content=compress(contents) if contents else b"",
        digests=tuple(sorted(contents)),
        left_out=tuple(left_out),
    )


_NO_ROOM = "the other contents of this tree already fill its pack"


def read_present(bounds: Bounds, entry: TreeEntry) -> bytes | str:
    """The content of an entry from the disk, or why there is none."""
    if entry.digest.startswith("size:") or entry.size > MOST_CONTENT_BYTES:
        return "it is too large, or may not be read"
    path = os.path.join(os.fsencode(bounds.root), read_path(entry.path))
    folder = os.path.realpath(os.path.dirname(path))
    if not is_plain_path(entry.path) or not is_below(os.fsdecode(folder), bounds.root):
        return "it is behind a link that leads out of the project"
    if bounds.is_hidden_place(os.fsdecode(os.path.join(folder, os.path.basename(path)))):
        return HIDDEN
    try:
        closed = bounds.explain_closed(entry.path, os.lstat(path))
        if closed:
            return closed
        if entry.mode == "link":
            content = os.readlink(path)
        else:
            with open(path, "rb", opener=open_unfollowed) as file:
                content = file.read(MOST_CONTENT_BYTES + 1)
    except OSError:
        return "it is gone, or may not be read"
    if not matches(content, entry.digest):
        return "it has changed meanwhile"
    if len(content) > MOST_BINARY_BYTES and b"\0" in content[:_LOOKED_AT]:
        return "it is not text, and large"
    return content


def unpack(content: bytes) -> Mapping[str, bytes]:
    """Contents by digest; a pack may come from anywhere, so each is checked, and its size is limited."""
    try:
        inflater = zlib.decompressobj()
        packed = inflater.decompress(content, _MOST_UNPACKED)
        if not inflater.eof:
            return {}
        found = msgspec.msgpack.decode(packed, type=dict[str, bytes])
    except (zlib.error, ValueError, msgspec.MsgspecError):
        return {}
    return {digest: inner for digest, inner in found.items() if matches(inner, digest)}


def matches(content: bytes, digest: str) -> bool:
    """Whether these bytes have this digest."""
    algorithm, _, expected = digest.partition(":")
    return algorithm in _ALGORITHMS and digest_content(content, algorithm).hex() == expected


def compress(contents: Mapping[str, bytes]) -> bytes:
    body = msgspec.msgpack.encode({digest: contents[digest] for digest in sorted(contents)})
    return zlib.compress(body, 6 if len(body) < _LARGE else 1)
