"""`self.context`: where a call would act, as whom and with what. Looks at local files and makes none."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from handrail.contract.disclosure.fields import Shape
from handrail.contract.outcome import Fault
from handrail.contract.parameters import ProjectPath
from handrail.contract.tokens.workflow import WORKFLOW
from handrail.ports.server import TeamState
from handrail.ports.store import DatabaseFacts
from handrail.ports.workspace import Settings
from handrail.runtime.operation import Input, Maybe, Operation
from handrail.runtime.runtime import ReadPorts, Runtime, project_or_root
from handrail.version import __version__
from handrail.views.settings import ConfigFacts, Context, CredentialFacts, SkillFacts, WorkspaceFacts


class ShowContext(Input, frozen=True, kw_only=True):
    """For which project."""

    project: Maybe[ProjectPath] = UNSET


def show_context(rt: Runtime, request: ShowContext) -> Context:
    """The facts, whatever state the store is in."""
    project, trouble = project_or_root(rt, request.project)
    seen = rt.workspace.observations(project)
    settings, steps = _settings(rt, project)
    if trouble is not None:
        steps.insert(0, "handrail doctor --checks workspace --compact")
    database = None if rt.database is None else _database(rt.database)
    team = None if rt.team is None or trouble is not None else rt.team().state(project)
    if team is not None:
        database = DatabaseFacts(place=team.server, is_answering=not team.trouble, trouble=team.trouble)
    credentials = _credentials(rt) if team is None else _team_service(team)
    if database is not None and not database.is_answering:
        steps.append("handrail doctor --checks store --compact")
    if not credentials.usable:
        check = "keyring" if team is None else "credentials"
        steps.append(f"handrail doctor --checks {check} --compact")
    return Context(
        version=__version__,
        env="local" if team is None else "team",
        account=rt.workspace.account() if team is None else team.account,
        workspace=WorkspaceFacts(
            root=project if trouble is None else None,
            branch=seen.get("git_branch"),
            head=seen.get("git_head_sha"),
        ),
        config=ConfigFacts(
            home=rt.installation().home(),
            store=rt.installation().place("data").path if database is None else database.place,
            store_answers=database is None or database.is_answering,
            format=settings.output_format or "json",
            envelope=settings.output_envelope or "cli",
            max_effect=settings.max_effect,
        ),
        credentials=credentials,
        skill=_skill(rt),
        notices=list(rt.installation().notices()),
        next_steps=[*steps, "handrail workflow list --compact", "handrail session resume --compact"],
    )


def _settings(rt: ReadPorts, project: str) -> tuple[Settings, list[str]]:
    """The settings, or the defaults where they cannot be used; and the way to hear what is wrong."""
    steps = ["handrail doctor --checks settings --compact"] if rt.settings.problems(project) else []
    try:
        return rt.settings.of(project), steps
    except Fault:
        return Settings(), steps


def _database(ask: Callable[[], DatabaseFacts]) -> DatabaseFacts:
    """How the database answers; an address that cannot be used does not."""
    try:
        return ask()
    except Fault as fault:
        return DatabaseFacts(place="", is_answering=False, trouble=fault.message)


def _credentials(rt: Runtime) -> CredentialFacts:
    source = rt.installation().secret_source()
    backend = "database" if rt.database is not None and source == "file" else source
    try:
        configured, usable = bool(rt.keys.verifying_keys(WORKFLOW)), True
    except Fault:
        configured, usable = True, False
    return CredentialFacts(configured=configured, backend=backend, usable=usable, expires_at=None)


def _team_service(team: TeamState) -> CredentialFacts:
    """Tokens of a team are signed by its server; what counts here is the token of this machine."""
    return CredentialFacts(
        configured=True,
        backend="team",
        usable=not team.is_reachable or not team.trouble,
        expires_at=team.expires_at or None,
    )


def _skill(rt: Runtime) -> SkillFacts:
    skills = rt.installation().skills()
    if not skills:
        return SkillFacts(version=None, in_sync=None)
    return SkillFacts(version=skills[0].version or None, in_sync=all(one.is_packed_one for one in skills))


OPERATION = Operation(
    name="self.context",
    effect="read",
    where="client",
    summary="Show where a call would act, as whom, and with which settings.",
    input=ShowContext,
    output=Context,
    perform=show_context,
    shape=Shape(
        levels={"minimal": ("version", "account", "workspace.root")},
        untrusted=("workspace.branch",),
    ),
)
