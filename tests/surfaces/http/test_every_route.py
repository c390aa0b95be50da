"""Every route and every operation: ids are no paths, reads change nothing, nothing but git is started."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import msgspec
import pytest

from handrail.wiring import registry
from handrail_serve.api import offered_operations
from handrail_serve.views import PAGES
from tests.journeys.writes import IN_A_DATABASE
from tests.surfaces.http.client import TOKEN, Answered, make_app
from tests.surfaces.http.filled_calls import Work, begin_work, text_fields
from tests.surfaces.http.whole_server import Asking, WholeServer, api, digest_of, fetch, rpc, tool

MARK = "zzmark"
"""In every hostile id: whatever the program opens, makes or lists with it in the name is a path of ours."""
HOSTILE_IDS = (
    f"../../{MARK}",
    f"ses_000000000000/../../{MARK}",
    f"/{MARK}/passwd",
    f"..\\..\\{MARK}",
    f"%2e%2e%2f{MARK}",
    f"file:///{MARK}",
    f"~/{MARK}",
    f"ses_{MARK}\0.json",
    f"\uff0e\uff0e\uff0f{MARK}",
    f"ses_{MARK}\n../x",
    f"{MARK}/" * 40,
    f"run_{MARK}\u202e",
)
TRIED = 2
"""Of these, in turn, at each field: every one of them is tried at many."""
_STARTING = frozenset({"subprocess.Popen", "os.posix_spawn", "os.exec", "os.fork", "os.forkpty", "os.system"})
_OPENING = frozenset({"open", "os.listdir", "os.scandir", "os.mkdir", "os.rename", "os.remove", "os.link"})
_REACHING = frozenset({"socket.connect", "socket.getaddrinfo"})


class _Watch:
    """What the interpreter reports while somebody looks; a hook cannot be taken back, so there is one."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, Any]] | None = None
        self.is_hooked = False

    def hook(self, event: str, given: Any) -> None:
        if self.seen is not None and event in _STARTING | _OPENING | _REACHING:
            self.seen.append((event, given))


_WATCH = _Watch()


@contextmanager
def watched() -> Iterator[list[tuple[str, Any]]]:
    """The programs that are started, the files that are opened and the connections that are made inside."""
    if not _WATCH.is_hooked:
        sys.addaudithook(_WATCH.hook)
        _WATCH.is_hooked = True
    seen = _WATCH.seen = []
    try:
        yield seen
    finally:
        _WATCH.seen = None


USE_KEYS = frozenset({"receipt.export"})
"""Reads that sign as the user of the server: refused to whoever calls it."""


OF_A_TEAM = IN_A_DATABASE | {"/machines/*"}
"""What a server without accounts has not."""


class Served(NamedTuple):
    """A server on a repository of git, and a session in it."""

    server: WholeServer
    work: Work
    folder: Path


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Served:
    folder = tmp_path_factory.mktemp("routes")
    server = WholeServer(folder)
    subprocess.run(["git", "init", "-q", str(server.project)], check=True, timeout=60)
    return Served(server, begin_work(server), folder)


def known_trouble(name: str, told: Answered) -> None:
    """Trouble that we foresaw, if any."""
    assert told.status < 500 or told.status == 503, (name, told.body[:300])
    assert b'"E_UNKNOWN"' not in told.body, (name, told.body[:300])


# S7


def test_every_text_of_every_operation_is_tried(running: Served) -> None:
    """The sweep below is as wide as the registry: the names that others rely on are among the fields."""
    fields = {
        (called.name, name) for called in offered_operations(registry()) for name in text_fields(called)
    }

    assert {("run.node", "node"), ("session.show", "sessionId"), ("session.delete", "ids")} <= fields
    assert {name for name, _ in fields} | {"workflow.schema"} <= {
        called.name for called in offered_operations(registry())
    }


@pytest.mark.thorough
def test_no_id_becomes_a_path(running: Served) -> None:
    """Every text field of every operation, the pages, the ledger, the assets and the resources of MCP."""
    asked = [*by_operation(running.work), *by_address()]
    before = around_the_store(running)

    with watched() as seen:
        told = running.server.answers([asking for _, asking in asked])

    for (name, _), answer in zip(asked, told, strict=True):
        known_trouble(name, answer)
    touched = [given for event, given in seen if event in _OPENING and MARK in repr(given)]
    assert touched == []
    assert around_the_store(running) == before


def around_the_store(running: Served) -> tuple[str, set[str]]:
    """The bytes of the project, and the names of everything beside it that is no work of calls."""
    home = running.server.home
    names = {str(path.relative_to(running.folder)) for path in running.folder.iterdir()}
    return digest_of(running.server.project), names | {path.name for path in home.iterdir()} - {
        "audit",
        "trees",
    }


def by_operation(work: Work) -> Iterator[tuple[str, Asking]]:
    corpus = cycle(HOSTILE_IDS)
    for called in offered_operations(registry()):
        known = {field.encode_name for field in msgspec.structs.fields(called.input)}
        more = {"dryRun": True} if "dryRun" in known else {}
        for name in text_fields(called):
            is_list = isinstance(work.values.get(name), list)
            for at in range(TRIED):
                text = next(corpus)
                params = work.call(called, **more, **{name: [text] if is_list else text})
                if called.effect == "read" and at == 0:
                    target = f"/api/{called.name}?{urlencode(flat(params), doseq=True)}"
                    yield f"GET {called.name} {name} {text!r}", fetch(target)
                else:
                    yield f"{called.name} {name} {text!r}", api(called.name, params)


def flat(params: dict[str, Any]) -> dict[str, Any]:
    """As a query writes it; what no query can hold is left out."""
    return {name: value for name, value in params.items() if not isinstance(value, dict)}


def by_address() -> Iterator[tuple[str, Asking]]:
    """Where an id stands in the path: as a server hands it over, and once more escaped."""
    patterns = [f"/api/view{page.pattern}" for page in PAGES] + ["/_lafs/context/*", "/assets/*"]
    corpus = cycle(HOSTILE_IDS)
    for pattern in patterns:
        for text in islice(corpus, TRIED) if "*" in pattern else ():
            for written in (text, quote(text, safe="")):
                path = pattern.replace("**", written).replace("*", written)
                yield f"{pattern} {written!r}", fetch(path)
    for text in HOSTILE_IDS:
        for kind in ("sessions", "workflows", "runs"):
            tail = "/graph" if kind == "runs" else ""
            yield f"resource {text!r}", rpc("resources/read", {"uri": f"handrail://{kind}/{text}{tail}"})
        yield f"resume {text!r}", tool("resume_session", {"query": text})
        yield f"inspect {text!r}", tool("inspect_workflow", {"workflowId": text})


# S3, S4, S10


@pytest.mark.thorough
def test_every_get_changes_nothing_and_starts_only_git(running: Served) -> None:
    """Every GET that does its work, every page, and a preview of everything else; what they say and log."""
    server, work = running.server, running.work
    asked = [*working_reads(work), *pages(work)]
    before = server.stored()

    with watched() as seen:
        told = server.answers([asking for _, asking in asked])
        after = server.stored()
        told += server.answers(
            [api(called.name, work.whole_call(called)) for called in offered_operations(registry())]
        )

    assert after == before
    for (name, _), answer in zip(asked, told, strict=False):
        is_refused = name in USE_KEYS | OF_A_TEAM
        expected = (403,) if is_refused else (200, 304, 400, 404, 422)
        assert answer.status in expected, (name, answer.body[:300])
    started = [(event, given[0]) for event, given in seen if event in _STARTING]
    assert set(started) <= {("subprocess.Popen", "/usr/bin/git"), ("subprocess.Popen", "/bin/git")}
    assert [given for event, given in seen if event in _REACHING] == []
    everything = b"".join([one.body for one in told]) + "\n".join(server.lines).encode()
    assert TOKEN.encode() not in everything
    shown = [one.body for (_, way), one in zip(asked, told, strict=False) if "/view/" in way.target]
    written = b"".join(shown) + "\n".join(server.lines).encode()
    for name in ("ackToken", "stateToken", "checkpointToken"):
        assert work.values[name].encode() not in written, name


def working_reads(work: Work) -> Iterator[tuple[str, Asking]]:
    for called in offered_operations(registry()):
        params = flat(work.whole_call(called))
        if called.effect == "read":
            yield called.name, fetch(f"/api/{called.name}?{urlencode(spelt(params), doseq=True)}")


def spelt(params: dict[str, Any]) -> dict[str, Any]:
    return {name: json.dumps(value) if isinstance(value, bool) else value for name, value in params.items()}


def pages(work: Work) -> Iterator[tuple[str, Asking]]:
    session, run, node = (work.values[name] for name in ("sessionId", "runId", "node"))
    for page in PAGES:
        parts = iter(
            [session, run, node] if "/runs/" in page.pattern else [session, node, work.values["other"]]
        )
        if page.pattern.startswith("/workflows"):
            parts = iter([work.values["workflowId"]] * 3)
        path = "".join(next(parts) if part == "*" else part for part in _split(page.pattern))
        yield page.pattern, fetch(f"/api/view{path}")
    yield "ledger", fetch(f"/_lafs/context/{run}")


def _split(pattern: str) -> list[str]:
    return [piece for part in pattern.split("*") for piece in (part, "*")][:-1]


@pytest.mark.parametrize("params", [{"checks": ["mcp_protocol"]}, {"checks": ["update"]}])
def test_check_that_starts_programs_is_left_to_the_command_line(
    running: Served, params: dict[str, Any]
) -> None:
    with watched() as seen:
        running.server.data(api("self.doctor", params))

    assert [event for event, _ in seen if event in _STARTING | _REACHING] == []


def test_the_watch_sees_what_it_is_there_for(tmp_path: Path) -> None:
    with watched() as seen:
        subprocess.run(["/bin/true"], check=True, timeout=60)
        (tmp_path / MARK).write_text("x", encoding="utf-8")

    assert "subprocess.Popen" in {event for event, _ in seen}
    assert [event for event, given in seen if MARK in repr(given)] == ["open"]


def test_the_routes_of_the_sweep_are_those_of_the_server(running: Served) -> None:
    """A route that holds an id and is not swept above fails here."""
    routes = make_app(running.server.runtime).router.routes
    open_ended = {route.pattern for route in routes if "*" in route.pattern and not route.is_shell}

    assert open_ended == {"/assets/*", "/_lafs/context/*", "/api/view/**"}
