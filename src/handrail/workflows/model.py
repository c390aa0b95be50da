"""The source model: what an author wrote, with a valid shape, before anything is expanded. Pure.

`pointer` on every part is its RFC 6901 place in the author's own file, so that a problem found
later, by the compiler or the linter, can still be shown at its line and column.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.workflows.compiled import (
    ChoiceKind,
    Count,
    ForEach,
    InputSpec,
    Option,
    ProofDemand,
    Recommended,
    Reference,
    Rule,
    SlotPlace,
    UserOnly,
)
from handrail.workflows.conditions import Condition
from handrail.workflows.evidence import Demand


class Authored(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Shared options of source parts; a field with the name of a key has the author's value."""


class ConditionRef(Authored, frozen=True, kw_only=True):
    """A condition by the id under `conditions`."""

    condition_id: str
    pointer: str


class InlineCondition(Authored, frozen=True, kw_only=True):
    """A condition written in place, as files of the other dialect do."""

    condition: Condition
    pointer: str


When: TypeAlias = ConditionRef | InlineCondition


class RefPart(Authored, frozen=True, kw_only=True):
    """`{kind: ref, refId: wr.refs.*}` inside a prompt block."""

    ref_id: str
    pointer: str


PromptPart: TypeAlias = str | RefPart


class PromptBlocks(Authored, frozen=True, kw_only=True):
    """A prompt in parts; rendered in this order."""

    goal: tuple[PromptPart, ...] = ()
    constraints: tuple[PromptPart, ...] = ()
    procedure: tuple[PromptPart, ...] = ()
    output_required: tuple[tuple[str, PromptPart], ...] = ()
    verify: tuple[PromptPart, ...] = ()


def value_named(required: str) -> str:
    """Return the context value for the name of something to deliver, such as `context.size`; empty if it is
    none.
    """
    head, _, path = required.partition(".")
    return path.partition(".")[0].strip() if head == "context" else ""


def map_blocks(blocks: PromptBlocks, change: Callable[[PromptPart], PromptPart]) -> PromptBlocks:
    """Return the blocks with each of their parts changed."""
    return PromptBlocks(
        goal=tuple(map(change, blocks.goal)),
        constraints=tuple(map(change, blocks.constraints)),
        procedure=tuple(map(change, blocks.procedure)),
        output_required=tuple((name, change(part)) for name, part in blocks.output_required),
        verify=tuple(map(change, blocks.verify)),
    )


class SourceFragment(Authored, frozen=True, kw_only=True):
    """Text that is added if its condition holds."""

    id: str = ""
    when: When | None = None
    text: str


class SourceGate(Authored, frozen=True, kw_only=True):
    """An assessment that a step must report."""

    assessment_id: str
    followups: dict[str, str] = {}
    """Levels, each with the guidance that it requires."""
    pointer: str


class SourceStep(Authored, frozen=True, kw_only=True):
    """A step that an agent does. Exactly one of `prompt` and `blocks` is set."""

    id: str
    title: str
    prompt: str = ""
    blocks: PromptBlocks | None = None
    fragments: tuple[SourceFragment, ...] = ()
    guidance: tuple[str, ...] = ()
    agent_role: str = ""
    require_confirmation: bool | When = False
    confirmed_by: str = ""
    """Who has to confirm; empty for any person."""
    when: When | None = None
    contract_ref: str = ""
    hints: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    gates: tuple[SourceGate, ...] = ()
    function_refs: tuple[str, ...] = ()
    user_only: UserOnly | None = None
    notes_optional: bool = False
    notes_required: bool = False
    """Whether notes are required, by this key or by a prompt block."""
    check: str = ""
    """A declared check of the project that must have passed."""
    requires: tuple[str, ...] = ()
    """Required outputs: `notes`, `context.NAME` or the kind of an artifact."""
    proof: ProofDemand | None = None
    pointer: str


class SourceChoice(Authored, frozen=True, kw_only=True):
    """A choice with named options."""

    id: str
    title: str
    prompt: str
    options: tuple[Option, ...]
    irreversible: bool = False
    """For each option whether it cannot be undone."""
    non_assumable: ChoiceKind | None = None
    when: When | None = None
    pointer: str


class SourceAction(Authored, frozen=True, kw_only=True):
    """An operation that a step of its own asks for."""

    id: str
    title: str
    operation: str
    params: dict[str, Any] = {}
    save_as: str = ""
    when: When | None = None
    pointer: str


class SourceChild(Authored, frozen=True, kw_only=True):
    """Delegated work: a workflow by its id, or steps that are written here."""

    id: str
    workflow: str = ""
    title: str = ""
    steps: tuple[SourcePart, ...] = ()
    inputs: dict[str, Any] = {}
    brief: str = ""
    when: When | None = None
    pointer: str


class SourceDelegate(Authored, frozen=True, kw_only=True):
    """A step that delegates work and waits for it."""

    id: str
    title: str
    children: tuple[SourceChild, ...]
    """The children; with `for_each` exactly one, which is delegated once for each item."""
    for_each: str = ""
    item: str = ""
    at_least: int = 0
    """How many must be done; 0 for all."""
    collect: str = ""
    non_assumable: ChoiceKind | None = None
    when: When | None = None
    pointer: str


class SourceTemplateCall(Authored, frozen=True, kw_only=True):
    """A call of a builtin template. `id` and `title` may be empty."""

    id: str = ""
    title: str = ""
    template_id: str
    args: dict[str, Any] = {}
    require_confirmation: bool | When = False
    when: When | None = None
    pointer: str


class RepeatWhile(Authored, frozen=True, kw_only=True):
    condition: When


class RepeatUntil(Authored, frozen=True, kw_only=True):
    condition: When


SourceRepeat: TypeAlias = RepeatWhile | RepeatUntil | ForEach | Count


class SourceLoop(Authored, frozen=True, kw_only=True):
    """A loop. Artifacts name it by `loop_id`; files of other tools may have a step id in addition."""

    loop_id: str
    title: str = ""
    repeat: SourceRepeat
    max_iterations: int
    body: tuple[SourcePart, ...]
    when: When | None = None
    pointer: str


SourcePart: TypeAlias = (
    SourceStep | SourceChoice | SourceAction | SourceDelegate | SourceTemplateCall | SourceLoop
)


def walk_source(parts: Iterable[SourcePart]) -> Iterator[SourcePart]:
    """Yield every part in the order of the file, a loop before its body."""
    for part in parts:
        yield part
        if isinstance(part, SourceLoop):
            yield from walk_source(part.body)


def names_set_by(parts: Iterable[SourcePart]) -> Iterator[str]:
    """Yield the values that only parts inside set: loops, choices, actions and children; some names are
    empty.
    """
    for part in walk_source(parts):
        match part:
            case SourceChoice(options=options):
                yield from (name for option in options for name in option.sets)
            case SourceAction(save_as=name) | SourceDelegate(collect=name):
                yield name
            case SourceLoop(repeat=ForEach(item=item, index=index)):
                yield from (item, index)
            case SourceLoop(repeat=Count(index=index)):
                yield index
            case _:
                pass


class SourceFeature(Authored, frozen=True, kw_only=True):
    id: str
    config: dict[str, Any] = {}
    pointer: str


class SourceSlot(Authored, frozen=True, kw_only=True):
    """A place where a customisation may add parts."""

    place: SlotPlace
    when: When | None = None


class SourceAssessment(Authored, frozen=True, kw_only=True):
    """A declared assessment: dimensions with their levels."""

    id: str
    purpose: str
    dimensions: dict[str, tuple[str, ...]]
    pointer: str


class Displaced(Authored, frozen=True, kw_only=True):
    """A part of the base that a customisation skips or gives another text."""

    how: Literal["skip", "replace"]
    ids: tuple[str, ...]
    """Its id, and those of all parts inside it."""
    base_pointer: str
    pointer: str


class TightenedContract(Authored, frozen=True, kw_only=True):
    """Additional requirements that a customisation adds to a contract."""

    required: tuple[str, ...] = ()
    evidence: tuple[dict[str, Any], ...] = ()
    demand: Demand | None = None
    pointer: str


class SourceOverlay(Authored, frozen=True, kw_only=True):
    """The origin of each part in a workflow that extends another."""

    base_id: str
    own_parts: frozenset[str] = frozenset()
    """Ids of parts that the customisation added or changed; all others are the base's."""
    displaced: tuple[Displaced, ...] = ()
    contracts: dict[str, TightenedContract] = {}


class SourceWorkflow(Authored, frozen=True, kw_only=True):
    """A whole authored workflow."""

    id: str
    kind: Literal["workflow", "routine"]
    name: str
    description: str
    version: str
    agent_role: str = ""
    guidance: tuple[str, ...] = ()
    """Workflow-wide rules, shown with every step (metaGuidance elsewhere)."""
    preconditions: tuple[str, ...] = ()
    """Preconditions, shown with the first step, as are the questions."""
    questions: tuple[str, ...] = ()
    inputs: dict[str, InputSpec] = {}
    recommended: Recommended = Recommended()
    capabilities: dict[str, Literal["required", "preferred", "disabled"]] = {}
    features: tuple[SourceFeature, ...] = ()
    references: tuple[Reference, ...] = ()
    functions: dict[str, str] = {}
    conditions: dict[str, Condition] = {}
    assessments: tuple[SourceAssessment, ...] = ()
    steps: tuple[SourcePart, ...]
    slots: tuple[SourceSlot, ...] = ()
    about: str = ""
    examples: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    extra: dict[str, Any] = {}
    """Keys of the other dialect without a meaning here: kept and reported, never fatal, not in the hash."""
    overlay: SourceOverlay | None = None
    has_open_names: bool = False
    """Whether it may name things that exist only in its original collection, as a translated file
    does.

    Then an unknown id is a warning and gets a stand-in, a run asks for undeclared values, arguments
    may have single braces, and no edit of this document applies to the author's file.
    """
