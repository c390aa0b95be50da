"""Evidence of executed behaviour: one line per command line that the tests' one runner started.

With `HANDRAIL_FCC` set to a directory, every process appends to `<directory>/<its id>.json` lines of
`{"leaf", "flags", "format", "envelope", "exit", "code", "domain_code", "reason", "stderr_bytes"}`, which
`tools/readiness.py` reads and `tests/conformance/coverage.py` judges.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Sequence
from typing import Any

from handrail.surfaces.cli.reading.parse import parse

VARIABLE = "HANDRAIL_FCC"


def record(arguments: Sequence[str | bytes], status: int, out: bytes, err: bytes) -> None:
    """Keep what this call showed; nothing is kept unless a directory was named."""
    directory = os.environ.get(VARIABLE, "")
    if not directory:
        return
    line = json.dumps(evidence(arguments, status, out, err), sort_keys=True) + "\n"
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, f"{os.getpid()}.json")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def evidence(arguments: Sequence[str | bytes], status: int, out: bytes, err: bytes) -> dict[str, Any]:
    """What one call showed. The leaf is the view that the parser chooses, else the words before a flag."""
    words = [os.fsdecode(word) for word in arguments]
    flags = [word.partition("=")[0] for word in words if word.startswith("--") and word != "--"]
    command = parse(words).command
    error = _error(out) or _error(err)
    details = error.get("details", {})
    return {
        "leaf": leaf_of(words) if command is None else command["path"],
        "flags": sorted(set(flags)),
        "format": _format(words),
        "envelope": "lafs" if "lafs" in _values(words, "--envelope") else "cli",
        "exit": status,
        "code": details.get("native_code", error.get("code", "")),  # LAFS has code names of its own
        "domain_code": details.get("domain_code", ""),
        "reason": details.get("reason", ""),
        "stderr_bytes": len(err),
    }


def leaf_of(words: Sequence[str]) -> str:
    """The longest run of bare words from the first on; the reader of the evidence cuts it to a known path."""
    bare: list[str] = []
    for word in words:
        if word.startswith("-"):
            if bare:
                break
            continue
        bare.append(word)
    return " ".join(bare)


def _format(words: Sequence[str]) -> str:
    if "--human" in words:
        return "text"
    return next(iter(_values(words, "--format")), "json")


def _values(words: Sequence[str], flag: str) -> list[str]:
    """What a flag was given, in either spelling."""
    joined = [word.removeprefix(f"{flag}=") for word in words if word.startswith(f"{flag}=")]
    return joined + [value for word, value in itertools.pairwise(words) if word == flag]


def _error(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except ValueError:
        return {}
    error = document.get("error") if isinstance(document, dict) else None
    return error if isinstance(error, dict) and "details" in error else {}
