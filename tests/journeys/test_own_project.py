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
from tests.journeys.given_workflows import step
from tests.journeys.interfaces import events_of, evidence_of, of_kind
from tests.journeys.workplace import (
    VERIFY,
    Site,
    blocker,
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


# A call that names another directory


def test_report_from_elsewhere_is_compared_with_its_own_files(site: Site, elsewhere: str) -> None:
    site.begin(step("verify", **VERIFY))

    refused = site.send(
        verified({"source": "file", "ref": "gone.py:1", "result": "Here."}), project=elsewhere
    )

    assert "gone.py is not in the project" in blocker(refused)["message"]
    (told,) = [one for one in refused["warnings"] if one["code"] == "PROJECT_NOT_USED"]
    assert told["message"] == f'The run belongs to the project "project"; {quote(elsewhere)} was not used.'


def test_places_of_a_project_that_is_gone_are_unknown(site: Site, elsewhere: str) -> None:
    site.runtime = msgspec.structs.replace(site.runtime, places=ProjectPlaceFiles(str(site.home)))
    site.begin(step("verify", **VERIFY))
    os.rename(site.root, site.root.parent / "moved")
    site.runtime = msgspec.structs.replace(
        site.runtime, workspace=LocalWorkspace({"HANDRAIL_PROJECT": elsewhere})
    )

    done = site.send(verified({"source": "file", "ref": "gone.py:1", "result": "Here."}))

    assert done["isComplete"] is True
    assert set(evidence_of(done)) == {"stated"}


# Whose word counts


def insist(site: Site) -> Path:
    file = site.root / ".handrail/config.json"
    site.write(".handrail/config.json", json.dumps({"confirmations": "person"}))
    return file


@pytest.mark.thorough
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


def test_project_that_insists_later_counts_everywhere(site: Site, elsewhere: str) -> None:
    site.begin(ASKING, step("more"))
    insist(site)

    assert blocker(site.send(project=elsewhere))["code"] == "USER_ONLY_DEPENDENCY"


def test_a_user_who_insists_is_recorded_as_such(site: Site) -> None:
    site.home.mkdir(exist_ok=True)
    own = site.home / "config.json"
    own.write_text('{"confirmations": "person"}', encoding="utf-8")
    site.begin(ASKING, step("more"))
    own.unlink()

    assert blocker(site.send())["code"] == "USER_ONLY_DEPENDENCY"
    started = of_kind(events_of(site.runtime, site.reply), "run_started")[0]["data"]
    assert started["confirmationsFrom"] == "user"
