"""The judged packages and TypeScript, from npm: exact versions, unpacked once; no script of theirs runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile

import msgspec

from tests.referees.equipment import CACHE, NotAvailable

TYPESCRIPT = "typescript@5.9.3"
FETCH_SECONDS = 120


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """Sources that a package publishes; `folders` are those that are judged, and files that begin so."""

    name: str
    version: str
    kind: str
    folders: tuple[str, ...]


PACKAGES = (
    Package(name="commander", version="14.0.3", kind="CommonJS, JSDoc", folders=("lib/", "index.js")),
    Package(name="express", version="5.3.0", kind="CommonJS", folders=("lib/", "index.js")),
    Package(name="koa", version="3.2.1", kind="CommonJS", folders=("lib/",)),
    Package(name="qs", version="6.17.1", kind="CommonJS", folders=("lib/",)),
    Package(name="semver", version="7.8.6", kind="CommonJS", folders=("",)),
    Package(name="execa", version="9.6.1", kind="ES modules", folders=("lib/", "index.js")),
    Package(name="preact", version="10.29.8", kind="ES modules, declarations", folders=("src/",)),
    Package(name="underscore", version="1.13.8", kind="ES modules", folders=("modules/",)),
    Package(name="ajv", version="8.20.0", kind="TypeScript", folders=("lib/",)),
    Package(name="immer", version="10.2.0", kind="TypeScript", folders=("src/",)),
    Package(name="rxjs", version="7.8.2", kind="TypeScript", folders=("src/",)),
    Package(name="zod", version="3.25.76", kind="TypeScript", folders=("src/v3/",)),
    Package(name="@tanstack/query-core", version="5.107.1", kind="TypeScript", folders=("src/",)),
    Package(name="@tanstack/react-query", version="5.107.1", kind="TypeScript, TSX", folders=("src/",)),
    Package(name="react-redux", version="9.3.1", kind="TypeScript, TSX", folders=("src/",)),
)


def fetch(name: str) -> str:
    """The folder of an unpacked package, `name@version`."""
    place = os.path.join(CACHE, "code", name.replace("/", "+"))
    if os.path.exists(os.path.join(place, "complete")):
        return os.path.join(place, "package")
    npm = shutil.which("npm")
    if npm is None:
        raise NotAvailable("npm is not on PATH")
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    command = [npm, "pack", name, "--silent", "--ignore-scripts", "--pack-destination", place]
    try:
        done = subprocess.run(
            command, cwd=place, capture_output=True, check=False, encoding="utf-8", timeout=FETCH_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotAvailable(f"{name} did not come within {FETCH_SECONDS} s") from None
    packed = [file for file in os.listdir(place) if file.endswith(".tgz")]
    if done.returncode != 0 or not packed:
        raise NotAvailable(f"npm pack {name} failed: {done.stderr.strip()[:200]}")
    with tarfile.open(os.path.join(place, packed[0])) as archive:
        archive.extractall(place, filter="data")
    inside = [entry for entry in sorted(os.listdir(place)) if os.path.isdir(os.path.join(place, entry))]
    if inside != ["package"]:
        os.rename(os.path.join(place, inside[0]), os.path.join(place, "package"))
    with open(os.path.join(place, "complete"), "w", encoding="utf-8"):
        return os.path.join(place, "package")
