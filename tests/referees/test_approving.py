"""Approving a long text, and adding a root, in a real Chromium. See `test_console.py` for how it is run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from handrail.contract.json.canonical import digest
from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import answer
from tests.referees.console_place import Chromium, Server, chromium
from tests.referees.console_stores import open_store, report, to_release

__all__ = ["chromium"]

pytestmark = pytest.mark.thorough
LONG = "A long report. " * 1_500 + "The last word."


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("approving")


@pytest.fixture(scope="module")
def server(chromium: Chromium, home: Path) -> Iterator[Server]:
    del chromium  # without one there is nothing to serve
    open_home(home)
    made = Server(home)
    yield made
    made.stop()


def open_home(home: Path) -> Runtime:
    """A store whose confirmations only a person gives."""
    runtime = open_store(home)
    (home / "config.json").write_text('{"confirmations": "person"}', encoding="utf-8")
    return runtime


def ask(runtime: Runtime, goal: str) -> tuple[str, str]:
    """A session whose long report waits for a person, and the page of its node."""
    held = to_release(runtime, goal)
    report(runtime, held["ackToken"], LONG)
    ids = held["session"]
    tip = answer(runtime, "run.graph", sessionId=ids["sessionId"])["preferred_tip"]
    return ids["sessionId"], f"/sessions/{ids['sessionId']}/runs/{ids['runId']}/nodes/{tip}"


def test_a_long_text_is_approved_at_its_end_by_keyboard(
    chromium: Chromium, server: Server, home: Path
) -> None:
    runtime = open_home(home)
    session, node = ask(runtime, "Approved at the end")
    shown = answer(runtime, "run.answer", session=session, show=True)

    found = chromium.visit(server, "approve", node=node, token=server.console_token)

    assert (found["before"], found["no_before"], found["half_way"]) == (True, False, True)
    assert (found["sent_early"], found["hint"]) == ([], False)
    assert "The last word." in shown["shown"]
    (kept,) = answer(runtime, "session.show", sessionId=session)["runs"][0]["confirmations"]
    assert (kept["answer"], kept["door"]) == ("confirmed", "console")
    assert f'"whatDigest":"{digest(shown["shown"])}"' in stored_log(home)


def stored_log(home: Path) -> str:
    logs = (home / "data").rglob("*")
    texts = (one.read_bytes().decode("utf-8", "replace") for one in logs if one.is_file())
    return "\n".join(texts)


def test_read_text_stays_read_and_another_does_not(chromium: Chromium, server: Server, home: Path) -> None:
    runtime = open_home(home)
    _, one = ask(runtime, "Read twice")
    _, other = ask(runtime, "Never read")

    found = chromium.visit(server, "read_again", node=one, other=other, token=server.console_token)

    assert (found["same"], found["other"]) == (False, True)


def test_a_person_adds_and_removes_roots(
    chromium: Chromium, server: Server, home: Path, tmp_path: Path
) -> None:
    folders = [str(tmp_path / "one"), str(tmp_path / "two")]

    found: Any = chromium.visit(server, "set_roots", folders=folders, token=server.console_token)

    assert all("loosens a rule" in shown for shown in found["shown"][:2])
    assert "loosens a rule" not in found["shown"][2]
    assert "roots" in found["refused"]
    kept = json.loads((home / "config.json").read_text(encoding="utf-8"))
    assert kept["roots"] == folders[1:]
