"""What the facts of a Python file say about definitions, exports and dynamic places."""

from __future__ import annotations

from handrail_code.facts.model import NONE
from tests.cases import every_case
from tests.code_tools.reading import facts_of

SOURCE = """\
import os
LIMIT: int = 3
_hidden = lambda x: x


@total_ordering
class Shop(Base, metaclass=Meta):
    \"\"\"Sells.\"\"\"

    open_at = 9

    def __init__(self, name, /, *args, **more) -> None:
        self.name = name
        self.name = self.open = args

    async def sell(self, item: "Item", count=1) -> "Item":
        'Take it.'
        if item and count:
            return item
        for each in item: pass
"""


def test_definitions_have_kinds_containers_and_signatures() -> None:
    facts = facts_of(SOURCE, "a.py")

    told = [
        (
            each.kind,
            each.name,
            "" if each.container == NONE else facts.definitions[each.container].name,
            each.exported,
            each.signature,
            each.doc,
        )
        for each in facts.definitions
        if each.kind not in ("parameter", "import")
    ]
    assert told == [
        ("variable", "LIMIT", "", True, "LIMIT: int = 3", ""),
        ("function", "_hidden", "", False, "_hidden = lambda x: x", ""),
        ("class", "Shop", "", True, "class Shop(Base, metaclass=Meta)", "Sells."),
        ("property", "open_at", "Shop", False, "open_at = 9", ""),
        ("method", "__init__", "Shop", False, "def __init__(self, name, /, *args, **more) -> None", ""),
        ("property", "name", "Shop", False, "self.name = name", ""),
        ("property", "open", "Shop", False, "self.open = args", ""),
        (
            "method",
            "sell",
            "Shop",
            False,
            'async def sell(self, item: "Item", count=1) -> "Item"',
            "Take it.",
        ),
        ("variable", "each", "sell", False, "", ""),
    ]


def test_complexity_counts_decisions() -> None:
    facts = facts_of(SOURCE, "a.py")

    assert {each.name: each.complexity for each in facts.definitions if each.kind == "method"} == {
        "__init__": 1,
        "sell": 4,
    }


def test_the_list_decides_what_is_exported() -> None:
    facts = facts_of("from x import a\nb = c = 1\n__all__ = ['a', 'b']\n__all__.append('d')\n", "a.py")

    assert [each.exported for each in facts.exports] == ["a", "b", "d"]
    assert {each.name: each.exported for each in facts.definitions} == {
        "a": True,
        "b": True,
        "c": False,
        "__all__": False,
    }


@every_case(
    ("text", "kind"),
    [
        ("eval(x)", "eval"),
        ("exec(x, {})", "exec"),
        ("globals()", "globals"),
        ("vars()", "globals"),
        ("def f(): locals()", "locals"),
        ("getattr(x, y)", "getattr"),
        ("importlib.import_module(x)", "import"),
        ("__all__ = f()", "exports"),
        ("def __getattr__(name): pass", "exports"),
        ("@route\ndef f(a): pass", "decorator"),
        ("try: x\nexcept E: str = 1\nstr", "scope"),
    ],
)
def test_dynamic_places_are_noted(text: str, kind: str) -> None:
    assert [each.kind for each in facts_of(text, "a.py").dynamic] == [kind]


@every_case(
    "text",
    [
        "def eval(x): pass\neval(y)",
        "vars(x)",
        "getattr(x, 'y')",
        "@property\ndef f(a): pass",
        "@functools.wraps(g)\ndef f(a): pass",
        "import_module('a.b')",
        "str = 1\nstr",
    ],
)
def test_what_can_be_told_is_not_dynamic(text: str) -> None:
    assert facts_of(text, "a.py").dynamic == ()
