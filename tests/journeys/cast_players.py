"""Plays the rows of the cast in a real project, through the command line or the tools of an agent."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.contract.outcome import Failure
from handrail.host.checks import LocalCheckPrograms
from handrail.host.workspace import LocalWorkspace
from handrail.operations.checks.note_command import NoteCommand, note_command
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.projections.closing import ALL_CHECKED
from handrail.projections.doubts import ALL_RAN, NO_TEST_COUNTED
from handrail.runtime.hub import perform
from handrail.workflows.builtins.templates import find_contract
from tests.host.worktree.project import commit, write
from tests.hostile.repository.checkout import run_git
from tests.journeys.at_a_terminal import Person, seat
from tests.journeys.cast_rows import BILL, CHECK, OLD, Row
from tests.journeys.conversation import answer
from tests.journeys.doors import command, events_of, of_kind, tool_call
from tests.journeys.given_workflows import NEVER_STOP, give, step
from tests.journeys.test_until_the_end import Site as Workplace

Door: TypeAlias = Literal["mcp", "cli"]
Body: TypeAlias = dict[str, Any]
DOORS: tuple[Door, ...] = ("mcp", "cli")
TEXT = "def total(rows):\n    return sum(rows)\n"
CHANGE = {"output": {"contractRef": "wr.contracts.changed_files"}}
STEPS: dict[str, tuple[Body, ...]] = {
    "change": (step("change", **CHANGE),),
    "verify": (step("verify", output={"contractRef": "wr.contracts.verification_report"}),),
    "fix": (step("fix", output={"contractRef": "wr.contracts.bug_fix"}),),
    "confirm": (step("ask", requireConfirmation=True),),
    "never stops": (step("change", **CHANGE), step("tell")),
    "parts": (
        {
            "id": "parts",
            "title": "Parts",
            "delegate": {"children": [{"id": one, "steps": [step("change", **CHANGE)]} for one in "ab"]},
        },
        step("verify", output={"contractRef": "wr.contracts.verification_report"}),
    ),
}


class Player(Workplace):
    """An agent with the verbs of the rows."""

    def __init__(self, place: Path, door: Door) -> None:
        super().__init__(place)
        self._door = door
        self._environment = {"HANDRAIL_PROJECT": str(self.root), "PATH": os.environ["PATH"]}
        write(self.root, BILL, TEXT)
        write(self.root, OLD, TEXT.replace("total", "older"))
        commit(self.root)
        self.edits = 0
        self.last_receipt = ""
        self.handed: dict[str, str] = {}
        """The work tokens of children, by their names."""
        self.refused: list[str] = []
        """What was said to each report that was not accepted."""

    def play(self, row: Row) -> str:
        """What came of the row, in one word."""
        if not any(verb[0] == "begin" for verb in row.does):
            self.do("begin")
        for verb in row.does:
            self.do(*verb)
        return judge_honest(self, row) if row.kind == "honest" else judge_lie(self, row)

    def do(self, verb: str, *arguments: Any) -> None:
        VERBS[verb](self, *(self._spell(one) for one in arguments))

    def _spell(self, value: Any) -> Any:
        if isinstance(value, str):
            for name, token in self.handed.items():
                value = value.replace(f"<work of {name}>", token)
            return value.replace("<python>", sys.executable).replace("<root>", str(self.root))
        if isinstance(value, list):
            return [self._spell(one) for one in value]
        return (
            {self._spell(k): self._spell(v) for k, v in value.items()} if isinstance(value, dict) else value
        )

    def begin_with(self, what: str = "change") -> None:
        if what == "confirm":
            write(self.home, "config.json", json.dumps({"confirmations": "person"}))
            os.chmod(self.home / "config.json", 0o600)
        workflow = give(self.runtime, *STEPS[what])
        more = {"preferences": NEVER_STOP} if what == "never stops" else {}
        self._settle(tool_call(self.runtime, "start_workflow", workflowId=workflow, **more).structured)
        self.parent = self.reply["stateToken"]
        self.handed = {one["childId"]: one["workToken"] for one in self.reply.get("children", ())}

    def report(self, body: Body | None, context: Body | None = None, notes: str = "done") -> None:
        token = self.reply["retryAckToken" if self.reply["kind"] == "blocked" else "ackToken"]
        artifacts = [] if body is None else [body]
        reply, error = self._send(token, notes, artifacts, context or {})
        if error:
            self.refused.append(error)
            return
        if reply["kind"] == "blocked":
            self.refused.append(" ".join(one["message"] for one in reply["blockers"]))
        self._settle(reply)

    def take_up(self, name: str) -> None:
        """Be the helper of this child from now on."""
        self.reply = answer(self.runtime, "run.continue", stateToken=self.handed[name])

    def go_on(self) -> None:
        """Be the one who handed the work out, and take what the children delivered."""
        now = answer(self.runtime, "run.continue", stateToken=self.parent)
        self._settle(answer(self.runtime, "run.continue", ackToken=now["ackToken"]))

    def call(self, operation: str, params: Body) -> None:
        """Try what a helper may not."""
        outcome = perform(self.runtime, operation, params)
        if isinstance(outcome, Failure):
            self.refused.append(f"{outcome.kind.code}: {outcome.message} {outcome.hint}")

    def report_for(self, name: str) -> None:
        """Answer with the ack of another child, beside the token of one's own."""
        other = answer(self.runtime, "run.continue", stateToken=self.handed[name])["ackToken"]
        (own,) = (token for held, token in self.handed.items() if held != name)
        if self._door == "cli":
            _, told = command(self.runtime, "run", "continue", "--ack", other, "--state", own, "--notes", "x")
            self.refused += [] if told["ok"] else [json.dumps(told["error"])]
            return
        output = {"notesMarkdown": "x"}
        sent = tool_call(self.runtime, "continue_workflow", ackToken=other, stateToken=own, output=output)
        self.refused += [sent.text] if sent.is_error else []

    def _send(self, token: str, notes: str, artifacts: list[Body], context: Body) -> tuple[Body, str]:
        if self._door == "mcp":
            output = {"notesMarkdown": notes, "artifacts": artifacts}
            more = {"context": context} if context else {}
            sent = tool_call(self.runtime, "continue_workflow", ackToken=token, output=output, **more)
            return (sent.structured, "") if not sent.is_error else ({}, sent.text)
        line = ["run", "continue", "--ack", token, "--notes", notes]
        line += ["--artifacts", json.dumps(artifacts)] if artifacts else []
        line += ["--context", json.dumps(context)] if context else []
        _, told = command(self.runtime, *line)
        return (told["data"], "") if told["ok"] else ({}, json.dumps(told["error"]))


# What an agent does


def _edit(player: Player, name: str) -> None:
    player.edits += 1
    with (player.root / name).open("a", encoding="utf-8") as file:
        file.write(f"# edit {player.edits}\n")


def _swap(player: Player, name: str) -> None:
    """Other bytes of the same size, with the time of the old ones."""
    path = player.root / name
    before = path.stat()
    path.write_text(path.read_text(encoding="utf-8").replace("older", "newer"), encoding="utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _run(player: Player, *words: str, folder: str = "") -> None:
    argv = words[0].split() if len(words) == 1 else list(words)
    request = RunCheck(argv=argv, state_token=player.reply["stateToken"])
    request = msgspec.structs.replace(request, directory=folder) if folder else request
    ran = run_check(player.runtime, request)
    assert isinstance(ran.data, dict)
    player.last_receipt = str(ran.data["receipt_id" if "receipt_id" in ran.data else "receiptId"])
    player._settle(player.reply)


def _hook(player: Player, line: str, status: int | None, folder: str | None = "") -> None:
    told = NoteCommand(argv=[line])
    told = told if status is None else msgspec.structs.replace(told, status=status)
    place = None if folder is None else str(player.root / folder)
    note_command(player.runtime, told if place is None else msgspec.structs.replace(told, directory=place))


def _list_files(files: Any, more: Body) -> list[Body]:
    named = files if isinstance(files, dict) else dict.fromkeys(files, "modified")
    rows = [{"path": path, "change": change, "why": "It had to."} for path, change in named.items()]
    return [row | ({"from": more["from"]} if row["change"] == "renamed" else {}) for row in rows]


def _report(player: Player, told: Body, context: Body | None = None) -> None:
    check: Body = {
        "command": told.get("check", CHECK),
        "exitCode": told.get("status", 0),
        "summary": "It ran.",
    }
    if "receipt" in told:
        check["receiptId"] = player.last_receipt if told["receipt"] == "last" else told["receipt"]
    body: Body = {"kind": "wr.changed_files", "files": _list_files(told.get("files", [BILL]), told)}
    body["checks"] = [check]
    if "leftOut" in told:
        body["leftOut"] = [{"path": path, "why": why} for path, why in told["leftOut"].items()]
    player.report(body, context)


def _verify(player: Player, told: Body) -> None:
    place = {
        "source": "file",
        "ref": told.get("ref", f"{BILL}:1"),
        "result": told.get("quote", "It is there."),
    }
    if "command" in told:
        place = {"source": "command", "ref": told["command"], "result": "It ended with exit status 0."}
    claim = {"claim": "It adds.", "status": told.get("status", "confirmed"), "evidence": [place]}
    left = [{"what": told["notChecked"], "why": "It is not here."}] if "notChecked" in told else []
    player.report(
        {"kind": "wr.verification_report", "verdict": "passed", "claims": [claim], "notChecked": left}
    )


def _fix(player: Player, guard: str, more: Body | None = None, check: str = CHECK) -> None:
    files = _list_files(more if check != CHECK else {BILL: "modified"} | (more or {}), {})
    checks = [{"command": check, "exitCode": 0, "summary": "It ran."}]
    player.report({"kind": "wr.bug_fix", "files": files, "checks": checks, "guard": guard})


def _paste_example(player: Player) -> None:
    contract = find_contract("wr.contracts.verification_report")
    assert contract is not None
    player.report(dict(contract.example))


def _settle_gap(player: Player, gap: str = "") -> None:
    (held,) = of_kind(events_of(player.runtime, player.reply), "gap_recorded")
    named = gap or held["data"]["gapId"]
    player.report({"kind": "wr.gap", "severity": "info", "summary": "Fine.", "resolvesGapId": named})


def _say(player: Player, text: str, expected: str = "") -> None:
    player.report(None, notes=text)
    if expected:
        assert player.refused
        player.refused.clear()


def _answer_as_person(player: Player, typed: str) -> None:
    answer(seat(player.runtime, Person(typed)), "run.confirm", stateToken=player.reply["stateToken"])


def _set_variable(player: Player, name: str, value: str) -> None:
    environment = {**player._environment, name: value}
    programs = LocalCheckPrograms(environment, player.runtime.secrets)
    player.runtime = msgspec.structs.replace(player.runtime, check_programs=lambda: programs)


def _approve(player: Player, name: str) -> None:
    told = answer(seat(player.runtime, Person("y")), "check.approve", name=name)
    player.runtime.known_checks().keep_run(str(player.root), told["checks"][0]["digest"], 10)


def _move_in(player: Player, root: Path) -> None:
    """Go on in another directory."""
    player.root = root
    player._environment = player._environment | {"HANDRAIL_PROJECT": str(root)}
    workspace = LocalWorkspace(player._environment)
    player.runtime = msgspec.structs.replace(player.runtime, workspace=workspace)


def _add_worktree(player: Player) -> None:
    place = player.root.parent / "beside"
    run_git(player.root, "worktree", "add", "-q", str(place))
    _move_in(player, place)


def _clone(player: Player, count: int) -> None:
    for at in range(count):
        write(player.root, f"many/{at % 40}/{at}.txt", f"{at}\n")
    commit(player.root)
    place = player.root.parent / "cloned"
    run_git(player.root.parent, "clone", "-q", str(player.root), str(place))
    _move_in(player, place)


def _nest(player: Player) -> None:
    write(player.root, "vendor/lib/README", "x")
    run_git(player.root / "vendor/lib", "init", "-q", ".")


def _add_submodule(player: Player, name: str, files: dict[str, str]) -> None:
    origin = player.root.parent / "origin"
    for path, text in files.items():
        write(origin, path, text)
    run_git(origin, "init", "-q", ".")
    commit(origin)
    run_git(player.root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), name)
    commit(player.root)


def _declare_uncommitted(player: Player, name: str, line: str) -> None:
    checks = {name: {"command": line.split()}}
    write(player.root, ".handrail/config.json", json.dumps({"checks": checks}))


def _install_program(player: Player, name: str, does: str) -> None:
    """Outside of the project."""
    write(player.root.parent / "bin", name, f"#!/bin/sh\n{does}\n")
    (player.root.parent / "bin" / name).chmod(0o755)


def _uncommit(player: Player) -> None:
    shutil.rmtree(player.root / ".git")
    run_git(player.root, "init", "-q", ".")


VERBS: dict[str, Callable[..., object]] = {
    "begin": Player.begin_with,
    "edit": _edit,
    "write": lambda player, name, text: write(player.root, name, text),
    "delete": lambda player, name: (player.root / name).unlink(),
    "move": lambda player, one, other: (player.root / one).rename(player.root / other),
    "chmod": lambda player, name: (player.root / name).chmod(0o755),
    "link": lambda player, name, target: (player.root / name).symlink_to(target),
    "age": lambda player, name: os.utime(player.root / name, (1_000_000_000, 1_000_000_000)),
    "touch": lambda player, name: os.utime(player.root / name),
    "swap": _swap,
    "git": lambda player, *words: run_git(player.root, *words),
    "commit": lambda player: commit(player.root),
    "declare": lambda player, name, line: player.declare(**{name: {"command": line.split()}}),
    "undeclared": _declare_uncommitted,
    "submodule": _add_submodule,
    "program": _install_program,
    "environment": _set_variable,
    "run": _run,
    "run_in": lambda player, folder, line: _run(player, line, folder=folder),
    "run_check": lambda player, name: player.run_declared(name),
    "shell": lambda player, line: _run(player, "sh", "-c", line),
    "hook": _hook,
    "approve": _approve,
    "report": _report,
    "verify": _verify,
    "fix": _fix,
    "example": _paste_example,
    "nothing": lambda player: player.report(None),
    "bare": lambda player, kind: player.report({"kind": kind}),
    "settle": _settle_gap,
    "say": _say,
    "person": _answer_as_person,
    "worktree": _add_worktree,
    "clone": _clone,
    "ungit": lambda player: shutil.rmtree(player.root / ".git"),
    "uncommit": _uncommit,
    "nested": _nest,
    "child": Player.take_up,
    "parent": Player.go_on,
    "call": Player.call,
    "report_for": Player.report_for,
}


# What came of it


def _read_facts(player: Player) -> str:
    """What the log and the reply say about the last report."""
    events = events_of(player.runtime, player.reply)
    claims = [one for event in of_kind(events, "evidence_recorded") for one in event["data"]["claims"]]
    gaps = [event["data"]["summary"] for event in of_kind(events, "gap_recorded")]
    closing = player.reply.get("closing", "")
    return "\n".join([*(one.get("fact", "") for one in claims), *gaps, closing])


def judge_lie(player: Player, row: Row) -> str:
    """`missed` where it counts as more than it is."""
    if player.refused:
        told = " ".join(player.refused)
        return "refused" if row.says in told else f"refused otherwise: {told[:300]}"
    facts, evidence = _read_facts(player), player.reply.get("evidence") or {}
    if row.says and row.says in facts and ALL_CHECKED not in facts:
        return "told"
    return "claimed" if not evidence.get("ran") else f"missed: {evidence} {facts[:600]}"


def judge_honest(player: Player, row: Row) -> str:
    if player.refused:
        return f"refused: {player.refused[0][:400]}"
    closing = str(player.reply.get("closing", ""))
    if not player.reply["isComplete"] or row.says not in closing:
        return f"not said: {closing}"
    is_declared = (player.root / ".handrail/config.json").exists()
    said = ALL_CHECKED in closing or NO_TEST_COUNTED in closing
    if row.must == "told":  # beside other tests than those of the start, and beside no doubt
        return "told" if not said and "what ran: " in closing else "passes"
    is_clean = said and ALL_RAN not in closing if is_declared else ALL_RAN in closing
    return "clean" if is_clean and row.must == "clean" else "passes"
