"""The whole call in this process, on a runtime that a test gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.process import Process
from handrail.surfaces.cli.rendering.render import Envelope
from handrail.surfaces.cli.run import CommandParts, run
from tests.conftest import KeptIncidents
from tests.surfaces.cli.tool import Ran


class RecordingProcess(Process):
    """Keeps what would be written, and leaves signals and clocks alone."""

    def __init__(self) -> None:
        super().__init__()
        self.ran = Ran(status=-1, out=b"", err=b"")

    def start_deadline(self, seconds: int) -> None:
        assert 1 <= seconds <= 3600

    def deliver(self, out: bytes, err: bytes, status: int, undelivered: int) -> int:
        self.ran = Ran(status=status, out=self.ran.out + out, err=err)
        return status

    def deliver_line(self, line: bytes) -> OSError | None:
        self.ran = Ran(status=-1, out=self.ran.out + line, err=b"")
        return None


def run_here(
    runtime: Runtime,
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    envelope: Envelope = "cli",
) -> Ran:
    """What the command line writes and how it ends; a defect fails the test."""
    ran = run_troubled(runtime, arguments, environment, envelope)
    assert isinstance(runtime.incidents, KeptIncidents)
    assert runtime.incidents.tracebacks == []
    return ran


def run_troubled(
    runtime: Runtime,
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    envelope: Envelope = "cli",
) -> Ran:
    """The same where defects may be met: what is written all the same."""
    process = RecordingProcess()
    parts = CommandParts(
        runtime=lambda: runtime,
        serve=lambda _: 0,
        demo=lambda _: 0,
        load_the_rest=lambda: None,
        take_trees=lambda _: None,
        notices=lambda _: (),
    )
    status = run(process, arguments, environment or {}, parts, envelope)
    assert status == process.ran.status
    return process.ran
