"""Outcome → the bytes for stdout and stderr and the exit status, in the format that was asked for. Pure."""

# ruff: noqa: PLC0415 - text and the LAFS dialect are loaded by the calls that ask for them

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from handrail.contract.cli_envelope import encode_document, encode_line, payload_of, stream_summary, to_cli
from handrail.contract.outcome import Call, Failure, Json, Notice, Outcome, Success
from handrail.surfaces.cli.output import Output
from handrail.surfaces.cli.spelling import command_line, next_commands

if TYPE_CHECKING:  # text is loaded by the calls that ask for it
    from handrail.surfaces.cli.text import Page

WIDEST_MS = 3_600_999
"""A call ends within its deadline of at most an hour, and a little after it."""
_CURSOR_FACTS_BYTES = 240
"""What a cursor holds beside its sort key, generously: operation, scope digest, expiry, signature."""


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """What the process writes, and how it ends."""

    out: bytes = b""
    err: bytes = b""
    status: int = 0


def render(
    outcome: Outcome, call: Call, output: Output, *, columns: Sequence[str] = (), raw: str = ""
) -> Rendered:
    """The answer as the caller asked for it."""
    if isinstance(outcome, Failure):
        return _failure(outcome, call, output)
    match output.format:
        case "json":
            document = _document(outcome, call, output, is_compact=output.is_compact)
            return Rendered(out=document, err=_bytes(_alarms(output, outcome.notices)))
        case "text":
            from handrail.surfaces.cli.human import human_text

            page = _page(output, columns)
            text = human_text(payload_of(outcome), page, call.operation, is_selected=output.is_selected)
            return Rendered(out=_bytes(text), err=_bytes(_notes(output, (*outcome.notices, *call.notices))))
        case "raw":
            return Rendered(out=raw_bytes(_at(outcome.data, raw.split("."))))


def prepare(output: Output) -> None:
    """Load what this answer will need before a change: after it there may be no descriptor left."""
    if output.envelope == "lafs":
        import handrail.contract.lafs_envelope
    if output.format == "text":
        import handrail.surfaces.cli.human
        import handrail.surfaces.cli.looks.failures
        import handrail.surfaces.cli.text  # noqa: F401 - loaded for later


def summary_line(outcome: Outcome, call: Call, count: int) -> Rendered:
    """The last line of a stream, and the exit status that its error decides."""
    document = stream_summary(outcome, call, count=count, command_line=command_line)
    status = outcome.kind.exit_status if isinstance(outcome, Failure) else 0
    return Rendered(out=encode_line(document), status=status)


def bare(text: str, output: Output) -> Rendered:
    """The value of `--field`, without an envelope."""
    return Rendered(out=_bytes(text + "\n"), err=_bytes(_notes(output, ())))


def plain(text: str) -> Rendered:
    """Help and version: text, whatever the format of answers is."""
    return Rendered(out=_bytes(text))


def widest_size(success: Success, call: Call, output: Output, columns: Sequence[str]) -> int:
    """Bytes of the whole answer with every variable part at its widest, so that a budget always holds."""
    page = success.page
    if page is not None and page.has_more and page.next_cursor is None:
        longest = max((len(msgspec.json.encode(key)) for key in page.sort_keys), default=0)
        cursor = "c" * (4 * (longest + len(call.operation) + _CURSOR_FACTS_BYTES) // 3)
        success = msgspec.structs.replace(success, page=msgspec.structs.replace(page, next_cursor=cursor))
    return len(
        render(success, msgspec.structs.replace(call, duration_ms=WIDEST_MS), output, columns=columns).out
    )


def _failure(failure: Failure, call: Call, output: Output) -> Rendered:
    status = failure.kind.exit_status
    match output.format:
        case "json":
            return Rendered(out=_document(failure, call, output, is_compact=output.is_compact), status=status)
        case "text":
            told = _prose(failure, call, output) + _notes(output, call.notices)
            return Rendered(err=_bytes(told), status=status)
        case "raw":
            return Rendered(err=_document(failure, call, output, is_compact=True), status=status)


def _document(outcome: Outcome, call: Call, output: Output, *, is_compact: bool) -> bytes:
    if isinstance(outcome, Success) and output.tells_next:
        outcome = _with_next_command(outcome, output.envelope)
    if output.envelope == "lafs":
        from handrail.contract.lafs_envelope import to_lafs

        return encode_document(to_lafs(outcome, call, mvi=output.mvi), compact=is_compact)
    return encode_document(to_cli(outcome, call, command_line=command_line), compact=is_compact)


def _with_next_command(success: Success, envelope: str) -> Success:
    """Beside the payload, which is the same on every surface: its next call as a line to run."""
    commands = next_commands(success)
    if not commands:
        return success
    if envelope == "lafs":
        lines: list[Json] = [line for _, line in commands]
        told = {"x-next-command": lines if len(lines) > 1 else lines[0]}
        return msgspec.structs.replace(success, extensions=success.extensions | told)
    notices = tuple(
        Notice(type="next_command", message=f"{when}, run the command.", extra={"command": line})
        for when, line in commands
    )
    return msgspec.structs.replace(success, notices=(*success.notices, *notices))


def _prose(failure: Failure, call: Call, output: Output) -> str:
    """What went wrong, everything that is wrong, and what to do."""
    from handrail.surfaces.cli.looks.failures import failure_lines
    from handrail.surfaces.cli.text import joined

    return joined(failure_lines(failure, call.operation, _page(output, ())))


def _page(output: Output, columns: Sequence[str]) -> Page:
    """What the text is written on."""
    from handrail.surfaces.cli.text import Page

    page = Page(columns=columns, typed=output.typed)
    return msgspec.structs.replace(page, width=output.width) if output.width else page


def _alarms(output: Output, notices: Sequence[Notice]) -> str:
    """What a person at the terminal must see even when a program reads the document."""
    if output.is_quiet:
        return ""
    return "".join(f"Warning: {one.message}\n" for one in notices if one.type == "confirm_not_recorded")


def _notes(output: Output, notices: Sequence[Notice]) -> str:
    """Beside text, what a document would carry inside. LAFS 5.4.1 wants a word about a selection."""
    if output.format != "text" or output.is_quiet:
        return ""
    selected = ["Only the selected fields are shown."] if output.is_selected else []
    return "".join(f"Note: {note}\n" for note in (*selected, *(notice.message for notice in notices)))


def _at(value: Json, path: Sequence[str]) -> Json:
    for name in path:
        value = value[name]
    return value


def raw_bytes(value: Json) -> bytes:
    """Text as it is; anything else as a JSON document of its own."""
    return _bytes(value) if isinstance(value, str) else encode_document(value, compact=False)


def _bytes(text: str) -> bytes:
    """UTF-8, with U+FFFD where half of a surrogate pair stands alone."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
