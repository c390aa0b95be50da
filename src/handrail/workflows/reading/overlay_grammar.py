"""What an author may write in an overlay: closed changes to a workflow that another file holds. Pure."""

from __future__ import annotations

from typing import get_args

from handrail.workflows.evidence import Demand
from handrail.workflows.limits import (
    MAX_ID_CHARACTERS,
    MAX_INPUTS,
    MAX_LIST_ITEMS,
    MAX_PARTS,
    MAX_TITLE_CHARACTERS,
    MAX_VERSION_CHARACTERS,
    MAX_WORKFLOW_ID_CHARACTERS,
)
from handrail.workflows.reading.part_grammar import BLOCK, PARTS, PROMPT_PART
from handrail.workflows.reading.shapes import (
    DESCRIPTION,
    FREE_OBJECT,
    ID,
    NAME,
    PROMPT,
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
    Text,
    Word,
    optional_key,
    required_key,
)

OVERLAY = "overlay"
BLOCK_KEYS = ("goal", "constraints", "procedure", "verify")
"""Blocks of a prompt that a text can be added to."""

STEP_NAME = Text(
    most=3 * MAX_ID_CHARACTERS,
    pattern="[a-z0-9_-]+(/[a-z0-9_-]+)?",
    wanted="Write the id of a step of the base, in a loop as loop/step.",
)
_CONTRACT_NAME = Text(most=MAX_WORKFLOW_ID_CHARACTERS)
_ADDED = ByType(shapes=(PROMPT, Named(name="added_text")))

OVERLAY_SHAPES: dict[str, Shape] = {
    OVERLAY: Record(
        says="An overlay: closed changes to a workflow of another file, compiled together with it.",
        keys={
            "$schema": optional_key(
                Text(most=MAX_TITLE_CHARACTERS), "The schema for editors; without meaning here."
            ),
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
            "recommended": optional_key(
                Named(name="recommended"), "The most automation that is considered safe."
            ),
            "features": optional_key(
                Items(
                    of=ByType(
                        shapes=(
                            Text(most=MAX_WORKFLOW_ID_CHARACTERS, names="features"),
                            Named(name="feature"),
                        )
                    ),
                    most=MAX_LIST_ITEMS,
                ),
                "Builtin guidance to add.",
            ),
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
        says="What an input of the base is when none is given.",
        keys={"default": required_key(Anything(), "The value.")},
    ),
    "step_change": Record(
        says="What changes in one step of the base.",
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
        says="Text for named blocks of a prompt.",
        any_of=BLOCK_KEYS,
        keys={name: optional_key(BLOCK, f"Text to add to the block {name}.") for name in BLOCK_KEYS},
    ),
    "replaced_parts": Record(
        says="Parts of a step that get another text; everything else stays.",
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
        says="A part before or after a step of the base.",
        one_of=("before", "after"),
        keys={
            "before": optional_key(STEP_NAME, "The step that it stands before."),
            "after": optional_key(STEP_NAME, "The step that it stands after."),
            "step": required_key(Named(name="part"), "The part."),
        },
    ),
    "tightened_contract": Record(
        says="What a contract demands on top.",
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
