"""`handrail scan` and `handrail edit` on a project of Python sources."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from handrail.surfaces.mcp.results import answer_call
from handrail_code.mcp.tool_set import tools
from tests.journeys.code_project import CodeProject
from tests.surfaces.cli.here import run_here
from tests.worktree.project import write

FILES = {
    "src/shop/__init__.py": 'from .prices import total\n\n__all__ = ["total"]\n',
    "src/shop/prices.py": """\
from __future__ import annotations


class Basket:
    def __init__(self, items: list[int]) -> None:
        self.items = items


def total(basket: "Basket", tax: int = 0) -> int:
    \"\"\"What it costs.\"\"\"
    return sum(basket.items) + tax
""",
    "src/shop/prices.pyi": "class Basket: ...\ndef total(basket: Basket, tax: int = ...) -> int: ...\n",
    "src/shop/orders.py": """\
from shop import prices
from shop.prices import Basket, total as cost


def order(items):
    return cost(Basket(items), tax=1) + prices.total(Basket(items))
""",
    "tests/test_shop.py": """\
from shop import total
from shop.prices import Basket


def test_total(monkeypatch):
    monkeypatch.setattr("shop.orders.cost", total)
    assert total(Basket([1]), tax=2) == 3
""",
    "src/total.js": "export function total() { return 1 }\n",
}

TOOLS = tools()


@pytest.fixture
def code(tmp_path: Path) -> CodeProject:
    return CodeProject(tmp_path, FILES)


def ask(code: CodeProject, *words: str) -> dict[str, Any]:
    ran = run_here(code.runtime, list(words))
    document: dict[str, Any] = json.loads(ran.out)
    answer: dict[str, Any] = document["data"] if document["ok"] else document["error"]
    return answer


def test_questions_about_python(code: CodeProject) -> None:
    found = ask(code, "js-scan", "--search", "total", "--kind", "function", "--languages", "python")
    outlined = ask(code, "js-scan", "--outline", "src/shop/prices.py")
    linked = ask(code, "js-scan", "--deps", "src/shop/orders.py")
    named = "src/shop/prices.py#total@" + found["results"][0]["hash"][:8]
    analyzed = ask(code, "js-scan", "--analyze", named)
    traced = ask(code, "js-scan", "--trace", "order", "--down")
    rippled = ask(code, "js-scan", "--ripple", found["results"][0]["id"])

    assert [one["file"] for one in found["results"][:2]] == ["src/shop/prices.py", "src/shop/prices.pyi"]
    assert found["results"][0]["signature"] == 'def total(basket: "Basket", tax: int = 0) -> int'
    assert [(one["kind"], one["name"], one["container"]) for one in outlined["results"]] == [
        ("class", "Basket", ""),
        ("method", "__init__", "Basket"),
        ("property", "items", "Basket"),
        ("function", "total", ""),
    ]
    assert [(one["module"], one["file"]) for one in linked["imports"]] == [
        ("shop", "src/shop/prices.py"),
        ("shop.prices", "src/shop/prices.py"),
    ]
    assert analyzed["doc"] == "What it costs."
    assert analyzed["parameters"] == ["basket", "tax"]
    assert {one["name"] for one in analyzed["callers"]} == {"order", "test_total"}
    assert [one["name"] for one in traced["tree"] if one["parent"] == -1] == ["cost", "Basket", "total"]
    assert rippled["tests"] == ["tests/test_shop.py"]
    assert rippled["layers"][0]["files"] == [
        "src/shop/__init__.py",
        "src/shop/orders.py",
        "src/shop/prices.pyi",
        "tests/test_shop.py",
    ]


def test_a_rename_reaches_everything_that_spells_the_name(code: CodeProject) -> None:
    before = {name: code.text(name) for name in FILES}
    for old, new in (("total", "price"), ("tax", "extra"), ("Basket", "Cart"), ("cost", "due")):
        shown = ask(code, "js-edit", "--rename", _id_of(code, old), "--to", new, "--ai-mode")
        ask(code, "js-edit", "--continuation", shown["continuation_tokens"]["apply"], "--fix")

    after = {name: code.text(name) for name in FILES}
    words = (("total", "price"), ("tax", "extra"), ("Basket", "Cart"), ("cost", "due"))
    for name, text in before.items():
        if name != "src/total.js":
            for old, new in words:
                text = text.replace("test_total", "TEST").replace(old, new).replace("TEST", "test_total")
        assert after[name] == text.replace("What it dues.", "What it costs.")
    subprocess.run(
        [sys.executable, "-c", "import shop, shop.orders; assert shop.orders.order([1]) == 3"],
        cwd=code.root / "src",
        check=True,
        timeout=60,
    )


def _id_of(code: CodeProject, name: str) -> str:
    found = ask(code, "js-scan", "--search", name, "--languages", "python")["results"]
    wanted = "src/shop/orders.py" if name == "cost" else "src/shop/prices.py"
    return str(
        next(one["id"] for one in found if one["file"] == wanted and one["name"] == name and one["id"])
    )


def test_a_replaced_method_keeps_its_place_and_its_callers(code: CodeProject) -> None:
    given = write(code.root.parent, "new.py", "def order(items, gift=False):\n    return wrap(items)\n")
    less = write(code.root.parent, "less.py", "def total(basket):\n    return 0\n")

    shown = ask(code, "js-edit", "--replace", "order", "--with-file", str(given), "--ai-mode")
    applied = ask(code, "js-edit", "--continuation", shown["continuation_tokens"]["apply"], "--fix")
    refused = ask(
        code, "js-edit", "--file", "src/shop/prices.py", "--replace", "total", "--with-file", str(less)
    )

    assert shown["items"][0]["unresolved"] == ["wrap"]
    assert applied["files_modified"] == ["src/shop/orders.py"]
    assert code.text("src/shop/orders.py").endswith(
        "\n\n\ndef order(items, gift=False):\n    return wrap(items)\n"
    )
    assert (refused["details"]["reason"], refused["details"]["file"]) == (
        "changed_meaning",
        "tests/test_shop.py",
    )


def test_agent_without_a_shell_works_on_python_with_tokens(code: CodeProject) -> None:
    found = tool(code, "code_search", search="Basket", kind=["class"])
    explained = tool(code, "code_explain", continuation=found["continuation_tokens"]["analyze:0"])
    rippled = tool(code, "code_ripple", continuation=explained["continuation_tokens"]["ripple"])
    traced = tool(code, "code_trace", continuation=explained["continuation_tokens"]["trace"])
    located = tool(code, "code_edit", continuation=rippled["continuation_tokens"]["locate"])
    tokens = located["continuation_tokens"]
    text = 'class Basket:\n    """Holds."""\n\n    def __init__(self, items):\n        self.items = items\n'
    replaced = tool(code, "code_edit", continuation=tokens["replace_preview"], withText=text)
    renamed = tool(code, "code_edit", continuation=tokens["rename_preview"], to="Cart")
    applied = tool(code, "code_edit", continuation=renamed["continuation_tokens"]["apply"], fix=True)
    stale = answer_call(
        code.runtime,
        TOOLS,
        TOOLS["code_edit"],
        {"continuation": replaced["continuation_tokens"]["apply"], "fix": True},
        "standard",
    )
    moved = answer_call(
        code.runtime,
        TOOLS,
        TOOLS["code_edit"],
        {"move": "order", "toModule": "src/shop/more.py"},
        "standard",
    )

    assert explained["symbol"]["file"] == "src/shop/prices.py"
    assert set(tokens) == {"replace_preview", "rename_preview", "context"}
    assert {one["name"] for one in traced["tree"]} >= {"order", "test_total"}
    assert rippled["tests"] == ["tests/test_shop.py"]
    assert [change["file"] for change in replaced["changes"]] == ["src/shop/prices.py"]
    assert applied["files_modified"] == [
        "src/shop/orders.py",
        "src/shop/prices.py",
        "src/shop/prices.pyi",
        "tests/test_shop.py",
    ]
    assert stale.is_error
    assert "is no longer there" in stale.text
    assert moved.is_error
    assert "only renames and replacements" in moved.text


def tool(code: CodeProject, name: str, **params: Any) -> dict[str, Any]:
    answered = answer_call(code.runtime, TOOLS, TOOLS[name], params, "standard")
    assert not answered.is_error, answered.text
    return answered.structured


def test_what_only_a_run_tells_is_refused_with_the_place(code: CodeProject) -> None:
    method = ask(code, "js-edit", "--file", "src/shop/prices.py", "--rename", "__init__", "--to", "start")
    fixture = ask(code, "js-edit", "--rename", "monkeypatch", "--to", "patcher")
    extracted = ask(code, "js-edit", "--file", "src/shop/prices.py", "--extract", "Basket")

    assert method["details"]["reason"] == "member"
    assert (
        fixture["details"] | {"reason": "dynamic", "file": "tests/test_shop.py", "line": 5}
        == fixture["details"]
    )
    assert extracted["details"]["reason"] == "language"
    assert {name: code.text(name) for name in FILES} == FILES


def test_each_command_sees_its_languages(code: CodeProject) -> None:
    def files(answer: dict[str, Any]) -> set[str]:
        return {one["file"].rpartition(".")[2] for one in answer["results"]}

    everything = files(ask(code, "js-scan", "--search", "total"))
    python = files(ask(code, "js-scan", "--search", "total", "--languages", "python"))
    javascript = files(code.told("js-scan --search total"))

    assert everything == {"js", "py", "pyi"}
    assert python == {"py", "pyi"}
    assert javascript == {"js"}


def test_token_about_python_works_in_every_command(
    code: CodeProject,
) -> None:
    found = ask(code, "js-scan", "--search", "order", "--languages", "python", "--ai-mode")
    token = found["continuation_tokens"]["locate:0"]

    located = code.told("js-edit --continuation T", T=token)
    _, refused = code.line("js-edit --continuation T", T=token[:-9] + "xyz" + token[-6:])

    assert located["location"]["file"] == "src/shop/orders.py"
    assert refused["recovery"]["suggestion"] == (
        "Get a new token by running: "
        "handrail code explain --locate 'order' --file 'src/shop/orders.py' --ai-mode"
    )


def test_the_scripts_name_their_language() -> None:
    """What the two console scripts add to their line, told by the program itself."""
    told = "m.main = lambda *words: print(*words) or 0"
    script = "import handrail.main as m, handrail_code.scripts as s; " + told + "; s.{}()"
    for name, added in (("js_scan", "js-scan"), ("js_edit", "js-edit")):
        ran = subprocess.run(
            [sys.executable, "-c", script.format(name)],
            check=True,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        assert ran.stdout == f"{added} --languages javascript\n"
