"""What people read in text mode: aligned whatever the script, within the page, with what to do next."""

from __future__ import annotations

from typing import Any

import pytest

from handrail.contract.catalogue import E_CONFLICT, E_INTERRUPTED, E_USAGE, FIELD_UNKNOWN, WORKFLOW_NOT_FOUND
from handrail.contract.outcome import Failure, NextCall
from handrail.surfaces.cli.rendering.gate import failure_lines
from handrail.surfaces.cli.rendering.human import human_text
from handrail.surfaces.cli.rendering.text import (
    Page,
    cut,
    format_table,
    moment_text,
    repeat_line,
    size_text,
    width_of,
    wrap,
)
from tests.cases import every_case

SESSIONS = ("id", "status", "workflow_id", "goal", "last_activity")


def check_look(operation: str, payload: dict[str, Any], expected: str, **page: Any) -> None:
    assert human_text(payload, Page(**page), operation) == expected


@every_case(
    ("text", "width"),
    [("plain", 5), ("Höhe", 4), ("高さ", 4), ("e\u0301", 1), ("🙂", 2), ("ｆｕｌｌ", 8), ("", 0)],
)
def test_width_is_counted_in_columns_of_the_terminal(text: str, width: int) -> None:
    assert width_of(text) == width


@pytest.mark.parametrize(
    ("text", "room", "expected"),
    [("short", 5, "short"), ("too long", 5, "too…"), ("高さの計算", 6, "高さ…"), ("高さの", 6, "高さの")],
)
def test_what_does_not_fit_is_cut_and_says_so(text: str, room: int, expected: str) -> None:
    assert cut(text, room) == expected
    assert width_of(expected) <= room


def test_prose_is_wrapped_between_words() -> None:
    assert wrap("a bb ccc averyverylongword d", 8, "  ") == [
        "  a bb",
        "  ccc",
        "  averyverylongword",
        "  d",
    ]


def test_columns_line_up_under_wide_characters() -> None:
    assert format_table([["高さ", "x"], ["ab", "y"]]) == ["高さ  x", "ab    y"]


@every_case(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (22326, "22.3 kB"),
        (999_949, "999.9 kB"),
        (999_950, "1.0 MB"),
        (5_000_000_000, "5.0 GB"),
    ],
)
def test_sizes_are_told_in_units(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("given", "expected"),
    [("2026-11-15T10:23:36.084Z", "2026-11-15 10:23 UTC"), ("2026-11-15", "2026-11-15"), ("soon", "soon")],
)
def test_an_instant_is_told_to_the_minute(given: str, expected: str) -> None:
    assert moment_text(given) == expected


@pytest.mark.parametrize(
    ("operation", "payload", "first", "last"),
    [
        (
            "session.list",
            {"items": [], "count": 0, "scope": "1 store"},
            "No session was found.",
            "Start one: handrail run start WORKFLOW_ID --request-id KEY --human",
        ),
        (
            "session.resume",
            {"items": [], "count": 0, "scope": "0 of 0 sessions, the latest first", "project": "/p"},
            "No work to continue was found.",
            "Start one: handrail run start WORKFLOW_ID --request-id KEY --human",
        ),
    ],
)
def test_where_nothing_is_there_it_says_what_to_do(
    operation: str, payload: dict[str, Any], first: str, last: str
) -> None:
    lines = human_text(payload, Page(), operation).splitlines()

    assert (lines[0], lines[-1]) == (first, last)


def test_found_work_comes_with_the_command_that_goes_on() -> None:
    call = {"tool": "continue_workflow", "params": {"stateToken": "st1x"}}
    item = {
        "sessionId": "ses_1",
        "status": "blocked",
        "workflowId": "wr.triage",
        "goal": "Mend it",
        "pendingTitle": "Triage",
        "nextCall": call,
    }
    payload = {"items": [item], "count": 1, "project": "/p", "scope": "1 of 1 sessions, the latest first"}
    expected = """\
ses_1  Triage
  Workflow: wr.triage
  Goal:     Mend it
  Status:   blocked
  Continue: handrail run continue --state st1x --human

1 session found.
Searched: 1 of 1 sessions, the latest first.
"""

    check_look("session.resume", payload, expected)


def test_equal_lines_of_a_graph_are_counted_not_repeated() -> None:
    run = {
        "id": "run_1",
        "workflow_name": "Small change",
        "workflow_id": "wr.small_change",
        "status": "in_progress",
        "graph": ["o Plan", "x blocked, Change", "x blocked, Change", "x blocked, Change", "* Change"],
        "pending_step": "change",
        "preferences": {"autonomy": "guided", "riskPolicy": "balanced"},
        "fork_count": 0,
    }
    session = {
        "session_id": "ses_1",
        "status": "in_progress",
        "health": {"state": "healthy"},
        "event_count": 9,
        "runs": [run],
    }
    expected = """\
Session ses_1
Status: in progress
Health: healthy

Run run_1: Small change (wr.small_change), in progress
  o Plan
  x blocked, Change  (3 times)
  * Change
  Mode: guided, balanced

o step   # checkpoint   x blocked attempt   * where the run stands
As a report: handrail session export ses_1 --as markdown --human
Continue it: handrail session resume ses_1 --human
"""

    check_look("session.show", session, expected)


def test_a_doctor_says_one_line_per_check_and_the_fix_below() -> None:
    checks = [
        {"check": "python", "status": "pass", "fix": None, "message": "Python 3.13 is new enough."},
        {
            "check": "keyring",
            "status": "fail",
            "fix": "Make it private again.",
            "message": "Others can read the keyring, and so can whoever gets a copy of this disk.",
        },
        {
            "check": "skill_sync",
            "status": "warn",
            "fix": "handrail setup --dry-run --compact",
            "message": "The skill is older than this program.",
        },
    ]
    expected = """\
ok    python      Python 3.13 is new enough.
FAIL  keyring     Others can read the keyring, and so can
                  whoever gets a copy of this disk.
                  Fix: Make it private again.
warn  skill_sync  The skill is older than this program.
                  Fix: handrail setup --dry-run --human

3 checks: 1 ok, 1 warn, 1 fail.
"""

    check_look(
        "self.doctor", {"checks": checks, "summary": {"pass": 1, "warn": 1, "fail": 1}}, expected, width=60
    )


def test_preview_shows_each_change_and_the_line_that_does_it() -> None:
    preview = {
        "action": "delete sessions",
        "changes": [
            {
                "action": "delete",
                "resource": "session",
                "id": "ses_1",
                "before": {"size_bytes": 22326, "head": "c1" * 32},
                "after": None,
            },
            {
                "action": "update",
                "resource": "file",
                "id": "a.json",
                "before": None,
                "after": {"path": "/p/a.json"},
                "diff": {"path": "/p/a.json", "hunks": ["-old\n+new\n"]},
            },
            {
                "action": "none",
                "resource": "session",
                "id": "x",
                "before": None,
                "after": {"reason": "unknown"},
            },
        ],
        "unchanged": False,
        "blast_radius": "Whole histories.",
    }
    payload = {"preview": preview, "confirm_token": "ct_a.b", "expires_at": "2026-11-15T10:38:04Z"}
    expected = """\
Would delete sessions:
  delete session ses_1
      size: 22.3 kB
  update file a.json
      path: /p/a.json
      -old
      +new
  leave session x
      reason: unknown

Reach: Whole histories.
Until: 2026-11-15 10:38 UTC

To do it:
  handrail session delete --ids 'a b' --dangerous --human --confirm ct_a.b
"""
    typed = ("session", "delete", "--ids", "a b", "--dangerous", "--dry-run", "--human")

    check_look("session.delete", payload, expected, typed=typed)


def test_a_preview_of_nothing_offers_nothing_to_confirm() -> None:
    change = {"action": "none", "resource": "preferences", "id": "global", "before": {}, "after": {}}
    preview = {"action": "set preferences", "changes": [change], "unchanged": True, "blast_radius": ""}
    payload = {"preview": preview, "confirm_token": "ct_a.b", "expires_at": ""}

    check_look("preferences.set", payload, "Nothing to do: set preferences.\n  leave preferences global\n")


def test_rows_that_are_alike_are_shown_as_a_table() -> None:
    payload = {
        "total_bytes": 99047,
        "largest": [{"id": "ses_1", "bytes": 22326}, {"id": "ses_23", "bytes": 812}],
        "unlike": [{"id": "a"}, {"id": "b", "more": True}],
    }
    expected = """\
total_bytes: 99.0 kB
largest:
  ID      BYTES
  ses_1   22.3 kB
  ses_23  812 bytes
unlike:
  - id: a
  - id:   b
    more: yes
"""

    check_look("store.du", payload, expected)


def test_rows_that_do_not_fit_the_page_stand_below_each_other() -> None:
    rows = [{"id": "a" * 30, "text": "b" * 30}] * 2

    assert human_text({"rows": rows}, Page(width=60), "x").splitlines()[1].startswith("  - id:")


def test_a_list_says_everything_that_it_says_about_itself() -> None:
    payload = {"items": [{"id": "a"}], "count": 1, "banner": "Damaged.", "scope": "1 of 2", "has_more": False}

    check_look("x", payload, "ID\na\n\n1 item shown.\nbanner: Damaged.\nscope:  1 of 2\n", columns=("id",))


def failed(failure: Failure, width: int = 100) -> list[str]:
    return failure_lines(failure, "session.list", Page(width=width))


def test_refusal_names_every_problem_once_by_its_line() -> None:
    problems = [
        {"param": "--bogus", "problem": "is not a flag here", "got": None, "expected": None},
        {
            "param": "--limit",
            "problem": "has a wrong value",
            "got": "x",
            "expected": "an integer from 1 to 500",
        },
    ]
    failure = Failure(
        kind=E_USAGE,
        message="--bogus is not a flag here (1 more).",
        details={"problems": problems},
        hint="`handrail help session list` shows the words and flags.",
        next_call=NextCall(operation="session.list"),
    )

    assert failed(failure) == [
        "Error: --bogus is not a flag here (1 more).",
        '  - --limit has a wrong value ("x"); expected an integer from 1 to 500.',
        "Fix:   `handrail help session list` shows the words and flags.",
        "Next:  handrail session list --human",
        "Code:  E_USAGE",
    ]


def test_names_that_a_hint_speaks_of_are_shown() -> None:
    near = Failure(
        kind=WORKFLOW_NOT_FOUND, message="There is no workflow.", details={"did_you_mean": ["wr.a"]}
    )
    valid = Failure(kind=FIELD_UNKNOWN, message="None exists.", details={"valid": ["id", "status"]})

    assert "Near:  wr.a" in failed(near)
    assert failed(valid)[1:3] == ["Fix:   Choose from the valid names.", "Names: id, status"]


def test_a_batch_that_was_stopped_says_what_is_done() -> None:
    details = {
        "items": [{"target": "ses_1", "ok": True}],
        "summary": {"total": 1, "succeeded": 1, "failed": 0, "skipped": 1},
        "skipped": ["ses_2"],
    }
    failure = Failure(kind=E_INTERRUPTED, message="A signal ended the call.", details=details)

    assert failed(failure)[1:5] == ["ok       ses_1", "skipped  ses_2", "", "1 of 1 ok, 1 skipped."]


def test_the_line_that_shows_more_keeps_what_was_typed() -> None:
    typed = ("session", "list", "--limit", "2", "--cursor", "old", "--query", "a b")

    assert (
        repeat_line(Page(typed=typed), cursor="new")
        == "handrail session list --limit 2 --query 'a b' --cursor new"
    )
    assert repeat_line(Page(typed=("x", "--cursor=old")), cursor="new") == "handrail x --cursor new"


@pytest.mark.parametrize(
    "word", ['{"api_key":"s3cret"}', "postgres://me:s3cret@host/db", '--context={"a":"b"}']
)
def test_a_line_that_may_hold_a_secret_is_not_shown_once_more(word: str) -> None:
    typed = ("run", "start", "wr.a", "--context", word, "--dry-run")

    shown = repeat_line(Page(typed=typed), without="--dry-run", confirm="ct_a.b")

    assert shown == "the same line with --confirm ct_a.b instead of --dry-run"


def test_a_narrow_page_keeps_the_first_columns_whole() -> None:
    item = {"id": "ses_ev0cvrckeqpz", "status": "complete", "workflow_id": "wr.refactor", "goal": "A goal"}

    lines = human_text({"items": [item]}, Page(columns=SESSIONS, width=40), "session.events").splitlines()

    assert lines[:2] == [
        "ID                STATUS    WORKFLOW ID",
        "ses_ev0cvrckeqpz  complete  wr.refactor",
    ]


def test_hint_is_shown_once_without_unknown_names() -> None:
    hint = "Run the command again with --dry-run."
    used = Failure(kind=E_CONFLICT, message=f"The token was used. {hint}", hint=hint)
    unknown = Failure(kind=WORKFLOW_NOT_FOUND, message="There is no workflow.")

    assert failed(used)[:2] == ["Error: The token was used.", f"Fix:   {hint}"]
    assert failed(unknown)[1] == "Fix:   List the workflows to see which exist."


@every_case(
    ("operation", "field"),
    [("workflow.convert", "text"), ("workflow.graph", "drawing")],
)
def test_an_answer_that_is_a_text_is_shown_as_it_is(operation: str, field: str) -> None:
    check_look(operation, {field: _DIFF, "count": 1}, _DIFF)


_DIFF = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"


@every_case(
    ("payload", "expected"),
    [
        (
            {
                "differing": 2,
                "diff": _DIFF,
                "files": [{"path": "x", "note": ""}, {"path": "a.png", "note": "no text"}],
                "unknown": [{"path": ".env", "why": "it is private"}],
            },
            f"{_DIFF}a.png: no text\n.env was not compared: it is private\n\n2 files changed.\n",
        ),
        ({"differing": 0, "diff": "", "files": [], "unknown": []}, "No file differs.\n"),
        (
            {"differing": 0, "diff": "", "files": [], "unknown": [{"path": ".env", "why": "it is private"}]},
            "No other file differs.\n.env was not compared: it is private\n",
        ),
    ],
)
def test_changed_files_are_shown_as_their_diff(payload: dict[str, Any], expected: str) -> None:
    check_look("code.diff", payload, expected)


def test_rows_of_an_answer_are_a_table() -> None:
    rows = [
        {"title": "Plan", "kind": "step", "gap_count": 0, "lane": 0},
        {"title": "Build", "kind": "blocked_attempt", "gap_count": 2, "lane": 1},
    ]
    expected = """\
TITLE  KIND             GAP COUNT
Plan   step             0
Build  blocked_attempt  2

status: in progress
2 rows; --json has more of each.
"""

    check_look("run.graph", {"status": "in progress", "nodes": rows, "runs": []}, expected)
