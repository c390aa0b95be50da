"""One command line from argv to exit status: parse, answer, render, deliver.

What only some commands need comes through `Doors`, so that a usage error pays for nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from handrail import __version__
from handrail.contract.catalogue import E_INTERRUPTED, E_IO, INTERNAL_ERROR
from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.cli import SCHEMA_VERSION, encode_line, stream_line
from handrail.contract.envelopes.format import find_wrong_variables
from handrail.contract.outcome import (
    DONE,
    Call,
    Commits,
    Failure,
    Fault,
    Json,
    Notice,
    Outcome,
    Success,
    failure_of,
    failure_of_defect,
    is_stand_in,
    make_stand_in,
    spell_reading_call,
)
from handrail.surfaces.cli.process import Interrupted, Process, request_id, terminal_width, timestamp
from handrail.surfaces.cli.reading.parse import SELF_DESCRIPTION, Parsed, Problem, parse
from handrail.surfaces.cli.reading.spelling import command_line, refusal, stopped
from handrail.surfaces.cli.rendering.render import (
    Output,
    Rendered,
    ask_of,
    bare,
    check_schema_version,
    out_problems,
    output_of,
    plain,
    prepare,
    raw_problems,
    render,
    stream_problems,
    summary_line,
    timeout_of,
    widest_size,
    written_on,
)

if TYPE_CHECKING:  # a usage error does not pay for the runtime
    from handrail.runtime.operation import StreamItem

if TYPE_CHECKING:  # only annotations name it, and a usage error must not pay for the ports
    from handrail.ports.workspace import Settings

_T = TypeVar("_T")

TOOL = "handrail"
NEVER_FAILS = "hook"
"""Its host stops on a refusal, so what is wrong with its line is its own to tell."""


def _none(_: str) -> Sequence[Notice]:
    return ()


def _unexamined(_: Parsed) -> Sequence[Problem]:
    return ()


class Doors(msgspec.Struct, frozen=True, kw_only=True):
    """What lies behind some commands only; the front door imports it when it is asked for."""

    help_text: Callable[[str, int], str]
    """Of a command, a group or the tool; 0 is the usual width."""
    help_document: Callable[[str], Success]
    settings: Callable[[Parsed], Settings | None]
    """What people decided about output; None where a command must answer though the settings are broken."""
    answer: Callable[[Process, Parsed, Ask, Callable[[Success], int]], Outcome | str]
    """One operation; a string is the bare value of `--field`."""
    stream: Callable[[Process, Parsed, Ask], Iterator[StreamItem | Outcome]]
    """The same line by line; the last is the outcome."""
    pour: Callable[[Process, Parsed], Outcome | OSError]
    """The long field of an answer, straight to stdout; what stdout refused, or how it ended."""
    serve: Callable[[Parsed], int]
    demo: Callable[[Parsed], int]
    record_defect: Callable[[Exception], str]
    """Keeps the traceback out of sight and gives the id to quote."""
    input_problems: Callable[[Parsed], Sequence[Problem]] = _unexamined
    """What is wrong with the values of a line that is refused anyway, as its operation sees them."""
    notices: Callable[[str], Sequence[Notice]] = _none
    """What was found before and answers of this operation tell beside their own."""


class _Caller:
    """What is known so far of who asks and how the answer shall look."""

    def __init__(self) -> None:
        self.started_ns = time.monotonic_ns()
        self.call = Call(operation="cli.usage", request_id=request_id(), at=timestamp())
        self.output = Output()
        self.columns: tuple[str, ...] = ()
        self.raw = ""
        self.commits = Commits()
        self.notices: Callable[[str], Sequence[Notice]] = _none
        self.passed_over: tuple[Notice, ...] = ()
        """Of the surroundings: what is wrong and was not used."""


def run(process: Process, arguments: Sequence[str], environment: Mapping[str, str], doors: Doors) -> int:
    """Answer one command line; the exit status. Never raises, never prints a traceback."""
    caller = _Caller()
    process.farewell = lambda: _farewell(caller)
    process.commits = caller.commits
    try:
        answer = _guarded(caller, doors, lambda: _answer(process, caller, arguments, environment, doors))
    except Interrupted as stop:
        failure = stopped(stop)
        answer = _guarded(caller, doors, lambda: _rendered(caller, failure))
    except KeyboardInterrupt:  # from a server, which has its own way to stop
        answer = E_INTERRUPTED.exit_status
    return answer if isinstance(answer, int) else _delivered(process, caller, answer)


def _answer(
    process: Process, caller: _Caller, arguments: Sequence[str], environment: Mapping[str, str], doors: Doors
) -> Rendered | int:
    """What to write, or the exit status of a server that has had its own say. Raises for any trouble."""
    process.open_to_signals()
    parsed = parse(arguments)
    environment = _usable(caller, parsed, environment)
    output, troubles = output_of(parsed, environment)
    caller.output = _on_page(output, arguments, environment, is_help="help" in parsed.options)
    _introduce(caller, parsed)
    if told := _told(caller, parsed, doors):
        return told
    if parsed.command is not None and parsed.command["path"] == NEVER_FAILS:
        process.hand_back()
        return doors.serve(parsed)
    ask = _checked(parsed, arguments, caller.output, troubles, doors.input_problems)
    assert parsed.command is not None, "a command line without a command is refused above"
    effect = parsed.command["effect"]
    if not parsed.command["operation"]:
        process.hand_back()
        caller.output = Output(format="raw")  # stdout is not ours any more: trouble goes to stderr
        return doors.serve(parsed) if effect == "server" else doors.demo(parsed)
    if process.stdout_was_closed and effect != "read":
        return _nowhere_to_answer()
    # Only now: a line that cannot be understood does not say which project's settings would count.
    output, _ = output_of(parsed, environment, doors.settings(parsed))
    caller.output = _on_page(output, arguments, environment)
    process.start_deadline(timeout_of(parsed, environment))
    if ask.budget is None:  # what nobody asked for must not take room from what was
        caller.notices = doors.notices
    else:
        caller.output = msgspec.structs.replace(caller.output, tells_next=False)
        caller.passed_over = ()
    if effect != "read":
        prepare(caller.output)
    if "stream" in parsed.options:
        return _streamed(process, caller, doors.stream(process, parsed, ask))
    if caller.output.format == "raw" and parsed.command["out"]:
        return _poured(process, caller, doors.pour(process, parsed))
    outcome = doors.answer(process, parsed, ask, lambda success: _size(caller, success))
    return bare(outcome, caller.output) if isinstance(outcome, str) else _rendered(caller, outcome)


def _guarded(caller: _Caller, doors: Doors, work: Callable[[], Rendered | int]) -> Rendered | int:
    """The answer of the work; of trouble that it met; or, if that cannot be told either, the last word.

    A call that has changed something has succeeded: no trouble after it is told as a failure.
    """
    done = _tried(work)
    if not isinstance(done, Exception):
        return done
    failure = failure_of(done) if isinstance(done, Fault) else failure_of_defect(done, _incident(doors, done))
    caller.notices = _none
    outcome: Outcome = make_stand_in(caller.commits) if caller.commits.is_made else failure
    told = _tried(lambda: _rendered(caller, outcome))
    return _last_word(caller) if isinstance(told, Exception) else told


def _delivered(process: Process, caller: _Caller, answer: Rendered) -> int:
    undelivered = E_IO.exit_status
    if caller.commits.is_made:
        undelivered = 0
        process.untold = lambda: _untold(caller)

    def deliver(told: Rendered) -> int:
        return process.deliver(told.out, told.err, told.status, undelivered=undelivered)

    done = _tried(lambda: deliver(answer))
    if isinstance(done, Exception):  # secrets could not be taken out of it; the last word holds none
        process.redact = bytes
        return deliver(_last_word(caller))
    return done


def _untold(caller: _Caller) -> bytes:
    """For stderr, where stdout does not take the answer."""
    following = caller.commits.reads_back
    line = None if following is None else command_line(following)
    read = f" Read what is there with: {line}" if line else ""
    return f"handrail: the change is made and stored.{read}\n".encode()


def _tried(work: Callable[[], _T]) -> _T | Exception:
    try:
        return work()
    except Exception as trouble:  # noqa: BLE001 - the surface's one catch-all: an agent never meets a traceback
        return trouble


def _incident(doors: Doors, defect: Exception) -> str:
    """The id of the kept traceback; keeping it may fail for the same reason: no memory, no descriptor."""
    incident = _tried(lambda: doors.record_defect(defect))
    return incident if isinstance(incident, str) else ""


def _as_command(caller: _Caller, outcome: Outcome) -> Outcome:
    """An answer without a reply names the command that reads it."""
    following = caller.commits.reads_back
    if following is None or isinstance(outcome, Failure) or not is_stand_in(outcome):
        return outcome
    line = command_line(following)
    return outcome if line is None else spell_reading_call(outcome, line)


def _last_word(caller: _Caller) -> Rendered:
    """Where nothing else can be said any more: a document that is made of constants."""
    if caller.commits.is_made:
        data = b'"data":{"committed":true,"message":"' + DONE.encode() + b'"}'
        return Rendered(out=b'{"ok":true,"schema_version":"1.0",' + data + b',"meta":{"duration_ms":0}}\n')
    line = b"handrail: the answer could not be put together; nothing was changed.\n"
    return Rendered(err=line, status=INTERNAL_ERROR.exit_status)


def _on_page(
    output: Output, arguments: Sequence[str], environment: Mapping[str, str], *, is_help: bool = False
) -> Output:
    """What text is written on; a document needs none of it."""
    if output.format != "text" and not is_help:
        return output
    return written_on(output, arguments, environment.get("COLUMNS", ""), terminal_width)


def _streamed(process: Process, caller: _Caller, lines: Iterator[StreamItem | Outcome]) -> Rendered | int:
    """Write line by line; what is left to write is the summary, or an ordinary failure before any line."""
    count = 0
    outcome: Outcome | None = None
    try:
        for line in lines:
            if isinstance(line, Success | Failure):
                outcome = line
                break
            with process.shielded():  # a line that is written is counted, whatever arrives meanwhile
                trouble = process.deliver_line(encode_line(stream_line(line.data)))
                count += trouble is None
            if trouble is not None:
                return process.end_stream(trouble, E_IO.exit_status)
    except Interrupted as stop:
        outcome = stopped(stop)
    assert outcome is not None, "a stream ends with its outcome"
    if isinstance(outcome, Failure) and count == 0:
        return _rendered(caller, outcome)
    return summary_line(outcome, _timed(caller), count)


def _poured(process: Process, caller: _Caller, ended: Outcome | OSError) -> Rendered | int:
    """What is left to say after the bytes are out."""
    if isinstance(ended, OSError):
        return process.end_stream(ended, E_IO.exit_status)
    return _rendered(caller, ended) if isinstance(ended, Failure) else Rendered()


def _usable(caller: _Caller, parsed: Parsed, environment: Mapping[str, str]) -> Mapping[str, str]:
    """What tells of this program answers in any surroundings: a wrong variable is named and not used."""
    if parsed.command is None or not parsed.command["operation"].startswith(SELF_DESCRIPTION):
        return environment
    wrong = find_wrong_variables(environment)
    caller.passed_over = tuple(
        Notice(type="wrong_variable", message=f"{fault.message} {fault.hint}", severity="warning")
        for fault in wrong.values()
    )
    return {name: value for name, value in environment.items() if name not in wrong}


def _introduce(caller: _Caller, parsed: Parsed) -> None:
    """Name the call by its operation, and note how its answer is drawn."""
    if parsed.command is None:
        return
    caller.columns, caller.raw = parsed.command["columns"], parsed.command["raw"]
    name = parsed.command["operation"] or f"cli.{parsed.command['path']}"
    caller.call = msgspec.structs.replace(caller.call, operation=name)


def _told(caller: _Caller, parsed: Parsed, doors: Doors) -> Rendered | None:
    """`--version` and `--help`: text, or a document when a flag asks for JSON."""
    if "version" in parsed.options:
        if not caller.output.is_json_asked:
            return plain(f"{TOOL} {__version__}\n")
        data: dict[str, Json] = {"tool": TOOL, "version": __version__, "schema_version": SCHEMA_VERSION}
        caller.call = msgspec.structs.replace(caller.call, operation="cli.version")
        return _rendered(caller, Success(data=data))
    if "help" in parsed.options and not any(problem.param == "command" for problem in parsed.problems):
        if not caller.output.is_json_asked:
            return plain(doors.help_text(parsed.words, caller.output.width))
        caller.call = msgspec.structs.replace(caller.call, operation="cli.help")
        return _rendered(caller, doors.help_document(parsed.words))
    return None


def _checked(
    parsed: Parsed,
    typed: Sequence[str],
    output: Output,
    troubles: Sequence[Fault],
    input_problems: Callable[[Parsed], Sequence[Problem]],
) -> Ask:
    """What to disclose, once nothing is wrong with the command line.

    Raises Fault: conflicts of format first, then every problem at once.
    """
    if troubles:
        raise troubles[0]
    problems = [
        *parsed.problems,
        *raw_problems(parsed, output),
        *out_problems(parsed, output),
        *stream_problems(parsed, output),
    ]
    check_schema_version(parsed, problems)
    ask = ask_of(parsed, problems)
    if problems:
        if parsed.values or isinstance(parsed.options.get("input"), dict):
            problems += input_problems(parsed)
        from handrail.surfaces.cli.reading.repair import repair_line  # noqa: PLC0415 - most lines are spelled right

        raise refusal(problems, parsed.words, repair_line(typed))
    return ask


def _rendered(caller: _Caller, outcome: Outcome) -> Rendered:
    told = _as_command(caller, outcome)
    return render(told, _timed(caller), caller.output, columns=caller.columns, raw=caller.raw)


def _timed(caller: _Caller) -> Call:
    """The facts of the call at its end: what it wrote itself, such as a new notice, is told at once."""
    duration_ms = (time.monotonic_ns() - caller.started_ns) // 1_000_000
    notices = _tried(lambda: tuple(caller.notices(caller.call.operation)))
    if isinstance(notices, Exception):  # what was found before is not worth an answer
        notices = ()
    return msgspec.structs.replace(
        caller.call, duration_ms=duration_ms, notices=(*caller.passed_over, *notices)
    )


def _size(caller: _Caller, success: Success) -> int:
    return widest_size(success, caller.call, caller.output, caller.columns)


def _farewell(caller: _Caller) -> tuple[bytes, bytes, int]:
    """The answer to a second signal, which may come in the middle of a commit."""
    caller.notices = _none
    if caller.commits.is_made:
        done = _rendered(caller, make_stand_in(caller.commits))
        return done.out, done.err, done.status
    failure = Failure(
        kind=E_INTERRUPTED,
        message="A second signal ended the call at once; look at the session before repeating it.",
        details={"committed": None},
        hint="Send the same call again: if it was committed, the recorded reply comes back.",
    )
    answer = _rendered(caller, failure)
    return answer.out, answer.err, answer.status


def _nowhere_to_answer() -> Rendered:
    """A change whose reply nobody can read is not made: the reply holds the tokens to go on."""
    line = b"handrail: stdout is closed, so nothing was done; open it and send the call again.\n"
    return Rendered(err=line, status=E_IO.exit_status)
