"""What a person is shown before they confirm a step: where the run stands, and what was reported. Pure.

The text goes to a terminal or a form, and most of it comes from elsewhere: it is fenced, cut, and without
anything that could steer a terminal.
"""

from __future__ import annotations

import msgspec

from handrail.contract.fence import fence_text, flatten_text
from handrail.engine.facts import excerpt
from handrail.engine.history import History, Node, attached_to, instance_of, kept_in_instance
from handrail.engine.standing import standing_at
from handrail.workflows.compiled import CompiledWorkflow

PROMPT_BYTES = 1_500
REPORT_BYTES = 1_500
MOST_ARTIFACTS = 5
"""Artifacts of the last attempt that a person is shown, each as far as there is room."""
_ARTIFACT_BYTES = 600


def show_to_person(history: History, workflow: CompiledWorkflow, node: Node) -> str:
    """The step that is pending at a node, and what the agent has brought for it so far."""
    standing = standing_at(history, workflow, node, "rehydrate")
    assert standing.leaf is not None, "only a pending step is confirmed"
    title = flatten_text(standing.leaf.title)
    parts = [
        f"Workflow: {flatten_text(workflow.name)} ({node.run_id} in {history.session_id})\n"
        f"Step: {title} ({flatten_text(standing.leaf.id)})",
        fence_text(_cut(standing.prompt, PROMPT_BYTES), "what the step asks of the agent"),
    ]
    report = _last_report(history, node)
    parts.append(
        fence_text(report, "what the agent last reported for it")
        if report
        else "The agent has reported nothing for it yet."
    )
    return "\n\n".join(parts)


def _last_report(history: History, node: Node) -> str:
    """The newest notes and artifacts that blocked attempts and checkpoints of this step brought."""
    kept = kept_in_instance(history, instance_of(history, node.node_id))
    for held in sorted(kept, key=lambda one: one.index, reverse=True):
        notes = history.notes.get(held.node_id)
        artifacts = attached_to(history, held.node_id).artifacts
        if notes is None and not artifacts:
            continue
        told = [] if notes is None else [_cut(notes.text, REPORT_BYTES)]
        told += [
            _cut(msgspec.json.encode(one.artifact.body).decode(), _ARTIFACT_BYTES)
            for one in artifacts[:MOST_ARTIFACTS]
        ]
        more = len(artifacts) - MOST_ARTIFACTS
        return "\n".join([*told, *([f"(and {more} more artifacts)"] if more > 0 else [])])
    return ""


def _cut(text: str, limit: int) -> str:
    shown = excerpt(text, limit)
    return shown if shown == text else f"{shown}\n(cut here)"
