"""Shared options of the two payload styles. Pure."""

from __future__ import annotations

import msgspec


class Payload(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A payload whose names EXEC owns: camelCase on the wire; fields are only ever added."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """Any other payload: snake_case, every key always there."""
