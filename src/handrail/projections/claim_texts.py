"""What a claim of a report says, in the report's own words instead of its place there. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handrail.engine.events import Artifact, Claim
from handrail.projections.plain_words import HEADLINES, spell_name
from handrail.workflows.problem import value_at

_LONGEST = 120
"""Of each part that is quoted."""
_OWN_CHECKS = {"person": "A person's answer", "notes": "The notes"}


def spell_kind(kind: str) -> str:
    """`wr.loop_control` → `Loop control`."""
    return spell_name(kind.rpartition(".")[2])


def tell_claim(claim: Claim, artifacts: Sequence[Artifact]) -> str:
    """The text that stands at the place of a claim in the report; of a whole report, its kind."""
    held = [one for one in artifacts if one.contract_ref == claim.contract_ref] or artifacts[:1]
    if not claim.contract_ref or not held:
        return _OWN_CHECKS.get(claim.check, "The report")
    keys = [part.replace("~1", "/").replace("~0", "~") for part in claim.pointer.split("/") if part]
    kind = spell_kind(held[0].kind)
    if not keys:
        return f"{kind} as a whole"
    name = next((key for key in reversed(keys) if not key.isdigit()), "")
    if not name:
        return kind
    said, value = _headline(held[0].body, keys), _spell(value_at(held[0].body, claim.pointer))
    if said and said != value:
        return f"{_cut(said)} ({_cut(value)})"
    return _cut(value if said else f"{spell_name(name)}: {value}")


def _headline(body: Any, keys: Sequence[str]) -> str:
    """The sentence that a place in a list belongs to: what is claimed, where only its proof is named."""
    for key in keys:
        if isinstance(body, dict) and isinstance(body.get("claim"), str):
            return str(body["claim"])
        if isinstance(body, list) and key.isdigit() and int(key) < len(body):
            body = body[int(key)]
        elif isinstance(body, dict):
            body = body.get(key)
    return ""


def _spell(value: Any) -> str:
    """A value in a few words; what is no longer there is not told."""
    if value is None:
        return "…"
    if isinstance(value, dict):
        named = (value[name] for name in HEADLINES if isinstance(value.get(name), str))
        return next(named, ", ".join(str(one) for one in value.values() if isinstance(one, str)))
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
