"""Whether a condition can ever hold, given what its inputs and artifacts may be. Pure.

The answer "never" is certain; "perhaps" is said wherever trying would take too long or values are open.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from math import prod
from typing import Any, assert_never

import msgspec

from handrail.workflows.checking.possible_values import Domains, Subject, subject_of
from handrail.workflows.compiling.condition_table import parts_of
from handrail.workflows.conditions import (
    MISSING,
    AlwaysFalse,
    AlwaysTrue,
    And,
    Compare,
    Condition,
    Facts,
    LoopControl,
    Not,
    Or,
    holds,
)

MOST_TRIES = 4_096


def never_holds(condition: Condition, domains: Domains, *, can_decide: bool) -> bool:
    """Whether no values make it hold; `can_decide` says whether a loop's decision can be there."""
    comparisons = [part for part in parts_of(condition) if isinstance(part, Compare)]
    subjects = list(dict.fromkeys(subject_of(part) for part in comparisons))
    tried = {subject: domains.of(subject, [condition]) for subject in subjects}
    open_subjects = {
        subject_of(part) for part in comparisons if part.op == "contains" and tried[subject_of(part)].is_open
    }
    closed = [subject for subject in subjects if subject not in open_subjects]
    tries = prod(len(tried[subject].values) for subject in closed)
    if tries > MOST_TRIES or not domains.effort.affords(tries * len(comparisons)):
        return False
    for chosen in product(*(tried[subject].values for subject in closed)):
        values = dict(zip(closed, chosen, strict=True))
        if True in _outcomes(condition, values, can_decide=can_decide):
            return False
    return True


def _outcomes(condition: Condition, values: Mapping[Subject, Any], *, can_decide: bool) -> frozenset[bool]:
    """How a condition may turn out; both ways for what is open."""
    match condition:
        case AlwaysTrue():
            return frozenset({True})
        case AlwaysFalse():
            return frozenset({False})
        case LoopControl():
            return frozenset({True, False}) if can_decide else frozenset({False})
        case Compare():
            subject = subject_of(condition)
            if subject not in values:
                return frozenset({True, False})
            return frozenset({_compare(condition, values[subject])})
        case And(of=parts):
            inner = [_outcomes(part, values, can_decide=can_decide) for part in parts]
            return _combined(inner, neutral=True)
        case Or(of=parts):
            inner = [_outcomes(part, values, can_decide=can_decide) for part in parts]
            return _combined(inner, neutral=False)
        case Not(of=part):
            return frozenset(not one for one in _outcomes(part, values, can_decide=can_decide))
        case never:
            assert_never(never)


def _combined(inner: list[frozenset[bool]], *, neutral: bool) -> frozenset[bool]:
    """And (neutral true) and or (neutral false): the neutral result needs all, the other one any."""
    outcomes = set()
    if all(neutral in one for one in inner):
        outcomes.add(neutral)
    if any((not neutral) in one for one in inner):
        outcomes.add(not neutral)
    return frozenset(outcomes)


def _compare(condition: Compare, value: Any) -> bool:
    """The engine's own rule, asked about one value under a name without a dot."""
    plain = msgspec.structs.replace(condition, input="value", artifact="", field="")
    return holds(plain, Facts(values={} if value is MISSING else {"value": value}))
