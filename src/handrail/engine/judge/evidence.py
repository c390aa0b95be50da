"""What is checked about a report outside of it: places that it names, and a person. Pure.

A file or a place that a report names must exist. A contract may require a person. Everything else in a
report is stored as `stated`: what Handrail can know about commands and changed files, it computes itself
(`judge/proofs.py`).

Reading the files comes first and is done outside. `plan_look` lists the places, the operation reads them
once before the lock, and `weigh` compares. Without a `Witnessed` value (a simulation, a replay) nothing is
compared. What could not be read is `unknown` and never blocks. Rules of older contracts about commands and
changes are still decoded, and judge nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, assert_never

import msgspec

from handrail.contract.wording import format_count, list_names, make_readable
from handrail.engine.events import EvidenceCheck, ReportStatement
from handrail.engine.judge.arrival import DECLINED, NOT_CONFIRMED
from handrail.engine.judge.artifact_spots import Spot, find_spots, write_pointer
from handrail.engine.judge.artifacts import (
    ISSUE_BYTES,
    JudgedArtifact,
    Place,
    find_kind_contract,
    full_kind,
)
from handrail.engine.judge.computed import Computed
from handrail.engine.judge.computed import wants_changes as asks_for_changes
from handrail.engine.judge.places import (
    AskedPlace,
    Look,
    Sighting,
    describe_place,
    list_uncovered,
    read_place,
)
from handrail.engine.reasons import BY_PERSON, Issue, OutputContract, Reason, WaitsFor, shorten_message
from handrail.workflows.compiled import Contract
from handrail.workflows.evidence import (
    ChangedInRun,
    Consistent,
    CoversChange,
    Demand,
    Evidence,
    PathExists,
    Person,
    PlaceExists,
    Ran,
    RedThenGreen,
)

FACT_BYTES = 300


class Witnessed(msgspec.Struct, frozen=True, kw_only=True):
    """What a report is compared with: the places that were read, and a person's answer."""

    sighting: Sighting = Sighting()
    computed: Computed = Computed()
    """What Handrail fills into the report."""
    is_confirmed: bool = False
    """A person confirmed what is pending."""
    is_declined: bool = False
    """Their last answer is a rejection, which blocks the report as a whole."""


class Weighed(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing a report with the evidence."""

    judged: list[JudgedArtifact]
    statements: tuple[ReportStatement, ...] = ()
    reasons: tuple[Reason, ...] = ()


def plan_look(
    place: Place, bodies: Iterable[dict[str, Any]], find_value: Callable[[str], Any] = lambda _: None
) -> Look:
    """Return the places that a report names, and whether the list of changed files is needed.

    `find_value` returns the value of an input.
    """
    change: str | None = None
    asked: dict[AskedPlace, None] = {}
    is_proven = place.step is not None and place.step.proof is not None
    wants_changes = is_proven
    ref = place.step.contract if place.step is not None else ""
    for body in bodies:
        _, contract = find_kind_contract(place.workflow, full_kind(str(body.get("kind", ""))), ref)
        wants_changes = wants_changes or (contract is not None and asks_for_changes(contract))
        for rule in () if contract is None else contract.evidence:
            match rule:
                case PathExists() | PlaceExists():
                    asked |= dict.fromkeys(read_place(rule, *spot[1:]) for spot in _list_rows(rule, body))
                case CoversChange(input=name):
                    named = find_value(name) if name in place.workflow.inputs else None
                    change = named if isinstance(named, str) else change
                case Consistent() | Person() | Ran() | RedThenGreen() | ChangedInRun():
                    pass
                case never:
                    assert_never(never)
    return Look(places=tuple(asked), wants_changes=wants_changes, change=change)


def weigh(judged: list[JudgedArtifact], known: Witnessed) -> Weighed:
    """Return the result of comparing every valid artifact with the rules of its contract."""
    statements: list[ReportStatement] = []
    reasons: list[Reason] = []
    weighed: list[JudgedArtifact] = []
    for found in judged:
        if found.contract is None or not found.is_good:
            weighed.append(found)
            continue
        result = _Weighing(found, found.contract, known)
        weighed.append(result.judged())
        statements += result.statements
        reasons += result.reasons
    return Weighed(judged=weighed, statements=tuple(statements), reasons=tuple(reasons))


def _list_rows(rule: PathExists | PlaceExists, body: Any) -> list[Spot]:
    """Return the texts that a rule is about."""
    return [
        (way, value, around)
        for way, value, around in find_spots(body, rule.at)
        if isinstance(value, str) and value.strip()
        if all(around.get(member) in allowed for member, allowed in rule.where.items())
    ]


class _Weighing:
    """One artifact and the rules of its contract."""

    def __init__(self, found: JudgedArtifact, contract: Contract, known: Witnessed) -> None:
        self.statements: list[ReportStatement] = []
        self.reasons: list[Reason] = []
        self._found = found
        self._body = found.artifact.body
        self._known = known
        self._issues: list[Issue] = []
        for rule in contract.evidence:
            self._weigh(rule)
        self._add_stated(contract.evidence)

    def judged(self) -> JudgedArtifact:
        if not self._issues:
            return self._found
        artifact = msgspec.structs.replace(self._found.artifact, contract_ref="")
        return msgspec.structs.replace(self._found, artifact=artifact, issues=tuple(self._issues))

    def _weigh(self, rule: Evidence) -> None:
        match rule:
            case PathExists() | PlaceExists():
                for spot in _list_rows(rule, self._body):
                    self._weigh_place(rule, spot)
            case CoversChange():
                self._weigh_coverage(rule)
            case Person():
                self._weigh_person(rule)
            case Consistent():
                pass  # judged with the schema
            case ChangedInRun() | Ran() | RedThenGreen():
                pass  # rules of older contracts: the report's text is stored as stated
            case never:
                assert_never(never)

    def _add_statement(self, check: EvidenceCheck, pointer: str, **extra: Any) -> None:
        fact = shorten_message(extra.pop("fact", ""), FACT_BYTES)
        self.statements.append(
            ReportStatement(contract_ref=self._found.ref, pointer=pointer, check=check, fact=fact, **extra)
        )

    def _refute(self, check: EvidenceCheck, pointer: str, demand: Demand, fact: str) -> None:
        self._add_statement(check, pointer, level="observed", verdict="contradicted", fact=fact)
        if demand != "shown":
            message = shorten_message(fact, ISSUE_BYTES)
            self._issues.append(Issue(contract_ref=self._found.ref, pointer=pointer, message=message))

    def _weigh_place(self, rule: PathExists | PlaceExists, spot: Spot) -> None:
        check: EvidenceCheck = "path_exists" if isinstance(rule, PathExists) else "place_exists"
        pointer, asked = write_pointer(spot[0]), read_place(rule, *spot[1:])
        sighting = self._known.sighting
        seen = sighting.places.get(asked)
        if seen is None or seen.state == "unreadable":
            why = sighting.trouble if seen is None else seen.note
            self._add_statement(check, pointer, verdict="unknown", fact=why)
        elif seen.state == "here":
            self._add_statement(check, pointer, level="observed")
        elif seen.state == "missing" and asked.path in sighting.deleted:
            fact = f"{make_readable(asked.path)} was deleted in this run"
            self._add_statement(check, pointer, verdict="unknown", fact=fact)
        elif rule.demand == "shown":
            self._add_statement(check, pointer, verdict="missing", fact=describe_place(seen))
        else:
            self._refute(check, pointer, rule.demand, describe_place(seen))

    def _weigh_coverage(self, rule: CoversChange) -> None:
        sighting, pointer = self._known.sighting, rule.at[0].removesuffix("/*")
        if sighting.named_change is None:
            if sighting.change_trouble:
                self._add_statement("covers_change", pointer, verdict="unknown", fact=sighting.change_trouble)
            return
        named = [value for path in rule.at for _, value, _ in find_spots(self._body, path)]
        missing = list_uncovered(sighting.named_change, [one for one in named if isinstance(one, str)])
        if not missing:
            self._add_statement("covers_change", pointer, level="observed")
            return
        lists = " and ".join(path.removesuffix("/*").removeprefix("/") for path in rule.at)
        files = format_count(len(missing), "file")
        shown = list_names([make_readable(path) for path in missing])
        self._refute(
            "covers_change", pointer, rule.demand, f"{lists} leave out {files} of the change: {shown}"
        )

    def _weigh_person(self, rule: Person) -> None:
        if self._known.is_confirmed:
            self._add_statement("person", "/", level="confirmed")
            return
        if self._known.is_declined:
            self._add_statement("person", "/", verdict="contradicted", fact=DECLINED)
            return
        self._add_statement("person", "/", verdict="missing", fact=NOT_CONFIRMED)
        if rule.demand != "shown":
            self.reasons.append(
                Reason(
                    name="user_only_dependency:needs_user_approval",
                    pointer=OutputContract(contract_ref=self._found.ref),
                    waits_for=WaitsFor(kind="confirm", values={"contract": self._found.ref} | BY_PERSON),
                    message=f"A person must confirm this step: {NOT_CONFIRMED}.",
                )
            )

    def _add_stated(self, rules: tuple[Evidence, ...]) -> None:
        """Add what was not checked as the agent's statement."""
        stated = {statement.pointer for statement in self.statements}
        paths = {rule.at for rule in rules if isinstance(rule, PathExists | PlaceExists)}
        for path in sorted(paths):
            for way, value, _ in find_spots(self._body, path):
                if isinstance(value, str) and write_pointer(way) not in stated:
                    self._add_statement("shape", write_pointer(way), verdict="unknown")
        if not self.statements:
            self._add_statement("shape", "/", verdict="unknown")
