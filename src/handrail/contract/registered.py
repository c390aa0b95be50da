"""The 13 registered LAFS codes, and the addresses and warnings that LAFS itself names. Pure."""

from __future__ import annotations

import msgspec


class Registered(msgspec.Struct, frozen=True, kw_only=True):
    """The LAFS registry's facts about one of its codes; a row may be more precise."""

    category: str
    is_retryable: bool = False
    agent_action: str
    title: str
    """Handrail's fixed title of problem details."""


# fmt: off
REGISTRY: dict[str, Registered] = {
    "E_FORMAT_CONFLICT": Registered(
        category="CONTRACT", agent_action="stop", title="Two output formats were asked for"),
    "E_FIELD_CONFLICT": Registered(
        category="CONTRACT", agent_action="stop", title="Two field selections were asked for"),
    "E_CONTEXT_MISSING": Registered(
        category="CONTRACT", agent_action="retry_modified", title="Required context is missing"),
    "E_VALIDATION_SCHEMA": Registered(
        category="VALIDATION", agent_action="retry_modified", title="The request is not valid"),
    "E_DISCLOSURE_UNKNOWN_FIELD": Registered(
        category="VALIDATION", agent_action="retry_modified", title="A field name is unknown"),
    "E_MVI_BUDGET_EXCEEDED": Registered(
        category="VALIDATION", agent_action="retry_modified", title="The answer does not fit the budget"),
    "E_NOT_FOUND_RESOURCE": Registered(
        category="NOT_FOUND", agent_action="stop", title="Not found"),
    "E_CONFLICT_VERSION": Registered(
        category="CONFLICT", is_retryable=True, agent_action="refresh_context", title="The state moved on"),
    "E_CONTEXT_STALE": Registered(
        category="CONFLICT", is_retryable=True, agent_action="refresh_context", title="The context is stale"),
    "E_RATE_LIMITED": Registered(
        category="RATE_LIMIT", is_retryable=True, agent_action="wait", title="Too many requests"),
    "E_TRANSIENT_UPSTREAM": Registered(
        category="TRANSIENT", is_retryable=True, agent_action="retry", title="Temporarily unavailable"),
    "E_INTERNAL_UNEXPECTED": Registered(
        category="INTERNAL", agent_action="escalate", title="The request could not be carried out"),
    "E_MIGRATION_UNSUPPORTED_VERSION": Registered(
        category="MIGRATION", agent_action="stop", title="The version is not supported"),
}
"""The 13 registered LAFS codes."""
# fmt: on

BUDGET_TRUNCATED_WARNING = "E_MVI_BUDGET_TRUNCATED"
"""LAFS 9.5.2 names this warning itself; every other one begins with `W_`."""


def type_uri(lafs_code: str) -> str:
    """Return the registry's address of a code, the `type` of problem details."""
    return "https://lafs.dev/errors/v1/" + lafs_code.removeprefix("E_").lower().replace("_", "-")
