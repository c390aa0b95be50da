"""Asks jedi and rope for renames; runs in the environment that has them, and knows nothing of Handrail.

Reads `{"root", "new", "questions": [{"file", "offset", "line", "column"}]}` and prints, for each
question and each of both, the places that would change as `[file, start, end]` in characters, or why not.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import jedi
import rope.base.project
from rope.base.change import ChangeContents
from rope.refactor.rename import Rename


def main() -> None:
    asked = json.load(sys.stdin)
    root = asked["root"]
    project = jedi.Project(root)
    ropes = rope.base.project.Project(root, ropefolder=None)
    answers = []
    for question in asked["questions"]:
        answers.append(
            {
                "jedi": answer(ask_jedi, project, root, question, asked["new"]),
                "rope": answer(ask_rope, ropes, root, question, asked["new"]),
            }
        )
    ropes.close()
    json.dump(answers, sys.stdout)


def answer(ask: Any, *given: Any) -> list[list[Any]] | str:
    try:
        places: list[list[Any]] = ask(*given)
    except Exception as trouble:  # noqa: BLE001 - whatever it is, it is their answer
        return f"{type(trouble).__name__}: {trouble}"[:200]
    return sorted(places)


def ask_jedi(project: jedi.Project, root: str, question: dict[str, Any], new: str) -> list[list[Any]]:
    path = os.path.join(root, question["file"])
    script = jedi.Script(path=path, project=project)
    changed = script.rename(question["line"], question["column"], new_name=new).get_changed_files()
    places: list[list[Any]] = []
    for changed_path, change in changed.items():
        old = read(str(changed_path))
        changed_name = os.path.relpath(str(changed_path), root)
        places += find(changed_name, old, change.get_new_code(), question["name"], new)
    return places


def ask_rope(
    project: rope.base.project.Project, root: str, question: dict[str, Any], new: str
) -> list[list[Any]]:
    resource = project.get_resource(question["file"])
    changes = Rename(project, resource, question["offset"]).get_changes(new)
    places: list[list[Any]] = []
    for change in changes.changes:
        if not isinstance(change, ChangeContents):
            raise TypeError(f"it would change more than text: {type(change).__name__}")
        path = change.resource.path
        places += find(path, change.resource.read(), change.new_contents, question["name"], new)
    return places


def read(path: str) -> str:
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def find(path: str, old: str, made: str, name: str, new: str) -> list[list[Any]]:
    """Where the new name stands, told in places of the old text."""
    places: list[list[Any]] = []
    grown = len(new) - len(name)
    at = made.find(new)
    while at != -1:
        start = at - grown * len(places)
        if old[start : start + len(name)] != name:
            raise ValueError("it changes more than one name")
        places.append([path, start, start + len(name)])
        at = made.find(new, at + len(new))
    return places


if __name__ == "__main__":
    main()
