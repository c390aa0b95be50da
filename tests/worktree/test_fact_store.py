"""The fact store: shared by processes, rebuilt for another version, and never in the way."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.ports.worktree import MOST_FACT_PROJECTS, KeptFacts
from handrail.worktree.fact_store import FactFiles

FORM = "facts 1"
ONE = KeptFacts(key=".js:sha1:1", words="fetch\nfetchData\n$x", body=b"one\x00\xff")
TWO = KeptFacts(key=".js:sha1:2", words="other", body=b"two")


@pytest.fixture
def store(tmp_path: Path) -> FactFiles:
    return FactFiles(str(tmp_path / "home"))


def file_of(tmp_path: Path) -> Path:
    (found,) = (tmp_path / "home/data/cache/facts").glob("*.sqlite")
    return found


def fill(store: FactFiles, form: str = FORM) -> None:
    with store.open_view("/project", form) as view:
        view.keep([ONE, TWO])


def kept(store: FactFiles, project: str = "/project", form: str = FORM) -> set[str]:
    with store.open_view(project, form) as view:
        return set(view.find_kept())


def test_what_was_kept_is_found_by_another_process(store: FactFiles, tmp_path: Path) -> None:
    fill(store)

    with FactFiles(str(tmp_path / "home")).open_view("/project", FORM) as view:
        assert view.find_kept() == {ONE.key, TWO.key}
        assert view.load([ONE.key, "unknown"]) == {ONE.key: ONE.body}
        assert view.find_with("tchDa") == {ONE.key}
        assert view.find_with("$x") == {ONE.key}
        assert view.find_with("h\nf") == {ONE.key}
        assert view.find_with("nothing") == set()


def test_projects_are_apart_and_files_are_private(store: FactFiles, tmp_path: Path) -> None:
    fill(store)

    assert kept(store, "/elsewhere") == set()
    folder = tmp_path / "home/data/cache/facts"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


def test_another_version_starts_over(store: FactFiles) -> None:
    fill(store)

    assert kept(store, form="facts 2") == set()
    assert kept(store) == set()


def test_keeping_the_same_again_changes_nothing(store: FactFiles) -> None:
    fill(store)
    fill(store)

    with store.open_view("/project", FORM) as view:
        assert view.load([ONE.key, TWO.key]) == {ONE.key: ONE.body, TWO.key: TWO.body}


def test_old_facts_go_when_they_are_most_of_what_is_kept(store: FactFiles) -> None:
    many = [KeptFacts(key=f".js:sha1:{number}", words="w", body=b"b") for number in range(1_100)]
    with store.open_view("/project", FORM) as view:
        view.keep(many)
        view.forget_others(2, lambda: [many[0].key, many[1].key])
        assert view.find_kept() == {many[0].key, many[1].key}
        assert set(view.load([one.key for one in many])) == {many[0].key, many[1].key}


@pytest.mark.parametrize("damage", ["garbage", "cut", "foreign", "view", "missing", "folder"])
def test_a_broken_file_costs_time_only(store: FactFiles, tmp_path: Path, damage: str) -> None:
    fill(store)
    path = file_of(tmp_path)
    _damage(path, damage)

    first = kept(store)
    fill(store)
    fill(store)

    assert first <= {ONE.key, TWO.key}
    assert kept(store) == (set() if damage == "folder" else {ONE.key, TWO.key})


def test_a_store_that_cannot_be_written_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file in place of the home", encoding="utf-8")
    store = FactFiles(str(tmp_path / "home"))

    fill(store)

    assert kept(store) == set()


def test_few_projects_are_kept(store: FactFiles, tmp_path: Path) -> None:
    for number in range(MOST_FACT_PROJECTS + 3):
        kept(store, f"/project {number}")

    assert len(list((tmp_path / "home/data/cache/facts").glob("*.sqlite"))) <= MOST_FACT_PROJECTS


@pytest.mark.thorough
def test_many_processes_keep_at_once(store: FactFiles, tmp_path: Path) -> None:
    program = (
        "import sys\nfrom handrail.worktree.fact_store import FactFiles\n"
        "from handrail.ports.worktree import KeptFacts\n"
        "for number in range(20):\n"
        "    with FactFiles(sys.argv[1]).open_view('/project', 'facts 1') as view:\n"
        "        view.keep([KeptFacts(key=f'{number}', words='w', body=b'b')])\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "home")], env=os.environ)
        for _ in range(4)
    ]
    try:
        statuses = [child.wait(timeout=60) for child in children]
    finally:
        for child in children:
            child.kill()

    assert statuses == [0, 0, 0, 0]
    assert kept(store) == {str(number) for number in range(20)}


def _damage(path: Path, damage: str) -> None:
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    content = path.read_bytes()
    match damage:
        case "garbage":
            path.write_bytes(b"no database " * 1_000)
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "foreign":
            path.unlink()
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE words(id)")
            connection.close()
        case "view":
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE VIEW everything AS SELECT 1")
            connection.close()
        case "missing":
            path.unlink()
        case _:
            path.unlink()
            path.mkdir()
