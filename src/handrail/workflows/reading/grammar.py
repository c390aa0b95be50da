"""The workflow language as tables: every key, its shape and what it is for. Pure.

The reader checks files against these tables, and the JSON Schema for editors is generated from them.
"""

from __future__ import annotations

from typing import get_args

from handrail.contract.vocabulary import Autonomy, RiskPolicy
from handrail.workflows.compiled import InputType
from handrail.workflows.limits import (
    MAX_CONDITIONS,
    MAX_INPUTS,
    MAX_LIST_ITEMS,
    MAX_SOURCE_BYTES,
    MAX_TEXT_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    MAX_VERSION_CHARACTERS,
    MAX_WORKFLOW_ID_CHARACTERS,
)
from handrail.workflows.reading.condition_grammar import CONDITION_SHAPES
from handrail.workflows.reading.part_grammar import PART_SHAPES, PARTS
from handrail.workflows.reading.rule_grammar import RULE_SHAPES
from handrail.workflows.reading.shapes import (
    Anything,
    ByType,
    Flag,
    Items,
    Members,
    Named,
    Record,
    Shape,
    Text,
    Word,
)
from handrail.workflows.reading.words import (
    DESCRIPTION,
    FREE_OBJECT,
    ID,
    NAME,
    PATH,
    PROSE,
    PROSE_LIST,
    REMARK,
    TITLE,
    WORKFLOW_ID,
    key,
    needed,
)

ROOT = "workflow"
INPUT_TYPES: tuple[str, ...] = get_args(InputType)

_ANY_NAME = Text(most=MAX_SOURCE_BYTES, may_be_blank=True)
_KEPT = Members(of=Anything(is_hashed=False), name=_ANY_NAME, most=MAX_SOURCE_BYTES)
_CAPABILITY_USE = Word(values=("required", "preferred", "disabled"))
_FEATURE_ID = Text(most=MAX_WORKFLOW_ID_CHARACTERS, names="features")

_WORKFLOW_SHAPES: dict[str, Shape] = {
    ROOT: Record(
        says="A workflow: steps that an agent gets one at a time.",
        keys={
            "$schema": key(Text(most=MAX_TITLE_CHARACTERS), "The schema for editors; without meaning here."),
            "id": needed(WORKFLOW_ID, "namespace.name with exactly one dot."),
            "kind": key(
                Word(values=("workflow", "routine")),
                "A routine is called by workflows; workflow unless written.",
            ),
            "name": needed(TITLE, "What people see."),
            "description": needed(DESCRIPTION, "What it is for; an agent chooses by it."),
            "version": key(Text(most=MAX_VERSION_CHARACTERS), "The author's version; 1.0.0 unless written."),
            "agentRole": key(REMARK, "The stance for every step."),
            "guidance": key(PROSE_LIST, "Rules shown with every step."),
            "preconditions": key(PROSE_LIST, "What must be true before the first step."),
            "questions": key(PROSE_LIST, "What to ask the user before the first step."),
            "inputs": key(
                Members(of=Named(name="input"), name=NAME, most=MAX_INPUTS),
                "Context values the steps rely on.",
            ),
            "recommended": key(Named(name="recommended"), "The most automation that is considered safe."),
            "capabilities": key(Named(name="capabilities"), "What the agent's environment must offer."),
            "features": key(
                Items(of=ByType(shapes=(_FEATURE_ID, Named(name="feature"))), most=MAX_LIST_ITEMS),
                "Builtin guidance to add.",
            ),
            "references": key(
                Items(of=Named(name="reference"), most=MAX_LIST_ITEMS), "Documents the steps rely on."
            ),
            "functions": key(
                Members(of=PROSE, name=NAME, most=MAX_LIST_ITEMS),
                "Texts written once and shown where a step names them.",
            ),
            "conditions": key(
                Items(of=Named(name="declared_condition"), most=MAX_CONDITIONS),
                "Conditions that steps and loops name by id.",
            ),
            "assessments": key(
                Items(of=Named(name="assessment"), most=MAX_LIST_ITEMS), "Assessments that steps report."
            ),
            "steps": needed(PARTS, "The parts of the workflow, in order."),
            "about": key(Text(most=MAX_TEXT_CHARACTERS, may_be_blank=True), "A longer text for people."),
            "examples": key(PROSE_LIST, "Requests this workflow is made for."),
            "tags": key(Items(of=TITLE, most=MAX_LIST_ITEMS), "Words to find it by."),
            "extra": key(_KEPT, "Facts for other tools; kept, without meaning here."),
        },
    ),
    "input": Record(
        says="A context value: its type, what it may be, and whether it must be given at the start.",
        keys={
            "type": key(Word(values=INPUT_TYPES), "Its JSON type; any unless written."),
            "enum": key(Items(of=Anything(), least=1, most=MAX_LIST_ITEMS), "The values it may have."),
            "default": key(Anything(), "Its value when none is given."),
            "required": key(Flag(), "Whether a run cannot start without it."),
            "description": key(REMARK, "What it means; shown when it is missing."),
            "implicit": key(Flag(), "Used by a condition or a prompt, but not asked for."),
            "countedBy": key(PATH, "Of a list: another value; the list is the numbers from 1 up to it."),
        },
    ),
    "recommended": Record(
        says="The most automation that the author considers safe.",
        keys={
            "autonomy": key(Word(values=get_args(Autonomy)), "How far an agent may go without the user."),
            "riskPolicy": key(Word(values=get_args(RiskPolicy)), "How much risk its choices may carry."),
        },
    ),
    "capabilities": Record(
        says="What the agent's environment must offer.",
        keys={
            "delegation": key(_CAPABILITY_USE, "Handing work to other agents."),
            "web_browsing": key(_CAPABILITY_USE, "Reading the web."),
        },
    ),
    "feature": Record(
        says="Builtin guidance with its settings.",
        keys={
            "id": needed(_FEATURE_ID, "The feature, such as wr.features.mode_guidance."),
            "config": key(FREE_OBJECT, "The feature's settings."),
        },
    ),
    "reference": Record(
        says="A document the steps rely on.",
        keys={
            "id": needed(ID, "What steps call it."),
            "title": needed(TITLE, "What people see."),
            "source": needed(DESCRIPTION, "Where it is: a path, relative to resolveFrom, or an address."),
            "purpose": key(REMARK, "What it is needed for."),
            "authoritative": key(Flag(), "Whether it wins over everything else the agent reads."),
            "resolveFrom": key(
                Word(values=("workspace", "package")), "Where a path begins; workspace unless written."
            ),
        },
    ),
    "assessment": Record(
        says="Something to judge in several dimensions, each with its levels.",
        keys={
            "id": needed(ID, "What steps call it."),
            "purpose": needed(DESCRIPTION, "What is judged, and why."),
            "dimensions": needed(
                Members(of=Items(of=TITLE, least=1, most=MAX_LIST_ITEMS), name=TITLE, most=MAX_LIST_ITEMS),
                "Dimension to its levels.",
            ),
        },
    ),
}

SHAPES: dict[str, Shape] = {**_WORKFLOW_SHAPES, **CONDITION_SHAPES, **PART_SHAPES, **RULE_SHAPES}
"""Every shape with a name, the root first."""
