"""The runs of one proof: which trees they need, which runs the rules require, and the cache of results."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from handrail.contract.json.canonical import digest
from handrail.contract.outcome import Json, make_from
from handrail.contract.printed_text import redact_line, redact_lines, show_line, strip_escapes
from handrail.contract.wording import list_names, make_readable, make_readable_json
from handrail.evidence.change import Change, Entry, RunName, list_broken, list_mixed, list_run, split_change
from handrail.evidence.file_sets import MixedContent, make_patterns
from handrail.evidence.proof import Proof, ProofSubject
from handrail.evidence.proving import RUN_LABELS, ProofTask, RunNext, Step, decide
from handrail.evidence.runs import RanCase, RunResult, UnloadedFile
from handrail.operations.checks.compared_ends import SETTINGS_FILE, Ends, FoundCheck, Untried
from handrail.operations.declared_checks import digest_check
from handrail.ports.trees import GitEntry
from handrail.ports.trials import StopReason, TrialCheck, TrialResult, TrialRoom
from handrail.ports.workspace import DeclaredCheck
from handrail.ports.worktree import Unseen
from handrail.runtime.runtime import ReadPorts, WritePorts

_RUNS: Final[tuple[RunName, ...]] = (
    *("tests_after_code_after", "tests_after_code_before"),
    *("tests_before_code_after", "tests_before_code_before"),
    "rules_after",
)
_NARROWED: Final[frozenset[Step]] = frozenset(
    {"tests_after_code_before", "tests_before_code_after", "tests_before_code_before", "repeat"}
)
FILES = "{files}"
"""The word in a narrow command that is replaced by test files."""
_FORM = 1
"""Version of the stored results; results of another version are never read."""


class ProofAsk(msgspec.Struct, frozen=True, kw_only=True):
    """One check, and how to prove it."""

    found: FoundCheck
    ends: Ends
    is_in_place: bool = False
    is_fresh: bool = False
    """Whether results of earlier proofs are ignored."""
    most_ms: int = 0
    """How long all its runs may take together; 0 for as long as the call."""


def prove_check(rt: WritePorts, project: str, ask: ProofAsk) -> Proof:
    """Run one check on the files at both ends, as often as its word needs."""
    check, ends = ask.found.check, ask.ends
    subject = ProofSubject(
        check=check.name,
        command=show_line(rt.secrets, check.command, check.environment, check.directory),
        base=ends.base,
        head=ends.head,
    )
    remarks = (*ask.found.remarks, *ends.remarks)
    try:
        change = split_ends(rt, project, check, ends)
        trees = build_trees(rt, project, change, ends)
    except Untried as trouble:
        return Proof(
            word="not_tried", reason=str(trouble), remarks=remarks, **msgspec.structs.asdict(subject)
        )
    task = ProofTask(
        change=change,
        trees=trees,
        seconds=check.timeout_seconds,
        may_run_in_place=ends.taken is not None and not ask.is_in_place,
        subject=subject,
        remarks=(*remarks, *_describe_sets(change)),
    )
    opened = rt.trials().open(
        project,
        make_trial_check(check),
        is_in_place=ask.is_in_place,
        stop_reason=_make_stop(rt, ask.most_ms),
    )
    with opened as room:
        runner = _Runner(rt, check, task, room, is_fresh=ask.is_fresh)
        proof = runner.run_all()
    if check.name and runner.end_ms is not None:
        rt.known_checks().keep_run(project, digest_check(check), runner.end_ms)
    return _hide_secrets(rt, proof, start=ends.start)


def _make_stop(rt: ReadPorts, most_ms: int) -> Callable[[], StopReason]:
    """Return a function that says why a run must end: the end of the call, or of the time for all runs."""
    if not most_ms:
        return rt.interruptions.stop_reason
    ends_at = rt.clock.monotonic_ms() + most_ms

    def find_reason() -> StopReason:
        return rt.interruptions.stop_reason() or ("deadline" if rt.clock.monotonic_ms() >= ends_at else "")

    return find_reason


def _hide_secrets(rt: ReadPorts, proof: Proof, start: str) -> Proof:
    """Return the proof with its texts from outside made safe to show."""
    reason = redact_line(strip_escapes(proof.reason), rt.secrets)
    if not proof.cells.tests_after_code_after.exit_status and reason.startswith("nothing changed"):
        reason = f"nothing changed since {start}; name an earlier start with --base"
    names = tuple(redact_line(strip_escapes(make_readable(name)), rt.secrets) for name in proof.names)
    return msgspec.structs.replace(proof, reason=reason, names=names)


def make_trial_check(check: DeclaredCheck) -> TrialCheck:
    return make_from(TrialCheck, check)


# The change, and the trees of its runs


def split_ends(rt: ReadPorts, project: str, check: DeclaredCheck, ends: Ends) -> Change:
    """Return the change from the point of view of this check."""
    before, after = _list_entries(ends.before), _list_entries(ends.after)
    folder = "" if check.directory == "." else f"{check.directory}/"
    manifest = before.get(f"{folder}package.json")
    mixed = list_mixed(before, after)
    wanted = {side[path][1] for path in mixed for side in (before, after) if path in side}
    held = rt.trees().read_all(project, {*wanted, *(() if manifest is None else (manifest[1],))})

    def find(side: Mapping[str, Entry], path: str) -> bytes | None:
        return held.get(side[path][1]) if path in side else None

    patterns = make_patterns(
        check.command,
        check.directory,
        check.tests,
        b"" if manifest is None else held.get(manifest[1], b""),
        before.keys() | after.keys(),
    )
    contents = {path: MixedContent(before=find(before, path), after=find(after, path)) for path in mixed}
    return split_change(before, after, patterns, contents)


def _list_entries(entries: Mapping[str, GitEntry]) -> dict[str, Entry]:
    return {path: (one.mode, one.object_id) for path, one in entries.items()}


def build_trees(rt: ReadPorts, project: str, change: Change, ends: Ends) -> dict[RunName, str]:
    """Return the tree of each run; equal files have equal trees. Raise Untried."""
    made = {
        frozenset(_list_entries(entries).items()): tree
        for entries, tree in ((ends.before, ends.base), (ends.after, ends.head))
    }
    trees: dict[RunName, str] = {}
    for run in _RUNS:
        entries = list_run(change, run)
        key = frozenset(entries.items())
        if key not in made:
            made[key] = _build(rt, project, entries, ends)
        trees[run] = made[key]
    return trees


def _build(rt: ReadPorts, project: str, entries: Mapping[str, Entry], ends: Ends) -> str:
    sides = {path: (ends.after.get(path), ends.before.get(path)) for path in entries}
    rows = [
        next(one for one in sides[path] if one is not None and (one.mode, one.object_id) == entry)
        for path, entry in entries.items()
    ]
    built = rt.trees().build(project, rows)
    if isinstance(built, Unseen):
        raise Untried(f"the files of a run could not be put together: {built.reason}")
    return built


def _describe_sets(change: Change) -> list[str]:
    remarks = []
    if change.dependencies:
        names = list_names(list(map(make_readable, change.dependencies)))
        remarks.append(f"dependencies are those of the end in every run: {names}")
    rules = [make_readable(path) for path in change.rules if path != SETTINGS_FILE]
    if rules:
        names = list_names(rules)
        remarks.append(f"check rules are those of the start in every run: {names}")
    return remarks


# Running the next step of a proof


class _Runner:
    """Runs the trials of one proof, each once."""

    def __init__(
        self, rt: ReadPorts, check: DeclaredCheck, task: ProofTask, room: TrialRoom, *, is_fresh: bool
    ) -> None:
        self._rt = rt
        self._check = check
        self._question = task
        self._room = room
        self._is_fresh = is_fresh
        self._results: dict[Step, RunResult] = {}
        self._remembered = 0
        self._is_narrowed = False
        self.end_ms: int | None = None
        """How long the check took on the files of the end; None if it did not finish."""

    def run_all(self) -> Proof:
        while isinstance(following := decide(self._question, self._results), RunNext):
            self._results[following.step] = self._run(following.step)
        remarks = list(following.remarks)
        if self._is_narrowed:
            remarks.append("after the first run, only the changed test files were run")
        if self._remembered:
            count = f"{self._remembered} of {len(self._results)} runs"
            remarks.append(f"{count} are remembered from an earlier proof; --fresh runs them again")
        return msgspec.structs.replace(following, remarks=tuple(remarks))

    def _run(self, step: Step) -> RunResult:
        if step == "in_place":
            self._announce(step)
            return make_run_result(self._room.run_in_place())
        command = self._narrow(step)
        key = self._make_key(step, command)
        kept = None if self._is_fresh else self._rt.trial_results().find(key)
        if kept is not None:
            self._remembered += 1
            return self._widen(msgspec.structs.replace(make_run_result(kept), duration_ms=0), command)
        self._announce(step)
        result = self._room.run(self._find_tree(step), replaced=self._list_replaced(step), command=command)
        if result.state in ("passed", "failed"):
            if step == "tests_after_code_after":
                self.end_ms = result.duration_ms
            lines = redact_lines(result.tail.split("\n"), self._rt.secrets)
            unloaded = tuple(
                msgspec.structs.replace(one, trouble=redact_line(one.trouble, self._rt.secrets))
                for one in result.unloaded
            )
            kept = msgspec.structs.replace(result, tail="\n".join(lines), unloaded=unloaded)
            self._rt.trial_results().keep(key, kept)
        return self._widen(make_run_result(result), command)

    # The narrow form of a check: after the end was green, only the test files that differ

    def _narrow(self, step: Step) -> tuple[str, ...]:
        """Return the command for the changed test files alone; empty if this run needs all of them."""
        end, change = self._results.get("tests_after_code_after"), self._question.change
        if not self._check.narrow or end is None or end.cases is None or step not in _NARROWED:
            return ()
        known = {case.file for case in end.cases}
        if not change.tests or not known.issuperset(change.tests):
            return ()
        side = change.before if step.startswith("tests_before") else change.after
        files = [posixpath.relpath(path, self._check.directory) for path in change.tests if path in side]
        if not files:
            return ()
        return tuple(one for word in self._check.narrow for one in (files if word == FILES else (word,)))

    def _widen(self, result: RunResult, command: tuple[str, ...]) -> RunResult:
        """Return the result of a narrow run, with the cases of all other files taken
        from the run at the end.
        """
        end = self._results.get("tests_after_code_after")
        if not command or result.cases is None or end is None or end.cases is None:
            return result
        self._is_narrowed = True
        changed = frozenset(self._question.change.tests)
        others = tuple(case for case in end.cases if case.file not in changed)
        own = tuple(case for case in result.cases if case.file in changed)
        return msgspec.structs.replace(result, cases=(*own, *others))

    def _announce(self, step: Step) -> None:
        name = f"{self._check.name}: " if self._check.name else ""
        self._rt.progress.write(f"handrail: {name}run {len(self._results) + 1}, {RUN_LABELS[step]}\n")

    def _find_tree(self, step: Step) -> str:
        match step:
            case "control":
                return self._question.trees["tests_after_code_after"]
            case "repeat":
                return self._question.trees["tests_after_code_before"]
            case "in_place":
                return ""
            case _:
                return self._question.trees[step]

    def _list_replaced(self, step: Step) -> Mapping[str, bytes]:
        return list_broken(self._question.change) if step == "control" else {}

    def _make_key(self, step: Step, command: tuple[str, ...]) -> str:
        """Return a key that names everything that decides the result."""
        check: dict[str, Json] = msgspec.to_builtins(make_trial_check(self._check))
        return digest(
            {
                "form": _FORM,
                "check": make_readable_json(check),
                "tree": self._find_tree(step),
                "narrow": make_readable_json(list(command)),
                "replaced": sorted(self._list_replaced(step)),
                "environment": self._room.environment,
                "isolation": self._room.isolation,
                "repeat": step == "repeat",
            }
        )


def make_run_result(result: TrialResult) -> RunResult:
    cases = None if result.cases is None else tuple(make_from(RanCase, case) for case in result.cases)
    unloaded = tuple(make_from(UnloadedFile, one) for one in result.unloaded)
    return make_from(RunResult, result, cases=cases, unloaded=unloaded)
