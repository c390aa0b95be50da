"""What the demo reads from the store: accepted steps, blocked attempts, notes and checked artifacts apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Json
from handrail.demo.scene import LogFacts, read_log
from handrail.demo.story import CHANGED, EXPLAIN, FILES, FIX, LOCATE, REPRODUCE
from handrail.library import Handrail


class Played:
    """A run of the demo's workflow at its step that wants an artifact."""

    def __init__(self, home: str, project: str) -> None:
        self._home = home
        self._store = Handrail(home, {"HANDRAIL_PROJECT": project})
        start: dict[str, Json] = {"workflowId": "wr.bug_investigation", "requestId": "one"}
        self.newest = self._store.call("run.start", start)
        self._session: str = self.newest["session"]["sessionId"]
        for notes in (REPRODUCE, LOCATE, EXPLAIN):
            self.send("ackToken", {"notesMarkdown": notes})

    def send(self, token: str, output: dict[str, Json]) -> None:
        ack = {"ackToken": self.newest[token], "output": output}
        self.newest = self._store.call("run.continue", ack)

    def save(self, output: dict[str, Json]) -> None:
        place = {"checkpointToken": self.newest["checkpointToken"], "output": output}
        self._store.call("run.checkpoint", place)

    def seen(self) -> LogFacts:
        return read_log(self._home, self._session)


@pytest.fixture
def played(home: str, tmp_path: Path) -> Played:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return Played(home, str(tmp_path))


def test_accepted_steps_are_counted_with_their_notes(played: Played) -> None:
    seen = played.seen()

    assert (seen.advances, seen.blocked, seen.is_healthy) == (3, 0, True)
    assert seen.notes == {REPRODUCE: 1, LOCATE: 1, EXPLAIN: 1}


def test_a_blocked_attempt_is_no_step_and_its_notes_are_kept(played: Played) -> None:
    played.send("ackToken", {"notesMarkdown": FIX})

    seen = played.seen()

    assert (seen.advances, seen.blocked, seen.notes[FIX]) == (3, 1, 1)
    assert seen.artifacts == {}


def test_an_artifact_counts_once_it_was_checked(played: Played) -> None:
    played.save({"artifacts": [CHANGED]})
    saved = played.seen()
    played.send("ackToken", {"notesMarkdown": FIX, "artifacts": [CHANGED]})

    assert saved.artifacts == {}
    assert played.seen().artifacts == {digest(CHANGED): 1}


def test_every_commit_changes_the_head(played: Played) -> None:
    before = played.seen()
    played.save({"notesMarkdown": "half way"})

    after = played.seen()

    assert after.head != before.head
    assert after.events > before.events
    assert after.describe() == f"{after.events} events, head {after.head[:12]}"
