"""The trees of nodes: how one is kept, and how it is taken after a reply; the first one before it.

The list of a tree is a change of an earlier list, and new contents are one pack. A tree is kept when the
reply is sent, as a commit of its own: it delays nothing, and whatever goes wrong here changes no answer. A
call that had to look at all files anyway hands on what it saw, and nobody looks twice. What a run begins
with is kept before the reply, because nobody can see it later.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

import msgspec

from handrail.contract.ids import BlobRef, NodeId, blob_ref
from handrail.contract.outcome import Fault, make_from
from handrail.contract.wording import format_count
from handrail.engine.code_trees import (
    LONGEST_CHAIN,
    LONGEST_LARGE_CHAIN,
    find_latest_tree,
    find_nearest_tree,
    list_chain,
    list_refs,
)
from handrail.engine.events import Scope, TreeCause, TreeRecorded
from handrail.engine.history import History, Node, RecordedTree
from handrail.engine.plans import plan_tree
from handrail.engine.reply import ReplyWarning
from handrail.operations.proof_trees import drop_kept_trees, may_begin_change, take_git_tree
from handrail.operations.same_project import is_project
from handrail.ports.log import Blob, EventReader
from handrail.ports.workspace import Workspace
from handrail.ports.worktree import (
    MOST_FILES,
    MOST_PACK_BYTES,
    FileMode,
    Packed,
    Tree,
    TreeEntry,
    TreeLook,
    Unseen,
)
from handrail.runtime.damaged_sessions import read_blob
from handrail.runtime.runtime import ReadPorts, RehydratePorts, TreeDue, WritePorts, keeps_code, looks_at_code
from handrail.runtime.sessions import Session, commit, healthy_session, read_session

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
    """A recorded tree with its list."""

    fact: TreeRecorded
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
        return make_from(Tree, self.fact, entries=entries, apart=self.fact.apart or {})


class PreparedTree(msgspec.Struct, frozen=True, kw_only=True):
    """A tree that is ready to be recorded: all reading is done, only its node is open."""

    fact: TreeRecorded
    """Of no node yet."""
    blobs: tuple[Blob, ...]
    entries: tuple[StoredEntry, ...]


def prepare_tree(tree: Tree, packed: Packed, base: StoredTree | None, cause: TreeCause) -> PreparedTree:
    """What there is to keep of a tree, given an earlier one of the same session."""
    before = () if base is None else base.entries
    known = base.fact if base is not None and _may_build_on(base) else None
    entries = _store(tree, packed, before)
    contents = (_encode_list(() if known is None else before, entries), packed.content or None)
    listed, pack = (None if one is None else Blob(ref=blob_ref(one), content=one) for one in contents)
    fact = make_from(
        TreeRecorded,
        tree,
        node_id=NodeId(""),
        cause=cause,
        listed=len(entries),
        left_out=len(packed.left_out),
        base_node_id=None if known is None else known.node_id,
        base_tree_id="" if known is None else known.tree_id,
        depth=0 if known is None else known.depth + 1,
        list_ref=None if listed is None else listed.ref,
        pack_ref=None if pack is None else pack.ref,
        apart=tree.apart or None,
    )
    blobs = tuple(blob for blob in (listed, pack) if blob is not None)
    return PreparedTree(fact=fact, blobs=blobs, entries=entries)


def known_digests(base: StoredTree | None) -> frozenset[str]:
    """Contents that the earlier tree keeps already."""
    return frozenset() if base is None else frozenset(entry.digest for entry in base.entries if entry.pack)


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
    return StoredTree(fact=fact, entries=entries) if len(entries) == fact.listed else None


def _may_build_on(base: StoredTree) -> bool:
    is_large = len(base.entries) > LARGE_LIST
    return base.fact.depth + 1 < (LONGEST_LARGE_CHAIN if is_large else LONGEST_CHAIN)


def _store(tree: Tree, packed: Packed, before: Sequence[StoredEntry]) -> tuple[StoredEntry, ...]:
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
    return tuple(sorted(entries, key=lambda entry: entry.path))


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


def read_tree_contents(
    rt: ReadPorts,
    project: str,
    entries: Sequence[StoredEntry],
    digests: Collection[str],
    present: Sequence[TreeEntry],
) -> Mapping[str, bytes]:
    """Contents of a tree by digest: its packs, then the present files and git's objects."""
    found: dict[str, bytes] = {}
    packs = sorted({entry.pack for entry in entries if entry.pack and entry.digest in digests})
    worktree = rt.worktree()
    for pack in packs:
        content = read_blob(rt.log, BlobRef(pack))
        if content is not None:
            unpacked = worktree.unpack(content)
            found.update({digest: unpacked[digest] for digest in digests if digest in unpacked})
    missing = [digest for digest in digests if digest not in found]
    return {**worktree.read_contents(project, present, missing), **found} if missing else found


# Taking a tree, after the reply

SERVER_SECONDS = 10.0
"""How long a server looks for one tree, after its reply."""
COMMAND_SECONDS = 0.15
"""The same for a command line, which must end; it may take as long as its answer took."""
FIRST_SECONDS = 10.0
"""How long a start looks before its reply: what a run began with cannot be looked at later."""
COMMAND_PACK_BYTES = 4_000_000
"""New contents that a command line packs; the next tree takes what is left."""


def take_due_tree(rt: WritePorts, due: TreeDue, seconds: float, most_bytes: int = MOST_PACK_BYTES) -> str:
    """Record the tree that a call left to be taken. Returns why not, empty when it is there.

    Raises Fault when the store refuses; a caller after its reply says so and goes on.
    """
    if not looks_at_code(rt, due.project):
        return ""
    session = read_session(rt.log, due.session_id)
    if session is None or due.node_id not in session.history.nodes:
        return "the session is gone"
    if not is_project_of(rt.workspace, session.history, due.node_id, due.project):
        return "the run belongs to another project"
    drop_kept_trees(rt, session.history, due.node_id, due.project)
    tree = rt.worktree().take_tree(due.project, seconds) if due.tree is None else due.tree
    if isinstance(tree, Unseen):
        return tree.reason
    return record_tree(rt, session.history, due.node_id, due.project, tree, due.cause, most_bytes)


def take_first_tree(rt: WritePorts, session: Session, node_id: NodeId, project: str) -> tuple[Session, str]:
    """Record what a run begins with before its start is answered: whoever has the reply may change files.

    Returns the session as it is then, and why there is no such tree; a start succeeds without it.
    """
    if rt.trees_due is None or not looks_at_code(rt, project):
        return session, ""
    due = TreeDue(session_id=session.history.session_id, node_id=node_id, project=project, cause="start")
    try:
        why = take_due_tree(rt, due, FIRST_SECONDS, COMMAND_PACK_BYTES)
        return read_session(rt.log, due.session_id) or session, why
    except Fault as fault:
        return session, fault.message


def keep_first_trees(rt: WritePorts, session: Session, node: Node, project: str) -> None:
    """Record what the children of a step begin with, before anybody has the reply that names them."""
    if rt.trees_due is None or not looks_at_code(rt, project):
        return
    from handrail.engine.children.joins import list_children  # noqa: PLC0415 - few steps hand out work

    children = list_children(session.history, node)
    first = [one.first_node for one in children if one.parent and one.parent.node_id == node.node_id]
    tree = rt.worktree().take_tree(project, FIRST_SECONDS) if first else None
    if tree is None or isinstance(tree, Unseen):
        return
    for node_id in first:
        if not session.history.trees.get(node_id):
            with suppress(Fault):  # what a child began with is then unknown, and its start succeeds
                record_tree(rt, session.history, node_id, project, tree, "start", COMMAND_PACK_BYTES)


def take_for_command(rt: WritePorts, due: TreeDue, answer_seconds: float) -> str:
    """The same within the time that a command line has. Returns why not; a store that refuses is a reason.

    On a busy machine the answer took long too, and a fixed time would keep no tree there at all.
    """
    try:
        return take_due_tree(rt, due, max(COMMAND_SECONDS, answer_seconds), COMMAND_PACK_BYTES)
    except Fault as fault:
        return fault.message


def record_tree(
    rt: WritePorts,
    history: History,
    node_id: NodeId,
    project: str,
    tree: Tree,
    cause: TreeCause,
    most_bytes: int = MOST_PACK_BYTES,
) -> str:
    """Record a tree at a node, as a commit of its own. Returns why not, empty when it is there.

    Raises Fault when the store refuses.
    """
    if any(held.fact.tree_id == tree.tree_id for held in history.trees.get(node_id, ())):
        return ""
    prepared = prepare_node_tree(rt, history, node_id, project, tree, cause, most_bytes)
    session = read_session(rt.log, history.session_id)
    if session is None:
        return "the session is gone"
    with healthy_session(rt, session, by_token=False) as (current, witness):
        at_node = Scope(run_id=current.history.nodes[node_id].run_id, node_id=node_id)
        commit(rt, witness, current, lambda _: [plan_tree(at_node, prepared.fact)], prepared.blobs)
    return ""


def prepare_node_tree(
    rt: ReadPorts,
    history: History,
    node_id: NodeId,
    project: str,
    tree: Tree,
    cause: TreeCause,
    most_bytes: int = MOST_PACK_BYTES,
) -> PreparedTree:
    """Everything that recording a tree at a node, or at one that follows it, needs; no lock is held.

    `plan_tree` makes the event; its blobs go into the same commit. Contents are kept only
    where snapshots are on: without, the list of paths and digests is all that is stored.
    """
    latest = find_latest_tree(history, node_id)
    known = None if latest is None else load_tree(rt.log, history, latest)
    base = None if isinstance(known, Unseen) else known  # the session came without it
    packed = Packed(content=b"", digests=())
    if keeps_code(rt, project):
        packed = rt.worktree().pack_contents(project, tree, known_digests(base), most_bytes)
    prepared = prepare_tree(tree, packed, base, cause)
    git_tree = take_git_tree(rt, project)
    if git_tree and may_begin_change(history, node_id, cause):
        rt.trees().keep(project, f"{history.nodes[node_id].run_id}/{node_id}", git_tree)
    fact = msgspec.structs.replace(prepared.fact, git_tree=git_tree)
    return msgspec.structs.replace(prepared, fact=fact)


def load_tree(reader: EventReader, history: History, recorded: RecordedTree) -> StoredTree | Unseen:
    """The list of a recorded tree, from its blobs."""
    refs = list_refs(history, recorded)
    if refs is None:
        return Unseen(reason="an earlier tree that it builds on is not in this session")
    contents: dict[BlobRef, bytes] = {}
    for ref in refs:
        content = read_blob(reader, ref)
        if content is None:
            return Unseen(reason="its list of files is not in this store: the session came without its code")
        contents[ref] = content
    stored = restore_list(history, recorded, contents)
    return Unseen(reason="its list of files is damaged") if stored is None else stored


def is_project_of(workspace: Workspace, history: History, node_id: NodeId, project: str) -> bool:
    """Whether the run of a node was begun in this project; runs of older versions do not tell."""
    held = history.runs[history.nodes[node_id].run_id].project
    return held is None or is_project(workspace, held, project)


# An older step that is read or continued again: how many files differ from those that it saw
#
# A step that is read again is compared with the present files. A reply to an attempt tells what was recorded
# with it, so that its replay tells the same.


ADVANCE_SECONDS = 2.0
"""How long an attempt that may fork looks at the files; longer, and nothing is said of them."""
REREAD_SECONDS = 0.5
"""The same for a step that is only read again."""


class _Differing(msgspec.Struct, frozen=True, kw_only=True):
    seen_at: str
    """The node whose tree the step saw."""
    count: int
    project: str
    tree: Tree
    """The present files."""


def look_at_present(rt: ReadPorts, history: History, node: Node, project: str | None) -> PreparedTree | None:
    """The present files of the run's project with the count of those that differ.

    None when none does, or nothing can be said.
    """
    found = _compare_present(rt.log, rt.worktree, history, node, project, ADVANCE_SECONDS)
    if found is None:
        return None
    prepared = prepare_node_tree(rt, history, node.node_id, found.project, found.tree, "look")
    fact = msgspec.structs.replace(prepared.fact, differs_from=found.seen_at, differing=found.count)
    return msgspec.structs.replace(prepared, fact=fact)


def warn_of_recorded(history: History, node: Node) -> tuple[ReplyWarning, ...]:
    """What the reply to an attempt says, from what was recorded with it."""
    held = history.trees.get(node.node_id, ())
    if not held or held[0].fact.differs_from is None:
        return ()
    return (_warn_of_differing(held[0].fact.differs_from, held[0].fact.differing),)


def warn_of_present(
    ports: RehydratePorts, history: History, node: Node, project: str | None
) -> tuple[ReplyWarning, ...]:
    """What an older step that is read again says, from a look at the files."""
    found = _compare_present(ports.log, ports.worktree, history, node, project, REREAD_SECONDS)
    return () if found is None else (_warn_of_differing(found.seen_at, found.count),)


def _compare_present(
    reader: EventReader,
    worktree: Callable[[], TreeLook],
    history: History,
    node: Node,
    project: str | None,
    seconds: float,
) -> _Differing | None:
    recorded = find_nearest_tree(history, node.node_id)
    if recorded is None or project is None:
        return None
    try:
        stored = load_tree(reader, history, recorded)
    except Fault:  # a store that refuses does not withhold the reply
        return None
    tree = worktree().take_tree(project, seconds)
    if isinstance(stored, Unseen) or isinstance(tree, Unseen):
        return None
    changes = worktree().compare(project, stored.tree, tree, seconds)
    if isinstance(changes, Unseen) or not (changes.changed or changes.arrived):
        return None
    count = len(changes.changed) + len(changes.arrived)
    return _Differing(seen_at=recorded.fact.node_id, count=count, project=project, tree=tree)


def _warn_of_differing(seen_at: str, count: int) -> ReplyWarning:
    command = f"handrail code restore {seen_at} --dry-run"
    differ = "differs" if count == 1 else "differ"
    message = (
        f"{format_count(count, 'file')} of the project {differ} from what this step saw. "
        f"To bring them back: {command}"
    )
    details = {"differing": count, "nodeId": seen_at, "command": command}
    return ReplyWarning(code="FILES_DIFFER", message=message, details=details)
