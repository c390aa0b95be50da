"""What a pinned workflow would tell an agent, text by text, before anyone relies on it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any

import msgspec

from handrail.contract.disclosure.newest import encoded_size
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Answer, Json
from handrail.contract.wording import spell_hidden
from handrail.workflows.compiled import CompiledWorkflow, walk_parts

MOST_CHARACTERS = 65_536
"""Of one text that is shown; what the product compiles is shorter."""
MOST_NAME = 256
_TOLD_APART = ("id", "kind", "title", "prompt", "body")


class PinnedWorkflow(Answer, frozen=True, kw_only=True):
    """One workflow that a run is pinned to, by its digests."""

    workflow_id: str
    workflow_hash: str
    texts: int
    prompts_digest: str
    """Of the RFC 8785 bytes of the list of all its prompts, in the order of its steps."""


class PinnedText(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """One step, function or contract: what it says, with hidden characters spelled out."""

    workflow_id: str
    kind: str
    id: str
    title: str = ""
    prompt_digest: str = ""
    """Of its UTF-8 bytes as they are pinned."""
    prompt: str = ""
    is_cut: bool = False
    """It is longer than an answer may be; the digest is of the whole."""
    more: dict[str, Any] = {}
    """Everything else of a compiled step that is not its prompt."""


def pinned_workflows(workflows: Mapping[str, CompiledWorkflow]) -> list[PinnedWorkflow]:
    """The workflows by their hash."""
    return [_summary(workflow_hash, workflows[workflow_hash]) for workflow_hash in sorted(workflows)]


def pinned_texts(workflows: Mapping[str, CompiledWorkflow]) -> Iterator[PinnedText]:
    """Every text, by workflow: steps in their order, then functions and contracts by name."""
    for workflow_hash in sorted(workflows):
        workflow = workflows[workflow_hash]
        name = spell_hidden(workflow.id)
        for part in walk_parts(workflow.steps):
            plain: dict[str, Json] = msgspec.to_builtins(part)
            rest = {key: value for key, value in plain.items() if key not in _TOLD_APART}
            yield _text(name, plain["kind"], part.id, plain.get("prompt", ""), plain.get("title", ""), rest)
        for function in sorted(workflow.functions):
            yield _text(name, "function", function, workflow.functions[function])
        for contract_id, contract in sorted(workflow.contracts.items()):
            rest = {"artifactKind": contract.artifact_kind, "example": contract.example}
            yield _text(name, "contract", contract_id, contract.guidance, more=rest)


def _text(
    workflow_id: str, kind: str, name: str, prompt: str, title: str = "", more: dict[str, Json] | None = None
) -> PinnedText:
    spelled, others = spell_hidden(prompt[:MOST_CHARACTERS]), _spelled(more or {})
    is_short = len(prompt) <= MOST_CHARACTERS and encoded_size(others) <= MOST_CHARACTERS
    return PinnedText(
        workflow_id=workflow_id[:MOST_NAME],
        kind=kind,
        id=spell_hidden(name[:MOST_NAME]),
        title=spell_hidden(title[:MOST_NAME]),
        prompt_digest="sha256:" + sha256(prompt.encode()).hexdigest() if prompt else "",
        prompt=spelled,
        is_cut=not is_short,
        more=others if is_short else {},
    )


def _summary(workflow_hash: str, workflow: CompiledWorkflow) -> PinnedWorkflow:
    prompts = [getattr(part, "prompt", "") for part in walk_parts(workflow.steps)]
    return PinnedWorkflow(
        workflow_id=spell_hidden(workflow.id[:MOST_NAME]),
        workflow_hash=workflow_hash,
        texts=len(prompts) + len(workflow.functions) + len(workflow.contracts),
        prompts_digest=digest(prompts),
    )


def _spelled(value: Any) -> Any:
    match value:
        case str():
            return spell_hidden(value)
        case dict():
            return {spell_hidden(name): _spelled(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_spelled(inner) for inner in value]
        case _:
            return value
