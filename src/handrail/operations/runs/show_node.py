"""`run.node`: everything that the log has about one node of a run, without any token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from handrail.contract.catalogue import NODE_NOT_FOUND
from handrail.contract.disclosure.fields import Shape
from handrail.contract.disclosure.newest import take_first, take_newest_rows
from handrail.contract.ids import NodeId
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, NextCall, make_from
from handrail.contract.parameters import MintedId
from handrail.contract.wording import quote
from handrail.engine.ask import kept_report
from handrail.engine.code_trees import find_tree_of
from handrail.engine.events import Artifact, ValidationPerformed
from handrail.engine.facts import excerpt, preferences_at
from handrail.engine.history import (
    History,
    Node,
    Receipt,
    Run,
    confirmation_of,
    seen_at,
)
from handrail.engine.judge.arrival import may_ask
from handrail.engine.messages import explain_gap, join_parts, spell_recorded_fault
from handrail.engine.navigate import Running, leaf_at, step_key
from handrail.engine.receipts import describe_outcome, has_passed
from handrail.engine.standing import standing_at
from handrail.engine.tips import open_gaps
from handrail.operations.finding import find_session
from handrail.operations.runs.node_lines import find_answer, show_answer
from handrail.operations.runs.show_graph import done_title
from handrail.operations.sessions.show_session import describe_divergence
from handrail.projections.evidence import (
    EvidenceSum,
    caveat_of,
    is_from_elsewhere,
    sum_evidence,
)
from handrail.projections.needs import resume_prompt
from handrail.projections.overview import session_title
from handrail.projections.report.markdown import describe_way
from handrail.projections.report.story import Moment, moment_at
from handrail.projections.run_graph import RunGraph, preferred_tip_below, run_graph, title_at
from handrail.runtime.damaged_sessions import read_text
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, load_pinned_workflow
from handrail.views.nodes import (
    KeptRow,
    NodeArtifact,
    NodeBlocker,
    NodeCapability,
    NodeGap,
    NodeLink,
    NodeOrigin,
    NodeReceipt,
    NodeTree,
    NodeValidation,
    NodeView,
    PendingRow,
)
from handrail.views.statements import make_statement_row
from handrail.workflows.compiled import Choice, CompiledWorkflow, Step

PROMPT_BYTES = 65_536
NOTES_BYTES = 65_536
"""Most bytes of the notes of one node; an export has all of them."""
ARTIFACTS_BYTES = 65_536
LIST_BYTES = 16_384
"""Most bytes of each other list: the newest that fit."""


class ShowNode(Input, frozen=True, kw_only=True):
    """The node to show."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    node: Annotated[MintedId, Meta(description="Node id.", min_length=1, max_length=128)]


def show_node(rt: ReadPorts, request: ShowNode) -> NodeView:
    """Return everything about one node, even if the session cannot be continued.

    Raise Fault SESSION_NOT_FOUND and NODE_NOT_FOUND.
    """
    session = find_session(rt, request.session_id)
    history = session.history
    node = find_node(history, request.node)
    workflow = load_pinned_workflow(rt.log, history.runs[node.run_id].workflow_hash)
    graph = run_graph(history, node.run_id)
    moment = moment_at(history, graph, workflow, lambda ref: read_text(rt.log, ref), node)
    asked = _contract_of(workflow, node)
    before = () if node.parent is None else history.receipts.get(node.parent, ())
    held = (*before, *history.receipts.get(node.node_id, ()))
    state = partial(make_statement_row, history, node.node_id, artifacts=moment.artifacts)
    rows: dict[str, list[Any]] = {
        "artifacts": take_first((_artifact(one, asked) for one in moment.artifacts), ARTIFACTS_BYTES)[0],
        "receipts": take_newest_rows(held, _receipt, LIST_BYTES)[0],
        "statements": take_first((state(one) for one in moment.statements), LIST_BYTES)[0],
    }
    whole = {"artifacts": len(moment.artifacts), "receipts": len(held), "statements": len(moment.statements)}
    left_out = {name: count - len(rows[name]) for name, count in whole.items()}
    omitted = {name: count for name, count in left_out.items() if count}
    return _placed(session, graph, workflow, node, moment, omitted=omitted, **rows)


def find_node(history: History, asked: str) -> Node:
    """Return the node of this session.

    Raise Fault NODE_NOT_FOUND.
    """
    node = history.nodes.get(NodeId(asked))
    if node is None:
        raise Fault(
            NODE_NOT_FOUND,
            f"Session {history.session_id} has no node {quote(asked)}.",
            details={"node_id": asked[:128]},
            next_call=NextCall(operation="run.graph", params={"sessionId": history.session_id}),
        )
    return node


def _placed(
    session: Session, graph: RunGraph, workflow: CompiledWorkflow, node: Node, moment: Moment, **rows: Any
) -> NodeView:
    history = session.history
    notes = excerpt(moment.notes, NOTES_BYTES)
    before = None if node.parent is None else preferences_at(history, node.parent)
    changed = moment.preferences is not None and before not in (None, moment.preferences)
    recorded = find_tree_of(history, node.node_id)
    return make_from(
        NodeView,
        moment,
        session_id=history.session_id,
        run_id=node.run_id,
        goal=session_title(history),
        event_index=node.index,
        parent=None if node.parent is None else _link(history, graph, workflow, node.parent),
        children=[_link(history, graph, workflow, child) for child in graph.children[node.node_id]],
        is_tip=node.node_id in graph.tips,
        is_preferred_tip=node.node_id == graph.preferred_tip,
        preferred_tip=graph.preferred_tip,
        is_on_path=node.node_id in graph.preferred_path,
        run_status=graph.status,
        health=session.health.state,
        banner=session.banner,
        notes=notes,
        is_cut=moment.is_cut or notes != moment.notes,
        blockers=[NodeBlocker(code=one.code, message=join_parts(one), fix=one.fix) for one in moment.refused],
        gaps=_gaps(history, graph, moment),
        evidence=msgspec.structs.asdict(sum_evidence(history, node.node_id) or EvidenceSum()),
        evidence_caveat=caveat_of(history),
        is_imported=is_from_elsewhere(history, node.node_id),
        divergences=list(map(describe_divergence, moment.divergences)),
        capabilities=[make_from(NodeCapability, one) for one in moment.capabilities],
        validations=list(map(_validation, moment.validations)),
        trace=describe_way(moment),
        preferences=msgspec.structs.asdict(preferences_at(history, node.node_id)),
        preferences_before=msgspec.structs.asdict(before) if changed and before is not None else None,
        context_keys=sorted(history.context.get(node.node_id, {})),
        pending=_pending(history, workflow, node),
        person=find_answer(history, node),
        tree=None
        if recorded is None
        else NodeTree(tree_id=recorded.fact.tree_id, cause=recorded.fact.cause, at=recorded.at),
        origin=_origin(history, history.runs[node.run_id], node, workflow.name),
        resume_prompt=resume_prompt(history.session_id, title_at(workflow, node)),
        **rows,
    )


def _gaps(history: History, graph: RunGraph, moment: Moment) -> list[NodeGap]:
    tip = preferred_tip_below(history, graph, moment.node_id)  # gaps count per branch
    still_open = {gap.gap_id for gap in open_gaps(history, tip)}
    return [
        make_from(
            NodeGap,
            gap,
            id=gap.gap_id,
            summary=explain_gap(gap, moment.title),
            resolves=gap.resolves_gap_id,
            is_open=gap.gap_id in still_open,
        )
        for gap in moment.gaps
    ]


def _validation(one: ValidationPerformed) -> NodeValidation:
    return make_from(NodeValidation, one, issues=list(map(spell_recorded_fault, one.issues)))


def _link(history: History, graph: RunGraph, workflow: CompiledWorkflow, node_id: NodeId) -> NodeLink:
    node = history.nodes[node_id]
    return NodeLink(
        id=node_id,
        kind=node.kind,
        title=done_title(history, workflow, node),
        is_on_path=node_id in graph.preferred_path,
    )


def _pending(history: History, workflow: CompiledWorkflow, node: Node) -> PendingRow | None:
    if not isinstance(node.state, Running):
        return None
    standing = standing_at(history, workflow, node, "reply")
    prompt = excerpt(standing.prompt, PROMPT_BYTES)
    answer = confirmation_of(history, node.node_id)
    leaf = standing.leaf
    return PendingRow(
        step_id=step_key(node.state),
        title=title_at(workflow, node),
        prompt=prompt,
        is_cut=prompt != standing.prompt,
        person=None if answer is None else show_answer(history, answer),
        needs_person=standing.needs_confirmation or (leaf is not None and may_ask(leaf)),
        options=[option.id for option in leaf.options] if isinstance(leaf, Choice) else [],
        done=standing.progress.done,
        at_least=standing.progress.at_least,
        report=_kept(history, workflow, node),
    )


def _kept(history: History, workflow: CompiledWorkflow, node: Node) -> KeptRow | None:
    kept = kept_report(history, workflow, node)
    if kept is None:
        return None
    asked = _contract_of(workflow, node)
    held = (Artifact(kind=str(one.get("kind", "")), digest=digest(one), body=one) for one in kept.artifacts)
    artifacts, _ = take_first((_artifact(one, asked) for one in held), ARTIFACTS_BYTES)
    return KeptRow(notes=excerpt(kept.notes, NOTES_BYTES), artifacts=artifacts)


def _contract_of(workflow: CompiledWorkflow, node: Node) -> dict[str, str]:
    """Return the contracts that a waiting report needs: its artifacts name none until one is accepted."""
    if node.kind == "step" or not isinstance(node.state, Running):
        return {}
    leaf = leaf_at(workflow, node.state)
    ref = leaf.contract if isinstance(leaf, Step) else ""
    return {workflow.contracts[ref].artifact_kind: ref} if ref else {}


def _artifact(held: Artifact, asked: Mapping[str, str]) -> NodeArtifact:
    asks = held.contract_ref or ("" if held.is_refused else asked.get(held.kind, ""))
    return make_from(NodeArtifact, held, contract_ref=asks)


def _receipt(held: Receipt) -> NodeReceipt:
    fact = held.fact
    return make_from(
        NodeReceipt,
        fact,
        held,
        id=fact.receipt_id,
        command=list(fact.argv),
        outcome=describe_outcome(fact.outcome),
        has_passed=has_passed(fact.outcome, fact.counts, fact.uncounted),
        tail=fact.tail or fact.head,
    )


def _origin(history: History, run: Run, node: Node, name: str) -> NodeOrigin:
    seen = seen_at(history, node.node_id)
    imported = history.imported
    return make_from(
        NodeOrigin,
        run,
        workflow_name=name,
        project="" if run.project is None else run.project.name,
        branch=seen.get("git_branch", ""),
        head_sha=seen.get("git_head_sha", ""),
        imported_from="" if imported is None else imported.source_session_id,
        bundle_id="" if imported is None else imported.bundle_id,
    )


OPERATION = Operation(
    name="run.node",
    effect="read",
    summary="Show everything that is recorded about one node of a run.",
    input=ShowNode,
    output=NodeView,
    perform=show_node,
    shape=Shape(
        levels={"minimal": ("session_id", "run_id", "node_id", "kind", "step_id", "run_status", "health")},
        id_field="node_id",
        drop_order=("artifacts", "notes", "pending", "receipts", "statements", "validations", "trace"),
        windows=("artifacts", "receipts", "statements"),
        untrusted=(
            *("goal", "title", "notes", "artifacts.kind", "artifacts.body", "blockers.message"),
            *(
                "blockers.fix",
                "gaps.summary",
                "statements.text",
                "statements.level_text",
                "divergences.summary",
            ),
            *("capabilities.summary", "trace", "validations.issues", "pending.title", "pending.prompt"),
            *("pending.report", "person.note", "receipts.command", "receipts.tail", "origin.workflow_name"),
            *("origin.project", "origin.branch", "context_keys", "parent.title", "children.title"),
        ),
    ),
    errors=("SESSION_NOT_FOUND", NODE_NOT_FOUND.code, "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
