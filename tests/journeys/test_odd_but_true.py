"""What is odd but true is never refused, what cannot be known is unknown, and a false word is named.

Single cases are rows of the cast (`cast_rows.jsonl`); here is what takes two steps, a reason or chance.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.host.worktree.project import commit, write
from tests.hostile.repository.checkout import run_git
from tests.journeys.doors import events_of, of_kind
from tests.journeys.given_workflows import step
from tests.journeys.workplace import CHANGE, changed
from tests.journeys.workplace import Site as Workplace

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Body: TypeAlias = dict[str, Any]
LONGEST_ROOT = 240
"""What leaves room for a name in the longest path that a report may hold."""
BILL = "def total(rows):\n    # adds, then rounds\n    return round(sum(rows), 2)\n"


class Repository(Workplace):
    """A project with a run of two steps that list changed files."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        write(self.root, ".gitignore", "build/\n*.gen\n")
        for name in ("src/bill.py", "src/old.py", "src/with space.py", "src/ä.py", "README"):
            write(self.root, name, BILL)
        commit(self.root)
        write(self.root, "build/out.js", "made\n")
        write(self.root, "draft.py", "a draft that nobody added\n")
        self.begin(step("make", **CHANGE), step("mend", **CHANGE))

    def report(self, *files: Body) -> str:
        """What is said against a report of these files; nothing where it is accepted."""
        told = self.send(changed(check="make check") | {"files": list(files)})
        return " ".join(one["message"] for one in told.get("blockers", ()))

    def changes(self) -> list[tuple[str, str]]:
        """The verdict and the fact of each file of the last report."""
        held = of_kind(events_of(self.runtime, self.reply), "evidence_recorded")[-1]["data"]["claims"]
        listed = [one for one in held if one["check"] == "changed_in_run"]
        return [(one.get("verdict", "holds"), one.get("fact", "")) for one in listed]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def entry(path: str, change: str = "modified", **more: str) -> Body:
    return {"path": path, "change": change, "why": "It had to."} | more


def edit(root: Path, name: str) -> Path:
    with (root / name).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    return root / name


Work: TypeAlias = Callable[[Path], object]


@pytest.mark.promise("evidence.unseen-leaving")
@pytest.mark.parametrize("rules", [".gitignore", ".git/info/exclude"])
def test_a_file_that_git_ignores_since_the_start_has_changed_and_is_named(
    repository: Repository, rules: str
) -> None:
    write(repository.root, rules, "build/\n*.gen\ndraft.py\n")
    edit(repository.root, "draft.py")
    edit(repository.root, "src/bill.py")

    assert "draft.py (git ignores now: draft.py)" in repository.report(entry("src/bill.py"))


@pytest.mark.promise("evidence.odd-but-true")
def test_an_absolute_path_inside_the_project_is_the_same_file(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "alias").mkdir()
    (tmp_path / "alias/project").symlink_to(repository.root)
    if len(str(tmp_path)) > LONGEST_ROOT:
        pytest.skip("absolute paths in this temporary directory are longer than a path may be")
    for name in ("src/bill.py", "README"):
        edit(repository.root, name)
    paths = (str(repository.root / "src/bill.py"), str(tmp_path / "alias/project/README"))

    assert repository.report(*map(entry, paths)) == ""
    assert repository.changes() == [("holds", "")] * 2


UNKNOWN: dict[str, tuple[Work, Body, str]] = {
    "ignored and made": (
        lambda root: write(root, "src/new.gen"),
        entry("src/new.gen", "added"),
        "src/new.gen: it is ignored, so it is not compared",
    ),
    "ignored and changed": (
        lambda root: edit(root, "build/out.js"),
        entry("build/out.js"),
        "build/out.js: it is ignored, so it is not compared",
    ),
    "an ignored folder": (
        lambda root: edit(root, "build/out.js"),
        entry("build"),
        "build: it is ignored, so it is not compared",
    ),
    "ignored and deleted": (
        lambda root: (root / "build/out.js").unlink(),
        entry("build/out.js", "deleted"),
        "build/out.js: it is ignored, so it is not compared",
    ),
    "of another repository": (
        lambda root: (run_git(root, "init", "-q", "part"), write(root, "part/a.py")),
        entry("part/a.py", "added"),
        "part/a.py: it belongs to another repository",
    ),
    "another repository": (
        lambda root: (run_git(root, "init", "-q", "part"), write(root, "part/a.py")),
        entry("part", "added"),
        "part: it belongs to another repository",
    ),
    "of the repository itself": (
        lambda root: write(root, ".git/hooks/pre-commit"),
        entry(".git/hooks/pre-commit", "added"),
        ".git/hooks/pre-commit: nobody looks there: it belongs to git, or to Handrail itself",
    ),
    "the project itself": (lambda _: None, entry("."), ". is not the path of a file"),
}


@pytest.mark.thorough
@pytest.mark.promise("evidence.unlisted")
@pytest.mark.parametrize("name", UNKNOWN)
def test_a_file_that_trees_do_not_tell_about_is_unknown_with_the_reason(
    repository: Repository, name: str
) -> None:
    work, file, reason = UNKNOWN[name]
    work(repository.root)
    edit(repository.root, "src/bill.py")

    assert repository.report(entry("src/bill.py"), file) == ""
    seen, unseen = repository.changes()
    assert (seen, unseen[0], reason in unseen[1]) == (("holds", ""), "unknown", True), unseen


@pytest.mark.promise("evidence.unlisted")
def test_a_file_over_the_limit_is_known_by_its_size_alone(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("trees", "beside"):
        monkeypatch.setattr(f"handrail.host.worktree.{module}.MOST_DIGESTED_BYTES", 1_000)
    write(repository.root, "large.bin", b"a" * 2_000)
    repository.begin(step("make", **CHANGE))
    write(repository.root, "large.bin", b"b" * 2_000)

    assert repository.report(entry("large.bin")) == ""
    ((verdict, fact),) = repository.changes()
    assert (verdict, "only its size is known" in fact) == ("unknown", True)


@pytest.mark.promise("evidence.unlisted")
def test_a_file_that_an_earlier_step_changed_and_a_later_one_took_back_is_unknown(
    repository: Repository,
) -> None:
    edit(repository.root, "src/bill.py")
    edit(repository.root, "README")
    repository.report(entry("src/bill.py"), entry("README"))
    write(repository.root, "src/bill.py", BILL)

    assert repository.report(entry("src/bill.py"), entry("README")) == ""
    assert repository.reply["isComplete"]
    assert repository.changes()[0] == (
        "unknown",
        "src/bill.py: it changed in this run and is as it was again",
    )


@pytest.mark.promise("evidence.change-word")
def test_a_file_that_an_earlier_step_added_may_be_called_modified_by_a_later_one(
    repository: Repository,
) -> None:
    write(repository.root, "src/new.py")
    repository.report(entry("src/new.py", "added"))
    edit(repository.root, "src/new.py")

    assert repository.report(entry("src/new.py", "modified")) == ""
    assert repository.reply["isComplete"]
    assert repository.changes() == [("holds", "")]


@pytest.mark.promise("evidence.change-word")
def test_a_file_that_this_step_added_is_not_modified_in_a_later_step_either(repository: Repository) -> None:
    edit(repository.root, "README")
    repository.report(entry("README"))
    write(repository.root, "src/new.py")

    told = repository.report(entry("README"), entry("src/new.py", "modified"))

    assert "src/new.py was not there before this run; it was added" in told


NAMES = ("src/bill.py", "src/old.py", "src/with space.py", "src/ä.py", "new.py", "deep/er/new.py", "draft.py")
ACTIONS = st.one_of(
    st.tuples(st.sampled_from(["edit", "delete", "commit"]), st.sampled_from(NAMES), st.just("")),
    st.tuples(st.just("rename"), st.sampled_from(NAMES), st.sampled_from(NAMES)),
)
SPELLINGS: tuple[Callable[[Path, str], str], ...] = (
    lambda _, path: path,
    lambda _, path: "./" + path,
    lambda _, path: f"`{path}`",
    lambda root, path: str(root / path),
    lambda _, path: path.replace("/", "//"),
)


def act(root: Path, action: tuple[str, str, str]) -> None:
    name, path, other = action
    if name == "edit":
        write(root, path, (root / path).read_bytes() + b"# more\n" if (root / path).exists() else b"new\n")
    elif name == "commit":
        run_git(root, "add", "-A")
        run_git(root, "commit", "-q", "--allow-empty", "-m", "more")
    elif (root / path).exists() and name == "delete":
        (root / path).unlink()
    elif (root / path).exists() and name == "rename":
        (root / other).parent.mkdir(parents=True, exist_ok=True)
        (root / path).rename(root / other)


def contents(root: Path) -> dict[str, bytes]:
    """The oracle: every file that is not ignored, read plainly."""
    files = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    every = {str(path.relative_to(root)): path.read_bytes() for path in files}
    return {path: held for path, held in every.items() if not path.startswith((".git/", "build/"))}


def compare(before: dict[str, bytes], after: dict[str, bytes]) -> dict[str, str]:
    words = {
        path: "added" if path not in before else "deleted" if path not in after else "modified"
        for path in before.keys() | after.keys()
    }
    return {path: words[path] for path in sorted(words) if before.get(path) != after.get(path)}


@pytest.mark.promise("evidence.odd-but-true")
@pytest.mark.promise("evidence.change-word")
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=st.lists(ACTIONS, max_size=8), data=st.data())
@pytest.mark.thorough
def test_whatever_was_done_the_true_list_passes_and_one_false_word_does_not(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    repository = Repository(tmp_path_factory.mktemp("any"))
    before = contents(repository.root)
    for action in [("edit", "README", ""), *actions]:
        act(repository.root, action)
    happened = compare(before, contents(repository.root))
    lie = data.draw(st.sampled_from(sorted(happened)))
    wrong = [one for one in ("added", "modified", "deleted") if one != happened[lie]]
    false = happened | {lie: data.draw(st.sampled_from(wrong))}

    refused = repository.report(*(entry(path, word) for path, word in false.items()))
    spelt = {path: data.draw(st.sampled_from(SPELLINGS))(repository.root, path) for path in happened}
    told = repository.report(*(entry(spelt[path], happened[path]) for path in happened))

    assert refused != ""
    assert (told, repository.reply["kind"]) == ("", "ok")
    assert {verdict for verdict, _ in repository.changes()} == {"holds"}
