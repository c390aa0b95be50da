"""Second journeys about batches and the gate of what destroys."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.strangers.command_line.tools_b import (
    Json,
    reference,
    session_ids,
    started,
    stored,
    token_of,
)
from tests.journeys.strangers.product import PROGRAM, Product, Ran

ABSENT = "ses_aaaaaaaaaaaa"


def delete_line(*ids: str) -> tuple[str, ...]:
    return ("session", "delete", "--ids", ",".join(ids), "--dangerous")


def keys_of(value: Any) -> Any:
    """The shape of a document: its keys without its values, a list as the shape of its first item."""
    if isinstance(value, dict):
        return {key: keys_of(part) for key, part in value.items()}
    return [keys_of(part) for part in value[:1]] if isinstance(value, list) else None


def opened(product: Product, *line: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [PROGRAM, *line],
        cwd=product.project,
        env=product.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.promise("cli.batch-inputs")
def test_commas_and_repeats_mix_and_a_double_across_both_goes(product: Product) -> None:
    first, second, third = session_ids(product, 3)

    shown = product.data(
        "store",
        "copy",
        "--to",
        "other",
        "--ids",
        f"{third},{first}",
        "--ids",
        third,
        "--ids",
        second,
        "--dry-run",
    )
    as_input = product.data(
        "store",
        "copy",
        "--to",
        "other",
        "--input",
        json.dumps({"ids": [third, first, third, second]}),
        "--dry-run",
    )

    assert shown["preview"]["targets"] == [third, first, second]
    assert as_input["preview"]["targets"] == [third, first, second]


@pytest.mark.promise("cli.batch-inputs")
def test_clients_are_set_up_in_the_order_in_which_they_are_named(product: Product) -> None:
    line = ("setup", "--clients", "zed,cursor", "--clients", "zed,claude-code")

    shown = product.data(*line, "--dry-run")
    done = product.data(*line, "--confirm", shown["confirm_token"])

    assert [target for target in shown["preview"]["targets"] if target != "skill"] == [
        "zed",
        "cursor",
        "claude-code",
    ]
    assert [item["target"] for item in done["items"] if item["target"] != "skill"] == [
        "zed",
        "cursor",
        "claude-code",
    ]


@pytest.mark.promise("cli.batch-of-one")
def test_a_batch_of_one_has_every_key_that_a_batch_of_two_has(product: Product) -> None:
    one, two, three = session_ids(product, 3)
    few_line, many_line = delete_line(one), delete_line(two, three)

    few_shown, many_shown = product.data(*few_line, "--dry-run"), product.data(*many_line, "--dry-run")
    few = product.data(*few_line, "--confirm", few_shown["confirm_token"])
    many = product.data(*many_line, "--confirm", many_shown["confirm_token"])

    assert keys_of(few_shown) == keys_of(many_shown)
    assert keys_of(few) == keys_of(many)
    assert few["summary"] == {"total": 1, "succeeded": 1, "failed": 0, "skipped": 0}


@pytest.mark.promise("cli.batch-empty")
@pytest.mark.parametrize(
    "line",
    [
        ("session", "delete", "--ids", "", "--dangerous", "--dry-run"),
        ("session", "delete", "--input", '{"ids": []}', "--dangerous", "--dry-run"),
        ("store", "copy", "--to", "other", "--input", '{"ids": []}', "--dry-run"),
        ("store", "verify", "--ids", ","),
        ("store", "verify", "--input", '{"ids": []}'),
        ("setup", "--input", '{"clients": []}', "--dry-run"),
    ],
)
def test_a_list_of_no_targets_is_refused_and_never_means_all(product: Product, line: tuple[str, ...]) -> None:
    ran = product.run(*line)

    assert ran.status == 2, ran
    assert ran.document["error"]["code"] == "E_VALIDATION"


@pytest.mark.promise("cli.batch-preview")
def test_a_token_of_three_targets_is_good_for_neither_two_nor_four(product: Product) -> None:
    ids = session_ids(product, 4)
    shown = product.data(*delete_line(*ids[:3]), "--dry-run")

    fewer = product.run(*delete_line(*ids[:2]), "--confirm", shown["confirm_token"])
    more = product.run(*delete_line(*ids), "--confirm", shown["confirm_token"])
    other = product.run(
        "store", "gc", "--older-than", "1", "--dangerous", "--confirm", shown["confirm_token"]
    )

    assert shown["preview"]["total"] == 3
    assert shown["preview"]["targets"] == ids[:3]
    assert "delete" in shown["preview"]["action"]
    assert [change["id"] for change in shown["preview"]["changes"]] == ids[:3]
    assert [ran.document["error"]["code"] for ran in (fewer, more, other)] == ["E_CONFLICT"] * 3
    assert [ran.status for ran in (fewer, more, other)] == [6, 6, 6]
    assert stored(product) == set(ids)


@pytest.mark.promise("cli.batch-preview")
def test_what_the_preview_shows_as_deleted_is_what_the_confirmed_call_deletes(product: Product) -> None:
    first, last = session_ids(product, 2)
    line = delete_line(first, ABSENT, last)

    preview = product.data(*line, "--dry-run")
    product.data(*line, "--confirm", preview["confirm_token"])

    shown = {change["id"] for change in preview["preview"]["changes"] if change["action"] == "delete"}
    assert {first, last} - stored(product) == shown


@pytest.mark.promise("cli.batch-preview")
def test_the_reach_of_a_copy_counts_only_what_is_there_to_copy(product: Product) -> None:
    (only,) = session_ids(product, 1)

    preview = product.data("store", "copy", "--to", "other", "--ids", f"{only},{ABSENT}", "--dry-run")[
        "preview"
    ]

    assert [change["action"] for change in preview["changes"]] == ["create", "none"]
    assert "2 sessions" not in preview["blast_radius"]


@pytest.mark.promise("cli.batch-token")
def test_of_two_processes_with_one_token_exactly_one_does_the_batch(product: Product) -> None:
    ids = session_ids(product, 3)
    line = (*delete_line(*ids), "--confirm", token_of(product, *delete_line(*ids)))

    children = [opened(product, *line) for _ in range(2)]
    answers = [json.loads(child.communicate(timeout=60)[0]) for child in children]
    again = product.run(*line)

    won = [answer["data"] for answer in answers if answer["ok"]]
    lost = [answer["error"]["code"] for answer in answers if not answer["ok"]]
    assert len(won) == 1
    assert won[0]["summary"]["succeeded"] == 3
    assert lost == ["E_CONFLICT"]
    assert again.status == 6
    assert "--dry-run" in again.document["error"]["details"]["next_command"]
    assert stored(product) == set()


@pytest.mark.promise("cli.dangerous")
def test_the_token_without_the_word_deletes_nothing_and_still_works_with_it(product: Product) -> None:
    ids = session_ids(product, 2)
    token = token_of(product, *delete_line(*ids))

    wordless = product.run("session", "delete", "--ids", ",".join(ids), "--confirm", token)
    tokenless = product.run(*delete_line(*ids))
    left = stored(product)
    done = product.run(*delete_line(*ids), "--confirm", token)

    assert [ran.status for ran in (wordless, tokenless)] == [5, 5]
    assert wordless.document["error"]["code"] == "E_CONFIRMATION_REQUIRED"
    assert left == set(ids)
    assert done.status == 0
    assert stored(product) == set()


@pytest.mark.promise("cli.dangerous-declared")
def test_what_needs_the_word_is_exactly_what_reference_marks(product: Product) -> None:
    commands: list[Json] = reference(product)["commands"]
    marked = {command["path"] for command in commands if command["dangerous"]}
    offered = {command["path"] for command in commands if "--dangerous" in command["global_flags"]}

    refused = product.run("store", "gc", "--older-than", "1", "--dry-run")
    needless = product.run("keys", "rotate", "--dangerous", "--dry-run")

    assert marked == offered
    assert {"session delete", "store gc"} <= marked
    for command in (command for command in commands if command["dangerous"]):
        assert all("--dangerous" in line for line in command["examples"]), command["path"]
        assert command["batch"]["continue_on_error"] is False, command["path"]
    assert refused.status == 5
    assert needless.status == 2


@pytest.mark.promise("cli.batch-items")
def test_a_failed_target_says_why_and_those_around_it_stay_done(product: Product) -> None:
    first, last = session_ids(product, 2)
    line = (*delete_line(first, ABSENT, last), "--continue-on-error", "true")

    items = product.data(*line, "--confirm", token_of(product, *line))["items"]

    assert [(item["target"], item["ok"]) for item in items] == [(first, True), (ABSENT, False), (last, True)]
    assert items[1]["error"]["code"] == "E_NOT_FOUND"
    assert items[1]["error"]["retryable"] is False
    assert "error" not in items[0]
    assert stored(product) == set()


@pytest.mark.promise("cli.batch-tally")
def test_a_copy_that_half_fails_is_ok_and_counts_what_its_items_say(product: Product) -> None:
    (good,) = session_ids(product, 1)
    line = ("store", "copy", "--to", "other", "--ids", f"{ABSENT},{good},ses_bbbbbbbbbbbb")

    ran = product.run(*line, "--confirm", token_of(product, *line))

    data = ran.document["data"]
    assert ran.status == 0
    assert ran.document["ok"] is True
    assert data["summary"]["failed"] == len([item for item in data["items"] if not item["ok"]]) == 2
    assert data["summary"]["total"] == len(data["items"]) == 3


@pytest.mark.promise("cli.batch-tally")
def test_verifying_a_sound_session_and_one_that_is_not_there_is_a_batch_that_ran(product: Product) -> None:
    (sound,) = session_ids(product, 1)

    ran = product.run("store", "verify", "--ids", f"{sound},{ABSENT}")

    assert ran.document["ok"] is True, ran.document["error"]["code"]
    assert ran.document["data"]["summary"] == {"total": 2, "succeeded": 1, "failed": 1, "skipped": 0}


@pytest.mark.promise("cli.batch-none")
def test_a_batch_of_absent_targets_alone_changes_nothing_and_says_so(product: Product) -> None:
    ids = session_ids(product, 1)

    shown = product.run(*delete_line(ABSENT, "ses_bbbbbbbbbbbb"), "--dry-run")
    copied = product.run("store", "copy", "--to", "other", "--ids", ABSENT, "--dry-run")

    assert (copied.status, copied.document["ok"]) == (3, False)
    assert shown.document["data"]["preview"]["unchanged"] is True
    assert "0 of 2 named sessions" in shown.document["data"]["preview"]["blast_radius"]
    assert stored(product) == set(ids)
    assert not (product.project / "other").exists()


@pytest.mark.promise("cli.batch-stops")
def test_a_copy_goes_on_by_itself_and_stops_when_told_naming_the_rest(product: Product) -> None:
    first, last = session_ids(product, 2)
    ids = f"{first},{ABSENT},{last}"
    goes_on = ("store", "copy", "--to", "one", "--ids", ids)
    stops = ("store", "copy", "--to", "two", "--ids", ids, "--continue-on-error", "false")

    whole = product.data(*goes_on, "--confirm", token_of(product, *goes_on))
    part = product.data(*stops, "--confirm", token_of(product, *stops))

    assert [item["ok"] for item in whole["items"]] == [True, False, True]
    assert whole["skipped"] == []
    assert [item["ok"] for item in part["items"]] == [True, False]
    assert part["skipped"] == [last]
    assert part["summary"]["skipped"] == 1


@pytest.mark.promise("cli.batch-ended")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_the_second_target_is_held_tells_that_the_first_is_done(
    product: Product, how: signal.Signals
) -> None:
    runs = [started(product, f"key-{at}") for at in range(3)]
    first, second, third = (str(run["session"]["sessionId"]) for run in runs)
    copied = product.project / "other" / "data" / "sessions"
    seed = ("store", "copy", "--to", "other", "--ids", second)
    product.data(*seed, "--confirm", token_of(product, *seed))
    product.data("run", "checkpoint", "--checkpoint", runs[1]["checkpointToken"], "--notes", "one event more")
    line = ("store", "copy", "--to", "other", "--ids", f"{first},{second},{third}")
    token = token_of(product, *line)

    with Path(copied / second / "lock").open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        child = opened(product, *line, "--confirm", token)
        while not (copied / first).exists() and child.poll() is None:
            with suppress(subprocess.TimeoutExpired):
                child.wait(timeout=0.02)
        child.send_signal(how)
        out, err = child.communicate(timeout=120)

    ran = Ran(child.returncode, out.decode(), err.decode())
    assert ran.status == 130, ran
    details = ran.document["error"]["details"]
    assert ran.document["error"]["code"] == "E_INTERRUPTED"
    assert first in json.dumps(details), "what is done is named"
    assert third in json.dumps(details), "what is left is named"
    assert not (copied / third).exists()
