"""What comes out: one document on standard output, everything for people beside it."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import tty
from pathlib import Path

import pytest

from tests.journeys.strangers.command_line.steps_a import (
    contents,
    later,
    own_script,
    previewed,
    session_of,
    started,
    timeless,
)
from tests.journeys.strangers.product import PROGRAM, Product


def on_a_terminal(product: Product, *line: str, **environment: str) -> tuple[int, bytes]:
    """Status and bytes of a call whose three streams are a terminal that nobody types on."""
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    child = subprocess.Popen(
        [PROGRAM, *line],
        cwd=product.project,
        env=product.environment | {"TERM": "xterm-256color"} | environment,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    came = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        came += part
    os.close(ours)
    return child.wait(timeout=120), came


@pytest.mark.promise("cli.one-document")
@pytest.mark.parametrize(
    "line",
    [
        ["--envelope=xml"],
        ["run", "start", "--input", '{"workflowId": [1]}', "--request-id"],
        ["session", "show", "ses_0", "--fields", ",,", "--budget", "bytes=1"],
        ["\x1b[31m", "--json"],
    ],
)
def test_a_refusal_is_one_document_and_nothing_beside_it(product: Product, line: list[str]) -> None:
    ran = product.run(*line)

    _, end = json.JSONDecoder().raw_decode(ran.out)
    assert ran.status != 0
    assert ran.out[end:] == "\n"
    assert ran.document["ok"] is False


@pytest.mark.promise("cli.one-document")
def test_broken_settings_still_give_one_document(product: Product) -> None:
    product.home.mkdir(mode=0o700)
    (product.home / "config.json").write_text("{'format': text", encoding="utf-8")

    ran = product.run("session", "list")

    assert ran.status == 4
    assert ran.document["error"]["code"] == "E_CONFIG"


@pytest.mark.promise("cli.stderr")
def test_notes_for_people_are_on_stderr_and_the_text_alone_on_stdout(product: Product) -> None:
    session = session_of(started(product))

    chosen = product.run("session", "list", "--human", "--fields", "id")
    refused = product.run("session", "show", "ses_none", "--human")

    assert session in chosen.out
    assert "selected fields" in chosen.err
    assert "selected fields" not in chosen.out
    assert refused.out == ""
    assert "ses_none" in refused.err


@pytest.mark.promise("cli.json-default")
def test_a_terminal_gets_the_same_bytes_as_a_pipe(product: Product) -> None:
    line = ("workflow", "inspect", "wr.small_change")
    product.run(*line)

    status, came = on_a_terminal(product, *line, FORCE_COLOR="1", CLICOLOR_FORCE="1", COLUMNS="20")
    piped = product.run(*line)

    took = json.loads(came)["meta"]["duration_ms"]
    theirs = piped.out.replace(
        f'"duration_ms": {piped.document["meta"]["duration_ms"]}', f'"duration_ms": {took}'
    )
    assert status == 0
    assert came == theirs.encode()


@pytest.mark.promise("cli.never-waits")
@pytest.mark.parametrize(
    "line",
    [
        ["reference", "--human"],
        ["session", "delete", "--ids", "ses_0", "--dangerous"],
        ["run", "start", "wr.small_change", "--goal", "x"],
        ["setup", "--human"],
    ],
)
def test_on_a_terminal_nobody_is_asked_and_nothing_is_opened(product: Product, line: list[str]) -> None:
    marker = product.project.parent / "opened"
    opener = own_script(product, "opener", f"#!/bin/sh\necho opened >> {marker}\ncat\n")

    status, came = on_a_terminal(
        product, *line, PAGER=opener, EDITOR=opener, VISUAL=opener, BROWSER=opener, MANPAGER=opener, LESS=""
    )

    assert status in (0, 5)
    assert came
    assert not marker.exists()


@pytest.mark.promise("cli.deterministic")
@pytest.mark.parametrize(
    "line",
    [
        ["session", "resume", "look"],
        ["workflow", "simulate", "wr.small_change"],
    ],
)
def test_the_same_call_a_minute_later_is_the_same_document(product: Product, line: list[str]) -> None:
    started(product)

    first = product.run(*line)
    second = product.run(*line, PYTHONHASHSEED="7", **later(product, 60))

    assert timeless(first) == timeless(second)


@pytest.mark.promise("cli.reads-change-nothing")
def test_reads_leave_sessions_settings_and_project_alone_even_when_a_writer_was_killed(
    product: Product,
) -> None:
    reply = started(product)
    session = session_of(reply)
    (product.home / "config.json").write_text('{ "format" : "json" }', encoding="utf-8")
    events = next((product.home / "data" / "sessions" / session).glob("events-*.jsonl"))
    with events.open("ab") as tail:
        tail.write(b'{"torn')
    watched = (product.home / "data" / "sessions", product.project)
    before = contents(*watched)

    product.run("session", "resume", "look")
    product.run("session", "show", session, "--expand", "timeline")
    product.run("run", "continue", "--state", reply["stateToken"])
    product.run("store", "verify", "--report-only")
    product.run("session", "export", session, "--salvage")
    product.run("workflow", "simulate", "--record", reply["session"]["runId"])

    assert contents(*watched) == before
    assert (product.home / "config.json").read_text(encoding="utf-8") == '{ "format" : "json" }'


@pytest.mark.promise("cli.format-spellings")
def test_json_is_another_spelling_and_two_formats_are_refused_before_anything_is_stored(
    product: Product,
) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "x", "--request-id", "k")

    same = product.run("--format=json", "context", "--json", "--json")
    both = product.run("--json", *line, "--format", "raw")
    human = product.run(*line, "--human", HANDRAIL_FORMAT="json")

    assert same.status == 0
    assert both.status == 2
    assert both.document["error"]["details"]["domain_code"] == "FORMAT_CONFLICT"
    assert human.status == 0
    assert human.out.startswith("Step:")


@pytest.mark.promise("cli.compact")
def test_compact_before_and_after_the_command_is_the_same_document_on_one_line(product: Product) -> None:
    started(product, goal="line separator \u2028 in a goal")

    wide = product.run("session", "list")
    before = product.run("--compact", "session", "list")
    after = product.run("session", "list", "--limit", "20", "--compact")

    assert timeless(before) == timeless(after) == timeless(wide)
    assert before.out.count("\n") == after.out.count("\n") == 1
    assert wide.out.count("\n") > 5


@pytest.mark.promise("cli.quiet")
def test_quiet_silences_warnings_and_notes_but_not_an_error(product: Product) -> None:
    line = ("preferences", "set", "--preset", "full_auto")
    token = previewed(product, *line)
    (product.home / "confirm-consumed").write_text("in the way", encoding="utf-8")

    loud = product.run(*line, "--confirm", token)
    quiet = product.run(
        "--quiet", *line, "--confirm", previewed(product, *line), "--human", "--fields", "autonomy"
    )
    failed = product.run("--quiet", "session", "show", "ses_none", "--human")

    assert loud.status == quiet.status == 0
    assert "could not be recorded" in loud.err
    assert quiet.out
    assert quiet.err == ""
    assert "ses_none" in failed.err


def commands_with_words(product: Product) -> list[str]:
    """Commands that take a word without a flag."""
    found = product.data("reference")["commands"]
    return [item["path"] for item in found if any(param["position"] is not None for param in item["params"])]


@pytest.mark.promise("cli.text")
def test_the_reference_of_a_command_is_text_for_people_whatever_the_command_takes(product: Product) -> None:
    paths = [*commands_with_words(product)[:3], "run start"]

    came = {path: product.run("reference", "--command", path, "--human") for path in paths}

    assert {path: ran.status for path, ran in came.items()} == dict.fromkeys(paths, 0)
    assert all(f"handrail {path}" in ran.out for path, ran in came.items())


@pytest.mark.promise("cli.text")
@pytest.mark.parametrize(
    "line",
    [
        ["doctor", "--offline"],
        ["keys", "rotate", "--dry-run"],
        ["preferences", "set", "--preset", "guided", "--dry-run"],
        ["run", "start", "wr.small_change", "--goal", "x", "--dry-run"],
    ],
)
def test_the_least_that_can_be_told_is_still_text_for_people(product: Product, line: list[str]) -> None:
    ran = product.run(*line, "--human", "--mvi", "minimal")

    assert ran.status == 0, ran.err
    assert ran.out.strip()
    assert not ran.out.lstrip().startswith("{")


@pytest.mark.promise("cli.text")
def test_the_shortest_text_of_a_step_still_says_how_to_go_on(product: Product) -> None:
    line = ("run", "start", "wr.small_change", "--goal", "x", "--request-id", "k")

    ran = product.run(*line, "--human", "--mvi", "minimal")

    assert ran.status == 0
    assert "handrail run continue --ack ak1" in ran.out


@pytest.mark.promise("cli.text")
def test_the_command_in_the_text_of_a_step_is_not_taken_before_it_is_filled_in(product: Product) -> None:
    shown = product.run("run", "start", "wr.small_change", "--goal", "x", "--request-id", "k", "--human").out
    printed = next(line for line in shown.splitlines() if "run continue --ack" in line)
    words = shlex.split(printed[printed.index("handrail ") :])

    ran = product.run(*words[1:])

    assert ran.status == 2, ran.out
    assert "placeholder" in ran.err


@pytest.mark.promise("cli.text")
def test_the_text_of_a_step_with_an_artifact_shows_the_same_call_as_the_document(product: Product) -> None:
    reply = started(product)
    line = ("run", "continue", "--ack", reply["ackToken"], "--notes", "planned")

    document = product.run(*line).document
    text = product.run(*line, "--human").out

    assert "--artifacts" in document["meta"]["notices"][0]["command"]
    assert "--artifacts" in text


@pytest.mark.promise("cli.raw")
def test_raw_is_the_bytes_themselves_and_its_trouble_leaves_stdout_empty(
    product: Product, tmp_path: Path
) -> None:
    drawing = product.data("workflow", "graph", "wr.small_change", "--as", "svg")["drawing"]

    raw = product.run("workflow", "graph", "wr.small_change", "--as", "svg", "--format", "raw")
    unknown = product.run("workflow", "graph", "wr.small_chang", "--as", "svg", "--format", "raw")
    unfit = product.run("workflow", "graph", "wr.small_change", "--format", "raw", "--budget", "bytes=1")

    assert raw.out.rstrip("\n") == drawing.rstrip("\n")
    assert raw.err == ""
    assert unknown.status == 3
    assert unknown.out == ""
    assert "wr.small_change" in unknown.err
    assert unfit.status != 0
    assert unfit.out == ""


@pytest.mark.promise("cli.utf8")
@pytest.mark.parametrize("coding", ["latin-1", "utf-16", "ascii"])
def test_both_outputs_are_plain_utf8_whatever_the_locale_says(product: Product, coding: str) -> None:
    odd = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": coding, "LANG": "de_DE.ISO-8859-1"}

    made = product.run("run", "start", "wr.small_change", "--goal", "größer 漢", "--request-id", "k", **odd)
    text = product.run("session", "list", "--human", **odd)
    wrong = product.run("session", "show", "sés", "--human", **odd)

    assert made.document["data"]["session"]["goal"] == "größer 漢"
    assert "größer 漢" in text.out
    assert "sés" in wrong.err
    assert not any(mark in stream for stream in (made.out, text.out, wrong.err) for mark in ("\ufeff", "\r"))
