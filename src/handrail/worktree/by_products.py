"""Files that tools leave behind, such as caches and coverage data: no person writes them.

As long as git does not track such a file, it is in no tree, as if it were ignored: a check that writes it
has changed nothing, and no report has to list it.
"""

from __future__ import annotations

_FOLDERS = frozenset({b".pytest_cache", b".mypy_cache", b".ruff_cache", b".hypothesis", b".nyc_output"})
_BYTECODE = (b".pyc", b".pyo", b".nbi", b".nbc")
_COVERAGE = b".coverage"
_FILES = frozenset({_COVERAGE, b".eslintcache", b".stylelintcache"})
_IN_PACKAGES = b"node_modules/.cache/"


def is_by_product(path: bytes) -> bool:
    """Whether a path that git does not track was left behind by a tool."""
    *folders, name = path.split(b"/")
    if name in _FILES or name.startswith(_COVERAGE + b"."):
        return True
    if b"__pycache__" in folders and name.endswith(_BYTECODE):
        return True  # elsewhere it is what Python loads where there is no source
    return not _FOLDERS.isdisjoint(folders) or b"/" + _IN_PACKAGES in b"/" + path
