"""A profile says how one kind of document is judged; `judge` applies it at a tier. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

import msgspec

from handrail.contract.conformance.report import Advisory, Check, DocumentKind, Report, SchemaError, Tier
from handrail.contract.conformance.rules import Finding
from handrail.contract.outcome import Json

TIERS: tuple[Tier, ...] = ("core", "standard", "complete")
"""Each tier asks for everything the one before it asks for (LAFS 12.1)."""

MOST_FINDINGS = 1_000
"""A report stays readable, and a hostile document cannot make it grow without end (LAFS 13.5)."""


class NamedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One check beyond shape. It sees only documents of the right shape."""

    name: str
    tier: Tier
    """The first tier that asks for it."""
    why_not: Callable[[Json], str]
    """Why the document fails; empty when it passes."""
    note: str = ""
    """Shown when it passes."""


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How one kind of document is judged."""

    kind: DocumentKind
    shape_check: str
    shape: Callable[[Json], Iterable[Finding]]
    checks: tuple[NamedCheck, ...] = ()
    advice: Callable[[Json], Iterable[Advisory]] = lambda _: ()


def judge(doc: Json, profile: Profile, tier: Tier, source: str) -> Report:
    """Run every check of the tier. If the shape is broken, the other checks are listed without a verdict."""
    errors, advisories, broken = _shape(doc, profile)
    asked = [check for check in profile.checks if TIERS.index(check.tier) <= TIERS.index(tier)]
    if broken:
        checks = (_broken_shape(profile, broken), *(_undecided(check) for check in asked))
    else:
        advisories += profile.advice(doc)
        checks = (Check(name=profile.shape_check, passed=True), *(_decided(check, doc) for check in asked))
    failed = tuple(check.name for check in checks if check.passed is False)
    return Report(
        source=source,
        kind=profile.kind,
        tier=tier,
        ok=not failed,
        checks=checks,
        failed=failed,
        advisories=tuple(advisories),
        schema_errors=tuple(errors),
    )


def _shape(doc: Json, profile: Profile) -> tuple[list[SchemaError], list[Advisory], int]:
    """What is wrong with the shape, what is loose in it, and how many rules are broken in all."""
    errors: list[SchemaError] = []
    advisories: list[Advisory] = []
    broken = 0
    for finding in profile.shape(doc):
        match finding:
            case SchemaError():
                broken += 1
                errors += [finding] if broken <= MOST_FINDINGS else []
            case Advisory():
                advisories += [finding] if len(advisories) < MOST_FINDINGS else []
            case never:
                assert_never(never)
    return errors, advisories, broken


def _broken_shape(profile: Profile, broken: int) -> Check:
    count = "1 rule is broken" if broken == 1 else f"{broken} rules are broken"
    listed = "every one" if broken <= MOST_FINDINGS else f"the first {MOST_FINDINGS}"
    return Check(name=profile.shape_check, passed=False, detail=f"{count}; schema_errors lists {listed}.")


def _undecided(check: NamedCheck) -> Check:
    return Check(name=check.name, passed=None, detail="Not checked: the shape of the document is wrong.")


def _decided(check: NamedCheck, doc: Json) -> Check:
    reason = check.why_not(doc)
    return Check(name=check.name, passed=not reason, detail=reason or check.note)


def reserve_checks(names: Iterable[str]) -> Iterator[NamedCheck]:
    """Names that LAFS 12.1.3 keeps for later; they pass until it defines them."""
    for name in names:
        note = "Reserved by LAFS 12.1.3; it passes until it is defined."
        yield NamedCheck(name=name, tier="complete", why_not=lambda _: "", note=note)
