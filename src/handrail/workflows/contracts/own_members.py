"""Members of an artifact that Handrail fills in: `readOnly` in the schema of its contract. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from handrail.contract.json.places import join_pointer
from handrail.contract.outcome import Json
from handrail.workflows.compiled import Schema
from handrail.workflows.problem import Problem, make_problem

FILES = "files"
OWN_MEMBERS = (FILES, "filesTotal", "linesAdded", "linesRemoved", "source", "checks", "proofs")
"""Names of what Handrail can fill in: the files that changed since the run began, and what it executed."""


def list_own_members(schema: Mapping[str, Json]) -> frozenset[str]:
    """Return the members that Handrail fills in, and no agent or person is asked for."""
    members = schema.get("properties")
    found = members.items() if isinstance(members, dict) else ()
    return frozenset(name for name, one in found if isinstance(one, dict) and one.get("readOnly") is True)


def is_asked_for(schema: Json) -> bool:
    """Whether a prompt asks for a member: Handrail does not fill it in, and it is not only for
    older reports.
    """
    return not isinstance(schema, dict) or not (schema.get("readOnly") or schema.get("deprecated"))


def find_unfilled(schema: Schema) -> Iterator[Problem]:
    """Yield every `readOnly` member that Handrail does not fill in, or that an agent is required to give."""
    required = schema.get("required")
    for name in sorted(list_own_members(schema)):
        place = join_pointer("/properties", name)
        if name not in OWN_MEMBERS:
            message = f"Nothing fills in the readOnly member {name}."
            fix = f"Remove readOnly, or use one of {', '.join(OWN_MEMBERS)}."
            yield make_problem("broken_contract", f"{place}/readOnly", message, fix)
        elif isinstance(required, list) and name in required:
            message = f"{name} is readOnly, and an agent is required to send it."
            yield make_problem("broken_contract", place, message, f"Take {name} out of required.")
