"""The documents beside the envelope: LAFS discovery and the agent card. Pure."""

from __future__ import annotations

import re

from handrail.contract.conformance.profile import Profile
from handrail.contract.conformance.rules import ANY_OBJECT, Items, Members, Rule, Text, Truth, findings

_VERSION = Text(pattern=re.compile(r"[0-9]+\.[0-9]+\.[0-9]+"))
_URI = Text(form="uri")
_FILLED = Text(least=1)
_NAMES = Items(of=Text())

_CAPABILITY = Members(
    required={
        "name": Text(least=1, most=100),
        "version": _VERSION,
        "operations": Items(of=Text(least=1, most=50), least=1),
    },
    optional={"description": Text(most=500), "optional": Truth()},
    is_closed=True,
)
_DISCOVERY = Members(
    required={
        "$schema": _URI,
        "lafs_version": _VERSION,
        "service": Members(
            required={"name": Text(least=1, most=100), "version": _VERSION},
            optional={"description": Text(most=500)},
            is_closed=True,
        ),
        "capabilities": Items(of=_CAPABILITY, least=1),
        "endpoints": Members(
            required={"envelope": _FILLED, "discovery": _FILLED},
            optional={"context": _FILLED},
            is_closed=True,
        ),
    },
    optional={"extensions": ANY_OBJECT},
    is_closed=True,
)

_EXTENSION = Members(
    required={"uri": _URI, "description": Text(), "required": Truth()}, optional={"params": ANY_OBJECT}
)
_SKILL = Members(
    required={"id": _FILLED, "name": _FILLED, "description": _FILLED, "tags": Items(of=Text(), least=1)},
    optional={"examples": _NAMES, "inputModes": _NAMES, "outputModes": _NAMES},
)
_SCHEME = Members(
    required={"type": Text(choices=("http", "apiKey", "oauth2", "openIdConnect"))},
    optional={"description": Text(), "scheme": Text(), "bearerFormat": Text()},
)
_CARD_OPTIONS: dict[str, Rule] = {
    "$schema": _URI,
    "provider": Members(required={"organization": _FILLED, "url": _URI}),
    "securitySchemes": Members(others=_SCHEME),
    "security": Items(of=Members(others=_NAMES)),
    "documentationUrl": _URI,
    "iconUrl": _URI,
}
_CARD = Members(
    required={
        "name": Text(least=1, most=128),
        "description": Text(least=1, most=2048),
        "version": _VERSION,
        "url": _URI,
        "capabilities": Members(
            optional={
                "streaming": Truth(),
                "pushNotifications": Truth(),
                "extendedAgentCard": Truth(),
                "extensions": Items(of=_EXTENSION),
            }
        ),
        "defaultInputModes": Items(of=Text(), least=1),
        "defaultOutputModes": Items(of=Text(), least=1),
        "skills": Items(of=_SKILL, least=1),
    },
    optional=_CARD_OPTIONS,
)

DISCOVERY = Profile(
    kind="discovery", shape_check="discovery_schema_valid", shape=lambda doc: findings(doc, _DISCOVERY)
)
CARD = Profile(kind="card", shape_check="card_schema_valid", shape=lambda doc: findings(doc, _CARD))
