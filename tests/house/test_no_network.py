"""Handrail opens no port, calls no host and starts no program but those SECURITY.md names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tests.cases import every_case
from tests.house.tree import Source, check, check_planted, nodes, plant, python_files

NETWORK = frozenset(
    {
        *("socket", "socketserver", "ssl", "http", "urllib", "ftplib", "smtplib", "xmlrpc"),
        *("sigstore", "requests", "httpx", "aiohttp", "websockets", "starlette", "uvicorn"),
        "opentelemetry",
        "psycopg",
    }
)
UPDATERS = ("src/handrail/host/program/fetching.py", "src/handrail/host/program/sigstore_child.py")
"""`update` asks the package index that the user configured, and with `--verify` the keys of the public
Sigstore; nothing else speaks to a network."""
SERVERS = {
    "src/handrail/host/http_client.py": ("http", "socket", "ssl", "urllib"),
    "src/handrail_serve/host/telemetry.py": ("opentelemetry",),
    "src/handrail_serve/serving.py": ("socket", "uvicorn"),
    "src/handrail_serve/app.py": ("urllib",),
    "src/handrail_serve/endpoints/a2a_calls.py": ("starlette",),
    "src/handrail_serve/exchange.py": ("urllib",),
    **dict.fromkeys(
        (
            "src/handrail_team/store/credential_file.py",
            "src/handrail_team/store/credential_file.py",
            "src/handrail_team/store/database.py",
            "src/handrail_team/store/keeper.py",
            "src/handrail_team/store/log.py",
            "src/handrail_team/store/migrations.py",
            "src/handrail_team/accounts/directory.py",
        ),
        ("psycopg",),
    ),
    "src/handrail_team/accounts/provider.py": ("urllib",),
}
"""Where HANDRAIL_STORE names a database, the store speaks to it, and to nothing else; telemetry goes to the
collector that the user names, where its extra is installed; the server of a team asks the identity provider
that its operator names; `serve` listens on loopback, and elsewhere only for a team with encryption or a named
proxy; two take addresses apart, and one reads a request for the library of another protocol."""
CHILDREN = frozenset({"subprocess", "multiprocessing", "pty"})
STARTERS = (
    "src/handrail/main.py",
    "src/handrail_serve/workers.py",
    "src/handrail/demo/scene.py",
    "src/handrail/host/checks.py",
    "src/handrail/host/programs.py",
    "src/handrail/worktree/git_child.py",
    "src/handrail/trials/launcher.py",
    "src/handrail/trials/processes.py",
    "src/handrail/event_log/files/selftest_writers.py",
    "src/handrail/host/program/installation.py",
    "src/handrail/host/program/client_files.py",
    "src/handrail/host/program/updates.py",
    "src/handrail/host/program/provenance.py",
)
"""The front door starts itself again where the locale is not UTF-8; the demo and the proof of the store run
this same program in order to kill it; git reads a repository that the user configured, and counts changed
files for a hook of an agent's client; `check run` starts what its caller names; a check of `doctor` that was
asked for by name greets our own server; `setup` runs the clients' own commands; `update` runs the package
manager, and a child of its own that checks a signature; `serve --team --workers` forks itself."""
CHILD_CALLS = ("system", "popen", "exec", "spawn", "posix_spawn", "fork")


def ways_out(sources: Sequence[Source]) -> list[str]:
    return [
        f"{source.path}:{line}: {what}; do without, or change SECURITY.md by a decision"
        for source in sources
        if source.path.startswith("src/")
        for line, what in _ways_out(source)
    ]


def _ways_out(source: Source) -> Iterator[tuple[int, str]]:
    for node in nodes(source):
        match node:
            case ast.Import(names=names):
                modules = [alias.name for alias in names]
            case ast.ImportFrom(module="urllib.parse"):  # takes addresses apart and opens nothing
                continue
            case ast.ImportFrom(module=str(module)):
                modules = [module]
            case ast.Call(func=ast.Attribute(value=ast.Name(id="os"), attr=name)):
                if name.startswith(CHILD_CALLS) and source.path not in STARTERS:
                    yield node.lineno, f"os.{name} starts a program"
                continue
            case _:
                continue
        for top in (module.split(".")[0] for module in modules):
            if top in SERVERS.get(source.path, ()):
                continue
            if top in NETWORK and source.path not in UPDATERS:
                yield node.lineno, f"{top} reaches the network"
            elif top in CHILDREN and source.path not in STARTERS:
                yield node.lineno, f"{top} starts a program"


def test_the_package_opens_no_connection_and_starts_no_program() -> None:
    check(ways_out(python_files("src/")))


@every_case(
    ("text", "expected"),
    [
        ("import socket\n", "socket reaches the network"),
        ("from urllib.request import urlopen\n", "urllib reaches the network"),
        ("from urllib.parse import urljoin\n", ""),
        ("def f():\n    import subprocess\n", "subprocess starts a program"),
        ("import os\nos.system('ls')\n", "os.system starts a program"),
        ("import os\nos.execv('ls', [])\n", "os.execv starts a program"),
        ("import os\nos.read(0, 1)\n", ""),
        ("import handrail.contract\n", ""),
    ],
)
def test_a_way_out_is_reported(text: str, expected: str) -> None:
    check_planted(ways_out, plant("src/handrail/host/update.py", text), expected)
