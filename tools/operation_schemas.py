"""JSON Schemas of every operation's input and output, as one document."""

from __future__ import annotations

from typing import Any

import msgspec

from handrail.runtime.write_permission import DryRun
from handrail.wiring import registry


def operation_schemas() -> dict[str, Any]:
    """`operations` by name, their types under `$defs`. Of a list, `output` stands beside the paging keys."""
    operations = registry().operations()
    types: list[type[Any]] = [DryRun]
    for called in operations:
        types += [called.input, called.output] + ([] if called.item is None else [called.item])
    refs, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    schema_of = dict(zip(types, refs, strict=True))
    described = {}
    for called in operations:
        entry: dict[str, Any] = {
            "summary": called.summary,
            "effect": called.effect,
            "where": called.where,
            "input": schema_of[called.input],
            "output": schema_of[called.output],
        }
        if called.effect in ("gated", "dangerous"):
            entry["dryRunOutput"] = schema_of[DryRun]
        if called.item is not None:
            entry["item"] = schema_of[called.item]
        described[called.name] = entry
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Handrail operations",
        "operations": described,
        "$defs": definitions,
    }
