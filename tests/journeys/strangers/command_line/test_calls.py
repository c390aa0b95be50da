"""Second journeys about single calls: repeated starts, many problems at once, the ledger, bundles."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.journeys.strangers.command_line.tools_b import session_ids, started, stored, tree
from tests.journeys.strangers.product import Product


@pytest.mark.promise("start.request-id")
def test_a_repeat_with_another_goal_and_context_starts_nothing_and_gives_the_same_run(
    product: Product,
) -> None:
    first = started(product, "pr-1", "the goal")
    before = tree(product.home / "data" / "sessions")

    again = product.data("run", "start", "wr.small_change", "--goal", "the goal", "--request-id", "pr-1")
    changed = product.run(
        "run",
        "start",
        "wr.small_change",
        "--goal",
        "another",
        "--request-id",
        "pr-1",
        "--context",
        '{"scope": "x"}',
    )

    assert again["session"] == first["session"]
    assert again["ackToken"] == first["ackToken"]
    assert tree(product.home / "data" / "sessions") == before
    assert len(stored(product)) == 1
    assert changed.status == 6 or changed.document["data"]["session"]["runId"] == first["session"]["runId"]


@pytest.mark.promise("start.request-id")
def test_a_repeat_after_the_run_has_moved_on_and_was_closed_still_starts_nothing(product: Product) -> None:
    first = started(product, "pr-1")
    product.data("run", "continue", "--ack", first["ackToken"], "--notes", "Planned the change in six lines.")
    product.data("run", "close", first["session"]["runId"], "--reason", "superseded")

    again = product.data("run", "start", "wr.small_change", "--goal", "try", "--request-id", "pr-1")

    assert again["session"]["runId"] == first["session"]["runId"]
    assert len(stored(product)) == 1


@pytest.mark.promise("start.request-id")
def test_another_workflow_under_the_same_key_is_not_taken_for_the_first(product: Product) -> None:
    first = started(product, "pr-1")

    other = product.run("run", "start", "wr.code_review", "--goal", "try", "--request-id", "pr-1")

    if other.status == 0:
        assert other.document["data"]["session"]["runId"] == first["session"]["runId"]
        assert other.document["data"]["session"]["workflowId"] == "wr.small_change"
        assert other.document["data"].get("warnings") or other.document["meta"].get("notices")
    else:
        assert other.document["error"]["code"] in ("E_CONFLICT", "E_VALIDATION")
    assert len(stored(product)) == 1


@pytest.mark.promise("input.all-problems")
def test_five_faults_in_one_line_come_back_together(product: Product) -> None:
    ran = product.run(
        "session",
        "list",
        "--limit",
        "many",
        "--status",
        "done",
        "--qurey",
        "x",
        "--since",
        "yesterday",
        "extra",
    )

    problems = json.dumps(ran.document["error"]["details"]["problems"])
    assert ran.status == 2
    assert [
        word for word in ("--limit", "--status", "--qurey", "--since", "extra") if word not in problems
    ] == []


@pytest.mark.promise("input.all-problems")
def test_the_faults_of_an_input_document_and_of_the_flags_come_back_together(product: Product) -> None:
    document = json.dumps({"workflowId": 7, "goal": ["x"], "contxt": {}, "riskPolicy": "wild"})

    ran = product.run("run", "start", "--input", document, "--autonomy", "high")

    problems = json.dumps(ran.document["error"]["details"]["problems"])
    assert ran.status == 2
    assert [
        word for word in ("workflowId", "goal", "contxt", "iskPolicy", "autonomy") if word not in problems
    ] == []
    assert not product.home.exists() or stored(product) == set()


@pytest.mark.promise("input.all-problems")
@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("session delete --id {id} --dangerous --dry-run", "session delete --ids {id} --dangerous --dry-run"),
        ("sesion list", "session list"),
        ("session list --staus blocked", "session list --status blocked"),
        ("run close {id} --reson abandoned", "run close {id} --reason abandoned"),
    ],
)
def test_a_slip_of_one_letter_comes_back_with_the_whole_call_repaired(
    product: Product, wrong: str, right: str
) -> None:
    (session,) = session_ids(product, 1)

    error = product.error(*wrong.format(id=session).split())

    repaired = shlex.split(error["details"]["next_command"] or "")
    assert [word for word in repaired[1:] if word != "--compact"] == right.format(id=session).split()


@pytest.mark.promise("ledger.version")
def test_only_accepted_calls_move_the_ledger_and_only_by_one(product: Product) -> None:
    run = started(product, "a")
    run_id = run["session"]["runId"]

    def version() -> int:
        return int(product.data("ledger", "show", run_id, "--mode", "summary")["version"])

    begun = version()
    product.data("run", "continue", "--state", run["stateToken"])
    product.data("run", "continue", "--ack", run["ackToken"], "--notes", "Planned.", "--dry-run")
    product.run("run", "continue", "--ack", "ak1wrong", "--notes", "x")
    read = version()
    line = ("run", "continue", "--ack", run["ackToken"], "--notes", "Planned the change in six lines.")
    product.data(*line)
    moved = version()
    product.data(*line)

    assert (begun, read, moved, version()) == (1, 1, 2, 2)


@pytest.mark.promise("ledger.version")
def test_a_page_of_the_ledger_says_the_next_offset_only_while_there_is_more(product: Product) -> None:
    run = started(product, "a")
    product.data("run", "checkpoint", "--checkpoint", run["checkpointToken"], "--notes", "Half way.")

    first = product.data("ledger", "show", run["session"]["runId"], "--limit", "1")
    last = product.data("ledger", "show", run["session"]["runId"], "--limit", "1", "--offset", "1")

    assert first["has_more"] is True
    assert first["next_offset"] == 1
    assert last["has_more"] is False
    assert "next_offset" not in last


def exported(product: Product) -> tuple[str, Path]:
    """A session and its bundle; the session itself is deleted again."""
    (session,) = session_ids(product, 1)
    product.data("session", "export", session, "--out", "work.json")
    line = ("session", "delete", "--ids", session, "--dangerous")
    product.data(*line, "--confirm", product.data(*line, "--dry-run")["confirm_token"])
    return session, product.project / "work.json"


@pytest.mark.promise("bundle.gated")
def test_a_bundle_that_changed_after_it_was_shown_is_not_imported(product: Product) -> None:
    session, bundle = exported(product)
    whole = bundle.read_bytes()
    bare = product.run("session", "import", "work.json")
    token = product.data("session", "import", "work.json", "--dry-run")["confirm_token"]

    started(product, "other", "another goal")
    other = str(product.data("session", "list", "--query", "another")["items"][0]["id"])
    bundle.unlink()
    product.data("session", "export", other, "--out", "work.json")
    swapped = product.run("session", "import", "work.json", "--confirm", token)
    as_new = product.run("session", "import", "work.json", "--as-new", "--confirm", token)
    bundle.write_bytes(whole)
    done = product.run("session", "import", "work.json", "--confirm", token)

    assert bare.status == 5
    assert [swapped.status, as_new.status] == [6, 6]
    assert done.status == 0
    assert done.document["data"]["session_id"] == session
    assert stored(product) == {session, other}


@pytest.mark.promise("bundle.gated")
def test_an_import_whose_id_was_taken_meanwhile_is_not_made_as_something_else(product: Product) -> None:
    session, _ = exported(product)
    line = ("session", "import", "work.json")
    late = product.data(*line, "--dry-run")["confirm_token"]
    product.data(*line, "--confirm", product.data(*line, "--dry-run")["confirm_token"])

    ran = product.run(*line, "--confirm", late)

    assert ran.status == 6, ran.out
    assert stored(product) == {session}
