"""What a supervisor reads in a terminal fits the page, has no keys or fences, and its lines can be run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.reading.parse import parse
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.referees.console_stores import seed_busy
from tests.surfaces.cli.here import run_here

pytestmark = pytest.mark.thorough

VIEWS = (
    "session list",
    "session inbox",
    "session show SESSION",
    "context",
    "run answer --session SESSION --show",
)
_KEY = re.compile(r"^\s*[a-z]+_[a-z_]+:", re.MULTILINE)
_MACHINE = re.compile(r"\[untrusted|nextCall|stateToken|\b(?:st|ak|ck)1[a-z0-9]{20}|/notesMarkdown|::|@\d")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runtime, str]:
    """Sessions in every state, and the one that waits for a person."""
    home = tmp_path_factory.mktemp("busy") / "home"
    named = seed_busy(Path(home), with_hostile=False)
    runtime = build_runtime({"HANDRAIL_HOME": str(home), "HANDRAIL_PROJECT": str(home.parent)})
    return msgspec.structs.replace(runtime, incidents=KeptIncidents()), named["waiting"]


@pytest.mark.parametrize("view", VIEWS)
def test_it_fits_and_speaks_to_a_person(busy: tuple[Runtime, str], view: str) -> None:
    runtime, session = busy
    line = view.replace("SESSION", session).split()

    whole = run_here(runtime, [*line, "--human"], environment={"COLUMNS": "80"}).out.decode()
    told = re.sub(r"(?m)^ *>.*\n", "", whole)  # without what an agent wrote

    wide = [one for one in told.splitlines() if len(one) > 80 and "handrail " not in one]
    assert (wide, _MACHINE.findall(told)) == ([], [])
    assert view == "context" or _KEY.findall(told) == []
    assert not re.search(r": +-$", told, re.MULTILINE)
    for command in re.findall(r"handrail (session|run|store) ([^\n`]*)", told):
        words = shlex.split(" ".join(command))
        assert parse(words).problems == (), words


def test_needs_show_the_command_that_answers_each(busy: tuple[Runtime, str]) -> None:
    runtime, session = busy

    needs = run_here(runtime, ["session", "inbox", "--human"]).out.decode()

    assert f"handrail run answer --session {session}\n" in needs
    assert re.search(r"handrail session resolve gap_\w+ --session ses_\w+ --note", needs)
