"""`ports.CheckPrograms` on this machine: processes and report files."""

from __future__ import annotations

import hashlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from handrail.contract.outcome import refuse_argument
from handrail.contract.redaction import Secrets, cut_minted_tokens, find_credentials, is_secret_name
from handrail.contract.wording import quote
from handrail.host.private_files import is_below, leads_outside, open_regular_file
from handrail.host.programs import find_program
from handrail.ports.checks import ProgramCall, ProgramEnd, ReportFile, steers_runner

OWN_SECRETS = frozenset({"AI_NATIVE_CLI_SECRET"})
"""Variables that are for Handrail alone: no check gets them."""
GRACE_SECONDS = 3.0
"""What a program has to end by itself after it is asked to."""
MOST_REPORT_BYTES = 8 * 1024 * 1024
MOST_PROGRAM_BYTES = 64 * 1024 * 1024
"""A larger program has no digest in its receipt: reading it would delay every check."""

_SHELL = "/bin/sh"
_GUARDING = 'read -r told || kill -s KILL -- "-$1"'
_LOOK_SECONDS = 0.05
_CHUNK_BYTES = 65_536


class LocalCheckPrograms:
    """Programs with the environment of the caller."""

    def __init__(self, environment: Mapping[str, str], secrets: Secrets) -> None:
        self._environment = environment
        self._secrets = secrets
        self._running = 0

    def directory_in(self, project: str, asked: str) -> str:
        root = os.path.realpath(project)
        if not asked:
            here = _working_directory()
            return here if here and is_below(here, root) else root
        try:
            place = os.path.realpath(os.path.join(root, asked))
        except ValueError:  # a null byte, or half of a surrogate pair: no directory is called that
            place = ""
        if not place or not is_below(place, root) or not os.path.isdir(place):
            problem = "is not a directory of the project"
            raise refuse_argument(
                f"{quote(asked)} {problem}.", "directory", problem, "a path relative to the project"
            )
        return place

    def run(
        self,
        call: ProgramCall,
        stop_reason: Callable[[], Literal["", "signal", "deadline"]],
        take: Callable[[bytes], None],
    ) -> ProgramEnd:
        program, trouble = self._find(call)
        if trouble:
            return ProgramEnd(trouble=trouble)
        started = time.monotonic()
        given = {
            name: value
            for name, value in self._environment.items()
            if name not in OWN_SECRETS and not (call.is_declared and steers_runner(name))
        }
        given |= dict(call.environment)
        steering = {name: value for name, value in sorted(given.items()) if value and steers_runner(name)}
        resolved, digest = self._show(program, call.project), _digest(program)
        try:
            child = subprocess.Popen(  # noqa: S603 - what the caller asked for, word by word, never a shell
                [program, *call.argv[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=given,
                cwd=call.directory,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "its words hold a null character"
            return ProgramEnd(trouble=f"it could not be started: {reason}")
        self._running = child.pid
        guard = _start_guard(child.pid)
        try:
            with child:
                ended_by = _watch(child, started + call.seconds, stop_reason, take)
        finally:
            self._running = 0
            _dismiss(guard)
        end = ProgramEnd(
            duration_ms=int((time.monotonic() - started) * 1000),
            steering=steering,
            program=resolved,
            program_digest=digest,
        )
        if ended_by == "deadline":
            return msgspec.structs.replace(end, is_timed_out=True)
        if ended_by == "signal":
            return msgspec.structs.replace(end, signal="SIGINT", is_interrupted=True)
        if child.returncode < 0:
            return msgspec.structs.replace(end, signal=_signal_name(-child.returncode))
        return msgspec.structs.replace(end, status=child.returncode)

    def find_trouble(self, project: str, argv: Sequence[str]) -> str:
        return self._find(ProgramCall(argv=tuple(argv), directory=project, project=project, seconds=0))[1]

    def end_now(self) -> None:
        if self._running:
            _signal_group(self._running, signal.SIGKILL)

    def register_secrets(self) -> None:
        for name, value in self._environment.items():
            if cut_minted_tokens(value) != value:
                continue  # ours: cut by their shape where they are printed, and told back to their owner
            found = find_credentials(value) if "://" in value else ()
            for secret in found:
                self._secrets.register(secret)
            if not found and is_secret_name(name):
                self._secrets.register(value.encode(errors="surrogateescape"))

    def look_at_report(self, project: str, path: str) -> str:
        place = os.path.join(project, path)
        try:
            seen = os.stat(place)
        except OSError:
            return ""
        return f"{seen.st_ino}:{seen.st_size}:{seen.st_mtime_ns}:{seen.st_ctime_ns}"

    def read_report(self, project: str, path: str, before: str) -> ReportFile:
        place = os.path.join(project, path)
        seen = self.look_at_report(project, path)
        if not seen:
            return ReportFile(trouble="the program wrote no report")
        if seen == before:
            return ReportFile(trouble="the report is older than this run of the program")
        if leads_outside(place, project):
            return ReportFile(trouble="the report is behind a link that leads out of the project")
        try:
            with open(place, "rb", opener=open_regular_file) as file:
                content = file.read(MOST_REPORT_BYTES + 1)
        except OSError as error:
            return ReportFile(trouble=f"the report could not be read: {error.strerror}")
        if len(content) > MOST_REPORT_BYTES:
            return ReportFile(trouble=f"the report has more than {MOST_REPORT_BYTES} bytes")
        return ReportFile(content=content)

    def _show(self, program: str, project: str) -> str:
        root = os.path.realpath(project)
        own = os.path.join(os.path.realpath(os.path.dirname(program)), os.path.basename(program))
        for place in (own, os.path.realpath(program)):
            if is_below(place, root):
                return f"./{os.path.relpath(place, root)}"
        home = self._environment.get("HOME", "")
        is_of_user = len(home) > 1 and program.startswith(home.rstrip(os.sep) + os.sep)
        return f"~{program[len(home.rstrip(os.sep)) :]}" if is_of_user else program

    def _find(self, call: ProgramCall) -> tuple[str, str]:
        """The file to start, or why there is none."""
        word = call.argv[0]
        if os.sep not in word:
            found = find_program(word, self._environment)
            return found, "" if found else f"there is no program {quote(word)} on PATH"
        path = word if os.path.isabs(word) else os.path.normpath(os.path.join(call.directory, word))
        if not os.path.isabs(word) and not is_below(path, os.path.realpath(call.project)):
            return "", f"{quote(word)} leads out of the project; give its absolute path if it is meant"
        found = find_program(path, self._environment)
        return found, "" if found else f"{quote(word)} is not a program in the project"


def _digest(program: str) -> str:
    """Of the file that is started: which one it was can be told later."""
    try:
        with open(program, "rb", opener=open_regular_file) as file:
            if os.fstat(file.fileno()).st_size > MOST_PROGRAM_BYTES:
                return ""
            return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"
    except OSError:
        return ""


def _working_directory() -> str:
    try:
        return os.path.realpath(os.getcwd())
    except OSError:
        return ""


def _start_guard(group: int) -> subprocess.Popen[bytes] | None:
    """A shell that ends the program if we are killed: then its line of input never comes.

    A signal for the death of a parent would need code between fork and exec, which is not safe with threads.
    """
    try:
        return subprocess.Popen(  # noqa: S603 - fixed words, and a number of ours
            [_SHELL, "-c", _GUARDING, "handrail-guard", str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},
            cwd="/",
            start_new_session=True,
        )
    except OSError:  # without that shell it goes on until its own end
        return None


def _dismiss(guard: subprocess.Popen[bytes] | None) -> None:
    if guard is None or guard.stdin is None:
        return
    with suppress(OSError, subprocess.TimeoutExpired):
        guard.communicate(b"done\n", timeout=GRACE_SECONDS)


def _watch(
    child: subprocess.Popen[bytes],
    ends_at: float,
    stop_reason: Callable[[], Literal["", "signal", "deadline"]],
    take: Callable[[bytes], None],
) -> Literal["", "signal", "deadline"]:
    """Hand on what it prints until it ends; says why it was ended, if it was.

    The time of the call is not the time of the program: only a signal to the call ends it early.
    """
    assert child.stdout is not None, "its output is a pipe"
    ended_by: Literal["", "signal", "deadline"] = ""
    kill_at = 0.0
    is_open = True
    while is_open or child.poll() is None:
        if is_open and select.select([child.stdout], [], [], _LOOK_SECONDS)[0]:
            chunk = os.read(child.stdout.fileno(), _CHUNK_BYTES)
            take(chunk)
            is_open = bool(chunk)
        elif is_open:
            is_open = child.poll() is None  # what it left running may hold the pipe for ever
        else:
            with suppress(subprocess.TimeoutExpired):
                child.wait(_LOOK_SECONDS)
        now = time.monotonic()
        if not ended_by and (stop_reason() == "signal" or now >= ends_at):
            ended_by = "signal" if stop_reason() == "signal" else "deadline"
            kill_at = now + GRACE_SECONDS
            _signal_group(child.pid, signal.SIGINT if ended_by == "signal" else signal.SIGTERM)
        elif ended_by and now >= kill_at:
            _signal_group(child.pid, signal.SIGKILL)
    if ended_by:  # whatever of its group is still there
        _signal_group(child.pid, signal.SIGKILL)
    return ended_by


def _signal_group(group: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(group, number)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
