"""The settings that exist, as the build packs them."""

from __future__ import annotations

import msgspec

from handrail.contract.catalogue import E_IO
from handrail.contract.outcome import Fault, Json
from handrail.contract.redaction import redact_credentials
from handrail.runtime.runtime import Runtime

PACKED_NAME = "settings.json"
"""What is packed with the program: the names of all settings, and what each is for."""


class PackedSetting(msgspec.Struct, frozen=True, kw_only=True):
    """One setting as the reference page has it."""

    name: str
    of: tuple[str, ...]
    takes: str
    default: Json
    text: str


def list_packed(rt: Runtime) -> list[PackedSetting]:
    """Every setting as the reference page has it. Raises Fault E_IO when the program was packed without."""
    content = rt.installation().packed(PACKED_NAME)
    if content is None:
        raise Fault(
            E_IO,
            "The names of the settings are missing in this installation.",
            hint="Install Handrail again.",
        )
    return msgspec.json.decode(content, type=list[PackedSetting])


def redact_value(value: Json) -> Json:
    """An address may hold a login."""
    match value:
        case str():
            return redact_credentials(value)
        case list():
            return [redact_value(one) for one in value]
        case dict():
            return {str(name): redact_value(held) for name, held in value.items()}
        case _:
            return value
