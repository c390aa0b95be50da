"""Who may confirm a step that a role must confirm: whoever has that role or a higher one."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from handrail.runtime.runtime import Runtime
from handrail.runtime.who_confirms import has_confirmer
from tests.engine.written_log import WrittenLog


@pytest.mark.parametrize(
    ("role", "wanted", "is_found"),
    [
        ("viewer", "role:member", False),
        ("member", "role:member", True),
        ("admin", "role:member", True),
        ("member", "role:admin", False),
        ("admin", "role:admin", True),
        ("admin", "role:nobody", False),
    ],
)
def test_role_of_the_step_or_a_higher_one_confirms(
    runtime: Runtime, role: str, wanted: str, *, is_found: bool
) -> None:
    log = WrittenLog("a")
    rt = replace(runtime, members=lambda: {"acc_1": role})

    assert has_confirmer(rt, log.history, log.start(), wanted) is is_found
