"""`handrail demo`: a whole run in a scratch directory, with real processes, a real kill and checked claims.

The story: a run survives a lost chat, a forgotten artifact, a killed process and a change of mind.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from handrail.contract.catalogue import E_INTEGRITY, E_INTERRUPTED, E_IO, E_VALIDATION
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success
from handrail.contract.wording import quote
from handrail.demo.scene import Broken, Narrator, Scene, make_demo_environment

# The reports of the scripted agent: notes, and the artifacts that steps require

WORKFLOW = "project.half_a_cent"
WORKFLOW_TEXT = """---
id: project.half_a_cent
kind: workflow
name: Half a cent
description: Plan, make and verify one small change.
---

## Plan the change {#plan}

Read the code, and name the files that change.

## Make the change {#change}

```step
output:
  contractRef: wr.contracts.changed_files
```

Change the files, and say why.

## Verify the change {#verify}

Check the result as a user would.
"""
"""A workflow of the demo's own, as a user writes one: others may change without breaking the story."""
GOAL = "Totals round half a cent up"
PLAN = "till.py rounds; test_till.py gets a test of 2.675."
CHANGE = "Replaced round() by our own; test_half_cent passes."
VERIFY = "Our own rounding: the bill is right."
CHANGE_AGAIN = "Prices are Decimal; test_half_cent failed before and passes now."
VERIFY_AGAIN = "Decimal prices: the bill is right."
FILES = {
    "till.py": "def total(prices):\n    return round(sum(prices) + 1e-9, 2)\n",
    "test_till.py": "from till import total\n\n\ndef test_half_cent():\n    assert total([2.675]) == 2.68\n",
}
"""What the agent writes."""
GRAPH = [
    "o Plan the change",
    "o Make the change",
    "|\\ x blocked, Make the change",
    "|  o Verify the change",
    "|  o done",
    "o Verify the change",
    "* done",
]
"""The run as it must be drawn: each report once, and the branch that was left."""


def changed_files(why: str) -> dict[str, Any]:
    """Return the artifact of the second step."""
    return {"kind": "wr.changed_files", "why": why}


# The chapters


def play_story(scene: Scene) -> list[str]:
    """Play everything and return the graph of the run.

    Raises Broken if a call does not do what it always does.
    """
    try:
        show_start(scene)
        old_state = show_takeover(scene)
        show_forgotten_artifact(scene)
        show_killed_call(scene)
        show_changed_mind(scene, old_state)
        return show_whole_run(scene)
    except LookupError as missing:
        raise Broken(f"an answer lacks {missing}") from missing


def show_start(scene: Scene) -> None:
    """Start a run, and finish its first step."""
    narrator = scene.narrator
    narrator.begin("An agent starts a workflow")
    scene.write_workflow(WORKFLOW_TEXT)
    started = scene.call("run", "start", WORKFLOW, "--goal", GOAL, "--request-id", "demo")
    scene.session_id = started["session"]["sessionId"]
    narrator.write("It gets one step, and a signed token for the next call:")
    narrator.row("step", started["pending"]["title"])
    narrator.row("token", started["ackToken"])
    narrator.write("It does the step and reports it with that token:")
    narrator.row("step", scene.finish(PLAN)["pending"]["title"])


def show_takeover(scene: Scene) -> str:
    """Let an agent take over that knows only the session id; return the token of the pending step."""
    narrator = scene.narrator
    narrator.begin("The chat is lost: an agent that knows only the session id takes over")
    scene.forget_tokens()
    before = scene.commits()
    scene.call("session", "resume", scene.session_id)
    again = scene.call("run", "continue", "--state", "@state")
    entries = again.get("recap", {}).get("entries", [])
    for entry in entries:
        narrator.row("done", f"{entry['title']}: {entry['notes']}")
    narrator.row("to do", again["pending"]["title"])
    narrator.check(
        "The notes of the lost chat are back, word for word.", [one["notes"] for one in entries] == [PLAN]
    )
    narrator.check("Reading the step again wrote nothing.", scene.commits() == before)
    state_token: str = again["stateToken"]
    return state_token


def show_forgotten_artifact(scene: Scene) -> None:
    """Send a report without what the step requires, then correct it."""
    narrator = scene.narrator
    narrator.begin("The agent forgets what the step requires")
    narrator.write("The step requires the reason for the change as an artifact. The agent sends only notes:")
    for name, content in FILES.items():
        scene.write_file(name, content)
    blocked = scene.call("run", "continue", "--ack", "@ack", "--notes", CHANGE)
    blockers: list[dict[str, Any]] = blocked.get("blockers", [])
    narrator.row("kind", blocked["kind"])
    for blocker in blockers:
        narrator.row("blocker", blocker["message"])
    narrator.check(
        "The run stays at the step; the reply says what is missing and has an example and a token.",
        [blocker["code"] for blocker in blockers] == ["MISSING_REQUIRED_OUTPUT"]
        and blocked["example"]["kind"] == "wr.changed_files"
        and bool(blocked["retryAckToken"]),
    )
    narrator.write("Handrail kept the notes, so the agent sends only the artifact:")
    narrator.row("step", scene.correct(changed_files("Rounds half a cent up."))["pending"]["title"])


def show_killed_call(scene: Scene) -> None:
    """Kill a call after it has written, before it can answer; then send the same call again."""
    narrator = scene.narrator
    narrator.begin("kill -9 in the middle of a call")
    before = scene.commits()
    narrator.row("killed", scene.kill_report(VERIFY))
    written = scene.commits()
    narrator.write("The agent got no reply, so it sends the same call again:")
    scene.finish(VERIFY)
    narrator.check(
        "The killed call had stored the step, and the second one stored nothing.",
        before != written == scene.commits(),
    )


def show_changed_mind(scene: Scene, old_state: str) -> None:
    """Go back to an older step, and finish the run another way."""
    narrator = scene.narrator
    narrator.begin("The user wants another way: back to an older step")
    narrator.write("The token of an old message is enough. Nothing is undone:")
    scene.call("run", "continue", "--state", old_state)
    forked = scene.finish(CHANGE_AGAIN, changed_files("Prices are Decimal."))
    left = [entry["notes"] for entry in forked.get("recap", {}).get("downstream", [])]
    for notes in left:
        narrator.row("left behind", notes)
    narrator.check("The reply names each step of the branch that was left.", left == [CHANGE, VERIFY])
    ended = scene.finish(VERIFY_AGAIN)
    narrator.check("The new branch reached the end of the workflow.", ended["isComplete"] is True)


def show_whole_run(scene: Scene) -> list[str]:
    """Draw the run and compare it with what was acknowledged; return its graph."""
    narrator = scene.narrator
    narrator.begin("What is in the log")
    session = scene.call("session", "show", scene.session_id)
    graph: list[str] = session["runs"][0]["graph"]
    narrator.draw(graph)
    narrator.row("calls", scene.calls)
    narrator.row("kill -9", scene.kills)
    narrator.row("events", session["event_count"])
    narrator.check(
        "Every step that was acknowledged is in the log, and nothing is in it twice.", graph == GRAPH
    )
    narrator.check("The session is sound.", session["health"]["state"] == "healthy")
    return graph


# The command


def main(keep: str, *, is_text: bool) -> Outcome | int:
    """Play the demo in this directory, or in one that is removed.

    Text is written as the story goes, and only the exit status is left; else the answer is a document.
    Raises Fault E_VALIDATION or E_IO when there is no place for it.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _stop)
    try:
        with _scratch(keep) as place:
            return _play(keep, place, is_text=is_text)
    except KeyboardInterrupt:
        what = "was left as it is" if keep else "was removed"
        message = f"The demo was interrupted; its scratch directory {what}."
        if not is_text:
            return Failure(kind=E_INTERRUPTED, message=message)
        sys.stderr.write(f"Error: {message}\n")
        return E_INTERRUPTED.exit_status
    except BrokenPipeError:  # the reader is gone; the interpreter's last flush goes to the null device
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return E_IO.exit_status


def _play(keep: str, place: str, *, is_text: bool) -> Outcome | int:
    narrator = Narrator(_write if is_text else lambda _: None)
    home, project = os.path.join(place, "home"), os.path.join(place, "project")
    os.makedirs(project)
    scene = Scene(narrator, make_demo_environment(os.environ, home, project), home, project)
    graph: list[str] = []
    if is_text:
        _write("Handrail in a few seconds: real processes, a scratch directory, no network.\n")
    try:
        graph = play_story(scene)
    except Broken as broken:
        narrator.check(f"The story reaches its end; but {broken}", passed=False)
    if not is_text:
        return _outcome(keep, scene, graph)
    failed = narrator.failed_claims()
    lines = ["", f"{len(narrator.checks) - len(failed)} of {len(narrator.checks)} claims held."]
    lines += [f"  [FAILED] {claim}"[:80] for claim in failed]
    if keep:
        lines += [
            "Everything was kept. Look around:",
            f"  export HANDRAIL_HOME={shlex.quote(home)}",
            f"  handrail session show {scene.session_id} --format text",
        ]
    else:
        lines += ["Next: `handrail setup` connects your agent."]
    _write("\n".join(lines) + "\n")
    return E_INTEGRITY.exit_status if failed else 0


def _outcome(keep: str, scene: Scene, graph: list[str]) -> Outcome:
    narrator = scene.narrator
    facts: dict[str, Json] = {
        "session_id": scene.session_id,
        "steps": [{"title": title, "told": list(lines)} for title, lines in narrator.chapters],
        "checks": [{"claim": claim, "passed": passed} for claim, passed in narrator.checks],
        "calls": scene.calls,
        "kills": scene.kills,
        "graph": [*graph],
        "kept": keep or None,
    }
    failed = narrator.failed_claims()
    if not failed:
        return Success(data=facts)
    return Failure(
        kind=E_INTEGRITY,
        message=f"{len(failed)} of {len(narrator.checks)} claims did not hold: {failed[0]}"[:1024],
        details={"report": facts},
        hint="Run it again with --keep DIR and report what it prints.",
    )


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode(errors="replace"))
    sys.stdout.buffer.flush()


@contextmanager
def _scratch(keep: str) -> Iterator[str]:
    """A new directory, removed at the end unless the user wants to keep it.

    Raises Fault E_VALIDATION when there is something in it already, E_IO when it cannot be made.
    """
    try:
        place = os.path.abspath(keep) if keep else tempfile.mkdtemp(prefix="handrail-demo-")
        os.makedirs(place, exist_ok=True)
        is_taken = bool(os.listdir(place))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        message = f"The scratch directory cannot be made: {reason}."
        raise Fault(E_IO, message, details={"reason": reason}) from error
    if is_taken:
        hint = "Give the name of a directory that does not exist yet."
        raise Fault(E_VALIDATION, f"{quote(keep)} is not empty.", details={"param": "keep"}, hint=hint)
    try:
        yield place
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


def _stop(*_: object) -> None:
    """End the demo cleanly on SIGTERM, as on Ctrl-C, and ignore further signals."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt
