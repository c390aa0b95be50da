"""A builtin as plain data: what the catalog, the generated docs and other tools read. Pure."""

from __future__ import annotations

from typing import Any, assert_never

import msgspec

from handrail.workflows.builtins.examples import example_document
from handrail.workflows.builtins.specs import (
    Builtin,
    CapabilitySpec,
    ContractSpec,
    FeatureSpec,
    RefSpec,
    TemplateSpec,
)
from handrail.workflows.compiled import InputSpec
from handrail.workflows.schema_words import field_lines


def described(builtin: Builtin) -> dict[str, Any]:
    """Kind, id, title and summary first; then what only this kind has; last a workflow that uses it."""
    kind, more = _kind_and_more(builtin)
    return {
        "kind": kind,
        "id": builtin.id,
        "title": builtin.title,
        "summary": builtin.summary,
        **more,
        "example": example_document(builtin),
    }


def _kind_and_more(builtin: Builtin) -> tuple[str, dict[str, Any]]:
    match builtin:
        case TemplateSpec(args=args):
            return "template", {"args": _as_written(args)}
        case FeatureSpec(config=config):
            return "feature", {"config": _as_written(config)}
        case ContractSpec():
            return "contract", {
                "artifactKind": builtin.artifact_kind,
                "guidance": builtin.guidance,
                "fields": field_lines(builtin.schema),
                "artifact": builtin.example,
                "schema": builtin.schema,
            }
        case RefSpec(text=text):
            return "ref", {"text": text}
        case CapabilitySpec():
            return "capability", {
                "probe": builtin.probe,
                "fallback": builtin.fallback,
                "remedy": builtin.remedy,
            }
        case never:
            assert_never(never)


def _as_written(declared: dict[str, InputSpec]) -> Any:
    """Declarations as JSON has them: lists instead of tuples, defaults left out."""
    return msgspec.json.decode(msgspec.json.encode(declared))
