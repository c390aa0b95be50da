"""A release that the index could not give out: what may pass is told as such."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from handrail import __version__
from handrail.contract.catalogue import E_NOT_FOUND, E_SERVER, Kind
from handrail.contract.outcome import Fault
from handrail.ports.program import Fetched
from tests.journeys.conversation import refusal
from tests.journeys.writes import GivenUpdates, World


class Withheld(GivenUpdates):
    """An index that lists a release and does not give it out."""

    def __init__(self, kind: Kind) -> None:
        super().__init__()
        self._kind = kind

    def fetch(self, url: str, accept: str, asked: Callable[[], str], base: str = "") -> Fetched:
        if url.endswith(".whl"):
            raise Fault(self._kind, "The index answered with another status.")
        return super().fetch(url, accept, asked, base)


@pytest.mark.parametrize(("kind", "told"), [(E_SERVER, "E_SERVER"), (E_NOT_FOUND, "E_NOT_FOUND")])
def test_a_download_that_answers_503_may_be_tried_again(tmp_path: Path, kind: Kind, told: str) -> None:
    world = World(str(tmp_path))
    runtime = msgspec.structs.replace(world.runtime, updates=lambda: Withheld(kind))

    refused = refusal(runtime, "program.update")

    assert (refused.kind.code, refused.kind.is_retryable) == (told, kind is E_SERVER)
    assert refused.details["current_version"] == __version__
    assert refused.details["stage"] == "download"
