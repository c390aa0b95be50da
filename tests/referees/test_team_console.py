"""The Console of a team in a real Chromium: join, make a token, confirm for somebody else, leave and return.

Runs in `.ci/run browser`, as the other tests of the Console; needs a PostgreSQL as well.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.journeys.given_workflows import step
from tests.referees.console_place import VISIT_SECONDS, Chromium, chromium
from tests.team.postgres import as_url, fresh_database, role_of_its_own
from tests.team.team_process import TeamServer

__all__ = ["chromium"]

pytestmark = pytest.mark.thorough

PASSPHRASE = "three blue words"
WORKFLOW = {
    "id": "ours.publish",
    "name": "Publish",
    "description": "Publishes it.",
    "version": "1.0.0",
    "steps": [step("publish", requireConfirmation={"by": "other"})],
}


@pytest.fixture
def server(chromium: Chromium, postgres: str, tmp_path: Path) -> Iterator[TeamServer]:
    del chromium  # without one nothing is started
    folder = tmp_path / "home" / "workflows"
    folder.mkdir(parents=True)
    (folder / "publish.json").write_text(json.dumps(WORKFLOW), encoding="utf-8")
    with fresh_database(postgres) as database, role_of_its_own(postgres, database) as store:
        made = TeamServer(tmp_path / "home", as_url(store))
        try:
            yield made
        finally:
            made.stop()


@pytest.mark.timeout(VISIT_SECONDS)
def test_two_people_join_and_one_confirms_for_the_other(
    chromium: Chromium, server: TeamServer, tmp_path: Path
) -> None:
    chromium.begin(
        server, "team", invitation=server.invitation, passphrase=PASSPHRASE, pictures=str(tmp_path)
    )
    bearer = chromium.next()["at"]
    begun = server.call(
        "run.start", bearer, workflowId="ours.publish", goal="Publish the notes.", requestId="one"
    )
    report = {"notesMarkdown": "Published it."}
    blocked = server.call("run.continue", bearer, ackToken=begun["ackToken"], output=report)
    chromium.tell()
    found = chromium.next()
    done = server.call("run.continue", bearer, **blocked["nextCall"]["params"])

    assert (blocked["kind"], done["kind"]) == ("blocked", "ok")
    assert "12 to 1024 characters" in found["joining"]
    assert "Nobody can sign in" in found["wrong"]
    assert found["back"] in ("main", "Sessions")
    (ana_title, ana_needs), (ben_title, ben_needs) = found["ana_needs"], found["ben_needs"]
    assert "Nothing waits for you" in ana_needs
    assert "Yes, I confirm it" not in ana_needs
    assert not ana_title.startswith("(")
    assert ben_title.startswith("(1) ")
    assert "Do you confirm" in ben_needs
    assert "of Ana on laptop-7" in ben_needs
    assert "Ben confirmed it with their account" in found["run"]
    assert "acc_" not in found["run"]
    assert "What was changed" in found["ana_team"]
    assert "What was changed" not in found["ben_team"]
    assert found["violations"] == found["wider"] == found["cookies"] == []
    assert found["stored"] == [0, []]
    assert all(address.startswith(server.address) for address in found["addresses"])
    assert [
        one for one in found["complaints"] if "status of 400" not in one and "status of 401" not in one
    ] == []
