"""The refusal of a request id that was used before with different content. Pure."""

from __future__ import annotations

from handrail.contract.catalogue import E_CONFLICT
from handrail.contract.outcome import Fault, Json, NextCall
from handrail.contract.wording import quote


def refuse_reused_request(
    request_id: str, resource: str, *, next_call: NextCall | None = None, **existing: Json
) -> Fault:
    """Return the refusal; `existing` names what the first call with this request id made."""
    offer = "" if next_call is None else f" To use the existing {resource}, make the call offered here."
    return Fault(
        E_CONFLICT,
        f"The request id {quote(request_id)} was used before with different content. Nothing was stored.",
        details={"reason": "request_id_used", "request_id": request_id, "resource": resource, **existing},
        hint=f"Send another request id for another {resource}.{offer}",
        next_call=next_call,
    )
