"""Lets every party referee both doors, and compares what they executed with the record.

`python -m tests.referees` checks; `--record` also writes the record, from which the reference page is made;
`--require` fails when a party is absent; names of parties run only those.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tests.referees.equipment import NotAvailable
from tests.referees.judged_place import Place, make_place, served_over_http
from tests.referees.parties import clients, fuzzer, inspector, interleaved, official_suite
from tests.referees.report import (
    RECORD,
    Absent,
    Check,
    Report,
    as_record,
    differences,
    read_record,
    table,
    write_record,
)

Visit: TypeAlias = Callable[[Place, str], list[Report]]

PARTIES: dict[str, Visit] = {
    "official-suite": official_suite.visit,
    "python-1": lambda place, address: clients.visit([clients.PYTHON_1], place, address),
    "python-2": lambda place, address: clients.visit(clients.PYTHON_2, place, address),
    "typescript-1": lambda place, address: clients.visit([clients.TYPESCRIPT_1], place, address),
    "typescript-2": lambda place, address: clients.visit(clients.TYPESCRIPT_2, place, address),
    "inspector": inspector.visit,
    "interleaved": interleaved.visit,
    "fuzzer": lambda place, _: fuzzer.visit(place),
}
"""Name on the command line → what it does, in this order."""
FLAGS = ("--record", "--require")
LAST_START_SECONDS = 270
"""A party is not let in later than this; on a busy machine those at the end of the list stay away."""


def main(arguments: Sequence[str]) -> int:
    unknown = [each for each in arguments if each not in FLAGS and each not in PARTIES]
    if unknown:
        print(f"Unknown: {', '.join(unknown)}. Parties: {', '.join(PARTIES)}; flags: {', '.join(FLAGS)}.")
        return 2
    names = [name for name in PARTIES if name in arguments] or list(PARTIES)
    reports, absent = visits(names)
    print("\n".join(["", *table(reports, absent), ""]))
    problems = failures(reports)
    if "--record" in arguments and not problems:
        kept = read_record() if len(names) < len(PARTIES) or absent else {}
        write_record(kept | as_record(reports))
        print(f"Recorded in {RECORD}; run python tools/generate.py for the page.")
    else:
        problems += differences(reports, read_record())
    if "--require" in arguments:
        problems += [f"{each.party} is absent: {each.reason}" for each in absent]
    print("\n".join(problems) or "Every party that came agrees with the record.")
    return 1 if problems else 0


def visits(names: Sequence[str]) -> tuple[list[Report], list[Absent]]:
    reports: list[Report] = []
    absent: list[Absent] = []
    opened = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="handrail-referees-") as folder:
        place = make_place(folder)
        with served_over_http(place) as address:
            for name in names:
                started = time.monotonic()
                try:
                    if started - opened > LAST_START_SECONDS:
                        raise NotAvailable(f"more than {LAST_START_SECONDS} s had passed before its turn")
                    reports += PARTIES[name](place, address)
                except NotAvailable as trouble:
                    absent.append(Absent(party=name, reason=str(trouble)))
                except (subprocess.TimeoutExpired, TimeoutError) as trouble:
                    reports.append(stuck(name, trouble))
                print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    return reports, absent


def stuck(name: str, trouble: BaseException) -> Report:
    """A server that hangs must not look like a party that did not come."""
    check = Check(name="comes to its end in time", status="failed", detail=str(trouble)[-200:])
    return Report(party=name, version="-", target="-", checks=(check,))


def failures(reports: Sequence[Report]) -> list[str]:
    return [
        f"{report.title}: {check.name}: {check.detail}"
        for report in reports
        for check in report.checks
        if check.status == "failed"
    ]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
