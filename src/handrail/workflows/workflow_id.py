"""What the id of a workflow says about it. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

WorkflowKind: TypeAlias = Literal["workflow", "routine"]
IdStatus: TypeAlias = Literal["namespaced", "legacy"]


def id_status(workflow_id: str) -> IdStatus:
    """An id without a dot is from before namespaces; it runs, with a warning."""
    return "namespaced" if "." in workflow_id else "legacy"
