"""The console scripts of CONT: each is its command with the bare document."""

from __future__ import annotations

from typing import NoReturn

from handrail.main import console


def js_scan() -> NoReturn:
    """`js-scan` on JavaScript."""
    console("js-scan", "--languages", "javascript")


def js_edit() -> NoReturn:
    """`js-edit` on JavaScript."""
    console("js-edit", "--languages", "javascript")


def js_tools() -> NoReturn:
    """`js-tools`."""
    console("js-tools")
