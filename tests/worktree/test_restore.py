"""Writing files back: there and back is byte for byte the same, and a crash leaves each file old or new."""

from __future__ import annotations

import os
import random
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from handrail.host.bounds import Bounds
from handrail.ports.worktree import FileWrite, PresentFile, TreeEntry, Written, absent
from handrail.worktree.local_worktree import LocalWorktree
from handrail.worktree.restore import Disk, Journals
from tests.hostile.repository.checkout import run_git
from tests.worktree.project import commit, make_project, picture, write

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Killed(BaseException):
    """The process ends here."""


class DyingDisk(Disk):
    """Dies before the change with this number."""

    def __init__(self, dies_at: int) -> None:
        self.left = dies_at

    def _count(self) -> None:
        if self.left == 0:
            raise Killed
        self.left -= 1

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name in ("left", "_count") or not callable(found):
            return found

        def counted(*arguments: Any, **named: Any) -> Any:
            self._count()
            return found(*arguments, **named)

        return counted


def files_of(root: Path) -> dict[str, tuple[str, bytes, bool]]:
    """Every file outside of git: kind, bytes, executable."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = os.fsdecode(os.fsencode(path.relative_to(root)))
        if name.split("/")[0] == ".git" or (path.is_dir() and not path.is_symlink()):
            continue
        is_link = path.is_symlink()
        content = os.readlink(os.fsencode(path)) if is_link else path.read_bytes()
        is_program = not is_link and bool(path.stat().st_mode & stat.S_IXUSR)
        found[name] = ("link" if is_link else "file", content, is_program)
    return found


def snap(worktree: LocalWorktree, root: Path) -> Mapping[str, PresentFile]:
    """Every file that is neither git's nor ignored."""
    paths = run_git(root, "ls-files", "-z", "-c", "-o", "--exclude-standard").split(b"\0")[:-1]
    return worktree.read_files(str(root), [os.fsdecode(path) for path in paths])


def plan(worktree: LocalWorktree, root: Path, target: Mapping[str, PresentFile]) -> list[FileWrite]:
    present = snap(worktree, root)
    writes = []
    for path in sorted(present.keys() | target.keys()):
        before, after = present.get(path), target.get(path)
        if before == after:
            continue
        writes.append(
            FileWrite(
                path=path,
                mode="absent" if after is None else after.entry.mode,
                content=b"" if after is None else after.content,
                before=absent(path) if before is None else before.entry,
            )
        )
    return writes


def make_mess(root: Path, chance: random.Random) -> None:
    """Change, add, remove, relink, rename: anything that happens in a project."""
    names = [
        "src/a.py",
        "src/b.py",
        "run.sh",
        "new/deep/c.txt",
        "uni\u00e9 \u4e2d.txt",
        "x",
        "x/y",
        "crlf.txt",
        "z.bin",
    ]
    for name in chance.sample(names, k=chance.randint(1, len(names))):
        path = root / name
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.is_dir():
            shutil.rmtree(path)
        if path.parent.is_file() or path.parent.is_symlink():
            path.parent.unlink()
        what = chance.choice(["write", "write", "link", "program", "gone"])
        if what == "gone":
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if what == "link":
            path.symlink_to(chance.choice(["src/a.py", "/etc/hostname", "nowhere"]))
            continue
        path.write_bytes(
            chance.choice([b"", b"text\n", b"a\r\nb\r\n", bytes(chance.randbytes(50)), b"\0\xff"])
        )
        path.chmod(0o755 if what == "program" else 0o644)
    write(root, "noise.log", chance.randbytes(5))
    if not (root / "src").is_file() and not (root / "src").is_symlink():
        write(root, "src/.gitignore", "*.tmp\n")
        write(root, "src/kept.tmp", chance.randbytes(5))


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.thorough
def test_there_and_back_is_byte_for_byte_the_same(root: Path, worktree: LocalWorktree, seed: int) -> None:
    chance = random.Random(seed)
    make_mess(root, chance)
    if seed % 3 == 0:
        commit(root, "in between")
    there, files_there = snap(worktree, root), files_of(root)
    make_mess(root, chance)
    here, files_here = snap(worktree, root), files_of(root)
    repository = picture(root / ".git")
    ignored = {name for name in files_there.keys() | files_here.keys() if name.endswith((".log", ".tmp"))}

    back = worktree.write_files(str(root), plan(worktree, root, there))

    assert back.left_out == ()
    assert _but(files_of(root), ignored) == _but(files_there, ignored)
    assert snap(worktree, root) == there
    assert {name: held for name, held in files_of(root).items() if name in ignored} == {
        name: held for name, held in files_here.items() if name in ignored
    }
    again = worktree.write_files(str(root), plan(worktree, root, here))
    assert again.left_out == ()
    assert files_of(root) == files_here
    assert picture(root / ".git") == repository


def _but(files: dict[str, Any], ignored: set[str]) -> dict[str, Any]:
    return {name: held for name, held in files.items() if name not in ignored}


@pytest.mark.thorough
def test_killed_restore_leaves_each_file_old_or_new(tmp_path: Path, worktree: LocalWorktree) -> None:
    made = tmp_path / "made"
    make_project(made)
    there = snap(worktree, made)
    write(made, "src/a.py", "changed\n")
    (made / "src/b.py").unlink()
    (made / "link").unlink()
    (made / "run.sh").unlink()
    write(made, "run.sh/inside", "folder\n")
    write(made, "new/deep/c.txt", "new\n")
    home = tmp_path / "journals"
    steps, is_killed = 0, True
    while is_killed:
        root = tmp_path / f"copy{steps}"
        shutil.copytree(made, root, symlinks=True)
        old = files_of(root)
        writes = plan(worktree, root, there)
        try:
            Journals(str(home), DyingDisk(steps)).write_files(Bounds(str(root), ""), writes)
            is_killed = False
        except Killed:
            pass
        left = {name: held for name, held in files_of(root).items() if not name.endswith(".tmp")}
        done = Journals(str(home)).settle(str(root))

        assert (done is not None) == is_killed
        whole = files_of(root)
        assert snap(worktree, root) == there, steps
        assert all(held in (old.get(name), whole.get(name)) for name, held in left.items()), steps
        assert not list(home.rglob("data/restores/*[0-9a-f]")), "no journal is left"
        steps += 1

    assert steps > 12


def test_what_somebody_wrote_after_a_killed_restore_stays(
    tmp_path: Path, root: Path, worktree: LocalWorktree
) -> None:
    there = snap(worktree, root)
    write(root, "src/a.py", "edited\n")
    write(root, "new.txt", "to go\n")
    writes = plan(worktree, root, there)
    with pytest.raises(Killed):
        Journals(str(tmp_path / "home"), DyingDisk(0)).write_files(Bounds(str(root), ""), writes)
    write(root, "src/a.py", "written since\n")

    done = worktree.settle(str(root))

    assert done is not None
    assert done.changed == ("new.txt",)
    assert [left.path for left in done.left_out] == ["src/a.py"]
    assert (root / "src/a.py").read_text(encoding="utf-8") == "written since\n"


def test_a_journal_that_was_not_finished_never_counted(
    tmp_path: Path, root: Path, worktree: LocalWorktree
) -> None:
    before = files_of(root)
    journals = Journals(str(tmp_path / "home"))
    place = Path(journals._path(str(root)))
    place.parent.mkdir(parents=True)
    place.write_bytes(b"torn")

    assert journals.settle(str(root)) is None
    assert files_of(root) == before
    assert not place.exists()


def one(path: str, before: TreeEntry, content: bytes = b"new\n") -> FileWrite:
    return FileWrite(path=path, mode="file", content=content, before=before)


def test_an_ignored_file_in_the_way_stays(root: Path, worktree: LocalWorktree) -> None:
    write(root, "build/out", "mine")

    done = worktree.write_files(
        str(root), [one("build/out", absent("build/out")), one("free", absent("free"))]
    )

    assert (root / "build/out").read_text(encoding="utf-8") == "mine"
    assert done.changed == ("free",)
    assert [left.path for left in done.left_out] == ["build/out"]


def test_a_file_that_changed_since_the_look_stays(root: Path, worktree: LocalWorktree) -> None:
    entry = _edit(worktree, root, "src/a.py", "edited\n")
    write(root, "src/a.py", "edited again\n")

    done = worktree.write_files(str(root), [one("src/a.py", entry)])

    assert done.changed == ()
    assert "changed" in done.left_out[0].why
    assert (root / "src/a.py").read_text(encoding="utf-8") == "edited again\n"


def _edit(worktree: LocalWorktree, root: Path, name: str, content: str) -> TreeEntry:
    write(root, name, content)
    return worktree.read_files(str(root), [name])[name].entry


@pytest.mark.thorough
@pytest.mark.parametrize(
    "path", ["../out", "/tmp/out", "away/out", ".git/config", ".GIT/x", "a/../../out", ""]
)
def test_nothing_outside_of_the_project_is_written(
    root: Path, tmp_path: Path, worktree: LocalWorktree, path: str
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / "away").symlink_to(tmp_path / "elsewhere")
    repository = picture(root / ".git")

    done = worktree.write_files(str(root), [one(path, absent(path))])

    assert done.changed == ()
    assert len(done.left_out) == 1
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert picture(root / ".git") == repository


def test_a_written_file_keeps_its_permissions(root: Path, worktree: LocalWorktree) -> None:
    (root / "src/a.py").chmod(0o640)
    entry = _edit(worktree, root, "src/a.py", "edited\n")

    worktree.write_files(str(root), [one("src/a.py", entry)])

    assert stat.S_IMODE((root / "src/a.py").stat().st_mode) == 0o640


def test_an_unchanged_project_has_nothing_to_settle(root: Path, worktree: LocalWorktree) -> None:
    assert worktree.settle(str(root)) is None
    assert worktree.write_files(str(root), []) == Written()
    assert run_git(root, "status", "--porcelain") == b""
