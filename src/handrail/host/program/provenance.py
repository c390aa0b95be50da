"""Checking a release, and whether its files are the installed ones: `ports.Provenance`.

The check runs in a child process, because its library is slow to load and a stalled connection must not
delay a signal.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from tempfile import TemporaryFile

import msgspec

from handrail.host.program.installation import PACKAGE
from handrail.host.programs import own_command
from handrail.ports.program import NotChecked, NotTrusting, ProvenanceAnswer, ProvenanceOrder

_CHECK_SECONDS = 60
_LOOK_SECONDS = 0.05
_CHILD = "handrail.host.program.sigstore_child"
_BY_MANAGERS = frozenset(
    {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json"}
)
_MOST_BYTES = 268_435_456
_ANSWER: msgspec.json.Decoder[ProvenanceAnswer] = msgspec.json.Decoder(ProvenanceAnswer)


class LocalProvenance:
    """The library in this installation, and the files of this installation."""

    def __init__(self, environment: Mapping[str, str], site: str = os.path.dirname(PACKAGE)) -> None:
        self._environment = environment
        self._site = site

    def check(self, order: ProvenanceOrder, asked: Callable[[], str]) -> ProvenanceAnswer:
        if order.trusted_root and not os.path.isabs(order.trusted_root):
            return NotTrusting(trouble="unreadable")  # The owner of the working directory could choose it.
        environment = {key: value for key, value in self._environment.items() if key != "PYTHONPATH"}
        try:
            with TemporaryFile() as file:  # A pipe would have to be fed while the library loads.
                file.write(msgspec.json.encode(order))
                file.seek(0)
                child = subprocess.Popen(  # noqa: S603 - our own interpreter and module, no shell
                    own_command(_CHILD),
                    stdin=file,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env=environment,
                    start_new_session=True,
                )
        except OSError:
            return NotChecked(why="not_loaded")
        with child:
            return _await_answer(child, asked)

    def difference(self, wheel: bytes) -> str:
        try:
            return _difference(wheel, self._site)
        except (OSError, ValueError, zipfile.BadZipFile):
            return "RECORD"


def _await_answer(child: subprocess.Popen[bytes], asked: Callable[[], str]) -> ProvenanceAnswer:
    ends_at = time.monotonic() + _CHECK_SECONDS
    while True:
        try:
            out, _ = child.communicate(timeout=_LOOK_SECONDS)
            break
        except subprocess.TimeoutExpired:
            word = asked() or ("deadline" if time.monotonic() > ends_at else "")
            if word:
                child.kill()
                child.communicate()
                return NotChecked(why="deadline" if word == "deadline" else "signal")
    lines = out.splitlines()
    if not lines:
        return NotChecked(why="not_loaded")
    try:
        return _ANSWER.decode(lines[-1])
    except msgspec.MsgspecError:
        return NotChecked(why="ended")


def _difference(wheel: bytes, site: str) -> str:
    """The first installed file that is not as in the wheel, by name; empty when every one is.

    Compiled code is thrown away first: Python makes it again, from the files that are compared here.
    """
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        held = {one.filename: one for one in archive.infolist() if not one.is_dir()}
        if sum(one.file_size for one in held.values()) > _MOST_BYTES:
            return "RECORD"
        information = next(name.partition("/")[0] for name in held if name.endswith(".dist-info/METADATA"))
        if not os.path.isdir(os.path.join(site, information)):
            return ""  # Not what is installed now: the caller asks what is.
        tops = sorted({name.partition("/")[0] for name in held})
        for top in tops:
            _without_bytecode(os.path.join(site, top))
        added = {f"{information}/{name}" for name in _BY_MANAGERS}
        present = {name for top in tops for name in _files(site, top)} | _recorded(site, information, tops)
        for name in sorted((present | set(held)) - added):
            if name not in held or name not in present or _content(site, name) != archive.read(held[name]):
                return name
    return ""


def _without_bytecode(folder: str) -> None:
    for place, folders, _ in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
            shutil.rmtree(os.path.join(place, "__pycache__"))


def _files(site: str, top: str) -> Iterator[str]:
    for place, _, names in os.walk(os.path.join(site, top)):
        for name in names:
            yield os.path.relpath(os.path.join(place, name), site)


def _recorded(site: str, information: str, tops: list[str]) -> set[str]:
    """What the manager put anywhere else, but for the command itself."""
    with open(os.path.join(site, information, "RECORD"), encoding="utf-8") as file:
        names = [line.rstrip("\n").rsplit(",", 2)[0].strip('"') for line in file]
    return {
        name
        for name in names
        if name and name.partition("/")[0] not in tops and os.path.basename(name) != "handrail"
    }


def _content(site: str, name: str) -> bytes | None:
    with suppress(OSError), open(os.path.join(site, name), "rb") as file:
        return file.read(_MOST_BYTES)
    return None
