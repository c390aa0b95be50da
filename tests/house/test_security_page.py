"""SECURITY.md is a table: each promise has a scope and tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (.+\.) \| (.+) \| ((?:`tests/[^|]+`(?:, )?)+) \|$",
    (ROOT / "SECURITY.md").read_text(encoding="utf-8"),
    re.MULTILINE,
)


def list_tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_promise_of_the_security_page_has_its_test() -> None:
    promised = (ROOT / "SECURITY.md").read_text(encoding="utf-8").partition("## What is promised")[2]
    promised = promised.partition("\n## ")[0]
    rows = [
        line for line in promised.splitlines() if line.startswith("| ") and not line.startswith("| promise")
    ]

    assert len(ROWS) == len(rows), "every row has a promise, a scope and a test"
    missing = [
        named
        for _, _, tests in ROWS
        for named in re.findall(r"`([^`]+)`", tests)
        for path, _, test in [named.partition("::")]
        if not (ROOT / path).exists() or test not in list_tests(ROOT / path)
    ]
    assert missing == []
