"""The demo does not praise itself: each claim fails when the fact behind it is not there."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.demo.main import PLAN, play_story, show_forgotten_artifact, show_killed_call, show_takeover
from handrail.demo.scene import Broken, Narrator, Scene, make_demo_environment


class GivenScene(Scene):
    """A scene without processes: answers and sizes of the log come from lists."""

    def __init__(self, answers: list[dict[str, Any]], counts: list[int]) -> None:
        super().__init__(Narrator(lambda _: None), {}, "home", "project")
        self._answers = answers
        self._counts = counts
        self.narrator.begin("a chapter")

    def call(self, *arguments: str) -> dict[str, Any]:
        return self._answers.pop(0)

    def commits(self) -> list[tuple[str, int, int]]:
        return [("manifest.jsonl", self._counts.pop(0), 0)]

    def kill_report(self, notes: str) -> str:
        return "after 9 ms"

    def write_workflow(self, text: str) -> None:
        pass

    def write_file(self, name: str, content: str) -> None:
        pass


@pytest.mark.parametrize(
    ("counts", "expected"), [([9, 12, 12], True), ([9, 9, 12], False), ([9, 12, 15], False)]
)
def test_killed_call_must_store_once(counts: list[int], *, expected: bool) -> None:
    scene = GivenScene([{"kind": "ok"}], counts)

    show_killed_call(scene)

    assert [passed for _, passed in scene.narrator.checks] == [expected]


@pytest.mark.parametrize(
    ("notes", "events", "expected"),
    [(PLAN, 9, [True, True]), ("other", 9, [False, True]), (PLAN, 10, [True, False])],
)
def test_takeover_checks_notes_and_that_nothing_is_written(
    notes: str, events: int, expected: list[bool]
) -> None:
    again = {
        "recap": {"entries": [{"title": "Plan", "notes": notes}]},
        "pending": {"title": "Change"},
        "stateToken": "st1",
    }
    scene = GivenScene([{}, again], [9, events])

    show_takeover(scene)

    assert [passed for _, passed in scene.narrator.checks] == expected


@pytest.mark.parametrize(
    ("code", "expected"), [("MISSING_REQUIRED_OUTPUT", True), ("INVALID_REQUIRED_OUTPUT", False)]
)
def test_forgotten_artifact_must_be_missed(code: str, *, expected: bool) -> None:
    blocked: dict[str, Any] = {
        "kind": "blocked",
        "blockers": [{"code": code, "message": "It is missing."}],
        "example": {"kind": "wr.changed_files"},
        "retryAckToken": "ak1",
    }
    scene = GivenScene([blocked, {"kind": "ok", "pending": {"title": "Verify"}}], [])

    show_forgotten_artifact(scene)

    assert scene.narrator.checks[0][1] is expected


def test_answer_without_a_field_breaks_the_story() -> None:
    with pytest.raises(Broken, match="session"):
        play_story(GivenScene([{}], []))


def test_blocked_step_breaks_the_story() -> None:
    blocked = {"kind": "blocked", "pending": {"title": "Plan"}, "blockers": [{"message": "No."}]}

    with pytest.raises(Broken, match=r"'Plan' was blocked: No\."):
        GivenScene([blocked], []).finish("notes")


def test_story_without_claims_shows_nothing() -> None:
    assert Narrator(lambda _: None).failed_claims() != []


def test_children_see_no_setting_of_the_user() -> None:
    given = {"PATH": "/bin", "HANDRAIL_FORMAT": "text", "PYTHONSTARTUP": "x.py"}

    assert make_demo_environment(given, "home", "project") == {
        "PATH": "/bin",
        "HANDRAIL_HOME": "home",
        "HANDRAIL_PROJECT": "project",
    }
