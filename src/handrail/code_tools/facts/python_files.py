"""Which files are Python, told by their names. Pure."""

from __future__ import annotations

from typing import Final

PYTHON: Final = (".py", ".pyi")


def is_python(path: str) -> bool:
    return path.endswith(PYTHON)
