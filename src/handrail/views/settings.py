"""Settings: the values in files, the values in force, and the context of a call. Pure."""

from __future__ import annotations

from typing import Literal, TypeAlias

from handrail.contract.outcome import Answer, Json

SettingSource: TypeAlias = Literal["default", "user", "project", "environment"]


class SettingRow(Answer, frozen=True, kw_only=True):
    """One setting."""

    name: str
    desired: Json
    """The value in a file; null if no file sets it."""
    applied: Json
    """The value in force; null if the settings cannot be used."""
    default: Json
    source: SettingSource
    """The source of `applied`."""
    of: list[str]
    """Which files may set it: the user's, the project's, or both."""
    takes: str
    takes_effect: str
    restart_needed: bool
    """Whether a running server still uses another value."""
    text: str


class ProblemRow(Answer, frozen=True, kw_only=True):
    """A problem in a settings file."""

    place: str
    message: str
    fix: str


class ServerRow(Answer, frozen=True, kw_only=True):
    """An MCP server of this home that is running."""

    pid: int
    version: str
    transport: str
    project: str
    tools: list[str]
    started_at: str
    restart_needed: bool
    """Whether it runs another version, or began with another value of a setting."""


class ShownSettings(Answer, frozen=True, kw_only=True):
    """All settings, the problems of their files, and the running servers."""

    project: str
    user_file: str
    project_file: str
    settings: list[SettingRow]
    problems: list[ProblemRow]
    servers: list[ServerRow]


class WorkspaceFacts(Answer, frozen=True, kw_only=True):
    """Where the caller works."""

    root: str | None
    """The workspace root. Null if the environment names a directory that does not exist; calls about a
    project then fail.
    """
    branch: str | None
    head: str | None


class ConfigFacts(Answer, frozen=True, kw_only=True):
    """The settings in force."""

    home: str
    store: str
    """A directory, the address of a database without its user, or the address of the team server."""
    store_answers: bool
    """Whether the store answers; always true for a directory."""
    format: str
    envelope: str
    max_effect: str


class CredentialFacts(Answer, frozen=True, kw_only=True):
    """Whether tokens can be signed and verified; the keys themselves are never shown."""

    configured: bool
    backend: str
    usable: bool
    expires_at: str | None
    """When this machine's token expires; null if it does not expire or the server did not say."""


class SkillFacts(Answer, frozen=True, kw_only=True):
    """The agent skill in the user's home; null if none is installed."""

    version: str | None
    in_sync: bool | None


class Context(Answer, frozen=True, kw_only=True):
    """Everything that a call takes from its environment."""

    version: str
    env: str
    account: str
    """With a team server: the account of whoever makes calls here; empty if the server did not say."""
    workspace: WorkspaceFacts
    config: ConfigFacts
    credentials: CredentialFacts
    skill: SkillFacts
    notices: list[dict[str, Json]]
    next_steps: list[str]
