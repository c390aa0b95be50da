"""A server reads workflow files again exactly when something about them changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from handrail.host.workflow_library import DirectoryLibrary
from handrail.host.workflow_sources import stamps
from handrail.host.workflow_sources.stamps import is_settled, stamp_sources

WORKFLOW = (
    b'{"id":"project.one","name":"One","description":"D","steps":[{"id":"a","title":"A","prompt":"P"}]}'
)


class Sources:
    """A home and a project with one workflow."""

    def __init__(self, place: Path) -> None:
        self.home, self.project = place / "home", place / "project"
        self.folder = self.project / ".handrail" / "workflows"
        self.folder.mkdir(parents=True)
        self.home.mkdir()
        self.file = self.folder / "one.json"
        self.file.write_bytes(WORKFLOW)
        self.library = DirectoryLibrary(str(self.home))

    def names(self) -> list[str]:
        return [
            one.source_ref for one in self.library.files(str(self.project)) if one.source_kind != "bundled"
        ]

    def is_same(self) -> bool:
        first = self.library.files(str(self.project))
        return self.library.files(str(self.project)) is first


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    monkeypatch.setattr(stamps, "is_settled", lambda _: True)
    monkeypatch.setattr("handrail.host.workflow_library.is_settled", lambda _: True)
    return Sources(tmp_path)


def test_unchanged_files_are_read_once(sources: Sources) -> None:
    assert sources.is_same()


def edit(sources: Sources) -> None:
    sources.file.write_bytes(WORKFLOW.replace(b"One", b"Two"))


def replace(sources: Sources) -> None:
    other = sources.folder / "other"
    other.write_bytes(WORKFLOW.replace(b"One", b"Six"))
    os.replace(other, sources.file)


def add(sources: Sources) -> None:
    (sources.folder / "two.json").write_bytes(WORKFLOW.replace(b"project.one", b"project.two"))


def add_below(sources: Sources) -> None:
    (sources.folder / "more").mkdir()
    (sources.folder / "more" / "two.json").write_bytes(WORKFLOW.replace(b"project.one", b"project.two"))


def remove(sources: Sources) -> None:
    sources.file.unlink()


def close(sources: Sources) -> None:
    sources.file.chmod(0)


def name_more(sources: Sources) -> None:
    (sources.project / "flows").mkdir()
    (sources.project / "flows" / "two.json").write_bytes(WORKFLOW.replace(b"project.one", b"project.two"))
    (sources.project / ".handrail" / "config.json").write_bytes(b'{"workflowDirectories": ["flows"]}')


def add_for_user(sources: Sources) -> None:
    (sources.home / "workflows").mkdir()
    (sources.home / "workflows" / "two.json").write_bytes(WORKFLOW.replace(b"project.one", b"user.two"))


def add_contract(sources: Sources) -> None:
    (sources.project / ".handrail" / "contracts").mkdir()
    (sources.project / ".handrail" / "contracts" / "team.json").write_bytes(b"{}")


@pytest.mark.parametrize(
    "change", [edit, replace, add, add_below, remove, close, name_more, add_for_user, add_contract]
)
def test_every_change_is_seen(sources: Sources, change: Callable[[Sources], None]) -> None:
    before = sources.library.files(str(sources.project))
    change(sources)
    after = sources.library.files(str(sources.project))

    assert after is not before
    assert after == DirectoryLibrary(str(sources.home)).files(str(sources.project))
    assert change is close or after != before


def test_a_link_is_read_each_time(sources: Sources, tmp_path: Path) -> None:
    target = sources.project / "elsewhere.json"
    target.write_bytes(WORKFLOW.replace(b"project.one", b"project.two"))
    (sources.folder / "two.json").symlink_to(target)
    assert not sources.is_same()

    target.write_bytes(WORKFLOW.replace(b"project.one", b"project.three"))

    (found,) = [one for one in sources.library.files(str(sources.project)) if one.source_ref == "two.json"]
    assert b"project.three" in found.content


def test_a_stamp_of_this_moment_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_bytes(WORKFLOW)
    stamp = stamp_sources([str(tmp_path)], [])
    assert stamp is not None
    changed = max(row[5] for row in stamp)

    assert not is_settled(stamp, changed + 1_000_000)
    assert is_settled(stamp, changed + 3_000_000_000)
