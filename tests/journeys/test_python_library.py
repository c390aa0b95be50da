"""`import handrail`: a run from start to end, what comes back, and what is raised."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import handrail
from handrail import library
from handrail.contract.catalogue import KINDS, Kind
from handrail.contract.outcome import Commits, Failure, NextCall, make_stand_in
from tests.house.page_blocks import blocks_of
from tests.house.tree import page
from tests.journeys.proved_projects import Proved

PAGE = "docs/how-to/use-from-python.md"
EXAMPLES = ["\n".join(block.lines) for block in blocks_of(page(PAGE), "python")]


@pytest.fixture
def store(tmp_path: Path) -> handrail.Handrail:
    project = tmp_path / "project"
    project.mkdir()
    return handrail.Handrail.open(str(tmp_path / "home"), project=str(project), environment={})


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_every_example_of_the_page_runs(number: int, tmp_path: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-c", EXAMPLES[number]],
        cwd=tmp_path,
        env={"HANDRAIL_HOME": str(tmp_path / "unused"), "PATH": ""},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )

    assert finished.returncode == 0, finished.stderr
    assert not (tmp_path / "unused").exists()


def test_run_goes_from_start_to_end_with_typed_replies(store: handrail.Handrail) -> None:
    reply = store.start("wr.small_change", goal="g", context={}, request_id="k", autonomy="guided")
    assert store.start("wr.small_change", goal="g", context={}, request_id="k", autonomy="guided") == reply
    assert reply.preferences is not None
    assert reply.preferences.autonomy == "guided"
    assert reply.pending is not None

    saved = store.checkpoint(reply.checkpoint_token, notes="Half way.")
    following = store.continue_(reply.ack_token, notes="Planned.")

    assert saved.pending is not None
    assert saved.pending.step_id == reply.pending.step_id
    assert following.pending is not None
    assert following.pending.step_id != reply.pending.step_id
    again = store.read_step(following.state_token)
    assert again.pending == following.pending
    assert again.recap is not None


def test_blocked_report_is_a_reply_with_a_retry_token(store: handrail.Handrail) -> None:
    planned = store.start("wr.small_change", goal="g", request_id="k")
    pending = store.continue_(planned.ack_token, notes="Planned.")

    blocked = store.continue_(pending.ack_token, notes="Done.", artifacts=[{"kind": "wr.changed_files"}])

    assert blocked.kind == "blocked"
    assert blocked.blockers
    assert blocked.retry_ack_token


def test_sessions_come_page_by_page(store: handrail.Handrail) -> None:
    for number in range(3):
        store.start("wr.small_change", goal=f"goal {number}", request_id=str(number))

    first = store.sessions(limit=2)
    rest = store.sessions(limit=2, cursor=first.next_cursor or "")

    assert (first.count, first.has_more, rest.count, rest.has_more) == (2, True, 1, False)
    assert {row.goal for row in (*first.items, *rest.items)} == {"goal 0", "goal 1", "goal 2"}
    assert store.sessions(query="goal", status="complete").items == ()


def test_resume_finds_the_run_by_its_words(store: handrail.Handrail) -> None:
    store.start("wr.small_change", goal="Correct the rounding", request_id="k")

    found = store.resume("rounding")

    assert found.matched
    assert [one.goal for one in found.items] == ["Correct the rounding"]


def test_prove_returns_the_word_of_failing_checks(tmp_path: Path) -> None:
    project = Proved(tmp_path)
    project.change({"bills.py": "def bill(parts):\n    return round(sum(parts))\n"})
    store = handrail.Handrail.open(str(project.home), project=str(project.root))

    proven = store.prove(command=[sys.executable, "-c", "raise SystemExit(1)"])

    assert isinstance(proven, handrail.ProvenChange)
    assert proven.word == "fails"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("E_USAGE", handrail.InvalidCall),
        ("E_VALIDATION", handrail.InvalidCall),
        ("E_NOT_FOUND", handrail.NotFound),
        ("E_CONFIG", handrail.NotAllowed),
        ("E_CONFIRMATION_REQUIRED", handrail.ConfirmationNeeded),
        ("E_CONFLICT", handrail.Conflict),
        ("E_SERVER", handrail.Unavailable),
        ("E_TIMEOUT", handrail.Unavailable),
        ("E_INTERRUPTED", handrail.Unavailable),
        ("E_HUMAN_REQUIRED", handrail.PersonNeeded),
        ("E_IO", handrail.OperationFailed),
    ],
)
def test_failure_raises_the_exception_of_its_group(
    code: str, kind: type[handrail.OperationFailed], store: handrail.Handrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    _answer_with(monkeypatch, Failure(kind=KINDS[code], message="It did not work."))

    for call in (lambda: store.start("wr.small_change"), lambda: store.call("workflow.list")):
        with pytest.raises(handrail.OperationFailed) as raised:
            call()
        assert type(raised.value) is kind
        assert raised.value.code == code


def test_exceptions_of_retryable_kinds_say_so() -> None:
    def raised(kind: Kind) -> handrail.OperationFailed:
        return handrail.Unavailable(Failure(kind=kind, message="It did not work."))

    assert raised(KINDS["E_TIMEOUT"]).is_retryable
    assert not raised(KINDS["E_IO"]).is_retryable


def test_reply_that_was_not_built_names_the_call_that_reads_it(
    store: handrail.Handrail, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits = Commits()
    commits.note(NextCall(operation="session.show", params={"sessionId": "ses_1"}))
    _answer_with(monkeypatch, make_stand_in(commits))

    with pytest.raises(handrail.ReplyNotBuilt, match="Do not repeat") as raised:
        store.start("wr.small_change")

    assert (raised.value.operation, raised.value.params) == ("session.show", {"sessionId": "ses_1"})


def test_every_typed_call_says_what_it_returns() -> None:
    calls = [name for name in vars(handrail.Handrail) if not name.startswith("_")]

    untyped = [
        name
        for name in calls
        if callable(getattr(handrail.Handrail, name))
        and get_type_hints(getattr(handrail.Handrail, name))["return"] is Any
    ]

    assert untyped == ["call"]
    assert (Path(library.__file__).parent / "py.typed").exists()


def _answer_with(monkeypatch: pytest.MonkeyPatch, outcome: object) -> None:
    monkeypatch.setattr(library, "perform", lambda *_: outcome)
