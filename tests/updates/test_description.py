"""A wheel's own description ends with its releases: there an older version reads how urgent it is."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from handrail.program.update.find_release import list_newer_releases
from tests.updates.releases import OLD, SECONDS
from tools.packed_files import SKILL, description, description_file, skill_files

ROOT = Path(__file__).parents[2]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_a_built_wheel_carries_what_people_read_at_the_root(tmp_path: Path) -> None:
    build = ["uv", "build", "--offline", "--quiet", "--wheel", "--out-dir", str(tmp_path), str(ROOT)]

    done = subprocess.run(build, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"handrail-{OLD}.dist-info/METADATA").decode()
        changelog = archive.read("handrail/packed/CHANGELOG.md")
        skill = {name: archive.read(f"handrail/packed/skill/{name}") for name in skill_files(str(ROOT))}

    assert "\nDescription-Content-Type: text/markdown\n" in metadata
    assert "\n# Handrail\n" in metadata
    assert metadata.rstrip().endswith(description_file(str(ROOT)).rstrip())
    assert changelog == (ROOT / "CHANGELOG.md").read_bytes()
    assert skill == {name: (ROOT / SKILL / name).read_bytes() for name in skill}


def test_links_into_the_repository_become_their_words() -> None:
    readme = "# X\n\n![a](docs/a.svg)\nSee [how](docs/how.md), [it](README.md#it) and [a page](https://example.org/).\n"

    joined = description(readme, "# Changelog\n")

    assert joined == "# X\n\nSee how, it and [a page](https://example.org/).\n\n# Changelog\n"


def test_a_release_keeps_its_date_and_its_security_fixes() -> None:
    changelog = (
        "# Changelog\n\n## Unreleased\n\n### Security\n\n- Not yet.\n\n## [2.0] - 2026-01-02\n\n"
        "### Added\n\n- A flag.\n\n### Security\n\n- A hole\n  in two lines.\n\n## [1.0]\n"
    )

    joined = description("# X\n", changelog)

    security = "### Security\n\n- A hole in two lines.\n"
    assert joined == f"# X\n\n# Changelog\n\n## [2.0] - 2026-01-02\n\n{security}\n## [1.0]\n"
    assert [one.changes.security for one in list_newer_releases(joined, "1.0", "2.0")] == [
        ["A hole in two lines."]
    ]


def test_releases_between_versions_include_the_second_only() -> None:
    """The releases between two versions are those after the first up to the second."""
    text = "".join(
        f"## [{version}]\n\n### Fixed\n\n- A line.\n" for version in ("2.0", "1.10", "1.9", "1.9rc1", "x")
    )

    assert [one.version for one in list_newer_releases(text, "1.9rc1", "1.10.0")] == ["1.10", "1.9"]
    assert list_newer_releases(text, "x", "2.0") == []
