"""The part of a page that a benchmark writes, between two marks."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

BEGIN, END = "<!-- made by bench/{} -->\n", "<!-- end -->\n"


def describe_machine() -> str:
    """The line above the figures: they mean little without it."""
    load = f"load {os.getloadavg()[0]:.0f}"
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {load}."


def rewrite(arguments: Sequence[str], bench: str, table: str, *notes: str) -> None:
    """Write the table into the page that follows `--page`, and what must be said about it."""
    if "--page" in arguments:
        said = " ".join((describe_machine(), *notes))
        write_into(Path(arguments[list(arguments).index("--page") + 1]), bench, f"{said}\n\n{table}")


def write_into(page: Path, bench: str, content: str) -> None:
    """Replace what this benchmark wrote into the page the last time."""
    begin = BEGIN.format(bench)
    before, found, rest = page.read_text(encoding="utf-8").partition(begin)
    assert found, f"{page} has no line {begin.strip()}"
    after = rest.partition(END)[2]
    page.write_text(f"{before}{begin}{content}{END}{after}", encoding="utf-8")
