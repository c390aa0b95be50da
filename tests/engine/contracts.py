"""Small contracts for engine tests; the builtin ones are the language room's business."""

from __future__ import annotations

from typing import Any

from handrail.workflows.compiled import Contract

FINDING = "project.contracts.finding"
LOOP = "wr.contracts.loop_control"
PROBE = "wr.contracts.capability_observation"

CONTRACTS = {
    FINDING: Contract(
        artifact_kind="project.finding",
        schema={
            "type": "object",
            "properties": {
                "kind": {"const": "project.finding"},
                "file": {"type": "string", "minLength": 1},
                "severity": {"type": "string", "enum": ["low", "high"]},
            },
            "required": ["kind", "file", "severity"],
            "additionalProperties": False,
        },
        example={"kind": "project.finding", "file": "a.py", "severity": "low"},
        guidance="Name the file.",
    ),
    LOOP: Contract(
        artifact_kind="wr.loop_control",
        schema={
            "type": "object",
            "properties": {"decision": {"enum": ["continue", "stop"]}, "loopId": {"type": "string"}},
            "required": ["kind", "decision"],
        },
        example={"kind": "wr.loop_control", "decision": "stop"},
        guidance="Decide.",
    ),
    PROBE: Contract(
        artifact_kind="wr.capability_observation",
        schema={
            "type": "object",
            "properties": {
                "capability": {"enum": ["delegation", "web_browsing"]},
                "status": {"enum": ["available", "unavailable", "unknown"]},
            },
            "required": ["kind", "capability", "status"],
        },
        example={"kind": "wr.capability_observation", "capability": "web_browsing", "status": "available"},
        guidance="Try it.",
    ),
}


def finding(**fields: Any) -> dict[str, Any]:
    return {"kind": "project.finding", "file": "a.py", "severity": "low"} | fields


def decision(told: str, **fields: Any) -> dict[str, Any]:
    return {"kind": "wr.loop_control", "decision": told} | fields


def seen(status: str, capability: str = "web_browsing", **fields: Any) -> dict[str, Any]:
    return {"kind": "wr.capability_observation", "capability": capability, "status": status} | fields
