"""One level of an ignore rule against a name, as git matches it."""

from __future__ import annotations

import pytest

from handrail.host.worktree.walking import matches_name


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        (b"[^a]", b"b", True),
        (b"[^a]", b"a", False),
        (b"[^a]", b"^", True),
        (b"[!a]", b"b", True),
        (b"[!a]", b"a", False),
        (b"[a^]", b"^", True),
        (b"[^a-c]x", b"dx", True),
        (b"[^a-c]x", b"bx", False),
        (b"[^]]", b"]", False),
        (b"[^]]", b"a", True),
        (b"[]]", b"]", True),
        (b"*.[^o]", b"main.c", True),
        (b"*.[^o]", b"main.o", False),
    ],
)
def test_set_matches_as_in_git(pattern: bytes, name: bytes, *, expected: bool) -> None:
    assert matches_name(pattern, name) is expected
