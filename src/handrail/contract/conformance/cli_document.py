"""The CLI documents, checked: envelopes, stream lines, flags of a format; and the exit statuses. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import msgspec

from handrail.contract.catalogue import FORMAT_CONFLICT, KINDS
from handrail.contract.conformance.rules import (
    ANY_ARRAY,
    ANY_OBJECT,
    Advisory,
    Either,
    Finding,
    Items,
    Members,
    NamedCheck,
    Null,
    Profile,
    SchemaError,
    Text,
    Truth,
    Whole,
    findings,
)
from handrail.contract.envelopes.cli import (
    FORMATS,
    SCHEMA_VERSION,
    FlagInput,
    ResolvedFormat,
    asked_by_flags,
)
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote

# The CLI envelope and its stream lines: exact keys, frozen codes (CLI sections 3, 5, 6)

_CORE = {kind.code: kind for kind in KINDS.values() if kind.code == kind.native}

_ERROR = Members(
    required={
        "code": Text(pattern=re.compile("E_[A-Z0-9_]+")),
        "message": Text(least=1),
        "details": ANY_OBJECT,
        "retryable": Truth(),
    },
    is_closed=True,
)
_NOTICE = Members(required={"severity": Text(choices=("info", "warning"))}, optional={"type": Text(least=1)})
_META = Members(
    required={"duration_ms": Whole(least=0)},
    optional={"notices": Items(of=_NOTICE, least=1)},
    is_closed=True,
)
_DOCUMENT = Members(
    required={"ok": Truth(), "schema_version": Text(choices=(SCHEMA_VERSION,))},
    optional={
        "type": Text(least=1),
        "data": Either(rules=(ANY_OBJECT, ANY_ARRAY)),
        "error": _ERROR,
        "meta": _META,
    },
    is_closed=True,
)


def cli_findings(doc: Json) -> Iterator[Finding]:
    """Every broken rule of the envelope; a stream line is known by its `type` and may leave `meta` out."""
    yield from findings(doc, _DOCUMENT)
    if isinstance(doc, dict) and "type" not in doc and "meta" not in doc:
        message = "The key meta is missing; only a stream line may leave it out."
        yield SchemaError(pointer="/meta", rule="required", message=message)


def _invariants(doc: dict[str, Json]) -> str:
    wanted, unwanted = ("data", "error") if doc["ok"] else ("error", "data")
    if wanted in doc and unwanted not in doc:
        return ""
    return f"When ok is {str(doc['ok']).lower()}, the document has {wanted} and never {unwanted}."


def _retryable_frozen(doc: dict[str, Json]) -> str:
    error = doc.get("error") or {}
    core = _CORE.get(error.get("code", ""))
    if core is None or error["retryable"] == core.is_retryable:
        return ""
    return f"{core.code} is always retryable {str(core.is_retryable).lower()}."


def _advice(doc: dict[str, Json]) -> Iterator[Advisory]:
    error = doc.get("error")
    if error is not None and error["code"] not in _CORE:
        detail = f"{quote(error['code'])} is not a core code; the tool must declare it with its exit status."
        yield Advisory(name="cli_extension_code", detail=detail)


CLI_DOCUMENT = Profile(
    kind="cli",
    shape_check="cli_schema_valid",
    shape=cli_findings,
    checks=(
        NamedCheck(name="cli_invariants", tier="core", why_not=_invariants),
        NamedCheck(name="cli_retryable_frozen", tier="standard", why_not=_retryable_frozen),
    ),
    advice=_advice,
)


# Flags: does a resolver choose the format that its input asks for (LAFS 5.1, 5.2)

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
    if len(asked_by_flags(flags)) > 1:
        return "" if refused else "Two different formats are asked for by flags and not refused."
    return "The flags agree, and are refused as a conflict." if refused else ""


def _has_flag(flags: FlagInput) -> bool:
    return flags.human_flag or flags.json_flag or flags.requested_format is not None


def _config(flags: FlagInput) -> str | None:
    """The strongest configured default that is set."""
    configured = (flags.environment or None, flags.project_default, flags.user_default)
    return next((value for value in configured if value is not None), None)


# Exit statuses (CLI section 6)


class Exit(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table of exit statuses."""

    meaning: str
    agent: str


# fmt: off
EXITS: dict[int, Exit] = {
    0: Exit(meaning="Success.", agent="Continue."),
    1: Exit(meaning="Something failed that no other status names.", agent="Read the error to decide."),
    2: Exit(meaning="The call is wrong.", agent="Do not retry; correct the arguments."),
    3: Exit(meaning="What was named does not exist.", agent="Do not retry; look for the right name."),
    4: Exit(meaning="Permission, sign-in or configuration.", agent="Do not retry; tell the user."),
    5: Exit(meaning="A confirmation is missing.", agent="Run the next command, then retry with its token."),
    6: Exit(meaning="The state moved on, or a token is invalid.", agent="Read the state, then decide."),
    7: Exit(meaning="A temporary network or server problem.", agent="Wait, then retry."),
    8: Exit(meaning="The deadline passed.", agent="Wait, then retry, with more time if the work is large."),
    9: Exit(meaning="A person must act.", agent="Tell the user what to do; run resume afterwards."),
    130: Exit(meaning="A signal ended the call.", agent="Retry; nothing is half applied."),
}
"""Every exit status by its number."""
# fmt: on
