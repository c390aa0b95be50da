"""A person reads everything there is about a store, at a terminal and in the Console: words, no protocol."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import KeptIncidents
from tests.journeys.cast_players import Player
from tests.journeys.cast_rows import ROWS, Row
from tests.journeys.conversation import answer
from tests.journeys.read_by_people import list_faults, read_console, read_notices, read_terminal
from tests.referees.console_stores import open_store, seed_busy
from tests.referees.supervised_store import Supervised

pytestmark = pytest.mark.thorough

BEGIN = ("/sessions", "/gaps", "/import", "/settings")
OF_AUTHORS = ("/workflows", "/builtins")
"""Pages about files, which show the language that their authors write."""
ROWS_READ = [row for row in ROWS if "<root>" not in str(row.does)][::12]
"""Of the cast: liars and honest agents, refused and passed by; the rest is read where they are played. A path
from the root is what the agent itself wrote."""


def check(runtime: Runtime, session_ids: list[str]) -> int:
    """How many texts were read; no text has a part of the protocol in it."""
    texts = [
        *read_console(runtime, BEGIN, OF_AUTHORS),
        *read_terminal(runtime, session_ids),
        *read_notices(runtime, session_ids),
    ]
    found = [f"{where}: {fault}" for where, text in texts for fault in list_faults(text)]
    assert not found, "\n".join(dict.fromkeys(found))
    return len(texts)


@pytest.mark.promise("text.for-people")
def test_of_five_agents_in_every_state_a_person_reads_words(tmp_path: Path) -> None:
    store = Supervised(tmp_path / "home")

    assert check(store.agent("terminal"), list(store.sessions.values())) > 100


@pytest.mark.promise("text.for-people")
def test_of_forks_rounds_bundles_and_damage_a_person_reads_words(tmp_path: Path) -> None:
    ids = seed_busy(tmp_path, with_hostile=False)
    runtime = msgspec.structs.replace(open_store(tmp_path), incidents=KeptIncidents())

    assert check(runtime, list(ids.values())) > 100


@pytest.mark.promise("text.for-people")
@pytest.mark.parametrize("row", ROWS_READ, ids=lambda row: row.name)
def test_of_a_report_that_is_judged_a_person_reads_words(tmp_path: Path, row: Row) -> None:
    player = Player(tmp_path, "mcp")
    player.play(row)
    runtime = msgspec.structs.replace(player.runtime, incidents=KeptIncidents())
    ids = [one["id"] for one in answer(runtime, "session.list")["items"]]

    check(runtime, ids)

    assert list_faults(player.reply.get("closing", "")) == []
