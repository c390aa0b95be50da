"""Starts our own MCP server, sends a client's first message, and stops it again."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

import msgspec

from handrail import __version__
from handrail.contract.installation_facts import Handshake
from handrail.host.programs import make_child_environment, own_command

TIMEOUT_SECONDS = 25
_GREETING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "handrail-doctor", "version": __version__},
    },
}


class _Server(msgspec.Struct, frozen=True, kw_only=True):
    version: str = ""


class _Result(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    protocol_version: str
    server_info: _Server = _Server()


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    result: _Result


def greet(environment: Mapping[str, str]) -> Handshake:
    """What the server answered; the trouble in a sentence when it did not."""
    line = msgspec.json.encode(_GREETING) + b"\n"
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and module, no shell
            [*own_command(), "mcp"],
            input=line,
            capture_output=True,
            env=make_child_environment(environment),
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        answer = msgspec.json.decode(done.stdout.partition(b"\n")[0], type=_Answer)
    except subprocess.TimeoutExpired:
        return Handshake(trouble=f"The server gave no answer within {TIMEOUT_SECONDS} seconds.")
    except OSError as error:
        return Handshake(trouble=f"The server could not be started: {error.strerror}.")
    except (msgspec.MsgspecError, ValueError):
        return Handshake(trouble="The server's first line is not the answer that a client expects.")
    return Handshake(
        protocol_version=answer.result.protocol_version, server_version=answer.result.server_info.version
    )
