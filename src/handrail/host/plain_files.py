"""Opening regular files and nothing else: a pipe in a file's place would make the call wait for ever."""

from __future__ import annotations

import errno
import os
import stat

# Windows has neither, and no pipes among its files.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


def opened_plainly(path: str, flags: int, mode: int = 0o600) -> int:
    """A descriptor of a regular file; usable as the `opener` of `open`.

    Raises OSError, EINVAL when it is anything else.
    """
    descriptor = os.open(path, flags | _AT_ONCE, mode)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, "not a regular file")


def leads_out(path: str, root: str) -> bool:
    """Whether what is at the path lies outside of the root, behind whatever links; never what is missing."""
    if not os.path.lexists(path):
        return False
    real_root, real = os.path.realpath(root), os.path.realpath(path)
    return os.path.commonpath((real_root, real)) != real_root


def why_unreadable(path: str) -> str:
    """Why there is nothing to read at this path, as the end of a sentence; empty when there is."""
    try:
        os.close(opened_plainly(path, os.O_RDONLY))
    except FileNotFoundError:
        return "is a link that leads nowhere" if os.path.islink(path) else "does not exist"
    except PermissionError:
        return "may not be read"
    except OSError:
        return "is not a regular file"
    return ""
