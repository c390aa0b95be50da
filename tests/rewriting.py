"""The workers of one run divide the rewriting of asserts between them, and each takes what the others made.

Every worker imports every file, and a third of its collecting is this rewriting. What is kept beside the
files saves it in the next run; a fresh clone has nothing there, and many a container keeps nothing at all.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


def divide_rewriting(config: pytest.Config, is_chosen: Callable[[str], bool]) -> None:
    """In a worker of a run of everything; where nothing is kept, it lies among the temporary files."""
    told: dict[str, str | int] | None = getattr(config, "workerinput", None)
    if told is None or config.args != config.getini("testpaths") or config.option.assertmode != "rewrite":
        return
    folder = os.path.join(os.path.dirname(config.option.basetemp), "rewritten")
    if sys.dont_write_bytecode:
        rewrite.get_cache_dir = lambda file_path: Path(folder, *file_path.parts[1:-1])
    number, count = int(str(told["workerid"]).removeprefix("gw")), int(told["workercount"])
    files = sorted(path for top in config.args for path in config.rootpath.joinpath(top).rglob("test_*.py"))
    for path in files[number::count]:
        kept = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
        if is_chosen(path.read_text(encoding="utf-8")) and rewrite._read_pyc(path, kept) is None:
            digest, code = rewrite._rewrite_test(path, config)
            os.makedirs(kept.parent, exist_ok=True)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, digest, kept)
