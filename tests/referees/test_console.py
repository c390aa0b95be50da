"""The Console in a real Chromium: access, safety, keyboard, live changes.

Runs in the job `referees` (`HANDRAIL_TEST_CONSOLE=1`), with Chromium from PATH or `HANDRAIL_TEST_CHROMIUM`;
playwright and axe come pinned from their registries. Each test says why it did not run.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import advance, answer
from tests.referees.console_stores import advance_long, open_store, seed_busy, seed_long, to_release
from tests.referees.equipment import HERE, ROOT, NotAvailable, node_modules, python_party

WAIT_SECONDS = 60
VISIT_SECONDS = 540
LONG = 60
APPENDED = 20
WIDTHS = (1280, 320)


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A served store, and what a visitor needs."""

    home: Path
    address: str
    token: str
    sessions: dict[str, str]
    chromium: str
    python: str
    axe: str


def find_equipment() -> tuple[str, str, str]:
    """Chromium, an interpreter with playwright, and the source of axe; skips with the reason."""
    if not os.environ.get("HANDRAIL_TEST_CONSOLE"):
        pytest.skip("HANDRAIL_TEST_CONSOLE is not set; the job `referees` sets it")
    chromium = os.environ.get("HANDRAIL_TEST_CHROMIUM") or shutil.which("chromium")
    if not chromium:
        pytest.skip("no chromium on PATH, and HANDRAIL_TEST_CHROMIUM is not set")
    try:
        return chromium, python_party("browser"), os.path.join(node_modules(), "axe-core", "axe.min.js")
    except NotAvailable as trouble:
        pytest.skip(str(trouble))


class Server:
    """`handrail serve` on a home; ended by `stop`."""

    def __init__(self, home: Path, port: int = 0) -> None:
        environment = {
            "HANDRAIL_HOME": str(home),
            "HANDRAIL_PROJECT": str(home),
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), ROOT)),
        }
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "handrail.main", "serve", "--port", str(port)),
                *("--token-file", str(home / "token")),
            ],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self.address = next_line(self.process).strip()
        assert self.address.startswith("http://"), self.address

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.communicate(timeout=WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()


def next_line(process: subprocess.Popen[str]) -> str:
    """The next line of stdout, within a minute."""
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    reading = threading.Thread(target=lambda: lines.put(process.stdout.readline()), daemon=True)  # type: ignore[union-attr]  # asserted above
    reading.start()
    try:
        return lines.get(timeout=VISIT_SECONDS)
    except queue.Empty:
        raise AssertionError("nothing was said in time") from None


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    chromium, python, axe = find_equipment()
    home = tmp_path_factory.mktemp("console")
    sessions = seed_busy(home)
    sessions["long"] = seed_long(home, LONG)
    server = Server(home)
    try:
        yield Place(
            home=home,
            address=server.address,
            token=(home / "token").read_text(encoding="utf-8").strip(),
            sessions=sessions,
            chromium=chromium,
            python=python,
            axe=axe,
        )
    finally:
        server.stop()


def graph_of(runtime: Runtime, session_id: str) -> dict[str, Any]:
    return answer(runtime, "run.graph", sessionId=session_id)


def paths_of(place: Place) -> list[str]:
    """Every kind of page, the states without data included."""
    runtime = open_store(place.home)
    ids = place.sessions
    waiting = graph_of(runtime, ids["waiting"])
    run = f"/sessions/{ids['waiting']}/runs/{waiting['run_id']}"
    tips = [node["id"] for node in waiting["nodes"] if node["is_tip"] and node["kind"] == "step"]
    nodes = [f"{run}/nodes/{node['id']}" for node in waiting["nodes"] if node["kind"] != "checkpoint"]
    hostile = graph_of(runtime, ids["hostile"])
    blocked = graph_of(runtime, ids["blocked"])
    return [
        "/sessions",
        run,
        nodes[3],
        nodes[-1],
        f"/sessions/{ids['blocked']}/runs/{blocked['run_id']}/nodes/{blocked['preferred_tip']}",
        f"/sessions/{ids['waiting']}/compare/{tips[0]}/{tips[-1]}",
        f"/sessions/{ids['waiting']}/timeline",
        f"/sessions/{ids['waiting']}/timeline?zoom=hour",
        "/sessions?q=bank",
        *("/gaps", "/workflows", "/workflows/wr.code_review", "/workflows/user.careful_fix", "/builtins"),
        *("/import", "/settings"),
        f"/sessions/{ids['waiting']}/export",
        f"/sessions/{ids['waiting']}/preferences",
        "/sessions?q=nothinghasthis",
        *(f"/sessions/{ids[name]}" for name in ("done", "damaged", "notes", "imported", "gaps", "hostile")),
        f"/sessions/{ids['hostile']}/runs/{hostile['run_id']}/nodes/{hostile['preferred_tip']}",
        *paths_beside(place),
    ]


PARTS = ("", "graph", "source", "compiled", "runs", "problems", "edit")
"""Of the page of a workflow."""


def paths_beside(place: Place) -> list[str]:
    """The pages that are not about one run."""
    ids = place.sessions
    return [
        *("/gaps", "/workflows", "/builtins", "/import", "/settings"),
        *(f"/sessions/{ids[name]}/export" for name in ("hostile", "damaged")),
        f"/sessions/{ids['hostile']}/preferences",
        *(f"/workflows/user.careful_fix?part={part}" for part in PARTS),
    ]


class Visit:
    """A visitor at work; `tell` and `next` speak with it, `found` is what it tells at the end."""

    def __init__(self, place: Place, name: str, **more: Any) -> None:
        plan = {
            "address": place.address,
            "token": place.token,
            "chromium": place.chromium,
            "axe": place.axe,
            "visit": name,
            "paths": paths_of(place),
            **more,
        }
        file = place.home / f"plan-{name}.json"
        file.write_text(json.dumps(plan), encoding="utf-8")
        script = os.path.join(HERE, "clients", "browser.py")
        self.process = subprocess.Popen(
            [place.python, script, str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def next(self) -> dict[str, Any]:
        line = next_line(self.process)
        assert line, self.process.communicate()[1][-2_000:]
        told: dict[str, Any] = json.loads(line)
        return told

    def tell(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go on\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


def visit(place: Place, name: str, **more: Any) -> dict[str, Any]:
    going = Visit(place, name, **more)
    try:
        return going.next()
    finally:
        going.end()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_accessible_and_safe(place: Place, theme: str, width: int) -> None:
    found = visit(place, "every_page", themes=[theme], widths=[width])

    assert found["violations"] == []
    assert found["wider"] == []
    assert found["complaints"] == []
    assert found["visited"] == len(paths_of(place))
    assert found["cookies"] == []
    assert found["stored"] == [0, ["handrail.token"]]
    assert not found["text_has_token"]
    assert all(address.startswith(place.address) for address in found["addresses"])
    assert not any(place.token in address.partition("#")[0] for address in found["addresses"])


def test_another_profile_is_locked_and_another_tab_is_not(place: Place) -> None:
    found = visit(place, "from_outside")

    assert place.token not in found["address"]
    assert found["tab"] == found["after_reload"] == "Invoices show one cent more than was paid"
    assert "This tab is locked" in found["locked"]
    assert "handrail console" in found["locked"]
    assert "Invoices" not in found["locked"]
    assert found["cookies"] == []


def test_a_person_finds_reads_and_compares_by_keyboard_alone(place: Place) -> None:
    waiting = graph_of(open_store(place.home), place.sessions["waiting"])
    run = f"/sessions/{place.sessions['waiting']}/runs/{waiting['run_id']}"

    found = visit(place, "by_keyboard", blocked_goal="Reverse-charge", forked=run)

    assert "Next and previous node" in found["help"]
    assert found["search_focused"] == "q"
    assert found["run"] == "Reverse-charge invoices round twice"
    assert "none came" in found["why"]
    assert place.sessions["blocked"] in found["resume"]
    assert "Two ways compared" in found["compared"]
    assert "they part after" in found["compared"]
    assert found["back"] == "Invoices show one cent more than was paid"
    assert found["complaints"] == []


def test_a_person_answers_sees_the_run_move_on_and_takes_the_report(place: Place) -> None:
    runtime = open_store(place.home)
    held = to_release(runtime, "The step that the person releases")
    session_id = held["session"]["sessionId"]
    going = Visit(
        place,
        "answering",
        waiting=f"/sessions/{session_id}",
        export=f"/sessions/{session_id}/export",
        next_step="Tell who waited",
    )
    try:
        assert going.next() == {"confirmed": True}
        advance(runtime, held, "Released as 2.4.2.")
        going.tell()
        found = going.next()
    finally:
        going.end()

    assert "Do you confirm this step?" in found["question"]
    assert "Tell who waited" in found["moved"]
    assert found["report"].startswith("<!doctype html>")
    assert not found["report_has_script"]
    assert found["complaints"] == []
    said = answer(runtime, "session.show", sessionId=session_id)["runs"][0]["confirmations"]
    assert [(one["answer"], one["door"]) for one in said] == [("confirmed", "console")]


def test_steps_that_are_added_while_somebody_reads_move_nothing(place: Place) -> None:
    runtime = open_store(place.home)
    graph = graph_of(runtime, place.sessions["long"])
    path = f"/sessions/{place.sessions['long']}/runs/{graph['run_id']}"
    going = Visit(place, "live", long=path, appended=APPENDED)
    try:
        assert going.next() == {"ready": True}
        reply = answer(runtime, "session.resume", query=place.sessions["long"])["items"][0]
        reply = answer(runtime, "run.continue", **reply["nextCall"]["params"])
        for number in range(APPENDED):
            reply = advance_long(runtime, reply, LONG + number)
        going.tell()
        found = going.next()
    finally:
        going.end()

    assert found["before"] == found["after"]
    assert found["loads"] == []
    assert found["shown"] == LONG + APPENDED
    assert found["complaints"] == []


def test_a_page_stays_while_the_server_is_gone_and_follows_it_when_it_is_back(place: Place) -> None:
    home = place.home.parent / "restarted"
    session_id = seed_long(home, 5)
    server = Server(home)
    port = int(server.address.rstrip("/").rpartition(":")[2])
    token = (home / "token").read_text(encoding="utf-8").strip()
    here = msgspec.structs.replace(place, address=server.address, token=token)
    going = Visit(here, "restarted", long=f"/sessions/{session_id}")
    try:
        assert going.next() == {"ready": True}
        server.stop()
        going.tell()
        assert going.next() == {"gone": True}
        server = Server(home, port)
        going.tell()
        found = going.next()
    finally:
        going.end()
        server.stop()

    assert found["title"] == found["still"] == "A long run"
