"""What is odd but true is never refused, what cannot be known is unknown, and a false word is named.

A real repository with every kind of file that is easy to misjudge, and a run that lists what it changed there
in every spelling that people and programs use.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.host.workspace import LocalWorkspace
from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.operations.kept_trees import SERVER_SECONDS, take_due_tree
from handrail.runtime.runtime import Runtime, TreeDue
from tests.conftest import memory_runtime
from tests.host.worktree.project import commit, write
from tests.hostile.repository.checkout import run_git
from tests.journeys.doors import events_of, of_kind, tool_call
from tests.journeys.given_workflows import give, step

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

Reply: TypeAlias = dict[str, Any]
Body: TypeAlias = dict[str, Any]
LONGEST_ROOT = 240
"""What leaves room for a name in the longest path that a report may hold."""
BILL = "def total(rows):\n    # adds, then rounds\n    return round(sum(rows), 2)\n"


class Repository:
    """A project with a run of two steps that list changed files, and one that verifies."""

    def __init__(self, place: Path) -> None:
        self.root = place / "project"
        self.root.mkdir()
        run_git(self.root, "init", "-q", ".")
        write(self.root, ".gitignore", "build/\n*.gen\n")
        for name in ("src/bill.py", "src/old.py", "src/with space.py", "src/ä.py", "README"):
            write(self.root, name, BILL)
        write(self.root, "crlf.txt", "one\r\ntwo\r\nthree is here\r\n")
        (self.root / "linked").symlink_to("src")
        commit(self.root)
        write(self.root, "build/out.js", "made\n")
        write(self.root, "draft.py", "a draft that nobody added\n")
        environment = {"HANDRAIL_PROJECT": str(self.root), "PATH": os.environ["PATH"]}
        worktree = LocalWorktree(str(place / "home"), environment)
        self.runtime: Runtime = msgspec.structs.replace(
            memory_runtime(),
            workspace=LocalWorkspace(environment),
            worktree=lambda: worktree,
            trees_due=[],
        )

    def begin(self) -> Reply:
        listing = {"output": {"contractRef": "wr.contracts.changed_files"}}
        workflow = give(self.runtime, step("make", **listing), step("mend", **listing))
        return self.settled(tool_call(self.runtime, "start_workflow", workflowId=workflow).structured)

    def settled(self, reply: Reply) -> Reply:
        """Keep the trees that are due, as a server does after its reply."""
        assert self.runtime.trees_due is not None
        due = [one for one in self.runtime.trees_due if isinstance(one, TreeDue)]
        self.runtime.trees_due.clear()
        assert {take_due_tree(self.runtime, one, SERVER_SECONDS) for one in due} <= {""}
        return reply

    def send(self, reply: Reply, *files: Body, **more: Any) -> Reply:
        checks = [{"command": "make check", "exitCode": 0, "summary": "It is fine."}]
        body = {"kind": "wr.changed_files", "files": list(files), "checks": checks} | more
        output = {"notesMarkdown": "done", "artifacts": [body]}
        token = reply["retryAckToken" if reply["kind"] == "blocked" else "ackToken"]
        sent = tool_call(self.runtime, "continue_workflow", ackToken=token, output=output)
        assert not sent.is_error, sent.text
        return self.settled(sent.structured)

    def claims(self, reply: Reply, check: str) -> list[tuple[str, str]]:
        """The verdict and the fact of each claim of the last report."""
        held = of_kind(events_of(self.runtime, reply), "evidence_recorded")[-1]["data"]["claims"]
        return [(one.get("verdict", "holds"), one.get("fact", "")) for one in held if one["check"] == check]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


def entry(path: str, change: str = "modified", **more: str) -> Body:
    return {"path": path, "change": change, "why": "It had to."} | more


def edit(root: Path, name: str) -> Path:
    with (root / name).open("a", encoding="utf-8") as file:
        file.write("# edited\n")
    return root / name


def remove(path: Path) -> Path:
    path.unlink()
    return path


def link(path: Path, target: str) -> Path:
    path.symlink_to(target)
    return path


def told(reply: Reply) -> str:
    return " ".join(one["message"] for one in reply.get("blockers", ()))


Work: TypeAlias = Callable[[Path], object]

ODD: dict[str, tuple[Work, list[Body]]] = {
    "renamed": (
        lambda root: (root / "src/old.py").rename(root / "src/new.py"),
        [entry("src/new.py", "renamed", **{"from": "src/old.py"})],
    ),
    "renamed, and something else is where it was": (
        lambda root: (
            (
                (root / "src/old.py").rename(root / "src/new.py"),
                write(root, "src/old.py", "from new import *\n"),
            )
        ),
        [entry("src/new.py", "renamed", **{"from": "src/old.py"})],
    ),
    "renamed and committed": (
        lambda root: ((root / "src/old.py").rename(root / "src/new.py"), commit(root)),
        [entry("src/new.py", "renamed", **{"from": "src/old.py"})],
    ),
    "renamed, as two entries": (
        lambda root: (root / "src/old.py").rename(root / "src/new.py"),
        [entry("src/new.py", "added"), entry("src/old.py", "deleted")],
    ),
    "deleted": (lambda root: remove(root / "src/old.py"), [entry("src/old.py", "deleted")]),
    "deleted, in quotes": (lambda root: remove(root / "src/old.py"), [entry("`src\\old.py`", "deleted")]),
    "deleted and committed": (
        lambda root: (remove(root / "src/old.py"), commit(root)),
        [entry("src/old.py", "deleted")],
    ),
    "a folder deleted": (lambda root: shutil.rmtree(root / "src"), [entry("src/", "deleted")]),
    "a file that became a folder": (
        lambda root: (remove(root / "README"), write(root, "README/index.md")),
        [entry("README", "deleted"), entry("README/index.md", "added")],
    ),
    "a space": (lambda root: edit(root, "src/with space.py"), [entry("src/with space.py")]),
    "a space, in quotes": (lambda root: edit(root, "src/with space.py"), [entry('"src/with space.py"')]),
    "in backticks": (lambda root: edit(root, "src/bill.py"), [entry("`src/bill.py`")]),
    "an umlaut": (lambda root: edit(root, "src/ä.py"), [entry("src/ä.py")]),
    "an umlaut, decomposed": (lambda root: edit(root, "src/ä.py"), [entry("src/a\u0308.py")]),
    "an umlaut, as git prints it": (lambda root: edit(root, "src/ä.py"), [entry('"src/\\303\\244.py"')]),
    "through a link": (lambda root: edit(root, "src/bill.py"), [entry("linked/bill.py")]),
    "a new link": (
        lambda root: link(root / "now", "src/bill.py"),
        [entry("now", "added")],
    ),
    "a new link that leads nowhere": (
        lambda root: link(root / "now", "later"),
        [entry("now", "added")],
    ),
    "a new link that leads out": (
        lambda root: link(root / "now", "/usr/share/nothing"),
        [entry("now", "added")],
    ),
    "a link turned elsewhere": (
        lambda root: (remove(root / "linked"), link(root / "linked", "build")),
        [entry("linked")],
    ),
    "line ends": (lambda root: edit(root, "crlf.txt"), [entry("crlf.txt")]),
    "an executable bit": (lambda root: (root / "README").chmod(0o755), [entry("README")]),
    "committed": (lambda root: (edit(root, "src/bill.py"), commit(root)), [entry("src/bill.py")]),
    "dots": (lambda root: edit(root, "src/bill.py"), [entry("./src/../src/bill.py")]),
    "backslashes": (lambda root: edit(root, "src/bill.py"), [entry("src\\bill.py")]),
    "a backslash in the name": (lambda root: write(root, "a\\b.py"), [entry("a\\b.py", "added")]),
    "a colon in the name": (lambda root: write(root, "a:3"), [entry("a:3", "added")]),
    "as a diff names it": (lambda root: edit(root, "src/bill.py"), [entry("b/src/bill.py")]),
    "a folder": (lambda root: write(root, "src/part/a.py"), [entry("src/part", "added")]),
    "an untracked file": (lambda root: edit(root, "draft.py"), [entry("draft.py")]),
    "an untracked file that is ignored now": (
        lambda root: write(root, ".gitignore", "build/\n*.gen\ndraft.py\n"),
        [entry(".gitignore"), entry("draft.py")],
    ),
    "no longer tracked": (
        lambda root: (
            (
                run_git(root, "rm", "-q", "--cached", "README"),
                write(root, ".gitignore", "build/\n*.gen\nREADME\n"),
            )
        ),
        [entry(".gitignore"), entry("README")],
    ),
}


@pytest.mark.promise("evidence.odd-but-true")
@pytest.mark.parametrize("name", ODD)
@pytest.mark.thorough
def test_what_is_odd_but_true_is_seen_and_never_refused(repository: Repository, name: str) -> None:
    work, files = ODD[name]
    first = repository.begin()
    work(repository.root)

    following = repository.send(first, *files)

    assert told(following) == ""
    assert {verdict for verdict, _ in repository.claims(following, "changed_in_run")} == {"holds"}
    assert {verdict for verdict, _ in repository.claims(following, "path_exists")} <= {"holds"}


@pytest.mark.promise("evidence.unseen-leaving")
@pytest.mark.parametrize("rules", [".gitignore", ".git/info/exclude"])
def test_a_file_that_git_ignores_since_the_start_has_changed_and_is_named(
    repository: Repository, rules: str
) -> None:
    first = repository.begin()
    write(repository.root, rules, "build/\n*.gen\ndraft.py\n")
    edit(repository.root, "draft.py")

    edit(repository.root, "src/bill.py")

    refused = repository.send(first, entry("src/bill.py"))

    assert "draft.py (git ignores now: draft.py)" in told(refused)


@pytest.mark.promise("evidence.odd-but-true")
def test_an_absolute_path_inside_the_project_is_the_same_file(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "alias").mkdir()
    (tmp_path / "alias/project").symlink_to(repository.root)
    if len(str(tmp_path)) > LONGEST_ROOT:
        pytest.skip("absolute paths in this temporary directory are longer than a path may be")
    first = repository.begin()
    for name in ("src/bill.py", "README"):
        edit(repository.root, name)

    following = repository.send(
        first, entry(str(repository.root / "src/bill.py")), entry(str(tmp_path / "alias/project/README"))
    )

    assert told(following) == ""
    assert {verdict for verdict, _ in repository.claims(following, "changed_in_run")} == {"holds"}


@pytest.mark.promise("evidence.contradicted")
@pytest.mark.parametrize("change", ["added", "modified", "deleted"])
def test_a_path_outside_the_project_is_refused_as_such(repository: Repository, change: str) -> None:
    outside = "/etc/hosts"
    first = repository.begin()
    edit(repository.root, "src/bill.py")

    blocked = repository.send(first, entry("src/bill.py"), entry(outside, change))

    assert "/files/1/path: /etc/hosts is not inside the project" in told(blocked)


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
        lambda root: remove(root / "build/out.js"),
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
    first = repository.begin()
    work(repository.root)
    edit(repository.root, "src/bill.py")

    following = repository.send(first, entry("src/bill.py"), file)

    assert told(following) == ""
    seen, unseen = repository.claims(following, "changed_in_run")
    assert (seen, unseen[0], reason in unseen[1]) == (("holds", ""), "unknown", True), unseen


@pytest.mark.promise("evidence.unlisted")
def test_a_file_over_the_limit_is_known_by_its_size_alone(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("trees", "unlisted"):
        monkeypatch.setattr(f"handrail.host.worktree.{module}.MOST_DIGESTED_BYTES", 1_000)
    write(repository.root, "large.bin", b"a" * 2_000)
    first = repository.begin()
    write(repository.root, "large.bin", b"b" * 2_000)

    following = repository.send(first, entry("large.bin"))

    ((verdict, fact),) = repository.claims(following, "changed_in_run")
    assert (told(following), verdict, "only its size is known" in fact) == ("", "unknown", True)


@pytest.mark.promise("evidence.unlisted")
def test_a_file_that_an_earlier_step_changed_and_a_later_one_took_back_is_unknown(
    repository: Repository,
) -> None:
    first = repository.begin()
    edit(repository.root, "src/bill.py")
    edit(repository.root, "README")
    second = repository.send(first, entry("src/bill.py"), entry("README"))
    write(repository.root, "src/bill.py", BILL)

    done = repository.send(second, entry("src/bill.py"), entry("README"))

    assert (done["isComplete"], repository.claims(done, "changed_in_run")[0]) == (
        True,
        ("unknown", "src/bill.py: it changed in this run and is as it was again"),
    )


FALSE: dict[str, tuple[Work, Body, str]] = {
    "added": (
        lambda root: edit(root, "src/bill.py"),
        entry("src/bill.py", "added"),
        "src/bill.py existed before this run; it was modified",
    ),
    "modified": (
        lambda root: write(root, "src/new.py"),
        entry("src/new.py"),
        "src/new.py was not there before this run; it was added",
    ),
    "deleted": (
        lambda root: edit(root, "src/bill.py"),
        entry("src/bill.py", "deleted"),
        "src/bill.py is still there; it was modified",
    ),
    "deleted, and gone": (
        lambda root: remove(root / "src/bill.py"),
        entry("src/bill.py"),
        "src/bill.py is not there any more; it was deleted",
    ),
    "renamed": (
        lambda root: shutil.copy(root / "src/bill.py", root / "src/new.py"),
        entry("src/new.py", "renamed", **{"from": "src/bill.py"}),
        "src/bill.py is still there, unchanged",
    ),
    "invented": (
        lambda root: edit(root, "README"),
        entry("src/none.py", "deleted"),
        "src/none.py did not change in this run",
    ),
    "committed": (
        lambda root: (edit(root, "src/bill.py"), commit(root)),
        entry("src/bill.py", "added"),
        "src/bill.py existed before this run; it was modified",
    ),
}


@pytest.mark.thorough
@pytest.mark.promise("evidence.change-word")
@pytest.mark.parametrize("name", FALSE)
def test_a_false_word_for_a_change_is_refused_with_what_happened(repository: Repository, name: str) -> None:
    work, file, fact = FALSE[name]
    first = repository.begin()
    work(repository.root)

    assert fact in told(repository.send(first, file))


@pytest.mark.promise("evidence.change-word")
def test_a_file_that_an_earlier_step_added_may_be_called_modified_by_a_later_one(
    repository: Repository,
) -> None:
    first = repository.begin()
    write(repository.root, "src/new.py")
    second = repository.send(first, entry("src/new.py", "added"))
    edit(repository.root, "src/new.py")

    done = repository.send(second, entry("src/new.py", "modified"))

    assert done["isComplete"] is True
    assert repository.claims(done, "changed_in_run") == [("holds", "")]


@pytest.mark.promise("evidence.change-word")
def test_a_file_that_this_step_added_is_not_modified_in_a_later_step_either(repository: Repository) -> None:
    first = repository.begin()
    edit(repository.root, "README")
    second = repository.send(first, entry("README"))
    write(repository.root, "src/new.py")

    blocked = repository.send(second, entry("README"), entry("src/new.py", "modified"))

    assert "src/new.py was not there before this run; it was added" in told(blocked)


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
        remove(root / path)
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
    first = repository.begin()
    for action in [("edit", "README", ""), *actions]:
        act(repository.root, action)
    happened = compare(before, contents(repository.root))
    lie = data.draw(st.sampled_from(sorted(happened)))
    wrong = [one for one in ("added", "modified", "deleted") if one != happened[lie]]
    false = happened | {lie: data.draw(st.sampled_from(wrong))}

    blocked = repository.send(first, *(entry(path, word) for path, word in false.items()))
    spelt = {path: data.draw(st.sampled_from(SPELLINGS))(repository.root, path) for path in happened}
    passed = repository.send(blocked, *(entry(spelt[path], happened[path]) for path in happened))

    assert blocked["kind"] == "blocked"
    assert (told(passed), passed["kind"]) == ("", "ok")
    verdicts = {verdict for verdict, _ in repository.claims(passed, "changed_in_run")}
    assert verdicts == {"holds"}
