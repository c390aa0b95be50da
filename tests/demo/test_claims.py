"""The demo does not praise itself: each claim fails when the fact behind it is not there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from handrail.contract.json.canonical import digest
from handrail.demo.main import (
    CHANGED,
    EXPLAIN,
    FILES,
    FIX,
    LOCATE,
    PLACE,
    REPRODUCE,
    VERIFIED,
    VERIFY,
    play_story,
    show_changed_mind,
    show_forgotten_artifact,
    show_killed_calls,
    show_takeover,
    show_whole_run,
)
from handrail.demo.scene import Broken, LogFacts, Moment, Narrator, Scene
from tests.cases import every_case

ACK = "ak1" + "0" * 53
SESSION = "ses_000000000001"


def seen(
    events: int,
    *notes: str,
    advances: int | None = None,
    is_healthy: bool = True,
    artifacts: Sequence[dict[str, Any]] = (),
) -> LogFacts:
    counts = {text: notes.count(text) for text in notes}
    return LogFacts(
        events=events,
        head=f"{events:064x}",
        is_healthy=is_healthy,
        advances=len(notes) if advances is None else advances,
        notes=counts,
        artifacts=Counter(digest(artifact) for artifact in artifacts),
    )


Answer = dict[str, Any]


class GivenScene(Scene):
    """A scene without processes: answers and looks at the log come from lists."""

    def __init__(self, answers: list[Answer], looks: list[LogFacts], *acknowledged: str) -> None:
        super().__init__(Narrator(lambda _: None, lambda _: None), {}, "", "")
        self.session_id = SESSION
        self.acknowledged = list(acknowledged)
        self._answers: Iterator[Answer] = iter(answers)
        self._looks: Iterator[LogFacts] = iter(looks)

    def new_agent(self) -> None:
        pass

    def call(self, *arguments: str) -> Answer:
        self.calls += 1
        return next(self._answers)

    def write_file(self, name: str, content: str) -> None:
        assert name in (*FILES, PLACE)

    def kill(self, moment: Moment, *arguments: str) -> str:
        return "after 1 ms"

    def log(self) -> LogFacts:
        return next(self._looks)

    def verdicts(self) -> list[bool]:
        return [passed for _, passed in self.narrator.checks]


def shown(fork_count: int = 1) -> Answer:
    return {"runs": [{"graph": ["o a", "* done"], "fork_count": fork_count}]}


@every_case(
    ("log", "fork_count", "verdicts", "lost", "doubled"),
    [
        (seen(12, "one", "two"), 1, [True, True, True], 0, 0),
        (seen(8, "one"), 1, [False, True, True], 1, 0),
        (seen(16, "one", "two", "two"), 1, [True, False, True], 0, 1),
        (seen(16, "one", "two", "nobody sent this"), 1, [True, False, True], 0, 1),
        (seen(12, "one", "two", advances=3), 1, [True, False, True], 0, 1),
        (seen(12, "one", "other"), 1, [False, False, True], 1, 1),
        (seen(12, "one", "two"), 0, [True, True, False], 0, 0),
        (seen(12, "one", "two", is_healthy=False), 1, [True, True, False], 0, 0),
    ],
)
def test_the_log_is_compared_with_what_was_acknowledged(
    log: LogFacts, fork_count: int, verdicts: list[bool], lost: int, doubled: int
) -> None:
    scene = GivenScene([shown(fork_count)], [log], "one", "two")

    counts = show_whole_run(scene)

    assert scene.verdicts() == verdicts
    assert (counts["lost"], counts["doubled"], counts["steps_done"]) == (lost, doubled, 2)
    assert scene.narrator.has_passed() is all(verdicts)


@pytest.mark.parametrize(
    ("held", "verdicts", "lost", "doubled"),
    [
        ([CHANGED, VERIFIED], [True, True, True], 0, 0),
        ([CHANGED], [False, True, True], 1, 0),
        ([CHANGED, CHANGED, VERIFIED], [True, False, True], 0, 1),
        ([CHANGED, VERIFIED, {"kind": "wr.plan"}], [True, False, True], 0, 1),
    ],
)
def test_artifacts_are_compared_with_what_was_delivered(
    held: list[dict[str, Any]], verdicts: list[bool], lost: int, doubled: int
) -> None:
    scene = GivenScene([shown()], [seen(8, "one", artifacts=held)], "one")
    scene.delivered = [digest(CHANGED), digest(VERIFIED)]

    counts = show_whole_run(scene)

    assert scene.verdicts() == verdicts
    assert (counts["lost"], counts["doubled"], counts["artifacts"]) == (lost, doubled, 2)


@pytest.mark.parametrize(
    ("notes", "after", "verdicts"),
    [([REPRODUCE], 8, [True, True]), ([], 8, [False, True]), ([REPRODUCE], 9, [True, False])],
)
def test_a_recap_without_the_notes_and_a_read_that_writes_are_noticed(
    notes: list[str], after: int, verdicts: list[bool]
) -> None:
    entries = [{"title": "Reproduce", "notes": text} for text in notes]
    answers: list[Answer] = [
        {"items": [{"pendingTitle": "Locate"}]},
        {"pending": {"title": "Locate"}, "recap": {"entries": entries}},
    ]
    scene = GivenScene(answers, [seen(8), seen(after)])

    show_takeover(scene)

    assert scene.verdicts() == verdicts


@pytest.mark.parametrize(
    ("located", "explained", "verdicts"),
    [
        (seen(4, LOCATE), seen(8, LOCATE, EXPLAIN), [True, True]),
        (seen(8, LOCATE, LOCATE), seen(12, LOCATE, LOCATE, EXPLAIN), [False, True]),
        (seen(4, LOCATE), seen(12, LOCATE, EXPLAIN, advances=3), [True, False]),
        (seen(0), seen(4, EXPLAIN), [False, True]),
    ],
)
def test_a_step_that_a_repeat_doubled_or_lost_is_noticed(
    located: LogFacts, explained: LogFacts, verdicts: list[bool]
) -> None:
    looks = [seen(0), seen(0), seen(0), located, located, explained, explained]
    scene = GivenScene([({"stateToken": "st1"}), ({"ackToken": ACK})], looks)

    first = show_killed_calls(scene)

    assert scene.verdicts() == verdicts
    assert first == {"stateToken": "st1"}
    assert scene.acknowledged == [LOCATE, EXPLAIN]


def blocked(**changes: Any) -> Answer:
    """What a report without its artifact is answered with."""
    told = {
        "kind": "blocked",
        "blockers": [{"code": "MISSING_REQUIRED_OUTPUT", "message": "None came."}],
        "example": {"kind": "wr.bug_fix"},
        "nextCall": {"tool": "continue_workflow", "params": {"ackToken": ACK}},
        "retryAckToken": ACK,
    }
    return told | changes


CORRECTED = seen(12, FIX, artifacts=[CHANGED])


CAUGHT = blocked(
    blockers=[
        {
            "code": "INVALID_REQUIRED_OUTPUT",
            "message": "; ".join(f"{name} is not in the project" for name in FILES),
        }
    ]
)
BELIEVED = {"kind": "ok", "pending": {"title": "Verify"}}
STAYED = seen(8, FIX, advances=0)


@every_case(
    ("refused", "lie", "stayed", "corrected", "verdicts"),
    [
        (blocked(), CAUGHT, STAYED, CORRECTED, [True, True, True]),
        (blocked(kind="ok"), CAUGHT, STAYED, CORRECTED, [False, True, True]),
        (blocked(blockers=[]), CAUGHT, STAYED, CORRECTED, [False, True, True]),
        (blocked(example=None), CAUGHT, STAYED, CORRECTED, [False, True, True]),
        (blocked(retryAckToken=""), CAUGHT, STAYED, CORRECTED, [False, True, True]),
        (blocked(), CAUGHT, seen(8, FIX), CORRECTED, [False, True, True]),
        (blocked(), BELIEVED, STAYED, CORRECTED, [True, False, True]),
        (blocked(), blocked(), STAYED, CORRECTED, [True, False, True]),
        (blocked(), CAUGHT, STAYED, seen(12, FIX), [True, True, False]),
        (
            blocked(),
            CAUGHT,
            STAYED,
            seen(12, FIX, FIX, advances=1, artifacts=[CHANGED]),
            [True, True, False],
        ),
        (blocked(), CAUGHT, STAYED, seen(12, FIX, advances=2, artifacts=[CHANGED]), [True, True, False]),
    ],
)
def test_a_careless_answer_to_a_forgotten_or_invented_artifact_is_noticed(
    refused: Answer, lie: Answer, stayed: LogFacts, corrected: LogFacts, verdicts: list[bool]
) -> None:
    scene = GivenScene([refused, lie, BELIEVED, ({"isComplete": True})], [seen(4), stayed, STAYED, corrected])

    show_forgotten_artifact(scene)

    assert scene.verdicts() == verdicts
    assert scene.acknowledged == [FIX, VERIFY]
    assert scene.delivered == [digest(CHANGED), digest(VERIFIED)]


def test_a_step_that_is_blocked_unexpectedly_breaks_the_story() -> None:
    scene = GivenScene([({"kind": "blocked", "pending": {"title": "Verify"}})], [])

    with pytest.raises(Broken, match="'Verify' was blocked"):
        scene.finish(VERIFY, VERIFIED)

    assert (scene.acknowledged, scene.delivered) == ([], [])


@pytest.mark.parametrize(
    ("left", "is_complete", "verdicts"),
    [
        ([EXPLAIN, FIX, VERIFY], True, [True, True]),
        ([EXPLAIN, FIX], True, [False, True]),
        ([], False, [False, False]),
    ],
)
def test_a_fork_that_hides_what_was_left_is_noticed(
    left: list[str], is_complete: bool, verdicts: list[bool]
) -> None:
    forked = {"recap": {"downstream": [{"notes": notes} for notes in left]}}
    scene = GivenScene([({}), forked, ({}), ({"isComplete": is_complete})], [])

    show_changed_mind(scene, "st1")

    assert scene.verdicts() == verdicts


def test_an_answer_that_lacks_something_breaks_the_story() -> None:
    with pytest.raises(Broken, match="session"):
        play_story(GivenScene([({"pending": None})], []))


def test_nothing_claimed_is_nothing_shown() -> None:
    assert Narrator(lambda _: None, lambda _: None).has_passed() is False
