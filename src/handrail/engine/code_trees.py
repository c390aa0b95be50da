"""The code of a node: how a tree of files is kept in a log, and found again. Pure.

An event names the tree; its list of files is a blob that says what differs from the list of an earlier tree,
and contents that nobody else keeps are one more blob, a pack. Both may be absent: then the tree is known by
its id alone, as in a session that came without its code.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

import msgspec

from handrail.contract.ids import BlobRef, NodeId, blob_ref
from handrail.engine.events import PlannedEvent, Scope, TreeCause, TreeRecorded
from handrail.engine.history import History, Node, RecordedTree
from handrail.ports.log import Blob
from handrail.ports.worktree import MOST_FILES, FileMode, Packed, Tree, TreeEntry

LONGEST_CHAIN = 16
"""Lists that build on each other, before one is kept whole again."""
LONGEST_LARGE_CHAIN = 48
"""The same where a whole list would be large."""
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
    return PlannedEvent(
        dedupe_key=f"tree_recorded:{node.node_id}:{prepared.fact.tree_id}",
        scope=Scope(run_id=node.run_id),
        data=msgspec.structs.replace(prepared.fact, node_id=node.node_id),
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
    for step in _chain(history, recorded) or ():
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


def list_refs(history: History, recorded: RecordedTree) -> tuple[BlobRef, ...] | None:
    """The lists that a tree builds on, oldest first; None when one of its events is missing."""
    chain = _chain(history, recorded)
    if chain is None:
        return None
    return tuple(step.fact.list_ref for step in chain if step.fact.list_ref is not None)


def tree_refs(fact: TreeRecorded) -> tuple[BlobRef, ...]:
    """The blobs that one event names; they may be absent."""
    return tuple(ref for ref in (fact.list_ref, fact.pack_ref) if ref is not None)


# Which tree belongs to a node


def find_tree_of(history: History, node_id: NodeId) -> RecordedTree | None:
    """The files as the node was made: its first tree. None when none was taken."""
    found = history.trees.get(node_id, ())
    return found[0] if found else None


def find_latest_tree(history: History, node_id: NodeId) -> RecordedTree | None:
    """The newest tree of the node or, if it has none, of its nearest ancestor with one."""
    current: NodeId | None = node_id
    while current is not None:
        found = history.trees.get(current, ())
        if found:
            return found[-1]
        current = history.nodes[current].parent
    return None


def find_baseline(history: History, node_id: NodeId) -> RecordedTree | None:
    """The first tree on the way from the start of the run to this node: what its work began with."""
    baseline: RecordedTree | None = None
    current: NodeId | None = node_id
    while current is not None:
        found = history.trees.get(current, ())
        baseline = found[0] if found else baseline
        current = history.nodes[current].parent
    return baseline


def find_tree(history: History, tree_id: str) -> RecordedTree | None:
    """The newest record of a tree, by its id."""
    found = [held for trees in history.trees.values() for held in trees if held.fact.tree_id == tree_id]
    return max(found, key=lambda held: held.index, default=None)


def _chain(history: History, recorded: RecordedTree) -> list[RecordedTree] | None:
    """The record and those that it builds on, oldest first."""
    chain = [recorded]
    while chain[-1].fact.base_node_id is not None:
        fact = chain[-1].fact
        base = next(
            (
                held
                for held in history.trees.get(NodeId(fact.base_node_id or ""), ())
                if held.fact.tree_id == fact.base_tree_id and held.index < chain[-1].index
            ),
            None,
        )
        if base is None or len(chain) > LONGEST_LARGE_CHAIN:
            return None
        chain.append(base)
    chain.reverse()
    return chain


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
