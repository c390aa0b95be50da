"""What a command that ran later shows: gaps that it settles, and reports before it that it bears out. Pure.

A report is judged once, when it comes. A program that runs on the same files afterwards is the stronger word
about them, so what its report was worth is recorded again; and a gap that waits for a check is settled by
the check, and by no sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from handrail.contract.wording import make_readable, quote_for_shell
from handrail.engine.command_lines import NOTHING, Suggested, read_suggested
from handrail.engine.events import Claim, EvidenceRecorded, GapRecorded, ReceiptRecorded
from handrail.engine.history import History, Node, attached_to, way_to
from handrail.engine.judge.artifact_spots import Spot, write_pointer
from handrail.engine.judge.artifacts import list_evidence_rules
from handrail.engine.judge.command_identity import identify
from handrail.engine.judge.earlier_reports import FACT_BYTES
from handrail.engine.judge.evidence import find_expected_status, list_rows
from handrail.engine.judge.red_then_green import match_red_then_green, sort_tests
from handrail.engine.judge.run_claims import (
    explain_hidden_tests,
    find_check_receipts,
    find_receipts,
    judge_receipts,
    match_run,
)
from handrail.engine.judge.settling import list_unsettled, settle
from handrail.engine.judge.witnessed import Witnessed
from handrail.engine.reasons import shorten_message
from handrail.workflows.compiled import CompiledWorkflow
from handrail.workflows.evidence import Ran, RedThenGreen


def settle_by_runs(gaps: Iterable[GapRecorded], known: Witnessed | None) -> list[GapRecorded]:
    """The open gaps on the branch that wait for a check, and it passes on the present files."""
    if known is None or not known.receipts:
        return []
    found = []
    for gap in list_unsettled(gaps):
        waits = gap.waits_for
        if waits is None or waits.kind != "check":
            continue
        command = waits.values.get("command", "")
        guard = waits.values.get("guard", "")
        own = () if guard else _find_suggested_receipts(known, read_suggested(command))
        result = match_red_then_green(known, guard) if guard else judge_receipts(known, own, 0, NOTHING, "")
        if result.verdict == "holds":
            summary = f"{make_readable(command)} passed on the present files."
            found.append(settle(gap.gap_id, shorten_message(summary), result.refs))
    return found


def drop_disclosed(
    gaps: Iterable[GapRecorded], disclosed: Sequence[GapRecorded], known: Witnessed
) -> list[GapRecorded]:
    """The gaps about commands that no gap on the branch tells already, be it open or settled by a person.

    One fact is one gap, whichever reports name it; settled is what the person was shown, on those files.
    """
    own: dict[str, ReceiptRecorded] = {one.receipt_id: one for one in known.receipts}
    persons = {gap.resolves_gap_id for gap in disclosed if gap.reason == "settled_by_person"}
    settled = {gap.resolves_gap_id for gap in disclosed} - persons
    standing = [gap for gap in disclosed if gap.gap_id not in settled and gap.evidence_refs]
    facts = {(name_run(own, gap.evidence_refs), msgspec.json.encode(gap.waits_for)) for gap in standing}
    words = {gap.summary for gap in standing if gap.gap_id not in persons}
    found: list[GapRecorded] = []
    for gap in gaps:
        run, waits = name_run(own, gap.evidence_refs), msgspec.json.encode(gap.waits_for)
        if not run or ((run, waits) not in facts and gap.summary not in words):
            found.append(gap)
            facts |= {(run, waits)} if run and gap.waits_for is not None else set()
    return found


def name_run(own: Mapping[str, ReceiptRecorded], refs: Sequence[str]) -> tuple[str, ...]:
    """The command of the last receipt, on the files that it ran on: run there again, it says the same thing.

    Empty: none of them is a receipt.
    """
    receipt = next((own[ref] for ref in reversed(refs) if ref in own), None)
    return () if receipt is None else (*identify(receipt), receipt.tree_after)


def weigh_again(
    history: History, workflow: CompiledWorkflow, node: Node, known: Witnessed | None
) -> Iterator[EvidenceRecorded]:
    """Reports on the way that name a command which ran on their very files since, with what it showed."""
    if known is None or not known.sighting.tree or not known.receipts:
        return
    for held in way_to(history, node.node_id):
        recorded = history.evidence.get(held.node_id)
        if recorded is None or recorded.tree != known.sighting.tree or held.kind == "blocked_attempt":
            continue
        claims = tuple(_weigh_claim(history, workflow, held, claim, known) for claim in recorded.claims)
        if claims != recorded.claims:
            yield msgspec.structs.replace(recorded, claims=claims)


def _weigh_claim(
    history: History, workflow: CompiledWorkflow, node: Node, claim: Claim, known: Witnessed
) -> Claim:
    own = [one for one in known.receipts if one.receipt_id in claim.refs]
    is_strongest = any(one.by == "handrail" for one in own) and claim.verdict == "holds"
    is_strongest = is_strongest and not claim.unanswered
    is_run = claim.check in ("ran", "red_then_green")
    if not is_run or claim.verdict == "contradicted" or is_strongest:
        return claim
    for rule, body, (way, text, around) in _find_rows(history, workflow, node, claim):
        if explain_hidden_tests(known, text):
            break
        if isinstance(rule, RedThenGreen):
            result = match_red_then_green(known, text)
        else:
            expected = find_expected_status(rule, body, way, around)
            result = match_run(known, text, expected, around.get(rule.receipt) if rule.receipt else None)
        if result.refs and result.refs != claim.refs:
            levels = {"holds": "ran", "stale": "ran", "contradicted": "observed"}
            return msgspec.structs.replace(
                claim,
                level=levels.get(result.verdict, "claimed"),
                verdict=result.verdict,
                fact=shorten_message(result.fact, FACT_BYTES),
                refs=result.refs,
                **({"grown": (), "unanswered": ()} | sort_tests(known, result)),
            )
    return claim


def _find_rows(
    history: History, workflow: CompiledWorkflow, node: Node, claim: Claim
) -> Iterator[tuple[Ran | RedThenGreen, dict[str, Any], Spot]]:
    """The place of a report that a claim is about, with the rule that asks for its receipt."""
    for kept in attached_to(history, node.node_id).artifacts:
        if not claim.contract_ref or kept.artifact.contract_ref != claim.contract_ref:
            continue
        rules = list_evidence_rules(workflow, kept.artifact.kind, claim.contract_ref)
        kind = RedThenGreen if claim.check == "red_then_green" else Ran
        for rule in (one for one in rules if isinstance(one, kind)):
            for spot in list_rows(rule, kept.artifact.body):
                if write_pointer(spot[0]) == claim.pointer:
                    yield rule, kept.artifact.body, spot


def _find_suggested_receipts(known: Witnessed, asked: Suggested) -> tuple[ReceiptRecorded, ...]:
    """The receipts of what was suggested."""
    pinned = next((one for one in known.checks if one.name == asked.check), None)
    if pinned is not None:
        return find_check_receipts(known, pinned)
    enter = f"cd {quote_for_shell(asked.directory)} && " if asked.directory else ""
    return find_receipts(known, enter + asked.program) if asked.program else ()
