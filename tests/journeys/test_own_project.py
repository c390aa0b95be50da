"""A run is held to the project that it was begun in: its files, and the settings that it began with."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.wording import quote
from handrail.host.workspace import LocalWorkspace, ProjectPlaceFiles
from tests.journeys.doors import command, events_of, of_kind, worth
from tests.journeys.given_workflows import step
from tests.journeys.workplace import (
    CHANGE,
    RIGHT,
    WRONG,
    Site,
    blocker,
    changed,
    do_honest_change,
    site,
    verified,
)

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
__all__ = ["site"]
ASKING = step("ask", requireConfirmation=True)


@pytest.fixture
def elsewhere(tmp_path: Path) -> str:
    place = tmp_path / "elsewhere"
    place.mkdir()
    return str(place)


def hide_index(site: Site) -> bytes:
    index = site.root / ".git/index"
    held = index.read_bytes()
    index.write_bytes(b"garbage\n")
    site.is_hidden = True
    return held


# A last look that sees nothing


@pytest.mark.promise("evidence.last-look")
def test_a_last_look_that_fails_leaves_nothing_verified_that_it_would_have_compared(site: Site) -> None:
    site.begin()
    do_honest_change(site)
    site.write("src/bill.py", WRONG)
    hide_index(site)

    done = site.send(verified())

    assert done["isComplete"] is True
    assert worth(done) == {"exists": 1, "claimed": 2}
    assert "could not be held against the last files: git is missing" in done["closing"]
    assert "could not be seen again at the last look: git is missing" in site.shown()


@pytest.mark.thorough
@pytest.mark.promise("evidence.last-look")
def test_a_report_of_notes_that_ends_a_run_is_no_way_around_it(site: Site) -> None:
    site.begin(step("change", **CHANGE), step("tell"))
    do_honest_change(site)
    hide_index(site)

    done = site.send()

    assert worth(done) == {"claimed": 2}
    assert "could not be held against the last files" in done["closing"]


@pytest.mark.promise("evidence.last-look")
def test_a_later_look_that_sees_the_files_settles_the_doubt(site: Site) -> None:
    verify = {"output": {"contractRef": "wr.contracts.verification_report"}}
    site.begin(step("change", **CHANGE), step("verify", **verify), step("tell"))
    do_honest_change(site)
    held = hide_index(site)
    site.send(verified())
    (site.root / ".git/index").write_bytes(held)

    done = site.send()

    assert worth(done) == {"ran": 1, "seen": 1, "exists": 1}
    assert "gap" not in done["closing"]


# A call that names another directory


@pytest.mark.thorough
@pytest.mark.promise("evidence.own-project")
def test_naming_another_project_switches_no_check_off(site: Site, elsewhere: str) -> None:
    site.begin()
    site.write("src/bill.py", RIGHT)

    refused = site.send(changed("ghost.py", change="added"), project=elsewhere)

    assert "ghost.py did not change in this run" in blocker(refused)["message"]
    (told,) = [one for one in refused["warnings"] if one["code"] == "PROJECT_NOT_USED"]
    assert told["message"] == f'The run belongs to the project "project"; {quote(elsewhere)} was not used.'


@pytest.mark.promise("evidence.own-project")
def test_stale_work_is_not_verified_from_elsewhere(site: Site, elsewhere: str) -> None:
    site.begin()
    do_honest_change(site)
    site.write("src/bill.py", WRONG)
    words = ["run", "continue", "--ack", site.reply["ackToken"], "--notes", "n", "--project", elsewhere]
    status, foretold = command(site.runtime, *words, "--artifacts", json.dumps([verified()]), "--dry-run")

    refused = site.send(verified(), project=elsewhere)

    assert "before files changed: src/bill.py" in blocker(refused)["message"]
    assert (status, foretold["data"]["verdict"]) == (0, "would_block")


@pytest.mark.promise("evidence.own-project")
def test_a_call_that_comes_from_elsewhere_finds_the_project_of_its_run(site: Site, elsewhere: str) -> None:
    site.runtime = msgspec.structs.replace(site.runtime, places=ProjectPlaceFiles(str(site.home)))
    site.begin()
    do_honest_change(site)
    site.write("src/bill.py", WRONG)
    site.runtime = msgspec.structs.replace(
        site.runtime, workspace=LocalWorkspace({"HANDRAIL_PROJECT": elsewhere})
    )

    assert "before files changed: src/bill.py" in blocker(site.send(verified()))["message"]


@pytest.mark.promise("evidence.own-project")
@pytest.mark.promise("evidence.unknown")
def test_a_project_that_is_gone_makes_everything_unknown_and_says_so(site: Site, elsewhere: str) -> None:
    site.runtime = msgspec.structs.replace(site.runtime, places=ProjectPlaceFiles(str(site.home)))
    site.begin()
    do_honest_change(site)
    os.rename(site.root, site.root.parent / "moved")
    site.runtime = msgspec.structs.replace(
        site.runtime, workspace=LocalWorkspace({"HANDRAIL_PROJECT": elsewhere})
    )

    done = site.send(verified())

    assert not set(worth(done)) & {"ran", "seen", "confirmed"}
    assert "the project of the run is not where it was begun" in done["closing"]


# Whose word counts


def insist(site: Site) -> Path:
    file = site.root / ".handrail/config.json"
    site.write(".handrail/config.json", json.dumps({"confirmations": "person"}))
    return file


@pytest.mark.thorough
@pytest.mark.promise("confirm.pinned")
@pytest.mark.parametrize("loosened", [None, '{"confirmations": "claimed"}', "{x", "{}"])
def test_a_person_is_needed_to_the_end_of_a_run_that_began_so(site: Site, loosened: str | None) -> None:
    file = insist(site)
    site.begin(ASKING, step("more"))
    assert blocker(site.send())["code"] == "USER_ONLY_DEPENDENCY"

    if loosened is None:
        file.unlink()
    else:
        file.write_text(loosened, encoding="utf-8")

    assert blocker(site.send())["code"] == "USER_ONLY_DEPENDENCY"
    started: dict[str, Any] = of_kind(events_of(site.runtime, site.reply), "run_started")[0]["data"]
    assert (started["confirmations"], started["confirmationsFrom"]) == ("person", "project")


@pytest.mark.promise("confirm.pinned")
def test_a_project_that_insists_later_counts_too_and_from_everywhere(site: Site, elsewhere: str) -> None:
    site.begin(ASKING, step("more"))
    insist(site)

    assert blocker(site.send(project=elsewhere))["code"] == "USER_ONLY_DEPENDENCY"


@pytest.mark.promise("confirm.pinned")
def test_a_user_who_insists_is_recorded_as_such(site: Site) -> None:
    site.home.mkdir(exist_ok=True)
    own = site.home / "config.json"
    own.write_text('{"confirmations": "person"}', encoding="utf-8")
    site.begin(ASKING, step("more"))
    own.unlink()

    assert blocker(site.send())["code"] == "USER_ONLY_DEPENDENCY"
    started = of_kind(events_of(site.runtime, site.reply), "run_started")[0]["data"]
    assert started["confirmationsFrom"] == "user"
