"""Continuation tokens in use (CONT 3): minted with an answer, and read when a caller continues with one.

A token is bound to the repository and the token version by its key. It carries what led to it, so that the
next call types nothing again: its parameters are merged with those of the call, and none may change.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import msgspec

from handrail.contract.catalogue import E_CONFIRMATION_REQUIRED, E_USAGE, TOKEN_EXPIRED
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Fault, Json
from handrail.contract.tokens.continuation import (
    LIFETIME_SECONDS,
    Continuation,
    ContinuationContext,
    NextAction,
    Stale,
    allowed_action,
    mint_each,
    missing_parameters,
    read_continuation,
    restore_parameters,
    stale_results,
    subject_gone,
    token_digest,
)
from handrail.contract.tokens.continuation_payload import VERSION
from handrail.contract.tokens.workflow import continuation_purpose, unwrap
from handrail.runtime.runtime import WritePorts
from handrail_code.scan.ids import split_id

NOTHING = digest(None)
"""The digest of results that no longer exist."""
_FLAGS = {"with_text": "--with-file"}
"""Parameters that a command line calls otherwise."""
_NONCE_BYTES = 6
_ID_CHARACTERS = 12


class Resumed(msgspec.Struct, frozen=True, kw_only=True):
    """A token that was read, and what it stands for."""

    continuation: Continuation
    action: NextAction
    parameters: dict[str, Json]
    """Of the token, with those that the call adds."""
    digest: str
    """How its children name it; used up under this name where it works once."""

    @property
    def file(self) -> str:
        """The file that the token is about, if it is about one."""
        held = self.continuation.parameters
        path, _, _ = split_id(str(held.get("target", "")))
        return path or str(held.get("file", "")).removeprefix("./")

    @property
    def action_name(self) -> str:
        """`analyze` of `analyze:0`."""
        return self.action.id.partition(":")[0]


class TokenDesk:
    """Mints and reads the tokens of one call."""

    def __init__(self, rt: WritePorts, project: str, command: str) -> None:
        self._rt = rt
        self._project = project
        self._command = command
        self._purpose = continuation_purpose(digest(project), VERSION)
        self._now = rt.clock.unix_seconds()

    def is_half_written(self) -> bool:
        """Whether the files are as a killed edit left them."""
        return self._rt.worktree().is_unfinished(self._project)

    def resume(self, text: str, given: Mapping[str, Json], *, is_refetch: bool, is_refresh: bool) -> Resumed:
        """What the caller's token stands for.

        Raises Fault INVALID_TOKEN, TOKEN_EXPIRED, ACTION_NOT_ALLOWED, and E_USAGE where the call contradicts
        the token or leaves out what has to be fetched again.
        """
        continuation = self._read(text, is_refresh=is_refresh)
        action = allowed_action(continuation, self._command)
        lacking = missing_parameters(continuation)
        if lacking:
            restored = restore_parameters(continuation, dict(given)) if is_refetch else None
            if restored is None:
                raise _refuse_without(lacking)
            continuation = restored
        held = continuation.parameters
        differing = sorted(name for name in given if name in held and given[name] != held[name])
        if differing:
            raise _refuse_contradiction(differing)
        return Resumed(
            continuation=continuation,
            action=action,
            parameters={**held, **given},
            digest=token_digest(unwrap(text)),
        )

    def mint(
        self,
        action: str,
        parameters: dict[str, Json],
        results_digest: str,
        offered: NextAction,
        parent: Resumed | None,
        *,
        command: str = "",
        preview: str = "",
    ) -> str:
        """A token of one next action. `action` is what was just done, with these parameters, and `preview`
        names the preview that they are of."""
        issued_at = self._now
        if parent is not None and parent.action.id == "show_diff":  # the same preview lasts no longer
            issued_at = parent.continuation.issued_at
        base = Continuation(
            issued_at=issued_at,
            expires_at=issued_at + LIFETIME_SECONDS,
            command=command or self._command,
            action=action,
            context=ContinuationContext(
                request_id=preview or self._request_id(action, parameters, results_digest, offered),
                source_token="" if parent is None else parent.digest,
                results_digest=results_digest,
            ),
            parameters=parameters,
            next_actions=(offered,),
        )
        return mint_each(self._rt.keys.signing_key(self._purpose), base, [offered])[offered.id]

    def name_preview(self, parent: Resumed | None) -> str:
        """What the tokens of one preview and of its full diff have in common, and those of no other."""
        if parent is not None and parent.action.id == "show_diff":
            return parent.continuation.context.request_id
        return "req_" + self._rt.randomness.bytes(_NONCE_BYTES).hex()

    def find_stale(self, resumed: Resumed, actual_digest: str) -> Stale | None:
        """How the results differ from those that the token was minted with."""
        key = self._rt.keys.signing_key(self._purpose)
        return stale_results(key, resumed.continuation, actual_digest, now=self._now)

    def refuse_gone(self, resumed: Resumed, files: Container[str]) -> Fault:
        """What the token is about is gone: its file, or only the definition in it."""
        held = resumed.continuation
        if resumed.file and resumed.file not in files:
            return subject_gone(held, "file", resumed.file)
        return subject_gone(held, "definition", split_id(str(held.parameters.get("target", "")))[1])

    def _read(self, text: str, *, is_refresh: bool) -> Continuation:
        keys = self._rt.keys.verifying_keys(self._purpose)
        mark = digest(["expired", token_digest(unwrap(text))]).rpartition(":")[2]
        try:
            held = read_continuation(keys, text, now=self._now, command=self._command)
            if self._rt.confirmed.is_used(mark):
                return read_continuation(keys, text, now=held.expires_at)
            return held
        except Fault as fault:
            if fault.kind is not TOKEN_EXPIRED:
                raise
            refreshed = fault.details["recovery"].get("refresh_token", "")
            if not refreshed:  # it writes: it stays refused, even if the clock is set back
                self._rt.confirmed.claim(mark, expires_at=self._now, now=self._now)
            if not refreshed or not is_refresh:
                raise
            return read_continuation(keys, refreshed, now=self._now)

    def _request_id(
        self, action: str, parameters: Mapping[str, Json], results: str, offered: NextAction
    ) -> str:
        """The same for equal calls; a token that works once is never minted twice."""
        if offered.guard:
            return self.name_preview(None)
        named = digest([self._command, action, dict(parameters), results])
        return "req_" + named.partition(":")[2][:_ID_CHARACTERS]


def require_fix(resumed: Resumed, *, is_fix: bool) -> None:
    """A guarded action writes, so it also needs `--fix`. Raises Fault E_CONFIRMATION_REQUIRED."""
    if resumed.action.guard and not is_fix:
        raise Fault(
            E_CONFIRMATION_REQUIRED,
            f"The action {resumed.action.id} writes files and needs --fix as well. Nothing was written.",
            details={"missing": "fix", "effect": "ack"},
            hint="Look at the preview, then send the same call with --fix.",
        )
    if is_fix and not resumed.action.guard:
        raise Fault(
            E_USAGE,
            f"The action {resumed.action.id} writes nothing, so --fix does not go with it.",
            details={"usage": "--continuation TOKEN"},
            hint="Leave --fix out; a preview has the token that writes.",
        )


def _refuse_without(names: Sequence[str]) -> Fault:
    listed = _list_flags(names)
    return Fault(
        E_USAGE,
        f"The token holds only a digest of {listed}.",
        details={"usage": f"--continuation TOKEN --refetch {listed}"},
        hint=f"Repeat {listed} as it was, and add --refetch.",
    )


def _refuse_contradiction(names: Sequence[str]) -> Fault:
    listed = _list_flags(names)
    return Fault(
        E_USAGE,
        f"The token says something else for {listed}.",
        details={"usage": "--continuation TOKEN"},
        hint=f"Leave out {listed}, or start again without the token.",
    )


def _list_flags(names: Sequence[str]) -> str:
    return ", ".join(_FLAGS.get(name) or f"--{name.replace('_', '-')}" for name in names)
