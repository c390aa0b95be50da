"""The workflow language as tables: every key, its shape and what it is for. Pure.

The reader checks files against these tables, and the JSON Schema for editors is generated from them.
"""

from __future__ import annotations

from typing import get_args

from handrail.contract.ids import Autonomy, RiskPolicy
from handrail.workflows.compiled import InputType
from handrail.workflows.evidence import Demand
from handrail.workflows.limits import (
    MAX_CONDITIONS,
    MAX_ID_CHARACTERS,
    MAX_INPUTS,
    MAX_LIST_ITEMS,
    MAX_NOTES_CHARACTERS,
    MAX_PARTS,
    MAX_PATTERN_CHARACTERS,
    MAX_SOURCE_BYTES,
    MAX_TEXT_CHARACTERS,
    MAX_TITLE_CHARACTERS,
    MAX_VERSION_CHARACTERS,
    MAX_WORKFLOW_ID_CHARACTERS,
)
from handrail.workflows.reading.part_grammar import BLOCK, CONDITION_SHAPES, PART_SHAPES, PARTS, PROMPT_PART
from handrail.workflows.reading.shapes import (
    DESCRIPTION,
    FREE_OBJECT,
    ID,
    NAME,
    ONE_TEXT,
    PATH,
    PROMPT,
    PROSE,
    PROSE_LIST,
    REMARK,
    TITLE,
    WORKFLOW_ID,
    Anything,
    ByType,
    Flag,
    Items,
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
    tag_key,
)

# Customisations: closed changes to a workflow that another file holds

OVERLAY = "customisation"
BLOCK_KEYS = ("goal", "constraints", "procedure", "verify")
"""Blocks of a prompt that a text can be added to."""

STEP_NAME = Text(
    most=3 * MAX_ID_CHARACTERS,
    pattern="[a-z0-9_-]+(/[a-z0-9_-]+)?",
    wanted="Write the id of a step of the base, in a loop as loop/step.",
)
_CONTRACT_NAME = Text(most=MAX_WORKFLOW_ID_CHARACTERS)
_ADDED = ByType(shapes=(PROMPT, Named(name="added_text")))

_FEATURE_ID = Text(most=MAX_WORKFLOW_ID_CHARACTERS, names="features")
_OF_BOTH = {
    "$schema": optional_key(Text(most=MAX_TITLE_CHARACTERS), "The schema for editors; without meaning here."),
    "recommended": optional_key(Named(name="recommended"), "The most automation that is considered safe."),
    "features": optional_key(
        Items(of=ByType(shapes=(_FEATURE_ID, Named(name="feature"))), most=MAX_LIST_ITEMS),
        "Builtin guidance to add.",
    ),
}
"""Keys that a workflow and a customisation share."""

OVERLAY_SHAPES: dict[str, Shape] = {
    OVERLAY: Record(
        description="A customisation: changes to a workflow of another file, compiled together with it.",
        keys={
            "$schema": _OF_BOTH["$schema"],
            "extends": required_key(WORKFLOW_ID, "The workflow that is changed; it extends no other."),
            "id": required_key(WORKFLOW_ID, "namespace.name with exactly one dot."),
            "name": optional_key(TITLE, "What people see; that of the base unless written."),
            "description": optional_key(DESCRIPTION, "What it is for; that of the base unless written."),
            "version": optional_key(
                Text(most=MAX_VERSION_CHARACTERS), "The author's version; that of the base unless written."
            ),
            "inputs": optional_key(
                Members(of=Named(name="input_default"), name=NAME, most=MAX_INPUTS),
                "Inputs of the base, each with a default.",
            ),
            "recommended": _OF_BOTH["recommended"],
            "features": _OF_BOTH["features"],
            "contracts": optional_key(
                Members(of=Named(name="tightened_contract"), name=_CONTRACT_NAME, most=MAX_LIST_ITEMS),
                "Contracts of the base to tighten; none can be loosened.",
            ),
            "steps": optional_key(
                Members(of=Named(name="step_change"), name=STEP_NAME, most=MAX_PARTS),
                "Steps of the base by id, in a loop as loop/step, each with what changes.",
            ),
            "fill": optional_key(
                Members(of=PARTS, name=ID, most=MAX_LIST_ITEMS), "Slots of the base, each with its parts."
            ),
            "add": optional_key(
                Items(of=Named(name="added_part"), most=MAX_PARTS), "Parts beside steps of the base."
            ),
        },
    ),
    "input_default": Record(
        description="What an input of the base is when none is given.",
        keys={"default": required_key(Anything(), "The value.")},
    ),
    "step_change": Record(
        description="What changes in one step of the base.",
        any_of=("append", "prepend", "replace", "skip", "output"),
        keys={
            "append": optional_key(_ADDED, "Text after the prompt, or after its procedure."),
            "prepend": optional_key(_ADDED, "Text before the prompt, or before its procedure."),
            "replace": optional_key(Named(name="replaced_parts"), "Named parts with their new text."),
            "skip": optional_key(Flag(), "Whether the step is left out."),
            "output": optional_key(Named(name="output"), "What the step must deliver on top."),
        },
    ),
    "added_text": Record(
        description="Text for named blocks of a prompt.",
        any_of=BLOCK_KEYS,
        keys={name: optional_key(BLOCK, f"Text to add to the block {name}.") for name in BLOCK_KEYS},
    ),
    "replaced_parts": Record(
        description="Parts of a step that get another text; everything else stays.",
        any_of=("title", "prompt", *BLOCK_KEYS, "outputRequired", "guidance", "agentRole"),
        keys={
            "title": optional_key(TITLE, "What people see."),
            "prompt": optional_key(PROMPT, "The whole prompt, whatever its form was."),
            **{name: optional_key(BLOCK, f"The block {name} of the prompt.") for name in BLOCK_KEYS},
            "outputRequired": optional_key(
                Members(of=PROMPT_PART, name=Text(most=MAX_TITLE_CHARACTERS), most=MAX_LIST_ITEMS),
                "What to deliver.",
            ),
            "guidance": optional_key(PROSE_LIST, "Advice for this step."),
            "agentRole": optional_key(REMARK, "The stance for this step."),
        },
    ),
    "added_part": Record(
        description="A part before or after a step of the base.",
        one_of=("before", "after"),
        keys={
            "before": optional_key(STEP_NAME, "The step that it stands before."),
            "after": optional_key(STEP_NAME, "The step that it stands after."),
            "step": required_key(Named(name="part"), "The part."),
        },
    ),
    "tightened_contract": Record(
        description="What a contract demands on top.",
        any_of=("required", "evidence", "demand"),
        keys={
            "required": optional_key(
                Items(of=Text(most=MAX_TITLE_CHARACTERS), least=1, most=MAX_LIST_ITEMS),
                "Members that must be there too, such as line or /findings/*/line.",
            ),
            "evidence": optional_key(
                Items(of=FREE_OBJECT, least=1, most=MAX_LIST_ITEMS), "Rules of evidence on top of its own."
            ),
            "demand": optional_key(
                Word(values=get_args(Demand)), "The least that each of its rules of evidence demands."
            ),
        },
    ),
}


# Rules for notes

_LENGTH = Whole(least=0, most=MAX_NOTES_CHARACTERS)
_MESSAGE = optional_key(
    REMARK, "What the agent reads when the rule is not met; a plain sentence unless written."
)


_RULES = Items(of=Named(name="rule"), least=1, most=MAX_LIST_ITEMS)
RULE_SHAPES: dict[str, Shape] = {
    "rule": Tagged(
        description="What the notes of a step must meet.",
        tag="type",
        records={kind: f"{kind}_rule" for kind in ("contains", "regex", "length", "schema", "all", "any")},
    ),
    "contains_rule": Record(
        description="The notes hold this text, whatever its case.",
        keys={
            "type": tag_key("contains", "rule"),
            "value": required_key(ONE_TEXT, "The text."),
            "message": _MESSAGE,
        },
    ),
    "regex_rule": Record(
        description="The notes match this pattern somewhere.",
        keys={
            "type": tag_key("regex", "rule"),
            "pattern": required_key(Text(most=MAX_PATTERN_CHARACTERS), "A regular expression of Python."),
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
        description="The notes have this many characters.",
        any_of=("minimum", "maximum"),
        keys={
            "type": tag_key("length", "rule"),
            "minimum": optional_key(_LENGTH, "At least this many."),
            "maximum": optional_key(_LENGTH, "At most this many."),
            "message": _MESSAGE,
        },
    ),
    "schema_rule": Record(
        description="The notes are a JSON document of this schema.",
        keys={
            "type": tag_key("schema", "rule"),
            "schema": required_key(FREE_OBJECT, "A JSON Schema (2020-12)."),
            "message": _MESSAGE,
        },
    ),
    "all_rule": Record(
        description="Every one of these rules is met.",
        keys={"type": tag_key("all", "rule"), "of": required_key(_RULES, "The rules.")},
    ),
    "any_rule": Record(
        description="One of these rules is met.",
        keys={"type": tag_key("any", "rule"), "of": required_key(_RULES, "The rules.")},
    ),
}


# Workflows and routines

ROOT = "workflow"
INPUT_TYPES: tuple[str, ...] = get_args(InputType)

_ANY_NAME = Text(most=MAX_SOURCE_BYTES, may_be_blank=True)
_KEPT = Members(of=Anything(is_hashed=False), name=_ANY_NAME, most=MAX_SOURCE_BYTES)
_CAPABILITY_USE = Word(values=("required", "preferred", "disabled"))

_WORKFLOW_SHAPES: dict[str, Shape] = {
    ROOT: Record(
        description="A workflow: steps that an agent gets one at a time.",
        keys={
            "$schema": _OF_BOTH["$schema"],
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
            "recommended": _OF_BOTH["recommended"],
            "capabilities": optional_key(
                Named(name="capabilities"), "What the agent's environment must offer."
            ),
            "features": _OF_BOTH["features"],
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
        description="A context value: its type, what it may be, and whether it must be given at the start.",
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
        description="The most automation that the author considers safe.",
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
        description="What the agent's environment must offer.",
        keys={
            "delegation": optional_key(_CAPABILITY_USE, "Handing work to other agents."),
            "web_browsing": optional_key(_CAPABILITY_USE, "Reading the web."),
        },
    ),
    "feature": Record(
        description="Builtin guidance with its settings.",
        keys={
            "id": required_key(_FEATURE_ID, "The feature, such as wr.features.mode_guidance."),
            "config": optional_key(FREE_OBJECT, "The feature's settings."),
        },
    ),
    "reference": Record(
        description="A document the steps rely on.",
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
        description="Something to judge in several dimensions, each with its levels.",
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
