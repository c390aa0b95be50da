"""Breaks a room in one small way at a time; names breaks that no test notices, and tests that notice none.

    python -m tests.referees.mutants src/handrail/engine tests/engine --seconds 3600

A mutant has one comparison, `and`, `or`, `not`, sign, number, truth value or returned value changed. The
tests are collected once and never run in this process: for every mutant a fork gives the functions of the
module their broken code and runs tests that reach the changed lines until one fails, first those that are
quick and have noticed much. After that, tests that have noticed nothing meet mutants that others noticed,
so both lists are whole. Two controls go the same road first. Source that was compiled anew without a break
must be noticed by nobody, or there are no figures, and so must the twin without a break of every fiftieth
mutant. A room that raises wherever it is entered must be noticed by every test that enters it, or that test
is named.

What runs while a module is imported or tests are collected is out of reach: it is counted, not tried. So is
code that a test starts in another process. `--again FILE` shows what lived to other tests, as to journeys. It
runs when a person asks.
"""

from __future__ import annotations

import argparse
import ast
import gc
import importlib
import json
import os
import random
import resource
import select
import signal
import sys
import threading
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from types import CodeType, FrameType, FunctionType
from typing import Any, TypeAlias

import pytest
from hypothesis import Phase, settings

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_PAIRS: list[tuple[type[ast.cmpop], type[ast.cmpop]]] = [
    *((ast.Eq, ast.NotEq), (ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.In, ast.NotIn), (ast.Is, ast.IsNot))
]
COMPARISONS = dict(_PAIRS) | {other: one for one, other in _PAIRS}
ANNOTATIONS = {"annotation", "returns"}
"""They are never evaluated."""
HOUSE_RULES = {"frozen", "kw_only"}
"""Of every class; a house rule holds them."""
TEST_SECONDS = 10
"""Of processor time at most, so that a busy machine fails no test."""
WAIT_SECONDS = 60
"""After which a child that neither tells nor does anything hangs."""
TWIN_STEP = 50
ALL = sys.maxsize
CHILD_BYTES = 6 << 30
Place: TypeAlias = tuple[str, int]
Key: TypeAlias = tuple[str, int]


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


@dataclass(frozen=True)
class Break:
    """One break, and the lines any of which a test reaches to meet it; none if it runs at import."""

    lines: range
    whole: ast.AST
    broken: ast.AST


def breaks(node: ast.AST, statement: ast.stmt | None = None, inside: bool = False) -> Iterator[Break]:
    """Every break of a tree, in order; while one is handed out, the tree is broken that way."""
    for name, value in ast.iter_fields(node):
        if name in ANNOTATIONS or getattr(node, "arg", "") in HOUSE_RULES:
            continue
        enters = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and name == "body"
        for place, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST):
                continue
            held = child if isinstance(child, ast.stmt) else statement
            broken = break_node(child)
            if broken is not None:
                ast.fix_missing_locations(ast.copy_location(broken, child))
                line, end = getattr(child, "lineno", 0), getattr(child, "end_lineno", 0)
                reached = range(held.lineno if held else line, end + 1) if inside or enters else range(0)
                _put(node, name, place, broken)
                yield Break(lines=reached, whole=child, broken=broken)
                _put(node, name, place, child)
            yield from breaks(child, held, inside or enters)


def _put(node: ast.AST, name: str, place: int, child: ast.AST) -> None:
    value = getattr(node, name)
    if isinstance(value, list):
        value[place] = child
    else:
        setattr(node, name, child)


def raise_everywhere(tree: ast.AST) -> None:
    """Every function of the tree raises where it begins."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            made = ast.parse("raise RuntimeError('entered')").body[0]
            node.body.insert(0, ast.fix_missing_locations(ast.copy_location(made, node.body[0])))


def key_of(code: CodeType) -> Key:
    """What stays of a function's code when a line of it changes."""
    return code.co_qualname, code.co_firstlineno


def codes(code: CodeType) -> Iterator[tuple[Key, CodeType]]:
    """A module's code and all the code inside it."""
    yield key_of(code), code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes(inner)


def is_running(process: int) -> bool:
    """Whether it works or waits for a processor or the disk, and not for anything else."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0] in "RD"


class Module:
    """A file of the room, and the functions that were made from it."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            self.text = file.read()
        self.path, self.place = path, os.path.relpath(path, ROOT)
        name = os.path.relpath(path, os.path.join(ROOT, "src")).removesuffix(".py").replace(os.sep, ".")
        if importlib.import_module(name.removesuffix(".__init__")).__file__ != path:
            pytest.exit(f"{name} is imported from elsewhere; set PYTHONPATH=src.", 1)
        self.functions: list[FunctionType] = []

    def compile(self, tree: ast.Module) -> Mapping[Key, CodeType]:
        return dict(codes(compile(tree, self.path, "exec", dont_inherit=True)))

    def tell(self, one: Break) -> str:
        line = getattr(one.whole, "lineno", 0)
        return f"{self.place}:{line}: {ast.unparse(one.whole)} -> {ast.unparse(one.broken)}"

    def give(self, made: Mapping[Key, CodeType]) -> None:
        for function in self.functions:
            function.__code__ = made.get(key_of(function.__code__), function.__code__)


@dataclass
class Ran:
    """What a child told of its tests: those that ran to their end or failed, and how long each took."""

    seconds: dict[str, float] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    reached: dict[Place, set[str]] = field(default_factory=lambda: defaultdict(set))
    is_whole: bool = False


class Referee:
    """A plugin that runs collected tests in forks, as often as it likes, and none of them here."""

    def __init__(self, room: str, judge: Callable[[Referee], None]) -> None:
        self.room, self.judge = os.path.join(ROOT, room), judge
        self.items: dict[str, list[pytest.Item]] = defaultdict(list)
        self.now, self.failed, self.lines = "", set[str](), set[Place]()
        self.limit: Callable[[str], float] = lambda _: TEST_SECONDS * 100  # while they are traced
        self.on_call: Any = None

    def pytest_sessionstart(self) -> None:
        """Examples that fail are neither made smaller nor remembered for the next mutant."""
        told = settings(settings(), database=None, phases=(Phase.explicit, Phase.generate))
        settings.register_profile("mutants", told)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for item in session.items:  # parameters together are one test
            self.items[item.nodeid.partition("[")[0]].append(item)
        self.judge(self)
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(self.now)

    def run(self, names: Sequence[str], prepare: Callable[[], object], enough: int = ALL) -> Ran:
        """Runs tests in a fork until enough of them have failed."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            self._be_child(write, names, prepare, enough)
        os.close(write)
        ran, begun, rest = Ran(), "", b""
        while not ran.is_whole:
            if not select.select([read], [], [], WAIT_SECONDS)[0]:
                if is_running(child):  # a busy machine gives it no time; what it takes is limited
                    continue
                break
            part = os.read(read, 1 << 20)
            if not part:
                break
            *lines, rest = (rest + part).split(b"\n")
            for word, told in map(json.loads, lines):
                if word == "begin":
                    begun = told
                elif word == "end":
                    took, has_failed, reached = told
                    ran.seconds[begun] = ran.seconds.get(begun, 0) + took
                    ran.failed |= {begun} if has_failed else set()
                    for path, number in reached:
                        ran.reached[path, number].add(begun)
                    begun = ""
                elif word == "done":
                    ran.is_whole = True
                else:
                    pytest.exit(told, 1)
        os.close(read)
        os.kill(child, signal.SIGKILL)  # it hangs, or it is done and a zombie until the next line
        os.waitpid(child, 0)
        ran.failed |= {begun} - {""}
        return ran

    def _be_child(self, write: int, names: Sequence[str], prepare: Callable[[], object], enough: int) -> None:
        pipe = open(write, "w", encoding="utf-8")  # noqa: SIM115 - the process ends with it

        def tell(word: str, told: object) -> None:
            print(json.dumps([word, told]), file=pipe, flush=True)

        def stop(*_: object) -> None:
            pytest.fail(f"took more than {self.limit(self.now)} s")

        try:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in range(3):
                os.dup2(nowhere, stream)
            resource.setrlimit(resource.RLIMIT_AS, (CHILD_BYTES, CHILD_BYTES))
            signal.signal(signal.SIGPROF, stop)
            prepare()
            runs = [(name, item) for name in names for item in self.items[name]]
            for (self.now, item), after in zip(runs, [*runs[1:], None], strict=False):
                if len(self.failed) >= enough:
                    break
                tell("begin", self.now)
                self.lines.clear()
                if self.on_call:
                    sys.settrace(self.on_call)  # a test that recurses without end has ended it
                began = time.monotonic()
                signal.setitimer(signal.ITIMER_PROF, self.limit(self.now), 1)
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=after and after[1])
                signal.setitimer(signal.ITIMER_PROF, 0)
                tell("end", [time.monotonic() - began, self.now in self.failed, sorted(self.lines)])
            tell("done", None)
        except BaseException:  # noqa: BLE001 - of a test that was begun it is a failure
            if not self.now:
                tell("trouble", traceback.format_exc())
        finally:
            os._exit(0)

    def trace(self, files: Container[str]) -> None:
        """Lines of these files that are reached from now on are remembered."""
        every: dict[CodeType, set[Place]] = {}

        def on_line(frame: FrameType, event: str, _: object) -> Any:
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
            return on_line

        def on_call(frame: FrameType, event: str, _: object) -> Any:
            code = frame.f_code
            if code.co_filename not in files:
                return None
            self.lines.add((code.co_filename, frame.f_lineno))
            if code not in every:
                every[code] = {(code.co_filename, line) for _, _, line in code.co_lines() if line}
            return None if every[code] <= self.lines else on_line

        self.on_call = on_call
        threading.settrace(on_call)
        sys.settrace(on_call)


class Trial:
    """One room on trial: its modules, what tests reach of it, and what they have noticed so far."""

    def __init__(self, referee: Referee, again: str) -> None:
        self.referee = referee
        walked = os.walk(referee.room)
        files = (os.path.join(folder, name) for folder, _, names in walked for name in names)
        named = (path for path in files if not again or os.path.relpath(path, ROOT) in again)
        self.modules = {path: Module(path) for path in sorted(named) if path.endswith(".py")}
        whole = {path: module.compile(ast.parse(module.text)) for path, module in self.modules.items()}
        gc.unfreeze()  # frozen objects are hidden from those who look for functions
        for function in gc.get_objects():
            if type(function) is FunctionType and function.__code__.co_filename in whole:
                code = function.__code__
                if whole[code.co_filename].get(key_of(code)) != code:  # as of two lambdas in one line
                    pytest.exit(f"{function.__qualname__} cannot be told from its source. No figures.", 1)
                self.modules[code.co_filename].functions.append(function)
        gc.freeze()  # a child that looked through all this would copy it
        trace = partial(referee.trace, self.modules)
        first = referee.run(list(referee.items), trace)
        self._refuse(first, "Without a break")
        self.reached, self.seconds = first.reached, first.seconds
        referee.limit = lambda name: min(TEST_SECONDS, 2 + 5 * self.seconds[name])
        self.noticed, self.met = set[str](), Counter[str]()
        self.kills: dict[str, Counter[str]] = defaultdict(Counter)

    def _refuse(self, ran: Ran, when: str) -> None:
        if ran.failed or not ran.is_whole:
            pytest.exit(f"{when} these fail already: {', '.join(sorted(ran.failed))}. No figures.", 1)

    def control(self, chance: random.Random) -> list[str]:
        """Unchanged source is noticed by nobody. The tests that do not notice a room that only raises."""
        names = sorted({name for tests in self.reached.values() for name in tests})
        chance.shuffle(names)
        trees = {path: ast.parse(module.text) for path, module in self.modules.items()}
        self._refuse(self.referee.run(names, self._giving(trees)), "Compiled anew and unchanged")
        for tree in trees.values():
            raise_everywhere(tree)
        return sorted(set(names) - self.referee.run(names, self._giving(trees)).failed)

    def _giving(self, trees: Mapping[str, ast.Module]) -> Callable[[], None]:
        made = {path: self.modules[path].compile(tree) for path, tree in trees.items()}

        def give() -> None:
            for path, codes_of in made.items():
                self.modules[path].give(codes_of)

        return give

    def who_meets(self, module: Module, one: Break) -> set[str]:
        return {name for line in one.lines for name in self.reached.get((module.path, line), ())}

    def try_break(self, module: Module, number: int, *, is_twinned: bool) -> str:
        """What becomes of one break that tests reach; its twin is the same without the break."""
        tree = ast.parse(module.text)
        one = next(islice(breaks(tree), number, None))
        names, kills = self.who_meets(module, one), self.kills[module.path]
        order = sorted(names, key=lambda name: (self.seconds[name] / (1 + kills[name]), name))
        if is_twinned:
            twin = self._giving({module.path: ast.parse(module.text)})
            self._refuse(self.referee.run(order, twin, 1), f"{module.place} unchanged:")
        ran = self._run(module, tree, order, 1)
        state = "lived" if not ran.failed else "noticed" if ran.is_whole else "ended"
        if state != "noticed":
            print(f"{state}: {module.tell(one)}", flush=True)
        return state

    def listen(self, module: Module, number: int) -> None:
        """Tests that have noticed nothing so far meet a break that others noticed."""
        tree = ast.parse(module.text)
        one = next(islice(breaks(tree), number, None))
        if silent := sorted(self.who_meets(module, one) - self.noticed):
            self._run(module, tree, silent, ALL)

    def _run(self, module: Module, tree: ast.Module, names: Sequence[str], enough: int) -> Ran:
        ran = self.referee.run(names, self._giving({module.path: tree}), enough)
        self.noticed |= ran.failed
        self.met.update(ran.seconds.keys())
        self.kills[module.path].update(ran.failed)
        return ran


def judge(referee: Referee, asked: argparse.Namespace) -> None:
    began, chance = time.monotonic(), random.Random(asked.seed)
    again = ""
    if asked.again:
        with open(asked.again, encoding="utf-8") as file:
            again = file.read()
    trial = Trial(referee, again)
    deaf = trial.control(chance)
    for told in sorted(deaf):
        print(f"passes though all that it enters raises: {told}")
    where, met = Counter[str](), list[tuple[Module, int]]()
    for module in trial.modules.values():
        for number, one in enumerate(breaks(ast.parse(module.text))):
            if again and f"lived: {module.tell(one)}\n" not in again:
                continue
            is_met = bool(trial.who_meets(module, one))
            where["met" if is_met else "unmet" if one.lines else "at import"] += 1
            met += [(module, number)] if is_met else []
    print(
        f"{len(referee.items)} tests; {where.total()} mutants: {where['at import']} run at import, no test"
        f" meets {where['unmet']}, tests meet {len(met)}. Controls: {time.monotonic() - began:.0f} s.",
        flush=True,
    )
    chance.shuffle(met)
    states, loud = Counter[str](), list[tuple[Module, int]]()
    for module, number in met:
        if time.monotonic() - began > asked.seconds:
            break
        state = trial.try_break(module, number, is_twinned=not states.total() % TWIN_STEP)
        states[state] += 1
        loud += [(module, number)] if state == "noticed" else []
    for module, number in loud:
        trial.listen(module, number)
    silent = sorted(name for name in trial.met if name not in trial.noticed)
    for name in silent:
        print(f"noticed none of {trial.met[name]}: {name}")
    print(
        f"{states.total()} of {len(met)} mutants tried in {time.monotonic() - began:.0f} s,"
        f" {states['lived']} lived, {states['ended']} ended the process of their tests."
        f" {len(silent)} tests noticed none."
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.referees.mutants")
    parser.add_argument("room", help="a folder of src")
    parser.add_argument("tests", nargs="+")
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--again", metavar="FILE", help="only what lived, as an earlier run printed it")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    words = ["-n", "0", "-s", "-q", "-m", "thorough or not thorough", "--hypothesis-seed=1"]
    words += ["-p", "no:cacheprovider", "--assert=plain", "--tb=native"]
    return int(pytest.main([*words, *asked.tests], [Referee(asked.room, lambda one: judge(one, asked))]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
