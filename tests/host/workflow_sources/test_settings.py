"""Where the config files say that workflows are: what is taken, and what is refused with a reason."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from handrail.host.workflow_sources.directories import GitSource, read_project_settings, read_user_settings

COMMIT = "a" * 40


def write(directory: str, value: Any) -> str:
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    return directory


def git(**more: Any) -> dict[str, Any]:
    return {"kind": "git", "path": "/repo", "ref": COMMIT, **more}


def test_without_a_file_there_is_nothing_to_say(home: str) -> None:
    assert read_user_settings(home) == read_user_settings(home + "/other")
    assert read_user_settings(home).troubles == ()
    assert read_project_settings(home).troubles == ()


def test_keys_of_others_are_left_alone(home: str) -> None:
    write(home, {"theme": "dark", "workflowSources": []})

    assert read_user_settings(home).troubles == ()


def test_a_broken_file_is_told_and_stops_nothing_else(home: str) -> None:
    write(home, "{")

    (trouble,) = read_user_settings(home).troubles

    assert trouble.source_ref == "config.json"
    assert trouble.trouble.startswith("config.json cannot be read")
    assert trouble.remedy == "Correct the file; the other workflows are not affected."


def test_git_sources_and_plugins_are_read(home: str) -> None:
    named = {"wr.": "workrail.", "": "workrail"}
    other = {"kind": "git", "url": "https://example.org/r.git", "ref": "b" * 64}
    sources = [git(directory="flows/", namespaces=named), other]
    write(home, {"workflowSources": sources, "plugins": ["acme", 3, ""]})

    found = read_user_settings(home)

    assert found.git == (
        GitSource(path="/repo", ref=COMMIT, directory="flows", namespaces={"wr": "workrail", "": "workrail"}),
        GitSource(url="https://example.org/r.git", ref="b" * 64),
    )
    assert found.plugins == ("acme",)
    assert found.troubles == ()


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (3, "is not a source of the kind git"),
        ({"kind": "svn"}, "is not a source of the kind git"),
        (git(path=3), "has a value that is not a text"),
        (git(path="a\0b"), "has a value that is not a text"),
        (git(url="https://example.org"), "needs either a path or a url"),
        (git(path=""), "needs either a path or a url"),
        (git(path="--upload-pack=x"), "begins with a hyphen"),
        (git(ref="main"), "is not pinned"),
        (git(ref=COMMIT[:12]), "is not pinned"),
        (git(ref=COMMIT.upper()), "is not pinned"),
        (git(directory="../other"), "has a directory that leads elsewhere"),
        (git(directory="a//b"), "has a directory that leads elsewhere"),
        (git(namespaces=["wr"]), "has namespaces that cannot be used"),
        (git(namespaces={"theirs": "wr."}), "has namespaces that cannot be used"),
        (git(namespaces={"wr": "two.words"}), "has namespaces that cannot be used"),
    ],
)
def test_a_git_source_that_cannot_be_used_is_told_in_its_place(home: str, source: Any, words: str) -> None:
    write(home, {"workflowSources": [git(), source]})

    found = read_user_settings(home)

    assert len(found.git) == 1
    assert [file.source_ref for file in found.troubles] == ["config.json workflowSources[1]"]
    assert words in found.troubles[0].trouble


def test_directories_of_a_project_are_relative_to_it(home: str) -> None:
    write(os.path.join(home, ".handrail"), {"workflowDirectories": ["flows", "./flows/", "team/flows"]})
    os.makedirs(os.path.join(home, "flows"))
    os.makedirs(os.path.join(home, "team", "flows"))

    assert read_project_settings(home).directories == ("flows", "team/flows")


@pytest.mark.parametrize("name", ["/etc", "../other", "link", "a/../../x", 3])
def test_a_project_never_reaches_out_of_its_directory(home: str, name: Any) -> None:
    write(os.path.join(home, ".handrail"), {"workflowDirectories": [name]})
    os.symlink("/", os.path.join(home, "link"))

    found = read_project_settings(home)

    assert found.directories == ()
    assert [file.source_ref for file in found.troubles] == [".handrail/config.json workflowDirectories[0]"]
    assert found.troubles[0].remedy == "Write a directory inside the project, relative to it."
