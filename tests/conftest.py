"""Shared fixtures: a runtime on the memory log whose ids, keys and time are fixed."""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, settings

from handrail.contract.ids import ObservationKey
from handrail.contract.tokens.workflow import purpose_key
from handrail.contract.workflow_files import WorkflowFile
from handrail.event_log.memory import MemoryLog
from handrail.host.program.installation import LocalInstallation
from handrail.host.workflow_sources.directories import list_named_files, refuse_named_file
from handrail.ports.process import AuditLine, Claim, KeyringFacts, McpProcess
from handrail.ports.program import ClientServer, Handshake, InstalledSkill, PlaceFacts, ProgramFacts
from handrail.ports.workspace import DeclaredCheck, DesiredSettings, FilePlace, SettingProblem, Settings
from handrail.program.doctor.program_checks import RECORD_NAME
from handrail.runtime.runtime import Runtime
from handrail.wiring import registry
from tests import quick_set
from tests.conformance.forked import ForkServer
from tests.readings import share_readings
from tests.store_proof.scratch import find_memory_directory

if TYPE_CHECKING:
    from handrail_team.store.database import Database
    from handrail_team.store.log import TeamLog

# An example may take as long as a busy machine needs. Every run tries a few, and the next one a few others;
# `.ci/run referees` tries many.
NO_HURRY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("every_run", NO_HURRY, max_examples=50)
settings.register_profile("thorough", NO_HURRY, max_examples=300)
settings.load_profile("every_run")

NO_START_IN_C = "Python itself does not start in the locale C from a folder whose name is not ASCII"

MEMORY_BYTES = 4 << 30
"""What a whole run may need in memory at once, and twice as much again."""


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """The quick set unless asked; and temporary files in memory where there is room, because half of
    the time of a write is a wait for the disk.

    What the store asks of a disk is shown by `tests/faults/` on disks that record, refuse and forget.
    """
    config.pluginmanager.register(quick_set)
    gc.disable()  # what is collected stays, so a fifth of the time of collecting would go for nothing
    os.umask(0o022)  # the usual one, which modes of files are told by; a test that needs another sets it
    memory = find_room_in_memory("")
    if "TMPDIR" in os.environ or config.option.basetemp or not memory:  # a worker has both from its parent
        return
    place = tempfile.mkdtemp(prefix="h", dir=memory)
    os.environ["TMPDIR"] = tempfile.tempdir = place
    config.option.basetemp = f"{place}/t"
    config.add_cleanup(lambda: shutil.rmtree(place, ignore_errors=True))


def find_room_in_memory(otherwise: str) -> str:
    memory = find_memory_directory("")
    return memory if memory and shutil.disk_usage(memory).free > MEMORY_BYTES else otherwise


class CountingRandomness:
    """Chance that repeats: the n-th call gives the n-th digest."""

    def __init__(self) -> None:
        self.calls = 0

    def bytes(self, count: int) -> bytes:
        self.calls += 1
        return hashlib.sha512(f"randomness {self.calls}".encode()).digest()[:count]


class FixedClock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000

    def now(self) -> str:
        return "2027-01-15T08:00:00.000Z"

    def unix_seconds(self) -> int:
        return self.seconds

    def monotonic_ms(self) -> int:
        return 0

    def processor_ms(self) -> int:
        return 0


class FixedKeys:
    """Purpose keys of rings that a test names; the first one signs."""

    def __init__(self, *rings: bytes) -> None:
        self.rings = rings or (b"k" * 32,)

    def facts(self) -> KeyringFacts:
        return KeyringFacts(count=len(self.rings), version=hashlib.sha256(b"".join(self.rings)).hexdigest())

    def rotate(self, expected_version: str) -> bool:
        if self.facts().version != expected_version:
            return False
        self.rings = (hashlib.sha256(self.rings[0]).digest(), self.rings[0])
        return True

    def signing_key(self, purpose: str) -> bytes:
        return purpose_key(self.rings[0], purpose)

    def request_key(self) -> bytes:
        return b"r" * 32

    def verifying_keys(self, purpose: str) -> tuple[bytes, ...]:
        return tuple(purpose_key(ring, purpose) for ring in self.rings)


class GivenFiles:
    """A library that holds what a test put there."""

    def __init__(self, files: Sequence[WorkflowFile] = ()) -> None:
        self.held = list(files)

    def add(
        self, content: bytes, name: str = "given.json", holds: Literal["workflow", "contract"] = "workflow"
    ) -> None:
        file = WorkflowFile(source_kind="project", source_ref=name, content=content, holds=holds)
        self.held.append(file)

    def files(self, project: str) -> Sequence[WorkflowFile]:
        return self.held

    def content_now(self, project: str, source_kind: str, source_ref: str) -> bytes | None:
        named = [
            file for file in self.held if (file.source_kind, file.source_ref) == (source_kind, source_ref)
        ]
        return named[0].content if named else b""

    def named_files(self, directory: str, project: str) -> Sequence[WorkflowFile]:
        return list_named_files(directory, [("project", project)])

    def refused_file(self, path: str, project: str) -> WorkflowFile | None:
        return refuse_named_file(path, [("project", project)])


class GivenWorkspace:
    """A workspace without a disk behind it."""

    def __init__(self) -> None:
        self.seen: dict[ObservationKey, str] = {"git_branch": "main"}
        self.directory = "/project"
        self.identities: dict[str, str] = {}
        self.repositories: dict[str, str] = {}
        """The common git directory of each worktree."""
        self.work = ""
        self.worker_name = ""

    def project(self, asked: str) -> str:
        return asked or self.directory

    def identity(self, project: str) -> str:
        return self.identities.get(project, "")

    def observations(self, project: str) -> dict[ObservationKey, str]:
        return dict(self.seen)

    def repository(self, project: str) -> str:
        return self.repositories.get(project, "")

    def main_checkout(self, project: str) -> str:
        return self.directory if project in self.repositories and project != self.directory else ""

    def work_token(self) -> str:
        return self.work

    def worker(self) -> str:
        return self.worker_name

    def account(self) -> str:
        return "tester"


class KeptIncidents:
    """Incidents a test can look at."""

    def __init__(self) -> None:
        self.tracebacks: list[str] = []

    def record(self, traceback: str) -> str:
        self.tracebacks.append(traceback)
        return f"incident{len(self.tracebacks)}"


class KeptClaims:
    """Used confirm tokens of one process; `refuses` makes the disk refuse with this reason."""

    def __init__(self) -> None:
        self.claimed: set[str] = set()
        self.refuses = ""

    def claim(self, fingerprint: str, *, expires_at: int, now: int) -> Claim:
        if fingerprint in self.claimed:
            return Claim(state="already_used")
        if self.refuses:
            return Claim(state="not_recorded", reason=self.refuses)
        self.claimed.add(fingerprint)
        return Claim(state="claimed")

    def is_used(self, fingerprint: str) -> bool:
        return fingerprint in self.claimed


class KeptFiles:
    """Authored files without a disk behind them."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def place(self, project: str, directory: str, name: str, param: str) -> FilePlace:
        path = f"{directory or project + '/.handrail/workflows'}/{name}"
        return FilePlace(path=path, content=self.held.get(path))

    def create(self, path: str, content: bytes) -> bool:
        if path in self.held:
            return False
        self.held[path] = content
        return True

    def replace(self, path: str, content: bytes, expected: bytes) -> bool:
        if self.held.get(path) != expected:
            return False
        self.held[path] = content
        return True

    def create_private(self, path: str, parts: Iterable[bytes]) -> bool:
        return self.create(path, b"".join(parts))


class GivenSettings:
    """Settings that a test puts in force."""

    def __init__(self) -> None:
        self.settings = Settings()

    def of(self, project: str = "") -> Settings:
        return self.settings

    def problems(self, project: str = "") -> tuple[SettingProblem, ...]:
        return ()

    def read_checks(self, content: bytes) -> tuple[DeclaredCheck, ...]:
        del content
        return ()

    def desired(self, project: str = "") -> DesiredSettings:
        return DesiredSettings(user_file="config.json", project_file="project.json", user={}, project={})

    def check(self, changes: Mapping[str, Any]) -> None:
        pass

    def keep(self, changes: Mapping[str, Any], held: Mapping[str, Any]) -> bool:
        """Of preferences, which is all that tests without files set."""
        fields = {"preferences.autonomy": "autonomy", "preferences.riskPolicy": "risk_policy"}
        if any(getattr(self.settings, fields[name]) != value for name, value in held.items()):
            return False
        given = {fields[name]: value for name, value in changes.items()}
        self.settings = msgspec.structs.replace(self.settings, **given)
        return True


class GivenProcesses:
    """Servers that a test says are running."""

    def __init__(self) -> None:
        self.held: list[McpProcess] = []

    def announce(self, server: McpProcess) -> None:
        self.held.append(server)

    def withdraw(self) -> None:
        self.held.clear()

    def running(self) -> tuple[McpProcess, ...]:
        return tuple(self.held)


class KeptAudit:
    """Audit lines that a test can look at."""

    def __init__(self) -> None:
        self.lines: list[AuditLine] = []

    def record(self, line: AuditLine, keep_months: int) -> None:
        self.lines.append(line)


class GivenInstallation(LocalInstallation):
    """Packed files as they are; every fact about the machine is what a test says."""

    def __init__(self) -> None:
        super().__init__("/home-of-tests", {})
        self.record: bytes | None = None
        self.bytes_digest = "sha256:packed"
        self.source: Literal["file", "environment"] = "file"
        self.facts = ProgramFacts(
            method="uv-tool",
            on_path="/bin/handrail",
            is_on_path=True,
            git="/bin/git",
        )
        self.places: dict[str, PlaceFacts] = {}
        self.installed: list[InstalledSkill] = []
        self.entries: list[ClientServer] = []
        self.greeting = Handshake(protocol_version="2025-06-18", server_version="0.1.0")

    def packed(self, name: str) -> bytes | None:
        return self.record if name == RECORD_NAME else super().packed(name)

    def digest(self) -> str:
        return self.bytes_digest

    def secret_source(self) -> Literal["file", "environment"]:
        return self.source

    def program(self) -> ProgramFacts:
        return self.facts

    def place(self, name: str) -> PlaceFacts:
        return self.places.get(name) or PlaceFacts(path=f"{self.home()}/{name}", is_writable=True)

    def skills(self) -> Sequence[InstalledSkill]:
        return self.installed

    def client_servers(self, project: str) -> Sequence[ClientServer]:
        return self.entries

    def handshake(self) -> Handshake:
        return self.greeting


THREE_STEPS = b"""{
  "id": "project.three_steps", "name": "Three steps", "description": "A linear workflow for tests.",
  "steps": [
    {"id": "first", "title": "First", "prompt": "Do the first thing."},
    {"id": "second", "title": "Second", "prompt": "Do the second thing."},
    {"id": "third", "title": "Third", "prompt": "Do the third thing.", "requireConfirmation": true}
  ]
}"""


pytest.register_assert_rewrite("tests.event_log.log_promises")


def memory_runtime() -> Runtime:
    """A runtime whose every answer is the same in every process."""
    library = GivenFiles()
    library.add(THREE_STEPS, "three_steps.json")
    installation = GivenInstallation()
    processes = GivenProcesses()
    return Runtime(
        log=MemoryLog(),
        keys=FixedKeys(),
        clock=FixedClock(),
        randomness=CountingRandomness(),
        library=library,
        workspace=GivenWorkspace(),
        incidents=KeptIncidents(),
        confirmed=KeptClaims(),
        authored=KeptFiles(),
        settings=GivenSettings(),
        registry=registry(),
        audit=KeptAudit(),
        installation=lambda: installation,
        mcp_processes=lambda: processes,
    )


def library_of(runtime: Runtime) -> GivenFiles:
    assert isinstance(runtime.library, GivenFiles)
    return runtime.library


def settings_of(runtime: Runtime) -> GivenSettings:
    assert isinstance(runtime.settings, GivenSettings)
    return runtime.settings


def workspace_of(runtime: Runtime) -> GivenWorkspace:
    assert isinstance(runtime.workspace, GivenWorkspace)
    return runtime.workspace


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay: looking through them for garbage, again and again, finds none.
    A test leaves little that refers to itself, so a look may be rarer than the interpreter's."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def workflow_files_are_read_and_compiled_once() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        share_readings(patch.setattr)
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = (
        "which store the journeys use: memory (default), or postgresql as tests/team/postgres.py has it"
    )
    parser.addoption("--store", choices=("memory", "postgresql"), default="memory", help=help_text)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server."""
    from tests.team.postgres import running_server

    with running_server() as address:
        yield address


@pytest.fixture(scope="session")
def shared_database(postgres: str) -> Iterator[Database]:
    """One database for many tests, each of which finds it empty by way of `team_log`."""
    from tests.team.postgres import open_fresh_database

    with open_fresh_database(postgres) as held:
        yield held


@pytest.fixture
def team_log(shared_database: Database) -> TeamLog:
    """An empty log in PostgreSQL."""
    from tests.team.postgres import empty_log

    return empty_log(shared_database)


@pytest.fixture
def runtime(request: pytest.FixtureRequest) -> Runtime:
    made = memory_runtime()
    if request.config.getoption("--store") == "memory":
        return made
    return msgspec.structs.replace(made, log=request.getfixturevalue("team_log"))


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """Processes of the tool without their start-up, for every test of this worker."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # a socket's path must be short
        server = ForkServer(folder)
        yield server
        server.close()


@pytest.fixture
def home(tmp_path: Path) -> str:
    """A fresh home directory for file-backed tests."""
    return str(tmp_path / "home")
