"""The CLI dialect: an Outcome as `{ok, schema_version, data | error, meta}`, its bytes, and its
format. Pure.

The CLI resolves the format with this file and the conformance checker checks it (LAFS 5.1, 5.2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Literal, TypeAlias, assert_never

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_USAGE, FORMAT_CONFLICT, INVARIANT_VIOLATION, RESULTS_STALE
from handrail.contract.json.numbers import LARGEST_INTEGER
from handrail.contract.outcome import Call, Failure, Fault, Json, NextCall, Notice, Outcome, Page, Success
from handrail.contract.wording import escape_hidden, quote

# What every dialect derives from a Failure and its catalogue row


def hint_of(failure: Failure) -> str:
    """Return what to do now: the failure's own text, or that of its row."""
    return failure.hint or failure.kind.hint


def wait_ms_of(failure: Failure) -> int | None:
    """Return how long to wait before the same call may work; None if waiting does not help."""
    return failure.kind.wait_ms if failure.retry_after_ms is None else failure.retry_after_ms


def domain_code_of(failure: Failure) -> dict[str, Json]:
    """Return `domain_code`, unless the kind itself is a native code."""
    kind = failure.kind
    return {} if kind.code == kind.native else {"domain_code": kind.code}


def native_details(failure: Failure) -> dict[str, Json]:
    """Return the details of the CLI dialect without the next call, which each interface spells in
    its own way.
    """
    details = {**failure.details, **domain_code_of(failure), "agent_action": failure.kind.agent_action}
    if failure.kind.needs_escalation:
        details["escalation_required"] = True
    wait_ms = wait_ms_of(failure)
    if wait_ms is not None:
        details["retry_after_ms"] = wait_ms
    details["hint"] = hint_of(failure)
    return details


def operation_call(call: NextCall) -> dict[str, Json]:
    """Return the next call in a form that every interface can spell."""
    return {"operation": call.operation, "params": call.params}


# The CLI document

SCHEMA_VERSION = "1.0"

PLACE_KEYS = ("next_cursor", "offset", "next_offset", "has_more")
"""Keys for the position of a page in its list: inside the payload here, in `page` in the LAFS dialect."""

CommandLine = Callable[[NextCall], str | None]
"""A function that spells a next call as a command line; it returns None if there is no such command."""

_LONE_SURROGATE = "[\ud800-\udfff]"


def to_cli(outcome: Outcome, call: Call, *, command_line: CommandLine) -> dict[str, Json]:
    """Return the one document that a command prints."""
    match outcome:
        case Success():
            return {
                "ok": True,
                "schema_version": SCHEMA_VERSION,
                "data": payload_of(outcome),
                "meta": _meta(call, outcome.notices),
            }
        case Failure():
            return {
                "ok": False,
                "schema_version": SCHEMA_VERSION,
                "error": _error(outcome, command_line),
                "meta": _meta(call, ()),
            }
        case never:
            assert_never(never)


def payload_of(success: Success) -> dict[str, Json] | list[Json]:
    """Return the payload with its paging keys: CLI `data`, MCP `structuredContent`, and LAFS before
    the split.
    """
    page, data = success.page, success.data
    if page is None:
        return data
    assert isinstance(data, dict), "a page stands in an object"
    place = _place(page)
    rows = {page.list_key: list(page.items)}
    if page.list_key != "items":
        assert not place.keys() & data.keys(), "the page alone says where it stands"
        return {**data, **rows, **place}
    paging = {**rows, "count": len(page.items), **place}
    assert not paging.keys() & data.keys(), "the page alone says what it lists and where it stands"
    return {**paging, **data}


def stream_line(data: Json) -> dict[str, Json]:
    """Return one line of a stream before its summary."""
    return {"ok": True, "schema_version": SCHEMA_VERSION, "type": "item", "data": data}


def stream_summary(outcome: Outcome, call: Call, *, count: int, command_line: CommandLine) -> dict[str, Json]:
    """Return the last line of a stream of `count` items; with a Failure if the stream broke off."""
    document = to_cli(outcome, call, command_line=command_line)
    head = {"ok": document.pop("ok"), "schema_version": document.pop("schema_version"), "type": "summary"}
    match outcome:
        case Success(data=data):
            assert isinstance(data, dict), "a summary is an object"
            document["data"] = {"count": count, **data}
        case Failure():
            document["error"]["details"] |= {"count": count, "complete": False}
        case never:
            assert_never(never)
    return head | document


def encode_document(document: Json, *, compact: bool) -> bytes:
    """Return the bytes of a document: UTF-8, keys in order, one newline at the end; indented by two unless
    compact.

    Lone surrogates become U+FFFD, integers that a double cannot hold become strings, and characters that
    hide or steer a terminal are written as escapes.

    Raises: Fault INVARIANT_VIOLATION for NaN, an infinity, or anything that is not JSON.
    """
    encoded = msgspec.json.encode(_sendable(document))
    if not encoded.isascii() or b"\x7f" in encoded:
        encoded = escape_hidden(encoded.decode()).encode()
    return (encoded if compact else msgspec.json.format(encoded, indent=2)) + b"\n"


def encode_line(document: Json) -> bytes:
    """Return the bytes of one NDJSON line."""
    return encode_document(document, compact=True)


def _error(failure: Failure, command_line: CommandLine) -> dict[str, Json]:
    next_command = None if failure.next_call is None else command_line(failure.next_call)
    return {
        "code": failure.kind.native,
        "message": failure.message,
        "details": {**_whole_problems(native_details(failure)), "next_command": next_command},
        "retryable": failure.kind.is_retryable,
    }


def _whole_problems(details: dict[str, Json]) -> dict[str, Json]:
    """Return each problem of a call with all four keys, so that a reader need not handle missing ones."""
    problems = details.get("problems")
    if not isinstance(problems, list):
        return details
    whole = [
        {"param": one["param"], "problem": one["problem"], "got": None, "expected": None, **one}
        if isinstance(one, dict) and "param" in one and "problem" in one
        else one
        for one in problems
    ]
    return {**details, "problems": whole}


def _meta(call: Call, notices: tuple[Notice, ...]) -> dict[str, Json]:
    meta: dict[str, Json] = {"duration_ms": call.duration_ms}
    every = (*notices, *call.notices)
    if every:
        meta["notices"] = [_notice(notice) for notice in every]
    return meta


def _notice(notice: Notice) -> dict[str, Json]:
    own = {"type": notice.type, "severity": notice.severity, "message": notice.message}
    return {**own, **notice.extra, **own}  # an extra key cannot change what the notice is


def _place(page: Page) -> dict[str, Json]:
    place: dict[str, Json]
    match page.style:
        case "cursor":
            place = {"next_cursor": page.next_cursor if page.has_more else None}
        case "offset":
            place = {"offset": page.offset}
            if page.has_more:  # CLI section 8: present only while there is more
                place["next_offset"] = page.offset + len(page.items)
        case "none":
            place = {"next_cursor": None}
        case never:
            assert_never(never)
    place["has_more"] = page.has_more
    if page.truncated:
        place["truncated"] = True
    return place


def _sendable(value: Json) -> Json:
    """Return the value without parts that JSON readers cannot represent; they are replaced."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() else re.sub(_LONE_SURROGATE, "\ufffd", value)
    if kind is dict:
        return {
            key if type(key) is str and key.isascii() else _sendable_key(key): _sendable(item)
            for key, item in value.items()
        }
    if kind is list or kind is tuple:
        return [_sendable(item) for item in value]
    if kind is int:
        return value if -LARGEST_INTEGER <= value <= LARGEST_INTEGER else str(value)
    if value is None or kind is bool or (kind is float and isfinite(value)):
        return value
    raise Fault(INVARIANT_VIOLATION, "The answer holds a value that JSON cannot carry.")


def _sendable_key(key: Json) -> str:
    if type(key) is not str:
        raise Fault(INVARIANT_VIOLATION, "The answer holds a key that is not a string.")
    return key if key.isascii() else re.sub(_LONE_SURROGATE, "\ufffd", key)


# The bare document of CONT, which `js-scan` and `js-edit` print without an envelope. A success is its
# payload. A failure has `status`, `code`, `message` and `recovery` at the top, as in CONT section 7; other
# facts stay in `details`.


_LIFTED = ("digest_mismatch", "recovery")


def to_cont(outcome: Outcome, call: Call, *, command_line: CommandLine) -> dict[str, Json]:
    """Return the document of a code tool."""
    match outcome:
        case Success():
            return _success(outcome, call)
        case Failure():
            return _failure(outcome, command_line)
        case never:
            assert_never(never)


def _success(success: Success, call: Call) -> dict[str, Json]:
    payload = payload_of(success)
    assert isinstance(payload, dict), "a code tool answers with an object"
    document = dict(payload)
    stale = next((one for one in document.get("warnings", ()) if one["code"] == RESULTS_STALE.code), None)
    if stale is not None:  # CONT 7.3
        lifted = {name: stale[name] for name in ("code", "message", *_LIFTED)}
        document = {"status": "warning", **lifted} | document | {"status": "warning"}
    notices = [{"type": one.type, "message": one.message} for one in (*success.notices, *call.notices)]
    return {**document, "notices": notices} if notices else document


def _failure(failure: Failure, command_line: CommandLine) -> dict[str, Json]:
    details = native_details(failure)
    details.pop("domain_code", None)
    recovery = {"suggestion": details.pop("hint"), **details.pop("recovery", {})}
    following = None if failure.next_call is None else command_line(failure.next_call)
    if following is not None:
        recovery["next_command"] = following
    document: dict[str, Json] = {
        "status": "warning" if failure.kind is RESULTS_STALE else "error",
        "code": failure.kind.code,
        "message": failure.message,
    }
    if "digest_mismatch" in details:
        document["digest_mismatch"] = details.pop("digest_mismatch")
    return {**document, "recovery": recovery, "details": details}


# Which format a call gets: flag, environment, project, user, default, in this order

Format: TypeAlias = Literal["json", "text", "raw"]
FormatSource: TypeAlias = Literal["flag", "environment", "project", "user", "default"]

FORMATS: dict[str, Format] = {"json": "json", "text": "text", "human": "text", "raw": "raw"}
"""Every accepted spelling; LAFS calls `human` `text`."""

_SETTINGS: dict[FormatSource, str] = {
    "environment": "HANDRAIL_FORMAT",
    "project": "format in the project settings",
    "user": "format in the user settings",
}

MOST_SECONDS = 3600
"""The longest time limit that a call may have."""
_VARIABLES: dict[str, tuple[Callable[[str], bool], str]] = {
    "HANDRAIL_FORMAT": (lambda text: text in FORMATS, "json, text or raw"),
    "HANDRAIL_ENVELOPE": (lambda text: text in ("cli", "lafs"), "cli or lafs"),
    "HANDRAIL_COMPACT": (lambda text: text in ("0", "1"), "1 or 0"),
    "HANDRAIL_TIMEOUT": (
        lambda text: re.fullmatch("[0-9]{1,4}", text) is not None and 1 <= int(text) <= MOST_SECONDS,
        f"seconds from 1 to {MOST_SECONDS}",
    ),
}
"""The values that each variable about answers accepts."""


class FlagInput(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything in one call that may choose a format."""

    human_flag: bool = False
    json_flag: bool = False
    requested_format: str | None = None
    """The value of `--format`."""
    environment: str | None = None
    project_default: str | None = None
    user_default: str | None = None


class ResolvedFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The format, and the source that chose it."""

    format: Format
    source: FormatSource


def resolve_format(flags: FlagInput) -> ResolvedFormat:
    """Return the format of this call. A source that a stronger one overrules is not looked at.

    Raises:
        Fault FORMAT_CONFLICT when flags ask for two different formats, E_USAGE for a bad `--format`,
        E_CONFIG for a bad value in a lower source.
    """
    asked = asked_by_flags(flags)
    if len(asked) > 1:
        message = f"The flags ask for {' and '.join(asked)} at the same time."
        raise Fault(FORMAT_CONFLICT, message, details={"formats": list(asked)})
    if flags.requested_format is not None and flags.requested_format not in FORMATS:
        raise Fault(
            E_USAGE,
            "--format takes json, text or raw.",
            details={"usage": "--format json|text|raw"},
            hint="Leave --format out to get json.",
        )
    if asked:
        return ResolvedFormat(format=asked[0], source="flag")
    lower: tuple[tuple[FormatSource, str | None], ...] = (
        ("environment", flags.environment or None),  # an empty variable counts as not set
        ("project", flags.project_default),
        ("user", flags.user_default),
    )
    for source, value in lower:
        if value is not None:
            return ResolvedFormat(format=_configured(source, value), source=source)
    return ResolvedFormat(format="json", source="default")


def find_wrong_variables(environment: Mapping[str, str]) -> dict[str, Fault]:
    """Return the variables about answers that have an unaccepted value; an empty one counts as not set."""
    found = {}
    for name, (fits, takes) in _VARIABLES.items():
        value = environment.get(name, "")
        if value and not fits(value):
            found[name] = Fault(
                E_CONFIG,
                f"The environment variable {name} has the value {quote(value)}; it takes {takes}.",
                details={"setting": name, "source": "environment"},
                hint=f"Set {name} to {takes}, or unset it.",
            )
    return found


def asked_by_flags(flags: FlagInput) -> tuple[Format, ...]:
    """Return the different formats that flags ask for, in the order of their names here."""
    asked: list[Format] = []
    if flags.human_flag:
        asked.append("text")
    if flags.json_flag:
        asked.append("json")
    if flags.requested_format in FORMATS:
        asked.append(FORMATS[flags.requested_format])
    return tuple(dict.fromkeys(asked))


def _configured(source: FormatSource, value: str) -> Format:
    if value not in FORMATS:
        setting = _SETTINGS[source]
        raise Fault(
            E_CONFIG,
            f"{setting} is not json, text or raw.",
            details={"setting": setting, "source": source},
            hint=f"Correct {setting}, or pass --format to overrule it in this call.",
        )
    return FORMATS[value]
