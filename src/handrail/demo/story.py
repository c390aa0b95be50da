"""The story: a run survives kills, a lost chat, a forgotten artifact, miscopied tokens and a new cause."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from handrail.contract.base32 import ALPHABET
from handrail.contract.catalogue import TOKEN_BAD_SIGNATURE
from handrail.contract.json.canonical import digest
from handrail.demo.orders import Moment
from handrail.demo.scene import Answer, Broken, LogSeen, Scene

# What the scripted agent reports for each step: its notes, and the artifacts that two steps ask for.

REPRODUCE = "total([2.675]) prints 2.67, the bill says 2.68; 10 of 10 times."
LOCATE = "prices.py:42 gets 2.675 and returns 2.67; one line above it is right."
EXPLAIN = "Cause: round() rounds half to even."
FIX = "Replaced round() by our own; test_half_cent passes."
VERIFY = "Report: half-even rounding, replaced by our own."
EXPLAIN_AGAIN = "Half-even is refuted: round(2.685, 2) is 2.69. A float cannot hold 2.675."
FIX_AGAIN = "Prices are Decimal; test_half_cent failed before and passes now."
VERIFY_AGAIN = "Report: binary floats lose half cents; prices are Decimal."


def _changed_files(why: str) -> dict[str, Any]:
    return {
        "kind": "wr.changed_files",
        "files": [
            {"path": "prices.py", "change": "modified", "why": why},
            {"path": "test_prices.py", "change": "added", "why": "test_half_cent shows the bug."},
        ],
        "checks": [{"command": "pytest test_prices.py -q", "exitCode": 0, "summary": "1 passed"}],
    }


def _verification(claim: str) -> dict[str, Any]:
    run = {"source": "command", "ref": "total([2.675])", "result": "2.68"}
    return {
        "kind": "wr.verification_report",
        "verdict": "passed",
        "claims": [{"claim": claim, "status": "confirmed", "evidence": [run]}],
        "notChecked": [],
    }


CHANGED = _changed_files("Rounds half up by our own function.")
VERIFIED = _verification("With our own rounding the bill is right.")
CHANGED_AGAIN = _changed_files("Prices are Decimal from the parser on.")
VERIFIED_AGAIN = _verification("With Decimal prices the bill is right.")


WORKFLOW = "wr.bug_investigation"
GOAL = "Invoice 4711 is one cent short"


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """What the log holds in the end, counted, and the drawing of the run."""

    steps_done: int = 0
    artifacts: int = 0
    blocked: int = 0
    events: int = 0
    lost: int = 0
    doubled: int = 0
    graph: list[str] = []


def tell(scene: Scene) -> Totals:
    """Play everything.

    Raises Broken when a call does not do what it always does.
    """
    try:
        first = an_agent_starts(scene)
        an_agent_is_killed(scene)
        a_new_agent_takes_over(scene)
        located = calls_are_killed(scene)
        fixed = an_artifact_is_forgotten(scene)
        the_same_call_again(scene, first)
        tokens_are_miscopied(scene, fixed.data["ackToken"])
        the_agent_changes_its_mind(scene, located.data["stateToken"])
        return the_whole_run(scene)
    except LookupError as missing:
        raise Broken(f"an answer lacks {missing}") from missing


def an_agent_starts(scene: Scene) -> Answer:
    """Start, and the first step done; the answer to that step."""
    teller = scene.teller
    teller.begin("An agent starts a workflow")
    scene.new_agent()
    started = scene.call("run", "start", WORKFLOW, "--goal", GOAL, "--request-id", "demo")
    scene.session_id = started.data["session"]["sessionId"]
    teller.say("It gets one step, and the next call with a signed token:")
    teller.row("step", started.data["pending"]["title"])
    teller.quote(started.data["pending"]["prompt"].partition("## Goal\n")[2].partition("\n\n")[0])
    teller.block([f"{'token':<12} {started.data['ackToken']}"])
    _show_next(scene, started)
    teller.say("It does the step, writes down what it found, and makes that call:")
    finished = scene.finish(REPRODUCE)
    teller.row("step", finished.data["pending"]["title"])
    _show_next(scene, finished)
    return finished


def an_agent_is_killed(scene: Scene) -> None:
    """Between two steps, with everything it had in memory."""
    teller = scene.teller
    teller.begin("kill -9: the agent dies between two steps")
    before = scene.log()
    teller.row("log before", before.describe())
    scene.kill_agent()
    after = scene.log()
    teller.row("log after", after.describe())
    teller.say("Its tokens were in its memory, and they are gone. The log is not.")
    teller.check("The kill changed nothing in the log.", before == after)


def a_new_agent_takes_over(scene: Scene) -> None:
    """A process that knows the session id alone."""
    teller = scene.teller
    teller.begin("A new process that knows only the session id takes over")
    scene.new_agent()
    before = scene.log()
    found = scene.call("session", "resume", scene.session_id)
    teller.row("found", found.data["items"][0]["pendingTitle"])
    again = scene.call("run", "continue", "--state", "@state")
    teller.say("It reads the pending step again, and what was done so far:")
    told = again.data.get("recap", {}).get("entries", [])
    for entry in told:
        teller.row("done", entry["title"])
        teller.quote(entry["notes"])
    teller.row("to do", again.data["pending"]["title"])
    teller.check(
        "The notes of the dead agent are back, word for word.",
        [entry["notes"] for entry in told] == [REPRODUCE],
    )
    teller.check("Reading it again wrote nothing.", scene.log() == before)


def calls_are_killed(scene: Scene) -> Answer:
    """In the middle of a call, and sent again; the answer to the first of the two steps."""
    scene.teller.begin("kill -9 in the middle of a call")
    scene.teller.say("A step is reported. The call is killed at once, then while it writes:")
    located = _killed_then_repeated(scene, LOCATE, ("at_once", "when_written"))
    scene.teller.say("The next step. The call is killed when it has written, before it can answer:")
    _killed_then_repeated(scene, EXPLAIN, ("when_attested",))
    return located


def an_artifact_is_forgotten(scene: Scene) -> Answer:
    """A report without what the step must deliver, and its correction; the answer to that."""
    teller = scene.teller
    teller.begin("The agent forgets what the step must deliver")
    before = scene.log()
    teller.say("The step asks for a list of the changed files, as data. Only notes come:")
    blocked = scene.call("run", "continue", "--ack", "@ack", "--notes", FIX)
    blockers: list[dict[str, Any]] = blocked.data.get("blockers", [])
    example: dict[str, Any] = blocked.data.get("example") or {}
    teller.row("kind", blocked.data["kind"])
    for blocker in blockers:
        teller.quote(blocker["message"])
    teller.row("example", msgspec.json.encode(example).decode())
    _show_next(scene, blocked)
    stayed = scene.log()
    teller.check(
        "The run stays, and the reply has the reason, an example and the token to try again.",
        blocked.data["kind"] == "blocked"
        and [blocker["code"] for blocker in blockers] == ["MISSING_REQUIRED_OUTPUT"]
        and example.get("kind") == CHANGED["kind"]
        and bool(blocked.data.get("retryAckToken"))
        and stayed.advances == before.advances,
    )
    teller.say("The notes are kept, so the artifact alone is sent:")
    fixed = scene.correct(FIX, CHANGED)
    teller.row("step", fixed.data["pending"]["title"])
    after = scene.log()
    teller.check(
        "One call put it right: the notes are in the log once, with an artifact that was checked.",
        after.advances == before.advances + 1
        and after.notes.get(FIX) == 1
        and after.artifacts.get(digest(CHANGED)) == 1,
    )
    return fixed


def the_same_call_again(scene: Scene, first: Answer) -> None:
    """An old call, byte for byte."""
    teller = scene.teller
    teller.begin("An old call, sent once more")
    before = scene.log()
    again = scene.call(*first.arguments[:-1])
    for name, answer in (("then", first), ("now", again)):
        teller.row(
            name, f"sha256 {sha256(answer.data_bytes).hexdigest()[:16]}, {len(answer.data_bytes)} bytes"
        )
    teller.check("The reply is the recorded one, byte for byte.", again.data_bytes == first.data_bytes)
    teller.check("The repeat wrote nothing.", scene.log() == before)


def tokens_are_miscopied(scene: Scene, ack: str) -> None:
    """Two wrong characters, then one."""
    teller = scene.teller
    teller.begin("The agent miscopies its token")
    before = scene.log()
    teller.say("The last step waits for the user, and the user agrees. Two characters wrong:")
    _show_typos(scene, ack, 2)
    refused = scene.call("run", "continue", "--ack", with_typos(ack, 2), "--notes", VERIFY, may_fail=True)
    details = refused.error.get("details", {})
    teller.quote(refused.error.get("message", ""))
    teller.row("next", details.get("next_command"))
    teller.check(
        "It was refused with the exact next command, and wrote nothing.",
        refused.status == TOKEN_BAD_SIGNATURE.exit_status
        and str(details.get("next_command")).startswith(f"handrail session resume {scene.session_id}")
        and scene.log() == before,
    )
    teller.say("One character wrong:")
    _show_typos(scene, ack, 1)
    repaired = scene.finish(VERIFY, VERIFIED, with_typos(ack, 1))
    warnings = repaired.data.get("warnings", [])
    for warning in warnings:
        teller.row("warning", warning["code"])
    teller.row("complete", "yes" if repaired.data["isComplete"] else "no")
    teller.check(
        "It was repaired to the token that was meant, with a warning.",
        ack in [warning.get("correctedToken") for warning in warnings],
    )


def the_agent_changes_its_mind(scene: Scene, old_state: str) -> None:
    """Back to an older message, on another way."""
    teller = scene.teller
    teller.begin("The explanation was wrong: back to an older step")
    teller.say("The token of an old message is enough. Nothing is undone, nobody is asked:")
    scene.call("run", "continue", "--state", old_state)
    forked = scene.finish(EXPLAIN_AGAIN)
    recap: dict[str, Any] = forked.data.get("recap", {})
    left = [entry["notes"] for entry in recap.get("downstream", [])]
    teller.say("Handrail forks by itself and tells the agent what it no longer sees:")
    for notes in left:
        teller.row("left behind", notes)
    teller.check("The reply tells every step of the branch that was left.", left == [EXPLAIN, FIX, VERIFY])
    scene.finish(FIX_AGAIN, CHANGED_AGAIN)
    ended = scene.finish(VERIFY_AGAIN, VERIFIED_AGAIN)
    teller.check("The new branch reached the end of the workflow.", ended.data["isComplete"] is True)


def the_whole_run(scene: Scene) -> Totals:
    """The drawing, and the log compared with everything that was acknowledged."""
    teller = scene.teller
    teller.begin("What is in the log")
    shown = scene.call("session", "show", scene.session_id)
    run = shown.data["runs"][0]
    teller.block(run["graph"])
    teller.say(
        "Each line is a step to do, x an attempt that was blocked; * is where the run stands, "
        "the old branch is beside it."
    )
    log = scene.log()
    totals = _counted(scene, log, run["graph"])
    _show_totals(scene, totals)
    teller.check("Every step and artifact that was acknowledged is in the log.", totals.lost == 0)
    teller.check(
        "Nothing is in it twice, and nothing that nobody sent.",
        totals.doubled == 0 and {*log.notes.values(), *log.artifacts.values()} == {1},
    )
    teller.check("There is one fork, and the session is sound.", run["fork_count"] == 1 and log.is_healthy)
    return totals


def _counted(scene: Scene, log: LogSeen, graph: list[str]) -> Totals:
    """What was acknowledged against what the log holds."""
    lost = sum(notes not in log.notes for notes in scene.acknowledged)
    lost += sum(artifact not in log.artifacts for artifact in scene.delivered)
    held = log.advances + sum(log.artifacts.values())
    return Totals(
        steps_done=len(scene.acknowledged),
        artifacts=len(scene.delivered),
        blocked=log.blocked,
        events=log.events,
        lost=lost,
        doubled=held - (len(scene.acknowledged) + len(scene.delivered) - lost),
        graph=graph,
    )


def with_typos(token: str, count: int) -> str:
    """The token with this many characters of its middle replaced."""
    characters = list(token)
    for place in range(20, 20 + 7 * count, 7):
        characters[place] = ALPHABET[(ALPHABET.index(characters[place]) + 5) % len(ALPHABET)]
    return "".join(characters)


def _show_next(scene: Scene, answer: Answer) -> None:
    call = answer.data["nextCall"]
    scene.teller.row("next call", f"{call['tool']} {msgspec.json.encode(call['params']).decode()}")


def _show_typos(scene: Scene, token: str, count: int) -> None:
    sent = with_typos(token, count)
    marks = "".join(" " if meant == typed else "^" for meant, typed in zip(token, sent, strict=True))
    scene.teller.block([f"{'token':<12} {token}", f"{'typed':<12} {sent}", f"{'':<12} {marks}".rstrip()])


def _show_totals(scene: Scene, totals: Totals) -> None:
    for name, count in (
        ("calls", scene.calls),
        ("kill -9", scene.kills),
        ("steps done", totals.steps_done),
        ("artifacts", totals.artifacts),
        ("blocked", totals.blocked),
        ("events", totals.events),
        ("lost", totals.lost),
        ("doubled", totals.doubled),
    ):
        scene.teller.row(name, f"{count:>4}")


def _killed_then_repeated(scene: Scene, notes: str, moments: tuple[Moment, ...]) -> Answer:
    teller = scene.teller
    before = scene.log()
    teller.row("log before", before.describe())
    for moment in moments:
        report = scene.killed_call("run", "continue", "--ack", "@ack", "--notes", notes, moment=moment)
        seen = scene.log()
        teller.row("killed", f"after {report.duration_ms} ms" if report.is_killed else "no, it had ended")
        where = "with the step" if notes in seen.notes else "without the step"
        teller.row("log now", f"{seen.describe()}, {where}")
    teller.say("The agent got no reply and cannot know, so it sends the same call again:")
    answer = scene.finish(notes)
    after = scene.log()
    teller.row("log after", after.describe())
    teller.check(
        "The step is in the log once, however often it was sent.",
        after.notes.get(notes) == 1 and after.advances == before.advances + 1,
    )
    return answer
