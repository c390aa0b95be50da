"""How large the house is: the measures that its budgets bound, for one checkout or several side by side.

    python -m tools.measures [CHECKOUT ...]

Each checkout is a column, so that a change can be measured before and after; then come the budget, which a
house test holds, and the aim. Nothing is written but a scratch home. Time is measured elsewhere, by
`bench/cold_start.py`.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENTRY = "handrail.operations.runs.continue_run"


class Budget(NamedTuple):
    """`most` is what a house test allows: it is only ever lowered. `aim` is where it has to get."""

    most: int
    aim: int


BUDGETS = {
    "lines of source": Budget(144_086, 121_981),
    "lines of handrail": Budget(108_202, 92_000),
    "lines of handrail_serve": Budget(9_148, 9_000),
    "lines of handrail_code": Budget(16_203, 15_000),
    "lines of handrail_proof": Budget(2_876, 2_500),
    "lines of handrail_team": Budget(7_657, 9_000),
    "source files of handrail": Budget(344, 340),
    "lines of tests": Budget(135_870, 105_000),
    "modules loaded by `run continue`": Budget(75, 75),
    "files reached from `run continue`": Budget(45, 45),
    "lines reached from `run continue`": Budget(16_024, 12_000),
    "modules that know the foreign dialect": Budget(0, 0),
    "modules in the largest folder": Budget(19, 12),
}
"""Every figure that is held. Whoever has to raise one takes as much away somewhere else instead."""
DIALECT_DOOR = ("handrail.workflows.dialect", "handrail.workflows.reading")
"""The translator, and the reader that calls it."""
LOADED = """
import os
import sys
from handrail.main import main
sys.argv = ["handrail", *sys.argv[1:]]
try:
    main()
finally:
    ours = [module.__file__ for name, module in sys.modules.items() if name.startswith("handrail")]
    print(sum(os.path.getsize(path) > 0 for path in ours if path), file=sys.stderr)
"""


def module_files(checkout: str) -> dict[str, str]:
    """The path of every module of every package, by its dotted name."""
    top = os.path.join(checkout, "src")
    return {
        os.path.relpath(path, top).removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__"): path
        for path in _python_files(top)
    }


def _python_files(top: str) -> Iterator[str]:
    for folder, _, names in os.walk(top):
        yield from (os.path.join(folder, name) for name in names if name.endswith(".py"))


def imported_at_once(path: str, modules: Mapping[str, str]) -> Iterator[str]:
    """The modules that loading a file imports: none for type checkers, none inside functions."""
    for home, name in _imports_of(path):
        yield next((m for m in (f"{home}.{name}", home) if m in modules), "")


@cache
def _imports_of(path: str) -> tuple[tuple[str, str], ...]:
    with open(path, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    found: list[tuple[str, str]] = []
    for node in body:
        match node:
            case ast.ImportFrom(module=str(home), names=names, level=0):
                found += [(home, name.name) for name in names]
            case ast.Import(names=names):
                found += [(name.name, "") for name in names]
            case _:
                pass
    return tuple(found)


def reach_of(entry: str, modules: Mapping[str, str]) -> set[str]:
    """Everything that is loaded with a module."""
    reached: set[str] = set()
    waiting = [entry]
    while waiting:
        module = waiting.pop()
        if module and module not in reached:
            reached.add(module)
            waiting.extend(imported_at_once(modules[module], modules))
    return reached


def folder_sizes(modules: Mapping[str, str]) -> Counter[str]:
    """How many modules stand side by side in each folder; `__init__.py` is none."""
    return Counter(
        os.path.dirname(path) for path in modules.values() if os.path.basename(path) != "__init__.py"
    )


def lines_in(paths: Iterable[str]) -> int:
    total = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            total += sum(1 for _ in file)
    return total


def modules_loaded(checkout: str) -> int:
    """How many modules of ours with content `handrail run continue` loads when it advances a run."""
    with tempfile.TemporaryDirectory() as scratch:
        around = {name: value for name, value in os.environ.items() if not name.startswith("HANDRAIL_")}
        around |= {
            "PYTHONPATH": os.path.join(checkout, "src"),
            "HANDRAIL_HOME": os.path.join(scratch, "home"),
        }

        def call(*line: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", LOADED, *line, "--compact"]
            return subprocess.run(
                command, cwd=scratch, env=around, capture_output=True, encoding="utf-8", check=True
            )

        started = call("run", "start", "wr.small_change", "--goal", "Measure it", "--request-id", "measure")
        ack = json.loads(started.stdout)["data"]["ackToken"]
        return int(call("run", "continue", "--ack", ack, "--notes", "Planned.").stderr.split()[-1])


def know_foreign(modules: Mapping[str, str]) -> list[str]:
    """The modules behind the door that ask whether a workflow came in the neighbouring dialect."""
    return [
        name
        for name, path in modules.items()
        if not name.startswith(DIALECT_DOOR)
        and ("is_foreign" in _read(path) or "workflows.dialect" in _read(path))
    ]


def measures(checkout: str) -> dict[str, int]:
    """Every measure of a checkout, by the name of its budget."""
    modules = module_files(checkout)
    if ENTRY not in modules:
        sys.exit(f"{checkout} is not a checkout of Handrail; name the directory that has src/handrail.")
    reached = reach_of(ENTRY, modules)
    full = {name: path for name, path in modules.items() if os.path.getsize(path)}
    packages: dict[str, list[str]] = {}
    for name, path in full.items():
        packages.setdefault(name.split(".")[0], []).append(path)
    return {
        "lines of source": lines_in(full.values()),
        **{f"lines of {package}": lines_in(paths) for package, paths in packages.items()},
        "source files of handrail": len(packages["handrail"]),
        "lines of tests": lines_in(_python_files(os.path.join(checkout, "tests"))),
        "modules loaded by `run continue`": modules_loaded(checkout),
        "files reached from `run continue`": len(reached),
        "lines reached from `run continue`": lines_in(modules[name] for name in reached),
        "modules that know the foreign dialect": len(know_foreign(modules)),
        "modules in the largest folder": max(folder_sizes(modules).values()),
    }


def main(checkouts: Sequence[str]) -> int:
    columns = [measures(checkout) for checkout in checkouts or [HERE]]
    print(" " * 40 + "now".rjust(10 * len(columns)) + "budget".rjust(10) + "aim".rjust(10))
    for name, budget in BUDGETS.items():
        figures = [column.get(name, 0) for column in columns]
        print(f"{name:40}" + "".join(f"{figure:>10}" for figure in (*figures, *budget)))
    return 0


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
