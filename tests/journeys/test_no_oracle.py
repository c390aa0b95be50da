"""No answer tells what a private file holds: a right guess and a wrong one are answered alike."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handrail.contract.credential_files import holds_credentials
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from tests.conftest import KeptIncidents
from tests.hostile.repository.checkout import run_git
from tests.journeys.given_workflows import step
from tests.journeys.interfaces import command, tool_call
from tests.worktree.project import commit, write

CANARY = "the canary sings 4711 times"
REF = "project.contracts.quoting"
CONTRACT = {
    "id": REF,
    "schema": {
        "type": "object",
        "properties": {"place": {"type": "string"}, "quote": {"type": "string"}},
        "required": ["place", "quote"],
    },
    "example": {"place": "src/other.py", "quote": "b = 2"},
    "evidence": [{"check": "place_exists", "at": "/place", "quote": "quote"}],
}
ASKED = {"output": {"contractRef": REF}}
FLOW = {"id": "project.place", "name": "Place", "description": "Looks.", "steps": [step("look", **ASKED)]}


@pytest.fixture
def owner(tmp_path: Path) -> Path:
    """The directory of a person, with everything in it, and a repository around it."""
    root = tmp_path / "owner"
    write(root, "src/a.py", "a = 1\n")
    write(root, "src/a.js", "export const a = 1;\n")
    write(root, ".env", f"TOKEN={CANARY}\n")
    run_git(root, "init", "-q", ".")
    commit(root)
    write(root, ".handrail/workflows/project.place.json", json.dumps(FLOW))
    write(root, ".handrail/contracts/project.contracts.quoting.json", json.dumps(CONTRACT))
    return root


@pytest.fixture
def rt(owner: Path) -> Runtime:
    return open_home(owner)


def open_home(owner: Path) -> Runtime:
    """The runtime of a person whose home lies in their project."""
    environment = {"HANDRAIL_PROJECT": str(owner), "PATH": os.environ["PATH"]}
    runtime = build_runtime(environment, home=str(owner / ".handrail"))
    return msgspec.structs.replace(runtime, incidents=KeptIncidents(), trees_due=[])


def plant(owner: Path) -> list[str]:
    """A canary in every file of the home, and one more of every folder; their paths in the project."""
    home = owner / ".handrail"
    for folder in {path.parent for path in home.rglob("*") if path.is_file()} | {home}:
        write(folder, "canary.json", CANARY + "\n")
    write(home, "server/token", CANARY + "\n")
    return [str(path.relative_to(owner)) for path in sorted(home.rglob("*")) if path.is_file()]


def report(path: str, quote: str) -> dict[str, Any]:
    return {"kind": "project.quoting", "place": f"{path}:1", "quote": quote}


def ask(rt: Runtime, token: str, path: str, quote: str) -> str:
    """What the agent is told about a quotation, without the words that it sent; nothing is stored."""
    words = ["run", "continue", "--ack", token, "--notes", "n", "--dry-run"]
    _, document = command(rt, *words, "--artifacts", json.dumps([report(path, quote)]))
    for name in ("meta", "_meta", "next_call", "nextCall"):
        document.pop(name, None)
    return re.sub(r"[a-z]{2}1[A-Za-z0-9_-]{20,}|sha256:[0-9a-f]+", "…", json.dumps(document)).replace(
        quote, "…"
    )


def begin(rt: Runtime) -> dict[str, Any]:
    started = tool_call(rt, "start_workflow", workflowId="project.place", context={"goal": "g"})
    assert not started.is_error, started.text
    return started.structured


def sent(private: str) -> dict[str, Any]:
    return {"notesMarkdown": "n", "artifacts": [report(private, CANARY)]}


def test_no_operation_shows_the_home_or_credentials(rt: Runtime, owner: Path) -> None:
    plant(owner)
    first = begin(rt)
    write(owner, ".env", f"TOKEN={CANARY}2\n")
    write(owner, "src/a.py", "a = 2\n")
    session = first["session"]["sessionId"]
    status, seen = command(rt, "code", "status")
    assert status == 0, seen
    lines = [
        ["code", "status", "--mvi", "full"],
        ["code", "diff", seen["data"]["node_id"]],
        ["js-scan", "--search", "canary"],
        ["js-scan", "--search", "TOKEN"],
        ["session", "show", session, "--mvi", "full"],
        ["workflow", "list"],
        ["doctor"],
    ]

    answers = [json.dumps(command(rt, *words)[1]) for words in lines]

    assert "+a = 2" in answers[1]
    unknown = [{"path": ".env", "why": "it holds credentials, which are never read", "_untrusted": ["path"]}]
    assert [json.loads(text)["data"]["unknown"] for text in answers[:2]] == [unknown] * 2
    assert [words for words, text in zip(lines, answers, strict=True) if CANARY in text] == []
    assert ".handrail" not in "".join(answers[:4])


def test_a_home_that_was_committed_is_in_no_difference(rt: Runtime, owner: Path) -> None:
    """Git has these files, and trees are git's: they are hidden where trees are compared."""
    begin(rt)
    before = command(rt, "code", "status")[1]["data"]["node_id"]
    write(owner, ".handrail/canary.txt", CANARY + "\n")
    write(owner, "src/a.py", "a = 2\n")
    run_git(owner, "add", "-f", ".handrail/canary.txt", "src/a.py")
    run_git(owner, "commit", "-q", "-m", "two")

    answers = [
        json.dumps(command(rt, *words)[1])
        for words in (
            ["code", "diff", before],
            ["code", "status", "--mvi", "full"],
            ["code", "restore", before, "--dry-run"],
        )
    ]

    assert ["src/a.py" in text for text in answers] == [True] * 3
    assert [text for text in answers if "canary" in text] == []


@pytest.mark.parametrize("below", ["", "/data", "/../.handrail", "/workflows"])
def test_project_in_the_home_is_refused_by_every_tool(rt: Runtime, owner: Path, below: str) -> None:
    named = str(owner / ".handrail") + below
    begin(rt)

    refused = tool_call(rt, "start_workflow", workflowId="project.place", project=named)
    status, document = command(rt, "js-scan", "--search", "canary", "--project", named)

    assert refused.is_error
    assert "is Handrail's own home, or lies in it" in refused.text
    assert status != 0
    assert "is Handrail's own home, or lies in it" in json.dumps(document)


@pytest.mark.thorough
def test_a_second_name_of_a_private_file_shows_nothing_of_it(tmp_path: Path) -> None:
    root, home = tmp_path / "project", tmp_path / "home"
    write(root, "src/a.js", "export const canary = 1;\n")
    run_git(root, "init", "-q", ".")
    commit(root)
    write(root, ".handrail/workflows/project.place.json", json.dumps(FLOW))
    write(root, ".handrail/contracts/project.contracts.quoting.json", json.dumps(CONTRACT))
    environment = {"HANDRAIL_PROJECT": str(root), "PATH": os.environ["PATH"]}
    rt = msgspec.structs.replace(
        build_runtime(environment, home=str(home)), incidents=KeptIncidents(), trees_due=[]
    )
    token = begin(rt)["ackToken"]
    write(home, "keys/canary.json", "export const canarySecret = 4711;\n")
    os.link(home / "keys" / "canary.json", root / "hard.js")
    os.link(root / "src" / "a.js", root / "also.js")

    found = json.dumps([command(rt, "js-scan", "--search", name)[1] for name in ("canary", "canarySecret")])
    outline = json.dumps(command(rt, "js-scan", "--outline", "hard.js"))
    right, wrong = (
        ask(rt, token, "hard.js", f"export const {name} = 4711;") for name in ("canarySecret", "a")
    )

    assert "src/a.js" in found
    assert "also.js" in found
    assert "4711" not in found + outline
    assert json.loads(found)[1]["data"]["results"] == []
    assert right == wrong


@pytest.mark.parametrize("below", [".git", ".git/refs"])
def test_a_folder_of_git_is_no_project(rt: Runtime, owner: Path, below: str) -> None:
    begin(rt)

    refused = tool_call(rt, "start_workflow", workflowId="project.place", project=str(owner / below))

    assert refused.is_error
    assert "is a folder of git, or lies in it" in refused.text


def test_credentials_that_look_like_code_are_skipped(rt: Runtime, owner: Path) -> None:
    write(owner, "src/.env.py", f'TOKEN = "{CANARY}"\n')
    begin(rt)

    for mode in ("--outline", "--deps"):
        status, document = command(rt, "js-scan", mode, "src/.env.py", "--languages", "python")

        assert status == 3
        assert document["error"]["message"] == 'The file "src/.env.py" is skipped: holds credentials.'


def test_a_link_into_the_home_is_refused_as_a_project_too(rt: Runtime, owner: Path, tmp_path: Path) -> None:
    (tmp_path / "way").symlink_to(owner / ".handrail")
    begin(rt)

    refused = tool_call(rt, "start_workflow", workflowId="project.place", project=str(tmp_path / "way"))

    assert "is Handrail's own home, or lies in it" in refused.text


def test_saved_workflow_shows_nothing_behind_a_link(rt: Runtime, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(tmp_path, "secret.json", CANARY)
    (other / ".handrail/workflows").mkdir(parents=True)
    (other / ".handrail/workflows/project.place.json").symlink_to(tmp_path / "secret.json")
    flow = FLOW | {"id": "project.other", "steps": [step("only")]}
    file = write(tmp_path, "new.json", json.dumps(flow))

    words = ["workflow", "save", str(file), "--file", "project.place.json", "--project", str(other)]
    _, document = command(rt, *words, "--dry-run")

    assert CANARY not in json.dumps(document)


@pytest.mark.parametrize(
    "path",
    [
        *(".env.local", ".git-credentials", "home/.pgpass", "id_ed25519", "deploy/id_rsa", "cert.P12"),
        *(".aws/config", ".kube/config", "me/.docker/config.json", ".config/gh/hosts.yml", ".vault-token"),
    ],
)
def test_known_credential_files_are_known_by_name(path: str) -> None:
    assert holds_credentials(path)


@pytest.mark.parametrize(
    "path", ["src/credentials.py", "id_ed25519.pub", "docker/config.json", "kube/config", "aws/main.tf"]
)
def test_likely_credentials_are_files_like_any_other(path: str) -> None:
    assert not holds_credentials(path)
