"""A proof of work that was delegated: children of one directory are not asked, their join is."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.journeys.conversation import advance, answer
from tests.journeys.given_workflows import begin, step
from tests.journeys.test_delegation import child, handing_out, read
from tests.journeys.test_wanted_proofs import ProvenSite

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.mark.parametrize(("names", "kinds"), [(("a", "b"), ["ok", "ok"]), (("a",), ["blocked"])])
def test_children_of_one_directory_are_not_asked_for_a_proof(
    tmp_path: Path, names: tuple[str, ...], kinds: list[str]
) -> None:
    site = ProvenSite(tmp_path)
    site.declare(tests={"command": ["true"]})
    runtime = site.runtime
    children = [child(name, step("fix", proof="proved")) for name in names]
    first = begin(runtime, step("plan"), handing_out(*children), step("join", proof="proved"), fields={})
    waiting = advance(runtime, first)

    opened = [read(runtime, handed) for handed in waiting["children"]]
    done = [
        answer(runtime, "run.continue", ackToken=one["ackToken"], output={"notesMarkdown": "Done."})
        for one in opened
    ]

    assert [one["kind"] for one in done] == kinds
    asked = {"This step wants PROVED" in one["pending"]["prompt"] for one in opened}
    assert asked == {len(names) == 1}


def test_the_run_above_children_is_asked_for_its_proof(tmp_path: Path) -> None:
    site = ProvenSite(tmp_path)
    site.declare(tests={"command": ["true"]})
    children = [child(name, step("fix")) for name in ("a", "b")]
    waiting = site.begin(handing_out(*children), step("merge", proof="proved"))
    for handed in waiting["children"]:
        advance(site.runtime, read(site.runtime, handed))
    met = answer(site.runtime, "run.continue", stateToken=waiting["stateToken"])
    site.reply = answer(site.runtime, "run.continue", ackToken=met["ackToken"])

    assert "This step wants PROVED" in site.reply["pending"]["prompt"]
    assert site.send()["kind"] == "blocked"
