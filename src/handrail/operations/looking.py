"""Looking at the working tree for one attempt: once, after the gate says open and before the lock is taken.

The rules are pure, so what was seen goes to them as a value. Only what the report names is looked at, and the
whole tree only where a contract asks about it. What cannot be seen is unknown, and never stops an advance.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from handrail.contract.ids import NodeId
from handrail.contract.outcome import Fault, make_from
from handrail.engine.code_trees import (
    find_baseline,
    find_nearest_tree,
    find_tree,
    find_tree_of,
    list_unclear,
    state_of,
)
from handrail.engine.events import ReceiptRecorded
from handrail.engine.history import History, Node, RecordedTree, list_receipts, path_to
from handrail.engine.judge.changed_claims import widen
from handrail.engine.judge.command_identity import identify
from handrail.engine.judge.named_places import (
    IGNORE_RULES,
    configures_runner,
    is_found_as_before,
    is_named_as_test,
    is_test_of,
    read_files,
    runs_by,
)
from handrail.engine.judge.red_then_green import has_broken_off, is_check_of, is_run_alike, list_own
from handrail.engine.judge.run_claims import MOST_PATHS_SINCE, has_failed
from handrail.engine.judge.witnessed import (
    AskedPlace,
    ChangedBeside,
    ChangedPaths,
    LocatedPath,
    Look,
    SeenPlace,
    Sighting,
    Turn,
)
from handrail.engine.owners import is_imported
from handrail.engine.receipts import has_passed
from handrail.operations.kept_trees import StoredTree, load_tree, read_tree_contents
from handrail.ports.worktree import MOST_PLACES, Changes, PlaceAsked, Tree, TreeLook, Unseen
from handrail.runtime.runtime import ReadPorts

MOST_BRANCHES = 20
"""Other branches whose files are looked at."""
MOST_RECEIPT_TREES = 8
MOST_GROWN = 50
"""Tests whose lines are compared."""
MOST_LISTED = 2_000
"""Texts that are located as files."""
NOT_HERE = "the project of the run is not where it was begun, or not on this machine"
_TAKEN_BACK = "it changed in this run and is as it was again"


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is held against, and the whole tree where it was looked at."""

    sighting: Sighting
    tree: Tree | None = None


def look(rt: ReadPorts, history: History, node: Node, wanted: Look, directory: str | None) -> Seen:
    """What the working tree of the run's project says to a report; None: that is not at hand.

    Never raises for what is odd about the tree.
    """
    if not wanted.places and not wanted.wants_tree:
        return Seen(sighting=Sighting())
    if directory is None or history.runs[node.run_id].project is None:
        return Seen(sighting=Sighting(trouble=NOT_HERE, is_tree_due=wanted.wants_tree))
    worktree = rt.worktree()
    places = _see_places(worktree, directory, wanted.places)
    missing = [one.path for one in places if places[one].state == "missing"]
    if not wanted.wants_tree and not missing:  # what is missing may have been deleted in this run
        return Seen(sighting=Sighting(places=places))
    tree = worktree.take_tree(directory)
    if isinstance(tree, Unseen):
        hidden = Sighting(places=places, trouble=tree.reason, is_tree_due=wanted.wants_tree)
        return Seen(sighting=hidden)
    files = _Files(rt, history, directory, tree)
    sighting = Sighting(
        places=places,
        tree=tree.tree_id,
        since=files.name_changes_since_receipts(node),
        turns=find_turns(rt, history, node, directory, tree),
        repositories=_list_unseen(tree),
        is_tree_due=wanted.wants_tree,
    )
    changes = files.compare_with_first(node)
    if isinstance(changes, Unseen):
        return Seen(sighting=msgspec.structs.replace(sighting, trouble=changes.reason), tree=tree)
    changes = files.find_hidden(changes)
    named, moved = files.locate([*wanted.files, *missing]), files.find_moved(node, changes)
    sighting = msgspec.structs.replace(
        sighting,
        changes=changes,
        files=named,
        doubts=files.find_doubts(node, changes, named),
        made_before=files.find_made_before(node, changes, named),
        elsewhere=files.find_of_other_branches(node),
        others=files.find_of_other_runs(node, named),
        grown=files.find_grown(node, changes),
        moved=moved,
        displaced=files.find_displaced(moved),
        beside=files.find_changed_beside(node),
    )
    return Seen(sighting=sighting, tree=tree)


def find_turns(
    rt: ReadPorts, history: History, node: Node, directory: str, present: Tree | None = None
) -> dict[str, Turn]:
    """By the receipts of commands that failed: whether it is the code that made them pass since.

    `present` are the files now, where no event has them yet.
    """
    receipts = [held.fact for held in list_receipts(history, node.run_id)]
    failed = [one for one in receipts if has_failed(one)]
    first = {(one.argv_digest, one.directory): one for one in reversed(failed)}
    chosen = (*list(first.values())[-MOST_RECEIPT_TREES:], *failed[-MOST_RECEIPT_TREES:])
    baseline = find_baseline(history, node.node_id)
    begun = None if baseline is None else find_files(rt, history, baseline.fact.tree_id)

    def compare(then: Tree, other: Tree | None) -> Changes | None:
        found = None if other is None else rt.worktree().compare(directory, then, other)
        return found if isinstance(found, Changes) else None

    def list_trees(held: Iterable[ReceiptRecorded]) -> list[Tree]:
        ids = list(dict.fromkeys(one.tree_after for one in held))
        asked = [*ids[:MOST_RECEIPT_TREES], *ids[MOST_RECEIPT_TREES:][-MOST_RECEIPT_TREES:]]
        return list(filter(None, (find_files(rt, history, one, present) for one in asked)))

    found: dict[str, Turn] = {}
    for red in {one.receipt_id: one for one in chosen}.values():
        own = [one for one in receipts if is_check_of(one, red)]
        later = list(filter(_is_pass, own[own.index(red) :]))
        is_asked = later or red is receipts[-1]
        then = find_files(rt, history, red.tree_after, present) if is_asked else None
        if then is None:
            continue
        last = find_files(rt, history, later[-1].tree_after, present) if later else None
        known = list_trees(one for one in later if is_run_alike(one, red))
        passes = (
            (compare(then, one), _is_kept(rt, history, directory, then, one, last)) for one in known if last
        )
        before = None if begun is None else compare(begun, then)
        turn = _judge_turn(red, then, before, compare(then, last) or _NOTHING, passes)
        earlier = list_trees(filter(_is_pass, own[: own.index(red)])) if turn.broken else []
        # What passed before was broken by nobody: a new test fails.
        if any(_keeps_code(red, compare(one, then)) for one in earlier):
            turn = msgspec.structs.replace(turn, broken=())
        if turn.broken and begun is not None:
            tried = list_trees(filter(has_broken_off, own))
            changes = [compare(begun, one) or Changes(changed=turn.broken, arrived=()) for one in tried]
            is_unloadable = any({*turn.broken}.isdisjoint((*one.changed, *one.arrived)) for one in changes)
            turn = msgspec.structs.replace(turn, is_unloadable=is_unloadable)
        found[red.receipt_id] = turn
    return found


def _is_pass(receipt: ReceiptRecorded) -> bool:
    return has_passed(receipt.outcome, receipt.counts, receipt.uncounted)


def _keeps_tests(red: ReceiptRecorded, found: Changes | None) -> bool:
    """Whether nothing differs that the command tests by, as far as it is known what does."""
    return found is not None and not list_own(red, (*found.changed, *found.arrived))


def _keeps_code(red: ReceiptRecorded, found: Changes | None) -> bool:
    """The same of all other files."""
    paths = () if found is None else (*found.changed, *found.arrived)
    return found is not None and len(list_own(red, paths)) == len(paths)


_NOTHING = Changes(changed=(), arrived=())


def _judge_turn(
    red: ReceiptRecorded,
    then: Tree,
    before: Changes | None,
    since: Changes,
    passes: Iterable[tuple[Changes | None, bool]],
) -> Turn:
    """By what had changed by the failure, what did so since, and each pass with whether its change is kept.

    Code that differs and had been changed by then is broken: who breaks the code sees a test fail, too. What
    the run itself added and kept, and what a commit has, is no such code.
    """
    begun, differing = before or _NOTHING, sorted((*since.changed, *since.arrived))
    own = {*begun.changed}.difference(begun.added).union({*begun.added}.intersection(since.deleted))
    paths = [path for path in differing if path in own]
    is_committed = bool(then.head) and not list_own(red, [one.path for one in then.entries])
    return Turn(
        since=tuple(differing),
        added=since.added,
        gone=since.deleted,
        broken=tuple(sorted({*paths}.difference(list_own(red, paths)))),
        is_first=is_committed or (before is not None and not list_own(red, (*begun.changed, *begun.arrived))),
        is_answered=any(_keeps_tests(red, one) and is_kept for one, is_kept in passes),
    )


def _is_kept(rt: ReadPorts, history: History, directory: str, red: Tree, green: Tree, last: Tree) -> bool:
    """Whether nothing that made a command pass was taken back since, line by line."""
    worktree = rt.worktree()
    before, after = (worktree.list_differences(directory, *two) for two in ((red, green), (green, last)))
    if isinstance(before, Unseen) or isinstance(after, Unseen):
        return False
    then = {one.path: one.before.digest for one in before}
    touched = [(then[one.path], one.before.digest, one.after.digest) for one in after if one.path in then]
    digests = {digest for three in touched for digest in three} - {""}
    texts: dict[str, bytes] = {"": b""}
    for tree in (red, green, last) if digests else ():
        recorded = find_tree(history, tree.tree_id)
        stored = None if recorded is None else load_tree(rt.log, history, recorded)
        entries = stored.entries if isinstance(stored, StoredTree) else ()
        texts |= read_tree_contents(rt, directory, entries, digests - texts.keys(), last.entries)
    return digests <= texts.keys() and all(
        keeps_change(*(texts[digest].splitlines() for digest in three)) for three in touched
    )


def keeps_change(old: Sequence[bytes], new: Sequence[bytes], last: Sequence[bytes]) -> bool:
    """Whether no line that came with a change is gone again, and none that went is back, or begins a line."""
    before, then, now = Counter(old), Counter(new), Counter(last)
    gone = {line.strip() for line in before - then if any(map(str.isalnum, line.decode("utf-8", "replace")))}
    back = (line.strip() for line in now - then)
    return all(now[line] >= then[line] for line in then - before) and not any(
        line.startswith(one) for line in back for one in gone
    )


def find_files(rt: ReadPorts, history: History, tree_id: str, present: Tree | None = None) -> Tree | None:
    """The files of a recorded tree, or those now where they are the same; None: they are not known."""
    if present is not None and present.tree_id == tree_id:
        return present
    recorded = find_tree(history, tree_id)
    stored = None if recorded is None else load_tree(rt.log, history, recorded)
    return None if stored is None or isinstance(stored, Unseen) else stored.tree


class _Files:
    """The present files beside those that the run has recorded."""

    def __init__(self, rt: ReadPorts, history: History, directory: str, tree: Tree) -> None:
        self._rt = rt
        self._history = history
        self._directory = directory
        self._tree = tree

    def compare_with_first(self, node: Node) -> ChangedPaths | Unseen:
        """What differs from the first files that the run has recorded on the way to this node.

        A first tree that was taken later may hold work of the run already.
        """
        baseline = find_baseline(self._history, node.node_id)
        if baseline is None:
            why = ": code.snapshots is off" if self._is_off() else ""
            return Unseen(reason=f"the files that the run began with were not recorded{why}")
        moved_at = self._history.runs[node.run_id].moved_at
        found = self.compare_with(baseline, is_fresh=baseline.index < moved_at)
        if isinstance(found, ChangedPaths):  # nobody lists a folder with unknown changes: the end tells of it
            found = _leave_out(found, {*list_unclear(baseline.fact.apart, self._tree.apart)})
        if isinstance(found, Unseen) or baseline.fact.cause == "start":
            return found
        return msgspec.structs.replace(found, is_partial=True)

    def _is_off(self) -> bool:
        try:
            return self._rt.settings.of(self._directory).looking == "off"
        except Fault:
            return False

    def compare_with(self, recorded: RecordedTree | None, *, is_fresh: bool = False) -> ChangedPaths | Unseen:
        """What differs from a recorded tree; `is_fresh`: from a new worktree of its commit."""
        if recorded is None:
            return Unseen(reason="the files then were not recorded")
        stored = load_tree(self._rt.log, self._history, recorded)
        if isinstance(stored, Unseen):
            return stored
        then = msgspec.structs.replace(stored.tree, entries=()) if is_fresh else stored.tree
        found = self._rt.worktree().compare(self._directory, then, self._tree)
        return found if isinstance(found, Unseen) else make_from(ChangedPaths, found)

    def find_hidden(self, changes: ChangedPaths) -> ChangedPaths:
        """With files that only left the list told as such: one that is ignored now, and is still there.

        Nobody sees any more what is in them, so they have changed.
        """
        named = changes.deleted[:MOST_PLACES]
        located = self._rt.worktree().locate_files(self._directory, named)
        kept = {path for path, one in zip(named, located, strict=True) if one.is_there and path in one.paths}
        kept -= widen(posixpath.dirname(path) for path in changes.added)  # it is a folder now
        return msgspec.structs.replace(
            changes,
            deleted=tuple(path for path in changes.deleted if path not in kept),
            hidden=tuple(sorted(kept)),
        )

    def find_changed_beside(self, node: Node) -> ChangedBeside:
        """What no tree tells about, and is not as it was at the first look of this run on this machine."""
        baseline = find_baseline(self._history, node.node_id)
        if baseline is None or is_imported(self._history, baseline.index):
            return ChangedBeside()
        run, fact = self._history.runs[node.run_id], baseline.fact
        ran = [held.fact for held in list_receipts(self._history, run.run_id)]
        started = {path for one in ran for path in read_files(one.argv, one.directory).started}
        started |= {one.program.removeprefix("./") for one in ran}
        now = self._rt.worktree().find_beside(self._directory, self._tree, sorted(started - {""}))
        loaded, rules = fact.loaded or {}, fact.ignore_rules or {}
        places = set(map(_find_repository, rules))
        written = {path for path, at in now.programs.items() if at > run.started_at}
        # What a virtual environment loads by itself came with the program in it, and is no second matter.
        around = tuple(f"{posixpath.dirname(posixpath.dirname(path))}/lib/" for path in written)
        changed = {path for path, mark in now.loaded.items() if loaded.get(path) != mark}
        changed = {path for path in changed if not path.startswith(around)} | written
        asked = tuple(one for one in now.ignore_rules.items() if _find_repository(one[0]) in places)
        return ChangedBeside(
            ignore_rules=tuple(
                now.rule_files.get(name, name) for name, mark in asked if rules.get(name, "") != mark
            ),
            loaded=tuple(sorted(changed)),
        )

    def find_grown(self, node: Node, changes: ChangedPaths) -> frozenset[str]:
        """Tests that have every line which the commit of the start has, in its order, and more."""
        baseline = find_baseline(self._history, node.node_id)
        if baseline is None or not baseline.fact.head:
            return frozenset()
        asked = {*changes.changed, *changes.arrived, *baseline.fact.uncommitted}
        held = (one.fact for one in list_receipts(self._history, node.run_id))
        commands = {(one.argv, one.directory) for one in held}
        asked = {path for path in asked if any(is_test_of(one, path, at) for one, at in commands)}
        asked -= {path for path in asked if any(runs_by(one, at, path) for one, at in commands)}
        asked = {path for path in asked if not configures_runner(path)}
        asked -= {*changes.added}  # what is only new needs no excuse
        begun = Tree(head=baseline.fact.head, entries=(), tree_id="-")
        worktree = self._rt.worktree()
        found = worktree.list_differences(self._directory, begun, self._tree) if asked else ()
        if isinstance(found, Unseen):
            return frozenset()
        files = [one for one in found if one.path in asked and one.after.mode in ("file", "executable")]
        digests = {side.digest for one in files[:MOST_GROWN] for side in (one.before, one.after)} - {""}
        read = worktree.read_contents(self._directory, self._tree.entries, digests)
        texts = {digest: content.splitlines() for digest, content in {**read, "": b""}.items()}
        return frozenset(
            one.path
            for one in files
            if one.after.digest in texts
            and one.before.digest in texts
            and is_kept_in(texts[one.before.digest], texts[one.after.digest])
        )

    def find_moved(self, node: Node, changes: ChangedPaths) -> dict[str, str]:
        """Tests that have the content of the start under another name; with the old ones."""
        gone = {*filter(is_named_as_test, changes.deleted)}
        baseline = find_baseline(self._history, node.node_id) if gone else None
        begun = None if baseline is None else self._load(baseline)
        if begun is None:
            return {}
        found = self._rt.worktree().list_differences(self._directory, begun, self._tree)
        files = () if isinstance(found, Unseen) else found
        before = {(one.before.mode, one.before.digest): one.path for one in files if one.path in gone}
        kept = [(one.path, before.get((one.after.mode, one.after.digest))) for one in files]
        return {path: old for path, old in kept if path in changes.added and old is not None}

    def find_displaced(self, moved: Mapping[str, str]) -> frozenset[str]:
        """Those of them where a runner may not look for them."""
        folders = sorted(widen(map(posixpath.dirname, moved)))
        asked = [f"{folder}/__init__.py" for folder in folders]
        located = self._rt.worktree().locate_files(self._directory, asked) if asked else ()
        packages = {folder for folder, one in zip(folders, located, strict=True) if one.is_there}
        return frozenset(new for new, old in moved.items() if not is_found_as_before(old, new, packages))

    def locate(self, named: Sequence[str]) -> dict[str, LocatedPath]:
        """The files that a report names, by its texts."""
        asked = named[:MOST_LISTED]
        found = self._rt.worktree().locate_files(self._directory, asked)
        return {text: make_from(LocatedPath, one) for text, one in zip(asked, found, strict=True)}

    def find_doubts(self, node: Node, changes: ChangedPaths, named: dict[str, LocatedPath]) -> dict[str, str]:
        """Of files that did not change by the trees: why they may have, all the same."""
        changed = widen((*changes.changed, *changes.arrived))
        still = {
            text: one.paths for text, one in named.items() if one.paths and changed.isdisjoint(one.paths)
        }
        if not still:
            return {}
        paths = sorted({path for held in still.values() for path in held})
        reasons = dict(self._rt.worktree().explain_unlisted(self._directory, paths))
        reasons |= dict.fromkeys(self._find_taken_back(node, set(paths) - set(reasons)), _TAKEN_BACK)
        found = {
            text: next((reasons[one] for one in held if one in reasons), "") for text, held in still.items()
        }
        return {text: why for text, why in found.items() if why}

    def _find_taken_back(self, node: Node, paths: set[str]) -> set[str]:
        """Those that differed from the start of the run in a tree since, and do not any more."""
        baseline = find_baseline(self._history, node.node_id)
        begun = None if baseline is None or not paths else self._load(baseline)
        way = path_to(self._history, node.node_id)
        lineage = [held for one in way for held in self._history.trees.get(one.node_id, ())]
        since = filter(None, map(self._load, lineage[-MOST_BRANCHES:])) if begun is not None else ()
        return {path for one in since if begun for path in self._list_differing(begun, one)} & paths

    def _load(self, recorded: RecordedTree) -> Tree | None:
        stored = load_tree(self._rt.log, self._history, recorded)
        return None if isinstance(stored, Unseen) else stored.tree

    def _list_differing(self, before: Tree, after: Tree) -> set[str]:
        found = self._rt.worktree().compare(self._directory, before, after)
        return set() if isinstance(found, Unseen) else {*found.changed, *found.arrived}

    def find_made_before(
        self, node: Node, changes: ChangedPaths, named: dict[str, LocatedPath]
    ) -> frozenset[str]:
        """Listed files that the run added, as far as an earlier step may have done it."""
        listed = {path for one in named.values() for path in one.paths} & set(changes.added)
        step = node
        while step.kind != "step" and step.parent is not None:
            step = self._history.nodes[step.parent]
        first = find_tree_of(self._history, step.node_id)
        if not listed or step.parent is None:
            return frozenset()
        if first is None or first.fact.cause == "receipt":
            return frozenset(listed)
        since = self.compare_with(first)
        return frozenset(listed if isinstance(since, Unseen) else listed - set(since.added))

    def find_of_other_branches(self, node: Node) -> frozenset[str]:
        """Paths that are as another branch of the run left them: the rewind did not bring them back."""
        history = self._history
        own = {held.node_id for held in path_to(history, node.node_id)}
        others = [
            tree
            for node_id, held in history.trees.items()
            if node_id not in own and history.nodes[node_id].run_id == node.run_id
            if history.nodes[node_id].kind == "step"
            for tree in held[-1:]
        ]
        now = {(entry.path, entry.digest) for entry in self._tree.entries}
        found: set[str] = set()
        for recorded in others[-MOST_BRANCHES:]:
            before = self._list_unchanged(find_nearest_tree(history, self._find_fork(recorded, own)), now)
            found |= self._list_unchanged(recorded, now) - before
        return frozenset(found)

    def find_of_other_runs(self, node: Node, named: dict[str, LocatedPath]) -> frozenset[str]:
        """Paths that changed between two looks of this run while another was open here, and nobody listed."""
        if all(run.parent is None for run in self._history.runs.values()):
            return frozenset()
        from handrail.engine.children.shared_files import list_open_spans  # noqa: PLC0415 - few runs have helpers

        spans = list_open_spans(self._history, node)
        if not spans:
            return frozenset()
        way, trees = path_to(self._history, node.node_id), self._history.trees
        held = [recorded for one in way for recorded in trees.get(one.node_id, ())][-MOST_BRANCHES:]
        seen = [(tree, float(one.index)) for one in held if (tree := self._load(one)) is not None]
        found: set[str] = set()
        for (before, begun), (after, ended) in pairwise((*seen, (self._tree, float("inf")))):
            if any(first < ended and last > begun for first, last in spans):
                found |= self._list_differing(before, after)
        return frozenset(found - {path for one in named.values() for path in one.paths})

    def _find_fork(self, recorded: RecordedTree, own: set[NodeId]) -> NodeId:
        """Where the way to a tree left this one: what was there already is no other branch's."""
        current = recorded.fact.node_id
        while current not in own:
            parent = self._history.nodes[current].parent
            assert parent is not None, "the branches of a run begin at its first node"
            current = parent
        return current

    def _list_unchanged(self, recorded: RecordedTree | None, now: set[tuple[str, str]]) -> set[str]:
        """Paths of a recorded tree that are as they were."""
        tree = None if recorded is None else self._load(recorded)
        return {one.path for one in tree.entries if (one.path, one.digest) in now} if tree else set()

    def name_changes_since_receipts(self, node: Node) -> dict[str, tuple[str, ...]]:
        """By the trees on which each command last ran: what changed since.

        Those that Handrail started come first: a client's hook tells of every command.
        """
        receipts = [held.fact for held in list_receipts(self._history, node.run_id)]
        last = {identify(one): one for one in receipts}
        newest = sorted(last.values(), key=lambda one: (one.by != "handrail", -receipts.index(one)))
        trees = dict.fromkeys(one.tree_after for one in newest)
        found: dict[str, tuple[str, ...]] = {}
        for tree_id in [one for one in trees if one and one != self._tree.tree_id][:MOST_RECEIPT_TREES]:
            changes = self.compare_with(find_tree(self._history, tree_id))
            if isinstance(changes, ChangedPaths):
                found[tree_id] = tuple(sorted((*changes.changed, *changes.arrived))[:MOST_PATHS_SINCE])
        return found


def _leave_out(changes: ChangedPaths, names: set[str]) -> ChangedPaths:
    paths = (changes.changed, changes.arrived, changes.added, changes.deleted)
    changed, arrived, added, deleted = (tuple(one for one in held if one not in names) for held in paths)
    return ChangedPaths(changed=changed, arrived=arrived, added=added, deleted=deleted)


def _find_repository(rules: str) -> str:
    """The folder of the repository whose ignore rules are named so; empty: of the project itself."""
    return next((rules.removesuffix(one) for one in IGNORE_RULES if rules.endswith(one)), rules)


def _list_unseen(tree: Tree) -> tuple[str, ...]:
    """Other repositories inside that nobody looked into."""
    return tuple(name for name in tree.repositories if state_of(tree.apart.get(name, "unseen")) == "unseen")


def is_kept_in(old: Sequence[bytes], new: Sequence[bytes]) -> bool:
    """Whether all lines of one are in the other, in their order."""
    rest = iter(new)
    return all(line in rest for line in old)


def _see_places(
    worktree: TreeLook, directory: str, wanted: Sequence[AskedPlace]
) -> dict[AskedPlace, SeenPlace]:
    asked = wanted[:MOST_PLACES]
    seen = worktree.see_places(directory, [make_from(PlaceAsked, one) for one in asked])
    return {one: make_from(SeenPlace, found) for one, found in zip(asked, seen, strict=True)}
