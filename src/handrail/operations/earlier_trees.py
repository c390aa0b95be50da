"""File snapshots that earlier versions kept: lists of files that build on each other, and packs of contents.

Handrail no longer writes this form. A file snapshot in it is read as a git tree.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Collection, Mapping, Sequence

import msgspec

from handrail.contract.ids import BlobRef
from handrail.engine.code_trees import list_chain, list_refs
from handrail.engine.history import History, RecordedTree
from handrail.ports.log import EventReader
from handrail.ports.trees import EarlierFile, Trees
from handrail.ports.worktree import MOST_FILES, FileMode, Unseen
from handrail.runtime.damaged_sessions import read_blob

MOST_LIST_BYTES = 64_000_000
"""Most bytes of a list of files, unpacked."""
MOST_CONTENT_BYTES = 48_000_000
"""Most bytes of the contents of one pack, unpacked."""
_VERSION = 1
_ALGORITHMS = ("sha1", "sha256")


class EarlierEntry(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One file. The path is bytes, because not every name is text."""

    path: bytes
    mode: FileMode
    digest: str
    size: int
    pack: str = ""
    """The blob that has its content; empty if only git may have it."""


class _TreeList(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    version: int
    put: tuple[EarlierEntry, ...]
    drop: tuple[bytes, ...]


def is_earlier(recorded: RecordedTree) -> bool:
    """Whether a file snapshot has this form."""
    return recorded.fact.tree_id.startswith("t1:")


def rebuild_earlier(
    reader: EventReader, trees: Trees, project: str, history: History, recorded: RecordedTree
) -> tuple[str, Sequence[str]] | Unseen:
    """Return the git tree of such a file snapshot, and the files whose content is not on this machine."""
    entries = _load_list(reader, history, recorded)
    if isinstance(entries, Unseen):
        return entries
    contents = _load_contents(reader, entries)
    files = [
        EarlierFile(
            path=one.path.decode("utf-8", "surrogateescape"),
            mode=one.mode,
            content=contents.get(one.digest),
            object_id=_read_id(one.digest),
        )
        for one in entries
        if one.mode != "absent"
    ]
    gone = [one.path.decode("utf-8", "surrogateescape") for one in entries if one.mode == "absent"]
    tree = trees.rebuild(project, recorded.fact.head, files, gone)
    if isinstance(tree, Unseen):
        return tree
    entries_there = trees.list_entries(project, tree)
    there = set() if isinstance(entries_there, Unseen) else {one.path for one in entries_there}
    return tree, tuple(one.path for one in files if one.path not in there)


def _read_id(digest: str) -> str:
    algorithm, _, name = digest.partition(":")
    return name if algorithm in _ALGORITHMS else ""


def _load_list(
    reader: EventReader, history: History, recorded: RecordedTree
) -> tuple[EarlierEntry, ...] | Unseen:
    refs = list_refs(history, recorded)
    if refs is None:
        return Unseen(reason="an earlier tree that it builds on is not in this session")
    contents: dict[BlobRef, bytes] = {}
    for ref in refs:
        content = read_blob(reader, ref)
        if content is None:
            return Unseen(reason="its list of files is not in this store: the session came without its code")
        contents[ref] = content
    entries = restore_list(history, recorded, contents)
    return Unseen(reason="its list of files is damaged") if entries is None else entries


def restore_list(
    history: History, recorded: RecordedTree, contents: Mapping[BlobRef, bytes]
) -> tuple[EarlierEntry, ...] | None:
    """Return the files of a file snapshot; None if a list is damaged.

    `contents` has the lists named by `list_refs`.
    """
    entries: tuple[EarlierEntry, ...] = ()
    for step in list_chain(history, recorded) or ():
        if step.fact.list_ref is None:
            continue
        grown = _decode_list(entries, contents[step.fact.list_ref])
        if grown is None:
            return None
        entries = grown
    return entries if len(entries) == recorded.fact.listed else None


def _decode_list(before: Sequence[EarlierEntry], content: bytes) -> tuple[EarlierEntry, ...] | None:
    """Return the list; None if the bytes are not a list, or exceed a limit."""
    unpacked = _inflate(content, MOST_LIST_BYTES)
    try:
        change = msgspec.msgpack.decode(unpacked, type=_TreeList)
    except msgspec.MsgspecError:
        return None
    entries = {entry.path: entry for entry in before}
    for path in change.drop:
        entries.pop(path, None)
    entries.update({entry.path: entry for entry in change.put})
    if change.version != _VERSION or len(entries) > 2 * MOST_FILES:
        return None
    return tuple(entries[path] for path in sorted(entries))


def _load_contents(reader: EventReader, entries: Sequence[EarlierEntry]) -> dict[str, bytes]:
    """Return the contents by digest, from the packs that exist."""
    wanted = {one.digest for one in entries}
    found: dict[str, bytes] = {}
    for pack in sorted({one.pack for one in entries if one.pack}):
        content = read_blob(reader, BlobRef(pack))
        if content is not None:
            found.update(_unpack(content, wanted))
    return found


def _unpack(content: bytes, wanted: Collection[str]) -> dict[str, bytes]:
    """Return the wanted contents of a pack.

    A pack may come from anywhere, so each content is checked, and the size is limited.
    """
    try:
        found = msgspec.msgpack.decode(_inflate(content, MOST_CONTENT_BYTES), type=dict[str, bytes])
    except msgspec.MsgspecError:
        return {}
    return {digest: inner for digest, inner in found.items() if digest in wanted and _fits(inner, digest)}


def _fits(content: bytes, digest: str) -> bool:
    algorithm, _, expected = digest.partition(":")
    if algorithm not in _ALGORITHMS:
        return False
    hasher = hashlib.new(algorithm, b"blob %d\0" % len(content) + content, usedforsecurity=False)
    return hasher.hexdigest() == expected


def _inflate(content: bytes, most: int) -> bytes:
    """Return the uncompressed bytes; empty if they are not valid, or more than `most`."""
    inflater = zlib.decompressobj()
    try:
        unpacked = inflater.decompress(content, most)
    except zlib.error:
        return b""
    return unpacked if inflater.eof else b""
