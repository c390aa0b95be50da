"""A person supervises five agents: in a real Chromium, by keyboard, and at a terminal."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.journeys.at_a_terminal import Person, seat
from tests.referees.console_place import VISIT_SECONDS, Chromium, Server, chromium
from tests.referees.supervised_store import ASKS, GAP, STUCK, WRONG, Supervised
from tests.surfaces.cli.here import run_here

__all__ = ["chromium"]

pytestmark = pytest.mark.thorough

SCREEN = 800
"""Pixels of height that are seen at once."""
PICTURES = "HANDRAIL_TEST_PICTURES"
"""A folder for pictures of each look, for who wants to see them."""


@pytest.mark.timeout(VISIT_SECONDS)
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 768, 375])
def test_a_person_answers_five_agents_in_the_console_by_keyboard(
    chromium: Chromium, tmp_path: Path, width: int, theme: str
) -> None:
    store = Supervised(tmp_path / "home")
    pictures = os.environ.get(PICTURES, "")
    folder = Path(pictures, f"{width}-{theme}") if pictures else None
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    server = Server(store.home)
    try:
        chromium.begin(
            server,
            "supervise",
            token=server.console_token,
            width=width,
            theme=theme,
            pictures=str(folder or ""),
            sessions=store.sessions,
            asks=list(ASKS),
            wrong=WRONG,
        )
        chromium.meets("answered")
        went_on = {name: store.go_on(name) for name in ASKS}
        chromium.tell()
        found = chromium.next()
    finally:
        server.stop()

    assert found["violations"] == []
    assert found["wider"] == 0
    assert found["complaints"] == [one for one in found["complaints"] if "400" in one]
    assert found["title"].startswith("(7) ")
    assert "7 items wait for you" in found["summary"]
    assert STUCK in found["stuck"]
    assert "Blocked" in found["stuck"]
    assert found["lowest"] < 2 * SCREEN if width < 700 else found["lowest"] < SCREEN
    assert [one for one in found["rows"] if "Blocked" in one and STUCK in one]
    (stuck,) = [one for one in found["grouped"] if one.startswith("blocked")]
    assert STUCK in stuck
    assert "verification report" in found["stuck_page"]
    assert "Executed" not in found["proven"]  # that a line exists does not prove what is claimed of it
    assert re.search(
        r"Stated by the agent.*Each sum is rounded once.*Nobody else is hit", found["proven"], re.DOTALL
    )
    assert "Allowed: eu, us." in found["refused"]
    assert (found["kept"], found["has_focus"]) == (WRONG, True)
    for name in ASKS:
        assert "Recorded" in found["recorded"][name], name
        assert went_on[name]["pending"]["title"] == "Tell who waited", name
    assert "fetchData" in (store.project / "src/app.js").read_text(encoding="utf-8")
    assert not any(GAP in one for one in found["left"])
    assert len(found["left"]) == 2
    assert found["last_title"].startswith("(2) ")


def test_a_person_answers_five_agents_at_a_terminal(tmp_path: Path) -> None:
    store = Supervised(tmp_path / "home")
    person = Person("y", "trial", WRONG, "eu", "y", "y")
    runtime = seat(store.agent("terminal"), person)

    def told(*words: str) -> str:
        shown = run_here(runtime, [*words, "--human"], environment={"COLUMNS": "80"})
        assert shown.status == 0, shown.out
        return shown.out.decode()

    needs = told("session", "inbox")
    for name in ASKS:
        line = f"handrail run answer --session {store.sessions[name]}"
        assert line in needs, name
        told(*line.split()[1:])
    (settle,) = re.findall(r"handrail session resolve (gap_\w+ --session ses_\w+) --note", needs)
    told("session", "resolve", *settle.split(), "--note", "The queue has a setting for long reports.")
    answered = told("session", "inbox")
    went_on = {name: store.go_on(name) for name in ASKS}
    left = told("session", "inbox")

    stuck = [part for part in re.split(r"\n\n+", needs) if STUCK in part]
    assert len(stuck) == 1
    assert "verification report" in stuck[0]
    assert "Allowed: eu, us." in "\n".join(person.shown)  # again, after a region that is none
    assert "src/app.js" in "\n".join(person.shown)
    assert GAP not in answered
    for name in ASKS:
        assert went_on[name]["pending"]["title"] == "Tell who waited", name
        assert store.sessions[name] not in left
    assert STUCK in left
    assert store.sessions["stalled"] in left
