"""Continuation tokens (CONT): payload, size rules, signature, and which token may continue (CONT 3.3). Pure.

A token is base64url(payload + signature); `continuation_payload` has the form of the payload. The signature
is HMAC-SHA256, cut to 128 bits, over the payload bytes as they are carried, so nothing is inflated or parsed
before it is known to be ours. The key purpose is `continuation_purpose`.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from hashlib import sha256
from typing import NoReturn

import msgspec

from handrail.contract import catalogue
from handrail.contract.json.canonical import canonical_bytes, digest
from handrail.contract.outcome import Fault, Json
from handrail.contract.tokens import sealed
from handrail.contract.tokens.continuation_payload import INFLATED_LIMIT, VERSION, pack, unpack
from handrail.contract.tokens.workflow import unwrap

# Minting and opening a token

LIFETIME_SECONDS = 3600
LENGTH_LIMIT = 2047
"""Size limit of a token: CONT 5.1 requires less than 2 KB."""
DIGEST_KEY = "$digest"
"""The key that replaces a parameter that did not fit (`{"$digest": "sha256:…"}`); re-fetching restores it."""

_SIGNATURE_BYTES = 16
_DIGEST_SIZE = len(f'{{"{DIGEST_KEY}":"sha256:{"0" * 64}"}}')


class ContinuationContext(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where the token came from (CONT 2.2 `context`)."""

    request_id: str = ""
    source_token: str = ""
    """`token_digest` of the parent: enough to trace a chain, not enough to act."""
    results_digest: str = ""
    """Digest of the results that the token was created with; empty if there were none."""
    can_refetch: bool = False
    """Whether digests replaced parameters; the caller then repeats them and adds `--refetch`."""


class NextAction(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One action that the token allows (CONT 2.2 `next_actions`)."""

    id: str
    label: str
    description: str = ""
    guard: bool = False
    """Whether it writes, so that it also needs `--fix`."""


class ContinuationMetadata(msgspec.Struct, frozen=True, kw_only=True):
    """How the token may be used (CONT 2.2 `metadata`)."""

    ttl_seconds: int = LIFETIME_SECONDS
    replayable: bool = True
    idempotent: bool = True
    file_safe: bool = True


class Continuation(msgspec.Struct, frozen=True, kw_only=True):
    """What was done, with which parameters, and what may be done next (CONT 2.2)."""

    issued_at: int
    expires_at: int
    command: str
    action: str
    """The action that was just done."""
    context: ContinuationContext
    parameters: dict[str, Json]
    next_actions: tuple[NextAction, ...]
    metadata: ContinuationMetadata = ContinuationMetadata()
    version: int = VERSION


def mint_continuation(key: bytes, continuation: Continuation) -> str:
    """Return the token, in the fullest form that stays under 2 KB. Digests are cut to what a
    payload carries.
    """
    for form in _list_forms(continuation):
        document = msgspec.to_builtins(form)
        if len(canonical_bytes(document)) >= INFLATED_LIMIT:
            continue  # it could not be read back
        packed = pack(document)
        token = sealed.encode(packed + _sign(key, packed))
        if len(token) <= LENGTH_LIMIT:
            return token
    raise AssertionError("a token has few next actions, and their ids and labels are short")


def mint_each(key: bytes, continuation: Continuation, actions: Sequence[NextAction]) -> dict[str, str]:
    """Return CONT's `continuation_tokens`: per action id a token that allows only this action.

    A guarded action writes, so its token is neither replayable nor idempotent.
    """
    return {action.id: mint_continuation(key, _for_action(continuation, action)) for action in actions}


def open_continuation(keys: Sequence[bytes], token: str) -> Continuation | None:
    """Return the continuation of a token that one of the keys signed; None for anything else."""
    framed = frame(token)
    if framed is None:
        return None
    payload, signature = framed
    matches = [hmac.compare_digest(_sign(key, payload), signature) for key in keys]
    return parse(payload) if any(matches) else None


def frame(token: str) -> tuple[bytes, bytes] | None:
    """Return payload and signature as bytes, before anything reads them."""
    data = sealed.decode(token) if len(token) <= LENGTH_LIMIT else None
    if data is None or len(data) <= _SIGNATURE_BYTES:
        return None
    return data[:-_SIGNATURE_BYTES], data[-_SIGNATURE_BYTES:]


def parse(payload: bytes, *, has_more: bool = False) -> Continuation | None:
    """Return the content of a payload that other bytes may follow; it does not prove who wrote it."""
    document = unpack(payload, has_more=has_more)
    try:
        return None if document is None else msgspec.convert(document, type=Continuation)
    except (msgspec.MsgspecError, RecursionError):
        return None


def read_unproven(token: str) -> Continuation | None:
    """Return the content of a token; None for anything else. It does not prove who wrote it."""
    framed = frame(token)
    return None if framed is None else parse(framed[0])


def _parse_cut(token: str) -> Continuation | None:
    """Return the content of a token that lost or changed its end; the payload itself marks where it ends."""
    data = sealed.decode(token[: len(token) // 4 * 4]) if len(token) <= LENGTH_LIMIT else None
    return None if data is None else parse(data, has_more=True)


def _sign(key: bytes, payload: bytes) -> bytes:
    return hmac.digest(key, payload, "sha256")[:_SIGNATURE_BYTES]


def token_digest(token: str) -> str:
    """Return the digest by which a child token names its parent."""
    return "sha256:" + sha256(token.encode()).hexdigest()


def missing_parameters(continuation: Continuation) -> tuple[str, ...]:
    """Return the names of the parameters that must be re-fetched."""
    return tuple(name for name, value in continuation.parameters.items() if _is_digest(value))


def restore_parameters(continuation: Continuation, parameters: dict[str, Json]) -> Continuation | None:
    """Return the continuation with its omitted parameters; None if one is absent or not the original."""
    restored = dict(continuation.parameters)
    for name in missing_parameters(continuation):
        if name not in parameters or digest(parameters[name]) != restored[name][DIGEST_KEY]:
            return None
        restored[name] = parameters[name]
    return msgspec.structs.replace(continuation, parameters=restored)


def _for_action(continuation: Continuation, action: NextAction) -> Continuation:
    metadata = continuation.metadata
    if action.guard:
        metadata = msgspec.structs.replace(metadata, replayable=False, idempotent=False)
    return msgspec.structs.replace(continuation, next_actions=(action,), metadata=metadata)


def _list_forms(continuation: Continuation) -> list[Continuation]:
    """Return the forms of a token from full to lean (CONT 5.2): all, parameters as digests, no
    descriptions.
    """
    forms, lean = [continuation], continuation
    sizes = {name: len(canonical_bytes(value)) for name, value in continuation.parameters.items()}
    large = [name for name, size in sizes.items() if size > _DIGEST_SIZE]
    for name in sorted(large, key=lambda name: (-sizes[name], name)):
        parameters = lean.parameters | {name: {DIGEST_KEY: digest(lean.parameters[name])}}
        context = msgspec.structs.replace(lean.context, can_refetch=True)
        lean = msgspec.structs.replace(lean, parameters=parameters, context=context)
        forms.append(lean)
    silent = tuple(msgspec.structs.replace(action, description="") for action in lean.next_actions)
    return [*forms, msgspec.structs.replace(lean, next_actions=silent)]


def _is_digest(value: Json) -> bool:
    return isinstance(value, dict) and value.keys() == {DIGEST_KEY} and isinstance(value[DIGEST_KEY], str)


# Reading a token, and what a refusal offers instead (CONT 3.3)

_UNAUTHORIZED, _GONE, _BAD_REQUEST, _STALE_READ, _STALE_WRITE, _NOT_FOUND = 401, 410, 400, 202, 409, 404
"""The number in `details.status` (CONT 3.3); an HTTP status comes from the catalogue instead."""

_TOOLS = frozenset({"js-scan", "js-edit"})
"""The tools whose queries can be repeated."""
_COMMANDS = {
    "search": "search",
    "analyze": "explain",
    "trace": "trace",
    "ripple": "ripple",
    "outline": "outline",
    "deps": "deps",
    "locate": "explain --locate",
    "context": "explain --context",
    "extract": "extract",
    "replace": "replace",
    "rename": "rename",
    "move": "move",
}
"""Names of their modes under `handrail code`, which reads every language."""
_FIRST_LINES = {
    "js-scan": "js-scan --search NAME --ai-mode",
    "js-edit": "js-edit --locate NAME --ai-mode",
}
"""The command that gets a token if nothing of an old one can be read."""
_PYTHON = (".py", ".pyi")
_READS = frozenset({"search", "analyze", "trace", "ripple", "outline", "deps", "locate", "context"})
# fmt: off
_PARAMETERS = (
    "file", "search", "locate", "analyze", "trace", "ripple", "outline", "deps", "context", "extract",
    "replace", "rename", "move", "to", "to_module", "export_needs", "public", "accept", "scope", "limit",
    "kind", "exported", "hash", "span", "depth", "down", "text", "names",
)
# fmt: on
"""The parameters of a query or a preview, in the order of a command line. Only these enter a suggestion or
a repeated token: an unproven token must not add `--fix`, or a program of its own.
"""
_CARRIED = frozenset({"target", "offset"})
"""Further parameters of a token: the symbol that it is about, and where the next page begins."""
_SUBJECTS = ("search", "locate", "extract", "replace", "rename", "move", "context")
_PREVIEWS = frozenset(
    {"extract_preview", "replace_preview", "rename_preview", "move_preview", "changes_preview"}
)
_REPEAT = "Repeat the query to get a new token."
_RUN = "Get a new token by running: {}"
_LOOK = "Look at the files that the preview named, then preview a new edit."
_SHOWN_ACTIONS = 8
_TEXT_LIMIT = 200
_LARGEST_INTEGER = 2**53 - 1


class Stale(msgspec.Struct, frozen=True, kw_only=True):
    """The results that a token was created with no longer match the files."""

    expected: str
    actual: str
    suggestion: str
    reissue_token: str
    """A token that repeats the query; empty if it may not be repeated without asking."""


def read_continuation(keys: Sequence[bytes], text: str, *, now: int, command: str = "") -> Continuation:
    """The continuation that a caller brought to this command, genuine and in time.

    Raises:
        Fault INVALID_TOKEN, with a token that repeats the query when its parameters can be read, or
        TOKEN_EXPIRED, with a fresh token when the old one may be replayed.
    """
    token = unwrap(text) if len(text) <= 2 * LENGTH_LIMIT else ""
    continuation = open_continuation(keys, token)
    if continuation is None:
        _refuse_unproven(keys, token, now, command)
    if now >= continuation.expires_at:
        _refuse_expired(keys, continuation, now)
    return continuation


def allowed_action(continuation: Continuation, command: str) -> NextAction:
    """Return the one action that this token allows in this tool.

    Raises: Fault ACTION_NOT_ALLOWED with the ids that are allowed.
    """
    allowed = [action.id for action in continuation.next_actions]
    details: dict[str, Json] = {"allowed": allowed, "status": _BAD_REQUEST}
    if continuation.command != command:
        message = f"The token belongs to {continuation.command}, not to {command}. Pass it to that tool."
        raise Fault(catalogue.ACTION_NOT_ALLOWED, message, details=details)
    if len(allowed) == 1:
        return continuation.next_actions[0]
    message = f"The token allows several actions. Choose one of: {', '.join(allowed[:_SHOWN_ACTIONS])}."
    if not allowed:
        message = "The token allows no action. Repeat the query to get tokens for what can be done next."
    raise Fault(catalogue.ACTION_NOT_ALLOWED, message, details=details)


def stale_results(key: bytes, continuation: Continuation, actual_digest: str, *, now: int) -> Stale | None:
    """Return None if the results are the same, or if the token was created without any."""
    if has_results(continuation, actual_digest):
        return None
    expected = continuation.context.results_digest
    return Stale(
        expected=expected,
        actual=actual_digest[: len(expected)],
        suggestion=_suggestion(continuation),
        reissue_token=_reissue(key, continuation, now),
    )


def has_results(continuation: Continuation, actual_digest: str) -> bool:
    """Whether these are the results that the token was created with, or it was created without any."""
    return actual_digest.startswith(continuation.context.results_digest)


def stale_warning(stale: Stale) -> dict[str, Json]:
    """Return the warning that a read adds to its fresh results."""
    return {
        "code": catalogue.RESULTS_STALE.code,
        "message": "The source changed since the token was issued; these are the results of now.",
        **_stale_details(stale, _STALE_READ),
    }


def stale_refusal(stale: Stale, why: str = "The source changed since the preview") -> Fault:
    """Return the refusal of a write because the results changed."""
    message = f"{why}, so nothing was written. {_REPEAT}"
    details = _stale_details(stale, _STALE_WRITE)
    return Fault(catalogue.RESULTS_STALE, message, details=details)


def used_refusal(stale: Stale, continuation: Continuation) -> Fault:
    """Return the refusal of a token that has written already: the same preview would find nothing now."""
    message = "This token was used: its edit is written, and nothing was written again. Preview a new edit."
    line = _search_line(continuation, continuation.parameters.get("to", ""))
    return _refuse_for_good(stale, message, f"See what it wrote: {line}" if line else _LOOK)


def gone_refusal(stale: Stale, continuation: Continuation) -> Fault:
    """Return the refusal of a write whose preview named a definition that no longer exists."""
    message = "What the preview was about is no longer there, so nothing was written. Search for it again."
    line = _search_line(continuation)
    return _refuse_for_good(stale, message, f"Search again: {line}" if line else _LOOK)


def _refuse_for_good(stale: Stale, message: str, suggestion: str) -> Fault:
    stale = msgspec.structs.replace(stale, suggestion=suggestion, reissue_token="")
    details = _stale_details(stale, _STALE_WRITE)
    return Fault(catalogue.RESULTS_STALE, message, details=details, hint=suggestion)


def _search_line(continuation: Continuation, *names: Json) -> str:
    """Return a command that searches for one of these names, or for the token's subject; empty if unknown."""
    named = [continuation.parameters[name] for name in _SUBJECTS if name in continuation.parameters]
    subject = next((value for value in (*names, *named) if value != "" and _is_plain(value)), None)
    search = "handrail code search" if _is_python(continuation) else "js-scan --search"
    return "" if subject is None else f"{search} {_quote(subject)}"


def subject_gone(continuation: Continuation, resource: str, name: str) -> Fault:
    """Return a Fault: the file or definition that the token names no longer exists."""
    line = _search_line(continuation) or _search_line(continuation, name.rpartition("/")[2].partition(".")[0])
    suggestion = f"Search again: {line}" if line else _REPEAT
    details: dict[str, Json] = {
        "resource": resource,
        "id": name[:_TEXT_LIMIT],
        "status": _NOT_FOUND,
        "recovery": {"suggestion": suggestion},
    }
    message = f"The {resource} that the token names no longer exists. Search for it again."
    return Fault(catalogue.E_NOT_FOUND, message, details=details)


def _refuse_unproven(keys: Sequence[bytes], token: str, now: int, command: str) -> NoReturn:
    """Raise a Fault for an unproven token. It offers only queries, because a forger can write a readable
    payload.
    """
    claimed = read_unproven(token) or _parse_cut(token)
    first = _FIRST_LINES.get(command)
    recovery: dict[str, Json] = {"suggestion": _REPEAT if first is None else _RUN.format(first)}
    if claimed is not None:
        recovery["suggestion"] = _suggestion(claimed)
        reissued = _reissue(keys[0], claimed, now) if keys and _is_repeatable(claimed) else ""
        if reissued:
            recovery["recovery_token"] = reissued
    details = {"token_kind": "continuation", "status": _UNAUTHORIZED, "recovery": recovery}
    message = f"The token's signature is not valid here, or the token is damaged. {_REPEAT}"
    raise Fault(catalogue.INVALID_TOKEN, message, details=details)


def _refuse_expired(keys: Sequence[bytes], continuation: Continuation, now: int) -> NoReturn:
    can_refresh = continuation.metadata.idempotent and continuation.metadata.replayable
    recovery: dict[str, Json] = {"suggestion": _suggestion(continuation), "can_refresh": can_refresh}
    if can_refresh:
        refreshed = msgspec.structs.replace(continuation, issued_at=now, expires_at=now + LIFETIME_SECONDS)
        recovery["refresh_token"] = mint_continuation(keys[0], refreshed)
    minutes = (now - continuation.issued_at) // 60
    details = {
        "token_kind": "continuation",
        "status": _GONE,
        "expired_at": continuation.expires_at,
        "recovery": recovery,
    }
    message = f"The token has expired; it was issued {minutes} minutes ago. {_REPEAT}"
    raise Fault(catalogue.TOKEN_EXPIRED, message, details=details)


def _reissue(key: bytes, continuation: Continuation, now: int) -> str:
    """Return a token that repeats the previous query or preview; empty if it was neither."""
    action = continuation.action
    if action not in _READS and action not in _PREVIEWS:
        return ""
    repeated = Continuation(
        issued_at=now,
        expires_at=now + LIFETIME_SECONDS,
        command=continuation.command,
        action=action,
        context=ContinuationContext(can_refetch=continuation.context.can_refetch),
        parameters=continuation.parameters,
        next_actions=(NextAction(id=action, label="Repeat it"),),
        metadata=ContinuationMetadata(),
    )
    return mint_continuation(key, repeated)


def _stale_details(stale: Stale, status: int) -> dict[str, Json]:
    recovery = {"suggestion": stale.suggestion}
    if stale.reissue_token:
        recovery["reissue_token"] = stale.reissue_token
    mismatch = {"expected": stale.expected, "actual": stale.actual}
    return {"status": status, "digest_mismatch": mismatch, "recovery": recovery}


def _suggestion(continuation: Continuation) -> str:
    """Return the command line that gets a new token, as far as it can be written safely."""
    if not _is_repeatable(continuation):
        return _REPEAT
    modes = [name for name in _COMMANDS if name in continuation.parameters]
    mode = modes[0] if modes and _is_python(continuation) else ""
    words = [continuation.command]
    if mode:
        words = ["handrail", "code", _COMMANDS[mode], _quote(continuation.parameters[mode])]
    for name in _PARAMETERS:
        value = continuation.parameters.get(name, False)
        if value is not False and name != mode:
            flag = f"--{name.replace('_', '-')}"
            words += [flag] if value is True else [flag, _quote(value)]
    line = " ".join([*words, "--ai-mode"])
    return _RUN.format(line) if len(line) <= _TEXT_LIMIT else _REPEAT


def _is_python(continuation: Continuation) -> bool:
    """Whether the source is Python; `js-scan` and `js-edit` read only JavaScript, so Python needs another
    command.
    """
    held = continuation.parameters
    file = str(held.get("target", "")).partition("#")[0] or str(held.get("file", ""))
    return file.endswith(_PYTHON)


def _is_repeatable(continuation: Continuation) -> bool:
    """Whether it is a known tool with known parameters, each a short word or a number."""
    parameters = continuation.parameters
    return (
        continuation.command in _TOOLS
        and parameters.keys() <= {*_PARAMETERS, *_CARRIED}
        and all(_is_plain(value) for value in parameters.values())
    )


def _is_plain(value: Json) -> bool:
    if isinstance(value, list):
        return all(isinstance(one, str) and "," not in one and _is_plain(one) for one in value)
    if isinstance(value, str):
        return len(value) <= _TEXT_LIMIT and value.isprintable()
    return isinstance(value, int) and abs(value) <= _LARGEST_INTEGER


def _quote(value: Json) -> str:
    """Return a word quoted for a POSIX shell."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return _quote(",".join(map(str, value)))
    return "'" + str(value).replace("'", "'\\''") + "'"
