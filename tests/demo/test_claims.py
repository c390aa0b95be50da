"""The demo does not praise itself: each claim fails when the fact behind it is not there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from handrail.contract.json.canonical import digest
from handrail.demo.main import PLAN, count_log, play_story, show_forgotten_artifact, show_takeover
from handrail.demo.scene import Broken, LogFacts, Narrator, Scene, make_demo_environment

REPORT = {"kind": "wr.verification_report"}


class GivenScene(Scene):
    """A scene without processes: answers and logs come from lists."""

    def __init__(self, answers: list[dict[str, Any]], logs: list[LogFacts]) -> None:
        super().__init__(Narrator(lambda _: None, lambda _: None), {}, "home", "project")
        self._answers = answers
        self._logs = logs
        self.narrator.begin("a chapter")

    def call(self, *arguments: str) -> dict[str, Any]:
        return self._answers.pop(0)

    def log(self) -> LogFacts:
        return self._logs.pop(0)

    def write_workflow(self, text: str) -> None:
        pass

    def write_file(self, name: str, content: str) -> None:
        pass


def log_of(events: int, *notes: str, artifacts: tuple[dict[str, Any], ...] = ()) -> LogFacts:
    return LogFacts(
        events=events,
        head=f"{events:064x}",
        is_healthy=True,
        advances=len(notes),
        notes=Counter(notes),
        artifacts=Counter(map(digest, artifacts)),
    )


@pytest.mark.parametrize(
    ("held", "lost", "doubled"),
    [
        (log_of(9, "a", "b", artifacts=(REPORT,)), 0, 0),
        (log_of(9, "a", artifacts=(REPORT,)), 1, 0),
        (log_of(9, "a", "b"), 1, 0),
        (log_of(9, "a", "b", "b", artifacts=(REPORT,)), 0, 1),
        (log_of(9, "a", "b", artifacts=(REPORT, REPORT)), 0, 1),
    ],
)
def test_count_compares_the_log_with_what_was_sent(held: LogFacts, lost: int, doubled: int) -> None:
    scene = GivenScene([], [])
    scene.acknowledged, scene.delivered = ["a", "b"], [REPORT]

    counts = count_log(scene, held)

    assert (counts["lost"], counts["doubled"]) == (lost, doubled)


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
    scene = GivenScene([{}, again], [log_of(9), log_of(events)])

    show_takeover(scene)

    assert [passed for _, passed in scene.narrator.checks] == expected


@pytest.mark.parametrize(
    ("code", "advances", "expected"),
    [
        ("MISSING_REQUIRED_OUTPUT", (), True),
        ("INVALID_REQUIRED_OUTPUT", (), False),
        ("MISSING_REQUIRED_OUTPUT", ("a",), False),
    ],
)
def test_forgotten_artifact_must_be_missed(code: str, advances: tuple[str, ...], *, expected: bool) -> None:
    blocked: dict[str, Any] = {
        "kind": "blocked",
        "blockers": [{"code": code, "message": "It is missing."}],
        "example": {"kind": "wr.changed_files"},
        "retryAckToken": "ak1",
    }
    answers = [blocked, {"kind": "ok", "pending": {"title": "Verify"}}]
    scene = GivenScene(answers, [log_of(9), log_of(9, *advances), log_of(12)])

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
    assert Narrator(lambda _: None, lambda _: None).failed_claims() != []


def test_children_see_no_setting_of_the_user() -> None:
    given = {"PATH": "/bin", "HANDRAIL_FORMAT": "text", "PYTHONSTARTUP": "x.py"}

    assert make_demo_environment(given, "home", "project") == {
        "PATH": "/bin",
        "HANDRAIL_HOME": "home",
        "HANDRAIL_PROJECT": "project",
    }
