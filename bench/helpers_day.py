"""An agent's day with work that is delegated: alone, and with three helpers while its parent is killed.

The workflow and the road are those of `docs/how-to/delegate-work.md`: the page's own JSON, three slices, and
nothing but the calls that replies offer. Each helper is a process that gets its brief and its work token and
nothing else; the parent is killed with SIGKILL while they work, and another one finds everything by
resuming. A step takes as long as the variable WORK_SECONDS says. Run: `python -m bench.helpers_day`. Exits 1
where a day does not end as it should.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec

from handrail.contract.disclosure.estimate import estimate_tokens

PAGE = Path(__file__).resolve().parents[1] / "docs" / "how-to" / "delegate-work.md"
WORK_SECONDS = float(os.environ.get("WORK_SECONDS", "2"))
MOST_CALLS = 40
SIDES = ("correctness", "safety", "speed")


class Spent(msgspec.Struct, kw_only=True, frozen=True):
    """What a day cost."""

    calls: int
    tokens: int
    """What was read and written, by the estimator."""
    seconds: float
    is_complete: bool
    findings: int


class Hands:
    """One agent at the command line, and what its calls cost."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.calls = 0
        self.tokens = 0

    def call(self, *words: str) -> dict[str, Any]:
        environment = {**os.environ, "HANDRAIL_HOME": str(self.place / "home")}
        command = [sys.executable, "-m", "handrail.main", *words, "--compact"]
        done = subprocess.run(
            command, cwd=self.place / "project", env=environment, capture_output=True, check=False
        )
        self.calls += 1
        self.tokens += (estimate_tokens(" ".join(words)) or 0) + (estimate_tokens(done.stdout.decode()) or 0)
        answer = json.loads(done.stdout)
        assert done.returncode == 0, answer
        found: dict[str, Any] = answer["data"]
        return found

    def report(self, reply: dict[str, Any]) -> dict[str, Any]:
        """Do the pending step, which takes its time, and report it."""
        select.select([], [], [], WORK_SECONDS)
        notes = f"Looked; {reply['pending']['stepId']} is done."
        return self.call("run", "continue", "--ack", reply["ackToken"], "--notes", notes)


def write_page_workflow(place: Path) -> None:
    """The workflow of the page, with a third side for the third helper."""
    (text,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    workflow = json.loads(text)
    children = workflow["steps"][0]["delegate"]["children"]
    children.append({**children[0], "id": SIDES[2], "title": "Is it fast", "brief": "Look for slow places."})
    folder = place / "project" / ".handrail" / "workflows"
    folder.mkdir(parents=True)
    (folder / "review.json").write_text(json.dumps(workflow), encoding="utf-8")


def begin(hands: Hands) -> dict[str, Any]:
    given = json.dumps({"change": "the till", "risk": "high"})
    return hands.call("run", "start", "project.review_sides", "--request-id", "day", "--context", given)


def work_alone(hands: Hands, waiting: dict[str, Any]) -> None:
    """The children one after the other, by the next call of the step that waits."""
    reply = waiting
    for _ in range(MOST_CALLS):
        if "ackToken" in reply and reply["stateToken"] == waiting["stateToken"]:
            return
        if reply["pending"] is None:
            reply = hands.call("run", "continue", "--state", waiting["stateToken"])
        elif "ackToken" in reply:
            reply = hands.report(reply)
        else:
            reply = hands.call("run", "continue", "--state", reply["nextCall"]["params"]["stateToken"])
    raise AssertionError("the children were not done")


def finish(hands: Hands, reply: dict[str, Any], started: float) -> Spent:
    """The join and the conclusion."""
    findings = 0
    for _ in range(MOST_CALLS):
        if reply["pending"] is None:
            break
        reply = hands.report(reply)
        findings = max(findings, (reply.get("pending") or {}).get("prompt", "").count('"child"'))
    return Spent(
        calls=hands.calls,
        tokens=hands.tokens,
        seconds=time.monotonic() - started,
        is_complete=reply["isComplete"],
        findings=findings,
    )


def spend_alone(place: Path) -> Spent:
    started, hands = time.monotonic(), Hands(place)
    waiting = begin(hands)
    work_alone(hands, waiting)
    return finish(hands, hands.call("run", "continue", "--state", waiting["stateToken"]), started)


def help_out(place: Path, token: str) -> None:
    """What a helper process does with its work token; it prints what that cost."""
    hands = Hands(place)
    reply = hands.call("run", "continue", "--state", token)
    while reply["pending"]:
        reply = hands.report(reply)
    sys.stdout.write(json.dumps({"calls": hands.calls, "tokens": hands.tokens}) + "\n")


def hand_out(place: Path) -> None:
    """What the first parent does before it is killed: begin, print the children, and wait."""
    hands = Hands(place)
    waiting = begin(hands)
    told = {"children": waiting["children"], "calls": hands.calls, "tokens": hands.tokens}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
    signal.pause()


def spend_with_helpers(place: Path) -> Spent:
    started = time.monotonic()
    me = [sys.executable, "-m", "bench.helpers_day"]
    parent = subprocess.Popen([*me, "hand-out", str(place)], stdout=subprocess.PIPE)
    assert parent.stdout is not None
    handed = json.loads(parent.stdout.readline())
    helpers = [
        subprocess.Popen([*me, "help", str(place), one["workToken"]], stdout=subprocess.PIPE)
        for one in handed["children"]
    ]
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    hands = Hands(place)
    hands.calls, hands.tokens = handed["calls"], handed["tokens"]  # of the parent that is gone
    for helper in helpers:
        told = json.loads(helper.communicate()[0])
        hands.calls += told["calls"]
        hands.tokens += told["tokens"]
    found = hands.call("session", "resume")["items"][0]
    reply = hands.call("run", "continue", "--state", found["nextCall"]["params"]["stateToken"])
    return finish(hands, reply, started)


def main() -> int:
    days = {}
    for name, spend in (("alone", spend_alone), ("three helpers, parent killed", spend_with_helpers)):
        with tempfile.TemporaryDirectory() as folder:
            write_page_workflow(Path(folder))
            days[name] = spend(Path(folder))
    sys.stdout.write(f"{'day':30} {'calls':>6} {'tokens':>7} {'seconds':>8}  complete  findings\n")
    for name, day in days.items():
        cost = f"{day.calls:6} {day.tokens:7} {day.seconds:8.1f}"
        sys.stdout.write(f"{name:30} {cost}  {day.is_complete!s:8}  {day.findings}\n")
    return 0 if all(day.is_complete and day.findings == len(SIDES) for day in days.values()) else 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["help", folder, token]:
            help_out(Path(folder), token)
        case ["hand-out", folder]:
            hand_out(Path(folder))
        case _:
            raise SystemExit(main())
