"""The checks that a project declares: finding one by name, and pinning all of them when a run starts."""

from __future__ import annotations

from handrail.contract.catalogue import VALIDATION_ERROR
from handrail.contract.outcome import Fault, NextCall
from handrail.contract.printed_text import redact_argv
from handrail.contract.redaction import Secrets
from handrail.contract.suggest import find_nearest
from handrail.contract.wording import quote
from handrail.engine.events import PinnedCheck
from handrail.engine.receipts import digest_argv
from handrail.ports.workspace import DeclaredCheck, Settings


def find_check(settings: Settings, name: str) -> DeclaredCheck:
    """The declared check of this name. Raises Fault VALIDATION_ERROR."""
    for check in settings.checks:
        if check.name == name:
            return check
    names = [check.name for check in settings.checks]
    known = f"declared are {', '.join(names)}" if names else "it declares none"
    raise Fault(
        VALIDATION_ERROR,
        f"The project declares no check {quote(name)}; {known}. To run a command as it is, put -- before it.",
        details={
            "problems": [{"param": "name", "problem": "is not declared", "expected": known}],
            "did_you_mean": find_nearest(name, names),
        },
        hint="Declare it under `checks` in .handrail/config.json, or run the command itself after --.",
        next_call=NextCall(operation="check.list", params={}),
    )


def pin_checks(settings: Settings, secrets: Secrets) -> tuple[PinnedCheck, ...]:
    """What a run keeps of the declared checks: from now on these commands count under these names."""
    return tuple(
        PinnedCheck(
            name=check.name,
            argv=redact_argv(check.command, secrets),
            argv_digest=digest_argv(check.command),
        )
        for check in settings.checks
    )
