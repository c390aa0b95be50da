"""Binding arguments never changes what a condition means."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handrail.workflows.builtins.placement import bind_condition
from handrail.workflows.conditions import (
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
from tests.cases import every_case

DEEP = Compare(input="depth", op="equals", value="deep")
LARGE = Compare(input="size", op="gt", value=10)
REPORTED = Compare(artifact="wr.plan", field="goal", op="exists", value=True)


@every_case(
    ("condition", "args", "expected"),
    [
        (DEEP, {}, DEEP),
        (DEEP, {"depth": "deep"}, AlwaysTrue()),
        (DEEP, {"depth": "flat"}, AlwaysFalse()),
        (DEEP, {"depth": "{{level}}"}, Compare(input="level", op="equals", value="deep")),
        (DEEP, {"depth": "{{task.level}}"}, Compare(input="task.level", op="equals", value="deep")),
        (Compare(input="a.b", op="equals", value=1), {"a": {"b": 1}}, AlwaysTrue()),
        (
            Compare(input="a.b", op="equals", value=1),
            {"a": "{{task}}"},
            Compare(input="task.b", op="equals", value=1),
        ),
        (REPORTED, {"goal": "x"}, REPORTED),
        (LoopControl(), {"decision": "stop"}, LoopControl()),
        (And(of=(DEEP, LARGE)), {"depth": "deep"}, LARGE),
        (And(of=(DEEP, LARGE)), {"depth": "flat"}, AlwaysFalse()),
        (And(of=(DEEP, LARGE)), {}, And(of=(DEEP, LARGE))),
        (And(of=(DEEP, DEEP)), {"depth": "deep"}, AlwaysTrue()),
        (Or(of=(DEEP, LARGE)), {"depth": "deep"}, AlwaysTrue()),
        (Or(of=(DEEP, LARGE)), {"depth": "flat"}, LARGE),
        (Or(of=(DEEP, DEEP)), {"depth": "flat"}, AlwaysFalse()),
        (Not(of=DEEP), {"depth": "flat"}, AlwaysTrue()),
        (Not(of=DEEP), {"depth": "deep"}, AlwaysFalse()),
        (Not(of=LARGE), {"depth": "deep"}, Not(of=LARGE)),
    ],
)
def test_a_condition_is_decided_renamed_or_left_alone(
    condition: Condition, args: dict[str, Any], expected: Condition
) -> None:
    assert bind_condition(condition, args) == expected


values = st.sampled_from([None, True, 1, 2, "a", "b", ["a"]])
comparisons = st.builds(
    Compare,
    input=st.sampled_from(["p", "q", "r"]),
    op=st.sampled_from(["equals", "not_equals", "in", "contains", "gt", "lte", "exists"]),
    value=values,
)
conditions = st.recursive(
    st.one_of(comparisons, st.builds(AlwaysTrue), st.builds(AlwaysFalse)),
    lambda inner: st.one_of(
        st.builds(And, of=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, of=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Not, of=inner),
    ),
    max_leaves=6,
)


@given(
    condition=conditions,
    given_args=st.dictionaries(st.sampled_from(["p", "q"]), values),
    context=st.fixed_dictionaries({"x": values, "r": values}),
)
def test_bound_condition_holds_where_the_condition_would(
    condition: Condition, given_args: dict[str, Any], context: dict[str, Any]
) -> None:
    """`q` is handed on as an input of the caller, unless a value is given."""
    args = {"q": "{{x}}"} | given_args
    meant = {"p": given_args["p"]} if "p" in given_args else {}
    meant |= {"q": given_args.get("q", context["x"]), "r": context["r"]}

    result = holds(bind_condition(condition, args), Facts(values=context))

    assert result == holds(condition, Facts(values=meant))
