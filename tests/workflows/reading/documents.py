"""Workflow documents that the tests of the reader change in one place, and how a change is written."""

from __future__ import annotations

import copy
import json
from typing import Any

STEP: dict[str, Any] = {"id": "only", "title": "Only", "prompt": "Do it."}
SMALLEST: dict[str, Any] = {
    "id": "project.small",
    "name": "Small",
    "description": "One step.",
    "steps": [STEP],
}
LOOP: dict[str, Any] = {
    "type": "loop",
    "loopId": "again",
    "count": 2,
    "maxIterations": 2,
    "body": [STEP],
}
CHOICE: dict[str, Any] = {
    "type": "choice",
    "id": "way",
    "title": "Which way",
    "prompt": "Choose.",
    "options": [{"id": "left", "label": "Left"}, {"id": "right", "label": "Right"}],
}
ACTION: dict[str, Any] = {"type": "action", "id": "look", "operation": "scan.search"}
CALL: dict[str, Any] = {"type": "template_call", "templateId": "wr.templates.verification_pass"}
COMPARE: dict[str, Any] = {"kind": "compare", "input": "size", "op": "equals", "value": "large"}

EVERYTHING: dict[str, Any] = {
    "$schema": "./workflow.schema.json",
    "id": "project.everything",
    "kind": "routine",
    "name": "Everything",
    "description": "Every construct of the language once.",
    "version": "2.1.0",
    "agentRole": "You are careful.",
    "guidance": ["Say what you saw."],
    "preconditions": ["The branch is green."],
    "questions": ["Which release?"],
    "inputs": {
        "size": {
            "type": "string",
            "enum": ["small", "large"],
            "default": "small",
            "required": True,
            "description": "How much there is to do.",
        },
        "files": {"type": "array"},
        "depth": {"type": "integer", "default": 3},
        "anything": {},
    },
    "recommended": {"autonomy": "guided", "riskPolicy": "balanced"},
    "capabilities": {"delegation": "preferred", "web_browsing": "disabled"},
    "features": [
        "wr.features.mode_guidance",
        {"id": "wr.features.capabilities", "config": {"tone": "short"}},
    ],
    "references": [
        {
            "id": "api",
            "title": "The interface",
            "source": "./docs/api.json",
            "purpose": "Names of fields.",
            "authoritative": True,
            "resolveFrom": "package",
        },
        {"id": "log", "title": "The log", "source": "./log.md"},
    ],
    "functions": {"verify_claim": "Run the command that shows it."},
    "conditions": [
        {"id": "is_large", **COMPARE},
        {"id": "keep_going", "kind": "loop_control", "continueWhen": "continue"},
        {
            "id": "is_risky",
            "kind": "and",
            "of": [
                {"kind": "always_true"},
                {
                    "kind": "or",
                    "of": [
                        {"kind": "not", "of": {"kind": "always_false"}},
                        {
                            "kind": "compare",
                            "artifact": "wr.verification_report",
                            "field": "verdict.level",
                            "op": "in",
                            "value": ["low", "medium"],
                        },
                    ],
                },
            ],
        },
    ],
    "assessments": [{"id": "fit", "purpose": "Does it fit?", "dimensions": {"scope": ["low", "high"]}}],
    "steps": [
        {
            "id": "plan",
            "title": "Plan",
            "promptBlocks": {
                "goal": "A plan on one screen.",
                "constraints": ["No code yet.", {"kind": "ref", "refId": "wr.refs.small_steps"}],
                "procedure": ["Read.", "Write."],
                "outputRequired": {"plan": "Six lines.", "check": {"kind": "ref", "refId": "wr.refs.modes"}},
                "verify": {"kind": "ref", "refId": "wr.refs.evidence_before_claims"},
            },
            "promptFragments": [
                {"id": "more", "when": "is_large", "text": "Split it."},
                {"text": "Always shown."},
            ],
            "guidance": ["Short sentences."],
            "agentRole": "You plan.",
            "requireConfirmation": {"kind": "condition_ref", "conditionId": "is_risky"},
            "when": {"kind": "condition_ref", "conditionId": "is_large"},
            "output": {"contractRef": "wr.contracts.plan", "hints": ["Name the files."]},
            "validation": [
                {"type": "contains", "value": "Plan", "message": "Write a plan."},
                {"type": "regex", "pattern": "^## ", "flags": "ms"},
                {
                    "type": "any",
                    "of": [
                        {"type": "length", "minimum": 10},
                        {"type": "all", "of": [{"type": "schema", "schema": {"type": "object"}}]},
                    ],
                },
            ],
            "gates": [{"assessmentId": "fit", "followups": {"low": "Cut the scope."}}],
            "functionRefs": ["verify_claim"],
            "userOnly": {"reason": "needs_user_choice", "choiceKind": "scope_boundary"},
            "notesOptional": True,
        },
        {
            "type": "loop",
            "loopId": "work",
            "title": "Work",
            "while": "keep_going",
            "maxIterations": 5,
            "when": COMPARE,
            "body": [
                {
                    "type": "loop",
                    "id": "per_file",
                    "forEach": {"input": "files", "as": "file", "indexAs": "n"},
                    "maxIterations": 50,
                    "body": [{"type": "step", "id": "edit", "title": "Edit", "prompt": "Edit {{file}}."}],
                },
                {
                    "type": "template_call",
                    "id": "check",
                    "title": "Check",
                    "templateId": "wr.templates.verification_pass",
                    "args": {"focus": "tests"},
                    "requireConfirmation": True,
                },
            ],
        },
        {
            "type": "loop",
            "loopId": "polish",
            "until": {"kind": "always_true"},
            "maxIterations": 2,
            "body": [{"type": "template_call", "templateId": "wr.templates.handoff_summary"}],
        },
        {
            "type": "loop",
            "loopId": "rounds",
            "count": {"times": 3, "indexAs": "round"},
            "maxIterations": 3,
            "body": [
                {
                    "type": "action",
                    "id": "search",
                    "operation": "scan.search",
                    "params": {"q": 1},
                    "saveAs": "hits",
                }
            ],
        },
        {
            "type": "loop",
            "loopId": "twice",
            "count": 2,
            "maxIterations": 2,
            "body": [{"type": "action", "id": "trace", "title": "Trace", "operation": "scan.trace"}],
        },
        {
            "type": "choice",
            "id": "ship",
            "title": "Ship it",
            "prompt": "Ship now?",
            "options": [
                {"id": "yes", "label": "Yes", "description": "Goes out today.", "set": {"shipped": True}},
                {"id": "no", "label": "No"},
            ],
            "nonAssumable": "irreversible_action",
            "when": "is_large",
        },
    ],
    "about": "For tests.",
    "examples": ["Read everything."],
    "tags": ["test"],
    "extra": {"owner": "nobody"},
}


def source(document: object) -> bytes:
    return json.dumps(document).encode()


def with_step(**changes: object) -> dict[str, Any]:
    """The smallest document with members of its step added or replaced."""
    return SMALLEST | {"steps": [STEP | changes]}


def with_part(part: dict[str, Any], **changes: object) -> dict[str, Any]:
    """The smallest document with this part, changed, as its only one."""
    return SMALLEST | {"steps": [part | changes]}


def without(holder: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {name: value for name, value in holder.items() if name not in keys}


def everything() -> dict[str, Any]:
    """A copy of the document with every construct, to be changed in place."""
    return copy.deepcopy(EVERYTHING)
