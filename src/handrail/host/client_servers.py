"""Where agent clients keep their files, and which entries in them would start Handrail."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from handrail.contract.client_facts import ClientPlaces
from handrail.contract.installation_facts import ClientServer
from handrail.runtime.client_setup.clients import TABLE, Scope, file_of
from handrail.runtime.client_setup.jsonc import NotEditable, parse

SCOPES: tuple[Scope, ...] = ("project", "user")


def places_of(user: str, environment: Mapping[str, str]) -> ClientPlaces:
    """The directories of one user, without what is installed."""
    return ClientPlaces(
        user=user,
        configuration=_configuration(user, environment),
        zed=_zed(user, environment),
        codex=environment.get("CODEX_HOME") or os.path.join(user, ".codex"),
        command=(),
        programs={},
    )


def _configuration(user: str, environment: Mapping[str, str]) -> str:
    if sys.platform == "darwin":
        return os.path.join(user, "Library", "Application Support")
    if sys.platform == "win32":
        return environment.get("APPDATA") or os.path.join(user, "AppData", "Roaming")
    return environment.get("XDG_CONFIG_HOME") or os.path.join(user, ".config")


def _zed(user: str, environment: Mapping[str, str]) -> str:
    """On macOS it does as on Linux."""
    if sys.platform == "win32":
        return os.path.join(_configuration(user, environment), "Zed")
    return os.path.join(environment.get("XDG_CONFIG_HOME") or os.path.join(user, ".config"), "zed")


def client_servers(
    places: ClientPlaces,
    project: str,
    content_of: Callable[[str], bytes | None],
    found_at: Callable[[str], str],
) -> Sequence[ClientServer]:
    """Every such entry of every client, for the project and for the user."""
    found = [
        ClientServer(
            client=name,
            path=path,
            command=line[0],
            arguments=tuple(line[1:]),
            command_exists=bool(found_at(line[0])),
        )
        for name, client in TABLE.items()
        for path in {file_of(name, scope, project, places): None for scope in SCOPES}
        for line in _lines(_document(content_of(path), is_toml=client.is_toml).get(client.key))
    ]
    return sorted(found, key=lambda one: (one.client, one.path, one.command))


def _document(content: bytes | None, *, is_toml: bool) -> Mapping[str, Any]:
    """What a file holds; nothing where it cannot be read, which is no trouble of ours."""
    if content is None:
        return {}
    try:
        text = content.decode("utf-8")
        held = tomllib.loads(text) if is_toml else parse(text).plain if text.strip() else {}
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, NotEditable, RecursionError):
        return {}
    return held if isinstance(held, dict) else {}


def _lines(entries: Any) -> Iterator[list[str]]:
    """The command lines among the entries that would start Handrail."""
    for entry in entries.values() if isinstance(entries, dict) else ():
        if not isinstance(entry, dict) or not isinstance(entry.get("command"), str):
            continue
        arguments = entry.get("args")
        line = [
            entry["command"],
            *(one for one in (arguments if isinstance(arguments, list) else ()) if isinstance(one, str)),
        ]
        if any(os.path.basename(word).startswith("handrail") for word in line):
            yield line
