"""Render an Outcome as bytes for stdout and stderr and an exit status, in the requested format. Pure."""

# ruff: noqa: PLC0415 - text and the LAFS dialect are loaded by the calls that ask for them

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import msgspec

from handrail.contract.catalogue import E_CHECK_FAILED, FIELD_CONFLICT, VERSION_UNSUPPORTED
from handrail.contract.disclosure.fields import Ask, Level, parse_budget, parse_fields
from handrail.contract.envelopes.cli import (
    FORMATS,
    FlagInput,
    Format,
    encode_document,
    encode_line,
    find_wrong_variables,
    payload_of,
    resolve_format,
    stream_summary,
    to_cli,
    to_cont,
)
from handrail.contract.outcome import Call, Failure, Fault, Json, Notice, Outcome, Success
from handrail.surfaces.cli.reading.parse import Parsed, Problem, show_briefly
from handrail.surfaces.cli.reading.spelling import PROGRAM, command_line, is_followed, next_commands

if TYPE_CHECKING:
    from handrail.ports.workspace import Settings
    from handrail.surfaces.cli.reading.command_types import Command
    from handrail.surfaces.cli.rendering.text import Page


# Output: format, dialect and disclosure, from flags, environment and settings

TIMEOUT_SECONDS = 30
LEAST_WIDTH, MOST_WIDTH = 40, 500
"""Least and largest width: narrower lines cannot be read, and wider ones are hard to read."""
SERVED_VERSIONS = ("1", "1.0", "1.0.0")

_VERSION = r"[0-9]{1,9}(\.[0-9]{1,9}){0,2}"
_SWITCH = {"": False, "0": False, "1": True}


Envelope: TypeAlias = Literal["cli", "lafs", "cont"]


class Output(msgspec.Struct, frozen=True, kw_only=True):
    """Facts that the renderer needs."""

    format: Format = "json"
    envelope: Envelope = "cli"
    is_compact: bool = False
    is_quiet: bool = False
    mvi: Level = "standard"
    is_selected: bool = False
    """Whether `--field` or `--fields` chose a part of the payload."""
    is_json_asked: bool = False
    """Whether a flag chose the format; then `--help` and `--version` answer with a document."""
    shows_next: bool = True
    """Whether a document may contain the next command; it must not use up a budget."""
    width: int = 0
    """Width of text; 0 means the default."""
    typed: tuple[str, ...] = ()
    """The words of the command line, for text that shows what to run next."""
    program: str = PROGRAM
    """The program name that is typed here in place of `handrail`."""
    now: str = ""
    """The present time, for text that says how long ago something was."""


def output_of(
    parsed: Parsed,
    environment: Mapping[str, str],
    settings: Settings | None = None,
    usual: Envelope = "cli",
) -> tuple[Output, list[Fault]]:
    """Return the output, and the problems of the request; a refusal is rendered with what was
    understood.

    A flag overrides the environment, which overrides the settings (LAFS 5.2), which override the
    default.
    """
    default_format = settings.output_format if settings is not None else ""
    default_envelope = settings.output_envelope if settings is not None else ""
    troubles: list[Fault] = []
    chosen: Format = "json"
    try:
        chosen = resolve_format(_flag_input(parsed.formats, environment, default_format)).format
    except Fault as fault:
        troubles.append(fault)
    envelope = (
        parsed.options.get("envelope") or environment.get("HANDRAIL_ENVELOPE") or default_envelope or usual
    )
    wrong = find_wrong_variables(environment)
    if "envelope" not in parsed.options and "HANDRAIL_ENVELOPE" in wrong:
        troubles.append(wrong["HANDRAIL_ENVELOPE"])
        envelope = "cli"
    chosen, envelope = _apply_flags(parsed, chosen, str(envelope))
    compact = environment.get("HANDRAIL_COMPACT", "")
    if compact not in _SWITCH and "compact" not in parsed.options:
        troubles.append(wrong["HANDRAIL_COMPACT"])
    output = Output(
        format=chosen,
        envelope=cast(Envelope, envelope),
        is_compact="compact" in parsed.options or _compact(compact, settings, parsed),
        is_quiet="quiet" in parsed.options,
        mvi=cast(Level, parsed.options.get("mvi", "standard")),
        is_selected="field" in parsed.options or "fields" in parsed.options,
        is_json_asked=chosen == "json" and bool(parsed.formats),
    )
    return output, troubles


def _apply_flags(parsed: Parsed, chosen: Format, envelope: str) -> tuple[Format, str]:
    """Let a flag of this call override a variable or a setting that asks for something else."""
    options = parsed.options
    is_stream = "stream" in options
    if not parsed.formats:
        chosen = "json" if is_stream or (chosen == "raw" and not _takes_raw(parsed)) else chosen
    if "envelope" not in options and (is_stream or chosen == "raw"):
        envelope = "cli"
    return chosen, envelope


def _takes_raw(parsed: Parsed) -> bool:
    """Whether this call can be answered raw, so that a default of raw applies to it."""
    clashing = {"fields", "field", "budget", "out", "envelope"} & set(parsed.options)
    return parsed.command is None or (not clashing and not _explain_not_raw(parsed, parsed.command))


def fit_to_page(
    output: Output, typed: Sequence[str], columns: str, terminal_width: Callable[[], int]
) -> Output:
    """Return the output with what text needs: the typed words, and the width from COLUMNS or the terminal."""
    asked = int(columns) if re.fullmatch("[0-9]{1,4}", columns) else terminal_width()
    width = min(max(asked, LEAST_WIDTH), MOST_WIDTH) if asked else 0
    return msgspec.structs.replace(output, width=width, typed=tuple(typed))


def ask_of(parsed: Parsed, problems: list[Problem]) -> Ask:
    """Return what to disclose; texts that cannot be read are added to the problems.

    Raises: Fault FIELD_CONFLICT.
    """
    fields, field = parsed.options.get("fields"), parsed.options.get("field")
    if fields is not None and field is not None:
        raise Fault(
            FIELD_CONFLICT,
            "--field and --fields exclude each other.",
            details={"field": field, "fields": fields},
        )
    ask = Ask(
        mvi=cast(Level, parsed.options.get("mvi", "standard")), field=None if field is None else str(field)
    )
    is_left_open = not {"fields", "field", "mvi", "expand"} & set(parsed.options)
    if parsed.command is not None and is_left_open and not _is_part_of_reference(parsed):
        ask = msgspec.structs.replace(ask, fields=parsed.command["shown"] or None)
    readers: tuple[tuple[str, Callable[[str], object]], ...] = (
        ("fields", parse_fields),
        ("expand", lambda text: parse_fields(text, "--expand")),
        ("budget", parse_budget),
    )
    for flag, read in readers:
        text = parsed.options.get(flag)
        try:
            if text is not None:
                ask = msgspec.structs.replace(ask, **{flag: read(str(text))})
        except Fault as fault:
            problems.append(Problem(param=f"--{flag}", problem=f"is refused: {fault.message}"))
    if field == "":
        problems.append(Problem(param="--field", problem="names no field"))
    return ask


def _is_part_of_reference(parsed: Parsed) -> bool:
    """Whether one command, domain or type is asked for; otherwise the reference is an index."""
    return (
        parsed.command is not None and parsed.command["operation"] == "self.reference" and bool(parsed.values)
    )


_CODE_TOOLS = ("code.scan", "code.edit", "code.workflow")


def _is_code_tool(parsed: Parsed) -> bool:
    return parsed.command is not None and parsed.command["operation"] in _CODE_TOOLS


def clash_problems(parsed: Parsed, output: Output) -> list[Problem]:
    """Return combinations that exclude each other: each kind of answer has its own form, and few commands
    have all.

    Only the code tools answer with the bare document of CONT. Raw bytes have no envelope and no fields;
    with `--out`, a file gets the whole content, and the answer is a document about it; a stream is JSON
    lines in one dialect, so there is no document to cut or to select from.
    """
    problems = []
    if output.envelope == "cont" and "envelope" in parsed.options and parsed.command is not None:
        offered = Problem(param="--envelope", problem="cont is offered by the code tools only")
        problems += [] if _is_code_tool(parsed) else [offered]
    if output.format == "raw" and parsed.command is not None:
        why = _explain_not_raw(parsed, parsed.command)
        problems += [Problem(param="--format", problem=why)] if why else []
        problems += _clashes(parsed, output, ("fields", "field", "budget"), "raw output")
    if "out" in parsed.options:
        clashing: list[str] = [flag for flag in ("fields", "field", "budget") if flag in parsed.options]
        clashing += ["format raw"] if output.format == "raw" else []
        problems += [Problem(param=f"--{flag}", problem="does not go with --out") for flag in clashing]
    if "stream" in parsed.options:
        if output.format != "json":
            problems.append(Problem(param="--format", problem=f"{output.format} does not go with a stream"))
        problems += _clashes(parsed, output, ("field", "budget"), "a stream")
    return problems


def _clashes(parsed: Parsed, output: Output, flags: Sequence[str], what: str) -> list[Problem]:
    """Return flags of this line that need a document if there is none; only our own dialect has
    another form.
    """
    given = [flag for flag in flags if flag in parsed.options]
    problems = [Problem(param=f"--{flag}", problem=f"does not go with {what}") for flag in given]
    lafs = Problem(param="--envelope", problem=f"lafs does not go with {what}")
    return [lafs, *problems] if output.envelope == "lafs" else problems


def _explain_not_raw(parsed: Parsed, command: Command) -> str:
    """Return why the command has no raw bytes here; empty if it has."""
    name, value = command["raw_when"]
    given = {param["name"]: value for param, value in parsed.values}
    if not command["raw"]:
        return f"raw is not offered by `{command['path']}`"
    if name and (name not in given or given[name] != (value or given[name])):
        return "raw is offered with " + f"--{name} {value}".rstrip() + " only"
    if "out" in given:  # a file gets the text, and the answer is a document about it
        return "raw does not go with --out"
    return ""


def check_schema_version(parsed: Parsed, problems: list[Problem]) -> None:
    """Raise Fault VERSION_UNSUPPORTED for a major version that is not served."""
    asked = parsed.options.get("schema-version")
    if asked is None:
        return
    text = str(asked)
    if re.fullmatch(_VERSION, text) is None:
        problems.append(
            Problem(
                param="--schema-version", problem="is not a version", got=show_briefly(text), expected="1"
            )
        )
    elif text.split(".")[0].lstrip("0") != "1":
        raise Fault(
            VERSION_UNSUPPORTED,
            f"Schema version {text} is not served.",
            details={"requested": text, "supported": list(SERVED_VERSIONS)},
        )


def timeout_of(parsed: Parsed, environment: Mapping[str, str]) -> int:
    """Return the time limit of the call; 0 for none if it waits for future events.

    Raises: Fault E_CONFIG for a bad environment variable.
    """
    asked = parsed.options.get("timeout")
    if isinstance(asked, int):
        return asked
    text = environment.get("HANDRAIL_TIMEOUT", "")
    if not text:
        if is_followed(parsed):
            return 0
        usual = parsed.command["seconds"] if parsed.command is not None else 0
        return usual or TIMEOUT_SECONDS
    wrong = find_wrong_variables(environment)
    if "HANDRAIL_TIMEOUT" in wrong:
        raise wrong["HANDRAIL_TIMEOUT"]
    return int(text)


def _compact(variable: str, settings: Settings | None, parsed: Parsed) -> bool:
    """Whether the output is compact. The environment overrides the settings; `0` switches it off."""
    if variable:
        return _SWITCH.get(variable, False)
    return (settings is not None and settings.is_compact) or _is_about_one_command(parsed)


def _is_about_one_command(parsed: Parsed) -> bool:
    """Whether the reference is about one command; agents read it before their first call, so it is
    compact.
    """
    if parsed.command is None:
        return False
    is_slice = any(param["name"] == "command" for param, _ in parsed.values)
    return "help" in parsed.options or (parsed.command["path"] == "reference" and is_slice)


def _flag_input(formats: Sequence[str], environment: Mapping[str, str], default: str) -> FlagInput:
    """Return the format input. Flags may repeat; only the set of formats counts. The parser reports unknown
    ones.
    """
    asked = {FORMATS[name] for name in formats if name in FORMATS}
    return FlagInput(
        human_flag="text" in asked,
        json_flag="json" in asked,
        requested_format="raw" if "raw" in asked else None,
        environment=environment.get("HANDRAIL_FORMAT"),
        user_default=default or None,
    )


# Rendering

WIDEST_MS = 3_600_999
"""Digits of the longest duration: a call ends shortly after its deadline, which is at most an hour."""


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """The output of the process, and its exit status."""

    out: bytes = b""
    err: bytes = b""
    status: int = 0


def render(
    outcome: Outcome, call: Call, output: Output, *, columns: Sequence[str] = (), raw: str = ""
) -> Rendered:
    """Render the answer in the requested format."""
    if isinstance(outcome, Failure):
        return _failure(outcome, call, output, raw)
    is_about_a_file = output.format == "raw" and raw.partition(".")[0] not in outcome.data
    match "json" if is_about_a_file else output.format:
        case "json":
            document = _document(outcome, call, output, is_compact=output.is_compact)
            return Rendered(out=document, err=_bytes(_alarms(output, outcome.notices)))
        case "text":
            from handrail.surfaces.cli.rendering.human import human_text

            page = _page(output, columns)
            text = human_text(payload_of(outcome), page, call.operation, is_selected=output.is_selected)
            return Rendered(out=_bytes(text), err=_bytes(_notes(output, (*outcome.notices, *call.notices))))
        case "raw":
            return Rendered(out=raw_bytes(_at(outcome.data, raw.split("."))))


def prepare(output: Output) -> None:
    """Load what this answer needs before a change, because afterwards there may be no descriptor left."""
    if output.envelope == "lafs":
        import handrail.contract.envelopes.lafs
    if output.format == "text":
        import handrail.surfaces.cli.rendering.gate
        import handrail.surfaces.cli.rendering.human
        import handrail.surfaces.cli.rendering.text  # noqa: F401 - loaded for later


def summary_line(outcome: Outcome, call: Call, output: Output, count: int) -> Rendered:
    """Return the last line of a stream, and the exit status that its error decides."""
    spell = partial(command_line, program=output.program)
    document = stream_summary(_as_started(outcome, output), call, count=count, command_line=spell)
    status = outcome.kind.exit_status if isinstance(outcome, Failure) else 0
    return Rendered(out=encode_line(document), status=status)


def render_bare(text: str, output: Output) -> Rendered:
    """Return the value of `--field`, without an envelope."""
    return Rendered(out=_bytes(text + "\n"), err=_bytes(_notes(output, ())))


def render_plain(text: str) -> Rendered:
    """Return help or version as text, whatever the output format."""
    return Rendered(out=_bytes(text))


def measure_widest(success: Success, call: Call, output: Output, columns: Sequence[str]) -> int:
    """Return the size of the answer with the longest duration, so that a budget always holds."""
    widest = msgspec.structs.replace(call, duration_ms=WIDEST_MS)
    return len(render(success, widest, output, columns=columns).out)


def _failure(failure: Failure, call: Call, output: Output, raw: str) -> Rendered:
    status = failure.kind.exit_status
    proven = failure.details["proof"] if failure.kind is E_CHECK_FAILED else {}
    match output.format:
        case "json":
            return Rendered(out=_document(failure, call, output, is_compact=output.is_compact), status=status)
        case "text":
            text = _prose(failure, call, output) + _notes(output, call.notices)
            return Rendered(out=_show_proof(proven, call, output), err=_bytes(text), status=status)
        case "raw":
            shown = msgspec.structs.replace(failure, details={}) if proven.get(raw) else failure
            document = _document(shown, call, output, is_compact=True)
            return Rendered(out=raw_bytes(proven.get(raw, "")), err=document, status=status)


def _show_proof(proven: dict[str, Json], call: Call, output: Output) -> bytes:
    """Return the evidence of a failed check, in the form it would have if the check had passed."""
    if not proven:
        return b""
    from handrail.surfaces.cli.rendering.human import human_text

    return _bytes(human_text(proven, _page(output, ()), call.operation))


def _document(outcome: Outcome, call: Call, output: Output, *, is_compact: bool) -> bytes:
    if isinstance(outcome, Success) and output.shows_next:
        outcome = _with_next_command(outcome, output)
    outcome = _as_started(outcome, output)
    spell = partial(command_line, program=output.program)
    if output.envelope == "lafs":
        from handrail.contract.envelopes.lafs import about_session, to_lafs

        return encode_document(
            to_lafs(outcome, about_session(outcome, call), mvi=output.mvi), compact=is_compact
        )
    spelled = to_cont if output.envelope == "cont" else to_cli
    return encode_document(spelled(outcome, call, command_line=spell), compact=is_compact)


def _as_started(outcome: Outcome, output: Output) -> Outcome:
    """Return a refusal whose advice uses the program name that is typed here."""
    if output.program == PROGRAM or isinstance(outcome, Success):
        return outcome
    hint = (outcome.hint or outcome.kind.hint).replace(f"`{PROGRAM} ", f"`{output.program} ")
    return msgspec.structs.replace(outcome, hint=hint)


def _with_next_command(success: Success, output: Output) -> Success:
    """Return the answer with the next call as a command line, outside the payload, which all
    interfaces share.
    """
    commands = next_commands(success, output.program)
    if not commands:
        return success
    if output.envelope == "lafs":
        lines: list[Json] = [line for _, line in commands]
        added = {"x-next-command": lines if len(lines) > 1 else lines[0]}
        return msgspec.structs.replace(success, extensions=success.extensions | added)
    notices = tuple(
        Notice(type="next_command", message=f"{when}, run the command.", extra={"command": line})
        for when, line in commands
    )
    return msgspec.structs.replace(success, notices=(*success.notices, *notices))


def _prose(failure: Failure, call: Call, output: Output) -> str:
    """Return what went wrong, all problems, and what to do."""
    from handrail.surfaces.cli.rendering.gate import failure_lines
    from handrail.surfaces.cli.rendering.text import join_lines

    shown = _as_started(failure, output)
    assert isinstance(shown, Failure), "it was one"
    return join_lines(failure_lines(shown, call.operation, _page(output, ())))


def _page(output: Output, columns: Sequence[str]) -> Page:
    """Return the page that text is written on."""
    from handrail.surfaces.cli.rendering.text import Page

    page = Page(columns=columns, typed=output.typed, program=output.program, now=output.now)
    return msgspec.structs.replace(page, width=output.width) if output.width else page


def _alarms(output: Output, notices: Sequence[Notice]) -> str:
    """Return warnings that a person must see even if a program reads the document."""
    if output.is_quiet:
        return ""
    return "".join(f"Warning: {one.message}\n" for one in notices if one.type == "confirm_not_recorded")


def _notes(output: Output, notices: Sequence[Notice]) -> str:
    """Return the notices of a document, beside text. LAFS 5.4.1 requires a note about a selection."""
    if output.format != "text" or output.is_quiet:
        return ""
    selected = ["Only the selected fields are shown."] if output.is_selected else []
    return "".join(f"Note: {note}\n" for note in (*selected, *(notice.message for notice in notices)))


def _at(value: Json, path: Sequence[str]) -> Json:
    for name in path:
        value = value[name]
    return value


def raw_bytes(value: Json) -> bytes:
    """Return text as it is; anything else as a JSON document of its own."""
    return _bytes(value) if isinstance(value, str) else encode_document(value, compact=False)


def _bytes(text: str) -> bytes:
    """Return UTF-8, with U+FFFD for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
