"""Generated programs: a small grammar of JavaScript with TypeScript's parts, few names, many scopes."""

from __future__ import annotations

from hypothesis import strategies as st

NAMES = st.sampled_from(["a", "b", "c", "d"])


def _expressions(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.tuples(inner, inner).map(lambda two: f"({two[0]} + {two[1]})"),
        st.tuples(NAMES, inner).map(lambda two: f"({two[0]} = {two[1]})"),
        st.tuples(inner, NAMES).map(lambda two: f"({two[0]}).{two[1]}"),
        st.tuples(NAMES, NAMES, inner).map(lambda three: f"({{{three[0]}, {three[1]}: {three[2]}}})"),
        st.tuples(NAMES, inner).map(lambda two: f"(({two[0]}) => {two[1]})"),
        st.tuples(NAMES, NAMES, inner).map(
            lambda three: f"(function {three[0]}({three[1]} = {three[2]}) {{ return {three[0]} }})"
        ),
        st.tuples(NAMES, inner).map(lambda two: f"(class {two[0]} {{ m() {{ return {two[1]} }} }})"),
        inner.map(lambda one: f"`x${{{one}}}`"),
    )


EXPRESSIONS = st.recursive(NAMES, _expressions, max_leaves=5)
PATTERNS = st.recursive(
    NAMES,
    lambda inner: st.one_of(
        inner.map(lambda one: f"[{one}]"),
        st.tuples(NAMES, inner).map(lambda two: f"{{{two[0]}: {two[1]}}}"),
        NAMES.map(lambda one: f"{{{one}}}"),
        st.tuples(NAMES, EXPRESSIONS).map(lambda two: f"{{{two[0]} = {two[1]}}}"),
    ),
    max_leaves=3,
)


def _statements(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    bodies = st.lists(inner, min_size=1, max_size=3).map(" ".join)
    return st.one_of(
        bodies.map(lambda body: f"{{ {body} }}"),
        st.tuples(NAMES, PATTERNS, bodies).map(lambda it: f"function {it[0]}({it[1]}) {{ {it[2]} }}"),
        st.tuples(NAMES, EXPRESSIONS, bodies).map(lambda it: f"for (const {it[0]} of {it[1]}) {{ {it[2]} }}"),
        st.tuples(NAMES, bodies).map(lambda it: f"try {{}} catch ({it[0]}) {{ {it[1]} }}"),
        st.tuples(NAMES, bodies).map(lambda it: f"class {it[0]} {{ m() {{ {it[1]} }} }}"),
        st.tuples(NAMES, bodies).map(lambda it: f"{it[0]}: for (;;) {{ {it[1]} break {it[0]} }}"),
        st.tuples(EXPRESSIONS, bodies).map(lambda it: f"if ({it[0]}) {{ {it[1]} }}"),
    )


STATEMENTS = st.recursive(
    st.one_of(
        EXPRESSIONS.map(lambda one: f"f({one});"),
        st.tuples(st.sampled_from(["let", "const", "var"]), PATTERNS, EXPRESSIONS).map(
            lambda it: f"{it[0]} {it[1]} = {it[2]};"
        ),
        st.tuples(NAMES, NAMES).map(lambda it: f"/** @param {it[0]} x */ function {it[1]}({it[0]}) {{}}"),
    ),
    _statements,
    max_leaves=8,
)
PROGRAMS = st.lists(STATEMENTS, min_size=1, max_size=4).map("\n".join)

TAILS = st.sampled_from(
    [
        "export {a};",
        "export {a as b};",
        "export default a;",
        "export * from './n';",
        "export {a} from './n';",
        "import {a} from './n';",
        "import {b as a} from './n';",
        "import a from './n';",
        "import * as a from './n'; a.b;",
        "const {a} = require('./n');",
        "module.exports = {a, b: c};",
        "exports.a = b;",
        "",
    ]
)
PROJECTS = st.tuples(PROGRAMS, TAILS, PROGRAMS, TAILS).map(
    lambda it: {"m.js": it[0] + "\n" + it[1], "n.js": it[2] + "\n" + it[3].replace("./n", "./m")}
)
