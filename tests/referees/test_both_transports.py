"""The official Python client walks one journey over stdin and stdout and over HTTP, in both eras."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.referees.clients.python_2 import walk
from tests.referees.judged_place import Place, journey, journey_problems, make_place, served_over_http

pytestmark = pytest.mark.thorough

ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(str(tmp_path))


def test_journey_gets_the_same_bytes_over_both_transports(place: Place) -> None:
    told: dict[str, str] = {}

    async def visit(target: dict[str, Any], name: str) -> None:
        for era, protocol in ERAS.items():
            with anyio.fail_after(60):
                heard = await walk({"target": target, "calls": journey(), "era": era})
            assert heard["protocol"] == protocol
            assert journey_problems(heard["told"]) == []
            told[f"{name} {era}"] = json.dumps(heard["told"], ensure_ascii=False)

    stdio = {"command": place.stdio_command, "env": place.environment, "cwd": place.folder}
    anyio.run(visit, stdio, "stdio")
    with served_over_http(place) as address:
        anyio.run(visit, {"url": f"{address}/mcp"}, "HTTP")

    assert len(told) == 4
    assert len(set(told.values())) == 1


def test_a_journey_that_went_wrong_is_noticed(place: Place) -> None:
    stdio = {"command": place.stdio_command, "env": place.environment, "cwd": place.folder}
    heard = anyio.run(walk, {"target": stdio, "calls": journey(), "era": "legacy"})
    told = heard["told"]
    told[3]["structured"]["kind"] = "ok"
    told[5]["isError"] = False

    problems = journey_problems(told)

    assert [problem.split(":")[0] for problem in problems] == ["blocked", "errors"]
    assert journey_problems(told[:3]) == ["3 answers to 7 calls"]
