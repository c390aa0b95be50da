"""The installed product as a stranger has it: a program, an MCP server, a home and a project folder."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.conformance.forked import AT_THE_START, ForkServer
from tests.surfaces.cli.tool import DEADLINE_SECONDS

PROGRAM = str(Path(sys.executable).parent / "handrail")


class Ran(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one JSON document of standard output."""
        found: dict[str, Any] = json.loads(self.out)
        return found


class Product:
    """A home, a project folder beside it, and the program; each line is a process of its own."""

    def __init__(self, place: Path, programs: ForkServer) -> None:
        self.home = place / "home"
        self.project = place / "project"
        self.project.mkdir(parents=True)
        self.programs = programs
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(place),
            "HANDRAIL_HOME": str(self.home),
            "LANG": "C.UTF-8",
        }

    def request(self, line: Sequence[str], **environment: str) -> dict[str, Any]:
        return {
            "arguments": [base64.b64encode(os.fsencode(word)).decode() for word in line],
            "environment": self.environment | environment,
            "directory": str(self.project),
            "plant": "",
        }

    def run(self, *line: str, stdin: str = "", **environment: str) -> Ran:
        """What `handrail LINE` prints and exits with, in the project folder."""
        if any(name.startswith(AT_THE_START) for name in environment):  # the start itself matters
            return self._start(line, stdin, environment)
        ran = self.programs.run(self.request(line, **environment), stdin.encode())
        return Ran(ran.status, ran.out.decode(), ran.err.decode())

    def _start(self, line: Sequence[str], stdin: str, environment: dict[str, str]) -> Ran:
        ran = subprocess.run(
            [PROGRAM, *line],
            cwd=self.project,
            env=self.environment | environment,
            input=stdin.encode(),
            capture_output=True,
            timeout=DEADLINE_SECONDS,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def data(self, *line: str) -> dict[str, Any]:
        """The `data` of a command that must succeed."""
        ran = self.run(*line)
        assert ran.status == 0, ran
        found: dict[str, Any] = ran.document["data"]
        return found

    def error(self, *line: str) -> dict[str, Any]:
        """The `error` of a command that must fail."""
        ran = self.run(*line)
        assert ran.status != 0, ran
        found: dict[str, Any] = ran.document["error"]
        return found

    def workflow(self, document: dict[str, Any]) -> str:
        """Puts a workflow file into the project and gives its id."""
        folder = self.project / ".handrail" / "workflows"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{document['id']}.json").write_text(json.dumps(document), encoding="utf-8")
        return str(document["id"])

    def serve(self) -> Server:
        return Server(self)


class Server:
    """`handrail mcp` over stdio, one request at a time. Use it in a `with` block."""

    def __init__(self, product: Product) -> None:
        requests, answers = os.pipe(), os.pipe()
        with open(os.devnull, "wb") as nowhere:
            product.programs.spawn(product.request(["mcp"]), [requests[0], answers[1], nowhere.fileno()])
        os.close(requests[0])
        os.close(answers[1])
        self._requests = os.fdopen(requests[1], "wb")
        self._answers = os.fdopen(answers[0], "rb")
        self._next = 0
        client = {"name": "stranger", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *trouble: object) -> None:
        self._requests.close()
        self._answers.read()  # it ends when its input does
        self._answers.close()

    def _send(self, message: dict[str, Any]) -> None:
        self._requests.write(json.dumps(message).encode() + b"\n")
        self._requests.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The whole JSON-RPC answer; what the server sends in between is passed over."""
        self._next += 1
        self._send({"jsonrpc": "2.0", "id": self._next, "method": method, "params": params})
        while True:
            line = self._answers.readline()
            assert line, "the server ended"
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == self._next:
                return message

    def call(self, tool: str, **arguments: Any) -> Called:
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        text = "\n".join(part["text"] for part in result["content"] if part["type"] == "text")
        return Called(bool(result.get("isError")), text, result.get("structuredContent") or {})


class Called(NamedTuple):
    """What an agent gets: is it an error, the text, the structure."""

    is_error: bool
    text: str
    structured: dict[str, Any]
