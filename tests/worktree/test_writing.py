"""Trees that are made, kept, packed, and written into folders outside of the project."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from handrail.ports.trees import EarlierFile, GitEntry, WrittenTree
from handrail.ports.worktree import Unseen
from handrail.worktree import keeping
from handrail.worktree.git_trees import GitTrees
from tests.worktree.project import picture
from tests.worktree.repositories import commit, git_id, make_project, open_trees, run_git, take, write


def entries(trees: GitTrees, root: Path, tree: str) -> tuple[GitEntry, ...]:
    found = trees.list_entries(str(root), tree)
    assert isinstance(found, tuple), found
    return found


def write_out(trees: GitTrees, root: Path, tree: str, folder: Path, *keep: str) -> WrittenTree:
    written = trees.write_out(str(root), tree, str(folder), keep)
    assert isinstance(written, WrittenTree), written
    return written


def without_git(picture_of: dict[str, str]) -> dict[str, str]:
    return {path: digest for path, digest in picture_of.items() if not path.startswith(".git/")}


def test_tree_of_its_own_entries_is_the_same(trees: GitTrees, root: Path) -> None:
    make_project(root / "nested")
    tree = take(trees, root).tree

    assert trees.build(str(root), tuple(reversed(entries(trees, root, tree)))) == tree
    assert trees.build(str(root), ()) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_tree_of_mixed_entries_is_that_of_git(trees: GitTrees, root: Path) -> None:
    before = entries(trees, root, take(trees, root).tree)
    write(root, "src/a.py", "a = 2\n")
    write(root, "new.txt")
    after = {one.path: one for one in entries(trees, root, take(trees, root).tree)}
    mixed = [after["src/a.py"] if one.path == "src/a.py" else one for one in before]
    (root / "new.txt").unlink()

    assert trees.build(str(root), mixed) == git_id(root)


@pytest.mark.parametrize(
    "paths",
    [
        ("a", "a"),
        ("a", "a/b"),
        *(
            (odd,)
            for odd in ("../a", "a/../b", ".git/hooks/x", "a/.GIT/x", "/a", "a//b", "a/", "", ".", "git~1/x")
        ),
    ],
)
def test_tree_of_odd_entries_is_unseen(trees: GitTrees, root: Path, paths: tuple[str, ...]) -> None:
    known = entries(trees, root, take(trees, root).tree)[0]
    odd = [GitEntry(path=path, mode="100644", object_id=known.object_id) for path in paths]

    assert isinstance(trees.build(str(root), odd), Unseen)


def test_tree_of_unknown_contents_is_unseen(trees: GitTrees, root: Path) -> None:
    entry = GitEntry(path="a", mode="100644", object_id="1" * 40)

    assert trees.build(str(root), [entry]) == Unseen(reason="some contents are not on this machine")


def test_folder_holds_the_tree_and_nothing_else(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    tree = take(trees, root).tree
    folder = tmp_path / "deep/copy"

    written = write_out(trees, root, tree, folder)

    assert written == WrittenTree(files=5)
    assert picture(folder) == without_git(picture(root))
    assert os.access(folder / "run.sh", os.X_OK)
    kept = (folder / "src/b.py").stat()
    write(folder, "src/a.py", "a = 9\n")
    write(folder, "left/over.txt")
    (folder / "run.sh").unlink()
    (folder / "run.sh").symlink_to("/etc/hosts")
    write(folder, "node_modules/x")
    (folder / "away").symlink_to(root)
    write(root, "src/c/d.py", "new")

    write_out(trees, root, take(trees, root).tree, folder, "node_modules")

    assert picture(folder) == {
        **without_git(picture(root)),
        "node_modules/x": picture(folder)["node_modules/x"],
    }
    assert (folder / "src/b.py").stat() == kept
    assert not (folder / "run.sh").is_symlink()


def test_folders_and_files_change_places(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    first = take(trees, root).tree
    (root / "run.sh").unlink()
    write(root, "run.sh/inner")
    for path in (root / "src").iterdir():
        path.unlink()
    (root / "src").rmdir()
    write(root, "src")
    second = take(trees, root).tree
    folder = tmp_path / "copy"

    for tree in (first, second, first):
        write_out(trees, root, tree, folder)
        assert trees.build(str(root), entries(trees, root, tree)) == tree
        listed = {one.path for one in entries(trees, root, tree)}
        assert listed == set(picture(folder))


def test_lines_are_written_as_a_checkout_does(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    write(root, ".gitattributes", "*.txt text eol=crlf\n")
    write(root, "a.txt", "one\r\n")

    write_out(trees, root, take(trees, root).tree, tmp_path / "copy")

    assert (tmp_path / "copy/a.txt").read_bytes() == b"one\r\n"


def test_links_out_and_lost_contents_are_left_out(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    make_project(root / "nested")
    (root / "out").symlink_to("/etc/hosts")
    (root / "up").symlink_to("../other")
    (root / "deep").mkdir()
    (root / "deep/here").symlink_to("..")
    (root / "deep/sly").symlink_to("here/../elsewhere")
    write(root, "lost.txt", "lost")
    tree = take(trees, root).tree
    lost = next(one for one in entries(trees, root, tree) if one.path == "lost.txt").object_id
    next(tmp_path.glob(f"home/trees/stores/*/objects/{lost[:2]}/{lost[2:]}")).unlink()

    written = write_out(trees, root, tree, tmp_path / "copy")

    assert [one.path for one in written.left_out] == ["deep/sly", "lost.txt", "nested", "out", "up"]
    assert written.files == 6
    assert (tmp_path / "copy/deep/here").is_symlink()


def test_links_to_kept_folders_are_not_written_through(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    write(root, "modules/a.js", "new")
    tree = take(trees, root).tree
    theirs = tmp_path / "theirs"
    write(theirs, "a.js", "old")
    write_out(trees, root, take(trees, root).tree, tmp_path / "copy")
    (tmp_path / "copy/modules/a.js").unlink()
    (tmp_path / "copy/modules").rmdir()
    (tmp_path / "copy/modules").symlink_to(theirs)

    written = write_out(trees, root, tree, tmp_path / "copy", "modules")

    assert (theirs / "a.js").read_text(encoding="utf-8") == "old"
    assert [one.path for one in written.left_out] == ["modules/a.js"]


def test_folders_of_others_are_not_written(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    tree = take(trees, root).tree
    write(tmp_path, "theirs/precious.txt")

    for folder in (root, root / "below", tmp_path, tmp_path / "theirs"):
        assert isinstance(trees.write_out(str(root), tree, str(folder)), Unseen)

    assert (tmp_path / "theirs/precious.txt").exists()
    assert not (root / "below").exists()


def test_folder_that_a_killed_process_left_is_made_right(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    tree = take(trees, root).tree
    write_out(trees, root, tree, tmp_path / "copy")
    for own in tmp_path.glob("home/trees/folders/*"):
        own.write_bytes(b"")
    write(tmp_path, "copy/src/a.py", "half")
    write(tmp_path, "copy/half")

    write_out(trees, root, tree, tmp_path / "copy")

    assert picture(tmp_path / "copy") == without_git(picture(root))


def test_kept_tree_outlives_pruning(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    write(root, "new.txt", "kept")
    kept = take(trees, root).tree
    write(root, "new.txt", "not kept")
    other = take(trees, root).tree
    assert trees.keep(str(root), "run_1/n1", kept) == ""

    age_and_prune(trees, root, tmp_path)

    assert trees.has_tree(str(root), kept)
    assert not trees.has_tree(str(root), other)
    trees.drop(str(root), "run_1")
    age_and_prune(trees, root, tmp_path)
    assert not trees.has_tree(str(root), kept)


def test_broken_kept_tree_does_not_keep_others(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    write(root, "new/deep.txt", "broken")
    broken = take(trees, root).tree
    assert trees.keep(str(root), "a", broken) == ""
    for path in tmp_path.glob("home/trees/stores/*/objects/??/*"):
        if path.parent.name + path.name != broken:
            path.unlink()
    write(root, "new/deep.txt", "other")
    other = take(trees, root).tree
    write(root, "new/deep.txt", "third")
    take(trees, root)

    age_and_prune(trees, root, tmp_path)

    assert not trees.has_tree(str(root), other)


def age_and_prune(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    for path in tmp_path.glob("home/trees/stores/*/objects/??/*"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    for path in tmp_path.glob("home/trees/stores/*/pruned"):
        path.unlink()
    write(root, "src/a.py", os.urandom(4).hex())
    take(trees, root)


@pytest.mark.parametrize("name", ["", "../x", "a/../b", "/a", "a/", "-a", "a b", "a\n", "a.lock"])
def test_odd_names_keep_nothing(trees: GitTrees, root: Path, name: str) -> None:
    assert trees.keep(str(root), name, take(trees, root).tree)


def test_pack_carries_what_no_commit_has(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    write(root, "large.bin", os.urandom(500_000))
    commit(root)
    run_git(tmp_path, "clone", "-q", str(root), str(tmp_path / "clone"))
    write(root, "new.txt", "new")
    taken = take(trees, root)
    first, committed = taken.tree, f"{taken.head}^{{tree}}"
    write(root, "src/a.py", "second")
    second = take(trees, root).tree
    elsewhere = open_trees(tmp_path / "other-home")

    contents = [
        trees.pack_step(str(root), first, [committed]),
        trees.pack_step(str(root), second, [first, committed]),
    ]

    for content in contents:
        assert isinstance(content, bytes)
        assert len(content) < 10_000
        assert elsewhere.unpack(str(tmp_path / "clone"), content) == ""
    assert entries(elsewhere, tmp_path / "clone", first) == entries(trees, root, first)
    assert elsewhere.has_tree(str(tmp_path / "clone"), second)


def test_pack_that_is_none_is_refused(trees: GitTrees, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert trees.unpack(str(root), b"PACK no")
    assert isinstance(trees.pack_step(str(root), "1" * 40), Unseen)
    assert isinstance(trees.pack_step(str(root), "HEAD"), Unseen)
    write(root, "new.bin", os.urandom(2_000))
    content = trees.pack_step(str(root), take(trees, root).tree)
    assert isinstance(content, bytes)
    monkeypatch.setattr(keeping, "MOST_TREE_PACK_BYTES", 1_000)
    assert trees.unpack(str(root), content)


def test_pack_with_a_path_into_git_is_refused(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    evil = tmp_path / "evil"
    make_project(evil)
    blob = run_git(evil, "rev-parse", "HEAD:run.sh").decode().strip()
    inner = make_tree(evil, f"100644 blob {blob}\thooks\n")
    tree = make_tree(evil, f"040000 tree {inner}\t.git\n")
    content = run_git(evil, "pack-objects", "--revs", "--stdout", given=f"{tree}\n".encode())
    assert content

    assert trees.unpack(str(root), content)
    assert not trees.has_tree(str(root), tree)


def make_tree(root: Path, row: str) -> str:
    done = subprocess.run(["git", "mktree"], cwd=root, input=row.encode(), capture_output=True, check=True)
    return done.stdout.decode().strip()


def test_step_pack_is_only_what_is_new(trees: GitTrees, root: Path, tmp_path: Path) -> None:
    project = str(root)
    first = take(trees, root)
    write(root, "new.txt", "new\n")
    write(root, "large.bin", "x" * 3_000)
    second = take(trees, root)
    other = open_trees(tmp_path / "other")

    whole = trees.pack_step(project, second.tree, [f"{first.head}^{{tree}}"], 2_999)
    names = trees.pack_step(project, second.tree, [first.tree], 0)
    nothing = trees.pack_step(project, first.tree, [f"{first.head}^{{tree}}"])

    assert isinstance(whole, bytes)
    assert isinstance(names, bytes)
    assert nothing == b""
    assert other.unpack(project, names) == ""
    listed = other.list_entries(project, second.tree)
    assert isinstance(listed, tuple)
    assert [one.path for one in listed if one.size < 0] == ["large.bin", "new.txt"]
    assert other.unpack(project, whole) == ""
    assert other.read_written(project, second.tree, ["new.txt", "large.bin"]) == {"new.txt": b"new\n"}


def test_contents_are_written_as_a_checkout_does(trees: GitTrees, root: Path) -> None:
    write(root, ".gitattributes", "*.dos text eol=crlf\nlfs.bin filter=lfs\n")
    write(root, "deep/a.dos", "one\r\ntwo\r\n")
    write(root, "lfs.bin", "raw\n")
    taken = take(trees, root)

    found = trees.read_written(str(root), taken.tree, ["deep/a.dos", "link", "lfs.bin", "absent"])

    assert found == {"deep/a.dos": b"one\r\ntwo\r\n", "link": b"src/a.py", "lfs.bin": b"raw\n"}
    paths = ["deep/a.dos", "lfs.bin"]
    assert trees.find_filtered(str(root), taken.tree, paths) == {"lfs.bin"}


def test_only_committed_objects_are_those_of_the_project(trees: GitTrees, root: Path) -> None:
    write(root, "new.txt", "new\n")
    entries = trees.list_entries(str(root), take(trees, root).tree)
    assert isinstance(entries, tuple)
    ids = {one.path: one.object_id for one in entries}

    found = trees.find_committed(str(root), ids.values())

    assert ids["src/a.py"] in found
    assert ids["new.txt"] not in found


def test_tree_is_rebuilt_from_files_of_an_earlier_version(trees: GitTrees, root: Path) -> None:
    taken = take(trees, root)
    files = [
        EarlierFile(path="src/a.py", mode="file", content=b"a = 2\n"),
        EarlierFile(path="new/link", mode="link", content=b"../run.sh"),
        EarlierFile(path="lost.txt", mode="file", object_id="1" * 40),
    ]

    tree = trees.rebuild(str(root), taken.head, files, ["src/b.py"])

    write(root, "src/a.py", "a = 2\n")
    (root / "src/b.py").unlink()
    (root / "new").mkdir()
    (root / "new/link").symlink_to("../run.sh")
    assert tree == take(trees, root).tree
    odd = [EarlierFile(path="../out", mode="file", content=b"x")]
    assert isinstance(trees.rebuild(str(root), "", odd, []), Unseen)


def test_rules_of_a_tree_name_what_it_ignores(trees: GitTrees, root: Path) -> None:
    write(root, "deep/.gitignore", "*.tmp\n!kept.tmp\n/only\n")
    tree = take(trees, root).tree
    write(root, "deep/.gitignore", "")
    paths = ["a.log", "a.tmp", "deep/a.tmp", "deep/kept.tmp", "deep/only", "deep/x/only", ":(top)a.log", "*"]

    assert trees.find_ignored(str(root), tree, paths) == {"a.log", ":(top)a.log", "deep/a.tmp", "deep/only"}
    assert trees.find_ignored(str(root), "1" * 40, paths) == frozenset(paths)
