"""Answers never mix: two clients at once, each hears of its own work alone, over HTTP and over one pipe."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.surfaces.mcp.adapter import Adapter
from tests.surfaces.http.client import Answered
from tests.surfaces.http.filled_calls import Work, begin_work
from tests.surfaces.http.whole_server import Asking, WholeServer, api, fetch, tool
from tests.surfaces.mcp.conversations import opening
from tests.surfaces.mcp.pipes import Client, connected

ROUNDS = 12


@pytest.mark.thorough
def test_two_clients_at_once_each_hear_of_their_own_work_alone(tmp_path: Path) -> None:
    """Some hundred calls, up to 32 in progress; `bench/console.py` makes ten thousand."""
    server = WholeServer(tmp_path)
    works = {name: begin_work(server, name, f"Only {name} wrote this.") for name in ("anna", "berta")}
    calls = list(interleave(works, ROUNDS))

    told = server.answers([asking for _, asking in calls], at_once=32)

    assert mixed(works, calls, told) == []
    assert len(calls) >= 200


@pytest.mark.thorough
def test_two_clients_on_pipes_hear_of_their_own_work_alone(tmp_path: Path) -> None:
    """Both write before either reads, round by round; answers may come in any order."""
    server = WholeServer(tmp_path)
    works = {name: begin_work(server, name, f"Only {name} wrote this.") for name in ("anna", "berta")}
    adapter = Adapter(server.runtime)
    first, second = opening()
    assert isinstance(first, dict)
    assert isinstance(second, dict)
    with connected(adapter) as one, connected(adapter) as other:
        pipes = dict(zip(works, (one, other), strict=True))
        for pipe in pipes.values():
            pipe.ask(first)
            pipe.send(second)
        for number in range(ROUNDS):
            asked = {name: say(pipe, works[name], number) for name, pipe in pipes.items()}
            for name, pipe in pipes.items():
                told = [hear(pipe, asked[name]) for _ in asked[name]]
                calls = [(name, asking) for asking, _ in told]
                assert mixed(works, calls, [answer for _, answer in told]) == []


def say(pipe: Client, work: Work, number: int) -> dict[int, Asking]:
    """The calls of a client by their numbers, all sent at once."""
    asked = [one for one in calls_of(work, work.values["sessionId"], 1_000 * number) if one.target == "/mcp"]
    pipe.send(*(one.body + b"\n" for one in asked))
    return {json.loads(one.body)["id"]: one for one in asked}


def hear(pipe: Client, asked: dict[int, Asking]) -> tuple[Asking, Answered]:
    """The next answer with the call whose number it bears."""
    line = pipe.line()
    return asked[json.loads(line)["id"]], Answered(status=200, headers=(), body=line)


def interleave(works: dict[str, Work], rounds: int) -> Iterator[tuple[str, Asking]]:
    """Calls of all clients in turn, each of them only about its own session."""
    for number in range(rounds):
        for name, work in works.items():
            session = work.values["sessionId"]
            for one in calls_of(work, session, 1_000 * number):
                yield name, one


def calls_of(work: Work, session: str, number: int) -> Iterator[Asking]:
    given = {"ackToken": work.values["ackToken"], "output": {"notesMarkdown": "Done."}}
    yield api("run.continue", given)
    yield tool("continue_workflow", given, number + 1)
    yield tool("continue_workflow", {"stateToken": work.values["stateToken"]}, number + 2)
    yield fetch(f"/api/session.show?sessionId={session}")
    yield fetch(f"/api/run.graph?sessionId={session}")
    yield fetch(f"/api/view/sessions/{session}")
    yield fetch(f"/_lafs/context/{work.values['runId']}")
    yield api("session.timeline", {"sessionId": session})
    yield tool("resume_session", {"query": session}, number + 3)


def mixed(
    works: dict[str, Work], calls: list[tuple[str, Asking]], told: list[Answered]
) -> list[tuple[str, str, str]]:
    """Answers that fail, that name the work of somebody else, or that bear the number of another call."""
    wrong = []
    for (name, asking), answer in zip(calls, told, strict=True):
        own, text = works[name], answer.body.decode()
        others = [work for other, work in works.items() if other != name]
        is_foreign = any(
            one.values[key] in text for one in others for key in ("sessionId", "runId", "stateToken")
        )
        is_foreign |= any(f"Only {other} wrote" in text for other in works if other != name)
        is_own = own.values["sessionId"] in text or own.values["runId"] in text
        if answer.status != 200 or is_foreign or not is_own or not _bears_its_number(asking, answer):
            wrong.append((name, asking.target, text[:200]))
    return wrong


def _bears_its_number(asking: Asking, answer: Answered) -> bool:
    if asking.target != "/mcp":
        return True
    asked: Any = json.loads(asking.body)
    return bool(answer.document["id"] == asked["id"])
