"""A compiled workflow as a graph: what may follow what, under which condition, inside which loop. Pure.

The language is structured, so the graph is too: every part has one entry and one exit. A part with a
condition has a `condition` node before it, which leads into the part or past it; so has a loop that may run
zero times. A loop ends in a `repeat` node, which leads back or on. What a step delegates becomes `child`
nodes between the step and what follows. An edge `steers` is not part of the flow: it leads from a choice to
a condition that its options decide.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, assert_never

import msgspec

from handrail.workflows.compiled import (
    CONFIRMERS,
    Action,
    Choice,
    CompiledWorkflow,
    Count,
    Delegate,
    ForEach,
    Loop,
    Part,
    Provenance,
    SlotPlace,
    Step,
    Until,
    While,
)
from handrail.workflows.conditions import (
    Condition,
    Facts,
    LoopControl,
    comparisons,
    describe_condition,
    is_ruled_out,
)

NodeKind: TypeAlias = Literal[
    "start", "end", "step", "choice", "action", "delegate", "child", "condition", "repeat"
]
EdgeKind: TypeAlias = Literal["next", "option", "enter", "skip", "again", "leave", "hands_out", "steers"]


class GraphNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the drawing; nodes are listed in reading order."""

    id: str
    """The authored id for steps, choices and actions; for the others a derived id, which contains a colon."""
    kind: NodeKind
    title: str = ""
    notes: tuple[str, ...] = ()
    """Remarks besides its title: contract, confirmation, origin."""
    loop: str = ""
    """The innermost loop around it."""


class GraphEdge(msgspec.Struct, frozen=True, kw_only=True):
    """One possible transition."""

    source: str
    target: str
    kind: EdgeKind
    label: str = ""


class GraphLoop(msgspec.Struct, frozen=True, kw_only=True):
    """A box around the nodes of a loop."""

    id: str
    label: str
    first: str
    """Its first node, to which the repeat leads back."""
    last: str
    """Its repeat node."""
    notes: tuple[str, ...] = ()
    loop: str = ""


NestKind: TypeAlias = Literal["guarded", "loop", "handed_out"]


class Nest(msgspec.Struct, frozen=True, kw_only=True):
    """Nodes inside something: behind a condition, in a loop with its repeat node last, or delegated."""

    kind: NestKind
    head: GraphNode | GraphLoop
    items: tuple[Item, ...]


Item: TypeAlias = GraphNode | Nest


class WorkflowGraph(msgspec.Struct, frozen=True, kw_only=True):
    """The whole workflow."""

    workflow_id: str
    name: str
    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]
    loops: tuple[GraphLoop, ...]
    outline: tuple[Item, ...]
    """The same nodes and loops, nested."""


class _Exit(msgspec.Struct, frozen=True, kw_only=True):
    """An exit whose target is not known yet."""

    source: str
    kind: EdgeKind = "next"
    label: str = ""


class _Drawn(msgspec.Struct, frozen=True, kw_only=True):
    """Some parts, and their exits."""

    items: tuple[Item, ...]
    exits: tuple[_Exit, ...]


def workflow_graph(workflow: CompiledWorkflow, slots: Sequence[SlotPlace] = ()) -> WorkflowGraph:
    """Return the graph of a compiled workflow; the same workflow always gives the same graph."""
    builder = _Builder(workflow.conditions, slots)
    start = builder.leaf(GraphNode(id=":start", kind="start", title="Start"), ())
    body = builder.parts(workflow.steps, start.exits, "")
    end = builder.leaf(GraphNode(id=":end", kind="end", title="Complete"), body.exits)
    builder.steer()
    return WorkflowGraph(
        workflow_id=workflow.id,
        name=workflow.name,
        nodes=tuple(builder.nodes),
        edges=tuple(builder.edges),
        loops=tuple(builder.loops),
        outline=(*start.items, *body.items, *end.items),
    )


class _Builder:
    """Collects nodes, edges and loops in one walk over the tree."""

    def __init__(self, conditions: Mapping[str, Condition], slots: Sequence[SlotPlace]) -> None:
        self._held = conditions
        self._slots: dict[str, tuple[str, ...]] = {}
        """For each part: the places beside it where a customisation may add others."""
        for one in slots:
            note = f"slot {one.id} {'before' if one.before else 'after'} it"
            beside = one.before or one.after
            self._slots[beside] = (*self._slots.get(beside, ()), note)
        self.conditions = {name: describe_condition(one) for name, one in conditions.items()}
        self._guards: dict[str, str] = {}
        """Condition nodes, each with the id of its condition, in their order."""
        self._choices: list[tuple[int, Choice, str]] = []
        """Choices with the number of guards before each, and the loop around it."""
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
        for group in self._grouped(parts):
            drawn = self._guarded(group, ways, loop)
            items += drawn.items
            ways = drawn.exits
        return _Drawn(items=tuple(items), exits=ways)

    def _grouped(self, parts: Sequence[Part]) -> list[list[Part]]:
        """Return parts in groups: neighbours with one condition share it until one may change its inputs."""
        groups: list[list[Part]] = []
        for part in parts:
            before = groups[-1][-1] if groups else None
            if before is not None and part.when and before.when == part.when and not self._may_turn(before):
                groups[-1].append(part)
            else:
                groups.append([part])
        return groups

    def _may_turn(self, part: Part) -> bool:
        """Whether a part sets a value or an artifact that its own condition reads."""
        if isinstance(part, Loop):
            return True
        compared = list(comparisons(self._held[part.when]))
        read = {one.input.partition(".")[0] for one in compared} - {""}
        match part:
            case Choice():
                return any(read & option.sets.keys() for option in part.options)
            case Action():
                return part.save_as in read
            case Delegate():
                return part.collect in read
            case Step():
                return bool(part.contract) and any(one.artifact for one in compared)
            case never:
                assert_never(never)

    def _join(self, exits: Sequence[_Exit], target: str) -> None:
        self.edges += [
            GraphEdge(source=way.source, target=target, kind=way.kind, label=way.label) for way in exits
        ]

    def _guarded(self, group: Sequence[Part], exits: Sequence[_Exit], loop: str) -> _Drawn:
        """Add the parts, and the edge past them if they have a condition."""
        when = group[0].when
        if not when:
            return self._part(group[0], exits, loop)
        words = self.conditions[when]
        guard = GraphNode(id=f":if:{group[0].id}", kind="condition", title=words, loop=loop)
        self._guards[guard.id] = when
        self.leaf(guard, exits)
        items: list[Item] = []
        ways: tuple[_Exit, ...] = (_Exit(source=guard.id, kind="enter", label=f"if {words}"),)
        for part in group:
            drawn = self._part(part, ways, loop)
            items += drawn.items
            ways = drawn.exits
        past = _Exit(source=guard.id, kind="skip", label="otherwise")
        return _Drawn(items=(Nest(kind="guarded", head=guard, items=tuple(items)),), exits=(*ways, past))

    def steer(self) -> None:
        """Add an edge from each choice to the later conditions, or those in its loop, that one of its
        options decides.
        """
        loops = {node.id: node.loop for node in self.nodes}
        for before, choice, loop in self._choices:
            for number, (guard, when) in enumerate(self._guards.items()):
                held = self._held[when]
                read = {one.input.partition(".")[0] for one in comparisons(held)} - {""}
                deciding = [option for option in choice.options if read & option.sets.keys()]
                into = [one.id for one in deciding if not is_ruled_out(held, Facts(values=one.sets))]
                if into and (number >= before or (loop and loops[guard] == loop)):
                    steers = _Exit(source=choice.id, kind="steers", label=" | ".join(into))
                    self._join((steers,), guard)

    def _part(self, part: Part, exits: Sequence[_Exit], loop: str) -> _Drawn:
        match part:
            case Step():
                notes = self._step_notes(part)
                return self.leaf(_node(part.id, "step", part.title, notes, loop), exits)
            case Choice():
                self._choices.append((len(self._guards), part, loop))
                asked = (f"the user decides: {part.non_assumable}",) if part.non_assumable else ()
                notes = (*asked, *self._beside(part))
                drawn = self.leaf(_node(part.id, "choice", part.title, notes, loop), exits)
                options = " | ".join(option.id for option in part.options)
                return msgspec.structs.replace(
                    drawn, exits=(_Exit(source=part.id, kind="option", label=options),)
                )
            case Action():
                notes = (f"runs {part.operation}", *self._beside(part))
                return self.leaf(_node(part.id, "action", part.title, notes, loop), exits)
            case Delegate():
                return self._delegate(part, exits, loop)
            case Loop():
                return self._loop_or_none(part, exits, loop)
            case never:
                assert_never(never)

    def _delegate(self, part: Delegate, exits: Sequence[_Exit], loop: str) -> _Drawn:
        """Add the step, and each child between it and what follows."""
        needed = f"needs at least {part.at_least}" if part.at_least else "needs all"
        step = _node(part.id, "delegate", part.title, (needed, *self._beside(part)), loop)
        self.leaf(step, exits)
        children = []
        for child in part.children:
            node = _node(
                f":child:{part.id}:{child.id}", "child", child.id, (f"runs {child.workflow_id}",), loop
            )
            labels = [f"for each {part.item} of {part.for_each}"] if part.for_each else []
            labels += [f"if {self.conditions[child.when]}"] if child.when else []
            self.leaf(node, (_Exit(source=part.id, kind="hands_out", label=", ".join(labels)),))
            children.append(node)
        return _Drawn(
            items=(Nest(kind="handed_out", head=step, items=tuple(children)),),
            exits=tuple(_Exit(source=child.id) for child in children),
        )

    def _loop_or_none(self, part: Loop, exits: Sequence[_Exit], loop: str) -> _Drawn:
        """Add the loop, and the edge past it if it may run zero times."""
        match part.repeat:
            case While(condition=condition) if not isinstance(self._held[condition], LoopControl):
                words, otherwise = self.conditions[condition], "not even once"
            case ForEach(input=name):
                words, otherwise = f"{name} has items", "no item"
            case While() | Until() | Count():
                return self._loop(part, exits, loop)
            case never:
                assert_never(never)
        guard = GraphNode(id=f":any:{part.id}", kind="condition", title=words, loop=loop)
        self.leaf(guard, exits)
        drawn = self._loop(part, (_Exit(source=guard.id, kind="enter", label=f"if {words}"),), loop)
        past = _Exit(source=guard.id, kind="skip", label=otherwise)
        return _Drawn(
            items=(Nest(kind="guarded", head=guard, items=drawn.items),), exits=(*drawn.exits, past)
        )

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
            notes=self._beside(part),
            loop=loop,
        )
        self.loops.insert(place, box)  # an outer loop stands before the loops inside it
        self._join((_Exit(source=repeat.id, kind="again", label="again"),), box.first)
        return _Drawn(
            items=(Nest(kind="loop", head=box, items=(*body.items, *closed.items)),),
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

    def _beside(self, part: Part) -> tuple[str, ...]:
        """Return the slots beside a part, and its origin."""
        return (*self._slots.get(part.id, ()), *_origin(part.provenance))

    def _step_notes(self, step: Step) -> tuple[str, ...]:
        notes = [f"delivers {step.contract}"] if step.contract else []
        notes += [f"check {step.check}"] if step.check else []
        if step.require_confirmation is True:
            whom = f" by {CONFIRMERS[step.confirmed_by]}" if step.confirmed_by else ""
            notes.append(f"waits for confirmation{whom}")
        elif step.require_confirmation:
            notes.append(f"waits for confirmation if {self.conditions[step.require_confirmation]}")
        if step.user_only is not None:
            notes.append(f"user only: {step.user_only.reason}")
        notes += [f"assessment {gate.assessment_id}" for gate in step.gates]
        return (*notes, *self._beside(step))


def _node(node_id: str, kind: NodeKind, title: str, notes: tuple[str, ...], loop: str) -> GraphNode:
    return GraphNode(id=node_id, kind=kind, title=title, notes=notes, loop=loop)


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _origin(provenance: Provenance) -> tuple[str, ...]:
    if provenance.kind == "authored":
        return ()
    return (f"from {provenance.kind} {provenance.origin}".rstrip(),)


# The graph as data, for programs that draw it themselves


def graph_document(graph: WorkflowGraph) -> dict[str, Any]:
    """Return nodes, edges and loops by id."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(graph))
    del document["outline"]
    return document
