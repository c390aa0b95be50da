"""Settings: what files ask for and what is in force; where a call would act. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from handrail.contract.outcome import Answer, Json

SettingSource: TypeAlias = Literal["default", "user", "project", "environment"]


class SettingRow(Answer, frozen=True, kw_only=True):
    """One setting."""

    name: str
    desired: Json
    """What a file says; null where none does."""
    applied: Json
    """What is in force; null where the settings cannot be used."""
    default: Json
    source: SettingSource
    """What `applied` comes from."""
    of: list[str]
    """Whose file may set it: user, project."""
    takes: str
    takes_effect: str
    restart_needed: bool
    """A server that runs now still has another value."""
    text: str


class ProblemRow(Answer, frozen=True, kw_only=True):
    """Something in a settings file that is not as it should be."""

    place: str
    message: str
    fix: str


class ServerRow(Answer, frozen=True, kw_only=True):
    """An MCP server of this home that runs now."""

    pid: int
    version: str
    transport: str
    project: str
    tools: list[str]
    started_at: str
    restart_needed: bool
    """It is of another version, or began with another value of a setting."""


class ShownSettings(Answer, frozen=True, kw_only=True):
    """All settings, what is wrong with their files, and the servers that run now."""

    project: str
    user_file: str
    project_file: str
    settings: list[SettingRow]
    problems: list[ProblemRow]
    servers: list[ServerRow]


class WorkspaceFacts(Answer, frozen=True, kw_only=True):
    """Where the caller works."""

    root: str | None
    """Null where the environment names a directory that does not exist; calls about a project are refused."""
    branch: str | None
    head: str | None


class ConfigFacts(Answer, frozen=True, kw_only=True):
    """The settings in force."""

    home: str
    store: str
    """A directory, the address of a database without its user, or that of the team's server."""
    store_answers: bool
    """Always true of files."""
    format: str
    envelope: str
    max_effect: str


class CredentialFacts(Answer, frozen=True, kw_only=True):
    """Whether tokens can be signed and checked; never with what."""

    configured: bool
    backend: str
    usable: bool
    expires_at: str | None
    """When the token of this machine ends; null: it does not, or nobody says."""


class SkillFacts(Answer, frozen=True, kw_only=True):
    """The agent skill in the user's home; null where none is installed."""

    version: str | None
    in_sync: bool | None


class Context(Answer, frozen=True, kw_only=True):
    """Everything a call would take for granted."""

    version: str
    env: str
    account: str
    """In a team, by whose agent calls are made; empty: its server did not say."""
    workspace: WorkspaceFacts
    config: ConfigFacts
    credentials: CredentialFacts
    skill: SkillFacts
    notices: list[dict[str, Json]]
    next_steps: list[str]
