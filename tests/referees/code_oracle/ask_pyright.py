"""Asks pyright's language server for renames, over its standard input and output.

Gives, for each question, the places that would change as `[file, start, end]` in characters, or why not.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any
from urllib.parse import quote, unquote

from tests.referees.code_oracle.packages import fetch
from tests.referees.code_oracle.python_questions import Question
from tests.referees.equipment import NotAvailable

PYRIGHT = "pyright@1.1.414"
ANSWER_SECONDS = 300
_SETTINGS = {"python.analysis": {"diagnosticMode": "openFilesOnly", "autoSearchPaths": False}}


@cache
def find_server() -> tuple[str, str]:
    """Node and the server's script. Raises NotAvailable."""
    node = shutil.which("node")
    if node is None:
        raise NotAvailable("node is not on PATH")
    return node, os.path.join(fetch(PYRIGHT), "langserver.index.js")


def ask_pyright(
    root: str, texts: Mapping[str, bytes], questions: Sequence[Question], new: str
) -> list[list[list[Any]] | str]:
    """Raises NotAvailable where the server does not run."""
    with _serve(root) as server:
        opened = set()
        answers: list[list[list[Any]] | str] = []
        for question in questions:
            if question.file not in opened:
                opened.add(question.file)
                server.open(question.file, texts[question.file].decode())
            answers.append(server.rename(question, texts, new))
        return answers


class _Server:
    """One conversation with a server."""

    def __init__(self, process: subprocess.Popen[bytes], root: str) -> None:
        self._process = process
        self._root = root
        self._number = 0
        self._told: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def begin(self) -> None:
        folder = {"uri": self._uri(""), "name": "package"}
        able = {
            "workspace": {"configuration": True, "workspaceEdit": {"documentChanges": True}},
            "textDocument": {"rename": {"prepareSupport": True}},
        }
        given = {"processId": os.getpid(), "rootUri": folder["uri"], "capabilities": able}
        self.ask("initialize", {**given, "workspaceFolders": [folder]})
        self._send({"method": "initialized", "params": {}})

    def open(self, file: str, text: str) -> None:
        document = {"uri": self._uri(file), "languageId": "python", "version": 1, "text": text}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": document}})

    def rename(self, question: Question, texts: Mapping[str, bytes], new: str) -> list[list[Any]] | str:
        line = texts[question.file].decode().splitlines()[question.line - 1]
        place = {"line": question.line - 1, "character": _units(line[: question.column])}
        where = {"textDocument": {"uri": self._uri(question.file)}, "position": place}
        told = self.ask("textDocument/rename", {**where, "newName": new})
        if "error" in told:
            return str(told["error"].get("message"))[:200]
        if not told.get("result"):
            return "it renames nothing"
        found = []
        for uri, edits in _edits(told["result"]):
            file = os.path.relpath(unquote(uri.removeprefix("file://")), self._root)
            text = texts.get(file, b"").decode()
            for edit in edits:
                start, end = (_offset(text, edit["range"][side]) for side in ("start", "end"))
                if text[start:end] != question.name:
                    return "it changes more than one name"
                found.append([file, start, end])
        return sorted(found)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The answer; meanwhile the server may ask for its settings."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            try:
                message = self._told.get(timeout=ANSWER_SECONDS)
            except queue.Empty:
                raise NotAvailable(f"pyright did not answer within {ANSWER_SECONDS} s") from None
            if message is None:
                raise NotAvailable("pyright ended")
            if "method" in message and "id" in message:
                items = message.get("params", {}).get("items", [])
                settings = [_SETTINGS.get(item.get("section"), {}) for item in items]
                is_settings = message["method"] == "workspace/configuration"
                self._send({"id": message["id"], "result": settings if is_settings else None})
            elif message.get("id") == self._number:
                return message

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            self._process.stdin.flush()
        except OSError as trouble:
            raise NotAvailable(f"pyright ended: {trouble}") from None

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if not line:
                self._told.put(None)
                return
            self._told.put(json.loads(stream.read(length)))

    def _uri(self, file: str) -> str:
        return "file://" + quote(os.path.join(self._root, file).rstrip("/"))


@contextmanager
def _serve(root: str) -> Iterator[_Server]:
    node, script = find_server()
    process = subprocess.Popen(
        [node, script, "--stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=root,
    )
    try:
        server = _Server(process, root)
        server.begin()
        yield server
    finally:
        process.kill()
        process.wait(timeout=ANSWER_SECONDS)


def _edits(result: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    yield from result.get("changes", {}).items()
    for change in result.get("documentChanges", ()):
        if "textDocument" in change:
            yield change["textDocument"]["uri"], change["edits"]


def _units(text: str) -> int:
    """UTF-16 code units, in which the protocol counts."""
    return len(text.encode("utf-16-le")) // 2


def _offset(text: str, place: Mapping[str, int]) -> int:
    lines = text.splitlines(keepends=True)
    before = sum(map(len, lines[: place["line"]]))
    if place["line"] >= len(lines):
        return before
    units = lines[place["line"]].encode("utf-16-le")[: 2 * place["character"]]
    return before + len(units.decode("utf-16-le"))
