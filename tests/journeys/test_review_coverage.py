"""A review names every file of the change that it is about, as reviewed or as not reviewed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.given_workflows import give, step
from tests.journeys.interfaces import tool_call
from tests.journeys.test_wanted_proofs import ProvenSite
from tests.worktree.project import commit

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

INPUTS = {"change": {"type": "string", "default": "what the user named"}}
REVIEW = step("review", output={"contractRef": "wr.contracts.review_findings"})


class Reviewed(ProvenSite):
    """A commit of two files, and a run that reviews what `change` names."""

    def review(self, change: str) -> None:
        self.write("src/bill.py", "def total(rows):\n    return round(sum(rows))\n")
        self.write("src/lib/new.py", "a = 1\n")
        commit(self.root)
        workflow_id = give(self.runtime, REVIEW, inputs=INPUTS)
        sent = {"workflowId": workflow_id, "context": {"change": change}}
        self.reply = tool_call(self.runtime, "start_workflow", **sent).structured

    def report(self, *reviewed: str, left: tuple[str, ...] = ()) -> dict[str, Any]:
        body: dict[str, Any] = {"kind": "wr.review_findings", "verdict": "approve", "findings": []}
        return self.send(body | {"reviewed": list(reviewed), "notReviewed": list(left)})


@pytest.fixture
def site(tmp_path: Path) -> Reviewed:
    return Reviewed(tmp_path)


@pytest.mark.parametrize("change", ["HEAD", "HEAD^..HEAD", "HEAD~1.."])
def test_a_lazy_review_is_blocked_with_the_missing_files(site: Reviewed, change: str) -> None:
    site.review(change)

    blocked = site.report("src/bill.py")

    assert blocked["kind"] == "blocked"
    (blocker,) = blocked["blockers"]
    assert (
        "/reviewed: reviewed and notReviewed leave out 1 file of the change: src/lib/new.py"
        in blocker["message"]
    )


@pytest.mark.parametrize(
    ("reviewed", "left"),
    [
        (("src/bill.py", "src/lib/new.py"), ()),
        (("./src/bill.py:2",), ("src/lib/",)),
        (("src/*.py",), ()),
    ],
)
def test_a_review_that_names_every_file_passes(
    site: Reviewed, reviewed: tuple[str, ...], left: tuple[str, ...]
) -> None:
    site.review("HEAD")

    assert site.report(*reviewed, left=left)["kind"] == "ok"


def test_the_whole_project_is_no_name_of_a_file(site: Reviewed) -> None:
    site.review("HEAD")

    assert site.report(".", "*")["kind"] == "blocked"


@pytest.mark.parametrize("change", ["pull request 118", "no-such-branch", "HEAD..nowhere"])
def test_an_unknown_change_demands_nothing_and_says_so(site: Reviewed, change: str) -> None:
    site.review(change)

    done = site.report("src/bill.py")

    assert done["kind"] == "ok"
    (warning,) = [one for one in done["warnings"] if one["code"] == "CHANGE_UNKNOWN"]
    assert "the files of the change are not known" in warning["message"]
