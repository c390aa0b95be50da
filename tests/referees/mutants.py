"""Breaks a room in one small way at a time; names breaks that no test notices, and tests that notice none.

    python -m tests.referees.mutants src/handrail/engine tests/engine --each 4 --seconds 3600

A mutant has one comparison, `and`, `or`, `not`, sign, number, truth value or returned value changed. The
tests run once to see which lines each of them reaches; then every test meets mutants of lines that it
reaches, those first that few tests reach, and only tests that reach a mutant run against it. The source is
copied, so the working tree stays as it is. A test that notices none of its mutants says what another says,
or nothing about this room. It runs when a person asks.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, cast

import pytest

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
TEST_SECONDS = 120
ROOM, REACHED = "MUTANTS_ROOM", "MUTANTS_REACHED"
Place = tuple[str, int]


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


class _Reach:
    """A plugin of the first run: the lines of the room that each test reaches, parameters together."""

    def __init__(self) -> None:
        self.room = os.environ[ROOM]
        self.reached: dict[str, set[Place]] = defaultdict(set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        here = self.reached[item.nodeid.partition("[")[0]]

        def on_line(frame: FrameType, event: str, _: object) -> Any:
            here.add((frame.f_code.co_filename, frame.f_lineno))
            return on_line

        def on_call(frame: FrameType, event: str, _: object) -> Any:
            return on_line if frame.f_code.co_filename.startswith(self.room) else None

        sys.settrace(on_call)
        try:
            return (yield)
        finally:
            sys.settrace(None)

    def pytest_sessionfinish(self) -> None:
        with open(os.environ[REACHED], "w", encoding="utf-8") as file:
            json.dump({name: sorted(places) for name, places in self.reached.items()}, file)


def pytest_configure(config: pytest.Config) -> None:
    """Pytest loads this module as a plugin (`-p`) for the first run."""
    config.pluginmanager.register(_Reach())


def run_tests(copy: str, tests: Sequence[str], **more: str) -> set[str]:
    """The tests that fail; a run that could not start has one nameless failure."""
    words = ["-n", "0", "-q", "-rA", "--tb=no", "--no-header", "--assert=plain", "-p", "no:cacheprovider"]
    words += ["-p", "tests.referees.mutants"] if more else []
    around = {**os.environ, "PYTHONPATH": os.path.join(copy, "src"), "PYTHONDONTWRITEBYTECODE": "1", **more}
    command = [sys.executable, "-m", "pytest", *words, "--hypothesis-seed=1", *tests]
    seconds = None if more else TEST_SECONDS  # the first run is traced, and no break can make it hang
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=around, capture_output=True, check=False, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return {""}
    told = re.findall(r"^(?:FAILED|ERROR) ([^\s\[]+)", done.stdout.decode(), re.MULTILINE)
    return set(told) or ({""} if done.returncode else set())


def reach(copy: str, room: str, tests: Sequence[str]) -> dict[str, set[Place]]:
    """The lines of the room that each test reaches."""
    answer = os.path.join(copy, "reached.json")
    trouble = run_tests(copy, tests, **{ROOM: os.path.join(copy, room), REACHED: answer})
    if trouble:
        raise SystemExit(f"Without a break these fail already: {', '.join(sorted(trouble))}")
    with open(answer, encoding="utf-8") as file:
        return {name: {(path, line) for path, line in places} for name, places in json.load(file).items()}


def break_room(copy: str, room: str) -> dict[Place, list[str]]:
    """The broken texts of each line of the room."""
    found: dict[Place, list[str]] = defaultdict(list)
    for folder, _, names in os.walk(os.path.join(copy, room)):
        for path in (os.path.join(folder, name) for name in names if name.endswith(".py")):
            with open(path, encoding="utf-8") as file:
                for line, text in mutants(file.read()):
                    found[path, line].append(text)
    return found


def choose(
    reached: Mapping[str, set[Place]], broken: Mapping[Place, list[str]], each: int, seed: int
) -> list[tuple[Place, str]]:
    """For every test a few mutants that it reaches, those first that few tests reach."""
    chance = random.Random(seed)
    crowd = Counter(place for places in reached.values() for place in places)
    chosen: dict[tuple[Place, str], None] = {}
    for name in sorted(reached):
        places = sorted(reached[name] & broken.keys(), key=lambda place: (crowd[place], chance.random()))
        for place in places[:each]:
            chosen[place, chance.choice(broken[place])] = None
    return list(chosen)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.referees.mutants")
    parser.add_argument("room", help="a folder of src")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--each", type=int, default=4, help="mutants that a test meets at least")
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    ends_at = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(os.path.join(ROOT, "src"), os.path.join(copy, "src"))
        reached = reach(copy, asked.room, asked.tests)
        chosen = choose(reached, break_room(copy, asked.room), asked.each, asked.seed)
        random.Random(asked.seed).shuffle(chosen)
        tried, lived, met = 0, list[str](), Counter[str]()
        noticed = set[str]()
        for (path, line), text in chosen:
            if time.monotonic() > ends_at:
                break
            with open(path, encoding="utf-8") as file:
                whole = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            names = sorted(name for name, places in reached.items() if (path, line) in places)
            failed = run_tests(copy, names)
            with open(path, "w", encoding="utf-8") as file:
                file.write(whole)
            tried += 1
            met.update(names)
            noticed |= set(names) if "" in failed else failed
            if not failed:
                place = f"{os.path.relpath(path, copy)}:{line}"
                print(f"lived: {place}: {whole.splitlines()[line - 1].strip()}", flush=True)
                lived.append(place)
    silent = sorted(name for name in met if met[name] >= min(asked.each, 3) and name not in noticed)
    for name in silent:
        print(f"noticed none of {met[name]}: {name}")
    print(f"{tried} of {len(chosen)} mutants tried, {len(lived)} lived, {len(silent)} tests noticed none.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
