"""Flag semantics (LAFS 5.1, 5.2): does a resolver give the format that the input calls for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from handrail.contract.catalogue import FORMAT_CONFLICT
from handrail.contract.conformance.profile import NamedCheck, Profile
from handrail.contract.conformance.rules import Either, Finding, Members, Null, Text, Truth, findings
from handrail.contract.format import FORMATS, FlagInput, ResolvedFormat
from handrail.contract.outcome import Fault, Json

Resolver = Callable[[FlagInput], ResolvedFormat]

_CAMEL = {
    "humanFlag": "human_flag",
    "jsonFlag": "json_flag",
    "requestedFormat": "requested_format",
    "projectDefault": "project_default",
    "userDefault": "user_default",
}
"""How the reference implementation spells the same input."""
_FORMAT = Either(rules=(Text(), Null()))
_INPUT = Members(
    optional={
        "human_flag": Truth(),
        "json_flag": Truth(),
        "requested_format": _FORMAT,
        "environment": _FORMAT,
        "project_default": _FORMAT,
        "user_default": _FORMAT,
    },
    is_closed=True,
)

FLAG_KEYS = frozenset(_INPUT.optional) | frozenset(_CAMEL)


def flag_findings(doc: Json) -> Iterator[Finding]:
    return findings(snake_case(doc), _INPUT)


def snake_case(doc: Json) -> Json:
    return {_CAMEL.get(key, key): value for key, value in doc.items()} if isinstance(doc, dict) else doc


def flag_profile(resolve: Resolver) -> Profile:
    """How flag input is judged with this resolver."""

    def against(check: Callable[[FlagInput, ResolvedFormat | Fault], str]) -> Callable[[Json], str]:
        def why_not(doc: Json) -> str:
            flags = FlagInput(**snake_case(doc))
            return check(flags, _resolved(resolve, flags))

        return why_not

    return Profile(
        kind="flags",
        shape_check="flags_schema_valid",
        shape=flag_findings,
        checks=(
            NamedCheck(name="json_protocol_default", tier="standard", why_not=against(_default_is_json)),
            NamedCheck(name="config_override_respected", tier="complete", why_not=against(_config_wins)),
            NamedCheck(name="flag_conflict_rejected", tier="complete", why_not=against(_conflict_refused)),
        ),
    )


def _resolved(resolve: Resolver, flags: FlagInput) -> ResolvedFormat | Fault:
    try:
        return resolve(flags)
    except Fault as fault:
        return fault


def _default_is_json(flags: FlagInput, resolved: ResolvedFormat | Fault) -> str:
    if _has_flag(flags) or _config(flags) is not None:
        return ""
    if isinstance(resolved, ResolvedFormat) and resolved.format == "json":
        return ""
    return "Nothing asks for a format, and the answer is not json."


def _config_wins(flags: FlagInput, resolved: ResolvedFormat | Fault) -> str:
    config = _config(flags)
    if _has_flag(flags) or config is None:
        return ""
    if config not in FORMATS:
        return "" if isinstance(resolved, Fault) else "A default that is no format was not refused."
    if isinstance(resolved, ResolvedFormat) and resolved.format == FORMATS[config]:
        return ""
    return "No flag is given, and the configured default does not decide."


def _conflict_refused(flags: FlagInput, resolved: ResolvedFormat | Fault) -> str:
    refused = isinstance(resolved, Fault) and resolved.kind is FORMAT_CONFLICT
    if _is_conflict(flags):
        return "" if refused else "Two different formats are asked for by flags and not refused."
    return "The flags agree, and are refused as a conflict." if refused else ""


def _has_flag(flags: FlagInput) -> bool:
    return flags.human_flag or flags.json_flag or flags.requested_format is not None


def _config(flags: FlagInput) -> str | None:
    """The strongest configured default that is set."""
    configured = (flags.environment or None, flags.project_default, flags.user_default)
    return next((value for value in configured if value is not None), None)


def _is_conflict(flags: FlagInput) -> bool:
    asked = {
        FORMATS[name]
        for name, is_asked in (
            ("human", flags.human_flag),
            ("json", flags.json_flag),
            (flags.requested_format or "", flags.requested_format in FORMATS),
        )
        if is_asked
    }
    return len(asked) > 1
