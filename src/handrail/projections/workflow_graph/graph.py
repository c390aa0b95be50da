"""A compiled workflow as a graph: what may follow what, under which condition, inside which loop. Pure.

The language is structured, so the graph is too: every part has one way in and one way out. A part with a
condition has a `condition` node before it, which leads into the part or past it. A loop ends in a `repeat`
node, which leads back or on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledWorkflow,
    Count,
    Delegate,
    ForEach,
    Loop,
    Part,
    Provenance,
    Step,
    Until,
    While,
)
from handrail.workflows.conditions import describe_condition

NodeKind: TypeAlias = Literal["start", "end", "step", "choice", "action", "delegate", "condition", "repeat"]
EdgeKind: TypeAlias = Literal["next", "option", "enter", "skip", "again", "leave"]


class GraphNode(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to draw. Nodes stand in the order in which a reader meets them."""

    id: str
    """The authored id for steps, choices and actions; derived, with a colon in it, for the others."""
    kind: NodeKind
    title: str = ""
    notes: tuple[str, ...] = ()
    """What matters about it beside its title: contract, confirmation, where it came from."""
    loop: str = ""
    """The innermost loop around it."""


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True):
    """One way on."""

    source: str
    target: str
    kind: EdgeKind
    label: str = ""


class GraphLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A box around the nodes of a loop."""

    id: str
    label: str
    first: str
    """Its first node: the way back leads there."""
    last: str
    """Its repeat node."""
    notes: tuple[str, ...] = ()
    loop: str = ""


class GuardedItem(msgspec.Struct, frozen=True, kw_only=True):
    """A condition node and what it leads into or past."""

    condition: GraphNode
    items: tuple[Item, ...]


class LoopItem(msgspec.Struct, frozen=True, kw_only=True):
    """A loop and what is inside it; its repeat node is the last item."""

    box: GraphLoop
    items: tuple[Item, ...]


Item: TypeAlias = GraphNode | GuardedItem | LoopItem


class WorkflowGraph(msgspec.Struct, frozen=True, kw_only=True):
    """The whole workflow."""

    workflow_id: str
    name: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    loops: tuple[GraphLoop, ...]
    outline: tuple[Item, ...]
    """The same nodes and loops, as they lie inside each other."""


class _Exit(msgspec.Struct, frozen=True, kw_only=True):
    """A way on whose target is not known yet."""

    source: str
    kind: EdgeKind = "next"
    label: str = ""


class _Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """Some parts, and the ways out of them."""

    items: tuple[Item, ...]
    exits: tuple[_Exit, ...]


def workflow_graph(workflow: CompiledWorkflow) -> WorkflowGraph:
    """The graph of a compiled workflow; the same workflow gives the same graph."""
    builder = _Builder({name: describe_condition(held) for name, held in workflow.conditions.items()})
    start = builder.leaf(GraphNode(id=":start", kind="start", title="Start"), ())
    body = builder.parts(workflow.steps, start.exits, "")
    end = builder.leaf(GraphNode(id=":end", kind="end", title="Complete"), body.exits)
    return WorkflowGraph(
        workflow_id=workflow.id,
        name=workflow.name,
        nodes=tuple(builder.nodes),
        edges=tuple(builder.edges),
        loops=tuple(builder.loops),
        outline=(*start.items, *body.items, *end.items),
    )


class _Builder:
    """Collects nodes, edges and loops while the tree is walked once."""

    def __init__(self, conditions: Mapping[str, str]) -> None:
        self.conditions = conditions
        self.nodes: list[GraphNode] = []
        self.edges: list[GraphEdge] = []
        self.loops: list[GraphLoop] = []

    def leaf(self, node: GraphNode, exits: Sequence[_Exit]) -> _Drawn:
        self.nodes.append(node)
        self._join(exits, node.id)
        return _Drawn(items=(node,), exits=(_Exit(source=node.id),))

    def parts(self, parts: Sequence[Part], exits: Sequence[_Exit], loop: str) -> _Drawn:
        items: list[Item] = []
        ways = tuple(exits)
        for part in parts:
            drawn = self._guarded(part, ways, loop)
            items += drawn.items
            ways = drawn.exits
        return _Drawn(items=tuple(items), exits=ways)

    def _join(self, exits: Sequence[_Exit], target: str) -> None:
        self.edges += [
            GraphEdge(source=way.source, target=target, kind=way.kind, label=way.label) for way in exits
        ]

    def _guarded(self, part: Part, exits: Sequence[_Exit], loop: str) -> _Drawn:
        """The part, and the way past it where it has a condition."""
        if not part.when:
            return self._part(part, exits, loop)
        words = self.conditions[part.when]
        guard = GraphNode(id=f":if:{part.id}", kind="condition", title=words, loop=loop)
        self.leaf(guard, exits)
        drawn = self._part(part, (_Exit(source=guard.id, kind="enter", label=f"if {words}"),), loop)
        past = _Exit(source=guard.id, kind="skip", label="otherwise")
        return _Drawn(items=(GuardedItem(condition=guard, items=drawn.items),), exits=(*drawn.exits, past))

    def _part(self, part: Part, exits: Sequence[_Exit], loop: str) -> _Drawn:
        match part:
            case Step():
                notes = self._step_notes(part)
                return self.leaf(_node(part.id, "step", part.title, notes, loop), exits)
            case Choice():
                drawn = self.leaf(_node(part.id, "choice", part.title, _choice_notes(part), loop), exits)
                options = " | ".join(option.id for option in part.options)
                return msgspec.structs.replace(
                    drawn, exits=(_Exit(source=part.id, kind="option", label=options),)
                )
            case Action():
                notes = (f"runs {part.operation}", *_origin(part.provenance))
                return self.leaf(_node(part.id, "action", part.title, notes, loop), exits)
            case Delegate():
                notes = (*_child_notes(part), *_origin(part.provenance))
                return self.leaf(_node(part.id, "delegate", part.title, notes, loop), exits)
            case Loop():
                return self._loop(part, exits, loop)
            case never:
                assert_never(never)

    def _loop(self, part: Loop, exits: Sequence[_Exit], loop: str) -> _Drawn:
        place, first = len(self.loops), len(self.nodes)
        body = self.parts(part.body, exits, part.id)
        words = self._again(part)
        repeat = _node(f":again:{part.id}", "repeat", f"again {words}", (), part.id)
        closed = self.leaf(repeat, body.exits)
        box = GraphLoop(
            id=part.id,
            label=f"Loop {part.id}: {words}, at most {_times(part.max_iterations)}",
            first=self.nodes[first].id,
            last=repeat.id,
            notes=_origin(part.provenance),
            loop=loop,
        )
        self.loops.insert(place, box)  # an outer loop stands before the loops inside it
        self._join((_Exit(source=repeat.id, kind="again", label="again"),), box.first)
        return _Drawn(
            items=(LoopItem(box=box, items=(*body.items, *closed.items)),),
            exits=(_Exit(source=repeat.id, kind="leave", label="done"),),
        )

    def _again(self, part: Loop) -> str:
        match part.repeat:
            case While(condition=condition):
                return f"while {self.conditions[condition]}"
            case Until(condition=condition):
                return f"until {self.conditions[condition]}"
            case ForEach(input=name, item=item):
                return f"for each {item} of {name}"
            case Count(count=count):
                return _times(count)
            case never:
                assert_never(never)

    def _step_notes(self, step: Step) -> tuple[str, ...]:
        notes = [f"delivers {step.contract}"] if step.contract else []
        if step.require_confirmation is True:
            notes.append("waits for confirmation")
        elif step.require_confirmation:
            notes.append(f"waits for confirmation if {self.conditions[step.require_confirmation]}")
        if step.user_only is not None:
            notes.append(f"user only: {step.user_only.reason}")
        notes += [f"assessment {gate.assessment_id}" for gate in step.gates]
        return (*notes, *_origin(step.provenance))


def _node(node_id: str, kind: NodeKind, title: str, notes: tuple[str, ...], loop: str) -> GraphNode:
    return GraphNode(id=node_id, kind=kind, title=title, notes=notes, loop=loop)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _child_notes(step: Delegate) -> tuple[str, ...]:
    needed = f"at least {step.at_least}" if step.at_least else "all"
    each = f" for each of {step.for_each}" if step.for_each else ""
    return (
        *(f"hands out {child.id}: {child.workflow_id}{each}" for child in step.children),
        f"needs {needed}",
    )


def _choice_notes(choice: Choice) -> tuple[str, ...]:
    asked = () if choice.non_assumable is None else (f"the user decides: {choice.non_assumable}",)
    return (*asked, *_origin(choice.provenance))


def _origin(provenance: Provenance) -> tuple[str, ...]:
    if provenance.kind == "authored":
        return ()
    return (f"from {provenance.kind} {provenance.origin}".rstrip(),)


# The graph as data, for programs that draw it themselves


def graph_document(graph: WorkflowGraph) -> dict[str, Any]:
    """Nodes, edges and loops by id."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(graph))
    del document["outline"]
    return document
