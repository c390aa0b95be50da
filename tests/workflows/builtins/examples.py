"""A small workflow that uses a builtin and nothing beside it."""

from __future__ import annotations

from typing import Any, assert_never

from handrail.workflows.builtins.placement import parse_placeholder
from handrail.workflows.builtins.specs import (
    Builtin,
    CapabilitySpec,
    ContractSpec,
    FeatureSpec,
    RefSpec,
    TemplateSpec,
)

_STEP: dict[str, Any] = {"id": "work", "title": "Do the work", "prompt": "Do the work and say how it went."}


def example_document(builtin: Builtin) -> dict[str, Any]:
    """A workflow file that uses the builtin and nothing beside it."""
    match builtin:
        case TemplateSpec():
            call: dict[str, Any] = {"type": "template_call", "id": "call", "templateId": builtin.id}
            if builtin.example_args:
                call["args"] = builtin.example_args
            return _workflow(builtin, steps=[call], **_inputs_of(builtin))
        case FeatureSpec():
            return _workflow(
                builtin,
                capabilities={"delegation": "preferred"},
                features=[_feature(builtin)],
                steps=[_STEP | {"output": {"contractRef": "wr.contracts.changed_files"}}],
            )
        case ContractSpec(id=contract_id):
            return _workflow(builtin, steps=[_STEP | {"output": {"contractRef": contract_id}}])
        case RefSpec(id=ref_id):
            part = {"kind": "ref", "refId": ref_id}
            blocks = {"goal": "The work is done.", "constraints": [part]}
            return _workflow(builtin, steps=[{"id": "work", "title": "Do the work", "promptBlocks": blocks}])
        case CapabilitySpec(id=capability_id):
            return _workflow(
                builtin,
                capabilities={capability_id: "required"},
                features=["wr.features.capabilities"],
                steps=[_STEP],
            )
        case never:
            assert_never(never)


def _workflow(builtin: Builtin, **parts: Any) -> dict[str, Any]:
    name = builtin.id.rpartition(".")[2].replace("-", "_")
    return {
        "id": f"example.{name}",
        "name": f"Example: {builtin.title}",
        "description": builtin.summary,
        "version": "1.0.0",
        **parts,
    }


def _inputs_of(template: TemplateSpec) -> dict[str, Any]:
    """The inputs that the example's arguments name."""
    named = {name: parse_placeholder(value) for name, value in template.example_args.items()}
    inputs = {
        wanted: {
            "type": template.args[name].type,
            "required": True,
            "description": template.args[name].description or template.args[name].type,
        }
        for name, wanted in named.items()
        if wanted
    }
    return {"inputs": inputs} if inputs else {}


def _feature(feature: FeatureSpec) -> str | dict[str, Any]:
    return {"id": feature.id, "config": feature.example_config} if feature.example_config else feature.id
