"""The whole call in this process, on a runtime that a test gives it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handrail import main
from handrail.contract.disclosure.fields import Ask
from handrail.runtime.runtime import Runtime
from handrail.surfaces.cli.call import (
    answer_command,
    input_problems,
    output_settings,
    stream,
    write_raw_field,
)
from handrail.surfaces.cli.process import Process
from handrail.surfaces.cli.reading.parse import Parsed
from handrail.surfaces.cli.rendering.render import Envelope
from handrail.surfaces.cli.run import CommandParts, run
from handrail.surfaces.cli.self_description.reference import help_slice
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
    ran, defects = run_troubled(runtime, arguments, environment, envelope)
    if defects:
        raise AssertionError(f"a defect: {arguments}") from defects[0]
    assert isinstance(runtime.incidents, KeptIncidents)
    assert runtime.incidents.tracebacks == []
    return ran


def run_troubled(
    runtime: Runtime,
    arguments: Sequence[str],
    environment: Mapping[str, str] | None = None,
    envelope: Envelope = "cli",
) -> tuple[Ran, list[Exception]]:
    """The same where defects may be met: what is written all the same, and what the surface met."""
    process = RecordingProcess()

    def operate(process: Process, parsed: Parsed, ask: Ask, measure: Any) -> Any:
        return answer_command(lambda: runtime, process, parsed, ask, measure)

    defects: list[Exception] = []

    def give_up(defect: Exception) -> str:
        defects.append(defect)
        return ""

    parts = CommandParts(
        help_text=main._help_text,
        help_document=lambda words: help_slice(runtime, words),
        settings=lambda parsed: output_settings(runtime, parsed),
        answer=operate,
        stream=lambda process, parsed, ask: stream(lambda: runtime, process, parsed, ask),
        write_raw_field=lambda process, parsed: write_raw_field(lambda: runtime, process, parsed),
        serve=lambda _: 0,
        demo=lambda _: 0,
        record_defect=give_up,
        input_problems=lambda parsed: input_problems(runtime.registry, parsed),
    )
    status = run(process, arguments, environment or {}, parts, envelope)
    assert status == process.ran.status
    return process.ran, defects
