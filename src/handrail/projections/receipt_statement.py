"""What a run proved, as a statement that travels: an in-toto test result about a commit. Pure.

The statement is the test result of in-toto (v0.1): whether the checks passed, which ones did. What Handrail
knows beside that is in its member `handrailRun`, which other readers ignore.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from handrail.contract.credential_files import holds_credentials
from handrail.contract.dsse import STATEMENT_TYPE
from handrail.contract.ids import NodeId
from handrail.contract.wording import list_names, make_readable, spell_argv
from handrail.engine.children.joins import list_parts, name_workers
from handrail.engine.command_lines import explain_not_run, is_status_own
from handrail.engine.events import ReceiptRecorded
from handrail.engine.history import (
    History,
    Run,
    attached_to,
    list_confirmations,
    list_receipts,
    way_to,
)
from handrail.engine.judge.command_identity import Identity, identify, is_command_of, is_run_of
from handrail.engine.judge.named_places import is_test_file
from handrail.engine.judge.red_then_green import (
    DIFFERS,
    NOT_FOUND,
    describe_guard,
    describe_guard_doubt,
    find_doubt,
    is_check_of,
    may_guard,
)
from handrail.engine.judge.run_claims import choose_strongest, choose_weakest, find_red, write_line
from handrail.engine.judge.witnessed import Turn, Turns
from handrail.engine.owners import is_imported
from handrail.engine.receipts import Counts, Exited, compare_counts, describe_outcome, has_passed, name_owner
from handrail.projections.check_names import name_check, tick
from handrail.projections.doubts import (
    NO_TEST_COUNTED,
    FactCode,
    RunEnd,
    describe_doubt,
    describe_fact,
    describe_unrun,
    find_still_failing,
    gather_end,
    is_uncounted,
    list_doubts,
    list_facts,
    list_relied,
    list_unanswered,
    sort_files,
)
from handrail.projections.evidence import (
    PERSON_DOORS,
    RECEIPT_DOORS,
    PlacedClaim,
    is_from_elsewhere,
    level_of,
    list_claims,
    list_settlements,
    list_words,
    sum_evidence,
    text_of,
)
from handrail.projections.run_graph import run_graph
from handrail.workflows.compiled import CompiledBase

TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
MOST_CHECKS = 20
MOST_NAMED = 100
MOST_PARTS = 64
"""Pieces of work that were handed out."""
_MOST_PARTS_SHOWN = 16
_LONGEST_TEXT = 200
_LONGEST_LINE = 60
CAVEAT = (
    "Whoever can use the account that holds this key can sign. A receipt says which commands ran and how "
    "they ended on these files, not that they were good ones: nobody looked into scripts that a script "
    "starts, what git ignores, what an interpreter loads from the user's folders, what was committed before."
)


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What the statement is about, and how far each receipt is."""

    project: str
    commit: str
    tree: str
    """Git's id of all files of the commit."""
    differing: Mapping[str, tuple[str, ...] | None]
    """By the tree of a receipt: paths that are other ones in the commit; None: they could not be compared."""
    tests: tuple[str, ...]
    """Tests that the commit has otherwise than the one that the run began with."""
    turns: Turns
    approved: tuple[str, ...]
    """Checks that a person approved since the run began."""
    environments: Mapping[str, tuple[str, ...]] = {}
    """By the digest of what a declaration sets: its variables, as NAME=value."""
    last: tuple[str, ...] | None
    """Paths that are other ones in the commit than when the run last saw them; None: that is not known."""


def state_run(
    history: History, run: Run, base: CompiledBase | None, subject: Subject, made_at: str, version: str
) -> dict[str, Any]:
    """The statement of a run about a commit, with a section for each piece of work that it handed out."""
    stated: dict[str, Any] = {
        "v": 1,
        "handrail": version,
        "madeAt": made_at,
        "session": history.session_id,
        **_state_work(history, run, base, subject),
        "says": CAVEAT,
    }
    children = [
        {"child": name, "worker": name_workers(part), **_state_work(history, part, None, subject)}
        for name, part in list_all_parts(history, run)
    ]
    stated |= {"children": children} if children else {}
    checks = [*stated["checks"], *_list_checks_of_children(stated["checks"], children)]
    passed = [check["name"] for check in checks if check["hasPassed"]]
    failed = [check["name"] for check in checks if not check["hasPassed"] and not check["notRun"]]
    is_clean = all(check["isOnCommit"] for check in checks) and not subject.last
    is_clean = is_clean and (bool(checks) or subject.last is not None)
    doubts = _list_doubts(history, run, checks, subject)
    stated |= {"isClean": is_clean, "doubts": doubts}
    return {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": subject.project, "digest": {"gitCommit": subject.commit, "gitTree": subject.tree}}
        ],
        "predicateType": TEST_RESULT,
        "predicate": {
            "result": "FAILED" if failed else "PASSED" if passed and is_clean and not doubts else "WARNED",
            "configuration": [
                {"name": check["name"], "digest": {"sha256": check["argvDigest"].removeprefix("sha256:")}}
                for check in checks
            ],
            "passedTests": passed,
            "failedTests": failed,
            "handrailRun": stated,
        },
    }


def _list_doubts(history: History, run: Run, checks: Sequence[dict[str, Any]], subject: Subject) -> list[str]:
    """Why it is not PASSED, one sentence each: what failed, is of other files, or was left open."""
    end = gather_end(history, run_graph(history, run.run_id).preferred_tip, subject.approved)
    doubts = list_doubts(end)
    codes = {one.code for one in doubts}
    named = [one for code, held in find_still_failing(end).items() if code in codes for one in held]
    stated = {ref for ref, held in end.receipts.items() if any(is_command_of(one, held) for one in named)}
    ran = [one for one in checks if not one["notRun"]]
    failed = [one for one in ran if not one["hasPassed"] and one["receipt"] not in stated]
    reasons = [f"{tick(one['name'])} did not pass" for one in failed]
    off = [tick(one["name"]) for one in ran if not one["isOnCommit"]]
    reasons += [] if ran or codes & {"unrun", "undeclared"} else [describe_unrun(end)]
    if off and not subject.last:
        reasons.append(f"on other files than those of the commit: the check {', '.join(off)}")
    if subject.last:
        left = ", ".join(_name_paths(subject.last)) or "files of credentials"
        reasons.append(f"the run left other files than the commit has: {left}")
    reasons += map(describe_doubt, doubts)
    return [_cut(one) for one in reasons[:MOST_NAMED]]


def _state_work(history: History, run: Run, base: CompiledBase | None, subject: Subject) -> dict[str, Any]:
    """What one run proved."""
    graph = run_graph(history, run.run_id)
    tip = graph.preferred_tip
    end = gather_end(history, tip, subject.approved)
    evidence, ran = sum_evidence(history, tip), find_counting_receipts(history, run, subject)
    claimed = {ref for one in end.claims if one.claim.check == "red_then_green" for ref in one.claim.refs}
    only_ran = {ref for one in end.claims for ref in one.claim.refs}
    only_ran |= {one.receipt_id for one in ran if not may_guard(one)}
    facts = {code: _leave_credentials(names) for code, names in list_facts(end).items()}
    unanswered = list_unanswered(end)
    words = list_words(history, [one for one in end.claims if not _is_of_credentials(history, one)])
    guards = [
        _state_guard(red, green, subject, unanswered.get(name_check(green), ""))
        | {"isTold": green.receipt_id in claimed}
        for red, green in find_guards(history, run, ran, subject.turns)
    ]
    return {
        "run": run.run_id,
        "workflow": {"id": run.workflow_id, "hash": run.workflow_hash},
        "status": graph.status,
        "checks": [_state_check(history, run, one, subject) for one in ran],
        "isCounted": not is_uncounted(end, ran),
        "approvedChecks": list_relied(end, ran),
        # What shows nothing is nobody's claim where reports say only that it ran.
        "redThenGreen": [one for one in guards if one["holds"] or one["receipt"] not in only_ran - claimed],
        "testsTouched": _name_touched_tests(end, subject),
        "leftOut": [*_list_left_out_steps(base), *_list_left_out(history, tip)],
        "onlyAgentsWord": [_cut(text) for text in words[:MOST_NAMED]],
        "confirmedBy": [*_list_people(history, run), *_list_settlers(history, tip)][:MOST_NAMED],
        "told": {code: _cut(describe_fact(code, names)) for code, names in facts.items() if names},
        "evidence": {} if evidence is None else msgspec.to_builtins(evidence),
    }


def list_all_parts(history: History, run: Run, above: str = "") -> list[tuple[str, Run]]:
    """The work that a run handed out and that counts, each with its name, and what that handed out."""
    found: list[tuple[str, Run]] = []
    for part in list_parts(history, run):
        name = f"{above}{part.name}"
        found += [(name, part.run), *list_all_parts(history, part.run, f"{name}/")]
    return found[:MOST_PARTS]


def _list_checks_of_children(
    own: Sequence[dict[str, Any]], children: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Checks of children that count for the commit, under their names: on its files, or not passed.

    What the run itself ran again stands for itself, and what passed on other files proves nothing here.
    """
    again = {(check["argvDigest"], check["directory"]) for check in own}
    return [
        {**check, "name": f"{child['child']}: {check['name']}"}
        for child in children
        for check in child["checks"]
        if (check["argvDigest"], check["directory"]) not in again
        and (check["isOnCommit"] or not check["hasPassed"])
    ]


def find_counting_receipts(history: History, run: Run, subject: Subject) -> list[ReceiptRecorded]:
    """Of each declared check, and of each command that an accepted report rests on: the receipt on the files
    of the commit, else the last."""
    tip = run_graph(history, run.run_id).preferred_tip
    used = {ref for placed in list_claims(history, tip) for ref in placed.claim.refs[-1:]}
    here = _list_here(history, run)
    counts = {one.receipt_id for one in here if one.check and find_declared(run, one)} | used
    named = {identify(one) for one in here if one.receipt_id in counts}
    groups: dict[Identity, list[ReceiptRecorded]] = {}
    for one in here:
        groups.setdefault(identify(one), []).append(one)
    return [_choose_counting(own, subject) for key, own in groups.items() if key in named][-MOST_CHECKS:]


def find_declared(run: Run, one: ReceiptRecorded) -> str:
    """Under which name the project declared it when the run began; empty: it did not."""
    is_steered = bool(one.steering) and not one.check
    names = [check.name for check in run.checks if not is_steered and is_run_of(check, one)]
    return one.check if one.check in names else next(iter(names), "")


def _list_here(history: History, run: Run) -> list[ReceiptRecorded]:
    """What was seen on this machine: what an import brought is its sender's word."""
    return [held.fact for held in list_receipts(history, run.run_id) if not is_imported(history, held.index)]


def _has_passed(one: ReceiptRecorded) -> bool:
    is_own = is_status_own(one.argv, one.check)
    return is_own and not _explain_not_run(one) and has_passed(one.outcome, one.counts, one.uncounted)


def _explain_not_run(one: ReceiptRecorded) -> str:
    """Why it has neither passed nor failed; empty: something ran."""
    why = one.uncounted if one.outcome == Exited(status=0) else ""
    return explain_not_run(one.argv, one.outcome, one.counts) or why


def _choose_counting(own: Sequence[ReceiptRecorded], subject: Subject) -> ReceiptRecorded:
    """On the files of the commit, else on those of the last one: the strongest door."""
    here = [one for one in own if _is_on_commit(one, subject)]
    return choose_strongest(here or [one for one in own if one.tree_after == own[-1].tree_after])


def _is_on_commit(one: ReceiptRecorded, subject: Subject) -> bool:
    return subject.differing.get(one.tree_after) == () and not one.changed_meanwhile


def _state_check(history: History, run: Run, one: ReceiptRecorded, subject: Subject) -> dict[str, Any]:
    same = [
        held.fact
        for held in list_receipts(history, run.run_id)
        if identify(held.fact) == identify(one) and held.fact.counts is not None
    ]
    first = same[0].counts if same else None
    differing = subject.differing.get(one.tree_after)
    declared = find_declared(run, one)
    return {
        "name": declared or _cut(write_line(one)),
        "isDeclared": bool(declared),
        "command": [_cut(word) for word in one.argv],
        "argvDigest": one.argv_digest,
        "directory": _cut(one.directory),
        "environment": _find_environment(one, subject),
        "program": _cut(one.program),
        "programDigest": one.program_digest,
        "outcome": describe_outcome(one.outcome),
        "hasPassed": _has_passed(one),
        "notRun": _cut(_explain_not_run(one)),
        "counts": None if one.counts is None else msgspec.to_builtins(one.counts),
        "countsBefore": None if first is None else msgspec.to_builtins(first),
        "fewer": compare_counts(first, one.counts),
        "door": RECEIPT_DOORS[one.by],
        "receipt": one.receipt_id,
        "outputDigest": one.output_digest,
        "filesBefore": one.tree_before,
        "files": one.tree_after,
        "isOnCommit": _is_on_commit(one, subject),
        "differs": None if differing is None else _name_paths(differing),
        "steering": dict(one.steering),
    }


def find_guards(
    history: History, run: Run, counting: Sequence[ReceiptRecorded], turns: Turns
) -> list[tuple[ReceiptRecorded, ReceiptRecorded]]:
    """Where a check that counts passes now and failed before: the red receipt and the green one."""
    here = _list_here(history, run)
    found = []
    for green in counting:
        own = [one for one in here if is_check_of(one, green)]
        red = find_red(own, green, turns) if _has_passed(green) else None
        found += [] if red is None else [(red, green)]
    return found


def _state_guard(
    red: ReceiptRecorded, green: ReceiptRecorded, subject: Subject, unanswered: str
) -> dict[str, Any]:
    turn = subject.turns.get(red.receipt_id)
    paths, name = list(turn.since if turn else ()), green.check or write_line(green)
    found = find_doubt(red, green, turn or Turn())
    doubt = unanswered or ("" if found is None else describe_guard_doubt(found, name))
    if not paths:
        doubt = f"`{name}` failed before and passes now, and {NOT_FOUND}"
    return {
        "command": _cut(write_line(green)),
        "receipt": green.receipt_id,
        "red": red.tree_after,
        "green": green.tree_after,
        "differs": _name_paths(paths) if turn else None,
        "door": RECEIPT_DOORS[choose_weakest((red, green)).by],
        "holds": not doubt,
        "fact": _cut(doubt or describe_guard(red, _leave_credentials(paths))),
    }


def _find_environment(one: ReceiptRecorded, subject: Subject) -> list[str] | None:
    """The variables that its declaration sets; None: it set some, and is not declared so any more."""
    if not one.environment_digest:
        return []
    found = subject.environments.get(one.environment_digest)
    return None if found is None else list(map(_cut, found))


def _name_touched_tests(end: RunEnd, subject: Subject) -> list[str]:
    listed = (one for one in end.claims if one.claim.check == "changed_in_run")
    seen = {text_of(end.history, one) for one in listed if level_of(one.claim) == "seen"}
    ran = [placed.claim for placed in end.claims if level_of(placed.claim) == "ran"]
    uses = sort_files(end, {path for claim in ran for path in (*claim.paths, *claim.unanswered)})
    own = [*uses.get("configuration", ()), *uses.get("tests", ())]
    return _name_paths(sorted({*own, *subject.tests, *filter(is_test_file, seen)}))


def _list_left_out_steps(base: CompiledBase | None) -> list[dict[str, str]]:
    """Steps of an overlay's base that have to prove or ask something, and do not do it as the base says."""
    if base is None:
        return []
    done = {"skip": "skips", "replace": "rewrites"}
    return [
        {"step": _cut(one.id), "why": _cut(f"the overlay {done[one.how]} this step of {base.id}")}
        for one in base.left_out[:MOST_NAMED]
    ]


def _list_left_out(history: History, tip: Any) -> list[dict[str, str]]:
    found: dict[str, str] = {}
    for node in way_to(history, tip):
        for kept in attached_to(history, node.node_id).artifacts:
            rows = kept.artifact.body.get("leftOut")
            for row in rows if isinstance(rows, list) else ():
                if isinstance(row, dict) and isinstance(row.get("path"), str):
                    found[row["path"]] = str(row.get("why", ""))
    named = [path for path in found if not holds_credentials(path)]
    return [{"path": _cut(path), "why": _cut(found[path])} for path in named[:MOST_NAMED]]


def _list_people(history: History, run: Run) -> list[dict[str, str]]:
    last = {one.fact.node_id: one for one in list_confirmations(history, run.run_id)}
    return [
        {"who": one.fact.who, "door": PERSON_DOORS[one.fact.door], "node": node_id, "at": one.at}
        for node_id, one in last.items()
        if one.fact.answer == "confirmed" and not is_imported(history, one.index)
    ]


def _list_settlers(history: History, tip: NodeId) -> list[dict[str, str]]:
    """Who settled a gap, and what they wrote: that is a person's word about what the gap tells."""
    return [
        {
            "who": one.who,
            "door": PERSON_DOORS[one.door] if one.door else "",
            "node": one.node_id or "",
            "settled": one.resolves_gap_id,
            "note": _cut(one.summary),
        }
        for one in list_settlements(history, tip)
        if one.node_id is None or not is_from_elsewhere(history, one.node_id)
    ]


def _name_paths(paths: Sequence[str]) -> list[str]:
    return [_cut(path) for path in _leave_credentials(paths)][:MOST_NAMED]


def _leave_credentials(names: Sequence[str]) -> list[str]:
    return [name for name in names if not holds_credentials(name)]


def _is_of_credentials(history: History, placed: PlacedClaim) -> bool:
    """Whether a claim is about such a file; a sentence about credentials is none."""
    path = text_of(history, placed).partition(":")[0]
    return placed.claim.check in ("changed_in_run", "path_exists", "place_exists") and holds_credentials(path)


def _cut(text: str) -> str:
    return make_readable(text)[:_LONGEST_TEXT]


# Reading one


class Stated(msgspec.Struct, frozen=True, kw_only=True):
    """What a statement of ours is about."""

    commit: str
    tree: str
    result: str
    is_clean: bool
    checks: tuple[dict[str, Any], ...]


def read_statement(statement: dict[str, Any]) -> Stated | None:
    """What it is about; None: it is none of ours."""
    try:
        (subject,) = statement["subject"]
        predicate = statement["predicate"]
        run = predicate["handrailRun"]
        if statement["predicateType"] != TEST_RESULT or run["v"] != 1:
            return None
        return msgspec.convert(
            {
                "commit": subject["digest"]["gitCommit"],
                "tree": subject["digest"]["gitTree"],
                "result": predicate["result"],
                "is_clean": run["isClean"],
                "checks": run["checks"],
            },
            Stated,
        )
    except (KeyError, TypeError, ValueError, msgspec.MsgspecError):
        return None


# The same for people


def write_markdown(statement: dict[str, Any], place: str) -> str:
    """Ten lines for a pull request, one for what is in doubt, and one for each piece of work handed out.

    `place` is where the signed statement is, if it is known.
    """
    run = statement["predicate"]["handrailRun"]
    commit = statement["subject"][0]["digest"]["gitCommit"]
    name = statement["subject"][0]["name"]
    checks = "; ".join(map(_describe_own_check, run["checks"])) or "none"
    checks += "" if run.get("isCounted", True) else f", which {NO_TEST_COUNTED}"
    guards = "; ".join(map(_describe_guard, run["redThenGreen"]))
    people = ", ".join(dict.fromkeys(map(_describe_person, run["confirmedBy"]))) or "nobody"
    elsewhere = (*_SHOWN_ELSEWHERE, *(() if run.get("isCounted", True) else ("uncounted",)))
    facts = [_plain(text) for code, text in run.get("told", {}).items() if code not in elsewhere]
    agreed = ", ".join(map(_code, run.get("approvedChecks", ())))
    people += f"; a person approved the check {agreed}" if agreed else ""
    words = list_names([_plain(one) for one in run["onlyAgentsWord"]], "; ")
    tests = list_names([_code(one) for one in run["testsTouched"]])
    left = list_names([_code(one.get("path") or one["step"]) for one in run["leftOut"]])
    signed = f" ([signed receipt](<{place}>))" if place else ""
    named = "FILE" if not place or "://" in place else place
    lines = [
        f"### Receipt: {statement['predicate']['result']} on `{commit[:12]}` of {_plain(name)}{signed}",
        "",
        *([f"- Why it is not PASSED: {'; '.join(map(_plain, run['doubts']))}"] if run["doubts"] else []),
        f"- Checks{', on exactly these files' if run['isClean'] else ''}: {checks}",
        f"- Failed before, passes now: {guards or 'nothing'}",
        "; ".join([f"- Tests changed: {tests or 'none'}", f"left out: {left or 'none'}", *facts]),
        f"- Confirmed by: {people}",
        f"- Only the agent's word: {words or 'nothing'}",
        *_describe_children(run.get("children", [])),
        f"- Run: `{run['workflow']['id']}`, {run['status']}, session `{run['session']}`",
        f"- To check it: `handrail receipt verify {named} --commit {commit[:12]} --key PUB`",
        f"- {CAVEAT}",
    ]
    return "\n".join(lines) + "\n"


_SHOWN_ELSEWHERE: tuple[FactCode, ...] = ("elsewhere", "own_words", "settled")
"""Facts that another line of the Markdown has: that of the checks, or of people."""


def _describe_person(one: dict[str, str]) -> str:
    note = f": {one['note']}" if one.get("note") else ""
    return _plain(f"{one['who']} ({one['door']}){note}")


def _describe_children(children: Sequence[dict[str, Any]]) -> list[str]:
    if not children:
        return []
    lines = ["- Handed out, and what each could prove:"]
    for child in children[:_MOST_PARTS_SHOWN]:
        worker = f", done by {_plain(child['worker'])} by their own word" if child["worker"] else ""
        checks = "; ".join(map(_describe_check_of_child, child["checks"])) or "no check"
        words = len(child["onlyAgentsWord"])
        unproven = f"; only the agent's word: {words}" if words else ""
        lines.append(f"  - {_plain(child['child'])} ({child['status']}{worker}): {checks}{unproven}")
    more = len(children) - _MOST_PARTS_SHOWN
    return [*lines, *([f"  - {more} more, in the signed receipt"] if more > 0 else [])]


def _describe_own_check(check: dict[str, Any], fewer: str = "") -> str:
    off = "" if check["isOnCommit"] else ", on other files than those of the commit"
    return _describe_check(check) + fewer + off


def _describe_check_of_child(check: dict[str, Any]) -> str:
    return _describe_own_check(check, f" ({_plain(check['fewer'])})" if check["fewer"] else "")


def _describe_check(check: dict[str, Any]) -> str:
    counts = check["counts"]
    counted = "" if counts is None else f", {counts['passed']} passed, {counts['failed']} failed"
    more = {"skipped": "skipped", "xfailed": "failed as expected", "errors": "errors"}
    others = [(counts[name], word) for name, word in more.items() if counts and counts.get(name)]
    counted += "".join(f", {number} {word}" for number, word in others)
    counted += "" if counts is None else name_owner(msgspec.convert(counts, Counts))
    verdict = "passed" if check["hasPassed"] else "not run" if check.get("notRun") else "not passed"
    where = "" if check["directory"] == "." else f" in {_code(check['directory'])}"
    environment = check.get("environment", ())
    sets = ", with variables of its declaration" if environment is None else ""
    line = _code(_cut_line(spell_argv(check["command"], environment or ())))
    where = f" ({line}{where}{sets})" if check["isDeclared"] else where
    by = f"{check['door']} with {_code(check['program'])}" if check["program"] else check["door"]
    return f"{_code(check['name'])}{where} {verdict} ({check['outcome']}{counted}, by {by})"


def _cut_line(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def _describe_guard(guard: dict[str, Any]) -> str:
    if not guard["holds"]:
        return f"not shown: {_code(guard['command']) if guard.get('isTold') else _plain(guard['fact'])}"
    differs = list_names([_code(one) for one in guard["differs"]])
    by = "" if guard["door"] == "handrail" else f", by {guard['door']}"
    return f"{_code(guard['command'])} ({DIFFERS}: {differs}{by})"


def _code(text: str) -> str:
    return "`" + " ".join(text.replace("`", "'").split()) + "`"


def _plain(text: str) -> str:
    """Outside text in a line of Markdown: nothing in it is a link, a heading or HTML."""
    flat = " ".join(text.split())
    return re.sub(r"[\\`*\[\]<>#|!~@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", flat)
