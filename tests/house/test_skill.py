"""The agent skill keeps the rules of the public validator and its own limits, and says only what is so."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from skills_ref import validate  # type: ignore[import-untyped]  # it ships no types

from handrail import __version__
from tests.cases import every_case
from tests.house.tree import ROOT, page
from tools.packed_files import skill_files

SKILL = "skills/handrail/SKILL.md"


def front_matter(text: str) -> dict[str, Any]:
    """The block-style YAML that we write: scalars, and nested maps and lists by indentation."""
    assert text.startswith("---\n")
    head = text[4:].partition("\n---\n")[0]
    root: dict[str, Any] = {}
    stack: list[tuple[int, Any]] = [(-1, root)]
    lines = head.splitlines()
    for place, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        while indent <= stack[-1][0]:
            stack.pop()
        holder = stack[-1][1]
        if line.lstrip().startswith("- "):
            holder.append(line.strip()[2:])
            continue
        key, colon, value = line.strip().partition(":")
        assert colon, line
        if value.strip():
            holder[key] = value.strip().strip('"')
        else:
            holder[key] = [] if lines[place + 1].lstrip().startswith("- ") else {}
            stack.append((indent, holder[key]))
    return root


@pytest.fixture
def matter() -> dict[str, Any]:
    return front_matter(page(SKILL).text)


def test_public_validator_accepts_the_skill(tmp_path: Path) -> None:
    packed = tmp_path / "handrail"  # it wants the folder to have the name of the skill
    shutil.copytree(os.path.join(ROOT, "src", "handrail", "packed", "skill"), packed)

    assert validate(Path(ROOT, "skills", "handrail")) == []
    assert validate(packed) == []


@pytest.mark.promise("cli.skill-minimum")
def test_versions_are_those_of_the_program(matter: dict[str, Any]) -> None:
    assert matter["metadata"]["version"] == __version__
    assert matter["metadata"]["requires"] == {"bins": ["handrail"], "min_version": __version__}


def test_it_lists_no_flags_and_stops_before_danger() -> None:
    text = page(SKILL).text

    assert "STOP before `--dangerous`" in text
    assert "_untrusted" in text
    exits = page("skills/handrail/references/exits.md").text
    assert all(f"| {status} |" in exits for status in ("0", "1", "2", "3", "4", "5", "6", "9", "130"))


@every_case(
    ("link", "target"),
    [
        ("CHANGELOG.md", "CHANGELOG.md"),
        *((f"skill/{name}", f"skills/handrail/{name}") for name in skill_files(ROOT)),
    ],
)
def test_the_package_links_to_what_people_read_at_the_root(link: str, target: str) -> None:
    """A copy would be a second file to keep; the build follows the links."""
    packed = os.path.join(ROOT, "src", "handrail", "packed", link)

    assert os.path.islink(packed)
    assert os.path.realpath(packed) == os.path.join(os.path.realpath(ROOT), target)


def test_the_package_has_the_whole_skill() -> None:
    packed = os.path.join(ROOT, "src", "handrail", "packed", "skill")
    names = [
        os.path.relpath(os.path.join(folder, name), packed).replace(os.sep, "/")
        for folder, _, files in os.walk(packed)
        for name in files
    ]

    assert sorted(names) == skill_files(ROOT)
