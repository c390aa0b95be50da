"""Breaks one module in one small way at a time, and says which breaks no test noticed.

    python -m tests.referees.mutants src/handrail/engine/gate.py tests/engine/test_gate.py --most 20

A mutant has one comparison, `and`, `or`, `not`, sign, number, truth value or returned value changed. The
source is copied, so the working tree stays as it is. The mutants that lived are named, and the tests that
noticed none: such a test says what another says, or nothing about this module. It runs when a person asks.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import cast

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
TEST_SECONDS = 300


def break_node(node: ast.AST) -> ast.AST | None:
    """The node with one thing changed; None where there is nothing to change."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=right):
            return ast.Compare(left=left, ops=[COMPARISONS[type(op)]()], comparators=right)
        case ast.BoolOp(op=op, values=values):
            return ast.BoolOp(op=ast.Or() if isinstance(op, ast.And) else ast.And(), values=values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return operand
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            return ast.BinOp(left=left, op=ast.Sub() if isinstance(op, ast.Add) else ast.Add(), right=right)
        case ast.Constant(value=bool() as value):
            return ast.Constant(value=not value)
        case ast.Constant(value=int() as value):
            return ast.Constant(value=value + 1)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            return ast.Return(value=ast.Constant(value=None))
        case _:
            return None


class _Breaker(ast.NodeTransformer):
    def __init__(self, wanted: int) -> None:
        self.wanted, self.seen, self.line = wanted, 0, 0

    def visit_keyword(self, node: ast.keyword) -> ast.AST:
        """`frozen=True` of a class is held by a house rule, for every class."""
        return node if node.arg in {"frozen", "kw_only"} else self.generic_visit(node)

    def visit(self, node: ast.AST) -> ast.AST:
        broken = break_node(node)
        if broken is not None:
            self.seen += 1
            if self.seen - 1 == self.wanted:
                self.line = getattr(node, "lineno", 0)
                return ast.copy_location(broken, node)
        return cast(ast.AST, super().visit(node))


def mutants(text: str) -> Iterator[tuple[int, str]]:
    """Every mutant of a module: the line that changed, and the whole text."""
    wanted = 0
    while True:
        breaker = _Breaker(wanted)
        tree = breaker.visit(ast.parse(text))
        if not breaker.line:
            return
        yield breaker.line, ast.unparse(ast.fix_missing_locations(tree))
        wanted += 1


def run_tests(copy: str, tests: Sequence[str]) -> tuple[set[str], set[str]]:
    """The tests that passed, and those that did not; a run that could not start has one nameless failure."""
    words = ["-n", "0", "-q", "-rA", "--tb=no", "--no-header", "--assert=plain", "-p", "no:cacheprovider"]
    around = {**os.environ, "PYTHONPATH": os.path.join(copy, "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", *words, "--hypothesis-seed=1", *tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=around, capture_output=True, check=False, timeout=TEST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return set(), {""}
    told = re.findall(r"^(PASSED|FAILED|ERROR) ([^\s\[]+)", done.stdout.decode(), re.MULTILINE)
    failed = {name for outcome, name in told if outcome != "PASSED"}
    return {name for _, name in told} - failed, failed or ({""} if done.returncode else set())


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.referees.mutants")
    parser.add_argument("module")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--most", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    ends_at = time.monotonic() + asked.seconds
    with open(os.path.join(ROOT, asked.module), encoding="utf-8") as file:
        text = file.read()
    found = list(mutants(text))
    chosen = sorted(random.Random(asked.seed).sample(found, min(asked.most, len(found))))
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(os.path.join(ROOT, "src"), os.path.join(copy, "src"))
        silent, trouble = run_tests(copy, asked.tests)
        if trouble:
            print(f"Without a break these fail already: {', '.join(sorted(trouble))}")
            return 2
        tried, lived = 0, list[int]()
        for line, broken in chosen:
            if time.monotonic() > ends_at:
                break
            with open(os.path.join(copy, asked.module), "w", encoding="utf-8") as file:
                file.write(broken)
            _, failed = run_tests(copy, asked.tests)
            tried += 1
            silent -= failed
            lived += [] if failed else [line]
    lines = text.splitlines()
    for line in lived:
        print(f"lived: {asked.module}:{line}: {lines[line - 1].strip()}")
    for name in sorted(silent):
        print(f"noticed none: {name}")
    print(f"{tried} of {len(found)} mutants tried, {len(lived)} lived, {len(silent)} tests noticed none.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
