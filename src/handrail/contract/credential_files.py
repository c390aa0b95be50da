"""Which files hold credentials, by their names. Pure.

Such a file is told as changed, like any other. Nobody quotes it, compares its text or copies it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

_NAMES = (".env*", "*.pem", "*.key", ".netrc", ".npmrc", ".pypirc", "credentials*")
_FOLDER = ".ssh"
_SOURCES = (".py", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", ".rs", ".java")
"""A module called `credentials.py` is code: it says where credentials are found."""


def holds_credentials(path: str) -> bool:
    """Whether the file at this path, with `/` between its names, holds credentials."""
    *folders, name = path.lower().split("/")
    if _FOLDER in folders:
        return True
    is_module = name.startswith("credentials") and name.endswith(_SOURCES)
    return not is_module and any(fnmatchcase(name, pattern) for pattern in _NAMES)
