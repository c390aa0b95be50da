"""Placeholders in the guidance of a contract, which is read before any workflow that uses it. Pure."""

from __future__ import annotations

from handrail.workflows.checking.names import UNSURE, slots_in
from handrail.workflows.reading.findings import Findings, quote_name


def check_guidance(found: Findings, guidance: str, pointer: str) -> None:
    """Warn of each placeholder once. In a workflow that does not declare its name it is an error."""
    told: set[str] = set()
    for slot in slots_in(guidance, ()):
        written = guidance[slot.start : slot.end]
        if written in told:
            continue
        told.add(written)
        if slot.kind == "name":
            message = f"{quote_name(written)} is filled only where the workflow declares {slot.name}."
            fix = f"Declare {slot.name} in each workflow that uses this contract, or say it in words."
        else:
            kind = "may be a tag of another language" if slot.kind in UNSURE else "is not a placeholder"
            message = f"Nothing fills {quote_name(written)}: it {kind}."
            fix = "Say it in words, or write a name in double braces."
        found.warn("bad_placeholder", pointer, message, fix)
