"""The judged Python packages, from wheels: exact versions, unpacked once; none of their code runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile

import msgspec

from tests.referees.equipment import CACHE, NotAvailable

FETCH_SECONDS = 180


class PythonPackage(msgspec.Struct, frozen=True, kw_only=True):
    """`folder` is the package inside the wheel; `tests` the part of it that is tests, if it has some."""

    name: str
    version: str
    kind: str
    folder: str
    tests: str = ""


PYTHON_PACKAGES = (
    PythonPackage(name="blinker", version="1.9.0", kind="typed", folder="blinker"),
    PythonPackage(name="h11", version="0.16.0", kind="typed", folder="h11"),
    PythonPackage(name="idna", version="3.11", kind="star imports", folder="idna"),
    PythonPackage(name="isodate", version="0.6.1", kind="with its tests", folder="isodate", tests="tests"),
    PythonPackage(name="itsdangerous", version="2.2.0", kind="typed, overloads", folder="itsdangerous"),
    PythonPackage(
        name="more-itertools", version="10.8.0", kind="stubs, star imports", folder="more_itertools"
    ),
    PythonPackage(name="packaging", version="25.0", kind="typed", folder="packaging"),
    PythonPackage(name="pluggy", version="1.6.0", kind="typed", folder="pluggy"),
    PythonPackage(name="pyflakes", version="3.4.0", kind="with its tests", folder="pyflakes", tests="test"),
    PythonPackage(name="tomli", version="2.2.1", kind="typed", folder="tomli"),
    PythonPackage(
        name="toolz", version="1.0.0", kind="star imports, with its tests", folder="toolz", tests="tests"
    ),
)


def fetch_wheel(package: PythonPackage) -> str:
    """The folder with an unpacked wheel. No sdist is taken: building one runs its code."""
    place = os.path.join(CACHE, "code", f"{package.name}=={package.version}")
    unpacked = os.path.join(place, "unpacked")
    if os.path.exists(os.path.join(place, "complete")):
        return unpacked
    uv = os.environ.get("UV") or shutil.which("uv")
    if uv is None:
        raise NotAvailable("uv is not on PATH")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(unpacked)
    command = [uv, "pip", "install", "--quiet", "--python", sys.executable, "--no-deps"]
    command += ["--only-binary", ":all:", "--target", unpacked]
    try:
        done = subprocess.run(
            [*command, f"{package.name}=={package.version}"],
            cwd=tempfile.gettempdir(),
            capture_output=True,
            check=False,
            encoding="utf-8",
            timeout=FETCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"{package.name} did not come within {FETCH_SECONDS} s") from None
    if done.returncode != 0 or not os.path.isdir(os.path.join(unpacked, package.folder)):
        raise NotAvailable(f"{package.name} {package.version} cannot be had: {done.stderr.strip()[:200]}")
    with open(os.path.join(place, "complete"), "w", encoding="utf-8"):
        return unpacked
