"""The user's browser, opened on a file: its path stands in the process list, what the file holds does not."""

from __future__ import annotations

import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def has_browser(environment: Mapping[str, str]) -> bool:
    """Whether there is a screen; a browser that would take the terminal is never started."""
    return sys.platform in ("darwin", "win32") or any(environment.get(name) for name in _SCREENS)


def open_in_browser(path: str) -> bool:
    """Whether a browser was asked to show the file."""
    try:
        return webbrowser.open(Path(path).as_uri())
    except (webbrowser.Error, OSError):
        return False
