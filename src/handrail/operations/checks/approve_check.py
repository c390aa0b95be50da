"""`check.approve`: a person approves checks that Handrail may run, at a terminal or in the Console."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from handrail.contract.catalogue import E_CONFLICT, E_HUMAN_REQUIRED
from handrail.contract.disclosure.fields import Shape
from handrail.contract.fence import flatten_text
from handrail.contract.outcome import (
    Answer,
    Fault,
    NextCall,
    refuse_argument,
)
from handrail.contract.parameters import MintedId, NamedId, ProjectPath
from handrail.contract.printed_text import show_line, strip_escapes
from handrail.contract.redaction import REDACTED
from handrail.contract.wording import quote
from handrail.operations.checks.list_checks import DECLARED_IN
from handrail.operations.declared_checks import digest_check, find_declared
from handrail.ports.workspace import DeclaredCheck
from handrail.runtime.operation import Input, Operation
from handrail.runtime.permission import require_permission
from handrail.runtime.runtime import ReadPorts, WritePorts, project_of
from handrail.runtime.who_confirms import require_yes

MEANING = (
    "Code of this project then runs with your rights and without asking, when an agent's report needs one\n"
    "and its last run took at most 20 seconds. A changed declaration needs a new approval; a changed script\n"
    "or test that it starts does not."
)


class ApproveCheck(Input, frozen=True, kw_only=True):
    """The checks to approve, and their project."""

    name: Annotated[NamedId, Meta(description="A declared check; else every one of them.")] | UnsetType = (
        UNSET
    )
    digest: (
        Annotated[
            MintedId, Meta(description="Of the declaration that was shown, from the Console.", max_length=128)
        ]
        | UnsetType
    ) = UNSET
    withdraw: Annotated[bool, Meta(description="Take the approval back; asks nobody.")] | UnsetType = UNSET
    project: ProjectPath | UnsetType = UNSET


class ApprovedCheck(Answer, frozen=True, kw_only=True):
    """A check, and whether it is approved now."""

    name: str
    line: str
    digest: str
    is_approved: bool


class ApprovedChecks(Answer, frozen=True, kw_only=True):
    """The present approvals; `is_new` is false if they were the same before this call."""

    checks: list[ApprovedCheck]
    source: str
    """Where a person was asked; empty if no person was."""
    who: str
    is_new: bool


def approve_check(rt: WritePorts, request: ApproveCheck) -> ApprovedChecks:
    """Ask the person once, and store an approval of exactly these declarations.

    Raise Fault E_HUMAN_REQUIRED if no person can be asked or the person does not agree, E_CONFLICT if the
    Console showed another declaration, and VALIDATION_ERROR for a check that is not declared.
    """
    if request.withdraw is True and not rt.is_at_console:  # asks no person, so it needs permission
        require_permission(rt.settings.of(), OPERATION.effect)
    project = project_of(rt, request.project)
    checks = find_declared(rt.settings.of(project), "" if request.name is UNSET else request.name)
    digests = {check.name: digest_check(check) for check in checks}
    known = rt.known_checks()
    reads_back = NextCall(operation="check.list", params={"project": project})
    if request.withdraw is True:
        was = any(known.find(project, one).is_approved for one in digests.values())
        known.withdraw(project, tuple(digests))
        rt.commits.note(reads_back)
        return _describe_all(rt, checks, project, "", is_new=was)
    if all(known.find(project, one).is_approved for one in digests.values()):
        return _describe_all(rt, checks, project, "", is_new=False)
    _refuse_secrets(rt, checks)
    source = _ask_console(request, digests) if rt.is_at_console else _ask_terminal(rt, checks, project)
    known.approve(project, digests, rt.workspace.account(), rt.clock.now())
    rt.commits.note(reads_back)
    return _describe_all(rt, checks, project, source, is_new=True)


def _refuse_secrets(rt: ReadPorts, checks: tuple[DeclaredCheck, ...]) -> None:
    """Refuse a declaration with a secret: a person approves what they see, and secrets are not shown."""
    for check in checks:
        if REDACTED in _show(rt, check):
            raise refuse_argument(
                f"The check {quote(check.name)} in {DECLARED_IN} holds a secret in its command or "
                "environment, so nobody can approve it. Nothing was approved.",
                "name",
                "holds a secret",
                "a declaration without secrets",
                hint="Let the program read the secret from a file or from your environment, then approve it.",
            )


def _ask_console(request: ApproveCheck, digests: dict[str, str]) -> str:
    """Check that the Console showed this very declaration: the page sends back the
    digest of what it showed.
    """
    if request.digest is UNSET or list(digests.values()) != [request.digest]:
        raise Fault(
            E_CONFLICT,
            "The declaration changed after it was shown, or none was; nothing was approved.",
            details={"reason": "target_changed"},
            hint="Look at what is declared now, then approve it.",
        )
    return "console"


def _ask_terminal(rt: WritePorts, checks: tuple[DeclaredCheck, ...], project: str) -> str:
    """Ask a person at the terminal itself, so that a command line that an agent runs approves nothing."""
    listed = "\n".join(f"  {check.name}: {_show(rt, check)}" for check in checks)
    where = flatten_text(strip_escapes(project))
    text = f"\nChecks of {where}:\n{listed}\n\n{MEANING}\nApprove? [y/n] "
    command = " ".join(["handrail check approve", *(check.name for check in checks[:1] if len(checks) == 1)])
    meanwhile = "; until then run checks by name"
    return require_yes(rt, text, command=command, resume="handrail check list", meanwhile=meanwhile)


def _show(rt: ReadPorts, check: DeclaredCheck) -> str:
    """Return the whole declaration in one line, because all of it is approved."""
    line = show_line(rt.secrets, check.command, check.environment)
    report = "" if check.report is None else f", report {flatten_text(check.report.path)}"
    return f"{line} (in {flatten_text(check.directory)}, at most {check.timeout_seconds} s{report})"


def _describe_all(
    rt: WritePorts, checks: tuple[DeclaredCheck, ...], project: str, source: str, *, is_new: bool
) -> ApprovedChecks:
    rows = [
        ApprovedCheck(
            name=check.name,
            line=show_line(rt.secrets, check.command, check.environment),
            digest=digest_check(check),
            is_approved=rt.known_checks().find(project, digest_check(check)).is_approved,
        )
        for check in checks
    ]
    return ApprovedChecks(checks=rows, source=source, who=rt.workspace.account(), is_new=is_new)


OPERATION = Operation(
    name="check.approve",
    effect="record",
    where="client",
    summary="Approve checks that Handrail may run on its own. Requires a person at a terminal.",
    input=ApproveCheck,
    output=ApprovedChecks,
    perform=approve_check,
    is_persons=True,
    shape=Shape(
        levels={"minimal": ("checks", "is_new"), "standard": None, "full": None},
        select="top",
        untrusted=("checks",),
    ),
    errors=(E_HUMAN_REQUIRED.code, E_CONFLICT.code),
)
