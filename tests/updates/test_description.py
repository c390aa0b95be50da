"""A wheel's own description ends with the changelog: there an older version reads what changed."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from handrail.program.update.notice import list_newer_releases
from tests.updates.releases import OLD, SECONDS
from tools.packed_files import description

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_a_built_wheel_carries_readme_and_changelog_in_its_metadata(tmp_path: Path) -> None:
    build = ["uv", "build", "--offline", "--quiet", "--wheel", "--out-dir", str(tmp_path), str(ROOT)]

    done = subprocess.run(build, capture_output=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr.decode()
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"handrail-{OLD}.dist-info/METADATA").decode()

    assert "\nDescription-Content-Type: text/markdown\n" in metadata
    assert "\n# Handrail\n" in metadata
    assert metadata.rstrip().endswith((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").rstrip())


def test_links_into_the_repository_become_their_words() -> None:
    readme = "# X\n\n![a](docs/a.svg)\nSee [how](docs/how.md), [it](README.md#it) and [a page](https://example.org/).\n"

    joined = description(readme, "# Changelog\n")

    assert joined == "# X\n\nSee how, it and [a page](https://example.org/).\n\n# Changelog\n"


def test_the_releases_between_two_versions_are_those_after_the_first_up_to_the_second() -> None:
    text = "".join(
        f"## [{version}]\n\n### Fixed\n\n- A line.\n" for version in ("2.0", "1.10", "1.9", "1.9rc1", "x")
    )

    assert [one.version for one in list_newer_releases(text, "1.9rc1", "1.10.0")] == ["1.10", "1.9"]
    assert list_newer_releases(text, "x", "2.0") == []
