"""The agent and the calls it makes: what it remembers, what a kill leaves, what the children see."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from handrail.demo.scene import Broken, Narrator, Scene, make_demo_environment, read_tokens
from tests.cases import every_case


@every_case(
    ("out", "expected"),
    [
        (
            b'{"data":{"nextCall":{"params":{"ackToken":"ak1a"}},"ackToken":"ak1b","stateToken":"st1a"}}',
            {"ackToken": "ak1a", "stateToken": "st1a"},
        ),
        (b'{"items":[{"params":{"stateToken":"st1b"}},{"stateToken":"st1c"}]}', {"stateToken": "st1b"}),
        (b'{"stateToken":"st1a","ackToken":""}', {"stateToken": "st1a"}),
        (b'{"kind":"blocked","retryAckToken":"ak1c"}', {"retryAckToken": "ak1c"}),
        (b'{"ok":false,"error":{}}', {}),
        (b"", {}),
    ],
)
def test_an_agent_remembers_the_tokens_of_an_answer(out: bytes, expected: dict[str, str]) -> None:
    assert read_tokens(out) == expected


def test_children_see_the_scratch_directory_and_no_other_setting() -> None:
    environment = {"PATH": "/bin", "HANDRAIL_FORMAT": "text", "AI_NATIVE_CLI_SECRET": "s" * 32}

    assert make_demo_environment(environment, "/h", "/p") == {
        "PATH": "/bin",
        "HANDRAIL_HOME": "/h",
        "HANDRAIL_PROJECT": "/p",
    }


def scene_in(tmp_path: Path, home: str) -> Scene:
    narrator = Narrator(lambda _: None, lambda _: None)
    narrator.begin("One chapter")
    return Scene(narrator, make_demo_environment(os.environ, home, str(tmp_path)), home, str(tmp_path))


@pytest.mark.thorough
def test_a_call_gives_its_answer_and_one_that_fails_breaks_the_story(tmp_path: Path, home: str) -> None:
    scene = scene_in(tmp_path, home)

    assert scene.call("session", "list")["items"] == []
    with pytest.raises(Broken, match="run continue failed: "):
        scene.call("run", "continue", "--ack", "@ack")
    assert scene.calls == 2


def test_a_killed_call_has_no_answer(tmp_path: Path, home: str) -> None:
    """Even one that has nothing to write but its answer cannot end before it is killed."""
    scene = scene_in(tmp_path, home)

    assert scene.kill("at_once", "--version").startswith("after ")
    assert scene.kills == 1


def test_the_children_run_this_interpreter(tmp_path: Path, home: str) -> None:
    """A module of the same name in the working directory is not taken for the package."""
    (tmp_path / "handrail.py").write_text("raise SystemExit(3)", encoding="utf-8")

    assert scene_in(tmp_path, home).call("changelog")["count"] == 0
