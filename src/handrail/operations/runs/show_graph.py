"""`run.graph`: every node of one run with its place in the drawing, and the steps ahead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import RUN_NOT_FOUND
from handrail.contract.disclosure.fields import Shape
from handrail.contract.ids import NodeId, RunId, WorkflowHash
from handrail.contract.outcome import Fault, make_from
from handrail.contract.parameters import MintedId
from handrail.contract.wording import quote
from handrail.engine.children.joins import is_set_aside, name_workers
from handrail.engine.code_trees import find_tree_of
from handrail.engine.events import is_newer
from handrail.engine.facts import facts_at, notes_at, run_place
from handrail.engine.history import (
    History,
    Node,
    Recorded,
    answer_about,
    attached_to,
    confirmation_of,
    not_run_at,
    not_run_by_move,
    path_to,
    statements_at,
)
from handrail.engine.navigate import NO_ROUND_WORDS, Running, leaves_of, step_key
from handrail.engine.owners import is_imported
from handrail.engine.progress import progress_at
from handrail.engine.tips import open_gaps
from handrail.operations.finding import find_session
from handrail.operations.runs.node_lines import StepsBefore, by_node, describe_node, find_steps_before
from handrail.operations.runs.run_outcome import find_outcome
from handrail.operations.stored_sessions import find_silence
from handrail.projections.evidence import (
    EvidenceSum,
    caveat_of,
    is_from_elsewhere,
    level_of,
    sum_evidence,
    worst_statement,
)
from handrail.projections.needs import needs_of, resume_prompt
from handrail.projections.overview import Graphs, choose_run, count_sources, list_seen, session_title
from handrail.projections.run_graph import RunGraph, completed_step, lay_out, run_graphs, title_at
from handrail.runtime.damaged_sessions import refuse_unsound
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts
from handrail.runtime.sessions import Session, load_pinned_workflow
from handrail.views.inbox import WaitingRun, list_items
from handrail.views.runs import AheadRow, ChildRow, PassedRow, RailNode, RunName, RunView
from handrail.workflows.compiled import CompiledWorkflow, Loop, Part
from handrail.workflows.conditions import Facts, is_ruled_out

MOST_AHEAD = 100
"""Most steps ahead that are shown."""
MOST_ROWS = 2_500
"""Most nodes of a run that are shown; the newest."""
MOST_RUNS = 200
"""Most other runs of a session that are named; the latest ones."""


class ShowGraph(Input, frozen=True, kw_only=True):
    """The run to show."""

    session_id: Annotated[MintedId, Meta(description="Session id.", min_length=1, max_length=128)]
    run: Maybe[
        Annotated[
            MintedId,
            Meta(
                description="A run of it; default its unfinished, else latest, one.",
                min_length=1,
                max_length=128,
            ),
        ]
    ] = UNSET


def show_graph(rt: ReadPorts, request: ShowGraph) -> RunView:
    """Return the graph of one run, even if it cannot be continued.

    Raise Fault SESSION_NOT_FOUND and RUN_NOT_FOUND.
    """
    session = find_session(rt, request.session_id)
    history = session.history
    graphs = run_graphs(history)
    graph = find_graph(session, graphs, request.run)
    run = history.runs[graph.run_id]
    hashes: set[str] = {one.workflow_hash for one in history.runs.values()}
    workflows = {ref: load_pinned_workflow(rt.log, WorkflowHash(ref)) for ref in sorted(hashes)}
    workflow = workflows[run.workflow_hash]
    tip = history.nodes[graph.preferred_tip]
    placed = lay_out(graph)
    omitted = max(0, len(placed) - MOST_ROWS)
    facts = facts_at(history, workflow, tip.node_id)
    progress = progress_at(workflow, tip, facts)
    answer = confirmation_of(history, tip.node_id) if isinstance(tip.state, Running) else None
    every = needs_of(history, workflows, graphs) if session.is_sound else ()
    own = tuple(
        msgspec.structs.replace(need, since=history.nodes[NodeId(need.node_id)].at)
        for need in every
        if need.run_id == graph.run_id
    )
    recorded, steps = by_node(history), find_steps_before(history, graph.nodes)
    account, machine = ("", "") if run.actor is None else (run.actor.id, run.actor.machine)
    branches = list_seen(history, graph.run_id, tip.node_id).get("git_branch", ())
    waiting_run = WaitingRun(
        health=session.health.state,
        status=graph.status,
        goal=session_title(history),
        project=run_place(run).name,
        branch=branches[-1] if branches else "",
        workflow_id=run.workflow_id,
        workflow_name=workflow.name,
        agent=run.agent,
        account=account,
        machine=machine,
        last_activity=history.last_at,
        sources=count_sources(history, tip.node_id),
        run_count=len(history.runs),
        needs=own,
    )
    silence = find_silence(rt)(waiting_run)
    return make_from(
        RunView,
        graph,
        run,
        progress,
        session_id=history.session_id,
        workflow_name=workflow.name,
        health=session.health.state,
        banner=session.banner,
        node_count=len(graph.nodes),
        branch_count=len(graph.tips),
        pending_step=step_key(tip.state),
        pending_title=title_at(workflow, tip),
        account=account,
        machine=machine,
        pending_person="" if answer is None else answer.fact.answer,
        is_pending_person_imported=answer is not None and is_imported(history, answer.index),
        evidence=msgspec.structs.asdict(sum_evidence(history, tip.node_id) or EvidenceSum()),
        evidence_caveat=caveat_of(history),
        open_gap_count=len(open_gaps(history, tip.node_id)),
        silence=silence,
        waiting=list(
            list_items(history.session_id, waiting_run, silence=silence, page=_page_of(rt, history))
        ),
        resume_prompt=resume_prompt(history.session_id, title_at(workflow, tip)) if session.is_sound else "",
        nodes=[
            _rail_node(history, graph, workflow, recorded, steps, node, row=row, lane=lane)
            for row, (node, lane) in enumerate(placed[omitted:])
        ],
        nodes_omitted=omitted,
        ahead=_list_ahead(history, graph, workflow, facts),
        children=_list_children(history, workflows, graphs, graph),
        parent_run_id="" if run.parent is None else run.parent.run_id,
        outcome=find_outcome(history, workflow, tip.node_id),
        runs=[_name_run(history, workflows, one) for one in list(graphs.values())[-MOST_RUNS:]],
        runs_omitted=max(0, len(graphs) - MOST_RUNS),
    )


def _page_of(rt: ReadPorts, history: History) -> str:
    """In a team, return the address of the page on which people answer; else empty."""
    return "" if rt.principal is None else f"{rt.origin}/sessions/{history.session_id}"


def _list_children(
    history: History, workflows: Mapping[str, CompiledWorkflow], graphs: Graphs, graph: RunGraph
) -> list[ChildRow]:
    rows = []
    taken = {closing.taken for closings in history.closings.values() for closing in closings}
    for run in history.runs.values():
        if run.parent is None or run.parent.run_id != graph.run_id:
            continue
        below, workflow = graphs[run.run_id], workflows[run.workflow_hash]
        status: str = below.status
        if run.run_id in taken:
            status = "taken"
        elif is_set_aside(history, run):
            status = "set_aside"
        elif status == "in_progress" and len(below.nodes) == 1:
            status = "handed_out"
        row = make_from(
            ChildRow,
            run,
            run.parent,
            title=workflow.name,
            status=status,
            pending_title=title_at(workflow, history.nodes[below.preferred_tip]),
            worker=name_workers(run),
            account=", ".join(run.accounts),
            result=find_outcome(history, workflow, below.preferred_tip).sentence,
        )
        rows.append(row)
    return rows


def _list_ahead(
    history: History, graph: RunGraph, workflow: CompiledWorkflow, facts: Facts
) -> list[AheadRow]:
    """Return the steps that the way to the preferred tip has neither reached nor
    passed, and may still reach.

    A step that only another branch reached is still ahead on this one.
    """
    tip = history.nodes[graph.preferred_tip]
    if not isinstance(tip.state, Running) or graph.status == "closed":
        return []
    way = path_to(history, tip.node_id)
    seen = {state.step_id for node in way if isinstance(state := node.state, Running)}
    passed = not_run_at(history, tip.node_id)
    seen |= {part.part_id for part in (*passed.parts, *passed.not_needed)}
    seen |= set(_list_ruled_out(workflow, facts))
    every = leaves_of(workflow).items()
    rows = (AheadRow(step_id=key, title=leaf.title) for key, leaf in every if key not in seen)
    return list(islice(rows, MOST_AHEAD))


def _list_ruled_out(workflow: CompiledWorkflow, facts: Facts) -> Iterator[str]:
    """Return the steps that a run will not have because of given values; of a loop, all its steps."""

    def look(parts: tuple[Part, ...], *, is_out: bool) -> Iterator[str]:
        for part in parts:
            out = is_out or bool(part.when and is_ruled_out(workflow.conditions[part.when], facts))
            if isinstance(part, Loop):
                yield from look(part.body, is_out=out)
            elif out:
                yield part.id

    return look(workflow.steps, is_out=False)


def find_graph(session: Session, graphs: Graphs, asked: str | UnsetType) -> RunGraph:
    """Return the graph of the given run, or of the run that the session is about.

    Raise Fault RUN_NOT_FOUND, and STORE_UNSUPPORTED_VERSION if a newer version may have written it.
    """
    history = session.history
    run_id = choose_run(history, graphs) if asked is UNSET else RunId(asked)
    if run_id not in graphs and is_newer(session.health.state):
        raise refuse_unsound(history.session_id, session.health, history.head)
    if run_id is None or run_id not in graphs:
        what = "has no run yet" if run_id is None else f"has no run {quote(run_id)}"
        raise Fault(
            RUN_NOT_FOUND,
            f"Session {history.session_id} {what}.",
            details={"run_id": "" if asked is UNSET else asked},
        )
    return graphs[run_id]


def done_title(history: History, workflow: CompiledWorkflow, node: Node) -> str:
    """Return the title of the step that was acknowledged on the way to a node."""
    return "Started" if node.parent is None else title_at(workflow, history.nodes[node.parent])


def _rail_node(
    history: History,
    graph: RunGraph,
    workflow: CompiledWorkflow,
    recorded: dict[NodeId, Recorded],
    steps: StepsBefore,
    node: Node,
    *,
    row: int,
    lane: int,
) -> RailNode:
    leaves = leaves_of(workflow)
    attached = attached_to(history, node.node_id)
    statement = worst_statement(statements_at(history, node.node_id))
    answer = answer_about(history, node)
    passed = not_run_by_move(attached)
    title = done_title(history, workflow, node)
    tree = find_tree_of(history, node.node_id)
    return make_from(
        RailNode,
        node,
        id=node.node_id,
        row=row,
        lane=lane,
        step_id=completed_step(history, node),
        title=title,
        pending_title=title_at(workflow, node),
        **describe_node(history, workflow, recorded, steps, node, title),
        tree_id="" if tree is None else tree.fact.tree_id,
        changed=None if tree is None else tree.fact.changed_in_step,
        is_on_path=node.node_id in graph.preferred_path,
        is_tip=not graph.children[node.node_id],
        is_fork=node.node_id in graph.forks,
        has_notes=notes_at(history, node.node_id) is not None,
        artifact_count=len(attached.artifacts),
        gap_count=len(attached.gaps),
        verdict="" if statement is None else statement.verdict,
        level="" if statement is None else level_of(statement),
        is_imported=is_from_elsewhere(history, node.node_id),
        is_diverged=bool(attached.divergences),
        person="" if answer is None else answer.fact.answer,
        passed=[
            PassedRow(
                step_id=part.part_id,
                title=leaves[part.part_id].title if part.part_id in leaves else part.part_id,
                condition_id=part.condition_id,
                why=NO_ROUND_WORDS[part.reason],
            )
            for part in passed.parts
        ],
        passed_omitted=passed.unnamed,
    )


def _name_run(history: History, workflows: Mapping[str, CompiledWorkflow], graph: RunGraph) -> RunName:
    run = history.runs[graph.run_id]
    return make_from(
        RunName,
        run,
        id=graph.run_id,
        workflow_name=workflows[run.workflow_hash].name,
        goal=run.seen.get("goal", ""),
        status=graph.status,
        branch_count=len(graph.tips),
        node_count=len(graph.nodes),
        child_id="" if run.parent is None else run.parent.child_id,
    )


OPERATION = Operation(
    name="run.graph",
    effect="read",
    summary="Show every node of one run with its place in the drawing, and the steps ahead.",
    input=ShowGraph,
    output=RunView,
    perform=show_graph,
    shape=Shape(
        levels={
            "minimal": (
                *("run_id", "status", "health", "node_count", "branch_count", "preferred_tip"),
                "pending_step",
            )
        },
        id_field="run_id",
        drop_order=("ahead", "nodes", "runs"),
        windows=("nodes", "runs"),
        untrusted=(
            "workflow_name",
            "pending_title",
            "nodes.title",
            "nodes.pending_title",
            "nodes.passed",
            *("nodes.summary", "nodes.option", "nodes.answer.summary", "nodes.answer.note"),
            *("outcome.sentence", "outcome.proofs", "outcome.review", "children.result"),
            "ahead.title",
            "waiting",
            *("runs.workflow_name", "runs.goal"),
        ),
    ),
    errors=("SESSION_NOT_FOUND", "RUN_NOT_FOUND", "STORE_CORRUPT", "STORE_UNSUPPORTED_VERSION"),
)
