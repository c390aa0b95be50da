"""Permission to write: a caller previews a change, then makes it once with the confirm token of the preview.

Every gated operation goes through `preview_or_write`; nothing else mints or accepts confirm tokens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Sequence
from typing import Annotated, Any, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta

from handrail.contract.catalogue import E_CONFIRMATION_REQUIRED, E_CONFLICT, E_USAGE
from handrail.contract.outcome import Answer, Fault, Json, NextCall, Notice, Success
from handrail.contract.parameters import TokenText
from handrail.contract.redaction import redact_named_secrets
from handrail.contract.tokens.confirm import (
    LIFETIME_SECONDS,
    NONCE_BYTES,
    ConfirmClaims,
    ConfirmScope,
    ReadConfirm,
    arguments_digest,
    check_arguments,
    check_expiry,
    check_targets,
    fingerprint_of,
    mint_confirm,
    read_confirm,
    refusal,
    targets_digest,
    versions_digest,
)
from handrail.contract.tokens.workflow import CONFIRM
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, WritePorts

_T = TypeVar("_T")

GATE_FIELDS = frozenset({"dryRun", "confirm", "dangerous"})
"""Input fields, by wire name, that only say whether to preview or to write."""
_MISSING = {
    "confirm": (
        "changes something and needs the confirm token of a dry run",
        "Run the next command, look at its preview, then repeat this one with --confirm and its token.",
    ),
    "dangerous": (
        "destroys something and runs only with --dangerous",
        "Ask the user whether to do this, then run the next command and look at its preview.",
    ),
}


class GatedInput(Input, frozen=True, kw_only=True):
    """The input that every gated operation has in addition to its own fields.

    A creation has it in place of a key.
    """

    dry_run: Maybe[
        Annotated[bool, Meta(description="Show what would change and get a confirm token. Changes nothing.")]
    ] = UNSET
    confirm: Maybe[
        Annotated[TokenText, Meta(description="The confirm_token of the dry run; makes the change.")]
    ] = UNSET


class DangerousInput(GatedInput, frozen=True, kw_only=True):
    """The input of an operation that destroys something: it must set `dangerous`, even in the dry run."""

    dangerous: Maybe[
        Annotated[bool, Meta(description="Say that you mean to destroy something; needed with confirm.")]
    ] = UNSET


class Change(Answer, frozen=True, kw_only=True):
    """One thing that would be different afterwards; `none` if nothing would."""

    action: Literal["create", "update", "delete", "move", "none"]
    resource: str
    id: str
    before: Json = None
    after: Json = None
    diff: Json = None
    """For a file: `path`, how many lines are `added` and `removed`, and the `hunks` as text."""


def mark_unreached(changes: Sequence[Change], fails: Container[str]) -> tuple[Change, ...]:
    """Mark the changes after the first target that fails as not made: the batch stops there."""
    stops = next((at for at, change in enumerate(changes) if change.id in fails), len(changes))
    reason = "not reached: a target before it fails; leave that one out, or add --continue-on-error true"
    passed_over = [
        Change(action="none", resource=change.resource, id=change.id, after={"reason": reason})
        if change.action != "none"
        else change
        for change in changes[stops + 1 :]
    ]
    return (*changes[: stops + 1], *passed_over)


class Preview(Answer, frozen=True, kw_only=True):
    """What a dry run shows."""

    action: str
    total: int
    targets: list[str]
    changes: list[Change]
    unchanged: bool
    blast_radius: str


class DryRun(Answer, frozen=True, kw_only=True):
    """The preview, and the confirm token that permits exactly this change."""

    preview: Preview
    confirm_token: str
    expires_at: str


class Plan(msgspec.Struct, Generic[_T], frozen=True, kw_only=True):
    """A change as resolved right now: its targets, and the version of everything that it relies on."""

    action: str
    changes: tuple[Change, ...]
    targets: tuple[str, ...]
    versions: dict[str, str]
    blast_radius: str
    found: _T
    """What was resolved: the write uses this without another lookup, so it does what was checked."""
    obstacle: Fault | None = None
    """Why the change cannot be made now."""


def _at_once() -> None:
    """Do not wait: no other process writes to the target."""


def preview_or_write(
    rt: WritePorts,
    called: Operation,
    request: GatedInput,
    *,
    workspace: str,
    resolve: Callable[[], Plan[_T]],
    write: Callable[[_T], Answer | Success],
    wait: Callable[[], None] = _at_once,
) -> DryRun | Success:
    """Return the preview with its token, or make the change that the token permits.

    `resolve` runs once. `write` receives the resolved plan, and raises E_CONFLICT if it no longer holds.
    `wait` waits for other writers of the same things, and raises if that takes too long.

    Raise Fault E_USAGE, E_CONFIRMATION_REQUIRED, or E_CONFLICT with the reason. These refusals come before
    the token is used up; after that the token stays used.
    """
    if called.effect == "dangerous" and not (
        isinstance(request, DangerousInput) and request.dangerous is True
    ):
        raise _not_allowed(called, request, "dangerous")
    if request.dry_run is True and request.confirm is not UNSET:
        raise Fault(
            E_USAGE,
            "Give --dry-run or --confirm, not both.",
            details={"usage": "--dry-run, then --confirm TOKEN"},
        )
    scope = _scope(rt, called, request, workspace)
    if request.dry_run is True:
        return _show(rt, scope, resolve())
    if request.confirm is UNSET:
        raise _not_allowed(called, request, "confirm")
    try:
        return _write_confirmed(rt, scope, request.confirm, resolve, write, wait)
    except Fault as fault:
        if fault.kind is E_CONFLICT and fault.next_call is None:
            fault.next_call = dry_run_of(called, request)
        raise


def _write_confirmed(
    rt: WritePorts,
    scope: ConfirmScope,
    token: str,
    resolve: Callable[[], Plan[_T]],
    write: Callable[[_T], Answer | Success],
    wait: Callable[[], None],
) -> Success:
    """Make the change and use the token up.

    The order matters: every refusal comes before the token is used up.
    """
    read = _read(rt, token)
    check_arguments(read.claims, scope)
    if not rt.confirmed.is_used(read.fingerprint):
        wait()
    plan = _unchanged_plan(rt, read, resolve())
    claim = rt.confirmed.claim(
        read.fingerprint, expires_at=read.claims.expires_at, now=rt.clock.unix_seconds()
    )
    if claim.state == "already_used":
        raise refusal("already_used")
    check_expiry(read.claims, rt.clock.unix_seconds())
    done = write(plan.found)
    made = done if isinstance(done, Success) else Success(data=msgspec.to_builtins(done))
    return _not_recorded(made, claim.reason) if claim.state == "not_recorded" else made


def _read(rt: WritePorts, token: str) -> ReadConfirm:
    """Return the claims of a valid token.

    A token that was once refused as expired stays refused, even if the clock is set back.
    """
    now = rt.clock.unix_seconds()
    try:
        return read_confirm(rt.keys.verifying_keys(CONFIRM), token, now=now)
    except Fault as fault:
        if fault.details.get("reason") == "expired":
            rt.confirmed.claim(fingerprint_of(token), expires_at=now, now=now)
        raise


def _unchanged_plan(rt: WritePorts, read: ReadConfirm, plan: Plan[_T]) -> Plan[_T]:
    """Return the plan if it is what the dry run showed. If the token was used, the fault says so instead."""
    try:
        check_targets(read.claims, list(plan.targets), plan.versions)
        if plan.obstacle is not None:
            raise plan.obstacle
    except Fault:
        if rt.confirmed.is_used(read.fingerprint):
            raise refusal("already_used") from None
        raise
    return plan


def _scope(rt: ReadPorts, called: Operation, request: GatedInput, workspace: str) -> ConfirmScope:
    """Return the scope from parsed arguments: spelling, order and repeated targets do not matter."""
    given: dict[str, Any] = msgspec.to_builtins(request)
    return ConfirmScope(
        command_path=tuple(called.name.split(".")),
        arguments={name: _each_once(value) for name, value in given.items() if name not in GATE_FIELDS},
        account=rt.workspace.account(),
        max_effect=rt.settings.of().max_effect,
        workspace=workspace,
    )


def _each_once(value: Json) -> Json:
    is_names = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return list(dict.fromkeys(value)) if is_names else value


def _show(rt: ReadPorts, scope: ConfirmScope, plan: Plan[_T]) -> DryRun:
    if plan.obstacle is not None:
        raise plan.obstacle
    expires_at = rt.clock.unix_seconds() + LIFETIME_SECONDS
    claims = ConfirmClaims(
        arguments=arguments_digest(scope),
        targets=targets_digest(list(plan.targets)),
        versions=versions_digest(plan.versions),
        expires_at=expires_at,
        nonce=rt.randomness.bytes(NONCE_BYTES).hex(),
    )
    return DryRun(
        preview=Preview(
            action=plan.action,
            total=len(plan.targets),
            targets=list(plan.targets),
            changes=[_safe(change) for change in plan.changes],
            unchanged=all(change.action == "none" for change in plan.changes),
            blast_radius=plan.blast_radius,
        ),
        confirm_token=mint_confirm(rt.keys.signing_key(CONFIRM), claims),
        expires_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(expires_at)),
    )


def _not_allowed(called: Operation, request: GatedInput, missing: Literal["confirm", "dangerous"]) -> Fault:
    """Return the refusal for a missing field.

    It comes before the token is read, so the token stays usable.
    """
    message, hint = _MISSING[missing]
    return Fault(
        E_CONFIRMATION_REQUIRED,
        f"This command {message}. Nothing was done.",
        details={"missing": missing, "effect": called.effect},
        hint=hint,
        next_call=dry_run_of(called, request),
    )


def _safe(change: Change) -> Change:
    """Return the change without values under secret-looking names."""
    return msgspec.structs.replace(
        change, before=redact_named_secrets(change.before), after=redact_named_secrets(change.after)
    )


def dry_run_of(called: Operation, request: GatedInput) -> NextCall:
    """Return the dry run of the same change; after a partial change, it previews the rest."""
    given: dict[str, Json] = msgspec.to_builtins(request)
    given.pop("confirm", None)
    meant = {"dangerous": True} if called.effect == "dangerous" else {}
    return NextCall(operation=called.name, params=given | meant | {"dryRun": True})


def _not_recorded(made: Success, reason: str) -> Success:
    """Return the success with a warning that the use of the token could not be recorded."""
    message = f"The change was made, but the use of its token could not be recorded ({reason})."
    warning = {"code": "CONFIRM_NOT_RECORDED", "message": message, "reason": reason}
    notice = Notice(type="confirm_not_recorded", message=message, severity="warning")
    assert isinstance(made.data, dict), "what a gated operation answers is an object"
    warnings = [*made.data.get("warnings", []), warning]
    return msgspec.structs.replace(
        made, data={**made.data, "warnings": warnings}, notices=(*made.notices, notice)
    )
