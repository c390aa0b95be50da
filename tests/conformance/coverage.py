"""Functional contract coverage: what the recorded calls showed of each command, as a table; fails on a hole.

    python -m tests.conformance.coverage EVIDENCE_DIR

Run after the tests with `HANDRAIL_FCC` set to that directory; each test worker wrote a file of its own there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from handrail.surfaces.cli.self_description.reference_data import cli_reference
from handrail.wiring import registry
from tools.readiness import by_leaf, flags_of, gaps, read_evidence, taken_flags

COLUMNS = "{:<20} {:>6} {:>6} {:>9} {:>9}  {}"


def table(commands: Sequence[dict[str, Any]], evidence: Sequence[dict[str, Any]]) -> list[str]:
    """One line per command: calls, successes, codes and flags that were shown of those declared."""
    seen = by_leaf([command["path"] for command in commands], evidence)
    lines = [COLUMNS.format("command", "calls", "good", "codes", "flags", "exits")]
    for command in commands:
        calls = seen.get(command["path"], [])
        good = [call for call in calls if call["exit"] == 0]
        codes = {call["domain_code"] or call["code"] for call in calls} & set(command["errors"])
        flags = taken_flags(calls) & set(flags_of(command))
        lines.append(
            COLUMNS.format(
                command["path"],
                len(calls),
                len(good),
                f"{len(codes)}/{len(command['errors'])}",
                f"{len(flags)}/{len(set(flags_of(command)))}",
                " ".join(map(str, sorted({call["exit"] for call in calls}))),
            )
        )
    return lines


def main(arguments: Sequence[str]) -> int:
    """The exit status: 1 for a hole, 2 for a wrong call."""
    if len(arguments) != 1 or not os.path.isdir(arguments[0]):
        print("Usage: python -m tests.conformance.coverage EVIDENCE_DIR", file=sys.stderr)
        return 2
    commands = cli_reference(registry())["commands"]
    evidence = read_evidence(arguments[0])
    missing = gaps(commands, evidence)
    print("\n".join(table(commands, evidence)))
    for gap in missing:
        print(f"hole: {gap}")
    print(f"{len(evidence)} calls of {len(commands)} commands, {len(missing)} holes.")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
