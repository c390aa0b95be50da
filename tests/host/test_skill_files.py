"""The copy of the skill in a user's home: made, kept, repaired, moved aside, or left alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from handrail.host.program.client_files import remove_skill, sync_skill

SKILL = "---\nname: handrail\n---\nRead me.\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    place = tmp_path / "packed"
    (place / "references").mkdir(parents=True)
    (place / "SKILL.md").write_text(SKILL, encoding="utf-8")
    (place / "references/more.md").write_text("More.\n", encoding="utf-8")
    return place


def sync(source: Path) -> tuple[str, str, str]:
    copy = sync_skill(str(source), str(source.parent / "user"), str(source.parent / "home"))
    return copy.status, copy.moved_to, copy.trouble


def target(source: Path) -> Path:
    return source.parent / "user/.agents/skills/handrail"


def link(source: Path) -> Path:
    return source.parent / "user/.claude/skills/handrail"


def files(folder: Path) -> dict[str, str]:
    found = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_text(encoding="utf-8") for file in found}


def test_first_call_makes_a_copy_and_the_second_nothing(source: Path) -> None:
    """Where there is none, a real copy is made, and a second time nothing changes."""
    first, again = sync(source), sync(source)

    assert (first, again) == (("synced", "", ""), ("unchanged", "", ""))
    assert files(target(source)) == files(source)
    assert [one.name for one in target(source).parent.iterdir()] == ["handrail"]
    assert not (source.parent / "user/.claude").exists()


def test_older_copy_of_ours_is_replaced_whole(source: Path) -> None:
    sync(source)
    (source / "SKILL.md").write_text(SKILL + "Newer.\n", encoding="utf-8")
    (source / "references/more.md").unlink()

    assert sync(source) == ("synced", "", "")
    assert files(target(source)) == files(source)


def test_a_copy_that_the_user_changed_is_kept_aside_first(source: Path) -> None:
    sync(source)
    (target(source) / "SKILL.md").write_text(SKILL + "Mine.\n", encoding="utf-8")

    status, moved_to, _ = sync(source)

    assert status == "synced"
    assert files(target(source)) == files(source)
    assert files(Path(moved_to))["SKILL.md"].endswith("Mine.\n")
    assert Path(moved_to).parent == source.parent / "home/skill-backup"


@pytest.mark.parametrize("content", ["---\nname: other\n---\n", ""])
def test_a_foreign_directory_of_that_name_is_left_as_it_is(source: Path, content: str) -> None:
    target(source).mkdir(parents=True)
    (target(source) / ("SKILL.md" if content else "notes.txt")).write_text(content, encoding="utf-8")
    before = files(target(source))

    status, _, trouble = sync(source)

    assert (status, trouble) == ("failed", "a directory of that name is not Handrail's")
    assert files(target(source)) == before


def test_link_is_replaced_by_a_copy_and_its_target_stays(source: Path) -> None:
    elsewhere = source.parent / "elsewhere"
    shutil.copytree(source, elsewhere)
    target(source).parent.mkdir(parents=True)
    target(source).symlink_to(elsewhere)

    assert sync(source) == ("synced", "", "")
    assert not target(source).is_symlink()
    assert files(elsewhere) == files(target(source)) == files(source)


def test_a_link_that_leads_nowhere_is_no_skill_of_ours(source: Path) -> None:
    target(source).parent.mkdir(parents=True)
    target(source).symlink_to(source.parent / "gone")

    assert sync(source)[0] == "failed"
    assert target(source).is_symlink()


def test_claude_code_gets_a_link_where_it_is_used(source: Path) -> None:
    (source.parent / "user/.claude").mkdir(parents=True)

    first, again = sync(source), sync(source)

    assert (first[0], again[0]) == ("synced", "unchanged")
    assert os.readlink(link(source)) == "../../.agents/skills/handrail"


def test_own_copy_becomes_a_link_and_a_foreign_one_stays(source: Path) -> None:
    link(source).mkdir(parents=True)
    (link(source) / "SKILL.md").write_text(SKILL + "Old.\n", encoding="utf-8")

    sync(source)
    became_a_link = link(source).is_symlink()
    link(source).unlink()
    link(source).mkdir()
    (link(source) / "SKILL.md").write_text("---\nname: other\n---\n", encoding="utf-8")
    sync(source)

    assert became_a_link
    assert not link(source).is_symlink()


def test_without_links_it_gets_a_copy(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "user/.claude").mkdir(parents=True)

    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(os, "symlink", refuse)
    sync(source)

    assert not link(source).is_symlink()
    assert files(link(source)) == files(source)


def test_an_installation_without_a_skill_says_so(source: Path) -> None:
    (source / "SKILL.md").unlink()

    assert sync(source) == ("failed", "", "this installation has no skill packed with it")


def test_a_disk_that_refuses_is_told_in_its_words(source: Path) -> None:
    (source.parent / "user").write_text("a file", encoding="utf-8")

    assert sync(source) == ("failed", "", "Not a directory")


def test_what_was_copied_can_be_taken_away_unless_it_was_changed(source: Path) -> None:
    user, home = str(source.parent / "user"), str(source.parent / "home")
    sync(source)
    (target(source) / "SKILL.md").write_text(SKILL + "Mine.\n", encoding="utf-8")

    kept = remove_skill(user, home)
    (target(source) / "SKILL.md").write_text(SKILL, encoding="utf-8")
    removed = remove_skill(user, home)

    assert (kept.status, kept.trouble) == ("unchanged", "it was changed since it was copied")
    assert removed.status == "removed"
    assert not target(source).exists()
