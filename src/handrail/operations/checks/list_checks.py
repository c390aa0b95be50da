"""`check.list`: the checks that the project declares, and which of them a person approved on this machine."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Page, Payload, Success, make_from
from handrail.contract.parameters import ProjectPath
from handrail.contract.printed_text import redact_argv, show_line, strip_escapes
from handrail.operations.declared_checks import digest_check
from handrail.ports.workspace import DeclaredCheck
from handrail.runtime.operation import Input, Operation
from handrail.runtime.runtime import ReadPorts, project_of

DECLARED_IN = ".handrail/config.json"


class ListChecks(Input, frozen=True, kw_only=True):
    """Of which project."""

    project: ProjectPath | UnsetType = UNSET


class CheckRow(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """One declared check; secrets in its command are not shown."""

    name: str
    command: tuple[str, ...]
    line: str
    """The same as a shell takes it, with what its declaration sets."""
    directory: str
    timeout_seconds: int
    description: str
    report: str
    """The file in which its tests are counted; empty: there is none."""
    environment: list[str]
    """What its declaration sets, as NAME=value."""
    digest: str
    """Of the declaration."""
    is_approved: bool
    """Handrail runs it itself where a report needs it and its last run was short."""
    last_duration_ms: int | None
    """On this machine; null: it was never run to its end, or was ended before it last time."""


class CheckList(Payload, frozen=True, kw_only=True, omit_defaults=False):
    """Beside the items: where they are declared."""

    declared_in: str


def list_checks(rt: ReadPorts, request: ListChecks) -> Success:
    """Every declared check, in the order of the declarations. Nothing is run."""
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
    where="companion",
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
