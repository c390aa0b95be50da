"""The line for the user when a run has ended: what was done, what it is worth, and what is left. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from handrail.contract.fence import flatten_text
from handrail.contract.ids import NodeId
from handrail.contract.wording import format_count
from handrail.engine.artifact_shapes import VERIFICATION_REPORT
from handrail.engine.children.tips import open_gaps
from handrail.engine.code_trees import find_baseline
from handrail.engine.events import Claim, EvidenceCheck, ReceiptRecorded
from handrail.engine.history import History, attached_to, list_receipts, not_run_at, way_to
from handrail.engine.judge.named_places import is_of_checks, sort_by_use
from handrail.engine.judge.run_claims import (
    OF_ANOTHER_RUN,
    is_command_of,
    name_folder,
    name_others,
    own_program,
    write_line,
)
from handrail.engine.messages import explain_gap
from handrail.engine.progress import count_not_run
from handrail.engine.receipts import compare_counts, describe_outcome, has_passed
from handrail.projections.evidence import (
    PlacedClaim,
    describe_sum_at,
    is_arrival,
    last_receipt,
    list_claims,
    receipt_of,
    receipts_by_id,
    text_of,
    worth_of,
)


def closing_line(history: History, name: str, node_id: NodeId) -> str:
    """How the run of the workflow of this name ended: what was done, what did not run, what is left."""
    not_run = not_run_at(history, node_id)
    gaps = open_gaps(history, node_id)
    parts = [
        f"{format_count(history.nodes[node_id].steps_done, 'step')} done",
        *([f"{count_not_run(not_run)} skipped"] if not_run.total else []),
        *filter(None, (tell(history, node_id) for tell in _OF_EVIDENCE)),
        *([f"{format_count(len(gaps), 'open gap')}, the first: {explain_gap(gaps[0])}"] if gaps else []),
    ]
    told = "; ".join(parts)
    return f"{flatten_text(name)} is finished: {told}" + ("" if told.endswith(".") else ".")


# What rests on the agent's word alone, at the end

MOST_NAMED = 5
LONGEST_NAMED = 32
ALL_CHECKED = "everything that can be checked was checked"
"""Where what ran is a check by the word of the project, or a person agreed: any program can end with 0."""
ALL_RAN = "every command that was named ran; none is a declared check (handrail setup --checks)"
_PROOFS: dict[EvidenceCheck, str] = {
    "ran": "a check that Handrail runs",
    "red_then_green": "a check that Handrail runs",
    "person": "a person's answer",
    "changed_in_run": "a look at the files",
    "path_exists": "a look at the files",
    "place_exists": "a look at the files",
}
"""What would show it. What no check is about is nobody's to prove."""
_OWN_RUNS: tuple[EvidenceCheck, ...] = ("ran", "red_then_green")


def describe_unproven(history: History, node_id: NodeId) -> str:
    """What rests on the agent's word alone and need not; or that everything was checked."""
    claims = [placed for placed in list_claims(history, node_id) if not is_arrival(placed.claim)]
    named: dict[str, str] = {}
    unprovable: dict[str, str] = {}
    doubted: list[str] = []
    for placed in claims:
        if _could_be_proven(placed.claim) and placed.claim.check == "red_then_green" and placed.claim.refs:
            doubted.append(placed.claim.fact)
        elif _could_be_proven(placed.claim):
            named.setdefault(_say_claim(history, placed), f"{_PROOFS[placed.claim.check]} would show it")
        elif worth_of(placed.claim) == "claimed":
            unprovable.setdefault(text_of(history, placed), "no check is about it")
    if not named and not doubted:
        return _say_all_checked(history, node_id, claims)
    if named:  # beside it, what nothing could show, so that the names are as many as the sum counts
        named |= {text: proof for text, proof in unprovable.items() if text not in named}
    proofs: dict[str, list[str]] = {}
    for text, proof in list(named.items())[:MOST_NAMED]:
        proofs.setdefault(proof, []).append(_cut(text))
    told = "; ".join(f"{', '.join(texts)} ({proof})" for proof, texts in proofs.items())
    more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
    said = [f"only the agent's word: {told}{more}"] if named else []
    return "; ".join([*said, *doubted[:MOST_NAMED]])


def _say_claim(history: History, placed: PlacedClaim) -> str:
    text = text_of(history, placed)
    return _without_folder(text) if placed.claim.check in _OWN_RUNS else text


def _say_all_checked(history: History, node_id: NodeId, claims: Sequence[PlacedClaim]) -> str:
    worths = {worth_of(placed.claim) for placed in claims}
    is_clear = worths.isdisjoint(("contradicted", "stale")) and not _list_unchecked(history, node_id)
    is_own = history.imported is None and not _has_changed_checks(history, claims)
    if not is_clear or not is_own or _list_still_failing(history, claims):
        return ""
    if "confirmed" in worths or any(_is_declared(history, placed) for placed in claims):
        return _name_commands(history, claims) + ALL_CHECKED
    return _name_commands(history, claims) + ALL_RAN if "ran" in worths else ""


def _is_declared(history: History, placed: PlacedClaim) -> bool:
    """Whether a claim rests on a check that the project declared when the run began, and it passed."""
    receipt = receipt_of(history, placed) if worth_of(placed.claim) == "ran" else None
    if receipt is None or not has_passed(receipt.outcome, receipt.counts, receipt.uncounted):
        return False
    return any(
        one.argv_digest == receipt.argv_digest
        and (one.name == receipt.check or (one.directory or ".") == receipt.directory)
        for one in history.runs[history.nodes[placed.node_id].run_id].checks
    )


def _list_still_failing(history: History, claims: Sequence[PlacedClaim]) -> list[str]:
    """Commands that reports name as failed, on purpose, and that did not pass since."""
    found: dict[str, None] = {}
    for placed in claims:
        shown = receipt_of(history, placed) if worth_of(placed.claim) == "ran" else None
        if shown is None or placed.claim.check != "ran":
            continue
        own = [one for one in receipts_by_id(history, placed.node_id).values() if is_command_of(one, shown)]
        if not has_passed(own[-1].outcome, own[-1].counts, own[-1].uncounted):
            found[_name_check(own[-1])] = None
    return list(found)


def _name_commands(history: History, claims: Sequence[PlacedClaim]) -> str:
    """What ran, and where: that everything was checked says no more than these commands look at."""
    names = _list_ran(history, claims)
    return f"what ran: {_list(names)}; " if names else ""


def _list_ran(history: History, claims: Sequence[PlacedClaim]) -> list[str]:
    ran = [receipt_of(history, one) for one in claims if worth_of(one.claim) == "ran"]
    return list(dict.fromkeys(_name_check(one) for one in ran if one is not None))


def _list_ran_elsewhere(history: History, claims: Sequence[PlacedClaim]) -> list[str]:
    """Of those that ran: what did so in another folder than the project's own."""
    ran = [one for one in claims if (held := receipt_of(history, one)) is not None and name_folder(held)]
    return _list_ran(history, ran)


def _name_check(receipt: ReceiptRecorded) -> str:
    return _cut(receipt.check or _without_folder(write_line(receipt))) + name_folder(receipt)


def _without_folder(line: str) -> str:
    """A command without where this machine keeps its program, which would leave no room for what it does."""
    program, space, rest = line.partition(" ")
    return (program.rpartition("/")[2] if program.startswith("/") else program) + space + rest


def _has_changed_checks(history: History, claims: Sequence[PlacedClaim]) -> bool:
    """Whether a check counts whose tests, configuration or program changed in the run, and nobody agreed.

    A source file that its command only names is what it checks.
    """
    for placed in reversed(claims):
        if worth_of(placed.claim) == "confirmed":
            return False
        receipt = receipt_of(history, placed) if placed.claim.check in _OWN_RUNS else None
        program = "" if receipt is None else own_program(receipt)
        if receipt is not None and any(is_of_checks(path) or path == program for path in placed.claim.paths):
            return True
    return False


def describe_beside(history: History, node_id: NodeId) -> str:
    """What nobody claims and a reader must know: tests that changed, what came by commits, what was left."""
    placed = list_claims(history, node_id)
    claims = [one.claim for one in placed]
    ran = {path for one in claims if one.check in _OWN_RUNS and one.verdict == "holds" for path in one.paths}
    arrived = [one for one in claims if is_arrival(one)]
    others = {path for one in arrived if one.fact.startswith(OF_ANOTHER_RUN) for path in one.paths}
    came = {path for one in arrived for path in one.paths} - others
    uses = {"tests": _TESTS if _are_counted(history, placed) else f"{_TESTS}, and nobody counted them before"}
    own = {
        uses.get(use, f"{use} of the checks changed"): paths
        for use, paths in sort_by_use(sorted(ran)).items()
    }
    told = own | {
        "not listed, by a commit, another branch or ignore rules": sorted(came),
        f"not listed, {OF_ANOTHER_RUN}": sorted(others),
        "passed without checking": _list_unchecked(history, node_id),
    }
    runs = {
        "failed, and did not pass since": _list_still_failing(history, placed),
        "in another folder": _list_ran_elsewhere(history, placed),
    }
    cut = {what: [_cut(name) for name in names] for what, names in told.items()}
    return "; ".join(f"{what}: {_list(names)}" for what, names in (cut | runs).items() if names)


_TESTS = "tests of the checks changed"


def _are_counted(history: History, claims: Sequence[PlacedClaim]) -> bool:
    """Whether it would be told if fewer ran than before: a command that reports rest on counted its tests on
    other files, too."""
    for placed in claims:
        shown = receipt_of(history, placed) if placed.claim.check in _OWN_RUNS else None
        own = () if shown is None else receipts_by_id(history, placed.node_id).values()
        if len({one.tree_after for one in own if one.counts and shown and is_command_of(one, shown)}) > 1:
            return True
    return False


def _list(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _list_unchecked(history: History, node_id: NodeId) -> list[str]:
    """What the last verification that passes says that it did not check."""
    for node in reversed(way_to(history, node_id)):
        for kept in attached_to(history, node.node_id).artifacts:
            body = kept.artifact.body
            if node.kind == "blocked_attempt" or kept.artifact.kind != VERIFICATION_REPORT:
                continue
            rows = body.get("notChecked") if body.get("verdict") == "passed" else None
            found = (
                [row.get("what") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
            )
            return [what for what in found if isinstance(what, str)]
    return []


def describe_late_look(history: History, node_id: NodeId) -> str:
    """Of a run whose first look was not made before its start was answered."""
    first = find_baseline(history, node_id)
    is_late = first is not None and first.fact.cause != "start"
    return "the files of its start were not recorded" if is_late else ""


def describe_fewer(history: History, node_id: NodeId) -> str:
    """Of commands that counted tests: where fewer ran in the end than at the start, or more were skipped."""
    counted: dict[tuple[str, str], list[ReceiptRecorded]] = {}
    for held in list_receipts(history, history.nodes[node_id].run_id):
        if held.fact.counts is not None:
            counted.setdefault((held.fact.argv_digest, held.fact.directory), []).append(held.fact)
    told = [(own[-1], compare_counts(own[0].counts, own[-1].counts)) for own in counted.values()]
    return "; ".join(f"{_name_check(one)}: {fewer}" for one, fewer in told if fewer)


def describe_opposite(history: History, node_id: NodeId) -> str:
    """Of commands that a report rests on: where they ended in more than one way on the same files."""
    own = receipts_by_id(history, node_id)
    rested = (last_receipt(own, placed.claim) for placed in list_claims(history, node_id))
    told: dict[str, None] = {}
    for one in (held for held in rested if held is not None and held.tree_after):
        same = [held for held in own.values() if held.tree_after == one.tree_after]
        if others := name_others(one, [held for held in same if is_command_of(held, one)]):
            told[f"{_name_check(one)}: {describe_outcome(one.outcome)}{others}"] = None
    return "; ".join(told)


def _could_be_proven(claim: Claim) -> bool:
    is_planned = claim.check in ("path_exists", "place_exists") and claim.verdict == "missing"
    return worth_of(claim) == "claimed" and claim.check in _PROOFS and not is_planned


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_NAMED else line[: LONGEST_NAMED - 1] + "…"


_OF_EVIDENCE = (
    describe_sum_at,
    describe_late_look,
    describe_beside,
    describe_fewer,
    describe_opposite,
    describe_unproven,
)
