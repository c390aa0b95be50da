"""What a command line means for its operation: files and stdin read, flags and `--input` merged."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from handrail.contract.catalogue import E_FORBIDDEN, E_IO, E_NOT_FOUND, E_VALIDATION, REQUEST_TOO_LARGE
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quoted
from handrail.surfaces.cli.parse import Parsed
from handrail.surfaces.cli.process import STDIN, Process, is_terminal
from handrail.surfaces.cli.refusal import refusal
from handrail.surfaces.cli.values import INPUT_LIMIT_BYTES, Problem, Reference, Value, label_of, object_of

if TYPE_CHECKING:  # only annotations name it, and typed dicts cost at start-up
    from handrail.surfaces.cli.rows import Param

DOCUMENT_LIMIT_BYTES = 16 * 1024 * 1024

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})
_DENIED = frozenset({errno.EACCES, errno.EPERM})
_UNSUITABLE = frozenset({errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO})


def params_of(parsed: Parsed, process: Process) -> dict[str, Json]:
    """The operation's input, by wire names.

    Raises Fault E_USAGE, E_VALIDATION, E_NOT_FOUND, E_FORBIDDEN, E_IO or REQUEST_TOO_LARGE.
    """
    assert parsed.command is not None, "params are made for a command"
    _check_stdin(parsed)
    whole = parsed.options.get("input")
    if isinstance(whole, Reference):
        whole = object_of(_content(whole, "--input", INPUT_LIMIT_BYTES, process), "--input")
    params: dict[str, Json] = dict(whole) if isinstance(whole, dict) else {}
    conflicts: list[Problem] = []
    for param, value in parsed.values:
        resolved = _resolved(param, value, process)
        if not _placed(params, param["name"].split("."), resolved):
            conflicts.append(_given_twice(label_of(param), param["name"]))
    project = parsed.options.get("project")
    if parsed.command["takes_project"] and project is not None and not _placed(params, ["project"], project):
        conflicts.append(_given_twice("--project", "project"))
    if conflicts:
        raise refusal(conflicts, parsed.words)
    return params


def _check_stdin(parsed: Parsed) -> None:
    """stdin can be read once, and never from a terminal: nobody is asked to type."""
    named = [label for label, reference in _references(parsed) if reference.path == "-"]
    if len(named) > 1:
        problem = "is the second to read stdin"
        raise refusal([Problem(param=named[1], problem=problem, expected="one `-` in a call")], parsed.words)
    if named and is_terminal(STDIN):
        problem = "reads stdin, which is a terminal"
        raise refusal([Problem(param=named[0], problem=problem, expected="a pipe or a file")], parsed.words)


def _references(parsed: Parsed) -> list[tuple[str, Reference]]:
    given = [(label_of(param), value) for param, value in parsed.values]
    given += [("--" + name, value) for name, value in parsed.options.items()]
    found = []
    for label, value in given:
        several = value if isinstance(value, tuple) else (value,)
        found += [(label, one) for one in several if isinstance(one, Reference)]
    return found


def _resolved(param: Param, value: Value, process: Process) -> Json:
    label = label_of(param)
    if isinstance(value, tuple):
        return [_document(reference, label, process) for reference in value]
    if not isinstance(value, Reference):
        return value
    content = _content(value, label, INPUT_LIMIT_BYTES, process)
    return object_of(content, label) if param["kind"] == "object" else _text(content, label)


def _document(reference: Reference, label: str, process: Process) -> dict[str, Json]:
    content = _content(reference, label, DOCUMENT_LIMIT_BYTES, process)
    return {"source": reference.path, "text": _text(content, label)}


def _placed(params: dict[str, Json], path: list[str], value: Json) -> bool:
    """Put a value at its place; False when another one stands there already."""
    *folders, name = path
    for folder in folders:
        inner = params.get(folder, {})
        if not isinstance(inner, dict):
            return False
        params[folder] = params = dict(inner)
    if name in params and params[name] != value:
        return False
    params[name] = value
    return True


def _given_twice(label: str, name: str) -> Problem:
    return Problem(param=label, problem=f"gives `{name}`, which is given already with another value")


def _text(content: bytes, label: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Fault(
            E_VALIDATION,
            f"{label} is not UTF-8 at byte {error.start}.",
            details={"param": label, "expected": "UTF-8 text"},
        ) from error


def _content(reference: Reference, label: str, limit_bytes: int, process: Process) -> bytes:
    """The bytes of a file or of stdin."""
    if reference.path == "-":
        content = process.read_stdin(limit_bytes)
    else:
        content = _file_content(reference.path, limit_bytes)
    if len(content) > limit_bytes:
        raise Fault(
            REQUEST_TOO_LARGE,
            f"{label} has more than {limit_bytes} bytes.",
            details={"what": label, "limit": limit_bytes},
        )
    return content


def _file_content(path: str, limit_bytes: int) -> bytes:
    try:
        with open(path.encode(), "rb") as file:  # bytes: the locale must not touch the name
            return file.read(limit_bytes + 1)
    except OSError as error:
        raise _file_trouble(error, path) from error


def _file_trouble(error: OSError, path: str) -> Fault:
    name = quoted(path)
    if error.errno in _ABSENT:
        details: dict[str, Json] = {"resource": "file", "id": name}
        return Fault(E_NOT_FOUND, f"The file {name} does not exist.", details=details)
    if error.errno in _DENIED:
        return Fault(
            E_FORBIDDEN, f"The file {name} may not be read.", details={"needed": "read access to the file"}
        )
    if error.errno in _UNSUITABLE:
        return Fault(
            E_VALIDATION, f"{name} is not a file that can be read.", details={"expected": "a regular file"}
        )
    reason = errno.errorcode.get(error.errno or 0, "unknown")
    return Fault(E_IO, f"The file {name} could not be read.", details={"reason": reason})
