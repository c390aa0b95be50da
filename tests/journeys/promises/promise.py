"""What a promise is: one row of the manifest. Pure."""

from __future__ import annotations

from typing import NamedTuple


class Promise(NamedTuple):
    """One behaviour users rely on. Journeys name its id in `@pytest.mark.promise`."""

    id: str
    source: str
    """Where it was promised: the specification or design chapter, then the place in it."""
    says: str
