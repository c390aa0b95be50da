"""Every public file is used unedited from a pinned source: listed, validated, simulated, run to its end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.workflows.public_source import use_collection
from tests.workflows.test_corpus import CORPUS, FILES

pytestmark = pytest.mark.thorough

_ONE = {
    "id": "wr.one",
    "name": "One",
    "description": "A file of the neighbouring dialect.",
    "version": "1.0.0",
    "metaGuidance": ["Be careful."],
    "steps": [
        {"id": "look", "title": "Look", "prompt": "Look at it."},
        {"id": "dig", "title": "Dig", "prompt": "Dig.", "runCondition": {"var": "size", "equals": "large"}},
    ],
}


@pytest.mark.skipif(not FILES, reason="needs the corpus of public workflow files (HANDRAIL_TEST_CORPUS)")
def test_every_public_file_is_usable_unedited(tmp_path: Path) -> None:
    """Every public file is usable unedited and asks for what steers it."""
    used = use_collection(CORPUS, tmp_path)

    assert used.wrong == []
    done = {name: used.counts[name] for name in ("files", "taken", "validated", "simulated", "started")}
    assert set(done.values()) == {len(FILES)}, done
    assert used.counts["values asked for by a step"] > 0
    assert used.counts["calls of their own routines"] > 0


def test_file_that_breaks_its_schema_stops_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "one.json").write_text(json.dumps(_ONE), encoding="utf-8")
    broken = {**_ONE, "id": "wr.two", "steps": "none"}
    (folder / "two.json").write_text(json.dumps(broken), encoding="utf-8")

    used = use_collection(folder, tmp_path)

    [told] = used.wrong
    assert "two.json: not validated: " in told
    assert "not a list" in told
    assert (used.counts["taken"], used.counts["started"], used.counts["values asked for by a step"]) == (
        2,
        1,
        1,
    )
