"""What the next call must bring, as a frame to fill in: names that are known, a mark where work goes. Pure.

A frame never holds an example value: copied as it is, that would be recorded as work. A mark that comes
back unfilled, of a frame or of a printed example, is refused by its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from handrail.contract.vocabulary import Autonomy
from handrail.engine.asking import Ask
from handrail.engine.events import Blocked
from handrail.engine.gates import ANY_LEVEL, ANY_RATIONALE
from handrail.engine.reasons import Blocker, CapabilityPointer, ContextKey, OutputContract, WorkflowStep
from handrail.engine.reported import (
    ASSESSMENT,
    CAPABILITY_OBSERVATION,
    LOOP_CONTROL,
    USER_INPUT,
)
from handrail.workflows.compiled import Action, Choice, CompiledWorkflow, Contract, Gate, Leaf, Step
from handrail.workflows.prompt_sections import USER_SAID
from handrail.workflows.schema_refs import resolved

TO_FILL_IN = "…"
"""Stands for a value that the agent has to write."""
MARKS = frozenset({TO_FILL_IN, USER_SAID, ANY_LEVEL, ANY_RATIONALE})
"""Whatever stands in our own frames and examples for words that only the agent or the user can give."""
DEEPEST = 6
INNER_BYTES = 100
"""That the members of members take in a frame, about 40 tokens; a mark stands for those beyond."""
_BESIDE_A_NAME = 7
_INNER_LEVELS = 3


def frame_of(
    workflow: CompiledWorkflow, leaf: Leaf, loop_id: str, asks: Sequence[Ask], autonomy: Autonomy
) -> dict[str, Any]:
    """What a report on a pending step brings, beside its token."""
    frame: dict[str, Any] = {}
    context = {ask.name: TO_FILL_IN for ask in asks}
    match leaf:
        case Step():
            output: dict[str, Any] = {} if leaf.notes_optional else {"notesMarkdown": TO_FILL_IN}
            artifacts = list(_artifacts(workflow, leaf, loop_id, autonomy))
            if artifacts:
                output["artifacts"] = artifacts
            if output:
                frame["output"] = output
            needed = leaf.user_only
            if needed is not None and needed.input and autonomy != "full_auto_never_stop":
                context[needed.input] = TO_FILL_IN
        case Action(save_as=name):
            context |= {name: TO_FILL_IN} if name else {}
        case Choice(non_assumable=kind):
            if (
                kind is not None and autonomy == "full_auto_never_stop"
            ):  # the choice is disclosed with its reason
                frame["output"] = {"notesMarkdown": TO_FILL_IN}
        case never:
            assert_never(never)
    return frame | ({"context": context} if context else {})


def frame_to_retry(
    contracts: Mapping[str, Contract], frame: dict[str, Any], blocked: Blocked
) -> dict[str, Any]:
    """Of the frame of a step, what a retry must bring: the rest was kept.

    Whatever stands in the way is in it, so that the call is enough once it is filled in.
    """
    pointers = [blocker.pointer for blocker in blocked.every_blocker]
    refs = {pointer.contract_ref for pointer in pointers if isinstance(pointer, OutputContract)}
    kinds = {contracts[ref].artifact_kind for ref in refs if ref in contracts}
    keys = {pointer.key for pointer in pointers if isinstance(pointer, ContextKey)}
    output = frame.get("output", {})
    wanted: dict[str, Any] = {}
    if any(map(_is_about_notes, blocked.every_blocker)):
        wanted["notesMarkdown"] = TO_FILL_IN
    asked_user = any(blocker.code == "USER_ONLY_DEPENDENCY" for blocker in blocked.every_blocker)
    artifacts = [
        held
        for held in output.get("artifacts", ())
        if held["kind"] in kinds or (asked_user and held["kind"] == USER_INPUT)
    ]
    if artifacts:
        wanted["artifacts"] = artifacts
    found = with_observations({"output": wanted} if wanted else {}, blocked.every_blocker)
    return found | ({"context": dict.fromkeys(sorted(keys), TO_FILL_IN)} if keys else {})


def with_observations(frame: dict[str, Any], blockers: Sequence[Blocker]) -> dict[str, Any]:
    """The frame of a step whose last attempt lacked a capability: what is seen of it now comes with it."""
    output = frame.get("output", {})
    artifacts = list(output.get("artifacts", ()))
    for blocker in blockers:
        if isinstance(blocker.pointer, CapabilityPointer):
            capability = blocker.pointer.capability
            artifacts = [held for held in artifacts if held.get("capability") != capability]
            artifacts.append(_observation(capability))
    return frame | {"output": output | {"artifacts": artifacts}} if artifacts else frame


def _observation(capability: str) -> dict[str, Any]:
    known = {"kind": CAPABILITY_OBSERVATION, "capability": capability}
    return known | {"status": TO_FILL_IN, "summary": TO_FILL_IN}


def unfilled(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The places of a report that still hold a mark, by their names, and the mark; frames are never deep."""
    if isinstance(value, str):
        if value.strip() in MARKS:
            yield name, value.strip()
    elif depth > DEEPEST:
        return
    elif isinstance(value, dict):
        for key, held in value.items():
            is_mark = key == TO_FILL_IN
            yield from [(name, key)] if is_mark else unfilled(held, f"{name}.{key}", depth + 1)
    elif isinstance(value, list | tuple):
        for place, held in enumerate(value):
            yield from unfilled(held, f"{name}[{place}]", depth + 1)


def _is_about_notes(blocker: Blocker) -> bool:
    return isinstance(blocker.pointer, WorkflowStep) and blocker.code.endswith("_REQUIRED_OUTPUT")


def _artifacts(
    workflow: CompiledWorkflow, step: Step, loop_id: str, autonomy: Autonomy
) -> Iterator[dict[str, Any]]:
    contract = workflow.contracts.get(step.contract)
    if contract is not None:
        yield _frame(contract, _known(contract.artifact_kind, step, loop_id))
    for gate in step.gates:
        yield _assessment(gate)
    needed = step.user_only
    if needed is not None and not needed.input and autonomy != "full_auto_never_stop":
        yield {"kind": USER_INPUT, "answer": TO_FILL_IN, "givenBy": "user"}


def _known(kind: str, step: Step, loop_id: str) -> dict[str, Any]:
    """Names that are no work: which loop a decision is about, which capability was tried."""
    if kind == LOOP_CONTROL and loop_id:
        return {"loopId": loop_id}
    if kind == CAPABILITY_OBSERVATION and step.capability:
        return {"capability": step.capability}
    return {}


def _frame(contract: Contract, known: dict[str, Any]) -> dict[str, Any]:
    schema = contract.schema
    properties = schema.get("properties", {})
    required = [name for name in schema.get("required", ()) if name != "kind" and name not in known]
    marks = _Marks(schema)
    return (
        {"kind": contract.artifact_kind}
        | known
        | {name: marks.of(properties.get(name, {}), contract.example.get(name), 0) for name in required}
    )


class _Marks:
    """Marks of the shape that belongs somewhere; a value that can only be one is that value.

    Members of an object are named, as far as there is room. Of the rows of a list they are named where the
    example beside the frame does not show them, as in a list that it leaves empty: else an agent would learn
    of them by failing.
    """

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._left = INNER_BYTES

    def of(self, schema: Any, shown: Any, level: int) -> Any:
        schema = resolved(schema, self._root)
        if not isinstance(schema, dict):
            return TO_FILL_IN
        if "const" in schema:
            return schema["const"]
        match schema.get("type"):
            case "array":
                items, row = schema.get("items"), _first(shown)
                if _shows_all(items, row, self._root, _INNER_LEVELS - level):
                    return [TO_FILL_IN]
                return [self._inner(items, row, level) or TO_FILL_IN]
            case "object":
                return self._inner(schema, shown, level) or {TO_FILL_IN: TO_FILL_IN}
            case _:
                return TO_FILL_IN

    def _inner(self, schema: Any, shown: Any, level: int) -> dict[str, Any] | None:
        """An object with its required names, as far as there is room; None where none is named."""
        schema = resolved(schema, self._root)
        names = list(schema.get("required", ())) if isinstance(schema, dict) else []
        fitting = [] if level >= _INNER_LEVELS else list(self._afforded(names))
        if not fitting:
            return None
        properties = schema.get("properties", {})
        held = shown if isinstance(shown, dict) else {}
        named = {name: self.of(properties.get(name, {}), held.get(name), level + 1) for name in fitting}
        return named if len(fitting) == len(names) else named | {TO_FILL_IN: TO_FILL_IN}

    def _afforded(self, names: list[str]) -> Iterator[str]:
        for name in names:
            cost = len(name.encode()) + _BESIDE_A_NAME
            if cost > self._left:
                return
            self._left -= cost
            yield name


def _first(shown: Any) -> Any:
    return shown[0] if isinstance(shown, list) and shown else None


def _shows_all(schema: Any, shown: Any, root: dict[str, Any], levels: int) -> bool:
    """Whether an example has every required member, of its members and rows too."""
    schema = resolved(schema, root)
    if not isinstance(schema, dict) or levels < 0:
        return True
    if schema.get("type") == "array" or "items" in schema:
        return _shows_all(schema.get("items"), _first(shown), root, levels)
    required = schema.get("required", ())
    held = shown if isinstance(shown, dict) else {}
    properties = schema.get("properties", {})
    return all(
        name in held and _shows_all(properties.get(name), held[name], root, levels - 1) for name in required
    )


def _assessment(gate: Gate) -> dict[str, Any]:
    dimensions = dict.fromkeys(sorted(gate.dimensions), TO_FILL_IN)
    return {"kind": ASSESSMENT, "assessmentId": gate.assessment_id, "dimensions": dimensions}
