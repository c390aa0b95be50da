"""`run.compare`: two nodes side by side: where their ways parted, and what happened on each since."""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Annotated

import msgspec
from msgspec import Meta

from handrail.contract.catalogue import NODE_NOT_FOUND
from handrail.contract.disclosure.fields import Shape
from handrail.contract.disclosure.newest import take_first
from handrail.contract.outcome import make_from
from handrail.contract.parameters import MintedId
from handrail.engine.code_trees import find_tree_of
from handrail.engine.facts import excerpt, notes_at, preferences_at
from handrail.engine.history import History, Node, attached_to, path_to
from handrail.engine.messages import explain_gap
from handrail.engine.tips import open_gaps
from handrail.operations.finding import find_session
from handrail.operations.runs.node_lines import by_node, find_answer, find_choice
from handrail.operations.runs.run_outcome import list_newest_proofs
from handrail.operations.runs.show_graph import done_title
from handrail.operations.runs.show_node import find_node
from handrail.projections.evidence import EvidenceSum, caveat_of, sum_evidence
from handrail.projections.overview import session_title
from handrail.projections.run_graph import completed_step, status_at, title_at
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import load_pinned_workflow
from handrail.views.comparisons import ComparedArtifact, ComparedEnd, ComparedRow, ComparedStep, Comparison
from handrail.workflows.compiled import CompiledWorkflow

MOST_STEPS = 200
"""Most steps of each way since they parted; the first ones."""
NOTES_BYTES = 8_192
"""Most bytes of the notes of one node."""
ROWS_BYTES = 196_608


class CompareNodes(Input, frozen=True, kw_only=True):
    """The two nodes to compare."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    one: Annotated[MintedId, Meta(description="Node id.", min_length=1, max_length=128)]
    other: Annotated[MintedId, Meta(description="Another node id.", min_length=1, max_length=128)]


def compare_nodes(rt: ReadPorts, request: CompareNodes) -> Comparison:
    """Return where two ways parted, and what happened on each since.

    Raise Fault SESSION_NOT_FOUND and NODE_NOT_FOUND.
    """
    session = find_session(rt, request.session_id)
    history = session.history
    one, other = find_node(history, request.one), find_node(history, request.other)
    ways = path_to(history, one.node_id), path_to(history, other.node_id)
    shared = 0
    for left, right in zip(*ways, strict=False):
        if left.node_id != right.node_id:
            break
        shared += 1
    telling = _Texts(rt, history)
    since = ways[0][shared : shared + MOST_STEPS], ways[1][shared : shared + MOST_STEPS]
    every = [telling.row(left, right) for left, right in _align(history, *since)]
    rows, _ = take_first(every, ROWS_BYTES)
    left_out = sum(max(0, len(way) - shared - MOST_STEPS) for way in ways)
    return Comparison(
        session_id=history.session_id,
        goal=session_title(history),
        health=session.health.state,
        banner=session.banner,
        ancestor=ways[0][shared - 1].node_id if shared else "",
        ancestor_title=telling.title(ways[0][shared - 1]) if shared else "",
        shared_steps=shared,
        one=telling.end(one, len(ways[0]) - shared),
        other=telling.end(other, len(ways[1]) - shared),
        rows=rows,
        rows_omitted=len(every) - len(rows) + left_out,
    )


def _align(history: History, one: list[Node], other: list[Node]) -> list[tuple[Node | None, Node | None]]:
    """Return the steps of both ways side by side, in order."""
    keys = [[completed_step(history, node) for node in way] for way in (one, other)]
    pairs: list[tuple[Node | None, Node | None]] = []
    matcher = SequenceMatcher(a=keys[0], b=keys[1], autojunk=False)
    for tag, start, end, from_, to in matcher.get_opcodes():
        if tag == "equal":
            pairs += zip(one[start:end], other[from_:to], strict=True)
        else:
            pairs += [(node, None) for node in one[start:end]]
            pairs += [(None, node) for node in other[from_:to]]
    return pairs


class _Texts:
    """Makes the rows of one comparison."""

    def __init__(self, rt: ReadPorts, history: History) -> None:
        self._rt = rt
        self._history = history
        self._recorded = by_node(history)

    def row(self, one: Node | None, other: Node | None) -> ComparedRow:
        node = one or other
        assert node is not None, "a row has at least one side"
        return ComparedRow(
            step_id=completed_step(self._history, node),
            one=None if one is None else self._step(one),
            other=None if other is None else self._step(other),
        )

    def title(self, node: Node) -> str:
        return done_title(self._history, self._workflow(node), node)

    def end(self, node: Node, step_count: int) -> ComparedEnd:
        history = self._history
        tree = find_tree_of(history, node.node_id)
        return make_from(
            ComparedEnd,
            node,
            title=self.title(node),
            pending_title=title_at(self._workflow(node), node),
            status=status_at(history, node),
            step_count=step_count,
            preferences=msgspec.structs.asdict(preferences_at(history, node.node_id)),
            evidence=msgspec.structs.asdict(sum_evidence(history, node.node_id) or EvidenceSum()),
            evidence_caveat=caveat_of(history),
            open_gaps=[explain_gap(gap) for gap in open_gaps(history, node.node_id)],
            tree_id="" if tree is None else tree.fact.tree_id,
            proofs=list_newest_proofs(history, node.node_id),
        )

    def _step(self, node: Node) -> ComparedStep:
        notes = notes_at(self._history, node.node_id)
        text = "" if notes is None else excerpt(notes.text, NOTES_BYTES)
        attached = attached_to(self._history, node.node_id)
        return make_from(
            ComparedStep,
            node,
            title=self.title(node),
            notes=text,
            is_cut=notes is not None and (notes.ref is not None or text != notes.text),
            artifacts=[make_from(ComparedArtifact, held.artifact) for held in attached.artifacts],
            gaps=[explain_gap(gap) for gap in attached.gaps],
            option=find_choice(self._history, self._workflow(node), self._recorded.get(node.node_id), node),
            answer=find_answer(self._history, node),
        )

    def _workflow(self, node: Node) -> CompiledWorkflow:
        return load_pinned_workflow(self._rt.log, self._history.runs[node.run_id].workflow_hash)


OPERATION = Operation(
    name="run.compare",
    effect="read",
    summary="Compare two nodes of a session: where their ways parted, and what each did since.",
    input=CompareNodes,
    output=Comparison,
    perform=compare_nodes,
    shape=Shape(
        levels={"minimal": ("session_id", "health", "ancestor", "one.node_id", "other.node_id")},
        id_field="session_id",
        drop_order=("rows",),
        windows=("rows",),
        untrusted=(
            *("goal", "ancestor_title", "one.title", "one.pending_title", "one.open_gaps"),
            *("other.title", "other.pending_title", "other.open_gaps"),
            *(f"rows.{side}.{name}" for side in ("one", "other") for name in ("title", "notes", "gaps")),
            *(f"rows.{side}.{name}" for side in ("one", "other") for name in ("option", "answer.note")),
            *("one.proofs", "other.proofs"),
            *(f"rows.{side}.artifacts" for side in ("one", "other")),
        ),
    ),
    errors=("SESSION_NOT_FOUND", NODE_NOT_FOUND.code, "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
