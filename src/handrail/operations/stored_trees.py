"""How a tree of files is kept: its list as a change of an earlier list, and what to record of it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import msgspec

from handrail.contract.ids import BlobRef, NodeId, RunId, blob_ref
from handrail.engine.code_trees import LONGEST_CHAIN, LONGEST_LARGE_CHAIN, list_chain
from handrail.engine.events import PlannedEvent, Scope, TreeCause, TreeRecorded
from handrail.engine.history import History, Node, RecordedTree
from handrail.ports.log import Blob
from handrail.ports.worktree import MOST_FILES, FileMode, Packed, Tree, TreeEntry

LARGE_LIST = 2_000
MOST_LIST_BYTES = 64_000_000
"""A list of files, unpacked."""

_VERSION = 1


class StoredEntry(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """One file of a kept tree. The path is bytes, because not every name is text."""

    path: bytes
    mode: FileMode
    digest: str
    size: int
    pack: str = ""
    """The blob that holds its content; empty: git has it, or nobody."""


class _List(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    version: int
    put: tuple[StoredEntry, ...]
    drop: tuple[bytes, ...]


class StoredTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree as it was kept."""

    head: str
    tree_id: str
    files: int
    entries: tuple[StoredEntry, ...]
    """Sorted by path."""

    @property
    def tree(self) -> Tree:
        entries = tuple(
            TreeEntry(
                path=entry.path.decode("utf-8", "surrogateescape"),
                mode=entry.mode,
                digest=entry.digest,
                size=entry.size,
            )
            for entry in self.entries
        )
        return Tree(head=self.head, entries=entries, tree_id=self.tree_id, files=self.files)


class KnownTree(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded tree with its list."""

    recorded: RecordedTree
    stored: StoredTree


class PreparedTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree that is ready to be recorded: all reading is done, only its node is open."""

    fact: TreeRecorded
    """Of no node yet."""
    blobs: tuple[Blob, ...]
    stored: StoredTree


def prepare_tree(tree: Tree, packed: Packed, base: KnownTree | None, cause: TreeCause) -> PreparedTree:
    """What there is to keep of a tree, given an earlier one of the same session."""
    before = () if base is None else base.stored.entries
    is_whole = base is None or not _may_build_on(base)
    stored = _store(tree, packed, before)
    content = _encode_list(() if is_whole else before, stored.entries)
    listed = None if content is None else Blob(ref=blob_ref(content), content=content)
    pack = Blob(ref=blob_ref(packed.content), content=packed.content) if packed.content else None
    known = None if base is None or is_whole else base.recorded.fact
    fact = TreeRecorded(
        node_id=NodeId(""),
        tree_id=tree.tree_id,
        head=tree.head,
        cause=cause,
        files=tree.files,
        listed=len(stored.entries),
        left_out=len(packed.left_out),
        base_node_id=None if known is None else known.node_id,
        base_tree_id="" if known is None else known.tree_id,
        depth=0 if known is None else known.depth + 1,
        list_ref=None if listed is None else listed.ref,
        pack_ref=None if pack is None else pack.ref,
    )
    return PreparedTree(
        fact=fact, blobs=tuple(blob for blob in (listed, pack) if blob is not None), stored=stored
    )


def plan_tree(node: Node, prepared: PreparedTree) -> PlannedEvent:
    """The event of a prepared tree at this node; the same tree there again is dropped."""
    return plan_tree_at(node.run_id, node.node_id, prepared)


def plan_tree_at(run_id: RunId, node_id: NodeId, prepared: PreparedTree) -> PlannedEvent:
    """The same for a node that is only planned."""
    return PlannedEvent(
        dedupe_key=f"tree_recorded:{node_id}:{prepared.fact.tree_id}",
        scope=Scope(run_id=run_id),
        data=msgspec.structs.replace(prepared.fact, node_id=node_id),
    )


def known_digests(base: KnownTree | None) -> frozenset[str]:
    """Contents that the earlier tree keeps already."""
    return (
        frozenset()
        if base is None
        else frozenset(entry.digest for entry in base.stored.entries if entry.pack)
    )


def restore_list(
    history: History, recorded: RecordedTree, contents: Mapping[BlobRef, bytes]
) -> StoredTree | None:
    """The tree of an event; `contents` has the lists named by `list_refs`. None where one is damaged."""
    entries: tuple[StoredEntry, ...] = ()
    for step in list_chain(history, recorded) or ():
        if step.fact.list_ref is None:
            continue
        grown = _decode_list(entries, contents[step.fact.list_ref])
        if grown is None:
            return None
        entries = grown
    fact = recorded.fact
    if len(entries) != fact.listed:
        return None
    return StoredTree(head=fact.head, tree_id=fact.tree_id, files=fact.files, entries=entries)


def _may_build_on(base: KnownTree) -> bool:
    is_large = len(base.stored.entries) > LARGE_LIST
    return base.recorded.fact.depth + 1 < (LONGEST_LARGE_CHAIN if is_large else LONGEST_CHAIN)


def _store(tree: Tree, packed: Packed, before: Sequence[StoredEntry]) -> StoredTree:
    packs = {entry.digest: entry.pack for entry in before if entry.pack}
    if packed.content:
        packs.update(dict.fromkeys(packed.digests, blob_ref(packed.content)))
    entries = (
        StoredEntry(
            path=entry.path.encode("utf-8", "surrogateescape"),
            mode=entry.mode,
            digest=entry.digest,
            size=entry.size,
            pack=packs.get(entry.digest, ""),
        )
        for entry in tree.entries
    )
    return StoredTree(
        head=tree.head,
        tree_id=tree.tree_id,
        files=tree.files,
        entries=tuple(sorted(entries, key=lambda entry: entry.path)),
    )


def _encode_list(before: Sequence[StoredEntry], now: Sequence[StoredEntry]) -> bytes | None:
    """What turns one list into the other; None when they are the same."""
    held = {entry.path: entry for entry in before}
    kept = {entry.path for entry in now}
    put = tuple(entry for entry in now if held.get(entry.path) != entry)
    drop = tuple(sorted(held.keys() - kept))
    if not put and not drop:
        return None
    return zlib.compress(msgspec.msgpack.encode(_List(version=_VERSION, put=put, drop=drop)), 6)


def _decode_list(before: Sequence[StoredEntry], content: bytes) -> tuple[StoredEntry, ...] | None:
    """None when the bytes are no list, or one over a limit."""
    try:
        inflater = zlib.decompressobj()
        unpacked = inflater.decompress(content, MOST_LIST_BYTES)
        if not inflater.eof:
            return None
        change = msgspec.msgpack.decode(unpacked, type=_List)
    except (zlib.error, msgspec.MsgspecError):
        return None
    entries = {entry.path: entry for entry in before}
    for path in change.drop:
        entries.pop(path, None)
    entries.update({entry.path: entry for entry in change.put})
    if change.version != _VERSION or len(entries) > 2 * MOST_FILES:
        return None
    return tuple(entries[path] for path in sorted(entries))
