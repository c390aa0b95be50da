"""`handrail demo`: a whole run in a scratch directory, with real processes, real kills and checked claims."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Literal

import msgspec

from handrail.contract.catalogue import E_INTEGRITY, E_INTERRUPTED, E_IO, E_USAGE, E_VALIDATION
from handrail.contract.envelopes.cli import encode_document, to_cli
from handrail.contract.outcome import Call, Failure, Fault, Json, Outcome, Success, failure_of
from handrail.contract.wording import quote
from handrail.demo.scene import Broken, Narrator, Scene, make_demo_environment
from handrail.demo.story import Totals, play_story

USAGE = "handrail demo [--keep DIR] [--format text|json]"


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How to play: where, and for whom."""

    keep: str = ""
    format: Literal["text", "json"] = "text"


def main(arguments: list[str]) -> int:
    """Play the demo; the exit status is 0 only if every claim held."""
    started = time.monotonic_ns()
    options = Options()
    try:
        options = read_options(arguments)
        with _handle_signals(), _scratch(options.keep) as place:
            return _play(options, place, started)
    except Fault as fault:
        return _report_failure(options, failure_of(fault), started)
    except KeyboardInterrupt:
        what = "was left as it is" if options.keep else "was removed"
        message = f"The demo was interrupted; its scratch directory {what}."
        return _report_failure(options, Failure(kind=E_INTERRUPTED, message=message), started)
    except BrokenPipeError:
        _discard_stdout()
        return E_IO.exit_status


def read_options(arguments: list[str]) -> Options:
    """Raises Fault E_USAGE or E_VALIDATION."""
    given = {"--keep": "", "--format": "text"}
    waiting = [part for word in arguments for part in _parts(word)]
    while waiting:
        flag = waiting.pop(0)
        if flag not in given or not waiting:
            trouble = "needs a value" if flag in given else "is not known here"
            raise Fault(E_USAGE, f"{quote(flag)} {trouble}.", hint=f"Usage: {USAGE}")
        given[flag] = waiting.pop(0)
    match given["--format"]:
        case "text" | "json" as form:
            return Options(keep=given["--keep"], format=form)
        case other:
            raise Fault(E_VALIDATION, f"There is no format {quote(other)}.", hint=f"Usage: {USAGE}")


def _parts(word: str) -> list[str]:
    flag, is_joined, value = word.partition("=")
    return [flag, value] if is_joined and flag.startswith("--") else [word]


def _play(options: Options, place: str, started: int) -> int:
    is_text = options.format == "text"
    narrator = Narrator(_write if is_text else lambda _: None, _pause_for(options))
    home, project = os.path.join(place, "home"), os.path.join(place, "project")
    os.makedirs(project)
    scene = Scene(narrator, make_demo_environment(os.environ, home, project), home, project)
    totals = Totals()
    if is_text:
        _write("Handrail in a few seconds: real processes, a scratch directory, no network.\n")
    try:
        totals = play_story(scene)
    except Broken as broken:
        narrator.check(f"The story reaches its end; but {broken}", passed=False)
    if is_text:
        _write(_closing_text(options, place, scene))
        return 0 if narrator.has_passed() else E_INTEGRITY.exit_status
    outcome = _outcome(options, scene, totals)
    _write(_document(outcome, started))
    return 0 if isinstance(outcome, Success) else outcome.kind.exit_status


def _closing_text(options: Options, place: str, scene: Scene) -> str:
    checks = scene.narrator.checks
    passed = sum(check.passed for check in checks)
    lines = ["", f"{passed} of {len(checks)} claims held."]
    if passed < len(checks):
        lines += [f"  [FAILED] {check.claim}"[:80] for check in checks if not check.passed]
        lines += ["Please report this with the output above."]
    if options.keep:
        lines += [
            "Everything was kept. Look around:",
            f"  export HANDRAIL_HOME={shlex.quote(os.path.join(place, 'home'))}",
            f"  handrail session show {scene.session_id} --format text",
        ]
    else:
        lines += [
            "`handrail workflow list` shows what you can run now;",
            "`handrail mcp` is the command for your agent's client to start.",
        ]
    return "\n".join(lines) + "\n"


def _outcome(options: Options, scene: Scene, totals: Totals) -> Outcome:
    narrator = scene.narrator
    facts: dict[str, Json] = {
        "session_id": scene.session_id,
        "steps": msgspec.to_builtins(narrator.chapters),
        "checks": msgspec.to_builtins(narrator.checks),
        "calls": scene.calls,
        "kills": scene.kills,
        **msgspec.to_builtins(totals),
        "kept": options.keep or None,
    }
    if narrator.has_passed():
        return Success(data=facts)
    broken = [check.claim for check in narrator.checks if not check.passed]
    total = len(narrator.checks)
    return Failure(
        kind=E_INTEGRITY,
        message=f"{len(broken)} of {total} claims of the demo did not hold: {broken[0]}"[:1024],
        details={"report": facts},
        hint="Run it again with --keep DIR and report what it prints.",
    )


def _document(outcome: Outcome, started: int) -> str:
    duration_ms = (time.monotonic_ns() - started) // 1_000_000
    call = Call(operation="cli.demo", request_id="demo", at="", duration_ms=duration_ms)
    return encode_document(to_cli(outcome, call, command_line=lambda _: None), compact=False).decode()


def _report_failure(options: Options, failure: Failure, started: int) -> int:
    if options.format == "json":
        _write(_document(failure, started))
    else:
        sys.stderr.write(f"Error: {failure.message}\nFix:   {failure.hint or failure.kind.hint}\n")
    return failure.kind.exit_status


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode(errors="replace"))
    sys.stdout.buffer.flush()


def _pause_for(options: Options) -> Callable[[float], None]:
    """Pause for a person at a terminal, not for a file or a pipe."""
    return time.sleep if options.format == "text" and sys.stdout.isatty() else lambda _: None


def _discard_stdout() -> None:
    """The reader is gone: send the interpreter's last flush to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


@contextmanager
def _scratch(keep: str) -> Iterator[str]:
    """A new directory, removed at the end unless the user wants to keep it.

    Raises Fault E_VALIDATION when there is something in it already, E_IO when it cannot be made.
    """
    try:
        place = os.path.abspath(keep) if keep else tempfile.mkdtemp(prefix="handrail-demo-")
        os.makedirs(place, exist_ok=True)
        is_taken = bool(os.listdir(place))
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise Fault(
            E_IO, f"The scratch directory cannot be made: {reason}.", details={"reason": reason}
        ) from error
    if is_taken:
        hint = "Give the name of a directory that does not exist yet."
        raise Fault(E_VALIDATION, f"{quote(keep)} is not empty.", details={"param": "keep"}, hint=hint)
    try:
        yield place
    finally:
        if not keep:
            shutil.rmtree(place, ignore_errors=True)


@contextmanager
def _handle_signals() -> Iterator[None]:
    """End the demo cleanly on SIGTERM, as on Ctrl-C, and ignore further signals meanwhile."""

    def stop(_: int, __: FrameType | None) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
