"""Workflow files of every source, in a fixed order, and no source that stops the others."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from handrail.contract.ids import SourceKind
from handrail.contract.workflow_files import WorkflowFile
from handrail.host.workflow_library import DirectoryLibrary
from handrail.host.workflow_sources import directories
from handrail.workflows.catalog import build_catalog

WORKFLOW = (
    b'{"id": "project.w%d", "name": "W", "description": "W.", '
    b'"steps": [{"id": "a", "title": "A", "prompt": "Do it."}]}'
)


def put(directory: str, name: str, content: bytes = b"{}") -> str:
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def own(files: Sequence[WorkflowFile]) -> list[tuple[str, str, bytes]]:
    """Everything but the bundled files."""
    return [
        (file.source_kind, file.source_ref, file.content) for file in files if file.source_kind != "bundled"
    ]


@pytest.fixture
def project(tmp_path: object) -> str:
    return f"{tmp_path}/project"


@pytest.fixture
def ours(project: str) -> str:
    return os.path.join(project, ".handrail", "workflows")


def test_files_come_from_bundle_user_project_in_that_order(home: str, project: str, ours: str) -> None:
    put(os.path.join(home, "workflows"), "z.json", b"user z")
    put(ours, "b.json", b"project b")
    put(ours, "a.json", b"project a")

    files = DirectoryLibrary(home).files(project)

    assert own(files) == [
        ("user", "z.json", b"user z"),
        ("project", "a.json", b"project a"),
        ("project", "b.json", b"project b"),
    ]
    kinds = [file.source_kind for file in files]
    assert kinds == sorted(kinds, key=["bundled", "user", "project"].index)


def test_the_bundled_workflows_are_there_and_without_problems(home: str, project: str) -> None:
    catalog = build_catalog(DirectoryLibrary(home).files(project)).entries

    assert {entry.id for entry in catalog} >= {"wr.bug_investigation", "wr.code_review", "wr.small_change"}
    assert [entry.problems for entry in catalog if entry.problems] == []


def test_a_directory_that_does_not_exist_holds_nothing(home: str, project: str) -> None:
    assert own(DirectoryLibrary(home).files(project)) == []


def test_every_spelling_counts_and_markdown_only_with_an_id(home: str, project: str, ours: str) -> None:
    put(ours, "notes.md", b"# About these workflows\n")
    put(ours, "page.md", b"---\ntitle: About\n---\nid: not here\n")
    put(ours, "README.MD", b"")
    put(ours, ".hidden.yaml", b"id: project.x\n")
    put(ours, "x.json.bak")
    names = ["a.md", "b.yaml", "c.yml", "d.json", "e.md"]
    for name in names:
        put(ours, name, b"---\nname: A\nid: project.a\n---\n")
    put(ours, "e.md", b'---\r\n"id" : project.e\r\n---\r\n')

    assert [name for _, name, _ in own(DirectoryLibrary(home).files(project))] == names


NEARLY = {
    "\ufeff---\nid: a.b\n---\n## T {#t}\nU\n": "byte order mark",
    "\n---\nid: a.b\n---\n## T {#t}\nU\n": "no front matter",
    "<!-- MIT -->\n---\nid: a.b\n---\n## T {#t}\nU\n": "no front matter",
    "---\nID: a.b\nname: A\n---\n## T {#t}\nU\n": "ID",
    "---\nidd: a.b\n---\n## T {#t}\nU\n": "idd",
    "---\nname: A\n---\n## T {#t}\nU\n": "id",
    "---\n  id: a.b\n---\n##T {#t}\nU\n": "",
    "----\nid: a.b\n----\n## T {#t}\nU\n": "no front matter",
    "id: a.b\n---\n## T {#t}\nU\n": "no front matter",
    '+++\nid = "a.b"\n+++\n## T {#t}\nU\n': "no front matter",
    "---\rid: a.b\r---\r## T {#t}\rU\r": "no front matter",
}
"""Pages that somebody meant to be a workflow, and what is said of them."""


@pytest.mark.parametrize(("page", "said"), [*NEARLY.items()])
def test_page_nearly_a_workflow_is_listed_with_its_faults(
    home: str, project: str, ours: str, page: str, said: str
) -> None:
    put(ours, "a.md", page.encode())

    (entry,) = [one for one in build_catalog(DirectoryLibrary(home).files(project)).entries if one.problems]

    assert (entry.source_ref, entry.is_usable) == ("a.md", False)
    assert said in " ".join(one.message for one in entry.problems)


def test_workflows_under_other_endings_are_listed(home: str, project: str, ours: str) -> None:
    page = "---\nid: a.b\nname: A\n---\n## T {#t}\nU\n"
    put(ours, "a.MD", page.encode())
    put(ours, "b.markdown", page.encode())
    put(ours, "c.md", page.encode("utf-16"))
    put(ours, "README.markdown", b"# About\n\n## Install {#install}\n")
    put(ours, "SKILL.md", b"---\nname: x\n---\n## Use\n")

    entries = build_catalog(DirectoryLibrary(home).files(project)).entries
    told = {one.source_ref: one.problems[0] for one in entries if one.problems}

    assert {name: one.fix for name, one in told.items()} == {
        "a.MD": 'Rename it to "a.md".',
        "b.markdown": 'Rename it to "b.md".',
        "c.md": "Write it as UTF-8, without a byte order mark.",
    }
    assert told["c.md"].message.startswith("This Markdown cannot be read: this is not UTF-8")


def test_unreadable_file_is_given_empty(home: str, project: str, ours: str) -> None:
    """What is not a readable file is given empty, never left out."""
    put(ours, "fine.json", b"{}")
    os.mkdir(os.path.join(ours, "folder.json"))
    os.mkfifo(os.path.join(ours, "pipe.json"))  # opening it to read would wait for a writer
    os.symlink(os.path.join(ours, "nowhere"), os.path.join(ours, "broken.json"))

    assert own(DirectoryLibrary(home).files(project)) == [
        ("project", "broken.json", b""),
        ("project", "fine.json", b"{}"),
        ("project", "folder.json", b""),
        ("project", "pipe.json", b""),
    ]


def test_what_cannot_be_a_workflow_says_why(home: str, project: str, ours: str) -> None:
    put(ours, "flow.Yaml", b"id: project.flow\n")
    os.mkdir(os.path.join(ours, "folder.json"))
    os.symlink(os.path.join(ours, "nowhere"), os.path.join(ours, "broken.json"))
    put(ours, "empty.json", b"")

    found = [file for file in DirectoryLibrary(home).files(project) if file.source_kind != "bundled"]

    assert [(file.source_ref, file.trouble) for file in found] == [
        ("broken.json", '"broken.json" is a link that leads nowhere.'),
        ("empty.json", ""),  # what the language says about no text
        ("flow.Yaml", '"flow.Yaml" is not read: only names that end in .json, .yaml, .yml, .md are.'),
        ("folder.json", '"folder.json" is not a regular file.'),
    ]
    assert found[2].remedy == 'Rename it to "flow.yaml".'


def test_another_name_of_a_private_file_is_not_read(home: str, project: str, ours: str) -> None:
    put(ours, "open.json")
    os.symlink(put(project, ".env.json", b"a secret"), os.path.join(ours, "linked.json"))
    os.link(put(home, "keys.json", b"a secret"), os.path.join(ours, "named.json"))

    found = {file.source_ref: file for file in DirectoryLibrary(home).files(project)}

    for name in ("linked.json", "named.json"):
        assert found[name].content == b""
        assert found[name].trouble == f'"{name}" is another name of a private file.'


def test_folder_named_like_a_file_is_a_folder(home: str, project: str, ours: str) -> None:
    os.makedirs(os.path.join(ours, "old.yaml"))
    put(ours, "old.yaml/fine.json", b"{}")

    assert own(DirectoryLibrary(home).files(project)) == [("project", "old.yaml/fine.json", b"{}")]


def test_a_huge_file_is_read_just_beyond_the_limit(home: str, project: str, ours: str) -> None:
    """One byte more is enough for the reader to refuse it."""
    put(ours, "huge.json", b"x" * 1_200_000)

    (given,) = own(DirectoryLibrary(home).files(project))

    assert len(given[2]) == 1_000_001


def test_a_directory_with_too_many_files_is_cut_and_says_so(
    monkeypatch: pytest.MonkeyPatch, home: str, project: str, ours: str
) -> None:
    monkeypatch.setattr(directories, "MOST_FILES", 2)
    for name in ("c.json", "a.json", "b.json"):
        put(ours, name)

    files = [file for file in DirectoryLibrary(home).files(project) if file.source_kind == "project"]

    assert [file.source_ref for file in files] == ["a.json", "b.json", "more files"]
    assert files[-1].trouble == (
        "There are 3 workflow files in the project directory; only the first 2 are looked at."
    )


def test_directories_that_the_project_names_come_after_its_own(home: str, project: str, ours: str) -> None:
    put(ours, "z.json")
    put(os.path.join(project, "flows"), "a.json")
    put(os.path.join(project, ".handrail"), "config.json", b'{"workflowDirectories": ["flows", "../x"]}')

    files = [file for file in DirectoryLibrary(home).files(project) if file.source_kind == "project"]

    assert [file.source_ref for file in files] == [
        "z.json",
        "flows/a.json",
        ".handrail/config.json workflowDirectories[1]",
    ]


def test_contracts_of_user_and_project_are_given_too(home: str, project: str) -> None:
    put(os.path.join(home, "contracts"), "user.contracts.a.json")
    put(os.path.join(project, ".handrail", "contracts"), "project.contracts.b.json")

    held = [file for file in DirectoryLibrary(home).files(project) if file.holds == "contract"]

    assert [(file.source_kind, file.source_ref) for file in held] == [
        ("user", "user.contracts.a.json"),
        ("project", "project.contracts.b.json"),
    ]


def test_configured_sources_come_last_with_their_troubles(home: str, project: str) -> None:
    sources = b'{"workflowSources": [{"kind": "git", "path": "gone", "ref": "' + b"a" * 40 + b'"}, 3],'
    put(home, "config.json", sources + b' "plugins": ["handrail-no-such-plugin"]}')

    files = DirectoryLibrary(home, {"PATH": os.environ.get("PATH", "")}).files(project)

    assert [(file.source_kind, file.source_ref) for file in files if file.trouble] == [
        ("git", f"gone@{'a' * 12}"),
        ("plugin", "handrail-no-such-plugin"),
        ("git", "config.json workflowSources[1]"),
    ]


@pytest.mark.thorough
def test_without_sources_nothing_is_started_or_looked_up(home: str, project: str) -> None:
    """Checked in a fresh interpreter: what a listing loads is part of what it costs."""
    code = (
        "import sys; from handrail.host.workflow_library import DirectoryLibrary; "
        f"DirectoryLibrary({home!r}, {{}}).files({project!r}); "
        "print(sorted({'subprocess', 'importlib.metadata'} & set(sys.modules)))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )

    assert done.stdout.strip() == "[]"


def test_one_bad_file_among_hundreds_is_one_problem(home: str, project: str, ours: str) -> None:
    for number in range(200):
        put(ours, f"w{number}.json", WORKFLOW % number)
    put(ours, "bad.json", b"{")

    entries = build_catalog(DirectoryLibrary(home).files(project)).entries

    listed = [entry for entry in entries if entry.source_kind == "project"]
    assert len(listed) == 201
    assert [(entry.id, len(entry.problems)) for entry in listed if entry.problems] == [("bad.json", 1)]


def test_one_file_is_read_as_it_is_now_and_nothing_is_written(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / "workflows").mkdir(parents=True)
    (project / ".handrail" / "workflows").mkdir(parents=True)
    (project / ".handrail" / "workflows" / "a.json").write_bytes(b"one")
    (home / "workflows" / "b.json").write_bytes(b"two")
    (tmp_path / "outside.json").write_bytes(b"three")
    library = DirectoryLibrary(str(home))
    before = sorted(tmp_path.rglob("*"))

    asked: list[tuple[SourceKind, str]] = [
        ("project", "a.json"),
        ("user", "b.json"),
        ("project", "gone.json"),
        ("project", "../../../outside.json"),
        ("user", "../../outside.json"),
        ("git", "a.json"),
        ("plugin", "a.json"),
    ]
    now = {(kind, name): library.content_now(str(project), kind, name) for kind, name in asked}

    assert now == {
        ("project", "a.json"): b"one",
        ("user", "b.json"): b"two",
        ("project", "gone.json"): b"",
        ("project", "../../../outside.json"): None,
        ("user", "../../outside.json"): None,
        ("git", "a.json"): None,
        ("plugin", "a.json"): None,
    }
    assert sorted(tmp_path.rglob("*")) == before
