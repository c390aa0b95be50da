"""The compiled workflow: fully expanded, checked, pinned by the hash of its canonical bytes. Pure."""

from __future__ import annotations

import msgspec

from handrail.contract.canonical import canonical_bytes
from handrail.contract.ids import WorkflowHash, WorkflowId, blob_ref
from handrail.workflows.source import SourceStep, SourceWorkflow, WorkflowKind

COMPILED_VERSION = 1


class CompiledStep(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One step as it is executed; `prompt` is what the agent reads."""

    id: str
    title: str
    prompt: str
    require_confirmation: bool


class CompiledWorkflow(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Enough to run, export and import on its own. No ids of runs, no times, no environment."""

    v: int
    id: WorkflowId
    kind: WorkflowKind
    name: str
    description: str
    version: str
    steps: tuple[CompiledStep, ...]


class Pinned(msgspec.Struct, frozen=True, kw_only=True):
    """A compiled workflow with the bytes that its hash names; the hash is also the blob's ref."""

    workflow: CompiledWorkflow
    content: bytes
    workflow_hash: WorkflowHash


def compile_workflow(source: SourceWorkflow) -> Pinned:
    """Expand, render and freeze. The same meaning gives the same hash on every machine."""
    workflow = CompiledWorkflow(
        v=COMPILED_VERSION,
        id=WorkflowId(source.id),
        kind=source.kind,
        name=source.name,
        description=source.description,
        version=source.version,
        steps=tuple(_compile_step(step, source.agent_role) for step in source.steps),
    )
    content = canonical_bytes(msgspec.to_builtins(workflow))
    return Pinned(workflow=workflow, content=content, workflow_hash=WorkflowHash(blob_ref(content)))


def decode_compiled(content: bytes) -> CompiledWorkflow:
    """The workflow of pinned bytes, whose digest the store has checked."""
    return msgspec.json.decode(content, type=CompiledWorkflow)


def _compile_step(step: SourceStep, workflow_role: str) -> CompiledStep:
    # EXEC "AgentRole": stance text goes into the rendered prompt; the step's own one wins.
    role = step.agent_role.strip() or workflow_role.strip()
    prompt = step.prompt.strip()
    return CompiledStep(
        id=step.id,
        title=step.title.strip(),
        prompt=f"Role: {role}\n\n{prompt}" if role else prompt,
        require_confirmation=step.require_confirmation,
    )
