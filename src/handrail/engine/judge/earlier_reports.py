"""What earlier reports of a run rest on, held against the present files, and its declared checks. Pure.

A receipt and a list of changes are true of the files they were made on. A run must not end as verified on
files that nobody checked, so a verification that passes, and the report that ends a run, look at them again.
The newest list of changes replaces what was said before it: a later step may change files again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from handrail.contract.outcome import Fault
from handrail.contract.wording import make_readable
from handrail.engine.artifact_shapes import VERIFICATION_REPORT
from handrail.engine.command_lines import NOTHING, Suggested, is_status_own
from handrail.engine.events import Claim, GapRecorded, ReceiptRecorded
from handrail.engine.facts import facts_after
from handrail.engine.history import (
    History,
    Node,
    attached_to,
    claims_at,
    instance_of,
    kept_in_instance,
    list_receipts,
    way_to,
)
from handrail.engine.judge.arrival import PersonsWord
from handrail.engine.judge.artifacts import Place, full_kind, judge_report, list_evidence_rules
from handrail.engine.judge.changed_claims import Comparison, find_named_files, locate
from handrail.engine.judge.command_identity import Identity, identify, is_command_of
from handrail.engine.judge.named_places import may_be_read
from handrail.engine.judge.red_then_green import sort_tests
from handrail.engine.judge.requirements import INVALID, MISSING
from handrail.engine.judge.run_claims import (
    choose_strongest,
    explain_unfinished,
    find_check_receipts,
    is_of_present_files,
    judge_receipts,
    list_paths,
    list_reports,
    name_others,
    stands_for_another,
    suggest_command,
    was_refused,
    write_line,
)
from handrail.engine.judge.witnessed import RunResult, Sighting, StandingClaims, Witnessed
from handrail.engine.messages import name_run, write_fix
from handrail.engine.navigate import Complete, Running, next_move
from handrail.engine.owners import is_imported
from handrail.engine.reasons import Reason, WaitsFor, WorkflowStep, shorten_message
from handrail.engine.receipts import (
    ELSEWHERE,
    UNPLACED,
    PinnedCheck,
    StatusUnknown,
    describe_outcome,
    has_passed,
)
from handrail.workflows.compiled import CompiledWorkflow
from handrail.workflows.evidence import ChangedInRun

FACT_BYTES = 300
LINE_BYTES = 2_048
MOST_PATHS_KEPT = 200
OLD_RUN = "/-"
"""The place of what is only told about a check: no report says it."""


def witness(
    history: History, workflow: CompiledWorkflow, node: Node, word: PersonsWord, sighting: Sighting
) -> Witnessed:
    """What was seen, with what the history holds: receipts and the checks that the run is pinned to."""
    instance = instance_of(history, node.node_id)
    refused = [held for held in kept_in_instance(history, instance) if held.kind == "blocked_attempt"]
    claims = [claim for held in refused for claim in claims_at(history, held.node_id)]
    receipts, checks = list_receipts(history, node.run_id), history.runs[node.run_id].checks
    return Witnessed(
        run_flag=name_run(history, node),
        standing=collect_standing(history, workflow, node),
        refused_receipts=frozenset(
            ref for claim in claims if claim.verdict in ("stale", "missing") for ref in claim.refs
        ),
        refuted_receipts=frozenset(
            ref for claim in claims if claim.verdict == "contradicted" for ref in claim.refs
        ),
        refused_places=frozenset(
            (claim.contract_ref, claim.pointer)
            for claim in claims
            if claim.verdict == "missing" and not claim.refs
        ),
        sighting=sighting,
        receipts=tuple(_hide_status(receipt.fact, checks) for receipt in receipts),
        imported=frozenset(one.fact.receipt_id for one in receipts if is_imported(history, one.index)),
        checks=checks,
        named_before=frozenset(
            path for claim in claims if claim.check == "changed_in_run" for path in claim.paths
        ),
        is_confirmed=word.is_given,
        is_declined=word.is_declined,
    )


def collect_standing(history: History, workflow: CompiledWorkflow, node: Node) -> StandingClaims:
    """What the accepted reports on the way to a node said about commands and changed files."""
    runs: dict[str, tuple[Claim, ...]] = {}
    lists: list[Claim] = []
    named: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    disclosed: frozenset[str] = frozenset()
    for held in way_to(history, node.node_id) if history.evidence else ():
        claims = () if held.kind == "blocked_attempt" else claims_at(history, held.node_id)
        listed = [claim for claim in claims if claim.check == "changed_in_run" and claim.verdict != "stale"]
        # A newer list of changes says that files changed, so proofs from before it are no longer looked at
        # here; the reports since it bring their own.
        if listed:
            runs, lists = {}, listed
            named = tuple(_read_named(history, workflow, held))
            left_out = tuple(_read_named(history, workflow, held, only_left_out=True))
            disclosed = frozenset(path for claim in listed for path in claim.paths)
        for ref in {claim.contract_ref for claim in claims}:
            own = [claim for claim in claims if claim.contract_ref == ref and _is_proof(claim)]
            runs |= {ref: tuple(own)} if own else {}
    return StandingClaims(
        runs=tuple(claim for own in runs.values() for claim in own),
        list_ref=lists[0].contract_ref if lists else "",
        named=named,
        left_out=left_out,
        disclosed=disclosed,
        is_list_seen=any(claim.level == "observed" and claim.verdict == "holds" for claim in lists),
    )


def _is_proof(claim: Claim) -> bool:
    return claim.check in ("ran", "red_then_green") and claim.verdict == "holds" and bool(claim.refs)


def _read_named(
    history: History, workflow: CompiledWorkflow, node: Node, *, only_left_out: bool = False
) -> list[str]:
    """Every path that the list of changes at a node names, or those that it leaves out."""
    found: list[str] = []
    for kept in attached_to(history, node.node_id).artifacts:
        for rule in list_evidence_rules(workflow, kept.artifact.kind, kept.artifact.contract_ref):
            if isinstance(rule, ChangedInRun):
                found += find_named_files(rule, kept.artifact.body, only_left_out=only_left_out)
    return found


def find_due_look(
    history: History,
    workflow: CompiledWorkflow,
    node: Node,
    place: Place,
    bodies: tuple[dict[str, Any], ...],
    context: dict[str, Any],
) -> StandingClaims | None:
    """What must be held against the present files, if this report may verify the run or end it; else None."""
    assert isinstance(node.state, Running), "only a pending step can be reported"
    standing = collect_standing(history, workflow, node)
    has_checked = any(held.fact.check for held in list_receipts(history, node.run_id))
    if not standing.runs and not standing.list_ref and not has_checked:
        return None
    if any(full_kind(str(body.get("kind", ""))) == VERIFICATION_REPORT for body in bodies):
        return standing
    good = [found.artifact for found in judge_report(place, bodies) if found.is_good]
    try:
        facts = facts_after(history, workflow, node, context, good)
        is_end = isinstance(next_move(workflow, node.state, facts).state, Complete)
    except Fault:  # the decision says what is wrong
        return None
    return standing if is_end else None


class Outdated(msgspec.Struct, frozen=True, kw_only=True):
    """Something that held when it was said, and does not any more."""

    claim: Claim
    command: Suggested = NOTHING
    """What to run again; empty: a list of changes."""


def find_outdated(known: Witnessed) -> list[Outdated]:
    """Of what earlier reports rest on: what the present files do not bear out."""
    return [*_find_old_runs(known), *_find_unlisted(known)]


def _find_old_runs(known: Witnessed) -> list[Outdated]:
    found: dict[Identity, Outdated] = {}
    by_id: dict[str, ReceiptRecorded] = {one.receipt_id: one for one in known.receipts}
    for claim in known.standing.runs:
        receipt = by_id.get(claim.refs[-1])
        if receipt is None or not has_passed(receipt.outcome, receipt.counts):
            continue  # a failure is shown on purpose
        result = _judge_again(known, receipt)
        if result.verdict == "stale":
            stale = msgspec.structs.replace(
                claim,
                verdict="stale",
                fact=shorten_message(result.fact, FACT_BYTES),
                refs=tuple(dict.fromkeys((*claim.refs, *result.refs))),
            )
            found.setdefault(identify(receipt), Outdated(claim=stale, command=result.command))
    return list(found.values())


def _judge_again(known: Witnessed, receipt: ReceiptRecorded) -> RunResult:
    """As it was judged then: a receipt that came with a bundle still tells when its files have changed."""
    known = msgspec.structs.replace(known, imported=frozenset())
    own = tuple(one for one in known.receipts if is_command_of(one, receipt))
    name = make_readable(receipt.check or write_line(receipt))[:120]
    return judge_receipts(known, own, None, _suggest_again(known, receipt), name)


def _find_unlisted(known: Witnessed) -> list[Outdated]:
    changes, standing = known.sighting.changes, known.standing
    if changes is None or not standing.list_ref:
        return []
    compared = Comparison(changes, known.sighting)
    unlisted, left = (
        tuple(path for path in map(make_readable, found) if path not in standing.disclosed)
        for found in (
            compared.find_unlisted([*standing.named, *list_reports(known.checks)]),
            compared.find_unlisted(standing.named, "branch"),
        )
    )
    own = Claim(
        contract_ref=standing.list_ref,
        pointer="/",
        check="changed_in_run",
        level="observed",
        verdict="stale",
        fact=shorten_message(f"changed since the list of changes: {list_paths(list(unlisted))}", FACT_BYTES),
        paths=unlisted[:MOST_PATHS_KEPT],
    )
    others = Claim(
        contract_ref=standing.list_ref,
        pointer="/-",
        check="changed_in_run",
        verdict="unknown",
        fact=shorten_message(
            f"left by another branch of this run and not listed: {list_paths(list(left))}", FACT_BYTES
        ),
        paths=left[:MOST_PATHS_KEPT],
    )
    return [Outdated(claim=claim) for claim in (own, others) if claim.paths]


def list_outdated_gaps(outdated: list[Outdated]) -> list[GapRecorded]:
    """Each waits for what would show it: a check for its next run, a list of changes for nothing by name."""
    start = "The last files are not those that were checked and listed: "
    return [make_gap(f"{start}{one.claim.fact}.", one.command, refs=one.claim.refs) for one in outdated]


def name_command(command: Suggested, guard: str = "") -> dict[str, str]:
    """What a check waits for; of a guard with its line, as it is to fail first. Both are read again."""
    values = {"command": command.line} | ({"guard": guard} if guard else {})
    return {name: shorten_message(line, LINE_BYTES) for name, line in values.items()}


def make_gap(
    summary: str, command: Suggested = NOTHING, guard: str = "", refs: Iterable[str] = ()
) -> GapRecorded:
    """What evidence discloses. The command would settle it, if it passed on the present files.

    `refs` are the receipts that it is about, and files that it names.
    """
    waits = WaitsFor(kind="check", values=name_command(command, guard)) if command.name else None
    return GapRecorded(
        gap_id="",
        severity="warning",
        reason="reported",
        summary=shorten_message(summary),
        evidence_refs=tuple(refs),
        waits_for=waits,
    )


def find_unseen(known: Witnessed) -> str:
    """Why what earlier reports rest on cannot be held against the present files; empty: it can."""
    sighting, standing = known.sighting, known.standing
    is_hidden = (bool(standing.runs) and not sighting.tree) or (
        standing.is_list_seen and sighting.changes is None
    )
    return sighting.trouble if is_hidden else ""


def weigh_end(known: Witnessed, own: tuple[Claim, ...]) -> tuple[list[Claim], list[GapRecorded]]:
    """What the files that a run ends on do not bear out, and what gaps say; `own` are of the last report."""
    known = msgspec.structs.replace(known, left_out=_find_free(known))
    why = find_unseen(known)
    sentence = f"What was checked and listed could not be held against the last files: {why}."
    unseen = [make_gap(sentence)] if why else []
    listed = {one.contract_ref for one in own if one.check == "changed_in_run" and one.verdict != "stale"}
    if listed:  # it replaces what was said before, and was held against these very files
        runs = tuple(claim for claim in own if _is_proof(claim))
        last = StandingClaims(runs=runs, list_ref=min(listed))
        return _name_old_runs(known, own), [
            *_list_failing_gaps(msgspec.structs.replace(known, standing=last)),
            *unseen,
        ]
    outdated = [one for one in find_outdated(known) if one.claim not in own]
    gaps = [*_list_failing_gaps(known), *list_outdated_gaps(outdated), *unseen]
    claims = [one.claim for one in outdated]
    return [*claims, *_name_old_runs(known, (*own, *claims))], gaps


def _find_free(known: Witnessed) -> frozenset[str]:
    """Files that the list of changes leaves out, and that no check reads: they make none stale at the end."""
    left_out = (locate(known.sighting, text).paths for text in known.standing.left_out)
    return frozenset(path for paths in left_out for path in paths if not may_be_read(path))


def _name_old_runs(known: Witnessed, own: Iterable[Claim]) -> list[Claim]:
    """Declared checks that ran, and not on the files that the run ends on: no claim of anybody."""
    judged = {ref for claim in own if claim.verdict in ("holds", "stale") for ref in claim.refs}
    found: list[Claim] = []
    for pinned in known.checks if known.sighting.tree else ():
        ran = [one for one in find_check_receipts(known, pinned) if not explain_unfinished(known, one)]
        is_old = not any(is_of_present_files(known, one) for one in ran)
        if is_old and judged.isdisjoint(one.receipt_id for one in ran):
            refs = tuple(one.receipt_id for one in ran[-1:])
            fact = f"{pinned.name} ran before files changed"
            found += (
                [Claim(pointer=OLD_RUN, check="ran", verdict="unknown", fact=fact, refs=refs)] if refs else []
            )
    return found


def _list_failing_gaps(known: Witnessed) -> list[GapRecorded]:
    return [
        make_gap(f"The run ends although {one.fact}.", one.command, refs=one.refs)
        for one in find_failing(known)
    ]


# Checks that fail at the end, and those that the project declares


class FailingCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A command that fails on the present files. A declared one must not; another may be meant to."""

    fact: str
    is_declared: bool
    is_flaky: bool
    """It passed on them too, by the same door."""
    refs: tuple[str, ...]
    command: Suggested
    """What to run again."""


def find_failing(known: Witnessed) -> list[FailingCheck]:
    """The commands of the last list and the declared checks that fail on the present files."""
    by_id: dict[str, ReceiptRecorded] = {one.receipt_id: one for one in known.receipts}
    listed = [
        by_id[claim.refs[-1]]
        for claim in known.standing.runs
        if claim.contract_ref == known.standing.list_ref and claim.refs[-1] in by_id
    ]
    groups = [tuple(one for one in known.receipts if is_command_of(one, held)) for held in listed]
    groups += [find_check_receipts(known, pinned) for pinned in known.checks]
    found: dict[str, FailingCheck] = {}
    for own in groups:
        here = [one for one in own if is_of_present_files(known, one) and not stands_for_another(known, one)]
        if not here or isinstance(here[-1].outcome, StatusUnknown):
            continue
        last = choose_strongest(here)
        if explain_unfinished(known, last):
            continue
        if not has_passed(last.outcome, last.counts, last.uncounted):
            name = last.check or make_readable(write_line(last))[:120]
            ended = describe_outcome(last.outcome)
            ended = "no test passed, or one failed" if ended == "exit 0" else ended
            is_flaky = any(one.by == last.by and has_passed(one.outcome, one.counts) for one in here)
            fact = f"{name} fails on the present files ({ended}, {last.receipt_id})"
            found[last.receipt_id] = FailingCheck(
                fact=fact + name_others(last, here),
                is_declared=bool(last.check),
                is_flaky=is_flaky,
                refs=(last.receipt_id,),
                command=_suggest_again(known, last),
            )
    return list(found.values())


def find_unrun_check(known: Witnessed) -> RunResult | None:
    """The first declared check, if none of them ran on the present files; None: one did, or there is none."""
    first: RunResult | None = None
    for pinned in known.checks:
        command = suggest_command(known, pinned.name)
        own = find_check_receipts(known, pinned)
        if not own and any(
            one.argv_digest == pinned.argv_digest and one.directory == UNPLACED for one in known.receipts
        ):
            return None  # a client's shell ran it, nobody knows where
        result = judge_receipts(known, own, None, command, f"the check {pinned.name}")
        if result.verdict not in ("missing", "stale"):
            return None
        first = first or result
    return first


def explain_rewriting(known: Witnessed, result: RunResult) -> str:
    """Why a receipt is stale again and again: checks that rewrite each other's files. Empty: it is not that.

    It is said once an attempt was refused for such a receipt, and the check ran again since.
    """
    if result.verdict != "stale":  # of one of the receipts
        return ""
    order: dict[str, int] = {one.receipt_id: at for at, one in enumerate(known.receipts)}
    receipt = known.receipts[order[result.refs[-1]]]
    refused = [known.receipts[order[ref]] for ref in known.refused_receipts if ref in order]
    if not any(_ran_after(known, one, order) for one in refused):
        return ""
    paths = {make_readable(path) for path in known.sighting.since.get(receipt.tree_after, ())}
    same = [one for one in known.receipts if is_command_of(one, receipt)]
    later = [one for one in known.receipts[order[receipt.receipt_id] + 1 :] if one not in same]
    own = {path for one in same for path in one.changed_meanwhile}
    others = {path for one in later for path in one.changed_meanwhile}
    if not paths or not paths <= others or own.isdisjoint(paths):
        return ""
    writer = next(one for one in reversed(later) if not paths.isdisjoint(one.changed_meanwhile))
    names = " and ".join(make_readable(one.check or write_line(one))[:60] for one in (receipt, writer))
    fact = f"each check rewrites {list_paths(sorted(paths))}: {names}"
    return f"{fact}; let git ignore it, or run both as one check"


def _ran_after(known: Witnessed, receipt: ReceiptRecorded, order: dict[str, int]) -> bool:
    return any(is_command_of(one, receipt) for one in known.receipts[order[receipt.receipt_id] + 1 :])


def weigh_step(step_id: str, check: str, known: Witnessed) -> tuple[Claim, Reason | None]:
    """The declared check that a step asks for, by its name."""
    pinned = next((one for one in known.checks if one.name == check), None)
    if pinned is None:
        fact = f"the project declared no check {check} when this run began"
        return Claim(pointer="/", check="ran", verdict="unknown", fact=fact), None
    own = find_check_receipts(known, pinned)
    result = judge_receipts(known, own, 0, Suggested(check=check), check)
    claim = Claim(
        pointer="/",
        check="ran",
        level="ran" if result.verdict in ("holds", "stale") else "claimed",
        verdict=result.verdict,
        fact=result.fact,
        refs=result.refs,
        **sort_tests(known, result),
    )
    if result.verdict in ("holds", "unknown") or (
        result.verdict != "contradicted" and was_refused(known, result)
    ):
        return claim, None
    message = f"This step needs the check {check} to pass on the present files: {result.fact}."
    waits = WaitsFor(
        kind="check",
        state="invalid" if result.verdict == "contradicted" else "missing",
        values={"step": step_id, "check": check} | name_command(result.command),
    )
    reason = Reason(
        name=INVALID if result.verdict == "contradicted" else MISSING,
        pointer=WorkflowStep(step_id=step_id),
        waits_for=waits,
        message=shorten_message(message),
        fix=write_fix(waits),
    )
    return claim, reason


def _hide_status(receipt: ReceiptRecorded, checks: tuple[PinnedCheck, ...]) -> ReceiptRecorded:
    """The receipt without a status that is not that of a program, unless the project declares the line so."""
    is_declared = any(one.argv_digest == receipt.argv_digest for one in checks)
    if is_declared or is_status_own(receipt.argv, receipt.check):
        return receipt
    return msgspec.structs.replace(receipt, outcome=StatusUnknown())


def _suggest_again(known: Witnessed, receipt: ReceiptRecorded) -> Suggested:
    """What a receipt is of, where it ran."""
    command = suggest_command(known, receipt.check or write_line(receipt))
    is_here = bool(receipt.check) or receipt.directory in (".", ELSEWHERE, UNPLACED)
    return command if is_here else msgspec.structs.replace(command, directory=receipt.directory)
