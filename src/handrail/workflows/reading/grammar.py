"""The workflow language as tables: every key, its shape and what it is for. Pure.

The reader checks files against these tables, and the JSON Schema for editors is generated from them.
"""

from __future__ import annotations

from typing import get_args

from handrail.contract.ids import Autonomy, RiskPolicy
from handrail.workflows.compiled import InputType
from handrail.workflows.limits import (
    MAX_CONDITIONS,
    MAX_INPUTS,
    MAX_LIST_ITEMS,
    MAX_NOTES_CHARACTERS,
    MAX_PATTERN_CHARACTERS,
    MAX_SOURCE_BYTES,
    MAX_TEXT_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    MAX_VERSION_CHARACTERS,
    MAX_WORKFLOW_ID_CHARACTERS,
)
from handrail.workflows.reading.overlay_grammar import OVERLAY_SHAPES
from handrail.workflows.reading.part_grammar import CONDITION_SHAPES, PART_SHAPES, PARTS
from handrail.workflows.reading.shapes import (
    DESCRIPTION,
    FREE_OBJECT,
    ID,
    NAME,
    ONE_TEXT,
    PATH,
    PROSE,
    PROSE_LIST,
    REMARK,
    TITLE,
    WORKFLOW_ID,
    Anything,
    ByType,
    Flag,
    Items,
    Key,
    Members,
    Named,
    Record,
    Shape,
    Tagged,
    Text,
    Whole,
    Word,
    optional_key,
    required_key,
)

# Rules for notes

_LENGTH = Whole(least=0, most=MAX_NOTES_CHARACTERS)
_MESSAGE = optional_key(
    REMARK, "What the agent reads when the rule is not met; a plain sentence unless written."
)


def _type(name: str) -> Key:
    return required_key(Word(values=(name,)), "What kind of rule this is.")


_RULES = Items(of=Named(name="rule"), least=1, most=MAX_LIST_ITEMS)
RULE_SHAPES: dict[str, Shape] = {
    "rule": Tagged(
        says="What the notes of a step must meet.",
        tag="type",
        records={
            "contains": "contains_rule",
            "regex": "regex_rule",
            "length": "length_rule",
            "schema": "schema_rule",
            "all": "all_rule",
            "any": "any_rule",
        },
    ),
    "contains_rule": Record(
        says="The notes hold this text, whatever its case.",
        keys={
            "type": _type("contains"),
            "value": required_key(ONE_TEXT, "The text."),
            "message": _MESSAGE,
        },
    ),
    "regex_rule": Record(
        says="The notes match this pattern somewhere.",
        keys={
            "type": _type("regex"),
            "pattern": required_key(
                Text(most=MAX_PATTERN_CHARACTERS), "A regular expression; no repetition inside a repetition."
            ),
            "flags": optional_key(
                Text(
                    most=3,
                    may_be_blank=True,
                    pattern=r"(?!.*(.).*\1)[ims]*",
                    wanted="Use i (any case), m (lines) and s (dot matches line ends), each once.",
                    trouble="bad_value",
                ),
                "i: any case, m: lines, s: dot matches line ends.",
            ),
            "message": _MESSAGE,
        },
    ),
    "length_rule": Record(
        says="The notes have this many characters.",
        any_of=("minimum", "maximum"),
        keys={
            "type": _type("length"),
            "minimum": optional_key(_LENGTH, "At least this many."),
            "maximum": optional_key(_LENGTH, "At most this many."),
            "message": _MESSAGE,
        },
    ),
    "schema_rule": Record(
        says="The notes are a JSON document of this schema.",
        keys={
            "type": _type("schema"),
            "schema": required_key(FREE_OBJECT, "A JSON Schema (2020-12)."),
            "message": _MESSAGE,
        },
    ),
    "all_rule": Record(
        says="Every one of these rules is met.",
        keys={"type": _type("all"), "of": required_key(_RULES, "The rules.")},
    ),
    "any_rule": Record(
        says="One of these rules is met.",
        keys={"type": _type("any"), "of": required_key(_RULES, "The rules.")},
    ),
}


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
            "$schema": optional_key(
                Text(most=MAX_TITLE_CHARACTERS), "The schema for editors; without meaning here."
            ),
            "id": required_key(WORKFLOW_ID, "namespace.name with exactly one dot."),
            "kind": optional_key(
                Word(values=("workflow", "routine")),
                "A routine is called by workflows; workflow unless written.",
            ),
            "name": required_key(TITLE, "What people see."),
            "description": required_key(DESCRIPTION, "What it is for; an agent chooses by it."),
            "version": optional_key(
                Text(most=MAX_VERSION_CHARACTERS), "The author's version; 1.0.0 unless written."
            ),
            "agentRole": optional_key(REMARK, "The stance for every step."),
            "guidance": optional_key(PROSE_LIST, "Rules shown with every step."),
            "preconditions": optional_key(PROSE_LIST, "What must be true before the first step."),
            "questions": optional_key(PROSE_LIST, "What to ask the user before the first step."),
            "inputs": optional_key(
                Members(of=Named(name="input"), name=NAME, most=MAX_INPUTS),
                "Context values the steps rely on.",
            ),
            "recommended": optional_key(
                Named(name="recommended"), "The most automation that is considered safe."
            ),
            "capabilities": optional_key(
                Named(name="capabilities"), "What the agent's environment must offer."
            ),
            "features": optional_key(
                Items(of=ByType(shapes=(_FEATURE_ID, Named(name="feature"))), most=MAX_LIST_ITEMS),
                "Builtin guidance to add.",
            ),
            "references": optional_key(
                Items(of=Named(name="reference"), most=MAX_LIST_ITEMS), "Documents the steps rely on."
            ),
            "functions": optional_key(
                Members(of=PROSE, name=NAME, most=MAX_LIST_ITEMS),
                "Texts written once and shown where a step names them.",
            ),
            "conditions": optional_key(
                Items(of=Named(name="declared_condition"), most=MAX_CONDITIONS),
                "Conditions that steps and loops name by id.",
            ),
            "assessments": optional_key(
                Items(of=Named(name="assessment"), most=MAX_LIST_ITEMS), "Assessments that steps report."
            ),
            "steps": required_key(PARTS, "The parts of the workflow, in order."),
            "about": optional_key(
                Text(most=MAX_TEXT_CHARACTERS, may_be_blank=True), "A longer text for people."
            ),
            "examples": optional_key(PROSE_LIST, "Requests this workflow is made for."),
            "tags": optional_key(Items(of=TITLE, most=MAX_LIST_ITEMS), "Words to find it by."),
            "extra": optional_key(_KEPT, "Facts for other tools; kept, without meaning here."),
        },
    ),
    "input": Record(
        says="A context value: its type, what it may be, and whether it must be given at the start.",
        keys={
            "type": optional_key(Word(values=INPUT_TYPES), "Its JSON type; any unless written."),
            "enum": optional_key(
                Items(of=Anything(), least=1, most=MAX_LIST_ITEMS), "The values it may have."
            ),
            "default": optional_key(Anything(), "Its value when none is given."),
            "required": optional_key(Flag(), "Whether a run cannot start without it."),
            "description": optional_key(REMARK, "What it means; shown when it is missing."),
            "implicit": optional_key(Flag(), "Used by a condition or a prompt, but not asked for."),
            "countedBy": optional_key(
                PATH, "Of a list: another value; the list is the numbers from 1 up to it."
            ),
            "fromGoal": optional_key(Flag(), "Whether the goal of a run is its value when none is given."),
        },
    ),
    "recommended": Record(
        says="The most automation that the author considers safe.",
        keys={
            "autonomy": optional_key(
                Word(values=get_args(Autonomy)), "How far an agent may go without the user."
            ),
            "riskPolicy": optional_key(
                Word(values=get_args(RiskPolicy)), "How much risk its choices may carry."
            ),
        },
    ),
    "capabilities": Record(
        says="What the agent's environment must offer.",
        keys={
            "delegation": optional_key(_CAPABILITY_USE, "Handing work to other agents."),
            "web_browsing": optional_key(_CAPABILITY_USE, "Reading the web."),
        },
    ),
    "feature": Record(
        says="Builtin guidance with its settings.",
        keys={
            "id": required_key(_FEATURE_ID, "The feature, such as wr.features.mode_guidance."),
            "config": optional_key(FREE_OBJECT, "The feature's settings."),
        },
    ),
    "reference": Record(
        says="A document the steps rely on.",
        keys={
            "id": required_key(ID, "What steps call it."),
            "title": required_key(TITLE, "What people see."),
            "source": required_key(
                DESCRIPTION, "Where it is: a path, relative to resolveFrom, or an address."
            ),
            "purpose": optional_key(REMARK, "What it is needed for."),
            "authoritative": optional_key(Flag(), "Whether it wins over everything else the agent reads."),
            "resolveFrom": optional_key(
                Word(values=("workspace", "package")), "Where a path begins; workspace unless written."
            ),
        },
    ),
    "assessment": Record(
        says="Something to judge in several dimensions, each with its levels.",
        keys={
            "id": required_key(ID, "What steps call it."),
            "purpose": required_key(DESCRIPTION, "What is judged, and why."),
            "dimensions": required_key(
                Members(of=Items(of=TITLE, least=1, most=MAX_LIST_ITEMS), name=TITLE, most=MAX_LIST_ITEMS),
                "Dimension to its levels.",
            ),
        },
    ),
}

SHAPES: dict[str, Shape] = {
    **_WORKFLOW_SHAPES,
    **CONDITION_SHAPES,
    **PART_SHAPES,
    **RULE_SHAPES,
    **OVERLAY_SHAPES,
}
"""Every shape with a name, the root first."""
