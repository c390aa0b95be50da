"""What a key that is missing may hold, so that a fix can be written as it stands. Pure."""

from __future__ import annotations

from handrail.contract.outcome import Json

_STEP: dict[str, Json] = {"id": "look", "title": "Look", "prompt": "Say what is there."}
_COMPARE: dict[str, Json] = {"kind": "compare", "input": "size", "op": "equals", "value": "large"}

_EXAMPLES: dict[str, tuple[Json, ...]] = {
    "id": ("project.my_check", "look"),
    "name": ("My check",),
    "description": ("What it is for.",),
    "steps": ([_STEP],),
    "body": ([_STEP],),
    "step": (_STEP,),
    "title": ("Look",),
    "label": ("Go on",),
    "prompt": ("Say what is there.",),
    "text": ("Say what is there.",),
    "promptBlocks": ({"goal": "What is true when the step is done."},),
    "goal": ("What is true when the step is done.",),
    "options": ([{"id": "go_on", "label": "Go on"}, {"id": "stop", "label": "Stop"}],),
    "maxIterations": (5,),
    "count": (3,),
    "times": (3,),
    "atLeast": (1,),
    "while": (_COMPARE,),
    "forEach": ({"input": "files", "as": "file"}, "{{files}}"),
    "input": ("files",),
    "as": ("file",),
    "of": ([_COMPARE, {**_COMPARE, "value": "small"}], _COMPARE, [{"type": "contains", "value": "Done"}]),
    "op": ("equals",),
    "value": ("Done",),
    "pattern": ("^Done",),
    "minimum": (20,),
    "schema": ({"type": "object"},),
    "conditionId": ("is_large",),
    "slot": ("before_report",),
    "templateId": ("wr.templates.verification_pass",),
    "operation": ("workflow.list",),
    "refId": ("wr.refs.notes_first",),
    "contractRef": ("wr.contracts.plan",),
    "assessmentId": ("quality",),
    "purpose": ("What is judged, and why.",),
    "dimensions": ({"quality": ["low", "high"]},),
    "source": ("docs/rules.md",),
    "check": ("tests",),
    "reason": ("needs_user_approval",),
    "by": ("other",),
    "kind": ("ref", "condition_ref"),
    "default": ("quick",),
    "extends": ("wr.code_review",),
    "append": ("Read docs/rules.md first.",),
    "before": ("report",),
    "children": ([{"id": "part", "steps": [_STEP]}],),
    "child": ({"id": "part", "steps": [_STEP]},),
    "workflow": ("project.my_check",),
    "required": (["summary"],),
    "loopId": ("rounds",),
}
"""By key; the first that has the shape of the place counts."""


def list_examples(name: str) -> tuple[Json, ...]:
    return _EXAMPLES.get(name, ())
