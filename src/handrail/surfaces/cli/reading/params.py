"""The input of an operation from a command line: read files and stdin, merge flags and `--input`."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

from handrail.contract.catalogue import E_FORBIDDEN, E_IO, E_NOT_FOUND, E_VALIDATION, REQUEST_TOO_LARGE
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quote, shorten
from handrail.surfaces.cli.process import STDIN, Process, is_terminal
from handrail.surfaces.cli.reading.parse import (
    INPUT_LIMIT_BYTES,
    Parsed,
    Problem,
    Reference,
    Value,
    array_of,
    label_of,
    object_of,
)
from handrail.surfaces.cli.reading.spelling import refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.contract.workflow_files import WorkflowFile
    from handrail.runtime.runtime import Runtime
    from handrail.surfaces.cli.reading.command_types import Command, Param


# Files that a command line names

MOST_FILES = 1_000

_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})
_DENIED = frozenset({errno.EACCES, errno.EPERM})
_UNSUITABLE = frozenset({errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO})


def file_content(path: str, limit_bytes: int) -> bytes:
    """Return the bytes of a file, at most one more than the limit.

    Raises: Fault E_NOT_FOUND, E_FORBIDDEN, E_VALIDATION or E_IO.
    """
    try:
        with open(os.fsencode(path), "rb") as file:  # as bytes, because the locale must not change the name
            return file.read(limit_bytes + 1)
    except OSError as error:
        raise _file_trouble(error, path) from error


def is_workflow_id(word: str) -> bool:
    """Whether a word must be an id: it is not a path, and no file has this name.

    A workflow file that cannot be read is listed under its name, so a file name may be an id too.
    """
    if word == "-" or "/" in word or os.sep in word:
        return False
    return not os.path.lexists(os.fsencode(word))


def workflow_files(rt: Runtime, path: str, project: str) -> Sequence[WorkflowFile]:
    """Return every file below a directory that a library would list, including rejected ones.

    Raises: Fault E_NOT_FOUND for a directory without any, and REQUEST_TOO_LARGE for one with too
    many.
    """
    found = rt.library.named_files(path, project)
    if len(found) > MOST_FILES:
        raise _too_many(path)
    if not found:
        raise Fault(
            E_NOT_FOUND,
            f"The directory {quote(path)} holds no workflow file.",
            details={"resource": "file", "id": shorten(path)},
            hint="Name a directory with workflow files, a file or an id.",
        )
    return found


def _too_many(path: str) -> Fault:
    return Fault(
        REQUEST_TOO_LARGE,
        f"The directory {quote(path)} holds more than {MOST_FILES} workflow files.",
        details={"what": "files", "limit": MOST_FILES},
        hint="Name the directories inside it one by one.",
    )


def _file_trouble(error: OSError, path: str) -> Fault:
    name = quote(path)
    if error.errno in _ABSENT:
        details: dict[str, Json] = {"resource": "file", "id": shorten(path)}
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


# The input of an operation

DOCUMENT_LIMIT_BYTES = 16 * 1024 * 1024
"""Size limit of a document that an operation checks itself; one byte more is passed on, so that it can
report it.
"""
WORKFLOW_LIMIT_BYTES = 1_000_000
"""Size limit of a workflow file; one byte more is passed on, so that the size is reported as its problem."""

_CARRIED = {
    "project": "project",
    "dry-run": "dryRun",
    "confirm": "confirm",
    "dangerous": "dangerous",
    "continue-on-error": "continueOnError",
}
"""Global flags that are part of an operation's input, with their input names."""


def params_of(parsed: Parsed, process: Process, rt: Runtime) -> dict[str, Json]:
    """Return the operation's input, by wire names.

    Raises: Fault E_USAGE, E_VALIDATION, E_NOT_FOUND, E_FORBIDDEN, E_IO or REQUEST_TOO_LARGE.
    """
    assert parsed.command is not None, "params are made for a command"
    _check_stdin(parsed)
    whole = parsed.options.get("input")
    if isinstance(whole, Reference):
        whole = object_of(_content(whole, "--input", INPUT_LIMIT_BYTES, process), "--input")
    params: dict[str, Json] = dict(whole) if isinstance(whole, dict) else {}
    conflicts: list[Problem] = []
    files = _Files(rt, process, str(parsed.options.get("project") or params.get("project", "")))
    for param, value in parsed.values:
        for name, resolved in _resolve(param, value, files):
            if not _place(params, name.split("."), resolved):
                conflicts.append(_report_conflict(label_of(param), name))
    for flag, name in _operation_options(parsed.command):
        option = parsed.options.get(flag)
        if name == "continueOnError" and option is not None:
            option = option == "true"
        if option is not None and not _place(params, [name], option):
            conflicts.append(_report_conflict(f"--{flag}", name))
    if conflicts:
        raise refusal(conflicts, parsed.words)
    return params


def params_in_line(parsed: Parsed) -> dict[str, Json]:
    """Return the part of the input that is in the line itself; no file is opened."""
    whole = parsed.options.get("input")
    params: dict[str, Json] = dict(whole) if isinstance(whole, dict) else {}
    for param, value in parsed.values:
        held = value if isinstance(value, tuple) else (value,)
        if not any(isinstance(one, Reference) for one in held):
            _place(params, param["name"].split("."), list(held) if isinstance(value, tuple) else value)
    return params


def _operation_options(command: Command) -> list[tuple[str, str]]:
    """Return the global flags that this operation takes."""
    return [
        (flag, name)
        for flag, name in _CARRIED.items()
        if (command["takes_project"] if flag == "project" else f"--{flag}" in command["globals"])
    ]


def _check_stdin(parsed: Parsed) -> None:
    """Raise a Fault unless stdin is read once and is no terminal, because no person is asked to type."""
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


class _Files:
    """The files that this line names, read as a library of the project reads its own."""

    def __init__(self, rt: Runtime, process: Process, asked: str) -> None:
        self._rt = rt
        self._asked = asked
        self.process = process

    def below(self, directory: str) -> list[dict[str, Json]]:
        return [_file_document(file) for file in workflow_files(self._rt, directory, self._project())]

    def workflow(self, reference: Reference) -> dict[str, Json]:
        """Return one workflow file. A file that a listing would not read is not read here either."""
        refused = None
        if reference.path != "-":
            refused = self._rt.library.refused_file(reference.path, self._project())
        if refused is not None:
            return _file_document(refused)
        return _read_document(reference, WORKFLOW_LIMIT_BYTES, self.process)

    def _project(self) -> str:
        return self._rt.workspace.project(self._asked)


def _file_document(file: WorkflowFile) -> dict[str, Json]:
    """Return a file in the form that the operation takes; if only its name is wrong, the operation
    reports it.
    """
    document: dict[str, Json] = {
        "source": file.source_ref,
        "text": file.content.decode("utf-8", "surrogateescape"),
        "holds": file.holds,
    }
    is_read = bool(file.content) or not file.trouble
    return document if is_read else document | {"trouble": file.trouble, "remedy": file.remedy}


def _resolve(param: Param, value: Value, files: _Files) -> list[tuple[str, Json]]:
    """Return the fields that a value becomes: one, or two if ids and files may be mixed."""
    label, name, process = label_of(param), param["name"], files.process
    if isinstance(value, tuple):
        references = [one for one in value if isinstance(one, Reference)]
        if param["kind"] == "sources":
            return [(name, _sources(references, files))]
        if param["kind"] == "documents":
            return [(name, [_document(reference, label, process) for reference in references])]
        return [(name, list(value))]
    if not isinstance(value, Reference):
        return [(name, _from_here(str(value)) if param["kind"] == "directory" else value)]
    if param["kind"] == "source":
        return _source(value, files)
    if param["kind"] == "document":
        from handrail.engine.bundles.limits import MOST_BYTES  # noqa: PLC0415 - only an import reads a bundle

        return [(name, _read_document(value, MOST_BYTES, process))]
    content = _content(value, label, INPUT_LIMIT_BYTES, process)
    match param["kind"]:
        case "object":
            return [(name, object_of(content, label))]
        case "array" | "records":
            return [(name, array_of(content, label))]
        case _:
            return [(name, _text(content, label))]


def _from_here(path: str) -> str:
    """Return a path relative to the caller's directory, which the operation does not know."""
    try:
        return path if path.startswith("~") else os.path.join(os.getcwd(), path)
    except OSError as error:
        raise _file_trouble(error, path) from error


def _source(reference: Reference, files: _Files) -> list[tuple[str, Json]]:
    """Return a workflow by its id, or the text of a file."""
    if is_workflow_id(reference.path):
        return [("workflowId", reference.path)]
    return [("document", files.workflow(reference))]


def _sources(references: list[Reference], files: _Files) -> list[Json]:
    """Return workflows by id, files, and every file below a directory, in the given order, each once."""
    documents: dict[str, Json] = {}
    for reference in references:
        path = reference.path
        if is_workflow_id(path):
            documents.setdefault(path, path)
        elif path != "-" and os.path.isdir(os.fsencode(path)):
            for document in files.below(path):
                documents.setdefault(str(document["source"]), document)
        elif path not in documents:
            documents[path] = files.workflow(reference)
    return list(documents.values())


def _read_document(reference: Reference, limit_bytes: int, process: Process) -> dict[str, Json]:
    """Return the file unchecked: a file that is too long or not UTF-8 is a problem of the file, not of the
    call.
    """
    content = _bytes(reference, limit_bytes, process)
    return {"source": reference.path, "text": content.decode("utf-8", "surrogateescape")}


def _document(reference: Reference, label: str, process: Process) -> dict[str, Json]:
    content = _content(reference, label, DOCUMENT_LIMIT_BYTES, process)
    return {"source": reference.path, "text": _text(content, label)}


def _place(params: dict[str, Json], path: list[str], value: Json) -> bool:
    """Set a value in its place; return False if another value is there already."""
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


def _report_conflict(label: str, name: str) -> Problem:
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
    """Return the bytes of a file or of stdin."""
    content = _bytes(reference, limit_bytes, process)
    if len(content) > limit_bytes:
        raise Fault(
            REQUEST_TOO_LARGE,
            f"{label} has more than {limit_bytes} bytes.",
            details={"what": label, "limit": limit_bytes},
        )
    return content


def _bytes(reference: Reference, limit_bytes: int, process: Process) -> bytes:
    """Return at most one byte more than the limit."""
    if reference.path == "-":
        return process.read_stdin(limit_bytes)
    return file_content(reference.path, limit_bytes)
