"""Starts the server of `serve` and `console`: joins what the core and this package bring, and runs it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any

from msgspec.structs import replace

from handrail.contract.disclosure.fields import Level
from handrail.contract.redaction import Secrets
from handrail.host.clock import SystemRandomness
from handrail.host.workflow_library import DirectoryLibrary
from handrail.ports.process import Observer
from handrail.runtime.permission import announce_process
from handrail.runtime.runtime import NO_OBSERVER, Due, Runtime
from handrail.surfaces.mcp.adapter import Adapter
from handrail.wiring import build_runtime, home_directory, notices, session_marks
from handrail_serve.app import AnswerMcp
from handrail_serve.calls import Served
from handrail_serve.command import ServeOptions, run_server
from handrail_serve.companions.agent_card import A2aCalls, InThread
from handrail_serve.host.server_files import ServerFiles
from handrail_serve.mcp_door import HttpDoor
from handrail_serve.team_server import run_team_server, take_team_options

_SIGNALS = ("TRACES", "METRICS")


def serve(
    command: str,
    given: dict[str, Any],
    environment: Mapping[str, str],
    secrets: Secrets,
    *,
    mvi: Level,
    take_tree: Callable[[Runtime, Due], None],
) -> int:
    """Serve until a signal. `given` are the flags of the command. Returns the exit status."""
    opens = bool(given.pop("open", False)) or command == "console"
    home = home_directory(environment)
    team = take_team_options(given, environment)
    if team is not None:
        environment = {name: value for name, value in environment.items() if name != "HANDRAIL_STORE"}
    options = ServeOptions(command=command, opens_browser=opens, store=home, **given)

    def build_mcp(runtime: Runtime) -> AnswerMcp:
        adapter = Adapter(runtime, mvi=mvi)
        announce_process(runtime, "http", tuple(adapter.tools))
        return HttpDoor(adapter).answer

    observer = build_observer(environment, _write_line)
    runtime = replace(build_runtime(environment, secrets=secrets), observer=observer)
    try:
        if team is not None:
            if team.client_secret:
                secrets.register(team.client_secret.encode())
            if team.workflows:
                runtime = replace(runtime, library=DirectoryLibrary(home, environment, team.workflows))
            known = replace(runtime, origin=team.origin)
            door = runtime.registry.adapter("team_door")(team.store, known, team.provider, _write_line)
            return run_team_server(options, team, runtime=runtime, build_mcp=build_mcp, door=door)
        return run_server(
            options,
            ServerFiles(home, SystemRandomness(), environment),
            runtime=runtime,
            build_mcp=build_mcp,
            notices=lambda operation: notices(environment, operation),
            take_tree=take_tree,
            marks=session_marks(environment),
            build_a2a=_build_a2a if find_spec("a2a") else None,
        )
    finally:
        runtime.mcp_processes().withdraw()
        observer.close()


def build_observer(environment: Mapping[str, str], tell: Callable[[str], None]) -> Observer:
    """What the standard `OTEL_` variables ask for; by default nobody watches, and nothing is loaded."""
    named = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")
    ends = ("OTEL_EXPORTER_OTLP_ENDPOINT", *(f"OTEL_EXPORTER_OTLP_{what}_ENDPOINT" for what in _SIGNALS))
    is_asked = any(environment.get(name) == "otlp" for name in named) or any(map(environment.get, ends))
    if not is_asked or environment.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return NO_OBSERVER
    try:
        from handrail_serve.host.telemetry import export_telemetry  # noqa: PLC0415 - few servers are watched

        return export_telemetry(environment)
    except ImportError:
        tell("handrail: OTEL_ variables ask for telemetry; install handrail[otel], or unset them.")
    except ValueError as trouble:
        tell(f"handrail: there is no telemetry, because an OTEL_ variable does not fit: {trouble}")
    return NO_OBSERVER


def _build_a2a(served: Served, in_thread: InThread) -> A2aCalls:
    from handrail_serve.companions.a2a_calls import Calls  # noqa: PLC0415 - an extra brings its library

    return Calls(served, in_thread)


def _write_line(line: str) -> None:
    os.write(2, line.encode("ascii", "backslashreplace") + b"\n")
