"""A person reads everything there is about a store, at a terminal and in the Console: words, no protocol."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from handrail.runtime.runtime import Runtime
from tests.conftest import KeptIncidents
from tests.journeys.read_by_people import list_faults, read_console, read_notices, read_terminal
from tests.referees.console_stores import open_store, seed_busy
from tests.referees.supervised_store import Supervised

pytestmark = pytest.mark.thorough

BEGIN = ("/sessions", "/gaps", "/import", "/settings")
OF_AUTHORS = ("/workflows", "/builtins")
"""Pages about files, which show the language that their authors write."""


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


def test_of_five_agents_in_every_state_a_person_reads_words(tmp_path: Path) -> None:
    store = Supervised(tmp_path / "home")

    assert check(store.agent("terminal"), list(store.sessions.values())) > 100


def test_of_forks_rounds_bundles_and_damage_a_person_reads_words(tmp_path: Path) -> None:
    ids = seed_busy(tmp_path, with_hostile=False)
    runtime = msgspec.structs.replace(open_store(tmp_path), incidents=KeptIncidents())

    assert check(runtime, list(ids.values())) > 100
