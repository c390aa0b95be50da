"""Declared inputs of a workflow as answers show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET

from handrail.contract.payload import Payload
from handrail.workflows.compiled import InputSpec


class InputOutline(Payload, frozen=True, kw_only=True):
    """An input as a start must give it."""

    name: str
    type: str
    required: bool = False
    enum: list[Any] = []
    default: Any = UNSET
    description: str = ""


def input_outlines(inputs: Mapping[str, InputSpec]) -> list[InputOutline]:
    """Declared inputs; an implicit one is only a word that a condition or prompt uses."""
    return [_outline(name, spec) for name, spec in inputs.items() if not spec.implicit]


def _outline(name: str, spec: InputSpec) -> InputOutline:
    return InputOutline(
        name=name,
        type=spec.type,
        required=spec.required,
        enum=list(spec.enum),
        default=spec.default,
        description=spec.description,
    )
