"""The identity that verification accepts is the one this repository publishes with."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from handrail.ports.program import ISSUER, REPOSITORY, WORKFLOW, ReleaseIdentity, identity_of

ROOT = Path(__file__).parents[3]


def test_a_version_is_signed_by_one_workflow_at_its_own_tag() -> None:
    assert identity_of("2.0rc1") == ReleaseIdentity(
        issuer="https://token.actions.githubusercontent.com",
        repository="https://github.com/handrail.example/handrail",
        tag="refs/tags/v2.0rc1",
        workflow=(
            "https://github.com/handrail.example/handrail/.github/workflows/release.yml@refs/tags/v2.0rc1"
        ),
    )


def test_the_package_names_the_same_repository_or_none_can_sign() -> None:
    """Whoever owns that name decides what `--verify` accepts, so it is ours or nobody's."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    owner = REPOSITORY.removeprefix("https://github.com/").partition("/")[0]

    stated = project.get("urls", {}).get("Repository")

    assert stated == REPOSITORY if stated else "." in owner
    assert ISSUER.startswith("https://token.actions.github")


def test_release_workflow_signs_and_runs_for_tags_only() -> None:
    """The workflow of that name signs what it publishes and runs for tags only."""
    path = ROOT / WORKFLOW
    if not path.is_file():
        pytest.skip("this copy of the source has no workflow files")

    text = path.read_text(encoding="utf-8")

    assert re.findall(r"^on:\n  push:\n    tags: \[\"v\*\"\]\n\npermissions: \{\}$", text, re.MULTILINE)
    assert "attestations: true" in text
    assert text.count("id-token: write") == 1
    assert "secrets." not in text


def test_every_action_of_the_workflow_is_pinned_to_a_commit() -> None:
    path = ROOT / WORKFLOW
    if not path.is_file():
        pytest.skip("this copy of the source has no workflow files")

    used = re.findall(r"uses: (\S+)", path.read_text(encoding="utf-8"))

    assert len(used) == 5
    assert [one for one in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", one)] == []
