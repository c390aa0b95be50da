"""A team that grows: a full database beside an empty one, four servers beside one, 200 team clients at work.

Run with `python bench/team_growth.py [growth] [servers] [clients]`; without a name, all three. How much is
asked of them: `--sessions N`, `--events N`, and for team clients `--seconds N`. What is compared alternates,
round by round, so that a busy machine slows both alike. Where the database comes from, `bench/team.py` says.
The exit status says nothing about speed.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import psycopg
from psycopg import conninfo, sql

from bench.floor import interleaved, spread
from bench.team import BODY, EVENTS, as_url, percentile, server
from handrail.contract.ids import SessionId
from handrail.contract.outcome import Success
from handrail.ports.log import Committed, Draft
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.wiring import build_runtime
from handrail_team.accounts.directory import open_directory
from handrail_team.store.database import Database
from handrail_team.store.log import TeamLog

ROUNDS = 300
SESSION = SessionId("ses_000000000001")
PASSPHRASE = "three blue words"
PEOPLE, AGENTS = 40, 5
"""Two hundred team clients; an account has at most 32 calls in progress."""
PAUSE_S = 10.0
"""Between two calls of a team client: its agent works on the step."""
PAGES: dict[str, dict[str, Any]] = {
    "list": {"limit": 50},
    "list of a state that all have": {"limit": 50, "status": "in_progress"},
    "list of a state that none has": {"limit": 50, "status": "closed"},
    "search": {"limit": 50, "query": "number7"},
}
_FILL = (
    "INSERT INTO handrail.sessions (session_id, workspace, head, digest, stamp)"
    " SELECT 'ses_g' || lpad(n::text, 11, '0'), '', {each}, md5(n::text), n"
    " FROM generate_series(1, {sessions}) n",
    "INSERT INTO handrail.events (session_id, event_index, commit_first, dedupe_key, body, digest, workspace)"
    " SELECT 'ses_g' || lpad(n::text, 11, '0'), i, i / 4 * 4, 'a:' || i, {body}, md5(n::text || i), ''"
    " FROM generate_series(1, {sessions}) n, generate_series(0, {each} - 1) i",
    "INSERT INTO handrail.search (session_id, form, version, facts, subjects, workspace)"
    " SELECT 'ses_g' || lpad(n::text, 11, '0'), f.form, md5(n::text), f.facts, f.subjects,"
    " '' FROM handrail.search f, generate_series(1, {sessions}) n",
    "SELECT set_config('handrail.words', '!x', false)",
    "INSERT INTO handrail.found_by (session_id, words, workspace)"
    " SELECT 'ses_g' || lpad(n::text, 11, '0'), f.words || array_to_tsvector(ARRAY['number' || n]), ''"
    " FROM handrail.found_by f, generate_series(1, {sessions}) n",
    "VACUUM ANALYZE",
)


# Growth


def commit_calls(address: str) -> Callable[[], None]:
    """One session of this database, which grows by a commit per call."""
    log, head = TeamLog(Database(address)), 0

    def commit() -> None:
        nonlocal head
        drafts = [Draft(dedupe_key=f"a:{head + place}", body=BODY) for place in range(EVENTS)]
        with (log.hold_existing if head else log.hold)(SESSION, 5_000, head) as hold:
            hold.load_since(head)
            assert isinstance(hold.append(head, drafts), Committed)
        head += EVENTS

    return commit


@contextmanager
def stores(address: str) -> Iterator[tuple[str, str]]:
    """An empty database and one to fill, of a role that the walls between workspaces bind."""
    names = ("handrail_bench_empty", "handrail_bench_full")
    with psycopg.connect(address, autocommit=True) as link:
        make_role(link)
        for name in names:
            link.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
            made = sql.SQL("CREATE DATABASE {} OWNER handrail_bench").format(sql.Identifier(name))
            link.execute(made)
    empty, full = (conninfo.make_conninfo(address, dbname=name, user="handrail_bench") for name in names)
    yield empty, full


def make_role(link: psycopg.Connection) -> None:
    if link.execute("SELECT 1 FROM pg_roles WHERE rolname = 'handrail_bench'").fetchone() is None:
        link.execute("CREATE ROLE handrail_bench LOGIN")
        # Helpers of a query are processes of their own, whose time nobody would count.
        link.execute("ALTER ROLE handrail_bench SET max_parallel_workers_per_gather = 0")


def measure_growth(address: str, sessions: int, events: int) -> dict[str, Any]:
    with stores(address) as (empty, full), tempfile.TemporaryDirectory() as home:
        runtimes = [
            build_runtime({"HANDRAIL_STORE": as_url(one), "HANDRAIL_PROJECT": home}, home=f"{home}/{place}")
            for place, one in enumerate((empty, full))
        ]
        for rt in runtimes:
            begin = {"workflowId": "wr.small_change", "goal": "Grow.", "requestId": "one"}
            for operation, given in (("run.start", begin), ("session.list", {})):
                assert isinstance(perform(rt, operation, given), Success)
        started = time.perf_counter()
        fill(full, sessions, events)
        filled = time.perf_counter() - started
        commits = {"empty": commit_calls(empty), "full": commit_calls(full)}
        samples = {name: kept[ROUNDS // 10 :] for name, kept in interleaved(commits, ROUNDS).items()}
        pages = {
            f"{what} of {name}": time_page(rt, one, given)
            for name, one, rt in zip(commits, (empty, full), runtimes, strict=True)
            for what, given in PAGES.items()
        }
    told = {name: spread(kept) | {"p99": percentile(kept)} for name, kept in samples.items()}
    return {
        "sessions": sessions,
        "events": events,
        "filled in, s": round(filled, 1),
        "commit, ms": told,
        "full / empty": {key: round(told["full"][key] / told["empty"][key], 2) for key in ("median", "p99")},
        "first page, ms": pages,
    }


def time_page(rt: Runtime, address: str, given: dict[str, Any]) -> dict[str, float]:
    """By the clock, and processor time of this process and of those of the database."""
    found: dict[str, list[float]] = {"median": [], "processor": [], "processor of the database": []}
    for _ in range(8):
        before, started, used = database_ms(address), time.perf_counter(), time.process_time()
        assert isinstance(perform(rt, "session.list", given), Success)
        found["median"].append(1000 * (time.perf_counter() - started))
        found["processor"].append(1000 * (time.process_time() - used))
        found["processor of the database"].append(database_ms(address) - before)
    warm = {name: kept[2:] for name, kept in found.items()}
    # The ticks of the database are coarse: their mean tells more than their median.
    return {
        name: round(statistics.fmean(kept) if "database" in name else statistics.median(kept), 1)
        for name, kept in warm.items()
    }


def database_ms(address: str) -> float:
    """Processor time of the connections to this database; 0 where it runs on another machine."""
    total = 0
    with psycopg.connect(address, autocommit=True) as link:
        asked = "SELECT pid FROM pg_stat_activity WHERE datname = current_database()"
        for (pid,) in link.execute(asked + " AND pid <> pg_backend_pid()").fetchall():
            with suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                ticks = file.read().rsplit(")", 1)[1].split()
                total += int(ticks[11]) + int(ticks[12])
    return 1000 * total / os.sysconf("SC_CLK_TCK")


def fill(address: str, sessions: int, events: int) -> None:
    """Rows of the size that an advance writes, beside the session that is measured."""
    parts = {"sessions": sql.Literal(sessions), "each": sql.Literal(events // sessions)}
    with psycopg.connect(address, autocommit=True) as link:
        link.execute("SELECT set_config('handrail.workspace', '=', false)")
        for asked in _FILL:
            link.execute(sql.SQL(asked).format(**parts, body=sql.Literal(BODY)))


# Servers and team clients


class Team:
    """A team with its people, each with agents, and as many servers as are started."""

    def __init__(self, address: str, home: str) -> None:
        with psycopg.connect(address, autocommit=True) as link:
            link.execute("DROP DATABASE IF EXISTS handrail_bench_team WITH (FORCE)")
            make_role(link)
            link.execute("CREATE DATABASE handrail_bench_team OWNER handrail_bench")
        self._store = as_url(
            conninfo.make_conninfo(address, dbname="handrail_bench_team", user="handrail_bench")
        )
        self._home = home
        rt = build_runtime({"HANDRAIL_PROJECT": home}, home=f"{home}/own")
        directory = open_directory(self._store, rt.clock, rt.randomness, rt.secrets)
        workspace = directory.make_workspace("main", "make").id
        self.tokens: list[str] = []
        for person in range(PEOPLE):
            link_ = directory.invite(workspace, "member", f"p{person}", "bench").secret
            directory.accept(link_, f"Person {person}", PASSPHRASE)
            account = directory.find_member(workspace, f"Person {person}").account
            self.tokens += [
                directory.make_token(
                    workspace, account, f"agent {one}", f"m{person}", ("read", "work"), 1
                ).secret
                for one in range(AGENTS)
            ]

    @contextmanager
    def serve(self, number: int, *, workers: int = 1, **limits: int) -> Iterator[int]:
        """The port of one more server; `limits` are those of its settings."""
        os.makedirs(f"{self._home}/server{number}")
        with open(f"{self._home}/server{number}/config.json", "w", encoding="utf-8") as settings:
            json.dump({"limits": limits}, settings)
        around = {
            "HANDRAIL_HOME": f"{self._home}/server{number}",
            "HANDRAIL_STORE": self._store,
            "HOME": self._home,
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        command = [sys.executable, "-m", "handrail.main", "serve", "--team", "--port", "0"]
        command += ["--workers", str(workers)]
        with subprocess.Popen(command, env=around, stdout=subprocess.PIPE, encoding="utf-8") as process:
            assert process.stdout is not None
            address = process.stdout.readline().strip()
            try:
                yield int(address.rsplit(":", 1)[1].strip("/"))
            finally:
                process.terminate()


class Client:
    """One agent on a connection of its own: it starts a run and reports its first step, again and again."""

    def __init__(self, port: int, token: str) -> None:
        self._link = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._ack = ""
        self.took: list[float] = []
        self.sessions = 0
        self.refused: Counter[str] = Counter()

    def call(self) -> None:
        if self._ack:
            given: Any = {"ackToken": self._ack, "output": {"notesMarkdown": "Looked at the code."}}
        else:
            given = {"workflowId": "wr.small_change", "goal": "Tidy.", "requestId": os.urandom(8).hex()}
        operation = "run.continue" if self._ack else "run.start"
        started = time.perf_counter()
        self._link.request("POST", f"/api/{operation}", json.dumps(given), self._headers)
        told = self._link.getresponse()
        answer = json.loads(told.read())
        if told.status != 200:
            self.refused[answer.get("code", str(told.status))] += 1
            return
        self.took.append(1000 * (time.perf_counter() - started))
        self.sessions += not self._ack
        self._ack = "" if self._ack else answer["data"]["ackToken"]


def work(clients: Sequence[Client], seconds: float, pause: float) -> float:
    """All of them at once, each with its pauses; how many calls were answered in a second."""
    ends = time.monotonic() + seconds
    before = sum(len(one.took) for one in clients)

    def run(one: Client, delay: float) -> None:
        time.sleep(delay)
        while time.monotonic() < ends:
            one.call()
            time.sleep(pause)

    delays = [pause * place / len(clients) for place in range(len(clients))]
    threads = [threading.Thread(target=run, args=given) for given in zip(clients, delays, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (sum(len(one.took) for one in clients) - before) / seconds


def measure_servers(address: str, rounds: int = 4, seconds: float = 8.0) -> dict[str, Any]:
    """As many calls as sixteen agents without a pause get answered, by one server and by four, in turns."""
    with tempfile.TemporaryDirectory() as home, ExitStack() as held:
        team = Team(address, home)
        wide = {"openRuns": 1_000_000, "callsAMinute": 1_000_000}  # speed is measured, not limits
        ports = [held.enter_context(team.serve(number, **wide)) for number in range(4)]
        crowds = {
            "one": [Client(ports[0], token) for token in team.tokens[:16]],
            "four": [Client(ports[place % 4], token) for place, token in enumerate(team.tokens[16:32])],
        }
        rates: dict[str, list[float]] = {name: [] for name in crowds}
        for _ in range(rounds):
            for name, crowd in crowds.items():
                rates[name].append(work(crowd, seconds, 0))
    told = {name: round(statistics.median(kept[1:]), 1) for name, kept in rates.items()}
    refused = list_refused([one for crowd in crowds.values() for one in crowd])
    return {"calls a second": told, "four / one": round(told["four"] / told["one"], 2), "refused": refused}


def list_refused(clients: Sequence[Client]) -> dict[str, int]:
    return dict(sum((one.refused for one in clients), Counter()))


def measure_clients(address: str, seconds: float) -> dict[str, Any]:
    """Two hundred team clients of forty people on one server, each with a pause between its calls."""
    with tempfile.TemporaryDirectory() as home, ExitStack() as held:
        team = Team(address, home)
        port = held.enter_context(team.serve(0))
        crowd = [Client(port, token) for token in team.tokens]
        rate = work(crowd, seconds, PAUSE_S)
    took = [one for client in crowd for one in client.took]
    return {
        "clients": len(crowd),
        "pause, s": PAUSE_S,
        "sessions of each, at least": min(one.sessions for one in crowd),
        "calls a second": round(rate, 1),
        "refused": list_refused(crowd),
        "ms": spread(took) | {"p99": percentile(took)},
    }


def main(arguments: Sequence[str]) -> int:
    given = list(arguments)
    sizes = {"--sessions": 100_000, "--events": 1_000_000, "--seconds": 60}
    for name in sizes:
        if name in given:
            sizes[name] = int(given[given.index(name) + 1])
    with server() as address:
        measures: dict[str, Callable[[], dict[str, Any]]] = {
            "growth": lambda: measure_growth(address, sizes["--sessions"], sizes["--events"]),
            "servers": lambda: measure_servers(address),
            "clients": lambda: measure_clients(address, sizes["--seconds"]),
        }
        wanted = [name for name in measures if name in given] or list(measures)
        report = {name: measures[name]() for name in wanted}
    report["machine"] = {"processors": os.cpu_count() or 1, "load": round(os.getloadavg()[0], 1)}
    print(json.dumps(report, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
