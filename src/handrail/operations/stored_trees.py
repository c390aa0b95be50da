"""Recorded file snapshots as git trees: found in Handrail's own git directory, else in the blobs of a log.

The contents of a file snapshot are one git pack per node, without the contents of the commit and of the file
snapshots that it builds on. Paths that were left out of the tree are a separate list.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping

import msgspec

from handrail.engine.code_trees import list_chain
from handrail.engine.history import History, RecordedTree
from handrail.operations.earlier_trees import is_earlier, rebuild_earlier
from handrail.ports.trees import GitEntry, TakenTree
from handrail.ports.worktree import LeftOut, Unseen
from handrail.runtime.damaged_sessions import read_blob
from handrail.runtime.runtime import ReadPorts

MOST_LEFT_OUT_BYTES = 16_000_000
NOT_KEPT = "its content is not kept on this machine"
_GITLINK = "160000"


class FileTree(msgspec.Struct, frozen=True, kw_only=True):
    """The files of a project: their git tree, and the reasons why some paths are not in it as they were."""

    tree: str
    left_out: Mapping[str, str] = {}

    def explain(self, path: str) -> str:
        """Return why a path, or a folder above it, is unknown; empty if the tree has it as it was."""
        names = path.split("/")
        above = ("/".join(names[:count]) for count in range(1, len(names) + 1))
        return next((self.left_out[one] for one in above if one in self.left_out), "")


def as_file_tree(taken: TakenTree) -> FileTree:
    """Return the present files."""
    return FileTree(tree=taken.tree, left_out={one.path: one.why for one in taken.left_out})


def encode_left_out(left_out: Collection[LeftOut]) -> bytes | None:
    """Return the list of paths that are not in a tree; None if none is missing."""
    rows = {one.path.encode("utf-8", "surrogateescape"): one.why for one in left_out}
    return zlib.compress(msgspec.msgpack.encode(rows), 6) if rows else None


def load_tree(rt: ReadPorts, project: str, history: History, recorded: RecordedTree) -> FileTree | Unseen:
    """Return the tree of a node, ready to be read on this machine."""
    trees = rt.trees()
    if is_earlier(recorded):
        found = rebuild_earlier(rt.log, trees, project, history, recorded)
        if isinstance(found, Unseen):
            return found
        tree, missing = found
        return FileTree(tree=tree, left_out=dict.fromkeys(missing, NOT_KEPT))
    tree = recorded.fact.tree_id
    entries = trees.list_entries(project, tree)
    if isinstance(entries, Unseen) or any(map(_is_missing, entries)):
        _unpack(rt, project, history, recorded)
        entries = trees.list_entries(project, tree)
    if isinstance(entries, Unseen):
        return entries
    return FileTree(tree=tree, left_out=_load_left_out(rt, recorded))


def _is_missing(entry: GitEntry) -> bool:
    return entry.size < 0 and entry.mode != _GITLINK


def _unpack(rt: ReadPorts, project: str, history: History, recorded: RecordedTree) -> None:
    for step in list_chain(history, recorded) or ():
        content = None if step.fact.pack_ref is None else read_blob(rt.log, step.fact.pack_ref)
        if content:
            rt.trees().unpack(project, content)


def _load_left_out(rt: ReadPorts, recorded: RecordedTree) -> dict[str, str]:
    content = None if recorded.fact.list_ref is None else read_blob(rt.log, recorded.fact.list_ref)
    if content is None:
        return {}
    inflater = zlib.decompressobj()
    try:
        rows = msgspec.msgpack.decode(
            inflater.decompress(content, MOST_LEFT_OUT_BYTES), type=dict[bytes, str]
        )
    except (zlib.error, msgspec.MsgspecError):
        return {}
    return {path.decode("utf-8", "surrogateescape"): why for path, why in rows.items()}
