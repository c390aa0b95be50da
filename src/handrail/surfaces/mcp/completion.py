"""What a client offers while a person types an argument: ids, tags and codes that begin with it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import UNSET

from handrail.contract.catalogue import KINDS
from handrail.contract.fence import one_line
from handrail.contract.outcome import Json
from handrail.runtime.runtime import Runtime
from handrail.runtime.workflow_catalog import catalog_of, project_of
from handrail.surfaces.mcp.mirror import told
from handrail.surfaces.mcp.prompts import QUERY, RESUME
from handrail.surfaces.mcp.resources import SCHEME

MOST_VALUES = 20
LOOKED_AT = 500
"""Sessions and builtins, the latest or first ones; more are found by a search, not by completion."""


class Completed(msgspec.Struct, frozen=True, kw_only=True):
    """The values to offer, and how many there are."""

    values: tuple[str, ...]
    total: int


def complete_prompt(runtime: Runtime, name: str, argument: str, typed: str) -> Completed:
    """For the query of `resume` the sessions; a goal is the person's own words."""
    if (name, argument) == (RESUME, QUERY):
        return _beginning(_session_ids(runtime, "id"), typed)
    return Completed(values=(), total=0)


def complete_address(runtime: Runtime, template: str, typed: str) -> Completed:
    """For the variable part of a resource template; a template that is not ours has no values."""
    match template.removeprefix(SCHEME):
        case "workflows{?query}":
            return _beginning(_tags(runtime), typed)
        case "workflows/{id}":
            return _beginning(_workflow_ids(runtime), typed)
        case "sessions/{id}":
            return _beginning(_session_ids(runtime, "id"), typed)
        case "runs/{id}/graph":
            return _beginning(_session_ids(runtime, "run_id"), typed)
        case "contracts/{id}":
            return _beginning(_contract_ids(runtime), typed)
        case "errors/{code}":
            return _beginning(KINDS, typed)
        case _:
            return Completed(values=(), total=0)


def _beginning(known: Iterable[str], typed: str) -> Completed:
    folded = typed.casefold()
    fitting = [value for value in dict.fromkeys(known) if value.casefold().startswith(folded)]
    return Completed(values=tuple(fitting[:MOST_VALUES]), total=len(fitting))


def _workflow_ids(runtime: Runtime) -> list[str]:
    catalog = catalog_of(runtime, project_of(runtime, UNSET))
    return [entry.id for entry in catalog.entries if entry.is_usable]


def _tags(runtime: Runtime) -> list[str]:
    catalog = catalog_of(runtime, project_of(runtime, UNSET))
    return sorted({one_line(tag) for entry in catalog.entries if entry.is_usable for tag in entry.tags})


def _session_ids(runtime: Runtime, key: str) -> list[str]:
    listed = told(runtime, "session.list", {"limit": LOOKED_AT})
    return [row[key] for row in listed["items"] if row[key]]


def _contract_ids(runtime: Runtime) -> list[str]:
    params: dict[str, Json] = {"kind": "contract", "limit": LOOKED_AT}
    return [row["id"] for row in told(runtime, "workflow.builtins", params)["items"]]
