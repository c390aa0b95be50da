"""What starting the command costs, as ratios beside `python -c pass` in the same rounds.

Run with `python bench/cold_start.py [--rounds N] [--instructions] [--page FILE]`, with the interpreter of
the environment that Handrail is installed in. CPU time of the child, median of shuffled rounds; bytecode is
compiled beforehand into a scratch folder, as an installed wheel has it after its first run. Each command is
measured by its module and, where the installer wrote one, by its console script. `--instructions` adds how
many instructions callgrind counts, which do not depend on how busy the machine is.
"""

from __future__ import annotations

import os
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from bench.generated_page import rewrite

ROUNDS = 25
BOUNDS = {"--version": 2.5, "run continue": 4.0}
_ENTRY = "from handrail.main import console; console()"
_WITHOUT_EXTENSIONS = "import sys; sys.modules['typing_extensions'] = None; import msgspec"
"""As `main` imports it."""
_REFERENCE = "python -c pass"


def main(arguments: Sequence[str]) -> int:
    """Print the table; the exit status says nothing about speed."""
    rounds = (
        max(ROUNDS, int(arguments[arguments.index("--rounds") + 1])) if "--rounds" in arguments else ROUNDS
    )
    is_counting = "--instructions" in arguments
    if is_counting and shutil.which("valgrind") is None:
        print("--instructions needs valgrind, which is not on PATH.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        environment = _environment(scratch)
        commands = _commands(environment, scratch)
        for command in commands.values():
            _cpu_ms(command, environment, scratch)  # writes the bytecode
        measured = _measured(commands, environment, scratch, rounds)
        counted = (
            {name: _instructions(command, environment, scratch) for name, command in commands.items()}
            if is_counting
            else {}
        )
    _print_table(measured, counted, rounds)
    rewrite(arguments, "cold_start.py", _make_table(measured))
    return 0


def _environment(scratch: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HANDRAIL_"))}
    return kept | {
        "HANDRAIL_HOME": os.path.join(scratch, "home"),
        "PYTHONPYCACHEPREFIX": os.path.join(scratch, "bytecode"),
    }


def _commands(environment: Mapping[str, str], scratch: str) -> dict[str, list[str]]:
    """The commands to measure; the run that is replayed is made here."""
    handrail = [sys.executable, "-c", _ENTRY]
    start = [*handrail, "run", "start", "wr.small_change", "--request-id", "bench", "--field", "ackToken"]
    token = (
        subprocess.run(start, env=environment, cwd=scratch, check=True, capture_output=True)
        .stdout.decode()
        .strip()
    )
    replay = [*handrail, "run", "continue", "--ack", token, "--notes", "done"]
    subprocess.run(replay, env=environment, cwd=scratch, check=True, capture_output=True)
    lines = {
        "--version": ["--version"],
        "nope (a usage error)": ["nope"],
        "workflow list": ["workflow", "list"],
        "run continue (replay)": ["run", "continue", "--ack", token, "--notes", "done"],
    }
    commands = {
        _REFERENCE: [sys.executable, "-c", "pass"],
        "python -c 'import msgspec'": [sys.executable, "-c", _WITHOUT_EXTENSIONS],
        **{f"module: {name}": [*handrail, *line] for name, line in lines.items()},
    }
    script = os.path.join(os.path.dirname(sys.executable), "handrail")
    if os.path.exists(script):
        commands |= {f"script: {name}": [script, *line] for name, line in lines.items()}
    return commands


def _measured(
    commands: Mapping[str, Sequence[str]], environment: Mapping[str, str], scratch: str, rounds: int
) -> dict[str, float]:
    """Median CPU milliseconds per command; each round runs every command once, in another order."""
    samples: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        names = list(commands)
        random.shuffle(names)
        for name in names:
            samples[name].append(_cpu_ms(commands[name], environment, scratch))
    return {name: statistics.median(values) for name, values in samples.items()}


def _cpu_ms(command: Sequence[str], environment: Mapping[str, str], scratch: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command,
        env=environment,
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def _instructions(command: Sequence[str], environment: Mapping[str, str], scratch: str) -> int:
    """What callgrind counts in one run; hashes are made in one order, so that runs can be compared."""
    counting = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *command]
    done = subprocess.run(
        counting,
        env={**environment, "PYTHONHASHSEED": "0"},
        cwd=scratch,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    found = re.search(rb"Collected : ([0-9]+)", done.stderr)
    assert found is not None, "callgrind tells what it collected"
    return int(found[1])


def _make_table(measured: Mapping[str, float]) -> str:
    lines = ["| call | processor ms | times `python -c pass` | bound |", "|---|---|---|---|"]
    for name, value in measured.items():
        bound = next((f"{most:g}" for told, most in BOUNDS.items() if told in name), "")
        lines.append(f"| `{name}` | {value:.0f} | {value / measured[_REFERENCE]:.1f} | {bound} |")
    return "\n".join(lines) + "\n"


def _print_table(measured: Mapping[str, float], counted: Mapping[str, int], rounds: int) -> None:
    reference = measured[_REFERENCE]
    print(
        f"Python {sys.version.split()[0]}, {rounds} shuffled rounds, medians of CPU time, bytecode compiled."
    )
    for name, value in measured.items():
        bound = next((f"  bound {most} x" for told, most in BOUNDS.items() if told in name), "")
        told = ""
        if counted:
            told = f" {counted[name] / 1e6:8.1f} M {counted[name] / counted[_REFERENCE]:6.2f} x"
        print(f"{name:<34} {value:7.1f} ms {value / reference:6.2f} x{told}{bound}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
