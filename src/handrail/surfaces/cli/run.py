"""One command line from argv to exit status: parse, answer, render, deliver.

Modules that only some commands need are loaded for those alone, so that a usage error is cheap.
Parts of other packages come through `CommandParts`.
"""

# ruff: noqa: PLC0415 - most lines are spelled right, and a refused one needs no operation

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import msgspec

from handrail.contract.catalogue import E_INTERRUPTED, E_IO, INTERNAL_ERROR
from handrail.contract.disclosure.fields import Ask
from handrail.contract.envelopes.cli import SCHEMA_VERSION, encode_line, find_wrong_variables, stream_line
from handrail.contract.outcome import (
    DONE,
    Call,
    Commits,
    Failure,
    Fault,
    Json,
    NextCall,
    Notice,
    Outcome,
    Success,
    failure_of,
    failure_of_defect,
    is_stand_in,
    make_stand_in,
    spell_reading_call,
)
from handrail.contract.wording import quote_for_shell
from handrail.surfaces.cli.process import Interrupted, Process, request_id, terminal_width, timestamp
from handrail.surfaces.cli.reading.parse import MORE_WORD, SELF_DESCRIPTION, Parsed, parse
from handrail.surfaces.cli.reading.spelling import (
    HELP,
    PROGRAM,
    command_line,
    describe_stop,
    go_on_from,
    is_followed,
    refusal,
)
from handrail.surfaces.cli.rendering.render import (
    Envelope,
    Output,
    Rendered,
    ask_of,
    check_schema_version,
    clash_problems,
    fit_to_page,
    measure_widest,
    output_of,
    prepare,
    render,
    render_bare,
    render_plain,
    summary_line,
    timeout_of,
)
from handrail.version import __version__

if TYPE_CHECKING:  # a usage error does not pay for the runtime
    from handrail.runtime.operation import StreamItem
    from handrail.runtime.runtime import Runtime

_T = TypeVar("_T")

TOOL = "handrail"
_OF_UV_RUN = "UV_RUN_RECURSION_DEPTH"
"""The variable that `uv run` sets for the programs that it starts."""
NEVER_FAILS = "hook"
"""The hook: its host stops on a refusal, so the command itself reports what is wrong with its line."""


def _no_notices(_: str) -> Sequence[Notice]:
    return ()


class CommandParts(msgspec.Struct, frozen=True, kw_only=True):
    """Parts from outside this package; `main` imports each one when it is called."""

    runtime: Callable[[], Runtime]
    serve: Callable[[Parsed], int]
    demo: Callable[[Parsed], Outcome | int]
    """Returns a document, or the exit status if it wrote its answer itself."""
    load_the_rest: Callable[[], None]
    """Loads what an answer may still need, before the files of this program are replaced."""
    take_trees: Callable[[Process], None]
    """Takes the file snapshots of the nodes that the call made, after its answer is written."""
    notices: Callable[[str], Sequence[Notice]]
    """Returns the stored notices that answers of this operation include."""


class _Caller:
    """What is known so far about the call and the format of its answer."""

    def __init__(self, usual: Envelope = "cli") -> None:
        self.usual = usual
        """The envelope of the script that was called, unless the line asks for another."""
        self.started_ns = time.monotonic_ns()
        self.call = Call(operation="cli.usage", request_id=request_id(), at=timestamp())
        self.output = Output(envelope=usual)
        self.columns: tuple[str, ...] = ()
        self.raw = ""
        self.commits = Commits()
        self.has_handed_over = False
        """Whether stdout belongs to a server, so that only its refusal to start is a document there."""
        self.notices: Callable[[str], Sequence[Notice]] = _no_notices
        self.passed_over: tuple[Notice, ...] = ()
        """Environment variables that are wrong and were ignored."""


def run(
    process: Process,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    parts: CommandParts,
    envelope: Envelope = "cli",
) -> int:
    """Answer one command line and return the exit status; never raise, never print a traceback.

    `envelope` is the script's default, unless the line, the environment or the settings choose
    another.
    """
    caller = _Caller(envelope)
    process.farewell = lambda: _answer_second_signal(caller)
    process.commits = caller.commits
    try:
        answer = _run_guarded(caller, parts, lambda: _answer(process, caller, arguments, environment, parts))
        _try(
            process.settle
        )  # an answer that is built is printed, and delivering it fails or succeeds by itself
    except Interrupted as stop:
        failure = describe_stop(stop, caller.commits)
        answer = _run_guarded(caller, parts, lambda: _render(caller, failure))
    except KeyboardInterrupt:  # from a server, which stops in its own way
        answer = E_INTERRUPTED.exit_status
    status = answer if isinstance(answer, int) else _deliver(process, caller, answer)
    if process.trees_due:
        _try(lambda: parts.take_trees(process))  # the call has succeeded: nothing here changes that
    return status


def _answer(
    process: Process,
    caller: _Caller,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    parts: CommandParts,
) -> Rendered | int:
    """Return what to write, or the exit status of a server or demo that wrote itself. Any error is raised."""
    # `caller.output` is set as soon as the line is read, and again with the settings, so an error in
    # between is reported in the format that the line asks for. Questions about the tool, and the hook that
    # never fails its host, come before the line is checked, because they have to work when all else is
    # wrong.
    process.open_to_signals()
    parsed = parse(arguments)
    environment = _drop_wrong_variables(caller, parsed, environment)
    output, troubles = output_of(parsed, environment, usual=caller.usual)
    program = _name_program(environment)
    output = msgspec.structs.replace(output, program=program)
    caller.output = _set_page(output, arguments, environment, is_help="help" in parsed.options)
    _name_call(caller, parsed)
    if rendered := _answer_about_tool(caller, parsed, parts):
        return rendered
    if parsed.command is not None and parsed.command["path"] == NEVER_FAILS:
        process.hand_back()
        return parts.serve(parsed)
    ask = _check_line(parsed, arguments, caller.output, troubles, parts.runtime)
    if parsed.command is None:
        return _greet(caller, parsed, parts)
    effect = parsed.command["effect"]
    if not parsed.command["operation"]:
        process.hand_back()
        caller.has_handed_over = True
        done = parts.serve(parsed) if effect == "server" else parts.demo(parsed)
        return done if isinstance(done, int) else _render(caller, done)
    if process.stdout_was_closed and effect != "read":  # the caller could not read the tokens that it makes
        return _refuse_closed_stdout()
    from handrail.surfaces.cli.call import answer_command, output_settings, stream, write_raw_field

    # Only now, because a rejected line does not say which project's settings apply.
    output, _ = output_of(parsed, environment, output_settings(parts.runtime(), parsed), caller.usual)
    caller.output = _set_page(msgspec.structs.replace(output, program=program), arguments, environment)
    seconds = timeout_of(parsed, environment)
    if seconds:
        process.start_deadline(seconds)
    if ask.budget is None:  # notices must not use up a budget
        caller.notices = parts.notices
    else:
        caller.output = msgspec.structs.replace(caller.output, shows_next=False)
        caller.passed_over = ()
    if effect != "read":
        prepare(caller.output)
    if "stream" in parsed.options:
        goes_on = (lambda last: go_on_from(arguments, last)) if is_followed(parsed) else None
        return _deliver_stream(process, caller, stream(parts.runtime, process, parsed, ask), goes_on)
    if caller.output.format == "raw" and parsed.command["out"]:
        return _end_raw(process, caller, write_raw_field(parts.runtime, process, parsed))
    if effect == "update":
        parts.load_the_rest()
    outcome = answer_command(parts.runtime, process, parsed, ask, lambda success: _size(caller, success))
    rendered = render_bare(outcome, caller.output) if isinstance(outcome, str) else _render(caller, outcome)
    status = process.passed_status
    return rendered if status is None else msgspec.structs.replace(rendered, status=status)


def _run_guarded(caller: _Caller, parts: CommandParts, work: Callable[[], Rendered | int]) -> Rendered | int:
    """Return the answer of the work, or of its failure, or the fallback if that cannot be rendered.

    A call that has changed something has succeeded: no later error is reported as a failure.
    """
    done = _try(work)
    if not isinstance(done, Exception):
        return done
    failure = (
        failure_of(done)
        if isinstance(done, Fault)
        else failure_of_defect(done, _record_incident(parts, done))
    )
    if caller.has_handed_over and not isinstance(done, Fault):
        caller.output = Output(format="raw")
    caller.notices = _no_notices
    outcome: Outcome = make_stand_in(caller.commits) if caller.commits.is_made else failure
    rendered = _try(lambda: _render(caller, outcome))
    return _build_fallback(caller) if isinstance(rendered, Exception) else rendered


def _deliver(process: Process, caller: _Caller, answer: Rendered) -> int:
    undelivered = E_IO.exit_status
    if caller.commits.is_made:
        undelivered = 0
        process.untold = lambda: _describe_change(caller)

    def deliver(rendered: Rendered) -> int:
        return process.deliver(rendered.out, rendered.err, rendered.status, undelivered=undelivered)

    done = _try(lambda: deliver(answer))
    if isinstance(done, Exception):  # redacting failed; the fallback holds no secret
        process.redact = bytes
        return deliver(_build_fallback(caller))
    return done


def _describe_change(caller: _Caller) -> bytes:
    """Return the line for stderr if stdout does not accept the answer."""
    following = caller.commits.reads_back
    line = None if following is None else command_line(following, caller.output.program)
    read = f" Read what is there with: {line}" if line else ""
    return f"handrail: the change is made and stored.{read}\n".encode()


def _try(work: Callable[[], _T]) -> _T | Exception:
    try:
        return work()
    except Exception as trouble:  # noqa: BLE001 - the surface's one catch-all: an agent never sees a traceback
        return trouble


def _record_incident(parts: CommandParts, defect: Exception) -> str:
    """Return the id of the stored traceback; storing may fail for the same reason: no memory, no
    descriptor.
    """
    from traceback import format_exception

    incident = _try(lambda: parts.runtime().incidents.record("".join(format_exception(defect))))
    return incident if isinstance(incident, str) else ""


def _add_read_command(caller: _Caller, outcome: Outcome) -> Outcome:
    """Return the answer with the command that reads the reply, if it lacks the reply."""
    following = caller.commits.reads_back
    if following is None or isinstance(outcome, Failure) or not is_stand_in(outcome):
        return outcome
    line = command_line(following, caller.output.program)
    return outcome if line is None else spell_reading_call(outcome, line)


def _build_fallback(caller: _Caller) -> Rendered:
    """Return a document made of constants, if nothing else can be built."""
    if caller.commits.is_made:
        data = b'"data":{"committed":true,"message":"' + DONE.encode() + b'"}'
        return Rendered(out=b'{"ok":true,"schema_version":"1.0",' + data + b',"meta":{"duration_ms":0}}\n')
    line = b"handrail: the answer could not be built; nothing was changed.\n"
    return Rendered(err=line, status=INTERNAL_ERROR.exit_status)


def _set_page(
    output: Output, arguments: Sequence[str], environment: Mapping[str, str], *, is_help: bool = False
) -> Output:
    """Set the width and the typed words, which only text needs."""
    if output.format != "text" and not is_help:
        return output
    output = msgspec.structs.replace(output, now=timestamp())
    return fit_to_page(output, arguments, environment.get("COLUMNS", ""), terminal_width)


def _name_program(environment: Mapping[str, str]) -> str:
    """Return how the program is started here: by its name if the shell finds it, otherwise as it
    was started.
    """
    started = sys.argv[0]
    if os.path.basename(started) != PROGRAM:  # a script beside it, a test or a program that calls it
        return PROGRAM
    place = os.path.dirname(os.path.abspath(started))
    if environment.get(_OF_UV_RUN) and place == os.path.join(environment.get("VIRTUAL_ENV", "."), "bin"):
        return f"uv run {PROGRAM}"
    found = environment.get("PATH", os.defpath).split(os.pathsep)
    is_found = any(os.access(os.path.join(one, PROGRAM), os.X_OK) for one in found if one)
    return PROGRAM if is_found else quote_for_shell(os.path.join(place, PROGRAM))


def _deliver_stream(
    process: Process,
    caller: _Caller,
    lines: Iterator[StreamItem | Outcome],
    goes_on: Callable[[Json], NextCall] | None,
) -> Rendered | int:
    """Write line by line. Return the summary line, or an ordinary failure if no line was written.

    If a stream that broke off can be resumed, it ends with the call for what comes after its last
    line.
    """
    count = 0
    last: Json = None
    outcome: Outcome | None = None
    try:
        for line in lines:
            if isinstance(line, Success | Failure):
                outcome = line
                break
            with process.shielded():  # a written line is counted, even if a signal arrives
                trouble = process.deliver_line(encode_line(stream_line(line.data)))
                count += trouble is None
                last = line.data
            if trouble is not None:
                return process.end_stream(trouble, E_IO.exit_status)
    except Interrupted as stop:
        outcome = describe_stop(stop, caller.commits)
    assert outcome is not None, "a stream ends with its outcome"
    if isinstance(outcome, Failure) and goes_on is not None and outcome.next_call is None:
        outcome = msgspec.structs.replace(outcome, next_call=goes_on(last))
    if isinstance(outcome, Failure) and count == 0:
        return _render(caller, outcome)
    return summary_line(outcome, _finish_call(caller), caller.output, count)


def _end_raw(process: Process, caller: _Caller, ended: Outcome | OSError) -> Rendered | int:
    """Return what is left to write after the raw bytes."""
    if isinstance(ended, OSError):
        return process.end_stream(ended, E_IO.exit_status)
    return _render(caller, ended) if isinstance(ended, Failure) else Rendered()


def _drop_wrong_variables(
    caller: _Caller, parsed: Parsed, environment: Mapping[str, str]
) -> Mapping[str, str]:
    """Drop wrong variables: commands that describe the program work in any environment and only
    report them.
    """
    if parsed.command is None or not parsed.command["operation"].startswith(SELF_DESCRIPTION):
        return environment
    wrong = find_wrong_variables(environment)
    caller.passed_over = tuple(
        Notice(type="wrong_variable", message=f"{fault.message} {fault.hint}", severity="warning")
        for fault in wrong.values()
    )
    return {name: value for name, value in environment.items() if name not in wrong}


def _name_call(caller: _Caller, parsed: Parsed) -> None:
    """Name the call by its operation, and record the columns of its answer."""
    if parsed.command is None:
        return
    caller.columns, caller.raw = tuple(parsed.command["columns"]), parsed.command["raw"]
    name = parsed.command["operation"] or f"cli.{parsed.command['path']}"
    caller.call = msgspec.structs.replace(caller.call, operation=name)


def _answer_about_tool(caller: _Caller, parsed: Parsed, parts: CommandParts) -> Rendered | None:
    """Return `--version` or `--help` as text, or as a document if a flag asks for JSON."""
    if "version" in parsed.options:
        if not caller.output.is_json_asked:
            return render_plain(f"{TOOL} {__version__}\n")
        data: dict[str, Json] = {"tool": TOOL, "version": __version__, "schema_version": SCHEMA_VERSION}
        caller.call = msgspec.structs.replace(caller.call, operation="cli.version")
        return _render(caller, Success(data=data))
    if "help" in parsed.options and not any(problem.param == "command" for problem in parsed.problems):
        if not caller.output.is_json_asked:
            return render_plain(_help_text(parts, parsed.words, caller.output.width))
        caller.call = msgspec.structs.replace(caller.call, operation=HELP)
        from handrail.surfaces.cli.self_description.reference import help_slice

        path = parsed.words if parsed.command is None else parsed.command["path"]
        return _render(caller, help_slice(parts.runtime(), "" if path == MORE_WORD else path))
    return None


def _help_text(parts: CommandParts, words: str, width: int) -> str:
    """Return the help of a command, a group or the tool; a width of 0 means the default."""
    from handrail.surfaces.cli.self_description.help import front_page, help_text

    return help_text(parts.runtime().registry, words, width) if words else front_page(width)


def _greet(caller: _Caller, parsed: Parsed, parts: CommandParts) -> Rendered:
    """Answer a line without a command: a short document for programs, and a page on stderr for people."""
    page = _help_text(parts, "", caller.output.width)
    if caller.output.format != "json":
        return render_plain(page)
    caller.call = msgspec.structs.replace(caller.call, operation=HELP)
    data: dict[str, Json] = {
        "tool": TOOL,
        "version": __version__,
        "first": "handrail workflow list --compact",
        "lost": "handrail session resume --compact",
        "help": "handrail help",
    }
    rendered = _render(caller, Success(data=data))
    return rendered if "quiet" in parsed.options else msgspec.structs.replace(rendered, err=page.encode())


def _check_line(
    parsed: Parsed,
    typed: Sequence[str],
    output: Output,
    troubles: Sequence[Fault],
    runtime: Callable[[], Runtime],
) -> Ask:
    """Return what to disclose, if nothing is wrong with the command line.

    Raises: Fault for conflicts of format first, then for every problem at once.
    """
    if troubles:
        raise troubles[0]
    problems = [
        *parsed.problems,
        *clash_problems(parsed, output),
    ]
    check_schema_version(parsed, problems)
    ask = ask_of(parsed, problems)
    if problems:
        if parsed.values or isinstance(parsed.options.get("input"), dict):
            from handrail.surfaces.cli.call import input_problems

            problems += input_problems(runtime().registry, parsed)
        from handrail.surfaces.cli.reading.repair import repair_line

        raise refusal(problems, parsed.words, repair_line(typed))
    return ask


def _render(caller: _Caller, outcome: Outcome) -> Rendered:
    outcome = _add_read_command(caller, outcome)
    return render(outcome, _finish_call(caller), caller.output, columns=caller.columns, raw=caller.raw)


def _finish_call(caller: _Caller) -> Call:
    """Return the facts of the call at its end, with the notices, even one that the call itself stored."""
    duration_ms = (time.monotonic_ns() - caller.started_ns) // 1_000_000
    notices = _try(lambda: tuple(caller.notices(caller.call.operation)))
    if isinstance(notices, Exception):  # a failing notice must not lose the answer
        notices = ()
    return msgspec.structs.replace(
        caller.call, duration_ms=duration_ms, notices=(*caller.passed_over, *notices)
    )


def _size(caller: _Caller, success: Success) -> int:
    return measure_widest(success, caller.call, caller.output, caller.columns)


def _answer_second_signal(caller: _Caller) -> tuple[bytes, bytes, int]:
    """Return the answer to a second signal, which may arrive in the middle of a commit."""
    caller.notices = _no_notices
    if caller.commits.is_made:
        done = _render(caller, make_stand_in(caller.commits))
        return done.out, done.err, done.status
    failure = Failure(
        kind=E_INTERRUPTED,
        message="A second signal ended the call at once; look at the session before repeating it.",
        details={"committed": None},
        hint="Send the same call again: if it was committed, the recorded reply comes back.",
    )
    answer = _render(caller, failure)
    return answer.out, answer.err, answer.status


def _refuse_closed_stdout() -> Rendered:
    """Refuse a change if stdout is closed: its reply has the tokens to continue, and could not be read."""
    line = b"handrail: stdout is closed, so nothing was done; open it and send the call again.\n"
    return Rendered(err=line, status=E_IO.exit_status)
