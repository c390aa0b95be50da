"""How large the house is: the measures that its rules bound, for one checkout or several side by side.

    python -m tools.measures [CHECKOUT ...]

Each checkout is a column, so that a change can be measured before and after; the last column is the aim, and
below stands why an aim is not reached. Nothing is written but a scratch home. Time is measured elsewhere, by
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
from collections.abc import Iterator, Mapping, Sequence

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ENTRIES = ("handrail.operations.runs.continue_run", "handrail.runtime.continue_run")
"""The module of `run.continue`, by its present name and the one before."""
AIMS = {
    "modules loaded by `handrail run continue`": (
        "60",
        "A fifth are empty packages. The others hold 24 500 lines, for an advance also looks at evidence, "
        "files and receipts; with 600 lines a file at most, and no file for two subjects, 60 files need "
        "less code, not other rooms.",
    ),
    "files / lines reached from `run.continue`": (
        "45 / 9000",
        "The judge of evidence came after the aim, and an advance needs all of it.",
    ),
    "source files (with empty `__init__.py`)": (
        "300",
        "The aim is for the house before code tools, server and Console moved in; the next row leaves "
        "them out.",
    ),
    "source files of the older rooms": (
        "300",
        "Evidence, looking at files, checks and authoring are in these rooms too, and came after the aim.",
    ),
    "folders / largest flat folder": ("15", ""),
}
"""What the house should be, and why it is not yet where it is not."""
NEW_ROOMS = ("handrail.code_tools", "handrail.surfaces.http")
LOADED = """
import sys
from handrail.main import main
sys.argv = ["handrail", *sys.argv[1:]]
try:
    main()
finally:
    print(sum(name.split(".")[0] == "handrail" for name in sys.modules), file=sys.stderr)
"""


def module_files(checkout: str) -> dict[str, str]:
    """The path of every module of the package, by its dotted name."""
    top = os.path.join(checkout, "src")
    found = {}
    for folder, _, names in os.walk(os.path.join(top, "handrail")):
        for name in names:
            if name.endswith(".py"):
                path = os.path.join(folder, name)
                dotted = os.path.relpath(path, top).removesuffix(".py").replace(os.sep, ".")
                found[dotted.removesuffix(".__init__")] = path
    return found


def imported_at_once(path: str, modules: Mapping[str, str]) -> Iterator[str]:
    """The modules that loading a file imports: none for type checkers, none inside functions."""
    with open(path, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    for node in body:
        match node:
            case ast.ImportFrom(module=str(home), names=names, level=0):
                for name in names:
                    yield next((m for m in (f"{home}.{name.name}", home) if m in modules), "")
            case ast.Import(names=names):
                yield from (name.name for name in names if name.name in modules)
            case _:
                pass


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


def lines_in(paths: Sequence[str]) -> int:
    total = 0
    for path in paths:
        with open(path, encoding="utf-8") as file:
            total += sum(1 for _ in file)
    return total


def modules_loaded(checkout: str) -> int:
    """How many modules of ours `handrail run continue` loads when it advances a run."""
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


def measures(checkout: str) -> dict[str, str]:
    """Every measure of a checkout, as it is printed."""
    modules = module_files(checkout)
    entry = next((name for name in ENTRIES if name in modules), "")
    if not entry:
        sys.exit(f"{checkout} is not a checkout of Handrail; name the directory that has src/handrail.")
    reached = reach_of(entry, modules)
    sizes = folder_sizes(modules)
    full = [path for path in modules.values() if os.path.getsize(path)]
    return {
        "modules loaded by `handrail run continue`": str(modules_loaded(checkout)),
        "files / lines reached from `run.continue`": (
            f"{len(reached)} / {lines_in([modules[name] for name in reached])}"
        ),
        "source files (with empty `__init__.py`)": f"{len(full)} ({len(modules)})",
        "source files of the older rooms": str(
            sum(1 for name, path in modules.items() if path in full and not name.startswith(NEW_ROOMS))
        ),
        "lines": str(lines_in(full)),
        "folders / largest flat folder": f"{len(sizes)} / {max(sizes.values())}",
    }


def main(checkouts: Sequence[str]) -> int:
    columns = [measures(checkout) for checkout in checkouts or [HERE]]
    for name in columns[0]:
        aim, _ = AIMS.get(name, ("", ""))
        print(f"{name:44}" + "".join(f"{column[name]:>16}" for column in columns) + f"{aim:>16}".rstrip())
    for name, value in columns[-1].items():
        aim, reason = AIMS.get(name, ("", ""))
        if aim and not is_reached(value, aim):
            print(f"\n{name} is {value}, the aim {aim}. {reason}")
    return 0


def is_reached(value: str, aim: str) -> bool:
    """Whether every number is at most its aim; the last ones count where there are more than aims."""
    wanted = [int(word) for word in aim.split(" / ")]
    found = [int(word.split(" ")[0]) for word in value.split(" / ")]
    return all(one <= most for one, most in zip(reversed(found), reversed(wanted), strict=False))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
