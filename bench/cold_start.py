"""What starting the command costs, as ratios beside `python -c pass` in the same rounds.

Run with `python bench/cold_start.py [--rounds N]`. CPU time of the child, median of shuffled rounds;
bytecode is compiled beforehand into a scratch folder, as an installed wheel has it after its first run.
"""

from __future__ import annotations

import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence

ROUNDS = 25
BOUNDS = {"handrail --version": 2.5, "handrail run continue (replay)": 4.0}
_ENTRY = "from handrail.main import console; console()"
_REFERENCE = "python -c pass"


def main(arguments: Sequence[str]) -> int:
    """Print the table; the exit status says nothing about speed."""
    rounds = max(ROUNDS, int(arguments[1])) if arguments[:1] == ["--rounds"] else ROUNDS
    with tempfile.TemporaryDirectory() as scratch:
        environment = _environment(scratch)
        commands = _commands(environment, scratch)
        for command in commands.values():
            _cpu_ms(command, environment, scratch)  # writes the bytecode
        measured = _measured(commands, environment, scratch, rounds)
    _print_table(measured, rounds)
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
    return {
        _REFERENCE: [sys.executable, "-c", "pass"],
        "python -c 'import msgspec'": [sys.executable, "-c", "import msgspec"],
        "handrail --version": [*handrail, "--version"],
        "handrail nope (a usage error)": [*handrail, "nope"],
        "handrail workflow list": [*handrail, "workflow", "list"],
        "handrail run continue (replay)": replay,
    }


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


def _print_table(measured: Mapping[str, float], rounds: int) -> None:
    reference = measured[_REFERENCE]
    print(
        f"Python {sys.version.split()[0]}, {rounds} shuffled rounds, medians of CPU time, bytecode compiled."
    )
    for name, value in measured.items():
        bound = f"  bound {BOUNDS[name]} x" if name in BOUNDS else ""
        print(f"{name:<32} {value:7.1f} ms {value / reference:6.2f} x{bound}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
