"""Small steps that several journeys share: starting work, previewing, reading bytes, odd surroundings."""

from __future__ import annotations

import json
import os
import resource
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.journeys.strangers.product import PROGRAM, Product, Ran

CLOCK = """
import datetime, os, time
ahead = float(os.environ["CLOCK_AHEAD"])
real_time, real_ns, real = time.time, time.time_ns, datetime.datetime
time.time = lambda: real_time() + ahead
time.time_ns = lambda: real_ns() + int(ahead * 1e9)
class Shifted(real):
    @classmethod
    def now(cls, tz=None):
        return real.now(tz) + datetime.timedelta(seconds=ahead)
    @classmethod
    def utcnow(cls):
        return real.utcnow() + datetime.timedelta(seconds=ahead)
datetime.datetime = Shifted
"""


def started(product: Product, key: str = "first", goal: str = "look") -> dict[str, Any]:
    """The first reply of a new run of a bundled workflow."""
    return product.data("run", "start", "wr.small_change", "--goal", goal, "--request-id", key)


def session_of(reply: dict[str, Any]) -> str:
    return str(reply["session"]["sessionId"])


def previewed(product: Product, *line: str, **environment: str) -> str:
    """The confirm token of a dry run of this line."""
    ran = product.run(*line, "--dry-run", **environment)
    assert ran.status == 0, ran
    return str(ran.document["data"]["confirm_token"])


def session_ids(product: Product) -> set[str]:
    return {str(item["id"]) for item in product.data("session", "list", "--limit", "500")["items"]}


def workflow_files(product: Product) -> set[str]:
    return {path.name for path in (product.project / ".handrail" / "workflows").glob("*")}


def contents(*folders: Path) -> dict[str, bytes]:
    """Every file below these folders, by path, with its bytes."""
    found: dict[str, bytes] = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                found[str(path)] = path.read_bytes()
    return found


def timeless(ran: Ran) -> dict[str, Any]:
    """The document without what the call took."""
    document = ran.document
    document["meta"].pop("duration_ms")
    return document


def later(product: Product, seconds: int) -> dict[str, str]:
    """Surroundings in which the program's clock is ahead."""
    folder = product.project.parent / "clock"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(CLOCK, encoding="utf-8")
    return {"PYTHONPATH": str(folder), "CLOCK_AHEAD": str(seconds)}


def on_small_disk(product: Product, limit: int, *line: str) -> Ran:
    """What comes of the line when no file may grow over this many bytes."""

    def narrow() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    ran = subprocess.run(
        [PROGRAM, *line],
        cwd=product.project,
        # Python would leave compiled modules behind that are cut off at the limit.
        env=product.environment | {"PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        preexec_fn=narrow,
    )
    return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())


def begun(product: Product, *line: str, **environment: str) -> subprocess.Popen[bytes]:
    """The program, running in the project folder."""
    return subprocess.Popen(
        [PROGRAM, *line],
        cwd=product.project,
        env=product.environment | environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def ended(child: subprocess.Popen[bytes]) -> Ran:
    out, err = child.communicate(timeout=60)
    return Ran(child.returncode, out.decode(), err.decode())


def audit_lines(product: Product) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for path in sorted((product.home / "audit").glob("*.jsonl")):
        lines += [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return lines


def written(product: Product) -> str:
    """Everything that the audit says, as text."""
    return "\n".join(path.read_text(encoding="utf-8") for path in (product.home / "audit").glob("*"))


def objects(value: Any) -> Iterable[dict[str, Any]]:
    """Every object inside a document."""
    if isinstance(value, dict):
        yield value
        for inner in value.values():
            yield from objects(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from objects(inner)


def own_script(product: Product, name: str, text: str) -> str:
    """A program of ours in the user's folder."""
    path = product.project.parent / name
    path.write_text(text, encoding="utf-8")
    os.chmod(path, 0o755)
    return str(path)
