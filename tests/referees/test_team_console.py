"""The Console of a team in a real Chromium: join, make a token, confirm for somebody else, leave and return.

Runs in `.ci/run browser`, as the other tests of the Console; needs a PostgreSQL as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.given_workflows import step
from tests.referees.console_place import VISIT_SECONDS, WAIT_SECONDS, Chromium, next_line
from tests.referees.equipment import ROOT
from tests.team.postgres import as_url, fresh_database, role_of_its_own

pytestmark = pytest.mark.thorough

PASSPHRASE = "three blue words"
WORKFLOW = {
    "id": "ours.publish",
    "name": "Publish",
    "description": "Publishes it.",
    "version": "1.0.0",
    "steps": [step("publish", requireConfirmation={"by": "other"})],
}


class TeamServer:
    """`handrail serve --team`; ended by `stop`. Its pages are opened without a token."""

    token = ""

    def __init__(self, home: Path, store: str) -> None:
        self._around = {
            "HANDRAIL_HOME": str(home),
            "HANDRAIL_PROJECT": str(home.parent),
            "HANDRAIL_STORE": store,
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join((os.path.join(ROOT, "src"), ROOT)),
        }
        made = self._run("team", "init", "--request-id", "first")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "handrail.main", "serve", "--team", "--port", "0"],
            env=self._around,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            encoding="utf-8",
        )
        self.address = next_line(self.process).strip()
        self.invitation = f"{self.address}join#{made['link'].partition('#')[2]}"

    def _run(self, *words: str) -> Any:
        command = [sys.executable, "-m", "handrail.main", *words]
        done = subprocess.run(
            command, env=self._around, capture_output=True, check=True, timeout=WAIT_SECONDS
        )
        return json.loads(done.stdout)["data"]

    def call(self, operation: str, bearer: str, **params: Any) -> Any:
        """What the operation answers an agent."""
        request = urllib.request.Request(
            f"{self.address}api/{operation}",
            data=json.dumps(params).encode(),
            headers={"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answered:
            return json.load(answered)["data"]

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=WAIT_SECONDS)


@pytest.fixture
def chromium() -> Iterator[Chromium]:
    browser = Chromium()
    try:
        yield browser
    finally:
        browser.end()


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
def test_two_people_join_one_confirms_for_the_other_and_everything_is_accessible(
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

    print(json.dumps({k: v for k, v in found.items() if k != "addresses"}, indent=1), tmp_path)
    assert blocked["kind"] == "blocked"
    assert done["kind"] == "ok"
    assert found["violations"] == []
    assert found["wider"] == []
    assert found["cookies"] == []
