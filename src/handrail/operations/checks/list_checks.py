"""`check.list`: the checks that the project declares, and which of them a person approved on this machine."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Page, Success, make_from
from handrail.contract.parameters import ProjectPath
from handrail.contract.printed_text import redact_argv, show_line, strip_escapes
from handrail.operations.declared_checks import digest_check
from handrail.ports.workspace import DeclaredCheck
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts, project_of
from handrail.views.checks import CheckList, CheckRow

DECLARED_IN = ".handrail/config.json"


class ListChecks(Input, frozen=True, kw_only=True):
    """The project to list checks of."""

    project: ProjectPath | UnsetType = UNSET


def list_checks(rt: ReadPorts, request: ListChecks) -> Success:
    """Return every declared check, in the order of the declarations. Nothing is run."""
    project = project_of(rt, request.project)
    rows = tuple(_describe_row(rt, project, check) for check in rt.settings.of(project).checks)
    page = Page(items=tuple(map(msgspec.to_builtins, rows)), style="none", limit=max(1, len(rows)))
    return Success(data=msgspec.to_builtins(CheckList(declared_in=DECLARED_IN)), page=page)


def _describe_row(rt: ReadPorts, project: str, check: DeclaredCheck) -> CheckRow:
    declaration = digest_check(check)
    known = rt.known_checks().find(project, declaration)
    return make_from(
        CheckRow,
        check,
        command=redact_argv(check.command, rt.secrets),
        line=show_line(rt.secrets, check.command, check.environment),
        description=strip_escapes(check.description),
        report="" if check.report is None else check.report.path,
        environment=list(redact_argv([f"{name}={value}" for name, value in check.environment], rt.secrets)),
        digest=declaration,
        is_approved=known.is_approved,
        last_duration_ms=known.duration_ms,
    )


OPERATION = Operation(
    name="check.list",
    effect="read",
    where="client",
    summary="List the checks that the project declares.",
    input=ListChecks,
    output=CheckList,
    item=CheckRow,
    perform=list_checks,
    shape=Shape(
        levels={"minimal": ("name", "command"), "standard": None, "full": None},
        id_field="name",
        select="items",
        untrusted=("command", "line", "environment", "description"),
    ),
    default_sort="declared",
)
