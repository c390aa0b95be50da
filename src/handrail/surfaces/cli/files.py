"""Files that a command line names: their bytes, those below a directory, and what was wrong with them."""

from __future__ import annotations

import errno
import os

from handrail.contract.catalogue import E_FORBIDDEN, E_IO, E_NOT_FOUND, E_VALIDATION, REQUEST_TOO_LARGE
from handrail.contract.outcome import Fault, Json
from handrail.contract.wording import quoted, shortened
from handrail.workflows.file_kinds import file_kind, is_looked_into

MOST_FILES = 1_000
MOST_FOLDERS = 10_000

_SUFFIX = ".json"
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})
_DENIED = frozenset({errno.EACCES, errno.EPERM})
_UNSUITABLE = frozenset({errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.EINVAL, errno.ENXIO})


def file_content(path: str, limit_bytes: int) -> bytes:
    """The bytes of a file, at most one more than the limit.

    Raises Fault E_NOT_FOUND, E_FORBIDDEN, E_VALIDATION or E_IO.
    """
    try:
        with open(os.fsencode(path), "rb") as file:  # bytes: the locale must not touch the name
            return file.read(limit_bytes + 1)
    except OSError as error:
        raise _file_trouble(error, path) from error


def is_workflow_id(word: str) -> bool:
    """Whether a word can only be an id: nothing on disk has this name, and it does not look like a path.

    A file that cannot be read is listed under its name, so that such a name may be an id, too.
    """
    if word == "-" or "/" in word or os.sep in word:
        return False
    return not os.path.lexists(os.fsencode(word))


def workflow_files(path: str) -> list[str]:
    """The file itself, or every file below a directory that a library would list, sorted.

    Links to directories are not followed.

    Raises Fault E_NOT_FOUND for a directory without any, REQUEST_TOO_LARGE for one with too many, and
    E_FORBIDDEN or E_IO.
    """
    if path == "-" or not os.path.isdir(os.fsencode(path)):
        return [path]
    found: list[str] = []
    folders = [path]
    for folder in folders:  # grows while it is walked
        for name, is_folder in _entries(folder):
            place = os.path.join(folder, name)
            if is_folder:
                folders += [place] if is_looked_into(name) else []
            elif file_kind(os.path.abspath(place)) and not _is_special(place):
                found.append(place)
        if len(found) > MOST_FILES or len(folders) > MOST_FOLDERS:
            raise _too_many(path)
    if not found:
        raise Fault(
            E_NOT_FOUND,
            f"The directory {quoted(path)} holds no {_SUFFIX} file.",
            details={"resource": "file", "id": shortened(path)},
            hint="Name a directory with workflow files, a file or an id.",
        )
    return sorted(found)


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Names in a directory and whether each is one itself."""
    try:
        with os.scandir(os.fsencode(folder)) as entries:
            return [
                (entry.name.decode("utf-8", "surrogateescape"), entry.is_dir(follow_symlinks=False))
                for entry in entries
            ]
    except OSError as error:
        raise _file_trouble(error, folder) from error


def _is_special(path: str) -> bool:
    """A pipe, a device or a link to a directory. A link that leads nowhere is a mistake, and told."""
    return os.path.exists(os.fsencode(path)) and not os.path.isfile(os.fsencode(path))


def _too_many(path: str) -> Fault:
    return Fault(
        REQUEST_TOO_LARGE,
        f"The directory {quoted(path)} holds more than {MOST_FILES} {_SUFFIX} files.",
        details={"what": "files", "limit": MOST_FILES},
        hint="Name the directories inside it one by one.",
    )


def _file_trouble(error: OSError, path: str) -> Fault:
    name = quoted(path)
    if error.errno in _ABSENT:
        details: dict[str, Json] = {"resource": "file", "id": shortened(path)}
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
