"""Handrail lists the files that changed in a run: in the artifact, in later prompts and in the summary."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.conversation import answer
from tests.journeys.given_workflows import step
from tests.journeys.interfaces import events_of, of_kind
from tests.journeys.test_wanted_proofs import ProvenSite

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

FILES = {"output": {"contractRef": "wr.contracts.changed_files"}}
REASON = {"kind": "wr.changed_files", "why": "Rows are rounded."}


@pytest.fixture
def site(tmp_path: Path) -> ProvenSite:
    site = ProvenSite(tmp_path)
    shown = step("read", prompt="Read these: {{wr.changed_files.files}}")
    site.begin(step("change", **FILES), shown)
    site.reply_session()
    site.write("src/bill.py", "def total(rows):\n    return round(sum(rows))\n")
    site.write("src/new.py", "a = 1\nb = 2\n")
    return site


def artifact_of(site: ProvenSite) -> dict[str, Any]:
    written = of_kind(events_of(site.runtime, site.reply), "node_output_appended")
    (body,) = [one["data"]["artifact"]["body"] for one in written if one["data"]["channel"] == "artifact"]
    return dict(body)


def test_the_artifact_has_the_observed_files(site: ProvenSite) -> None:
    done = site.send(REASON)

    assert done["kind"] == "ok", done
    assert artifact_of(site) == REASON | {
        "source": "observed",
        "files": [
            {"path": "src/bill.py", "change": "modified", "added": 1, "removed": 1},
            {"path": "src/new.py", "change": "added", "added": 2, "removed": 0},
        ],
        "filesTotal": 2,
        "linesAdded": 3,
        "linesRemoved": 1,
    }


def test_a_later_prompt_names_the_observed_files(site: ProvenSite) -> None:
    lie = {"path": "lie.py", "change": "added", "why": "It had to."}

    done = site.send({"kind": "wr.changed_files", "files": [lie], "checks": []})

    assert "src/new.py" in done["pending"]["prompt"]
    assert "lie.py" not in done["pending"]["prompt"]


def test_the_summary_counts_files_and_lines(site: ProvenSite) -> None:
    site.send(REASON)

    done = site.send()
    shown = answer(site.runtime, "session.show", sessionId=site.reply_session())
    asked = {"sessionId": site.reply_session(), "as": "markdown"}
    report = answer(site.runtime, "session.export", **asked)["content"]

    assert "Done: 2 steps, 2 files (+3 −1)." in done["closing"]
    assert "2 files (+3 −1)" in shown["runs"][0]["summary"]
    assert "Done: 2 steps, 2 files" in report
    assert "is proven; that a place exists" not in report
