"""Versions stand in the order in which they were released."""

from __future__ import annotations

from itertools import pairwise

import pytest

from handrail.program.update.package_index import version_key
from tests.cases import every_case


def test_versions_are_ordered_with_pre_releases_first() -> None:
    """Versions are ordered by number with pre-releases before the final one."""
    ordered = ["0.9", "1.0.dev1", "1.0a1", "1.0b2", "1.0rc1", "1.0rc2", "1.0", "1.0.post1", "1.0.1", "1.9rc1"]
    ordered += ["1.9", "1.10", "2.0.0-rc.1", "2.0.0", "10.0"]

    keys = [version_key(text) for text in ordered]

    assert None not in keys
    assert all(left < right for left, right in pairwise(keys) if left and right)


@pytest.mark.parametrize(("left", "right"), [("1.0", "1.0.0"), ("v2.1", "2.1"), ("1.0+build.7", "1.0")])
def test_two_spellings_are_one_version(left: str, right: str) -> None:
    assert version_key(left) == version_key(right)


@every_case("text", ["", "newest", "1.", ".1", "1..2", "1.0 ", "1.0rc1rc2", "１.0", "1" * 20, "-1"])
def test_other_texts_are_no_versions(text: str) -> None:
    assert version_key(text) is None
