"""Which identifiers of a Python file are the same name.

Each row has one name of a source and, for its identifiers in order, a letter per binding: `-` is a name that
nothing in the file binds, `.` a member.
"""

from __future__ import annotations

import pytest

from handrail_code.facts.model import NONE
from tests.cases import every_case
from tests.code_tools.reading import facts_of, meanings

FUNCTIONS = {
    "a name of Python is bound nowhere": ("print(a)", "-"),
    "a name is bound by its assignment": ("a = 1\nprint(a)", "aa"),
    "a function sees the module": ("a = 1\ndef f():\n    return a", "aa"),
    "an assignment anywhere in a function makes it local": ("a = 1\ndef f():\n    a\n    a = 2", "abb"),
    "global sends it back": ("a = 1\ndef f():\n    global a\n    a = 2", "aaa"),
    "global alone makes a name of the module": ("def f():\n    global a\n    a = 1\na", "aaa"),
    "nonlocal sends it one function out": (
        "a = 0\ndef f():\n    a = 1\n    def g():\n        nonlocal a\n        a = 2",
        "abbb",
    ),
    "global inside a nested function": (
        "a = 0\ndef f():\n    a = 1\n    def g():\n        global a\n        a",
        "abaa",
    ),
    "a closure sees outwards": ("def f(a):\n    def g():\n        return lambda: a", "aa"),
    "a default is read outside": ("a = 1\ndef f(a=a):\n    a", "abab"),
    "an annotation is read outside": ("a = 1\ndef f(a: a) -> a:\n    a", "abaab"),
    "a decorator is read outside": ("a = 1\n@a\ndef f(a):\n    a", "aabb"),
    "a lambda has its own parameters": ("a = 1\nf = lambda a, b=a: a", "abab"),
    "stars are parameters": ("def f(*a, **b):\n    a", "aa"),
    "a loop does not open a scope": ("for a in b:\n    a\na", "aaa"),
    "with and except bind": ("with b as a:\n    a\ntry:\n    a\nexcept E as a:\n    a", "aaaaa"),
    "del makes it local": ("a = 1\ndef f():\n    del a", "ab"),
    "an augmented assignment makes it local": ("a = 1\ndef f():\n    a += 1", "ab"),
    "an import binds": ("def f():\n    import a\n    a\na", "aa-"),
    "import of a dotted name binds the first part": ("import a.b\na.b", "aa"),
    "an alias binds the alias": ("import b.a as c\nfrom d import a as e\na", "-"),
    "a future import binds": ("from __future__ import a\na", "aa"),
    "nested targets": ("(a, [b, *c]), d.a = e\na", "a.a"),
    "a subscript binds nothing": ("a[0] = 1\ndef f():\n    a[1] = 2", "--"),
    "an annotated name is local": ("a = 1\ndef f():\n    a: int", "ab"),
    "a letter of two bytes": ("ä = 1\na = ä\na", "aa"),
}
CLASSES = {
    "a method does not see the class": ("class A:\n    a = 1\n    def f(self):\n        return a", "a-"),
    "the class sees its own": ("class A:\n    a = 1\n    b = a", "aa"),
    "a class reads outwards until it binds": ("a = 1\nclass A:\n    a = a\n    b = a", "abab"),
    "a class skips the function around it once it binds": (
        "def f(a):\n    class A:\n        b = a\n        a = 1",
        "a-b",
    ),
    "a comprehension in a class does not see it": ("class A:\n    a = 1\n    b = [a for c in d]", "a-"),
    "but its first loop does": ("class A:\n    a = 1\n    b = [c for c in a]", "aa"),
    "a base is read outside": ("class A(a):\n    a = 1", "-a"),
    "a setter is decorated by what it extends": (
        "class A:\n    @property\n    def a(self): pass\n    @a.setter\n    def a(self, v): pass",
        "aaa",
    ),
}
EXPRESSIONS = {
    "a comprehension has its own names": ("a = 1\n[a for a in b]\na", "abba"),
    "the first loop is read outside": ("a = 1\n[b for a in a]", "aba"),
    "later loops are read inside": ("[0 for a in b for c in a]", "aa"),
    "dictionaries and sets": ("{a: 1 for a in b}\n{a for a in b}\na", "aabb-"),
    "a walrus leaves the comprehension": ("def f():\n    [a := b for b in c]\n    return a", "aa"),
    "an f-string is read": ("a = 1\nf'{a!r:>{a}}'", "aaa"),
    "a keyword is a member": ("a = 1\nf(a=a)", "a.a"),
    "a pattern binds": ("match b:\n    case [a, *_]:\n        a\n    case {'k': a, **c}:\n        a", "aaaa"),
    "a dotted pattern is read": ("match b:\n    case a.b:\n        pass", "-"),
    "a class pattern": ("match b:\n    case A(a, a=c) as d:\n        a", "a.a"),
    "an or pattern": ("match b:\n    case (1, a) | (2, a):\n        a", "aaa"),
    "type called with a member assigned": ("a = 1\ntype(a).b = 'a'", "aa"),
}
TYPES = {
    "a string is read as a type": ("class a: pass\nx: 'a'", "aa"),
    "a string in a type": ("class a: pass\ndef f(x: List['a'], y: 'b.a') -> 'a | None': pass", "aa.a"),
    "a literal is a string": ("class a: pass\nx: Literal['a']", "a"),
    "a literal in a string": ("class a: pass\nx: \"Literal['a'] | a\"", "aa"),
    "what Annotated adds is no type": ("class a: pass\nx: Annotated['a', 'a']", "aa"),
    "any other string is text": ("class a: pass\nx = 'a'", "a"),
    "a cast": ("class a: pass\ncast('a', x)", "aa"),
    "a type comment": ("class a: pass\nx = 1  # type: a", "aa"),
    "a type comment of a function": ("class a: pass\ndef f(x):\n    # type: (a) -> a\n    pass", "aaa"),
    "an ignored type": ("class ignore: pass\nx = 1  # type: ignore", ""),
    "a string that is no type": ("class a: pass\nx: 'a if b'", "a"),
    "type parameters": ("a = 1\ndef f[a](x: a) -> a:\n    a\na", "abbbba"),
    "type parameters of a class": ("class A[a](B[a]):\n    x: a\n    def f(self): a\na", "aaaa-"),
    "a type alias": ("a = 1\ntype b[a] = c[a]\na", "abba"),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [pytest.param(*row, id=name) for rows in (FUNCTIONS, CLASSES, EXPRESSIONS) for name, row in rows.items()],
)
def test_scopes(text: str, expected: str) -> None:
    assert meanings(text, "a", "a.py") == expected


@every_case(("text", "expected"), TYPES.values())
def test_types(text: str, expected: str) -> None:
    assert meanings(text, "a", "a.py") == expected


def test_a_private_name_carries_its_class() -> None:
    text = "__a = 1\nclass A:\n    def f(self):\n        return __a\n_A__b = 1\nclass A:\n    x = __b\n"

    assert meanings(text, "__a", "a.py") == "a-"
    assert meanings(text, "__b", "a.py") == "a"


def test_letters_that_python_takes_for_the_same_are_one_name() -> None:
    facts = facts_of("ﬁ = 1\nprint(fi)\n", "a.py")

    assert facts.uses[0].binding == facts.uses[2].binding != NONE
