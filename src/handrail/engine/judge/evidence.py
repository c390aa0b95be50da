"""What a report is worth: each claim against what was seen, what ran, and the printed example. Pure.

The problem: a well-formed report can be invented. The schema cannot tell, and the rules are pure, so they
cannot look.

The idea: looking comes first, outside. `plan_look` says which places a report names and whether the whole
tree matters; the operation looks once, before the lock, and hands the facts in as a `Witnessed` value.
`weigh` holds every rule of `Contract.evidence` against it and gives each place a verdict. A contradiction
becomes a fault of the artifact, a required receipt that is not there becomes a reason; everything else is
recorded and shown, and never stops anybody.

The invariants: without a `Witnessed` value (a simulation, a replay) nothing is weighed. What could not be
seen is `unknown`: it never blocks and never counts as verified. A verdict is recorded with the attempt it
belongs to, so that no reader looks again.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator
from typing import Any, assert_never

import msgspec

from handrail.contract.wording import make_readable
from handrail.engine.artifact_shapes import VERIFICATION_REPORT
from handrail.engine.command_lines import NOTHING, Suggested
from handrail.engine.events import Claim, EvidenceCheck, GapRecorded
from handrail.engine.judge.arrival import DECLINED, NOT_CONFIRMED
from handrail.engine.judge.artifact_spots import Spot, find_spots, write_pointer
from handrail.engine.judge.artifacts import ISSUE_BYTES, JudgedArtifact, Place, full_kind, list_evidence_rules
from handrail.engine.judge.changed_claims import Comparison, find_named_files, locate, read_listed, widen
from handrail.engine.judge.copied_examples import find_copied, list_prose
from handrail.engine.judge.earlier_reports import (
    FACT_BYTES,
    MOST_PATHS_KEPT,
    explain_rewriting,
    find_failing,
    find_outdated,
    find_unrun_check,
    list_outdated_gaps,
    make_gap,
    name_command,
    weigh_step,
)
from handrail.engine.judge.named_places import describe_place, read_place
from handrail.engine.judge.red_then_green import (
    describe_guard_doubt,
    find_doubted_pass,
    match_red_then_green,
    sort_tests,
)
from handrail.engine.judge.requirements import MISSING
from handrail.engine.judge.run_claims import (
    explain_hidden_tests,
    list_paths,
    list_reports,
    match_run,
    names_check,
    was_refused,
    was_seen,
)
from handrail.engine.judge.witnessed import AskedPlace, Look, RunResult, Weighed, Witnessed
from handrail.engine.messages import write_fix
from handrail.engine.reasons import (
    BY_EVIDENCE,
    BY_PERSON,
    Issue,
    OutputContract,
    Reason,
    WaitsFor,
    shorten_message,
)
from handrail.workflows.compiled import Contract
from handrail.workflows.evidence import (
    ChangedInRun,
    Consistent,
    Demand,
    Evidence,
    PathExists,
    Person,
    PlaceExists,
    Ran,
    RedThenGreen,
    Term,
)

_COPIED = "is the text of the printed example; report what you yourself did and saw"


# Places in an artifact


def _bind(path: str, way: tuple[str, ...]) -> str:
    """A path with the items of `way`, as far as both lead through the same lists."""
    names = path[1:].split("/")
    for place, name in enumerate(way[: len(names)]):
        if names[place] not in ("*", name):
            break
        names[place] = name
    return "/" + "/".join(names)


def list_rows(rule: PathExists | PlaceExists | Ran | RedThenGreen, body: Any) -> list[Spot]:
    """The texts that a rule is about."""
    return [
        (way, value, around)
        for way, value, around in find_spots(body, rule.at)
        if isinstance(value, str) and value.strip()
        if all(around.get(member) in allowed for member, allowed in rule.where.items())
    ]


# What must be looked at


def plan_look(place: Place, bodies: Iterable[dict[str, Any]]) -> Look:
    """The places that a report names, and whether its contracts ask about the whole tree."""
    asked: dict[AskedPlace, None] = {}
    named: dict[str, None] = {}
    wants_tree = place.step is not None and bool(place.step.check)
    ref = place.step.contract if place.step is not None else ""
    for body in bodies:
        for rule in list_evidence_rules(place.workflow, full_kind(str(body.get("kind", ""))), ref):
            match rule:
                case PathExists() | PlaceExists():
                    asked |= dict.fromkeys(read_place(rule, *spot[1:]) for spot in list_rows(rule, body))
                case Ran() | RedThenGreen():
                    wants_tree = wants_tree or bool(list_rows(rule, body))
                case ChangedInRun():
                    wants_tree = True
                    named |= dict.fromkeys(find_named_files(rule, body))
                case Consistent() | Person():
                    pass
                case never:
                    assert_never(never)
    return Look(places=tuple(asked), files=tuple(named), wants_tree=wants_tree)


# Weighing a report


def weigh(place: Place, judged: list[JudgedArtifact], known: Witnessed) -> Weighed:
    """Hold every good artifact against its evidence rules, and the step against its declared check."""
    claims: list[Claim] = []
    reasons: list[Reason] = []
    gaps: list[GapRecorded] = []
    weighed: list[JudgedArtifact] = []
    known = msgspec.structs.replace(known, left_out=_find_left_out(judged, known))
    for found in judged:
        if found.contract is None or not found.is_good:
            weighed.append(found)
            claims += _name_inconsistent(found)
            continue
        result = _Weighing(found, found.contract, known)
        weighed.append(result.judged())
        claims += result.claims
        reasons += result.reasons
        gaps += result.gaps
    if place.step is not None and place.step.check:
        claim, reason = weigh_step(place.step.id, place.step.check, known)
        claims.append(claim)
        reasons += [] if reason is None else [reason]
        is_unrun = claim.verdict == "unknown" and not claim.refs
        if reason is None and (is_unrun or claim.verdict in ("stale", "missing")):
            why = "nobody could run" if is_unrun else "did not pass"
            sentence = f"This step asks for a check that {why}: {claim.fact}."
            gaps.append(make_gap(sentence, Suggested(check=place.step.check)))
    return Weighed(judged=weighed, claims=tuple(claims), reasons=tuple(reasons), gaps=tuple(gaps))


def _find_left_out(judged: list[JudgedArtifact], known: Witnessed) -> frozenset[str]:
    """The files that these reports leave out, with a reason: somebody else's, mostly."""
    found: set[str] = set()
    for one in judged:
        for rule in () if one.contract is None else one.contract.evidence:
            if isinstance(rule, ChangedInRun) and rule.left_out:
                for _, path, _ in find_spots(one.artifact.body, rule.left_out):
                    found |= set(locate(known.sighting, path).paths) if isinstance(path, str) else set()
    found |= {path for text in known.standing.left_out for path in locate(known.sighting, text).paths}
    return frozenset(found)


def _name_inconsistent(found: JudgedArtifact) -> Iterator[Claim]:
    """Where a report that is refused already contradicts itself: a run that goes on with it counts that."""
    for rule in () if found.contract is None else found.contract.evidence:
        for pointer, fact in (
            find_inconsistent(rule, found.artifact.body) if isinstance(rule, Consistent) else ()
        ):
            yield Claim(
                contract_ref=found.ref,
                pointer=pointer,
                check="consistent",
                level="observed",
                verdict="contradicted",
                fact=shorten_message(fact, FACT_BYTES),
            )


class _Weighing:
    """One artifact against the rules of its contract."""

    def __init__(self, found: JudgedArtifact, contract: Contract, known: Witnessed) -> None:
        self.claims: list[Claim] = []
        self.reasons: list[Reason] = []
        self.gaps: list[GapRecorded] = []
        self._found = found
        self._body = found.artifact.body
        self._known = known
        self._issues: list[Issue] = []
        self._repeated: set[str] = set()
        """Places that name again what a place before them does, in another spelling."""
        self._named: dict[tuple[object, ...], str] = {}
        copied = find_copied(self._body, contract.example)
        if copied:
            self._refute("not_example", copied, "required", _COPIED)
            return
        for rule in contract.evidence:
            self._weigh(rule)
        is_list = any(isinstance(rule, ChangedInRun) for rule in contract.evidence)
        is_passed = found.artifact.kind == VERIFICATION_REPORT and self._body.get("verdict") == "passed"
        if is_list or is_passed:
            self._require_declared_check(contract)
        if is_passed:
            self._hold_to_present_files()
        self._add_unchecked(contract.evidence)

    def judged(self) -> JudgedArtifact:
        if not self._issues:
            return self._found
        artifact = msgspec.structs.replace(self._found.artifact, contract_ref="")
        return msgspec.structs.replace(self._found, artifact=artifact, issues=tuple(self._issues))

    def _weigh(self, rule: Evidence) -> None:
        match rule:
            case Consistent():
                for pointer, message in find_inconsistent(rule, self._body):
                    self._refute("consistent", pointer, "required", message)
            case PathExists() | PlaceExists():
                for spot in list_rows(rule, self._body):
                    self._weigh_place(rule, spot)
            case ChangedInRun():
                self._weigh_changes(rule)
            case Ran() | RedThenGreen():
                for spot in list_rows(rule, self._body):
                    self._weigh_run(rule, spot)
            case Person():
                self._weigh_person(rule)
            case never:
                assert_never(never)

    def _claim(self, check: EvidenceCheck, pointer: str, **extra: Any) -> None:
        fact = shorten_message(extra.pop("fact", ""), FACT_BYTES)
        self.claims.append(
            Claim(contract_ref=self._found.ref, pointer=pointer, check=check, fact=fact, **extra)
        )

    def _refute(self, check: EvidenceCheck, pointer: str, demand: Demand, fact: str, **extra: Any) -> None:
        """What the world contradicts does not pass, unless the contract only wants it shown."""
        self._claim(check, pointer, level="observed", verdict="contradicted", fact=fact, **extra)
        if demand != "shown":
            message = shorten_message(fact, ISSUE_BYTES)
            self._issues.append(Issue(contract_ref=self._found.ref, pointer=pointer, message=message))

    def _weigh_place(self, rule: PathExists | PlaceExists, spot: Spot) -> None:
        check: EvidenceCheck = "path_exists" if isinstance(rule, PathExists) else "place_exists"
        pointer, asked = write_pointer(spot[0]), read_place(rule, *spot[1:])
        seen = self._known.sighting.places.get(asked)
        own = posixpath.normpath(asked.path if seen is None else seen.own or asked.path)
        if self._is_repeated(check, pointer, (own, asked.line, asked.quote)):
            return
        if isinstance(rule, PathExists) and self._is_in_tree(asked.path):
            self._claim(check, pointer, level="observed")
        elif seen is None or seen.state == "unreadable":
            why = self._known.sighting.trouble if seen is None else seen.note
            self._claim(check, pointer, verdict="unknown", fact=why)
        elif seen.state == "here":
            self._claim(check, pointer, level="observed")
        elif seen.state == "missing" and self._was_deleted(asked.path):
            fact = f"{make_readable(asked.path)} was deleted in this run"
            self._claim(check, pointer, verdict="unknown", fact=fact)
        elif rule.demand == "shown":
            self._claim(check, pointer, verdict="missing", fact=describe_place(seen))
        else:
            self._refute(check, pointer, rule.demand, describe_place(seen) + self._name_changes())

    def _is_repeated(self, check: EvidenceCheck, pointer: str, thing: tuple[object, ...]) -> bool:
        """One thing is one claim of a report, however often and however it is written."""
        is_new = self._named.setdefault((check, *thing), pointer) == pointer
        self._repeated |= set() if is_new else {pointer}
        return not is_new

    def _is_in_tree(self, path: str) -> bool:
        """Whether the present tree has it as a change: a link counts as itself, wherever it leads."""
        changes, located = self._known.sighting.changes, self._known.sighting.files.get(path)
        if changes is None or located is None:
            return False
        present = {*changes.changed, *changes.arrived} - set(changes.deleted)
        return any(one in present for one in located.paths)

    def _was_deleted(self, path: str) -> bool:
        changes, located = self._known.sighting.changes, self._known.sighting.files.get(path)
        if changes is None or located is None:
            return False
        return not widen(changes.deleted).isdisjoint(located.paths)

    def _name_changes(self) -> str:
        changes = self._known.sighting.changes
        named = [] if changes is None else sorted((*changes.changed, *changes.arrived))
        return f"; changed in this run: {list_paths(named)}" if named else ""

    def _weigh_changes(self, rule: ChangedInRun) -> None:
        sighting = self._known.sighting
        listed = [spot for spot in find_spots(self._body, rule.at) if isinstance(spot[1], str)]
        changes = sighting.changes
        if changes is None:
            for way, _, _ in listed:
                self._claim("changed_in_run", write_pointer(way), verdict="unknown", fact=sighting.trouble)
            return
        compared = Comparison(changes, sighting)
        for way, path, around in listed:
            file = read_listed(rule, path, around)
            if self._is_repeated(
                "changed_in_run", write_pointer(way), (file.change, locate(sighting, path).paths or path)
            ):
                continue
            result = compared.judge(file)
            if result.verdict == "contradicted":
                fact = result.fact + self._name_changes()
                self._refute("changed_in_run", write_pointer(way), rule.demand, fact)
            else:
                level = "observed" if result.verdict == "holds" else "claimed"
                self._claim(
                    "changed_in_run",
                    write_pointer(way),
                    level=level,
                    verdict=result.verdict,
                    fact=result.fact,
                )
        for way, path, _ in find_spots(self._body, rule.left_out) if rule.left_out else ():
            if isinstance(path, str):
                self._claim(
                    "changed_in_run",
                    write_pointer(way),
                    verdict="unknown",
                    fact=compared.judge_left_out(path),
                )
        named = list(find_named_files(rule, self._body))
        pointer = write_pointer(tuple(rule.at[1:].split("/*")[0].split("/")))
        for beyond, (fact, shown) in compared.describe_undemanded(named).items():
            if shown:
                paths = tuple(make_readable(path) for path in shown[:MOST_PATHS_KEPT])
                self._claim("changed_in_run", pointer + beyond, verdict="unknown", fact=fact, paths=paths)
        unlisted = compared.find_unlisted([*named, *list_reports(self._known.checks)])
        if unlisted:
            self._refuse_unlisted(rule, pointer, unlisted)

    def _refuse_unlisted(self, rule: ChangedInRun, pointer: str, unlisted: list[str]) -> None:
        """Refused once, by name. Somebody else may have changed them: the next report passes with a gap."""
        changes = self._known.sighting.changes
        hidden = [] if changes is None else [path for path in unlisted if path in changes.hidden]
        ignored = f" (git ignores now: {list_paths(hidden)})" if hidden else ""
        fact = f"changed in this run and not listed: {list_paths(unlisted)}{ignored}"
        paths = tuple(make_readable(path) for path in unlisted[:MOST_PATHS_KEPT])
        if set(paths) <= self._known.named_before:
            self._refute("changed_in_run", pointer, "shown", fact, paths=paths)
            gap = make_gap(f"The report leaves out what changed: {list_paths(unlisted)}.")
            waits = WaitsFor(kind="output", values={"artifact": self._found.artifact.kind} | BY_EVIDENCE)
            self.gaps.append(msgspec.structs.replace(gap, waits_for=waits))
            return
        member = rule.left_out[1:].split("/")[0]
        advice = f"; list them, or name them in {member} with the reason" if member else "; list them"
        self._refute("changed_in_run", pointer, rule.demand, fact + advice, paths=paths)

    def _weigh_run(self, rule: Ran | RedThenGreen, spot: Spot) -> None:
        way, text, around = spot
        pointer = write_pointer(way)
        match rule:
            case Ran():
                expected = find_expected_status(rule, self._body, way, around)
                receipt_id = around.get(rule.receipt) if rule.receipt else None
                result = match_run(self._known, text, expected, receipt_id)
                if not expected and (doubt := find_doubted_pass(self._known, result)):
                    summary = f"{describe_guard_doubt(doubt, make_readable(text.strip()))}."
                    self._disclose(summary, refs=(*result.refs, *map(make_readable, doubt.names)))
                check: EvidenceCheck = "ran"
            case RedThenGreen():
                result = match_red_then_green(self._known, text)
                check = "red_then_green"
            case never:
                assert_never(never)
        is_due = rule.demand == "required" or (
            rule.demand == "where_possible" and self._expects_receipt(rule, text)
        )
        if result.verdict == "contradicted":
            self._refute(check, pointer, rule.demand, result.fact)
            return
        if rule.demand != "shown" and (hidden := explain_hidden_tests(self._known, text)):
            self._refuse_hidden_tests(check, pointer, hidden, result.command)
            return
        if result.is_doubted:
            self._disclose(f"{result.fact}.", result.command, result.guard, result.refs)
        rewriting = explain_rewriting(self._known, result)
        if rewriting:
            result = msgspec.structs.replace(result, verdict="unknown", fact=rewriting)
            self._disclose(f"{rewriting[0].upper()}{rewriting[1:]}.", result.command, refs=result.refs)
        level = "ran" if result.verdict in ("holds", "stale") else "claimed"
        extra: dict[str, Any] = {"fact": result.fact, "refs": result.refs, **sort_tests(self._known, result)}
        self._claim(check, pointer, level=level, verdict=result.verdict, **extra)
        if is_due and result.verdict in ("missing", "stale"):
            self._miss_once(f"{pointer}: {result.fact}", result)

    def _refuse_hidden_tests(self, check: EvidenceCheck, pointer: str, fact: str, command: Suggested) -> None:
        """Refused once: nobody has to run tests behind another program. Then the run goes on with a gap."""
        is_repeated = (self._found.ref, pointer) in self._known.refused_places
        self._claim(check, pointer, verdict="unknown" if is_repeated else "missing", fact=fact)
        if is_repeated:
            self._disclose(f"The report rests on tests whose end nobody knows: {fact}.", command)
            return
        fix = f"Run {command.line}, name the program alone, and make the call in nextCall again."
        self._miss(f"{pointer}: {fact}", RunResult(verdict="missing", command=command, fix=fix))

    def _expects_receipt(self, rule: Ran | RedThenGreen, text: str) -> bool:
        """Of a command that is declared or was seen before. That one was seen says nothing about others."""
        if isinstance(rule, RedThenGreen):
            return self._known.expects_receipts
        return names_check(self._known, text) or was_seen(self._known, text)

    def _require_declared_check(self, contract: Contract) -> None:
        """Where a project declares checks, another command is shown, and does not stand for them."""
        named = [
            text
            for rule in contract.evidence
            if isinstance(rule, Ran) and rule.demand != "shown"
            for _, text, _ in list_rows(rule, self._body)
        ]
        unrun = find_unrun_check(self._known) if named else None
        is_named = bool(self.reasons or self._issues) and any(names_check(self._known, one) for one in named)
        as_it_was = [one for one in self.claims if one.verdict == "unknown" and one.refs]
        if unrun is not None and any(one.refs == unrun.refs for one in as_it_was):
            self._disclose_unpassed(unrun)  # who says that it did not start has done what the fix would ask
        elif unrun is not None and not is_named:
            self._miss_once(
                f"no check that the project declares ran on the present files: {unrun.fact}", unrun
            )
            if self.reasons and unrun.refs:  # so that the next report is known to have been told
                self._claim("ran", "/", verdict=unrun.verdict, fact=unrun.fact, refs=unrun.refs)

    def _hold_to_present_files(self) -> None:
        """A verification passes on the files that were checked, and beside no check that fails."""
        for failing in find_failing(self._known):
            fact = f"cannot be passed while {failing.fact}"
            refused = self._known.refused_receipts | self._known.refuted_receipts
            is_repeated = refused.issuperset(failing.refs)
            if failing.is_flaky and not is_repeated:
                self._claim("ran", "/verdict", verdict="missing", fact=fact, refs=failing.refs)
                self._miss(fact, RunResult(verdict="missing", command=failing.command))
            elif not failing.is_flaky and (failing.is_declared or not is_repeated):
                self._refute("ran", "/verdict", "required", fact, refs=failing.refs)
            else:  # told before: flaky, or meant to fail, as the agent says; the end of the run tells it
                self._claim("ran", "/verdict", verdict="unknown", fact=fact)
        outdated = find_outdated(self._known)
        self.claims += [one.claim for one in outdated]
        for one in outdated:
            if one.command.name and one.claim.refs[-1] not in self._known.refused_receipts:
                self._miss(one.claim.fact, RunResult(verdict="stale", command=one.command))
        if not self.reasons:
            self.gaps += list_outdated_gaps(outdated)

    def _disclose(
        self, summary: str, command: Suggested = NOTHING, guard: str = "", refs: Iterable[str] = ()
    ) -> None:
        """What a report says at several places is one gap, about all that these rest on."""
        gap = make_gap(summary, command, guard, refs)
        for one in [held for held in self.gaps if held.summary == gap.summary]:
            self.gaps.remove(one)
            every = tuple(dict.fromkeys((*gap.evidence_refs, *one.evidence_refs)))
            waits = gap.waits_for or one.waits_for
            gap = msgspec.structs.replace(gap, waits_for=waits, evidence_refs=every)
        self.gaps.append(gap)

    def _miss_once(self, fact: str, result: RunResult) -> None:
        """Refused once for a receipt; who sends the report again with no newer one goes on with a gap."""
        if was_refused(self._known, result):
            self._disclose_unpassed(result)
        else:
            self._miss(fact, result)

    def _disclose_unpassed(self, result: RunResult) -> None:
        summary = f"The report rests on what did not pass on the present files: {result.fact}."
        self._disclose(summary, result.command, result.guard, result.refs)

    def _miss(self, fact: str, result: RunResult) -> None:
        values = {"contract": self._found.ref} | name_command(result.command, result.guard)
        waits = WaitsFor(kind="check", state="invalid" if result.fix else "missing", values=values)
        fix = shorten_message(result.fix or write_fix(waits))
        if any(one.fix == fix for one in self.reasons):
            return  # one run settles both
        self.reasons.append(
            Reason(
                name=MISSING,
                pointer=OutputContract(contract_ref=self._found.ref),
                waits_for=waits,
                message=shorten_message(fact),
                fix=fix,
            )
        )

    def _weigh_person(self, rule: Person) -> None:
        if self._known.is_confirmed:
            self._claim("person", "/", level="confirmed")
            return
        if self._known.is_declined:
            self._claim("person", "/", verdict="contradicted", fact=DECLINED)
            return
        self._claim("person", "/", verdict="missing", fact=NOT_CONFIRMED)
        if rule.demand != "shown":
            self.reasons.append(
                Reason(
                    name="user_only_dependency:needs_user_approval",
                    pointer=OutputContract(contract_ref=self._found.ref),
                    waits_for=WaitsFor(kind="confirm", values={"contract": self._found.ref} | BY_PERSON),
                    message=f"A person must confirm this step: {NOT_CONFIRMED}.",
                )
            )

    def _add_unchecked(self, rules: tuple[Evidence, ...]) -> None:
        """What no rule could look at is well-formed and unverified."""
        claimed = {claim.pointer for claim in self.claims} | self._repeated
        paths = {rule.at for rule in rules if isinstance(rule, PathExists | PlaceExists | Ran | RedThenGreen)}
        for path in sorted(paths):
            for way, value, _ in find_spots(self._body, path):
                if isinstance(value, str) and write_pointer(way) not in claimed:
                    self._claim("shape", write_pointer(way), verdict="unknown")
        if not self.claims and any(True for _ in list_prose(self._body, ())):
            self._claim("shape", "/", verdict="unknown")


# Rules between members


def find_expected_status(rule: Ran, body: Any, way: tuple[str, ...], around: dict[str, Any]) -> int | None:
    """How a report says that a command ended; None: it does not tell."""
    status = around.get(rule.status) if rule.status else None
    if isinstance(status, int) and not isinstance(status, bool):
        return status
    if rule.passes is None:
        return 0
    bound = msgspec.structs.replace(rule.passes, at=_bind(rule.passes.at, way))
    return 0 if all(_holds(bound, value) for _, value, _ in find_spots(body, bound.at)) else None


def find_inconsistent(rule: Consistent, body: dict[str, Any]) -> list[tuple[str, str]]:
    """Where the first part of a rule holds and the second does not, and what is wrong there."""
    found: list[tuple[str, str]] = []
    for way, value, _ in find_spots(body, rule.when.at):
        if not _holds(rule.when, value):
            continue
        bound = _bind(rule.then.at, way)
        spots = list(find_spots(body, bound))
        if not spots and (rule.then.exists is True or rule.then.equals is not None):
            found.append((write_pointer(way), f"is {value}, so {bound[1:]} must be there"))
        for place, held, _ in spots:
            if not _holds(rule.then, held):
                found.append((write_pointer(way), f"cannot be {value} while {'/'.join(place)} is {held}"))
    return found[:1]


def _holds(term: Term, value: Any) -> bool:
    if term.equals is not None:
        return bool(value == term.equals)
    if term.differs is not None:
        return bool(value != term.differs)
    return term.exists is True
