"""The part of a page that a benchmark writes, between two marks."""

from __future__ import annotations

import os
import platform
from pathlib import Path

BEGIN, END = "<!-- made by bench/{} -->\n", "<!-- end -->\n"


def describe_machine() -> str:
    """The line above the figures: they mean little without it."""
    load = f"load {os.getloadavg()[0]:.0f}"
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {load}.\n\n"


def write_into(page: Path, bench: str, table: str) -> None:
    """Replace what this benchmark wrote into the page the last time."""
    begin = BEGIN.format(bench)
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    assert found, f"{page} has no line {begin.strip()}"
    after = rest.partition(END)[2]
    page.write_text(f"{before}{begin}{table}{END}{after}", encoding="utf-8")
