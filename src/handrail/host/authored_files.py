"""Files in a project: readable like any other source file, and never over a content that nobody has seen."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress

from handrail.contract.catalogue import E_FORBIDDEN, E_IO, E_NOT_FOUND, E_VALIDATION
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote, shorten
from handrail.host.private_files import (
    content_of,
    create_private,
    find_homes,
    is_below,
    lies_in_home,
    write_all,
)
from handrail.ports.workspace import FilePlace

_FILE_MODE = 0o644
_MOST_BYTES = 1_000_000
_USER_DIRECTORY = "workflows"
_OWN_DIRECTORY = os.path.join(".handrail", _USER_DIRECTORY)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})


class ProjectFiles:
    """`ports.AuthoredFiles` on the local file system."""

    def __init__(self, home: str = "") -> None:
        self._home = home

    def place(self, project: str, directory: str, name: str, param: str) -> FilePlace:
        named = os.path.join(project, os.path.expanduser(directory) if directory else _OWN_DIRECTORY)
        try:
            resolved = os.path.realpath(named)
        except ValueError:  # a null byte, or half of a surrogate pair
            raise Fault(
                E_VALIDATION, f"No directory can have the name {quote(named)}.", details={"param": param}
            ) from None
        if not directory and not is_below(resolved, os.path.realpath(project)):
            raise Fault(
                E_VALIDATION,
                f"The directory {quote(named)} leads out of the project.",
                details={"param": param, "expected": "a directory inside the project"},
                hint="Put a directory in place of the link that leads out.",
            )
        homes = find_homes(self._home)
        is_own = any(is_below(resolved, os.path.join(one, _USER_DIRECTORY)) for one in homes)
        if lies_in_home(resolved, homes) and not is_own:
            raise Fault(
                E_VALIDATION,
                f"The directory {quote(named)} is one of Handrail's own.",
                details={"param": param, "expected": "a directory for workflows"},
                hint="Leave it out to use the project's, or name another.",
            )
        missing = _missing(resolved, param)
        path = os.path.join(resolved, name)
        return FilePlace(path=path, content=_content(path), missing_directories=missing)

    def create(self, path: str, content: bytes) -> bool:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            descriptor = os.open(path, _NEW, _FILE_MODE)
        except FileExistsError:
            if os.path.isdir(os.path.dirname(path)):
                return False
            raise _not_a_directory(os.path.dirname(path), "directory") from None
        except OSError as trouble:
            raise _refused(trouble, path) from trouble
        return _fill(descriptor, path, content)

    def replace(self, path: str, content: bytes, expected: bytes) -> bool:
        if os.path.islink(path):
            raise Fault(
                E_VALIDATION,
                f"{quote(path)} is a link, and only the file itself is changed.",
                details={"param": "file", "expected": "a file"},
                hint="Put the file in place of the link, or change the file that it leads to.",
            )
        temporary = os.path.join(os.path.dirname(path), f".handrail-{os.urandom(8).hex()}.tmp")
        try:
            mode = stat.S_IMODE(os.stat(path).st_mode)
            descriptor = os.open(temporary, _NEW, mode)
        except FileNotFoundError:
            return False
        except OSError as trouble:
            raise _refused(trouble, path) from trouble
        _fill(descriptor, temporary, content)
        try:
            os.chmod(temporary, mode)  # whatever the umask is
            if _content(path) != expected:  # as late as can be: other writers hold no lock of ours
                return False
            os.replace(temporary, path)
        except OSError as trouble:
            raise _refused(trouble, path) from trouble
        finally:
            with suppress(OSError):
                os.unlink(temporary)
        return True

    def create_private(self, path: str, parts: Iterable[bytes]) -> bool:
        if os.path.lexists(path):  # saves the work of writing; creating it decides
            return False
        try:
            return create_private(path, parts)
        except OSError as trouble:
            raise _refused(trouble, path) from trouble


def _fill(descriptor: int, path: str, content: bytes) -> bool:
    """Write the content to the new file; if that fails, remove it."""
    try:
        write_all(descriptor, content)
        os.fsync(descriptor)
    except OSError as trouble:
        with suppress(OSError):
            os.unlink(path)
        raise _refused(trouble, path) from trouble
    finally:
        os.close(descriptor)
    return True


def _content(path: str) -> bytes | None:
    """The existing content, empty if it cannot be read, or of a link: nobody is shown what that leads to."""
    if not os.path.lexists(path):
        return None
    return b"" if os.path.islink(path) else content_of(path, _MOST_BYTES)


def _missing(directory: str, param: str) -> tuple[str, ...]:
    missing = []
    current = directory
    while not os.path.isdir(current):
        if os.path.lexists(current):
            raise _not_a_directory(current, param)
        missing.append(current)
        current = os.path.dirname(current)
    return tuple(reversed(missing))


def _not_a_directory(path: str, param: str) -> Fault:
    return Fault(
        E_VALIDATION,
        f"{quote(path)} is not a directory.",
        details={"param": param, "expected": "a directory"},
        hint="Name another directory; it is made if it does not exist.",
    )


def _refused(trouble: OSError, path: str) -> Fault:
    if trouble.errno in _ABSENT and not os.path.isdir(os.path.dirname(path)):
        directory = os.path.dirname(path)
        return Fault(
            E_NOT_FOUND,
            f"The directory {quote(directory)} does not exist.",
            details={"resource": "directory", "id": shorten(directory)},
            hint="Make it, or name a file in a directory that exists, then send the same call again.",
        )
    if trouble.errno in _DENIED:
        needed = "write access to the directory"
        return Fault(E_FORBIDDEN, f"{quote(path)} may not be created.", details={"needed": needed})
    reason = errno.errorcode.get(trouble.errno or 0, "unknown")
    return Fault(E_IO, f"{quote(path)} could not be written.", details={"reason": reason})
