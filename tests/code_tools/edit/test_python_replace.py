"""Replacing a definition of Python: indentation, what the text may be, and who else needs the name."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent

import pytest

from handrail_code.edit.plan import Plan, Refusal
from tests.cases import every_case
from tests.code_tools.planning import apply_in_memory, plan_replace
from tests.code_tools.reading import found_with_mark

SHOP = '''\
import os

LIMIT = 3


class Basket:
    @property
    def ^size(self):
        """How much.

        In pieces.
        """
        return len(self.items)

    def empty(self):
        return not self.size
'''
NEW = '''\
@property
def size(self):
    """How many.

    In pieces.
    """
    text = """
  kept as it is
"""
    return len(text)
'''
PLACED = '''\
    @property
    def size(self):
        """How many.

        In pieces.
        """
        text = """
  kept as it is
"""
        return len(text)
'''


def replaced(files: Mapping[str, str], text: str) -> Plan | Refusal:
    project, found, _ = found_with_mark(files)
    return plan_replace(project, found, text)


def after(files: Mapping[str, str], text: str) -> str:
    project, found, _ = found_with_mark(files)
    plan = plan_replace(project, found, text)
    assert isinstance(plan, Plan), plan
    changed = apply_in_memory(plan, project.source)
    compile(changed[found.path], found.path, "exec")
    return changed[found.path].decode()


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(NEW, id="without indentation"),
        pytest.param(PLACED, id="as the file has it"),
        pytest.param(PLACED.lstrip(" "), id="from its first character on"),
        pytest.param("\n" + NEW + "\n\n", id="with empty lines around it"),
        pytest.param(NEW.replace("\n", "\r\n"), id="with other line ends"),
    ],
)
def test_a_method_is_placed_with_the_indentation_of_its_class(given: str) -> None:
    before, _, rest = SHOP.replace("^", "").partition("    @property\n")
    kept = rest.partition("items)\n")[2]

    assert after({"shop.py": SHOP}, given) == before + PLACED + kept


def test_an_indentation_with_tabs_stays_one() -> None:
    source = "class A:\n\tdef ^b(self):\n\t\treturn 1\n"

    assert after({"a.py": source}, "def b(self):\n    return 2\n") == (
        "class A:\n\tdef b(self):\n\t    return 2\n"
    )


def test_the_lines_of_a_file_keep_their_ends() -> None:
    assert after({"a.py": "def ^b():\r\n    return 1\r\n"}, "def b():\n    return 2\n") == (
        "def b():\r\n    return 2\r\n"
    )


@every_case(
    ("given", "code", "said"),
    [
        ("def other(basket):\n    return 1", "not_found", "does not define total"),
        ("def total(basket, tax=0:\n    return 1", "parse_error", "would not parse"),
        ("def total(basket, tax=0):\n    a = 1\n      return 1", "parse_error", "out of place"),
        ("def total(basket, tax=0):\n    if tax:\n    return 1", "parse_error", "out of place"),
        ("def total(basket, tax=0):\nreturn 1", "parse_error", "out of place"),
        (
            "def total(basket, tax=0):\n    try:\n        pass\n    finally:\n    pass",
            "parse_error",
            "out of place",
        ),
        ("def total(basket, tax=0, more):\n    pass", "parse_error", "out of place"),
        ("def total(basket, tax: int = 0, more: int):\n    pass", "parse_error", "out of place"),
        (
            "def total(basket, tax=0):\n    for x in y:\n        pass\n    else:\n        break",
            "parse_error",
            "",
        ),
        ("def total(basket, tax=0, *):\n    pass", "parse_error", "out of place"),
        ("def total(basket, tax=0):\n    if tax:\n        break", "parse_error", "out of place"),
        ("def total(basket, tax=0):\n    try:\n        pass\n    return 1", "parse_error", "out of place"),
        ("def total(basket, tax=0):\n        a = 1\n    return 1", "parse_error", "out of place"),
        ("def total(basket, tax=0):\n    return 1\nprint(1)", "not_found", "nothing else"),
        ("def total(basket, tax=0):\n    return 1\nx = 1", "changed_meaning", "other names (x)"),
        ("def total(basket):\n    return 1", "changed_meaning", "tax= is given in this call"),
        ("def total(basket, tax=0):\n    global LIMIT, MORE\n    MORE = 1", "changed_meaning", "(MORE)"),
    ],
)
def test_a_text_that_would_change_something_else_is_refused(given: str, code: str, said: str) -> None:
    files = {
        "shop.py": "LIMIT = 1\n\n\ndef ^total(basket, tax=0):\n    return sum(basket) + tax\n",
        "use.py": "from shop import total\n\ntotal([], tax=1)\n",
    }

    refusal = replaced(files, given)

    assert isinstance(refusal, Refusal)
    assert (refusal.code, said in refusal.message) == (code, True), refusal.message
    if "tax=" in said:
        assert refusal.path == "use.py"


def test_undeclared_names_are_named_and_python_names_are_not() -> None:
    files = {"shop.py": "import os\n\n\ndef ^total(basket):\n    return os.sep\n"}

    plan = replaced(files, "def total(basket):\n    return round(sum(basket) + extra(os), 2)\n")

    assert isinstance(plan, Plan)
    assert plan.unresolved == ("extra",)


def test_every_form_of_parameter_and_loop_is_taken() -> None:
    files = {"a.py": "def ^f():\n    return 1\n"}
    text = """\
def f(a, /, b: int = 1, *c: int, d, e: int = 2, **g: int):
    for x in c:
        if x:
            continue
    else:
        while a:
            break
    return [lambda h=1, *, i: (yield) for _ in c]
"""

    assert isinstance(replaced(files, text), Plan)


def test_any_keyword_takes_what_callers_give() -> None:
    files = {"a.py": "def ^f(x=1):\n    return x\n", "b.py": "from a import f\nf(x=2)\n"}

    assert isinstance(replaced(files, "def f(**given):\n    return given\n"), Plan)


def test_a_comment_around_the_definition_is_welcome() -> None:
    source = "class A:\n    def ^b(self):\n        return 1\n\n    c = 1\n"
    given = "# Counted.\ndef b(self):\n    return 2\n    # No more.\n"

    assert after({"a.py": source}, given) == dedent(
        """\
        class A:
            # Counted.
            def b(self):
                return 2
                # No more.

            c = 1
        """
    )
