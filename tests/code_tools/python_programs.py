"""Generated Python programs: a small grammar, few names, many scopes."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c", "d"])


def _expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map(lambda two: f"({two[0]} + {two[1]})"),
        st.tuples(inner, NAMES).map(lambda two: f"{two[0]}.{two[1]}"),
        st.tuples(NAMES, NAMES, inner).map(lambda it: f"{it[0]}({it[1]}={it[2]})"),
        st.tuples(NAMES, inner, inner).map(lambda it: f"(lambda {it[0]}={it[1]}: {it[2]})"),
        st.tuples(inner, NAMES, inner).map(lambda it: f"[{it[0]} for {it[1]} in {it[2]}]"),
        st.tuples(NAMES, inner).map(lambda two: f"({two[0]} := {two[1]})"),
    )


EXPRESSIONS = st.recursive(NAMES, _expressions, max_leaves=4)
TARGETS = st.one_of(NAMES, st.tuples(NAMES, NAMES).map(lambda two: f"({two[0]}, {two[1]})"))
SIMPLE = st.one_of(
    EXPRESSIONS.map(lambda one: [f"f({one})"]),
    st.tuples(TARGETS, EXPRESSIONS).map(lambda it: [f"{it[0]} = {it[1]}"]),
    st.tuples(NAMES, NAMES).map(lambda it: [f"{it[0]}: '{it[1]}' = 1"]),
    st.tuples(NAMES, EXPRESSIONS).map(lambda it: [f"{it[0]} += {it[1]}"]),
    st.tuples(NAMES, NAMES).map(lambda it: [f"import {it[0]} as {it[1]}"]),
)


def _indent(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _compound(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    bodies = st.lists(inner, min_size=1, max_size=3).map(lambda parts: _indent([x for p in parts for x in p]))
    declared = st.sampled_from(["", "global", "nonlocal"])
    return st.one_of(
        st.tuples(NAMES, NAMES, EXPRESSIONS, bodies).map(
            lambda it: [f"def {it[0]}({it[1]}={it[2]}):", *it[3]]
        ),
        st.tuples(NAMES, declared, NAMES, bodies).map(
            lambda it: [f"def {it[0]}():", *([f"    {it[1]} {it[2]}"] if it[1] else []), *it[3]]
        ),
        st.tuples(NAMES, EXPRESSIONS, bodies).map(lambda it: [f"class {it[0]}({it[1]}):", *it[2]]),
        st.tuples(TARGETS, EXPRESSIONS, bodies).map(lambda it: [f"for {it[0]} in {it[1]}:", *it[2]]),
        st.tuples(EXPRESSIONS, NAMES, bodies).map(lambda it: [f"with {it[0]} as {it[1]}:", *it[2]]),
        st.tuples(NAMES, bodies).map(lambda it: ["try: pass", f"except E as {it[0]}:", *it[1]]),
        st.tuples(EXPRESSIONS, bodies).map(lambda it: [f"if {it[0]}:", *it[1]]),
    )


STATEMENTS = st.recursive(SIMPLE, _compound, max_leaves=8)
PROGRAMS = st.lists(STATEMENTS, min_size=1, max_size=4).map(
    lambda parts: "\n".join(x for p in parts for x in p)
)
TAILS = (
    "from {0} import a",
    "from {0} import a as b",
    "import {0}\n{0}.a",
    "from {0} import *",
    "__all__ = ['a']",
    "",
)
PYTHON_PROJECTS = st.tuples(PROGRAMS, st.sampled_from(TAILS), PROGRAMS, st.sampled_from(TAILS)).map(
    lambda it: {"m.py": f"{it[0]}\n{it[1].format('n')}\n", "n.py": f"{it[2]}\n{it[3].format('m')}\n"}
)
