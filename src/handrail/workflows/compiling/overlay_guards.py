"""Steps that no overlay takes away quietly: with proof, with a question to a person, or an action. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from handrail.workflows.compiled import (
    Action,
    Choice,
    CompiledBase,
    CompiledWorkflow,
    Delegate,
    Leaf,
    LeftOut,
    Loop,
    Part,
    Step,
)
from handrail.workflows.compiling.compilation import BaseCompilation
from handrail.workflows.compiling.trail import Trail
from handrail.workflows.limits import RESERVED_NAMESPACE
from handrail.workflows.model import Displaced, SourceOverlay


def describe_base(overlay: SourceOverlay, base: BaseCompilation, trail: Trail) -> CompiledBase:
    """The base as it is pinned, with the guarded steps that the overlay skips or rewrites.

    Of a bundled workflow none may be: that is reported.
    """
    workflow = base.pinned.workflow
    left_out: list[LeftOut] = []
    for displaced in overlay.displaced:
        for leaf in _leaves(workflow.steps):
            reason = _guard_of(leaf, workflow)
            if not reason or not _is_meant(displaced, leaf.id, base.pointers.get(leaf.id, "")):
                continue
            left_out.append(LeftOut(id=leaf.id, title=leaf.title, how=displaced.how))
            if workflow.id.startswith(RESERVED_NAMESPACE):
                message = f"{leaf.id} of {workflow.id} {reason}, so an overlay does not {displaced.how} it."
                fix = "Append or prepend a text instead, or copy the workflow under an id of your own."
                trail.report("bad_value", displaced.pointer, message, fix)
    return CompiledBase(id=workflow.id, hash=base.pinned.workflow_hash, left_out=tuple(left_out))


def _is_meant(displaced: Displaced, part_id: str, pointer: str) -> bool:
    """Whether a compiled step is the displaced part, stands in it, or was made from it."""
    place = displaced.base_pointer
    return part_id in displaced.ids or pointer == place or pointer.startswith(f"{place}/")


def _guard_of(leaf: Leaf, workflow: CompiledWorkflow) -> str:
    match leaf:
        case Step():
            if leaf.check or (leaf.contract and workflow.contracts[leaf.contract].evidence):
                return "has to be proven"
            return "asks a person" if leaf.require_confirmation or leaf.user_only else ""
        case Choice():
            return "asks a person" if leaf.non_assumable else ""
        case Action():
            return "is an action"
        case Delegate():
            return "hands out work"
        case never:
            assert_never(never)


def _leaves(parts: tuple[Part, ...]) -> Iterator[Leaf]:
    for part in parts:
        if isinstance(part, Loop):
            yield from _leaves(part.body)
        else:
            yield part
