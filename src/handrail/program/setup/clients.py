"""The agent clients that `setup` knows: their files, their own commands, the entry each one takes. Pure."""

from __future__ import annotations

import re
import shlex
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from handrail.ports.program import ClientPlaces

ClientName: TypeAlias = Literal["claude-code", "cursor", "codex", "gemini", "vscode", "zed"]
Scope: TypeAlias = Literal["user", "project"]
CLIENTS: tuple[ClientName, ...] = get_args(ClientName)
ToolSet: TypeAlias = Literal["workflow", "code"]
TOOL_SETS: tuple[ToolSet, ...] = get_args(ToolSet)
ENTRIES: dict[ToolSet, str] = {"workflow": "handrail", "code": "handrail-code"}
"""A server serves one set, so each has an entry of its own."""
HOOK_SECONDS = 5


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """One client."""

    user_file: str
    """`~` the home, `$config` the configuration directory, `$codex` and `$zed` those of the two."""
    project_file: str
    key: str
    """What the servers are listed under."""
    signs: tuple[str, ...]
    """Any of these shows that the client is used here."""
    program: str = ""
    is_toml: bool = False
    with_type: bool = False


TABLE: dict[ClientName, Client] = {
    "claude-code": Client(
        user_file="~/.claude.json",
        project_file=".mcp.json",
        key="mcpServers",
        signs=("~/.claude.json", "~/.claude"),
        program="claude",
    ),
    "cursor": Client(
        user_file="~/.cursor/mcp.json",
        project_file=".cursor/mcp.json",
        key="mcpServers",
        signs=("~/.cursor",),
    ),
    "codex": Client(
        user_file="$codex/config.toml",
        project_file=".codex/config.toml",
        key="mcp_servers",
        signs=("$codex",),
        program="codex",
        is_toml=True,
    ),
    "gemini": Client(
        user_file="~/.gemini/settings.json",
        project_file=".gemini/settings.json",
        key="mcpServers",
        signs=("~/.gemini",),
        program="gemini",
    ),
    "vscode": Client(
        user_file="$config/Code/User/mcp.json",
        project_file=".vscode/mcp.json",
        key="servers",
        signs=("$config/Code/User",),
        with_type=True,
    ),
    "zed": Client(
        user_file="$zed/settings.json",
        project_file=".zed/settings.json",
        key="context_servers",
        signs=("$zed",),
    ),
}


class HookPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where a client keeps its hooks, and what it calls the moments that matter."""

    user_file: str
    project_file: str
    events: dict[str, str]
    """Before a compaction and at a session's start, each with the matcher it gets."""
    timeout: int = HOOK_SECONDS
    """In the unit of the client."""
    is_flat: bool = False
    """An element is the command itself, not a group of commands with a matcher."""


HOOKS: dict[ClientName, HookPlace] = {
    "claude-code": HookPlace(
        user_file="~/.claude/settings.json",
        project_file=".claude/settings.json",
        events={
            "PreCompact": "",
            "SessionStart": "compact|resume|startup|clear",
        },
    ),
    "cursor": HookPlace(
        user_file="~/.cursor/hooks.json",
        project_file=".cursor/hooks.json",
        events={"preCompact": "", "sessionStart": ""},
        is_flat=True,
    ),
    "codex": HookPlace(
        user_file="$codex/hooks.json",
        project_file=".codex/hooks.json",
        events={"PreCompact": "", "SessionStart": "compact|resume|startup|clear"},
    ),
    "gemini": HookPlace(
        user_file="~/.gemini/settings.json",
        project_file=".gemini/settings.json",
        events={"PreCompress": "", "SessionStart": ""},
        timeout=1000 * HOOK_SECONDS,
    ),
}
"""The clients that have such hooks. VS Code reads those of Claude Code; Zed has none."""


def path_of(template: str, places: ClientPlaces) -> str:
    begin, _, rest = template.partition("/")
    roots = {
        "~": places.user,
        "$config": places.configuration,
        "$codex": places.codex,
        "$zed": places.zed,
    }
    return f"{roots[begin]}/{rest}" if rest else roots[begin]


def file_of(kept: Client | HookPlace, scope: Scope, project: str, places: ClientPlaces) -> str:
    return f"{project}/{kept.project_file}" if scope == "project" else path_of(kept.user_file, places)


def entry_of(name: ClientName, command: tuple[str, ...], tool_set: ToolSet) -> dict[str, Any]:
    """What the client starts."""
    typed = {"type": "stdio"} if TABLE[name].with_type else {}
    return {**typed, "command": command[0], "args": [*command[1:], *_words(tool_set)]}


def _words(tool_set: ToolSet) -> tuple[str, ...]:
    return ("mcp",) if tool_set == "workflow" else ("mcp", "--set", tool_set)


def hook_of(name: ClientName, event: str, command: tuple[str, ...]) -> dict[str, Any]:
    """One element of the event's list."""
    place = HOOKS[name]
    line = shlex.join([*command, "hook", event, *([] if name == "claude-code" else [name])])
    if place.is_flat:
        return {"command": line, "timeout": place.timeout}
    matcher = {"matcher": place.events[event]} if place.events[event] else {}
    return {**matcher, "hooks": [{"type": "command", "command": line, "timeout": place.timeout}]}


def is_own_hook(event: str, element: Any) -> bool:
    """Whether an element of an event's list is the one that `setup` adds, whatever the path in it."""
    if not isinstance(element, dict):
        return False
    hooks = element.get("hooks", [element])
    if not isinstance(hooks, list) or len(hooks) != 1 or not isinstance(hooks[0], dict):
        return False
    line = hooks[0].get("command")
    ours = f"handrail.* hook {event}( [a-z-]+)?"
    return isinstance(line, str) and re.search(f"{ours}$", line) is not None


def build_command(
    name: ClientName, scope: Scope, places: ClientPlaces, tool_set: ToolSet, *, is_removal: bool
) -> tuple[str, ...]:
    """The client's own way to add a server or to remove it; empty where it has none or is not installed."""
    program = places.programs.get(TABLE[name].program, "")
    if not program or (name == "codex" and scope == "project"):
        return ()
    scoped = () if name == "codex" else ("--scope", scope)
    if is_removal:
        return (program, "mcp", "remove", *scoped, ENTRIES[tool_set])
    if name == "gemini" and tool_set != "workflow":  # it takes flags of the server for its own
        return ()
    ends_flags = () if name == "gemini" else ("--",)
    started = (*places.command, *_words(tool_set))
    return (program, "mcp", "add", *scoped, ENTRIES[tool_set], *ends_flags, *started)
