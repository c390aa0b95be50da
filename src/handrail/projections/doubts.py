"""Why a run is not clean, and what else its reader should know: coded doubts and facts. Pure.

The closing line, `session show` and the receipt read these two lists, and nothing beside them. Where there is
a doubt, neither is everything checked nor is the receipt PASSED. Each doubt and each fact is one sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Literal, TypeAlias, get_args

import msgspec

from handrail.contract.ids import NodeId, RunId
from handrail.contract.wording import format_count, list_names, spell_argv
from handrail.engine.artifact_shapes import VERIFICATION_REPORT
from handrail.engine.children.tips import open_gaps
from handrail.engine.code_trees import find_baseline, find_last_seen, list_unclear
from handrail.engine.command_lines import explain_not_run, prints_sum, reaches
from handrail.engine.events import Claim, EvidenceCheck, GapRecorded, ReceiptRecorded, TreeRecorded
from handrail.engine.history import History, Run, attached_to, gaps_at, list_receipts, way_to
from handrail.engine.judge.command_identity import Identity, identify, is_command_of, is_run_of
from handrail.engine.judge.later_runs import name_run
from handrail.engine.judge.named_places import (
    DECLARATIONS,
    Use,
    concerns,
    is_test_of,
    list_sparse_tests,
    names_ignore_rules,
    sort_by_use,
)
from handrail.engine.judge.red_then_green import has_broken_off, is_pass_of
from handrail.engine.judge.run_claims import (
    OF_ANOTHER_RUN,
    find_counts,
    has_failed,
    name_folder,
    name_others,
    own_program,
)
from handrail.engine.messages import explain_gap
from handrail.engine.navigate import Complete
from handrail.engine.receipts import PinnedCheck, compare_counts, describe_outcome, has_passed, name_owner
from handrail.projections.check_names import LONGEST_NAMED, cut_name, name_check, name_each, name_line, tick
from handrail.projections.evidence import (
    UNANSWERED,
    PlacedClaim,
    caveat_of,
    describe_settler,
    is_arrival,
    is_of_another_run,
    is_unshown,
    last_receipt,
    list_claims,
    list_judged,
    list_ran,
    list_settlements,
    receipts_by_id,
    sum_claims,
    text_of,
    worth_of,
)
from handrail.workflows.problem import value_at

Code: TypeAlias = Literal[
    "blocked",
    "unfinished",
    "contradicted",
    "gaps",
    "imported",
    "unrun",
    "failing",
    "left_failing",
    "changed_checks",
    "written_program",
    "unanswered",
    "began_changed",
    "sparse",
    "apart",
    "declared_here",
    "undeclared",
    "client",
    "program",
    "rules",
    "fewer",
    "opposite",
    "unshown",
    "silent",
]
AGREEABLE: frozenset[Code] = frozenset(get_args(Code)) - {
    *("blocked", "unfinished", "contradicted", "gaps", "imported", "failing", "opposite")
}
"""What a person can agree to at the end of a run. A gap is settled by itself; what fails stays in doubt."""
ALL_RAN = "every command that was named ran; none is a declared check (handrail setup --checks)"
_DOUBTS: dict[Code, str] = {
    "blocked": "the run is blocked",
    "unfinished": "the run is not finished",
    "contradicted": "in its reports: {}",
    "failing": "failed, and did not pass since: {}",
    "left_failing": "failed, and did not pass since: {}",
    "began_changed": "the run began on uncommitted changes of tests: {}",
    "sparse": "tests that the checkout leaves out since before the run: {}",
    "apart": "another repository in it changed: {}",
    "declared_here": "in no commit when the run began, and approved by nobody (handrail check approve): {}",
    "undeclared": "no declared check passed, only {} (for the next run: handrail setup --checks)",
    "client": "by the client's word alone: {}",
    "program": "another program than before: {}",
    "rules": "ignore rules outside of the commits changed in the run: {}",
    "silent": "runs tests and counted none, and nobody approved it (handrail check approve): {}",
}
"""Sentences of doubts; of the others each name is one."""
FactCode: TypeAlias = Literal[
    "late_look",
    "unchecked",
    "named_files",
    "agreed",
    "grown",
    "new_tests",
    "never_red",
    "not_loaded",
    "uncounted",
    "own_words",
    "not_run",
    "old_runs",
    "elsewhere",
    "arrived",
    "of_others",
    "settled",
]
NO_TEST_COUNTED = "counted no test"
_FACTS: dict[FactCode, str] = {
    "late_look": "the files of its start were not recorded",
    "unchecked": "passed without checking: {}",
    "named_files": "named files of the checks changed: {}",
    "agreed": "{}, and a person agreed",
    "grown": "tests of the checks that lost no line of the commit: {}",
    "new_tests": "new tests: {}",
    "never_red": "new tests, never seen to fail: {}",
    "not_loaded": "new tests, and a check only broke off before (nothing loaded): {}",
    "uncounted": f"{NO_TEST_COUNTED}: {{}}",
    "own_words": "counted by its own words: {}",
    "not_run": "declared, and not run: {}",
    "old_runs": "not run since the files changed: {}",
    "elsewhere": "in another folder: {}",
    "arrived": "not listed, by a commit or another branch: {}",
    "of_others": f"not listed, {OF_ANOTHER_RUN}: {{}}",
    "settled": "settled by {}",
}
OWN_RUNS: tuple[EvidenceCheck, ...] = ("ran", "red_then_green")


class Doubt(msgspec.Struct, frozen=True, kw_only=True):
    """One reason, and what it is about."""

    code: Code
    names: tuple[str, ...] = ()


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What the doubts and facts of a run at a node are read from."""

    history: History
    node_id: NodeId
    run: Run
    claims: Sequence[PlacedClaim]
    """What the agent claims; what arrived with others is beside it."""
    arrived: Sequence[Claim]
    receipts: Mapping[str, ReceiptRecorded]
    """Of the run, by their ids, oldest first."""
    ran: Sequence[tuple[PlacedClaim, ReceiptRecorded]]
    passed: Sequence[ReceiptRecorded]
    """Those that claims rest on."""
    pinned: Sequence[PinnedCheck]
    """The checks of the start that claims rest on, and they passed."""
    first: TreeRecorded | None
    agreed: Set[str]
    """Declared checks that a person approved: before the run, in it, or after its last report."""
    telling: Sequence[GapRecorded]
    """Gaps that tell their fact, so that no doubt does: the first open one, and those that people settled."""
    grown: Set[str]
    """Tests that only grew, by the newest report that tells of each."""

    def receipt_of(self, claim: Claim) -> ReceiptRecorded | None:
        return last_receipt(self.receipts, claim)

    def list_of_command(self, shown: ReceiptRecorded) -> list[ReceiptRecorded]:
        return [one for one in self.receipts.values() if is_command_of(one, shown)]

    def list_rested(self) -> list[ReceiptRecorded]:
        """The receipts of commands that reports name."""
        found = (self.receipt_of(one.claim) for one in self.claims if one.claim.check in OWN_RUNS)
        return [one for one in found if one is not None]


def gather_end(history: History, node_id: NodeId, approved: Sequence[str] = ()) -> RunEnd:
    """`approved` are checks that a person approved after the last report."""
    every, run = list_claims(history, node_id), history.runs[history.nodes[node_id].run_id]
    claims = [one for one in every if not is_arrival(one.claim)]
    ran, first = list_ran(history, claims), find_baseline(history, node_id)
    passed = [one for _, one in ran if has_passed(one.outcome, one.counts, one.uncounted)]
    judged = (history.evidence.get(node.node_id) for node in way_to(history, node_id))
    since = {name for one in judged if one is not None for name in one.approved}
    settled = {gap.resolves_gap_id for gap in list_settlements(history, node_id)}
    by_people = (gap for gap in gaps_at(history, node_id) if gap.gap_id in settled)
    return RunEnd(
        history=history,
        node_id=node_id,
        run=run,
        claims=claims,
        arrived=[one.claim for one in every if is_arrival(one.claim)],
        receipts=receipts_by_id(history, node_id),
        ran=ran,
        passed=passed,
        pinned=[one for one in run.checks if any(is_run_of(one, receipt) for receipt in passed)],
        first=None if first is None else first.fact,
        agreed={*approved, *since, *(one.name for one in run.checks if one.is_approved)},
        telling=[*open_gaps(history, node_id)[:1], *by_people],
        grown=_list_grown(claims),
    )


def _list_grown(claims: Sequence[PlacedClaim]) -> set[str]:
    newest: dict[str, NodeId] = {}
    found: set[str] = set()
    for placed in reversed(claims):
        for path in (*placed.claim.grown, *placed.claim.paths):
            if newest.setdefault(path, placed.node_id) == placed.node_id:
                found |= {path} & {*placed.claim.grown}
    return found


def describe_doubt(doubt: Doubt) -> str:
    """The sentence of a doubt, with what helps also after the end of the run."""
    is_change = doubt.code in ("changed_checks", "written_program")
    return _state_doubt(doubt) + (", and no person agreed (handrail session settle)" if is_change else "")


def _state_doubt(doubt: Doubt) -> str:
    return _DOUBTS.get(doubt.code, "{}").format(list_names(doubt.names))


def describe_fact(code: FactCode, names: Sequence[str]) -> str:
    return _FACTS[code].format(list_names(names))


def list_doubts(end: RunEnd) -> list[Doubt]:
    """Why the run is not clean at this node; empty: nothing that is known."""
    agreed = _list_agreed_codes(end)
    return [one for one in list_all_doubts(end) if one.code not in agreed]


def name_doubts(history: History, run_id: RunId) -> str:
    """By which a person agrees to the doubts of a run as they stand: once it records more, it has another."""
    nodes = sum(node.run_id == run_id for node in history.nodes.values())
    return f"{run_id}:{nodes + len(list_receipts(history, run_id))}"


def _list_agreed_codes(end: RunEnd) -> set[str]:
    """Of which doubts a person said that they may be."""
    settled = list_settlements(end.history, end.node_id)
    own = name_doubts(end.history, end.run.run_id) if settled else ""
    return {code for gap in settled if gap.resolves_gap_id == own for code in gap.evidence_refs}


def list_all_doubts(end: RunEnd) -> list[Doubt]:
    """With those that a person agreed to at the end."""
    history, gaps = end.history, open_gaps(end.history, end.node_id)
    judged = list_judged(history, end.node_id)
    evidence = sum_claims(history, end.node_id, [one for one in end.claims if one.node_id not in judged])
    against = {"contradicted": evidence.contradicted, "stale": evidence.stale}
    changed = _name_changed(end, _list_changed_files(end))
    found: dict[Code, Sequence[str]] = {
        "contradicted": [f"{count} {word}" for word, count in against.items() if count],
        "gaps": [f"{format_count(len(gaps), 'open gap')}, the first: {explain_gap(gaps[0])}"] if gaps else [],
        "imported": [caveat_of(history)] if caveat_of(history) else [],
        "unrun": _list_unrun(end),
        **{code: name_each(held) for code, held in find_still_failing(end).items()},
        "changed_checks": [changed[use] for use in changed if use in ("configuration", "modules", "tests")],
        "written_program": [changed[use] for use in changed if use == "program"],
        "unanswered": [*list_unanswered(end).values()],
        "began_changed": _list_uncommitted_tests(end),
        "sparse": _list_sparse_tests(end),
        "apart": _list_apart(end),
        "declared_here": _list_declared_here(end),
        "undeclared": _list_undeclared(end),
        "client": _list_by_client(end),
        "program": _list_other_programs(end),
        # Nobody knows what is behind rules that a repository was told outside of its commits.
        "rules": sorted({path for one in end.arrived for path in one.paths if names_ignore_rules(path)}),
        "fewer": _list_fewer(end),
        "opposite": _list_opposite(end),
        "unshown": _list_unshown(end),
        "silent": name_each(one for one in end.passed if is_silent(end, one)),
    }
    node, ended = history.nodes[end.node_id], list[Doubt]()
    if not isinstance(node.state, Complete):
        ended = [Doubt(code="blocked" if node.kind == "blocked_attempt" else "unfinished")]
    return ended + [Doubt(code=code, names=tuple(names)) for code, names in found.items() if names]


def _list_unrun(end: RunEnd) -> list[str]:
    """That a change rests on no command which ran, and what would show it where its reports name none."""
    is_named = any(one.claim.check in OWN_RUNS for one in end.claims)
    ran = end.receipts.values()
    is_declared = any(one.check or any(is_run_of(check, one) for check in end.run.checks) for one in ran)
    is_change = is_named or any(worth_of(one.claim) == "seen" for one in end.claims)
    if not is_change or is_declared or end.list_rested():
        return []
    return [describe_unrun(end) + ("" if is_named else " (handrail check run -- COMMAND)")]


def describe_unrun(end: RunEnd) -> str:
    return "no check that counts ran" if end.receipts else "no check ran"


def is_uncounted(end: RunEnd, ran: Sequence[ReceiptRecorded]) -> bool:
    """Whether what ran is worth its declaration alone: nobody counted a test, and no person approved it."""
    return bool(ran) and not any(one.counts for one in ran) and not list_relied(end, ran)


def is_silent(end: RunEnd, receipt: ReceiptRecorded) -> bool:
    """Whether a runner that says how many tests it ran said nothing: it may have ended before the first."""
    is_heard = receipt.by != "client_hook"
    return is_heard and prints_sum(receipt.argv) and is_uncounted(end, [receipt])


def list_relied(end: RunEnd, ran: Sequence[ReceiptRecorded]) -> list[str]:
    """Checks among what ran that a person approved."""
    own = (check for check in end.run.checks if check.name in end.agreed)
    return sorted(check.name for check in own if any(is_run_of(check, one) for one in ran))


def find_still_failing(end: RunEnd) -> dict[Code, list[ReceiptRecorded]]:
    """Commands that reports name as failed, or whose tests failed beside them, and that did not pass since.

    What a gap says is not said again. A person may agree to the latter: it may be about nothing of the run.
    """
    in_gaps = {name_run(end.receipts, gap.evidence_refs) for gap in end.telling}
    ran = list(end.receipts.values())
    last = [end.list_of_command(one)[-1] for placed, one in end.ran if placed.claim.check == "ran"]
    named = [one for one in last if not has_passed(one.outcome, one.counts, one.uncounted)]
    beside = [one for at, one in enumerate(ran) if not any(is_pass_of(later, one) for later in ran[at:])]
    left = [one for one in beside if not any(is_command_of(one, held) for held in named)]
    found: dict[Code, list[ReceiptRecorded]] = {"failing": named, "left_failing": left}
    return {
        code: [one for one in held if name_run(end.receipts, (one.receipt_id,)) not in in_gaps]
        for code, held in found.items()
    }


def _list_unchecked(end: RunEnd) -> list[str]:
    """What the last verification that passes says that it did not check."""
    for node in reversed(way_to(end.history, end.node_id)):
        for kept in attached_to(end.history, node.node_id).artifacts:
            body = kept.artifact.body
            if node.kind == "blocked_attempt" or kept.artifact.kind != VERIFICATION_REPORT:
                continue
            rows = body.get("notChecked") if body.get("verdict") == "passed" else None
            found = (
                [row.get("what") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            )
            return [what for what in found if isinstance(what, str)]
    return []


def _list_fewer(end: RunEnd) -> list[str]:
    """Of commands that counted tests: where fewer ran in the end than at the start, or more were skipped."""
    counted: dict[Identity, list[ReceiptRecorded]] = {}
    for one in end.receipts.values():
        if find_counts(one) is not None:
            counted.setdefault(identify(one), []).append(one)
    compared = [(own[-1], compare_counts(own[0].counts, find_counts(own[-1]))) for own in counted.values()]
    return [f"{tick(name_check(one))}: {fewer}" for one, fewer in compared if fewer]


def _list_opposite(end: RunEnd) -> list[str]:
    """Of commands that a report rests on: where they ended in more than one way on the same files."""
    rested = (end.receipt_of(placed.claim) for placed in end.claims)
    lines: dict[str, None] = {}
    for one in (held for held in rested if held is not None and held.tree_after):
        if others := name_others(
            one, [held for held in end.list_of_command(one) if held.tree_after == one.tree_after]
        ):
            lines[f"{tick(name_check(one))}: {describe_outcome(one.outcome)}{others}"] = None
    return list(lines)


def _list_changed_files(end: RunEnd) -> set[str]:
    """Files of checks that count, where they changed in the run and nobody agreed, nor does a gap say so.

    Tests that only grew were seen to fail.
    """
    found: set[str] = set()
    own = end.receipts
    in_gaps = {(name_run(own, gap.evidence_refs), path) for gap in end.telling for path in gap.evidence_refs}
    for placed in reversed(end.claims):
        if worth_of(placed.claim) == "confirmed":
            break
        receipt = end.receipt_of(placed.claim) if placed.claim.check in OWN_RUNS else None
        if receipt is None:
            continue
        # A gap tells of the files that it was recorded on: these may have changed since, and it ran again.
        last = [end.list_of_command(receipt)[-1].receipt_id]
        found |= {path for path in placed.claim.paths if (name_run(own, last), path) not in in_gaps}
    return found - end.grown


def _name_changed(end: RunEnd, paths: Iterable[str]) -> dict[Use, str]:
    """Files of checks that changed, by what they are to them; a source file that is only named is checked."""
    words = {"program": "program of the checks written in the run", "modules": "taken for modules of Python"}
    return {
        use: f"{words.get(use, f'{use} of the checks changed')}: {list_names(list(map(_cut_outside, names)))}"
        for use, names in sort_files(end, paths).items()
    }


def sort_files(end: RunEnd, paths: Iterable[str]) -> dict[Use, list[str]]:
    """Files by what they are to the commands that reports rest on."""
    ran = end.list_rested()
    programs = {path for one in ran for path in (own_program(one), one.program)}
    return sort_by_use(sorted(paths), programs, [(one.argv, one.directory) for one in ran])


def _cut_outside(path: str) -> str:
    """A path of this machine; of the project's own the whole is told."""
    return cut_name(path) if path.startswith(("/", "~/")) else path


def list_unanswered(end: RunEnd) -> dict[str, str]:
    """Commands that failed on the tests of the start and passed only with others, by their last report."""
    found: dict[str, tuple[str, ...]] = {}
    for placed in end.claims:
        if worth_of(placed.claim) == "confirmed":
            found.clear()
        is_run = worth_of(placed.claim) == "ran" or bool(placed.claim.unanswered)
        receipt = end.receipt_of(placed.claim) if is_run else None
        found |= {} if receipt is None else {name_check(receipt): placed.claim.unanswered}
    return {name: describe_unanswered(name, paths) for name, paths in found.items() if paths}


def describe_unanswered(name: str, paths: Sequence[str]) -> str:
    return f"{tick(name)} {UNANSWERED}: {list_names(paths)}"


def _list_uncommitted_tests(end: RunEnd) -> Sequence[str]:
    """What the checks test by, where the commit that the run began with has it otherwise."""
    uncommitted = () if end.first is None else end.first.uncommitted
    files = {path for path in uncommitted if path.partition("#")[0] != DECLARATIONS}
    own = {path for path in files for _, one in end.ran if _is_near(one, path)}
    return sorted(own - end.grown)


def _is_near(receipt: ReceiptRecorded, path: str) -> bool:
    return concerns(receipt.argv, receipt.directory, path)


def _list_sparse_tests(end: RunEnd) -> list[str]:
    """Tests that the commands which reports rest on may come to, and that the checkout leaves out."""
    return [
        path
        for path in (() if end.first is None else list_sparse_tests(end.first.apart))
        if any(reaches(one.argv, one.directory, path) and _is_near(one, path) for _, one in end.ran)
    ]


def _list_apart(end: RunEnd) -> list[str]:
    """Repositories inside the project that are not as the run found them."""
    last = find_last_seen(end.history, end.node_id)
    return [] if end.first is None or last is None else list_unclear(end.first.apart, last.fact.apart)


def _list_declared_here(end: RunEnd) -> list[str]:
    """Declared checks that count, where only the files of the start have the declaration."""
    own = (one for one in end.pinned if is_declared_here(end, one.name))
    return [f"{tick(one.name)} ({name_line(spell_argv(one.argv))})" for one in own]


def is_declared_here(end: RunEnd, name: str) -> bool:
    """Whether no commit had the declaration when the run began, and no person approved it."""
    uncommitted = () if end.first is None else end.first.uncommitted
    is_new = DECLARATIONS in uncommitted or f"{DECLARATIONS}#{name}" in uncommitted
    return is_new and name not in end.agreed


def _list_undeclared(end: RunEnd) -> list[str]:
    """What ran, where none of it is a check by the word of the project and no person agreed.

    Any program can end with 0, also under a name that the project declares only since the run began.
    """
    if end.pinned or any(worth_of(placed.claim) == "confirmed" for placed in end.claims):
        return []
    ran = (one for one in end.receipts.values() if has_passed(one.outcome, one.counts, one.uncounted))
    named = (one for one in ran if one.check and not any(is_run_of(check, one) for check in end.run.checks))
    return name_each([*end.passed, *named])


def list_facts(end: RunEnd) -> dict[FactCode, list[str]]:
    """What a reader should know and is no doubt, such as tests that came or grew, and what people settled.

    What a test shows is known where it failed once. One that is new since a failure is told as changed.
    """
    history, ran = end.history, end.ran
    own = [held for _, shown in ran for held in end.list_of_command(shown)]
    is_red, is_broken = any(map(has_failed, own)), any(map(has_broken_off, own))
    named = {path for one, _ in ran for path in (*one.claim.paths, *one.claim.grown, *one.claim.unanswered)}
    listed = [one for one in end.claims if ran and worth_of(one.claim) == "seen"]
    seen = {text_of(history, one): _read_change(history, one) for one in listed}
    new: FactCode = "new_tests" if is_red else "not_loaded" if is_broken else "never_red"
    others = {path for one in end.arrived if is_of_another_run(one) for path in one.paths}
    came = {path for one in end.arrived for path in one.paths if not names_ignore_rules(path)}
    found: dict[FactCode, list[str]] = {
        "late_look": [end.first.cause] if end.first is not None and end.first.cause != "start" else [],
        "unchecked": _list_unchecked(end),
        **_list_agreed_files(end),
        "grown": sorted(end.grown),
        new: sorted({path for _, one in ran for path in _list_new_tests(one, seen)} - named),
        "uncounted": name_each(
            one for one in end.passed if is_uncounted(end, [one]) and not is_silent(end, one)
        ),
        "own_words": name_each(one for one in end.passed if one.counts and name_owner(one.counts)),
        "not_run": _list_not_run(end) if ran else [],
        "old_runs": _list_old_runs(end),
        "elsewhere": name_each(one for one in end.passed if name_folder(one)),
        "arrived": sorted(came - others),
        "of_others": sorted(others),
        "settled": list(
            dict.fromkeys(
                f"{describe_settler(gap)}: {gap.summary}" for gap in list_settlements(history, end.node_id)
            )
        ),
    }
    return {code: names for code, names in found.items() if names}


def _read_change(history: History, placed: PlacedClaim) -> str:
    """In which way a listed file changed, by the report."""
    row, kept = placed.claim.pointer.rpartition("/")[0], attached_to(history, placed.node_id).artifacts
    return next((str(value_at(one.artifact.body, f"{row}/change")) for one in kept), "")


def _list_new_tests(receipt: ReceiptRecorded, seen: Mapping[str, str]) -> list[str]:
    argv, place = receipt.argv, receipt.directory
    own = [path for path in seen if is_test_of(argv, path, place) and seen[path] != "deleted"]
    return [path for path in own if seen[path] == "added" or _is_near(receipt, path)]


def _list_not_run(end: RunEnd) -> list[str]:
    """Checks that the project declared when the run began, and that ran in no run of the session."""
    every = (held.fact for run_id in end.history.runs for held in list_receipts(end.history, run_id))
    ran = [one for one in every if not explain_not_run(one.argv, one.outcome, one.counts)]
    return [tick(check.name) for check in end.run.checks if not any(is_run_of(check, one) for one in ran)]


def _list_old_runs(end: RunEnd) -> list[str]:
    """Declared checks whose last run was on other files than those that the run ended on."""
    found = (end.receipt_of(one) for one in end.arrived if one.check == "ran")
    return name_each(one for one in found if one is not None and end.list_of_command(one)[-1] is one)


def _list_agreed_files(end: RunEnd) -> dict[FactCode, list[str]]:
    """Files of checks that changed and are no doubt: they are only named, or a person agreed; and other
    doubts that a person agreed to.
    """
    runs = (one.claim for one in end.claims if one.claim.check in OWN_RUNS and one.claim.verdict == "holds")
    every = {path for one in runs for path in one.paths} - end.grown
    in_gaps = {path for gap in open_gaps(end.history, end.node_id)[:1] for path in gap.evidence_refs}
    changed = _name_changed(end, every - _list_changed_files(end) - in_gaps)
    codes = _list_agreed_codes(end)
    doubts = [one for one in list_all_doubts(end) if one.code in codes] if codes else []
    agreed = [words for use, words in changed.items() if use != "named files"]
    return {
        "named_files": sort_files(end, every).get("named files", []),
        "agreed": [*agreed, *map(_state_doubt, doubts)],
    }


def _list_unshown(end: RunEnd) -> list[str]:
    """Why a guard is not shown to guard anything, as far as no gap and no unanswered failure says it."""
    failures = {one.claim.refs[-1] for one in end.claims if one.claim.unanswered}
    guards = [gap for gap in end.telling if gap.waits_for is not None and "guard" in gap.waits_for.values]
    in_gaps = {name_run(end.receipts, gap.evidence_refs) for gap in guards}
    unshown = [placed.claim for placed in end.claims if is_unshown(placed.claim)]
    own = [one for one in unshown if one.refs[-1] not in failures]
    return list(dict.fromkeys(one.fact for one in own if name_run(end.receipts, one.refs) not in in_gaps))


def _list_by_client(end: RunEnd) -> list[str]:
    refs = (ref for one, _ in end.ran for ref in one.claim.refs if ref in end.receipts)
    return name_each(end.receipts[ref] for ref in refs if end.receipts[ref].by == "client_hook")


def _list_other_programs(end: RunEnd) -> list[str]:
    """Programs from outside the project that are others than those which the same words started before."""
    found: dict[str, None] = {}
    for _, shown in end.ran:
        outside = [one for one in end.list_of_command(shown) if one.program_digest and not own_program(one)]
        if shown in outside and len({one.program_digest for one in outside}) > 1:
            found[f"{tick(name_check(shown))} by {shown.program[-LONGEST_NAMED:]}"] = None
    return list(found)
