"""`handrail demo`: a whole run in a scratch directory, with real processes, real kills and checked claims.

The story: a run survives a lost chat, kills, a forgotten artifact and a new cause.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from handrail.contract.catalogue import E_INTEGRITY, E_INTERRUPTED, E_IO, E_VALIDATION
from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Failure, Fault, Json, Outcome, Success
from handrail.contract.wording import quote
from handrail.demo.scene import Broken, LogFacts, Moment, Narrator, Scene, make_demo_environment

# The reports of the scripted agent: notes, and the artifacts that steps require

REPRODUCE = "total([2.675]) prints 2.67, the bill says 2.68; 10 of 10 times."
LOCATE = "till.py:2 gets 2.675 and returns 2.67; one line above it is right."
EXPLAIN = "Cause: round() rounds half to even."
FIX = "Replaced round() by our own; test_half_cent passes."
VERIFY = "Report: half-even rounding, replaced by our own."
EXPLAIN_AGAIN = "Half-even is refuted: round(2.685, 2) is 2.69. A float cannot hold 2.675."
FIX_AGAIN = "Prices are Decimal; test_half_cent failed before and passes now."
VERIFY_AGAIN = "Report: binary floats lose half cents; prices are Decimal."


def _cause(cause: str, change: str) -> dict[str, Any]:
    return {
        "kind": "wr.cause",
        "cause": cause,
        "place": f"{PLACE}:2",
        "experiments": [
            {"change": change, "predicted": "It prints 2.68.", "seen": "It printed 2.68."},
            {"change": "The price 2.665", "predicted": "It is a cent short.", "seen": "It printed 2.66."},
        ],
        "rivals": [{"cause": "The price list has 2.67", "ruledOutBy": "It has 2.675, in two places."}],
        "sameMistake": [],
    }


def _bug_fix(why: str) -> dict[str, Any]:
    return {
        "kind": "wr.bug_fix",
        "files": [
            {"path": "prices.py", "change": "modified", "why": why},
            {"path": "test_prices.py", "change": "added", "why": "test_half_cent shows the bug."},
        ],
        "checks": [{"command": "pytest test_prices.py -q", "exitCode": 0, "summary": "1 passed"}],
        "guard": "pytest test_prices.py -q",
    }


def _verification(claim: str) -> dict[str, Any]:
    run = {"source": "command", "ref": "total([2.675])", "result": "2.68"}
    return {
        "kind": "wr.verification_report",
        "verdict": "passed",
        "claims": [{"claim": claim, "status": "confirmed", "evidence": [run]}],
        "notChecked": [],
    }


PLACE, BROKEN = "till.py", "def total(prices):\n    return round(sum(prices), 2)\n"
"""What is wrong before the agent comes."""
FILES = {
    "prices.py": "def total(prices):\n    return round(sum(prices) + 1e-9, 2)\n",
    "test_prices.py": "from prices import total\n\n\n"
    "def test_half_cent():\n    assert total([2.675]) == 2.68\n",
}
"""What the agent writes; the list that it reports names exactly these."""
REPRODUCED = {
    "kind": "wr.reproduction",
    "command": "python -c 'import till; print(till.total([2.675]))'",
    "exitCode": 0,
    "expected": "It prints 2.68, as the bill says.",
    "actual": "It prints 2.67.",
    "happens": "always",
}
EXPLAINED = _cause("round() rounds half to even.", "Our own rounding instead")
EXPLAINED_AGAIN = _cause("A binary float cannot hold 2.675.", "Decimal instead of float")
CHANGED = _bug_fix("Rounds half up by our own function.")
VERIFIED = _verification("With our own rounding the bill is right.")
CHANGED_AGAIN = _bug_fix("Prices are Decimal from the parser on.")
VERIFIED_AGAIN = _verification("With Decimal prices the bill is right.")


# The chapters

WORKFLOW = "wr.bug_investigation"
GOAL = "Invoice 4711 is one cent short"


def play_story(scene: Scene) -> dict[str, Json]:
    """Play everything.

    Raises Broken when a call does not do what it always does.
    """
    try:
        show_start(scene)
        show_takeover(scene)
        located = show_killed_calls(scene)
        show_forgotten_artifact(scene)
        show_changed_mind(scene, located["stateToken"])
        return show_whole_run(scene)
    except LookupError as missing:
        raise Broken(f"an answer lacks {missing}") from missing


def show_start(scene: Scene) -> None:
    """Start, and the first step done."""
    narrator = scene.narrator
    narrator.begin("An agent starts a workflow")
    scene.new_agent()
    scene.write_file(PLACE, BROKEN)
    started = scene.call("run", "start", WORKFLOW, "--goal", GOAL, "--request-id", "demo")
    scene.session_id = started["session"]["sessionId"]
    narrator.write("It gets one step, and the next call with a signed token:")
    narrator.row("step", started["pending"]["title"])
    narrator.quote(started["pending"]["prompt"].partition("## Goal\n")[2].partition("\n\n")[0])
    narrator.block([f"{'token':<12} {started['ackToken']}"])
    _show_next(scene, started)
    narrator.write("It does the step, writes down what it found, and makes that call:")
    finished = scene.finish(REPRODUCE, REPRODUCED)
    narrator.row("step", finished["pending"]["title"])
    _show_next(scene, finished)


def show_takeover(scene: Scene) -> None:
    """An agent that knows the session id alone."""
    narrator = scene.narrator
    narrator.begin("The chat is lost: an agent that knows only the session id takes over")
    narrator.write("The tokens were in the chat, and they are gone. The log is not:")
    scene.new_agent()
    before = scene.log()
    narrator.row("log", before.describe())
    found = scene.call("session", "resume", scene.session_id)
    narrator.row("found", found["items"][0]["pendingTitle"])
    again = scene.call("run", "continue", "--state", "@state")
    narrator.write("It reads the pending step again, and what was done so far:")
    entries = again.get("recap", {}).get("entries", [])
    for entry in entries:
        narrator.row("done", entry["title"])
        narrator.quote(entry["notes"])
    narrator.row("to do", again["pending"]["title"])
    narrator.check(
        "The notes of the lost chat are back, word for word.",
        [entry["notes"] for entry in entries] == [REPRODUCE],
    )
    narrator.check("Reading it again wrote nothing.", scene.log() == before)


def show_killed_calls(scene: Scene) -> dict[str, Any]:
    """In the middle of a call, and sent again; the answer to the first of the two steps."""
    scene.narrator.begin("kill -9 in the middle of a call")
    scene.narrator.write("A step is reported. The call is killed at once, then while it writes:")
    located = _kill_then_repeat(scene, LOCATE, ("at_once", "when_written"))
    scene.narrator.write("The next step. The call is killed when it has written, before it can answer:")
    _kill_then_repeat(scene, EXPLAIN, ("when_attested",), EXPLAINED)
    return located


def show_forgotten_artifact(scene: Scene) -> None:
    """A report without what the step must deliver, its correction, and the last step."""
    narrator = scene.narrator
    narrator.begin("The agent forgets what the step must deliver")
    before = scene.log()
    narrator.write("The step asks for a list of the changed files, as data. Only notes come:")
    blocked = scene.call("run", "continue", "--ack", "@ack", "--notes", FIX)
    blockers: list[dict[str, Any]] = blocked.get("blockers", [])
    example: dict[str, Any] = blocked.get("example") or {}
    narrator.row("kind", blocked["kind"])
    for blocker in blockers:
        narrator.quote(blocker["message"])
    narrator.row("example", msgspec.json.encode(example).decode())
    _show_next(scene, blocked)
    stayed = scene.log()
    narrator.check(
        "The run stays, and the reply has the reason, an example and the token to try again.",
        blocked["kind"] == "blocked"
        and [blocker["code"] for blocker in blockers] == ["MISSING_REQUIRED_OUTPUT"]
        and example.get("kind") == CHANGED["kind"]
        and bool(blocked.get("retryAckToken"))
        and stayed.advances == before.advances,
    )
    narrator.write("It sends a list, but it has not touched a file yet:")
    lie = scene.lie(CHANGED)
    refused: list[dict[str, Any]] = lie.get("blockers", [])
    unmoved = scene.log()
    for blocker in refused:
        narrator.quote(blocker["message"])
    narrator.check(
        "Handrail looked: the list names files that are not there, and the reply says which.",
        lie["kind"] == "blocked"
        and [blocker["code"] for blocker in refused] == ["INVALID_REQUIRED_OUTPUT"]
        and all(f"{name} is not in the project" in refused[0]["message"] for name in FILES)
        and unmoved.advances == before.advances,
    )
    narrator.write("It does the work. The notes are kept, so the same list alone is sent:")
    for name, content in FILES.items():
        scene.write_file(name, content)
    fixed = scene.correct(FIX, CHANGED)
    narrator.row("step", fixed["pending"]["title"])
    after = scene.log()
    narrator.check(
        "One call put it right: the notes are in the log once, with a list that was held against the files.",
        after.advances == before.advances + 1
        and after.notes.get(FIX) == 1
        and after.artifacts.get(digest(CHANGED)) == 1,
    )
    narrator.write("The last step waits for the user, and the user agrees:")
    scene.finish(VERIFY, VERIFIED)


def show_changed_mind(scene: Scene, old_state: str) -> None:
    """Back to an older message, on another way."""
    narrator = scene.narrator
    narrator.begin("The explanation was wrong: back to an older step")
    narrator.write("The token of an old message is enough. Nothing is undone, nobody is asked:")
    scene.call("run", "continue", "--state", old_state)
    forked = scene.finish(EXPLAIN_AGAIN, EXPLAINED_AGAIN)
    recap: dict[str, Any] = forked.get("recap", {})
    left = [entry["notes"] for entry in recap.get("downstream", [])]
    narrator.write("Handrail forks by itself and tells the agent what it no longer sees:")
    for notes in left:
        narrator.row("left behind", notes)
    narrator.check("The reply tells every step of the branch that was left.", left == [EXPLAIN, FIX, VERIFY])
    scene.finish(FIX_AGAIN, CHANGED_AGAIN)
    ended = scene.finish(VERIFY_AGAIN, VERIFIED_AGAIN)
    narrator.check("The new branch reached the end of the workflow.", ended["isComplete"] is True)


def show_whole_run(scene: Scene) -> dict[str, Json]:
    """The drawing, and the log compared with everything that was acknowledged; what was counted."""
    narrator = scene.narrator
    narrator.begin("What is in the log")
    shown = scene.call("session", "show", scene.session_id)
    run = shown["runs"][0]
    narrator.block(run["graph"])
    narrator.write(
        "Each line is a step to do, x an attempt that was blocked; * is where the run stands, "
        "the old branch is beside it."
    )
    log = scene.log()
    counts = _count(scene, log)
    for name, count in counts.items():
        narrator.row("kill -9" if name == "kills" else name.replace("_", " "), f"{count:>4}")
    narrator.check("Every step and artifact that was acknowledged is in the log.", counts["lost"] == 0)
    narrator.check(
        "Nothing is in it twice, and nothing that nobody sent.",
        counts["doubled"] == 0 and {*log.notes.values(), *log.artifacts.values()} == {1},
    )
    narrator.check("There is one fork, and the session is sound.", run["fork_count"] == 1 and log.is_healthy)
    return {**counts, "graph": run["graph"]}


def _count(scene: Scene, log: LogFacts) -> dict[str, int]:
    """What was acknowledged against what the log holds."""
    lost = sum(notes not in log.notes for notes in scene.acknowledged)
    lost += sum(artifact not in log.artifacts for artifact in scene.delivered)
    held = log.advances + sum(log.artifacts.values())
    return {
        "calls": scene.calls,
        "kills": scene.kills,
        "steps_done": len(scene.acknowledged),
        "artifacts": len(scene.delivered),
        "blocked": log.blocked,
        "events": log.events,
        "lost": lost,
        "doubled": held - (len(scene.acknowledged) + len(scene.delivered) - lost),
    }


def _show_next(scene: Scene, answer: dict[str, Any]) -> None:
    call = answer["nextCall"]
    scene.narrator.row("next call", f"{call['tool']} {msgspec.json.encode(call['params']).decode()}")


def _kill_then_repeat(
    scene: Scene, notes: str, moments: tuple[Moment, ...], artifact: dict[str, Any] | None = None
) -> dict[str, Any]:
    narrator = scene.narrator
    before = scene.log()
    narrator.row("log before", before.describe())
    for moment in moments:
        narrator.row("killed", scene.kill_report(moment, notes, artifact))
        seen = scene.log()
        where = "with the step" if notes in seen.notes else "without the step"
        narrator.row("log now", f"{seen.describe()}, {where}")
    narrator.write("The agent got no reply and cannot know, so it sends the same call again:")
    answer = scene.finish(notes, artifact)
    after = scene.log()
    narrator.row("log after", after.describe())
    narrator.check(
        "The step is in the log once, however often it was sent.",
        after.notes.get(notes) == 1 and after.advances == before.advances + 1,
    )
    return answer


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
        failure = Failure(
            kind=E_INTERRUPTED, message=f"The demo was interrupted; its scratch directory {what}."
        )
        if is_text:
            sys.stderr.write(f"Error: {failure.message}\n")
        return failure.kind.exit_status if is_text else failure
    except BrokenPipeError:
        _discard_stdout()
        return E_IO.exit_status


def _play(keep: str, place: str, *, is_text: bool) -> Outcome | int:
    is_watched = is_text and sys.stdout.isatty()  # a pause is for a person, not for a file or a pipe
    pause: Callable[[float], None] = time.sleep if is_watched else lambda _: None
    narrator = Narrator(_write if is_text else lambda _: None, pause)
    home, project = os.path.join(place, "home"), os.path.join(place, "project")
    os.makedirs(project)
    scene = Scene(narrator, make_demo_environment(os.environ, home, project), home, project)
    counts: dict[str, Json] = {}
    if is_text:
        _write("Handrail in a few seconds: real processes, a scratch directory, no network.\n")
    try:
        counts = play_story(scene)
    except Broken as broken:
        narrator.check(f"The story reaches its end; but {broken}", passed=False)
    if not is_text:
        return _outcome(keep, scene, counts)
    _write(_closing_text(keep, place, scene))
    return 0 if narrator.has_passed() else E_INTEGRITY.exit_status


def _closing_text(keep: str, place: str, scene: Scene) -> str:
    checks = scene.narrator.checks
    passed = sum(passed for _, passed in checks)
    lines = ["", f"{passed} of {len(checks)} claims held."]
    if passed < len(checks):
        lines += [f"  [FAILED] {claim}"[:80] for claim, passed in checks if not passed]
        lines += ["Please report this with the output above."]
    if keep:
        lines += [
            "Everything was kept. Look around:",
            f"  export HANDRAIL_HOME={shlex.quote(os.path.join(place, 'home'))}",
            f"  handrail session show {scene.session_id} --format text",
        ]
    else:
        lines += [
            "`handrail workflow list` shows what you can run now;",
            "`handrail mcp` is the command for your agent's client to start.",
        ]
    return "\n".join(lines) + "\n"


def _outcome(keep: str, scene: Scene, counts: dict[str, Json]) -> Outcome:
    narrator = scene.narrator
    facts: dict[str, Json] = {
        "session_id": scene.session_id,
        "steps": [{"title": title, "told": list(lines)} for title, lines in narrator.chapters],
        "checks": [{"claim": claim, "passed": passed} for claim, passed in narrator.checks],
        **counts,
        "kept": keep or None,
    }
    if narrator.has_passed():
        return Success(data=facts)
    broken = [claim for claim, passed in narrator.checks if not passed]
    total = len(narrator.checks)
    return Failure(
        kind=E_INTEGRITY,
        message=f"{len(broken)} of {total} claims of the demo did not hold: {broken[0]}"[:1024],
        details={"report": facts},
        hint="Run it again with --keep DIR and report what it prints.",
    )


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode(errors="replace"))
    sys.stdout.buffer.flush()


def _discard_stdout() -> None:
    """The reader is gone: send the interpreter's last flush to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


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
        raise Fault(
            E_IO, f"The scratch directory cannot be made: {reason}.", details={"reason": reason}
        ) from error
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
