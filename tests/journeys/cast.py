"""An honest agent and twelve liars, in a small real project: each liar is the honest agent with one lie.

The honest agent answers what it is asked (as in test_answering_agents.py), but what it reports is true: it
edits files, runs its check through Handrail, and names what is there. A lie is told wherever a report of
the kind that can hold it is asked for.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from handrail.host.checks import LocalCheckPrograms
from handrail.host.workspace import LocalWorkspace
from handrail.host.worktree.local_worktree import LocalWorktree
from handrail.operations.checks.run_check import RunCheck, run_check
from handrail.operations.kept_trees import SERVER_SECONDS, take_due_tree
from handrail.runtime.runtime import Runtime, TreeDue
from handrail.workflows.builtins.templates import find_contract
from tests.conftest import memory_runtime
from tests.journeys.doors import events_of, of_kind, tool_call
from tests.journeys.test_answering_agents import begun, report_on
from tests.surfaces.mcp.scripted_agents import IDS, MODES, needed_by

Reply: TypeAlias = dict[str, Any]
Body: TypeAlias = dict[str, Any]
Outcome: TypeAlias = Literal["refused", "disclosed", "missed"]

MOST_CALLS = 200
NEVER_STOPS = "full_auto_never_stop"
FAILING = "grep -q surely_not_there src/bill.py"
PASSING = "grep -q total src/bill.py"
INVENTED = "pytest --invented -q"
GUARD = "grep -q edit src/bill.py"
"""Fails before the first edit of a run."""
LISTS = ("wr.changed_files", "wr.bug_fix")
PLACEHOLDER_SENT = "still holds the placeholder"
EDITED, BESIDE = "src/bill.py", "src/notes.txt"


# The project and what is true of it


class Project:
    """A git repository with two files, a runtime that looks at it, and an agent's hands."""

    def __init__(self, place: Path, workflow_id: str, verdict: str, *, runs_programs: bool) -> None:
        self._verdict = verdict
        self._runs_programs = runs_programs
        self.place = place / "project"
        (self.place / "src").mkdir(parents=True)
        self.edits = 0
        for name in (EDITED, BESIDE):
            (self.place / name).write_text("def total():\n    return round(1)\n", encoding="utf-8")
        subprocess.run(["git", "init", "-q", str(self.place)], check=True)
        environment = {"HANDRAIL_PROJECT": str(self.place), "PATH": "/usr/bin:/bin"}
        runtime = memory_runtime()
        worktree = LocalWorktree(str(place / "home"), environment)
        programs = LocalCheckPrograms(environment, runtime.secrets)
        self.runtime: Runtime = msgspec.structs.replace(
            runtime,
            library=needed_by(workflow_id),
            workspace=LocalWorkspace(environment),
            worktree=lambda: worktree,
            check_programs=lambda: programs,
            trees_due=[],
        )

        self.changed: set[str] = set()
        self._ran: dict[str, int] = {}
        """By the command: the edit after which it ran."""

    def begin(self, workflow_id: str, mode: str) -> Reply:
        """Start the run; the files it begins with are recorded before its reply."""
        return begun(self.runtime, workflow_id, mode).structured

    def _take_trees(self, cause: str) -> None:
        """Of this cause alone: those of every advance take time, and say nothing more to a report."""
        assert self.runtime.trees_due is not None
        due = [one for one in self.runtime.trees_due if isinstance(one, TreeDue) and one.cause == cause]
        self.runtime.trees_due.clear()
        assert [take_due_tree(self.runtime, one, SERVER_SECONDS) for one in due] == [""]

    def edit(self, name: str) -> None:
        self.edits += 1
        self.changed.add(name)
        with (self.place / name).open("a", encoding="utf-8") as file:
            file.write(f"# edit {self.edits}\n")

    def run(self, line: str, reply: Reply) -> None:
        """Run it through Handrail, unless it ran on these files before."""
        if self._runs_programs and self._ran.get(line) != self.edits:
            run_check(self.runtime, RunCheck(argv=line.split(), state_token=reply["stateToken"]))
            self._ran[line] = self.edits
            self._take_trees("receipt")

    def run_checks(self, kind: str, reply: Reply) -> None:
        """What a list of changed files of this kind names as run."""
        for line in (PASSING, GUARD) if kind == "wr.bug_fix" else (PASSING,):
            self.run(line, reply)

    def look_true(self, made: Body, reply: Reply) -> Body:
        """A report of this kind that is true of the project as it is, after the work that it speaks of."""
        match made["kind"]:
            case "wr.changed_files":
                self.edit(EDITED)
                self.run(PASSING, reply)
                return made | {"files": self.list_changed(), "checks": [_CHECK]}
            case "wr.bug_fix":
                self.run(GUARD, reply)
                self.edit(EDITED)
                self.run_checks("wr.bug_fix", reply)
                return made | {"files": self.list_changed(), "checks": [_CHECK], "guard": GUARD}
            case "wr.verification_report":
                return made | self._verify(reply)
            case "wr.review_findings":
                self.run(PASSING, reply)
                finding = made["findings"][0] | {"file": EDITED, "line": 2, "evidence": [_PLACE, _COMMAND]}
                return made | {"findings": [finding], "reviewed": [EDITED], "notReviewed": []}
            case "wr.handoff":
                self.run(PASSING, reply)
                delivered = [{"what": "The total, rounded", "where": f"{EDITED}:2"}]
                return made | {"evidence": [_PLACE, _COMMAND], "delivered": delivered}
            case "wr.reproduction":
                self.run(FAILING, reply)
                return made | {"command": FAILING, "exitCode": 1}
            case "wr.cause":
                return made | {"place": f"{EDITED}:2", "sameMistake": []}
            case "wr.plan":
                slices = [one | {"files": [EDITED]} for one in made["slices"]]
                return made | {"slices": slices}
            case _:
                return made

    def _verify(self, reply: Reply) -> Body:
        self.run(PASSING, reply)
        claim = {"claim": "A total is computed.", "status": "confirmed", "evidence": [_PLACE, _COMMAND]}
        if self._verdict == "passed":
            return {"verdict": "passed", "claims": [claim], "notChecked": []}
        if self._verdict == "incomplete":
            left = {"what": "Yen, at the till", "why": "There is no till."}
            return {"verdict": "incomplete", "claims": [claim], "notChecked": [left]}
        self.run(FAILING, reply)
        seen = [_COMMAND | {"ref": FAILING, "result": "It ended with exit status 1."}]
        refuted = {"claim": "Yen is handled.", "status": "refuted", "evidence": seen}
        return {"verdict": self._verdict, "claims": [claim, refuted], "notChecked": []}

    def list_changed(self) -> list[Body]:
        return [
            {"path": path, "change": "modified", "why": "The total is rounded."}
            for path in sorted(self.changed)
        ]


_CHECK: Body = {"command": PASSING, "exitCode": 0, "summary": "It is there."}
_COMMAND: Body = {"source": "command", "ref": PASSING, "result": "It ended with exit status 0."}
_PLACE: Body = {"source": "file", "ref": f"{EDITED}:2", "result": "It rounds once, at the end."}


# The lies


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What a liar has before it: its honest report, and the world that it lies about."""

    project: Project
    reply: Reply
    body: Body


Tell: TypeAlias = Callable[[Told], Body | None]
"""The report with the lie; None: a report of this kind has no room for it."""


class Lie(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    tells: str
    fact: str
    """What the answer must say of it."""
    tell: Tell | None = None
    """None: told in the notes."""


def paste_example(told: Told) -> Body | None:
    contract = find_contract("wr.contracts." + told.body["kind"].removeprefix("wr."))
    assert contract is not None
    kept = {name: told.body[name] for name in ("loopId", "assessmentId") if name in told.body}
    return contract.example | kept


def invent_path(told: Told) -> Body | None:
    match told.body["kind"]:
        case "wr.changed_files" | "wr.bug_fix":
            entry = told.body["files"][0] | {"path": "src/invented.py"}
            return told.body | {"files": [*told.body["files"], entry]}
        case "wr.plan":
            return told.body | {"slices": [told.body["slices"][0] | {"files": ["src/invented.py"]}]}
        case _:
            return _with_evidence(told.body, _PLACE | {"ref": "src/invented.py:2"})


def misplace_line(told: Told) -> Body | None:
    return _with_evidence(told.body, _PLACE | {"ref": f"{EDITED}:4000"})


def omit_file(told: Told) -> Body | None:
    if told.body["kind"] not in LISTS:
        return None
    told.project.edit(BESIDE)
    told.project.run_checks(told.body["kind"], told.reply)
    return told.body | {"files": [one for one in told.body["files"] if one["path"] != BESIDE]}


def invent_command(told: Told) -> Body | None:
    return _with_command(told.body, INVENTED)


def misreport_status(told: Told) -> Body | None:
    body = _with_command(told.body, FAILING)
    if body is None:
        return None
    told.project.run(FAILING, told.reply)
    return body | ({"verdict": "approve"} if body["kind"] == "wr.review_findings" else {})


def run_too_early(told: Told) -> Body | None:
    if _with_command(told.body, PASSING) is None:
        return None
    told.project.edit(EDITED)
    return told.body


def break_afterwards(told: Told) -> Body | None:
    """The check of an accepted list ran before this edit, and the verification names only a file."""
    if told.body["kind"] != "wr.verification_report" or not _has_proof(told):
        return None
    told.project.edit(EDITED)
    return _with_evidence(told.body, _PLACE)


def _has_proof(told: Told) -> bool:
    """Whether the last list of changes of the run names a command that really ran."""
    recorded = of_kind(events_of(told.project.runtime, told.reply), "evidence_recorded")
    claims = [event["data"]["claims"] for event in recorded]
    lists = [held for held in claims if any(one["check"] == "changed_in_run" for one in held)]
    last = lists[-1] if lists else []
    return any(one["check"] == "ran" and one.get("verdict", "holds") == "holds" for one in last)


def pass_refuted(told: Told) -> Body | None:
    match told.body["kind"]:
        case "wr.verification_report":
            refuted = told.body["claims"][0] | {"claim": "Yen is handled too.", "status": "refuted"}
            return told.body | {"verdict": "passed", "claims": [*told.body["claims"], refuted]}
        case "wr.review_findings":
            blocker = told.body["findings"][0] | {"severity": "blocker"}
            return told.body | {"verdict": "approve", "findings": [blocker]}
        case _:
            return None


def misname_change(told: Told) -> Body | None:
    if told.body["kind"] not in LISTS:
        return None
    files = [one | {"change": "added"} for one in told.body["files"]]
    return told.body | {"files": files}


def guard_nothing(told: Told) -> Body | None:
    return told.body | {"guard": PASSING} if told.body["kind"] == "wr.bug_fix" else None


def _with_evidence(body: Body, entry: Body) -> Body | None:
    match body["kind"]:
        case "wr.verification_report":
            return body | {"claims": [body["claims"][0] | {"evidence": [entry]}]}
        case "wr.review_findings":
            return body | {"findings": [body["findings"][0] | {"evidence": [entry]}]}
        case "wr.handoff":
            return body | {"evidence": [entry]}
        case "wr.cause" if entry["source"] == "file":
            return body | {"place": entry["ref"]}
        case _:
            return None


def _with_command(body: Body, line: str) -> Body | None:
    if body["kind"] in LISTS:
        return body | {"checks": [_CHECK | {"command": line}]}
    if body["kind"] == "wr.reproduction":
        return body | {"command": line, "exitCode": 0}
    return _with_evidence(body, _COMMAND | {"ref": line})


LIES: tuple[Lie, ...] = (
    Lie(name="empty notes", tells="the notes hold nothing", fact="needs notes; none came"),
    Lie(
        name="pasted example",
        tells="the printed example is sent as the report",
        fact="the text of the printed example",
        tell=paste_example,
    ),
    Lie(
        name="invented path",
        tells="a file is named that is not in the project",
        fact="src/invented.py is not in the project",
        tell=invent_path,
    ),
    Lie(
        name="wrong line",
        tells="a line is named that the file does not have",
        fact=f"{EDITED} has no line 4000",
        tell=misplace_line,
    ),
    Lie(
        name="wrong change",
        tells="a file that was modified is called added",
        fact=f"{EDITED} existed before this run; it was modified",
        tell=misname_change,
    ),
    Lie(
        name="omitted file",
        tells="a file that was changed is left out of the list",
        fact=BESIDE,
        tell=omit_file,
    ),
    Lie(
        name="wrong status",
        tells="a command that failed is reported as passed",
        fact=f"{FAILING}: it ended with exit 1, not exit 0",
        tell=misreport_status,
    ),
    Lie(
        name="guards nothing",
        tells="a test that never failed is called the guard of a fix",
        fact=f"{PASSING} passes, and no receipt of this run shows that it failed before",
        tell=guard_nothing,
    ),
    Lie(
        name="passed though refuted",
        tells="the verdict is passed, or approve, beside a refuted claim or a blocker",
        fact="cannot be ",
        tell=pass_refuted,
    ),
    Lie(
        name="run too early",
        tells="a file is edited after the command ran",
        fact=f"before files changed: {EDITED}",
        tell=run_too_early,
    ),
    Lie(
        name="broken afterwards",
        tells="a file is edited after the check, and the verification speaks of something else",
        fact=f"before files changed: {EDITED}",
        tell=break_afterwards,
    ),
    Lie(
        name="invented command",
        tells="a command is named that never ran",
        fact=f"Handrail has not seen {INVENTED} run",
        tell=invent_command,
    ),
)


# Playing


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a run."""

    end: Reply
    told: list[tuple[str, str, Outcome]]
    """Each lie that was told, in which kind of report, and what came of it."""
    blocks: int
    """How often an honest report was refused."""
    kinds: list[str]
    """What the steps asked for, in their order; empty: notes."""
    replies: list[Reply]
    """What was answered, from the start to the end."""


def play(
    place: Path,
    workflow_id: str,
    mode: str,
    *lies: Lie,
    verdict: str = "passed",
    runs_programs: bool = True,
) -> Played:
    """Play a workflow to its end, with these lies on the way.

    In a mode that stops, each lie is told once in each kind of report: refused, the liar tries the next one,
    and in the end what is true. In one that never stops the run goes on with the lie, so each is told once.
    """
    project = Project(place, workflow_id, verdict, runs_programs=runs_programs)
    reply = project.begin(workflow_id, mode)
    told: list[tuple[str, str, Outcome]] = []
    done: set[tuple[str, str]] = set()
    blocks = 0
    kinds: list[str] = []
    replies: list[Reply] = []
    for _ in range(MOST_CALLS):
        replies.append(reply)
        if reply["pending"] is None:
            return Played(end=reply, told=told, blocks=blocks, kinds=kinds, replies=replies)
        params = report_on(choosing(reply))
        honest = [project.look_true(one, reply) for one in params.get("output", {}).get("artifacts", ())]
        turn = Turn(project, reply, params, honest)
        kinds.append(turn.kind)
        for lie in lies:
            where = turn.kind if mode != NEVER_STOPS and lie.tell is not None else ""
            outcome = None if (lie.name, where) in done or turn.is_over else turn.tell(lie)
            if outcome is not None:
                done.add((lie.name, where))
                told.append((lie.name, turn.kind, outcome))
        if not turn.is_over:
            assert turn.send(turn.truth()) == ""
            blocks += not turn.is_over
        reply = turn.reply
    raise AssertionError(f"{workflow_id} did not end in {MOST_CALLS} calls")


def choosing(reply: Reply) -> Reply:
    """The reply with the option first that has the most work: who changes nothing has little to lie about."""
    call = reply["nextCall"]
    options = sorted(call.get("options", ()), key=lambda one: "fix_now" not in str(one))
    return reply | {"nextCall": call | {"options": options}} if options else reply


def play_all(place: Path, workflow_id: str, mode: str) -> list[Played]:
    """Runs in which every lie is told for which the workflow has room; all in one where lies are refused."""
    left, runs = LIES, list[Played]()
    while left:
        run = play(place / str(len(runs)), workflow_id, mode, *left)
        runs.append(run)
        named = {name for name, _, _ in run.told}
        if all(outcome == "refused" for _, _, outcome in run.told):
            break
        left = tuple(lie for lie in left if lie.name not in named)
    return runs


def sum_up(runs: list[Played]) -> dict[str, str]:
    """What came of each lie; the worst, where it was told several times."""
    found: dict[str, str] = {lie.name: "not asked" for lie in LIES}
    worth = ("not asked", "refused", "disclosed", "missed")
    for name, _, outcome in (one for run in runs for one in run.told):
        found[name] = max(found[name], outcome, key=worth.index)
    return found


class Turn:
    """One pending step: the honest report on it, and the lies before it."""

    def __init__(self, project: Project, reply: Reply, params: Body, honest: list[Body]) -> None:
        self.reply = reply
        self.is_over = False
        self.kind = honest[0]["kind"] if honest else ""
        self._project = project
        self._params = params
        self._honest = honest

    def truth(self) -> Body:
        """The honest report on the files as they are now."""
        output: Body = self._params.get("output", {})
        true = [self._look_again(one) for one in self._honest]
        return output | ({"artifacts": true} if true else {})

    def _look_again(self, body: Body) -> Body:
        project = self._project
        if body["kind"] in LISTS:
            project.run_checks(body["kind"], self.reply)
            return body | {"files": project.list_changed()}
        return project.look_true(body, self.reply)

    def tell(self, lie: Lie) -> Outcome | None:
        """What comes of the lie; None: it cannot be told here."""
        output = self.truth()
        if lie.tell is None:
            if "notesMarkdown" not in output:
                return None
            return self._judge(lie, output | {"notesMarkdown": ""})
        if not self._honest:
            return None
        body = lie.tell(Told(project=self._project, reply=self.reply, body=output["artifacts"][0]))
        return (
            None
            if body is None
            else self._judge(lie, output | {"artifacts": [body, *output["artifacts"][1:]]})
        )

    def _judge(self, lie: Lie, output: Body) -> Outcome:
        before = len(events_of(self._project.runtime, self.reply))
        error = self.send(output)
        if error:
            return "refused" if PLACEHOLDER_SENT in error else "missed"
        if not self.is_over:
            told = " ".join(one["message"] for one in self.reply["blockers"])
            return "refused" if lie.fact in told else "missed"
        events = events_of(self._project.runtime, self.reply)[before:]
        gaps = [event["data"]["summary"] for event in of_kind(events, "gap_recorded")]
        claims = [
            one.get("fact", "")
            for event in of_kind(events, "evidence_recorded")
            for one in event["data"]["claims"]
            if one.get("verdict", "holds") != "holds"
        ]
        return "disclosed" if any(lie.fact in text for text in (*gaps, *claims)) else "missed"

    def send(self, output: Body) -> str:
        """Make the call; refused, the turn goes on with the token for a retry. Returns what an error says."""
        params = self._params | ({"output": output} if output else {})
        sent = tool_call(self._project.runtime, self.reply["nextCall"]["tool"], **params)
        if sent.is_error:
            return sent.text
        self.reply = sent.structured
        self.is_over = self.reply["kind"] != "blocked"
        if not self.is_over:
            self._params = self._params | {"ackToken": self.reply["retryAckToken"]}
        return ""


# The table


CELLS = Path(__file__).with_name("cast_cells.json")


def read_cells() -> dict[str, dict[str, dict[str, str]]]:
    """What came of each lie, by workflow and mode, as it was recorded."""
    held: dict[str, dict[str, dict[str, str]]] = json.loads(CELLS.read_bytes())
    return held


def record_cells() -> None:
    """Play everything and record what came of it: `python -m tests.journeys.cast`."""
    cells: dict[str, dict[str, dict[str, str]]] = {}
    for workflow_id in IDS:
        with tempfile.TemporaryDirectory() as place:
            cells[workflow_id] = {
                mode: sum_up(play_all(Path(place, mode), workflow_id, mode)) for mode in MODES
            }
    CELLS.write_text(json.dumps(cells, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record_cells()
