"""Take a function or class out of the function around it, into another module. Pure."""

from __future__ import annotations

import re

from handrail_code.edit.moving.cycles import refuse_cycles
from handrail_code.edit.moving.extent import Extent, Part
from handrail_code.edit.moving.meanings import verify_shift
from handrail_code.edit.moving.named_modules import refuse_paths
from handrail_code.edit.moving.needs import bring_needs, drop_needless, rebase_inner
from handrail_code.edit.moving.placing import place_spelled, splice
from handrail_code.edit.moving.shift import Shift, refuse_target
from handrail_code.edit.plan import Plan, Refusal, read_whole
from handrail_code.facts.join import Project, Symbol
from handrail_code.facts.model import NONE, FileFacts, Use
from handrail_code.facts.slots import Local
from handrail_code.languages.javascript.layout import Inner, read_inner

DECLARING = ("declaration", "pattern")


def lift_nested(project: Project, symbol: Symbol, target: str, is_exporting: bool) -> Plan:
    slot = symbol.slot
    assert isinstance(slot, Local), "what is nested is local"
    facts, text = read_whole(project, slot.path)
    uses = [facts.uses[at] for at in facts.bindings[slot.binding].uses]
    inner = _read_only_declaration(slot, uses, text)
    _refuse_inner(slot, facts, inner)
    extent = Extent(
        path=slot.path,
        binding=slot.binding,
        name=symbol.name,
        parts=(Part(statement=NONE, start=inner.lead, end=inner.tail),),
        is_type=False,
        exports=(),
    )
    system = refuse_target(project, extent, target)
    shift = Shift(project, extent, target, system)
    refuse_paths(shift)
    bring_needs(shift, is_exporting)
    return _finish(shift, inner, text)


def _finish(shift: Shift, inner: Inner, text: bytes) -> Plan:
    home = shift.sheet(shift.home)
    changes = list(rebase_inner(shift))
    if shift.system == "es":
        changes.append((inner.start, inner.start, "export "))
    place_spelled(shift, _dedent(inner, text, changes))
    drop_needless(shift)
    home.cut(inner.lead, inner.tail)
    shift.want(shift.home, shift.extent.name, shift.extent.name)
    plan = Plan(edits=tuple(shift.edits()))
    refuse_cycles(shift, plan, verify_shift(shift, plan))
    return plan


def _read_only_declaration(slot: Local, uses: list[Use], text: bytes) -> Inner:
    declared = [use for use in uses if use.role in DECLARING]
    inner = read_inner(slot.path, text, declared[0].start) if len(declared) == 1 else None
    if inner is None:
        place = declared[0] if declared else uses[0]
        raise Refusal(
            "nested", f"{place.name} is not declared by one statement of its own.", slot.path, place
        )
    written = next((use for use in uses if use.role == "write"), None)
    if written is not None:
        raise Refusal(
            "assigned", f"{written.name} is assigned here, and an import cannot be.", slot.path, written
        )
    return inner


def _refuse_inner(slot: Local, facts: FileFacts, inner: Inner) -> None:
    if inner.local:
        span = inner.local[0]
        raise Refusal(
            "place_dependent", "This means something else outside of the function around it.", slot.path, span
        )
    lost: dict[str, Use] = {}
    for use in facts.uses:
        if (
            not inner.start <= use.start < inner.end
            or use.binding in (NONE, slot.binding)
            or use.role == "doc"
        ):
            continue
        scope = facts.scopes[facts.bindings[use.binding].scope]
        is_inside = inner.start <= scope.start and scope.end <= inner.end
        if facts.bindings[use.binding].scope != 0 and not is_inside:
            lost.setdefault(use.name, use)
    if lost:
        first = min(lost.values(), key=lambda use: use.start)
        raise Refusal(
            "closed_over",
            f"It closes over {', '.join(sorted(lost))}; make parameters of them first.",
            slot.path,
            first,
        )
    for binding in facts.bindings:
        if binding.scope == 0 and binding.name == facts.bindings[slot.binding].name and binding.uses:
            use = facts.uses[binding.uses[0]]
            raise Refusal("collision", f"The module has another {use.name}.", slot.path, use)


def _dedent(inner: Inner, text: bytes, changes: list[tuple[int, int, str]]) -> str:
    """Without the indentation that it had; lines inside of template strings keep theirs."""
    line = text.rfind(b"\n", 0, inner.lead) + 1
    indent = text[line : inner.lead]
    if indent and not indent.strip():
        for found in re.finditer(rb"\n" + re.escape(indent), text[inner.lead : inner.tail]):
            start = inner.lead + found.start() + 1
            if not any(span.start < start < span.end for span in inner.templates):
                changes.append((start, start + len(indent), ""))
    return splice(text, inner.lead, inner.tail, changes)
