"""What means a Python name, how sure that is, and where a module name leads."""

from __future__ import annotations

from handrail_code.facts.resolution import Resolved
from tests.cases import every_case
from tests.code_tools.reading import project_of, project_with_mark

FILES = {
    "p/__init__.py": "from .m import a as b\nfrom . import m",
    "p/m.py": "def ^a(x): pass\na(1)",
    "n.py": "import p\nfrom p import b\np.b(x=1)\nb()\np.m.a\nq.a\n# a",
}


def test_each_reference_has_its_level() -> None:
    project, symbol, _ = project_with_mark(FILES)

    found = project.references(symbol)

    text = {path: (project.source.text(path) or b"") for path in FILES}
    told = [(each.path, text[each.path][each.start : each.end].decode(), each.level) for each in found.items]
    assert told == [
        ("n.py", "b", "alias"),
        ("n.py", "b", "alias"),
        ("n.py", "b", "alias"),
        ("n.py", "a", "exact"),
        ("n.py", "a", "member"),
        ("n.py", "a", "possible"),
        ("p/__init__.py", "a", "exact"),
        ("p/__init__.py", "b", "alias"),
        ("p/m.py", "a", "exact"),
        ("p/m.py", "a", "exact"),
    ]
    assert not found.reasons


def test_a_parameter_that_callers_may_name_says_so() -> None:
    files = {"m.py": "class A:\n    def f(self, ^a): return a", "n.py": "x.f(a=1)"}
    project, symbol, _ = project_with_mark(files)

    found = project.references(symbol)

    assert found.reasons
    assert [(each.code, each.path) for each in found.reasons] == [("unclear_call", "n.py")]


LAYOUT = {
    "setup.py": "",
    "src/p/__init__.py": "",
    "src/p/m.py": "",
    "src/p/q/n.py": "",
    "src/p/s.pyi": "",
    "tests/conftest.py": "",
    "tests/help.py": "",
    "one/twice/__init__.py": "",
    "two/twice/__init__.py": "",
    "three/lib_only/__init__.py": "",
    "scripts/run.py": "",
    "scripts/logging.py": "",
}


@every_case(
    ("importer", "module", "expected"),
    [
        ("tests/test_a.py", "p", "src/p/__init__.py"),
        ("tests/test_a.py", "p.m", "src/p/m.py"),
        ("tests/test_a.py", "p.q.n", "src/p/q/n.py"),
        ("tests/test_a.py", "p.s", "src/p/s.pyi"),
        ("tests/test_a.py", "help", "tests/help.py"),
        ("src/p/m.py", ".", "src/p/__init__.py"),
        ("src/p/m.py", ".q.n", "src/p/q/n.py"),
        ("src/p/q/n.py", "..m", "src/p/m.py"),
        ("src/p/q/n.py", "...m", None),
        ("src/p/m.py", ".nowhere", None),
        ("src/p/m.py", "os.path", None),
        ("src/p/m.py", "logging", None),
        ("scripts/run.py", "logging", "scripts/logging.py"),
        ("setup.py", "lib_only", "three/lib_only/__init__.py"),
        ("setup.py", "twice", None),
        ("one/a.py", "twice", "one/twice/__init__.py"),
        ("src/p/m.py", "help", None),
    ],
)
def test_where_a_module_name_leads(importer: str, module: str, expected: str | None) -> None:
    found = project_of(LAYOUT | {importer: ""}).slots.resolve(importer, module)

    assert found == (None if expected is None else Resolved(path=expected))
