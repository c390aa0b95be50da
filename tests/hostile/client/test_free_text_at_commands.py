"""The canary of `test_free_text.py` through the flags of every command."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.surfaces.cli.reading.command_types import Command, Param
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.hostile.client.test_free_text import Watching, put, text_fields
from tests.surfaces.cli.here import run_here
from tests.surfaces.http.filled_calls import Work, begin_work
from tests.surfaces.http.whole_server import WholeServer

_ELSEWHERE = ("team.", "program.", "lafs.", "store.selftest", "self.doctor")
"""They need a database or a network, and their parameters go the same way into the audit."""
_FILES = frozenset({"file", "records", "document", "documents", "source", "sources"})
_TEXTS = frozenset({"text", "id", "token", "int", "choice", "choices", "ids", "directory", "words"})


def find_param(command: Command, path: tuple[str, ...]) -> tuple[Param, tuple[str, ...]] | None:
    """The flag that takes this field, and where in its value the field is; None: the command has none."""
    for param in command["params"]:
        name = tuple(param["name"].split("."))
        if path[: len(name)] == name:
            return param, path[len(name) :]
    return None


def spell_value(param: Param, value: Any, folder: Path) -> list[str]:
    """The words for a flag or a position with this value."""
    if param["kind"] in _FILES:
        one = value[0] if isinstance(value, list) else value
        text = one.get("text", "") if isinstance(one, dict) else str(one)
        file = folder / f"{len(list(folder.iterdir()))}.json"
        file.write_text(text, encoding="utf-8")
        words = [str(file)]
    elif isinstance(value, list) and param["kind"] in _TEXTS:
        words = [str(one) for one in value]
    else:
        words = [value if isinstance(value, str) else json.dumps(value)]
    if param["kind"] == "words":
        return ["--", *words]
    flag = param["flag"]
    return [flag, words[0]] if flag and param["kind"] != "switch" else [flag] if flag else words


def lines(work: Work, folder: Path) -> Iterator[tuple[list[str], str, str]]:
    """Each command line with its canary and the name of the field."""
    number = 0
    for path, command in COMMANDS.items():
        if command["operation"].startswith(_ELSEWHERE):
            continue
        for name, field in text_fields():
            found = find_param(command, field) if name == command["operation"] else None
            if found is None:
                continue
            param, rest = found
            canary, number = f"canary{number:04d}hums", number + 1
            value = put({"v": work.values.get(param["name"])}, ("v", *rest), canary)["v"] if rest else canary
            line = [word for word in path.split() if not word.startswith("--")]
            line += [word for word in path.split() if word.startswith("--")]
            late: list[str] = []
            for one in (*(each for each in command["params"] if each["required"]), param):
                if one is param or (one["name"] in work.values and one["name"] != param["name"]):
                    held = value if one is param else work.values[one["name"]]
                    spelt = spell_value(one, held, folder)
                    (late if spelt[0] == "--" else line).extend(spelt)
                    if one is param:
                        break
            yield [*line, *late], canary, f"{name} {'.'.join(field)}"


@pytest.mark.thorough
def test_no_free_text_of_a_command_is_written_down_elsewhere(tmp_path: Path) -> None:
    server = WholeServer(tmp_path)
    (server.home / "config.json").write_text('{"startSession": true, "auditReads": true}', encoding="utf-8")
    work = begin_work(server)
    watching: Any = Watching()
    made = build_runtime({"HANDRAIL_PROJECT": str(server.project)}, home=str(server.home))
    runtime = msgspec.structs.replace(made, incidents=KeptIncidents(), observer=watching)
    folder = tmp_path / "given"
    folder.mkdir()
    sent: dict[str, str] = {}
    reached: set[str] = set()

    for line, canary, field in lines(work, folder):
        sent[canary] = field
        before = len(watching.told)
        run_here(runtime, line)
        if len(watching.told) > before:
            reached.add(field)

    kept = [path for path in server.home.rglob("*") if path.is_file() and "data" not in path.parts]
    written = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in kept)
    telemetry = "\n".join(watching.told)
    print("\n".join(sorted(reached)))
    assert len(reached) > 60, "the command line was read, and the operation performed"
    assert '"command":"session rename"' in written, "the audit is among what is read"
    found = {sent[one] for one in sent if one in written or one in telemetry}
    assert found == set()
