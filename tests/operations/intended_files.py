"""Files whose meaning is known, and how a mistake is planted into one of them.

A mistake is a change of the intended file. `code` and `pointer` are what the author must be told first, on
the line that holds `marker`. Where `is_certain`, applying what the answer offers must give back what was
meant; where it is not, only an author can know what that was.
"""

from __future__ import annotations

import copy
import json
from typing import Any, Literal, NamedTuple

from handrail.workflows.limits import Spelling
from handrail.workflows.spellings.spelling import write_document

INTENDED: dict[str, Any] = {
    "id": "project.intended",
    "name": "Intended",
    "description": "Every construct that a mistake is planted into.",
    "agentRole": "You are careful.",
    "guidance": ["Say what you saw."],
    "questions": ["Which release?"],
    "inputs": {
        "size": {"type": "string", "enum": ["small", "large"], "default": "small"},
        "files": {"type": "array"},
        "live": {"type": "boolean", "default": False},
        "retries": {"type": "integer", "default": 3},
        "note": {"type": "string", "required": True},
    },
    "recommended": {"autonomy": "guided", "riskPolicy": "balanced"},
    "features": ["wr.features.mode_guidance"],
    "functions": {"verify_claim": "Run the command that shows it."},
    "conditions": [
        {"id": "is_large", "kind": "compare", "input": "size", "op": "equals", "value": "large"},
        {"id": "keep_going", "kind": "loop_control"},
    ],
    "assessments": [{"id": "fitness", "purpose": "Fit?", "dimensions": {"scope": ["minor", "severe"]}}],
    "steps": [
        {
            "id": "plan",
            "title": "Plan the work",
            "prompt": "Plan {{note}} for a {{size}} change.",
            "guidance": ["Short sentences."],
            "output": {"contractRef": "wr.contracts.plan"},
            "functionRefs": ["verify_claim"],
            "validation": [{"type": "length", "minimum": 10, "maximum": 200}],
        },
        {
            "id": "check",
            "title": "Check",
            "promptBlocks": {
                "goal": "The plan of {{note}} is checked.",
                "procedure": ["Read it.", {"kind": "ref", "refId": "wr.refs.notes_first"}],
            },
            "when": {"kind": "compare", "artifact": "wr.plan", "field": "goal", "op": "exists"},
            "requireConfirmation": {"kind": "compare", "input": "live", "op": "equals", "value": True},
            "gates": [{"assessmentId": "fitness", "followups": {"severe": "Look again."}}],
        },
        {
            "type": "loop",
            "loopId": "each_file",
            "forEach": {"input": "files", "as": "file", "indexAs": "at"},
            "maxIterations": 5,
            "body": [{"id": "read", "title": "Read", "prompt": "Read {{file}}, number {{at}}."}],
        },
        {
            "type": "choice",
            "id": "way",
            "title": "Which way",
            "prompt": "Choose.",
            "options": [
                {"id": "left", "label": "Left", "set": {"size": "small"}},
                {"id": "right", "label": "Right", "set": {"size": "large"}},
            ],
        },
        {
            "type": "loop",
            "loopId": "rounds",
            "while": "keep_going",
            "maxIterations": 3,
            "body": [
                {"id": "work", "title": "Work", "prompt": "Work."},
                {
                    "id": "decide",
                    "title": "Decide",
                    "prompt": "Go on?",
                    "output": {"contractRef": "wr.contracts.loop_control"},
                },
            ],
        },
        {
            "type": "loop",
            "loopId": "thrice",
            "when": "is_large",
            "count": 3,
            "maxIterations": 3,
            "body": [{"id": "once", "title": "Once", "prompt": "Once more."}],
        },
        {
            "type": "action",
            "id": "look_up",
            "title": "Look up",
            "operation": "workflow.list",
            "params": {"query": "{{note}}"},
            "saveAs": "found",
        },
        {
            "type": "template_call",
            "templateId": "wr.templates.verification_pass",
            "args": {"subject": "the change of {{note}}"},
        },
        {
            "id": "report",
            "title": "Report",
            "prompt": "Report {{found}} after {{retries}} tries; run `echo ${HOME}`.",
            "when": {"kind": "compare", "input": "size", "op": "equals", "value": "large"},
            "userOnly": {"reason": "needs_user_artifact", "input": "note"},
        },
    ],
}

CONTRACT: dict[str, Any] = {
    "id": "project.contracts.table",
    "artifactKind": "project.table",
    "guidance": "Every row has a name.",
    "schema": {
        "type": "object",
        "properties": {
            "kind": {"const": "project.table"},
            "rows": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/row"}},
            "summary": {"type": "string", "minLength": 3},
        },
        "required": ["rows", "summary"],
        "additionalProperties": False,
        "$defs": {"row": {"type": "object", "properties": {"name": {"type": "string"}}}},
    },
    "example": {"rows": [{"name": "first"}], "summary": "One row."},
}

FOREIGN: dict[str, Any] = {
    "id": "project.elsewhere",
    "name": "Elsewhere",
    "description": "A file of the neighbouring dialect.",
    "metaGuidance": ["Be careful."],
    "steps": [
        {"id": "one", "title": "One", "prompt": "Look at {{topic}}."},
        {
            "id": "two",
            "title": "Two",
            "prompt": "Dig.",
            "runCondition": {"var": "size", "equals": "Large"},
            "requireConfirmation": True,
        },
    ],
}

OVERLAY: dict[str, Any] = {
    "extends": "project.intended",
    "id": "team.intended",
    "inputs": {"size": {"default": "large"}},
    "recommended": {"autonomy": "guided"},
    "contracts": {"wr.contracts.plan": {"required": ["/slices/*/files"]}},
    "steps": {
        "plan": {"append": "Read the rules first."},
        "check": {"replace": {"procedure": ["Read it twice."]}},
        "rounds/work": {"prepend": "Slowly."},
        "thrice/once": {"replace": {"title": "Once again"}},
    },
    "add": [{"after": "way", "step": {"id": "tell", "title": "Tell", "prompt": "Tell {{note}}."}}],
}

Base = Literal["workflow", "contract", "foreign", "overlay", "markdown", "yaml"]
BASES: dict[Base, dict[str, Any]] = {
    "workflow": INTENDED,
    "contract": CONTRACT,
    "foreign": FOREIGN,
    "overlay": OVERLAY,
    "markdown": INTENDED,
    "yaml": INTENDED,
}
SPELLINGS: dict[Base, Spelling] = {"markdown": "md", "yaml": "yaml"}
"""The others are JSON."""


def spelled(base: Base, document: Any) -> str:
    spelling = SPELLINGS.get(base, "json")
    return write_document(document, spelling, {}) if spelling != "json" else as_json(document)


def as_json(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)


GONE = object()
"""As a value: the member is taken away."""


class Mistake(NamedTuple):
    """One planted mistake."""

    name: str
    code: str
    pointer: str
    marker: str
    changes: tuple[tuple[str, Any], ...] = ()
    """Pointer to what stands there instead."""
    moved: tuple[str, str] = ("", "")
    """A member that stands under another key."""
    text: tuple[str, str] = ("", "")
    """A stretch of the text that reads otherwise."""
    base: Base = "workflow"
    is_certain: bool = True
    meant: tuple[tuple[str, Any], ...] = ()
    """Where the author did not mean the intended file itself: what stands otherwise in what was meant."""

    @property
    def intended(self) -> str:
        document = copy.deepcopy(BASES[self.base])
        for pointer, value in self.meant:
            put(document, pointer, value)
        return spelled(self.base, document)

    @property
    def broken(self) -> str:
        document = copy.deepcopy(BASES[self.base])
        if self.moved[0]:
            put(document, self.moved[1], take(document, self.moved[0]))
        for pointer, value in self.changes:
            if value is GONE:
                take(document, pointer)
            else:
                put(document, pointer, value)
        written = spelled(self.base, document)
        if self.text[0]:
            assert self.text[0] in written, self.name
            written = written.replace(self.text[0], self.text[1], 1)
        return written


def holder_of(document: Any, pointer: str) -> tuple[Any, Any]:
    *way, last = pointer.split("/")[1:]
    for part in way:
        document = document[int(part)] if isinstance(document, list) else document[_plain(part)]
    return document, int(last) if isinstance(document, list) and last != "-" else _plain(last)


def put(document: Any, pointer: str, value: Any) -> None:
    holder, last = holder_of(document, pointer)
    if isinstance(holder, list) and last == "-":
        holder.append(copy.deepcopy(value))
    else:
        holder[last] = copy.deepcopy(value)


def take(document: Any, pointer: str) -> Any:
    holder, last = holder_of(document, pointer)
    return holder.pop(last)


def _plain(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")


def misspelt(holder: str, right: str, wrong: str, marker: str = "", *, base: Base = "workflow") -> Mistake:
    """A member under a key that is not known."""
    pointer = f"{holder}/{wrong}"
    return Mistake(
        f"{base} {pointer}",
        "unknown_key",
        pointer,
        marker or f'"{wrong}"',
        moved=(f"{holder}/{right}", pointer),
        base=base,
    )


def instead(
    code: str, pointer: str, value: Any, marker: str = "", *, base: Base = "workflow", is_certain: bool = True
) -> Mistake:
    """A value that is not right, or a member that should not be there; the problem is at its place."""
    shown = marker or json.dumps(value, ensure_ascii=False)
    name = f"{base} {pointer} {json.dumps(value)[:40]}"
    return Mistake(name, code, pointer, shown, changes=((pointer, value),), base=base, is_certain=is_certain)


def written(
    name: str, right: str, wrong: str, marker: str, *, base: Base = "workflow", is_certain: bool = True
) -> Mistake:
    """A text that is almost JSON."""
    return Mistake(
        f"{base} {name}", "unreadable", "", marker, text=(right, wrong), base=base, is_certain=is_certain
    )


def meant(mistake: Mistake, *changes: tuple[str, Any]) -> Mistake:
    """One whose author meant something else than the intended file has there."""
    return mistake._replace(meant=changes)


def unsure(mistake: Mistake) -> Mistake:
    """One of which only the author knows what was meant."""
    return mistake._replace(is_certain=False)
