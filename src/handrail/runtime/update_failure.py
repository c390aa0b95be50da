"""How a failed update is told: always with the stage it reached and the version that is installed now."""

from __future__ import annotations

from handrail import __version__
from handrail.contract.catalogue import Kind
from handrail.contract.outcome import Json, PartlyDone


def update_failed(
    kind: Kind,
    message: str,
    *,
    stage: str,
    current: str | None = __version__,
    target: str | None = None,
    command: tuple[str, ...] = (),
    hint: str = "",
    more: dict[str, Json] | None = None,
) -> PartlyDone:
    """Every failure says how far it came and what is installed now."""
    details: dict[str, Json] = {
        "stage": stage,
        "current_version": current,
        "target_version": target,
        "binary_replaced": False,
        "skill_sync_status": "skipped",
        "command": list(command),
        **(more or {}),
    }
    return PartlyDone(kind, message, details=details, hint=hint)
