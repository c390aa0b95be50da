"""Checks of answers: the LAFS envelope (LAFS 12.1), CLI envelopes and stream lines, and format
flags. Pure.

Each check returns why the document fails; an empty text means that it passes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

import msgspec

from handrail.contract.catalogue import CONTEXT_MISSING, CONTEXT_STALE, FORMAT_CONFLICT, KINDS
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
    reserve_checks,
)
from handrail.contract.envelopes.cli import (
    FORMATS,
    SCHEMA_VERSION,
    FlagInput,
    ResolvedFormat,
    asked_by_flags,
)
from handrail.contract.envelopes.lafs import SCHEMA_URI
from handrail.contract.outcome import Fault, Json
from handrail.contract.registered import REGISTRY
from handrail.contract.wording import quote

# Shape, as the LAFS schema defines it

LEVELS = ("minimal", "standard", "full", "custom")
TRANSPORTS = ("cli", "http", "grpc", "sdk")
CATEGORIES = tuple(sorted({kind.category for kind in KINDS.values()}))
AGENT_ACTIONS = tuple(sorted({kind.agent_action for kind in KINDS.values()}))

_VERSION = Text(pattern=re.compile(r"[0-9]+\.[0-9]+\.[0-9]+"))
_WARNING = Members(
    required={"code": Text(), "message": Text()},
    optional={"deprecated": Text(), "replacement": Text(), "removeBy": Text()},
)
_META = Members(
    required={
        "specVersion": _VERSION,
        "schemaVersion": _VERSION,
        "timestamp": Text(form="date-time"),
        "operation": Text(least=1, most=128),
        "requestId": Text(least=3, most=128),
        "transport": Text(choices=TRANSPORTS),
        "strict": Truth(),
        "mvi": Text(choices=LEVELS),
        "contextVersion": Whole(least=0),
    },
    optional={"sessionId": Text(least=1, most=256), "warnings": Items(of=_WARNING)},
    is_closed=True,
)
_ERROR = Members(
    required={
        "code": Text(pattern=re.compile(r"E_[A-Z0-9]+_[A-Z0-9_]+")),
        "message": Text(least=1, most=1024),
        "category": Text(choices=CATEGORIES),
        "retryable": Truth(),
        "retryAfterMs": Either(rules=(Whole(least=0), Null())),
        "details": ANY_OBJECT,
    },
    optional={
        "agentAction": Text(choices=AGENT_ACTIONS),
        "escalationRequired": Truth(),
        "suggestedAction": Text(most=512),
        "docUrl": Text(form="uri"),
    },
)
_PAGE = Members(
    required={"mode": Text(choices=("offset", "cursor", "none"))},
    optional={
        "limit": Whole(least=1, most=1000),
        "offset": Whole(least=0),
        "nextCursor": Either(rules=(Text(most=2048), Null())),
        "hasMore": Truth(),
        "total": Either(rules=(Whole(least=0), Null())),
    },
    is_closed=True,
)
_PAGE_NEEDS = {"cursor": ("nextCursor", "hasMore"), "offset": ("limit", "offset", "hasMore")}


def _envelope(*, is_closed: bool) -> Members:
    return Members(
        required={
            "$schema": Text(choices=(SCHEMA_URI,)),
            "_meta": _META,
            "success": Truth(),
            "result": Either(rules=(ANY_OBJECT, ANY_ARRAY, Null())),
        },
        optional={
            "error": Either(rules=(_ERROR, Null())),
            "page": Either(rules=(_PAGE, Null())),
            "_extensions": ANY_OBJECT,
        },
        is_closed=is_closed,
    )


_STRICT = _envelope(is_closed=True)
_LENIENT = _envelope(is_closed=False)


def envelope_findings(doc: Json) -> Iterator[Finding]:
    """Yield every rule of the envelope schema that the document breaks."""
    yield from findings(doc, _STRICT if _is_strict(doc) else _LENIENT)
    if isinstance(doc, dict):
        yield from _error_findings(doc)
        yield from _page_findings(doc.get("page"))


def _is_strict(doc: Json) -> bool:
    meta = doc.get("_meta") if isinstance(doc, dict) else None
    return isinstance(meta, dict) and meta.get("strict", True) is True


def _error_findings(doc: dict[str, Json]) -> Iterator[Finding]:
    """Yield what is wrong with `error`: only a failure has one, and every failure does."""
    error = doc.get("error")
    if doc.get("success") is True and isinstance(error, dict):
        message = "A success has no error; leave the key out."
        yield SchemaError(pointer="/error", rule="type", message=message)
    if doc.get("success") is False and "error" not in doc:
        yield SchemaError(pointer="/error", rule="required", message="A failure needs an error object.")
    if doc.get("success") is False and "error" in doc and error is None:
        yield SchemaError(pointer="/error", rule="type", message="The error of a failure cannot be null.")


def _page_findings(page: Json) -> Iterator[Finding]:
    """Yield what the paging mode requires and the page lacks; what it must not have is a separate check."""
    mode = page.get("mode") if isinstance(page, dict) else None
    for key in _PAGE_NEEDS.get(mode, ()) if isinstance(mode, str) else ():
        if key not in page:
            message = f"A page of mode {mode} needs {key}."
            yield SchemaError(pointer=f"/page/{key}", rule="required", message=message)


# Checks (LAFS 12.1)

Envelope: TypeAlias = dict[str, Json]

_CONTEXT_CODES = (CONTEXT_MISSING.lafs_code, CONTEXT_STALE.lafs_code)
_PAGE_FORBIDS = {
    "cursor": ("offset",),
    "offset": ("nextCursor",),
    "none": ("limit", "offset", "nextCursor", "hasMore", "total"),
}
_KNOWN_EXTENSIONS = ("contextLedger", "lafsContextRequired", "context", "lafs")


def _code_registered(doc: Envelope) -> str:
    code = _code(doc)
    return "" if not code or code in REGISTRY else f"{quote(code)} is not a registered code."


def _never_fails(_: Envelope) -> str:
    """Return no finding: LAFS only advises this, or the shape check already covers it."""
    return ""


def _transport_mapped(doc: Envelope) -> str:
    if doc["_meta"]["transport"] == "sdk" or not _code_registered(doc):
        return ""
    return f"{quote(_code(doc))} has no status for the transport {doc['_meta']['transport']}."


def _strict_behavior(doc: Envelope) -> str:
    if not doc["_meta"]["strict"]:
        return ""
    nulls = [key for key in ("error", "page") if key in doc and doc[key] is None]
    return f"Under strict, leave {' and '.join(nulls)} out instead of writing null." if nulls else ""


def _paging_consistent(doc: Envelope) -> str:
    page = doc.get("page")
    if page is None:
        return ""
    foreign = [key for key in _PAGE_FORBIDS[page["mode"]] if key in page]
    return f"A page of mode {page['mode']} must not have {', '.join(foreign)}." if foreign else ""


def _mutation_failure(doc: Envelope) -> str:
    if not _needs_context(_extensions(doc)):
        return ""
    meta = doc["_meta"]
    if doc["success"]:
        has_identity = meta["contextVersion"] > 0 or "sessionId" in meta
        return (
            "" if has_identity else "Context is required, but neither contextVersion nor sessionId names it."
        )
    if _code(doc) in _CONTEXT_CODES:
        return ""
    return f"Where context is required, a failure is {' or '.join(_CONTEXT_CODES)}."


def _preservation(doc: Envelope) -> str:
    ledger = _ledger(_extensions(doc))
    if ledger is None:
        return ""
    return _ledger_version_trouble(doc, ledger) or _ledger_failure_trouble(doc, ledger)


def _ledger_version_trouble(doc: Envelope, ledger: Envelope) -> str:
    version, previous = ledger.get("version"), ledger.get("previousVersion")
    if not _is_number(version):
        return "The ledger's version is not a number."
    if version != doc["_meta"]["contextVersion"]:
        return "The ledger's version differs from contextVersion."
    if _is_number(previous) and version < previous:
        return "The ledger's version is below its previousVersion."
    if doc["success"] and isinstance(ledger.get("removedConstraints"), list) and ledger["removedConstraints"]:
        return "A success removed constraints; only an explicit mutation may."
    return ""


def _ledger_failure_trouble(doc: Envelope, ledger: Envelope) -> str:
    if doc["success"] or ledger.get("required") is not True:
        return ""
    allowed = _CONTEXT_CODES[1:] if ledger.get("stale") is True else _CONTEXT_CODES
    return "" if _code(doc) in allowed else f"The failure of this ledger must be {' or '.join(allowed)}."


def _advice(doc: Envelope) -> Iterator[Advisory]:
    action, registered = _error(doc).get("agentAction"), REGISTRY.get(_code(doc))
    if action is not None and registered is not None and action != registered.agent_action:
        detail = f"agentAction is {action}; the registry has {registered.agent_action} for {_code(doc)}."
        yield Advisory(name="error_registry_agent_action", detail=detail)
    if not doc["success"] and doc["result"] is not None:
        detail = "A failure carries a result; LAFS 6.1 expects null, the reference checker accepts it."
        yield Advisory(name="failure_with_result", detail=detail)
    foreign = [key for key in _extensions(doc) if not key.startswith("x-") and key not in _KNOWN_EXTENSIONS]
    if foreign:
        detail = f"{len(foreign)} keys of _extensions do not start with x- (LAFS 6.2)."
        yield Advisory(name="extension_prefix", detail=detail)


def _error(doc: Envelope) -> Envelope:
    return doc.get("error") or {}


def _code(doc: Envelope) -> str:
    return str(_error(doc).get("code", ""))


def _extensions(doc: Envelope) -> Envelope:
    extensions: Envelope = doc.get("_extensions", {})
    return extensions


def _needs_context(extensions: Envelope) -> bool:
    return (
        extensions.get("lafsContextRequired") is True
        or _member(extensions.get("context"), "required") is True
        or _member(extensions.get("lafs"), "contextRequired") is True
    )


def _ledger(extensions: Envelope) -> Envelope | None:
    """Return the ledger extension, by its name or by the older `context`; an array counts as one without
    members.
    """
    found = extensions.get("contextLedger")
    ledger = extensions.get("context") if found is None else found
    if isinstance(ledger, list):
        return {}
    return ledger if isinstance(ledger, dict) else None


def _member(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else None


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


ENVELOPE = Profile(
    kind="lafs",
    shape_check="envelope_schema_valid",
    shape=envelope_findings,
    checks=(
        NamedCheck(name="envelope_invariants", tier="core", why_not=_never_fails),
        NamedCheck(name="error_code_registered", tier="core", why_not=_code_registered),
        NamedCheck(name="agent_action_valid", tier="standard", why_not=_never_fails),
        NamedCheck(name="error_registry_agent_action", tier="standard", why_not=_never_fails),
        NamedCheck(name="transport_mapping_consistent", tier="standard", why_not=_transport_mapped),
        NamedCheck(name="meta_mvi_present", tier="standard", why_not=_never_fails),
        NamedCheck(name="meta_strict_present", tier="standard", why_not=_never_fails),
        NamedCheck(name="strict_mode_behavior", tier="standard", why_not=_strict_behavior),
        NamedCheck(name="pagination_mode_consistent", tier="standard", why_not=_paging_consistent),
        NamedCheck(name="strict_mode_enforced", tier="standard", why_not=_never_fails),
        NamedCheck(name="context_mutation_failure", tier="complete", why_not=_mutation_failure),
        NamedCheck(name="context_preservation_valid", tier="complete", why_not=_preservation),
        *reserve_checks(("context_validation", "pagination_validation")),
    ),
    advice=_advice,
)


# The CLI envelope and its stream lines: exact keys, frozen codes (CLI sections 3, 5, 6)

_CORE = {kind.code: kind for kind in KINDS.values() if kind.code == kind.native}

_CLI_ERROR = Members(
    required={
        "code": Text(pattern=re.compile("E_[A-Z0-9_]+")),
        "message": Text(least=1),
        "details": ANY_OBJECT,
        "retryable": Truth(),
    },
    is_closed=True,
)
_NOTICE = Members(required={"severity": Text(choices=("info", "warning"))}, optional={"type": Text(least=1)})
_CLI_META = Members(
    required={"duration_ms": Whole(least=0)},
    optional={"notices": Items(of=_NOTICE, least=1)},
    is_closed=True,
)
_DOCUMENT = Members(
    required={"ok": Truth(), "schema_version": Text(choices=(SCHEMA_VERSION,))},
    optional={
        "type": Text(least=1),
        "data": Either(rules=(ANY_OBJECT, ANY_ARRAY)),
        "error": _CLI_ERROR,
        "meta": _CLI_META,
    },
    is_closed=True,
)


def cli_findings(doc: Json) -> Iterator[Finding]:
    """Yield every broken rule of the envelope. A stream line is recognised by its `type` and may
    omit `meta`.
    """
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


def _cli_advice(doc: dict[str, Json]) -> Iterator[Advisory]:
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
    advice=_cli_advice,
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
"""The reference implementation's spelling of the same input."""
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
    """Return the profile that judges flag input with this resolver."""

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
    """Return the strongest configured default that is set."""
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
