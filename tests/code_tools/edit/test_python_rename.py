"""What a rename in Python changes, what it keeps, and what it refuses."""

from __future__ import annotations

from collections.abc import Mapping

from handrail_code.edit.plan import Plan, Refusal
from tests.cases import every_case
from tests.code_tools.edit.test_rename import read_case, read_marked, rename
from tests.code_tools.planning import plan_rename
from tests.code_tools.reading import project_with_mark

Files = Mapping[str, str]

ONE_FILE: dict[str, str | tuple[str, str]] = {
    "a local": "def f():\n    ^a = 1\n    return °a",
    "a function": "def ^a(): °a()\n°a()",
    "a class and its types": "class ^a: pass\nx: '°a' = cast('°a', 1)  # type: °a\n"
    "def f(y: List['°a']) -> °a: 'a'",
    "what is listed": "__all__ = ['°a']\n__all__ += ('c',)\ndef ^a(): pass",
    "a global": "^a = 1\ndef f():\n    global °a\n    °a = 2",
    "a class of the same name as its attribute": "^a = 1\nclass A:\n    a = °a\n    c = a",
    "a keyword of a known function": "def f(^a, c=1): return °a\nf(°a=1)\nf(c=a)",
    "a keyword of another function stays": "def f(^a): return °a\ndef g(a): pass\ng(a=1)",
    "a keyword of a class": "class A:\n    def __init__(self, ^a): self.a = °a\nA(°a=1)",
    "a parameter that callers cannot name": "def f(^a, /, *c): return °a\nx.f(a=1)",
    "the first parameter of a method": "class A:\n    def m(^a): return °a.m(a=1)",
    "an import keeps the other side": ("from x import ^a\na", "from x import a as b\nb"),
    "an alias": "from x import c as ^a\n°a",
    "a module": ("import ^a\na.a", "import a as b\nb.a"),
    "an f-string": "^a = 1\nf'{°a:{°a}} a'",
    "a comprehension": "[^a for °a in a]",
    "a walrus": "def f():\n    if any(^a := c for c in d):\n        return °a",
    "nonlocal": "def f():\n    ^a = 1\n    def g():\n        nonlocal °a\n        °a += 1",
    "a pattern": "match x:\n    case [^a, y] if °a:\n        °a",
    "windows line ends and a byte order mark": "\ufeff^a = 'ä'\r\nprint('ü', °a)\r\n",
}


@every_case("case", ONE_FILE)
def test_one_file(case: str) -> None:
    told = ONE_FILE[case]
    before, after = told if isinstance(told, tuple) else read_marked(told)
    assert rename({"m.py": before}) == {"m.py": after}


FILES: dict[str, Files | tuple[Files, Files]] = {
    "importers, re-exports, members and what tests patch": {
        "p/__init__.py": "from .m import °a\n__all__ = ['°a']",
        "p/m.py": "def ^a(): pass",
        "t.py": "import p.m\nimport p.m as q\nfrom p import °a as c\n"
        "p.°a; p.m.°a(); q.°a; c\npatch('p.m.°a')\ngetattr(p, '°a')",
    },
    "relative imports of all depths": {
        "p/__init__.py": "",
        "p/m.py": "^a = 1",
        "p/q/__init__.py": "from ..m import °a",
        "p/q/n.py": "from . import °a\nfrom .. import m\nm.°a + °a",
    },
    "a star import": {
        "m.py": "def ^a(): pass",
        "n.py": "from m import *\n°a()",
        "o.py": "from n import *\n°a()",
    },
    "a star import that leaves it out": {"m.py": "^a = 1\n__all__ = []", "n.py": "from m import *\nb"},
    "the stub": {"m.py": "def ^a(): pass", "m.pyi": "def °a() -> None: ...", "n.py": "from m import °a"},
    "a fallback": (
        {"m.py": "^a = 1", "n.py": "try:\n    from m import a\nexcept ImportError:\n    from o import a\na"},
        {
            "m.py": "b = 1",
            "n.py": "try:\n    from m import b\nexcept ImportError:\n    from o import a as b\nb",
        },
    ),
    "a source folder": {
        "src/p/__init__.py": "def ^a(): pass",
        "tests/test_p.py": "import p\np.°a()",
        "src/q.py": "from p import °a",
    },
    "keywords in other files": {
        "m.py": "def f(^a): return °a",
        "n.py": "import m\nfrom m import f as g\nm.f(°a=1); g(°a=2); h(a=3)",
    },
    "a name that is the same on purpose": {
        "p/__init__.py": "from .m import °a as °a\nfrom .m import °a as c",
        "p/m.py": "^a = 1",
    },
    "a module that its package imports": {"p/__init__.py": "from p import m\nm.°a", "p/m.py": "^a = 1"},
    "a parameter in the stub": {
        "m.py": "class A:\n    def f(self, ^a): return °a",
        "m.pyi": "class A:\n    def f(self, °a: int): ...",
    },
    "another language has its own names": {
        "m.py": "def ^a(): pass",
        "m.js": "export function a() {}",
        "n.js": "var a; a",
    },
}


@every_case("case", FILES)
def test_several_files(case: str) -> None:
    before, after = read_case(FILES[case])
    assert rename(before) == after


REFUSED: dict[str, tuple[Files, str, str]] = {
    "imported from its own module": ({"m.py": "def ^a(): pass\nfrom m import a\na()"}, "b", "dynamic"),
    "imported from itself under the same name": (
        {"p/__init__.py": "", "p/m.py": "from .m import a as a\ndef ^a(): pass"},
        "b",
        "dynamic",
    ),
    "a method": ({"m.py": "class A:\n    def ^a(self): pass"}, "b", "member"),
    "an attribute of a class": ({"m.py": "class A:\n    ^a = 1"}, "b", "member"),
    "a name of Python": ({"m.py": "^__all__ = []"}, "b", "external"),
    "the first part of a module": ({"m.py": "import ^a.c\na.c"}, "b", "external"),
    "a word of the language": ({"m.py": "^a = 1"}, "lambda", "invalid_name"),
    "no name": ({"m.py": "^a = 1"}, "b$", "invalid_name"),
    "a name that is there": ({"m.py": "^a = 1\nb = 2"}, "b", "collision"),
    "an inner name would catch it": ({"m.py": "^a = 1\ndef f(b): return a"}, "b", "shadowed"),
    "it would catch a name of Python": ({"m.py": "^a = 1\nprint(a)"}, "print", "captured"),
    "a comprehension would catch it": ({"m.py": "def f(^a): return [b for b in c if a]"}, "b", "shadowed"),
    "code in a string": ({"m.py": "def f(^a): return eval('a')"}, "b", "dynamic"),
    "names as a dictionary": ({"m.py": "def f(^a): return '{a}'.format(**locals())"}, "b", "dynamic"),
    "the module's names as a dictionary": ({"m.py": "^a = 1\nglobals()['a']"}, "b", "dynamic"),
    "a call that may mean it": (
        {"m.py": "class A:\n    def m(self, ^a): return a\nx.m(a=1)"},
        "b",
        "dynamic",
    ),
    "keywords from a dictionary": ({"m.py": "def f(^a): return a\nf(**c)"}, "b", "dynamic"),
    "a decorator": ({"m.py": "@command\ndef f(^a): return a"}, "b", "dynamic"),
    "a parameter of a test": ({"test_m.py": "def test_f(^a): return a"}, "b", "dynamic"),
    "a fixture": ({"conftest.py": "@pytest.fixture\ndef ^a(): pass"}, "b", "dynamic"),
    "a base class from elsewhere": (
        {"m.py": "from x import Y\nclass A(Y):\n    def m(self, ^a): return a"},
        "b",
        "dynamic",
    ),
    "a name that a branch binds over Python's": (
        {"m.py": "try:\n    x\nexcept NameError:\n    ^long = int\nlong(1)"},
        "b",
        "dynamic",
    ),
    "a module of the package": ({"p/__init__.py": "^a = 1", "p/b.py": ""}, "b", "collision"),
    "a file that takes everything has it": (
        {"m.py": "^a = 1", "n.py": "from m import *\nb = 1"},
        "b",
        "captured",
    ),
    "a star import would leave it out": (
        {"m.py": "^a = 1", "n.py": "from m import *\na"},
        "_b",
        "changed_meaning",
    ),
    "two star imports": (
        {"m.py": "^a = 1", "n.py": "from m import *\nfrom elsewhere import *\na"},
        "b",
        "dynamic",
    ),
    "a name of the module and of a star import": (
        {"m.py": "from n import *\n^a = 1", "n.py": "a = 2"},
        "b",
        "dynamic",
    ),
    "another import of the new name": (
        {"m.py": "^a = 1", "n.py": "from m import b"},
        "b",
        "captured",
    ),
    "a member of the new name": ({"m.py": "^a = 1", "n.py": "import m\nm.b"}, "b", "captured"),
    "a file that takes everything binds it too": (
        {"m.py": "^a = 1", "n.py": "a = 2\nfrom m import *"},
        "b",
        "dynamic",
    ),
    "the names of the module as data": ({"m.py": "^a = 1", "n.py": "import m\nvars(m)"}, "b", "dynamic"),
    "the names of a module that takes everything": (
        {"m.py": "^a = 1", "n.py": "from m import *", "o.py": "import n\nn.__dict__"},
        "b",
        "dynamic",
    ),
    "a function without a name": ({"m.py": "f = {1: lambda ^a: a}\nf[1](a=1)"}, "b", "dynamic"),
    "a private name of a class": ({"m.py": "class ^A:\n    __x = 1\ny._A__x"}, "B", "dynamic"),
    "a syntax error": ({"m.py": "^a = 1\ndef :"}, "b", "parse_error"),
}


@every_case(("files", "new_name", "code"), REFUSED.values())
def test_what_cannot_be_known_is_refused_with_the_place(files: Files, new_name: str, code: str) -> None:
    refusal = rename(files, new_name)

    assert isinstance(refusal, Refusal), refusal
    assert refusal.code == code


INCOMPLETE: dict[str, tuple[Files, str]] = {
    "a module as a value": ({"m.py": "^a = 1", "n.py": "import m\nf(m)"}, "whole_module_used"),
    "a module that a call gives": (
        {
            "m.py": "^a = 1",
            "n.py": "import importlib\nm = importlib.import_module('m')\ngetattr(m, 'A'.lower())",
        },
        "whole_module_used",
    ),
    "a module that a call gives to another": (
        {"m.py": "^a = 1", "n.py": "f(__import__('m'))"},
        "whole_module_used",
    ),
    "a module of a package that a call gives": (
        {"p/__init__.py": "", "p/m.py": "^a = 1", "n.py": "f(import_module('p.m'))"},
        "whole_module_used",
    ),
    "a neighbour that a call gives": (
        {"p/__init__.py": "", "p/m.py": "^a = 1", "p/n.py": "f(import_module('.m', __package__))"},
        "whole_module_used",
    ),
    "a module from the table": ({"m.py": "^a = 1", "n.py": "f(sys.modules['m'])"}, "whole_module_used"),
    "a module that the table may have": (
        {"m.py": "^a = 1", "n.py": "m = sys.modules.get('m')"},
        "whole_module_used",
    ),
    "a module as a member": (
        {"p/__init__.py": "", "p/m.py": "^a = 1", "n.py": "import p.m\nf(p.m)"},
        "whole_module_used",
    ),
    "a computed import": ({"m.py": "^a = 1", "n.py": "a\nimport_module(x)"}, "dynamic_import"),
    "a computed member": ({"m.py": "^a = 1", "n.py": "a\ngetattr(m, x)"}, "computed_member"),
    "code elsewhere": ({"m.py": "^a = 1", "n.py": "a\nexec(x, {})"}, "eval"),
    "a computed list": ({"m.py": "^a = 1\n__all__ = [x for x in y]"}, "computed_exports"),
    "a module with an answer for every name": (
        {"m.py": "^a = 1\ndef __getattr__(name): pass"},
        "computed_exports",
    ),
    "a star import of another package": (
        {"m.py": "^a = 1", "n.py": "from elsewhere import *\na"},
        "star_import",
    ),
    "a file that cannot be parsed": ({"m.py": "^a = 1", "n.py": "def :\na"}, "parse_error"),
}


@every_case(("files", "code"), INCOMPLETE.values())
def test_a_plan_says_why_it_may_not_be_all(files: Files, code: str) -> None:
    project, symbol, _ = project_with_mark(files)

    plan = plan_rename(project, symbol, "b")

    assert isinstance(plan, Plan), plan
    assert plan.reasons
    assert code in {reason.code for reason in plan.reasons}


def test_rename_of_an_import_and_back_leaves_the_same_bytes() -> None:
    assert rename({"m.py": "from x import ^a\na"}, "c") == {"m.py": "from x import a as c\nc"}
    assert rename({"m.py": "from x import a as ^c\nc"}, "a") == {"m.py": "from x import a\na"}


@every_case(
    "text",
    [
        "importlib.import_module('m').a",
        "import_module('m').a()",
        "__import__('m').a",
        "sys.modules['m'].a",
        "sys.modules.get('m').a",
        "getattr(import_module('m'), 'a')",
        "import_module('m')\ndel sys.modules['m']",
    ],
)
def test_a_module_that_an_expression_gives_is_followed(text: str) -> None:
    files = {"m.py": "^a = 1", "n.py": text}
    project, symbol, _ = project_with_mark(files)

    expected = {"m.py": "b = 1", "n.py": text.replace(".a", ".b").replace("'a'", "'b'")}
    assert rename(files) == expected
    assert not project.references(symbol).reasons


def test_members_and_mentions_are_listed_and_left_alone() -> None:
    files = {"m.py": "def ^a(): pass\n# a\nx = 'a'", "n.py": "y.a()\nclass B:\n    def a(self): pass"}
    project, symbol, _ = project_with_mark(files)

    plan = plan_rename(project, symbol, "b")

    assert isinstance(plan, Plan)
    assert [(each.path, each.level) for each in plan.untouched] == [
        ("m.py", "possible"),
        ("m.py", "possible"),
        ("n.py", "member"),
        ("n.py", "member"),
    ]
