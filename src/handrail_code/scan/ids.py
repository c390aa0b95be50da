"""Ids of definitions that stay the same while the definition does: `path#name@tag`. Pure."""

from __future__ import annotations

from handrail_code.facts.join import Found
from handrail_code.facts.model import Definition

_TAG_LENGTH = 8


def make_id(found: Found) -> str:
    return f"{found.path}#{found.definition.name}@{make_tag(found.definition)}"


def make_tag(definition: Definition) -> str:
    """Tells definitions of one name in one file apart: by content where it has a digest, twins by number."""
    if not definition.digest:
        return f"b{definition.start}"
    tag = definition.digest.rpartition(":")[2][:_TAG_LENGTH]
    return f"{tag}.{definition.twin + 1}" if definition.twin else tag


def split_id(text: str) -> tuple[str, str, str]:
    """Path, name and tag of an id; only a name for anything else."""
    path, mark, rest = text.rpartition("#")
    if path.endswith("#"):  # a private name begins with the same character
        path, rest = path[:-1], "#" + rest
    name, at, tag = rest.rpartition("@")
    if mark and path and at and name:
        return path, name, tag
    return "", text, ""
