"""The changelog is read as people write it, and `--since` means strictly newer."""

from __future__ import annotations

import msgspec
import pytest

from handrail.program.update.find_release import read_releases
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.self_description.version import ShowChangelog, show_changelog
from tests.cases import every_case
from tests.conftest import GivenInstallation

TEXT = """# Changelog

Every change.

## Unreleased

### Added

- Not yet out.

## [1.10.0] - 2027-02-03

### Added

- A thing that needs
  two lines.
- Another thing.

### Security

* A hole was closed.

## 1.9 - 2026-12-24

### Fixed

- A mistake.

## [1.9rc1]

### Changed

- A try.

## Notes

- Not a release.

[1.10.0]: https://example.org/1.10.0
"""


class GivenChangelog(GivenInstallation):
    def packed(self, name: str) -> bytes | None:
        return TEXT.encode() if name == "CHANGELOG.md" else super().packed(name)


def since(runtime: Runtime, version: str) -> list[str]:

    given = msgspec.structs.replace(runtime, installation=GivenChangelog)
    return [one.version for one in show_changelog(given, ShowChangelog(since=version)).entries]


@pytest.mark.promise("cli.changelog")
def test_releases_are_read_with_dates_categories_and_whole_items() -> None:
    found = read_releases(TEXT)

    assert [(one.version, one.date) for one in found] == [
        ("1.10.0", "2027-02-03"),
        ("1.9", "2026-12-24"),
        ("1.9rc1", None),
    ]
    assert found[0].changes.added == ["A thing that needs two lines.", "Another thing."]
    assert found[0].changes.security == ["A hole was closed."]
    assert found[0].changes.removed == []
    assert found[2].changes.changed == ["A try."]


@pytest.mark.promise("cli.changelog-since")
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.9", ["1.10.0"]),
        ("1.9.0", ["1.10.0"]),
        ("1.9rc1", ["1.10.0", "1.9"]),
        ("1.8.7", ["1.10.0", "1.9", "1.9rc1"]),
        ("1.10", []),
        ("99", []),
    ],
)
def test_since_is_strictly_newer_and_by_number(runtime: Runtime, version: str, expected: list[str]) -> None:
    assert since(runtime, version) == expected


@every_case("text", ["", "## \n", "- lost item\n", "### Added\n- lost\n", "## [x]\n### Added\n- y\n"])
def test_odd_texts_hold_no_release(text: str) -> None:
    assert read_releases(text) == []
