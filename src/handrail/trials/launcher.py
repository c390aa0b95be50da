"""Starts one program for Handrail and ends whatever it leaves; run as a file of its own, without packages.

It reads one JSON request from a pipe and writes one JSON answer to another. If the first closes, Handrail is
gone, and everything that was started is killed. Mounts are made in namespaces of its own, so nobody else sees
them and nothing has to be undone.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import select
import signal
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

_NEW_MOUNTS, _NEW_USERS = 0x00020000, 0x10000000
_BIND, _RECURSIVE, _PRIVATE = 0x1000, 0x4000, 0x40000
_SET_SUBREAPER = 36
_MOST_KILLS = 100
_RESET = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGCHLD)


class Refused(Exception):
    """The program was not started; the text ends a sentence."""


# Namespaces


def mount_over(mounts: list[list[str]]) -> None:
    """Show each source at its target, for this process and its children alone. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()
    if uid != 0 or libc.unshare(_NEW_MOUNTS) != 0:
        _check(libc.unshare(_NEW_USERS | _NEW_MOUNTS))
        # The same numbers as outside: files keep their owners, and nobody becomes root.
        for name, content in (
            ("setgroups", "deny"),
            ("uid_map", f"{uid} {uid} 1"),
            ("gid_map", f"{gid} {gid} 1"),
        ):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(content)
    _check(libc.mount(b"none", b"/", None, ctypes.c_ulong(_RECURSIVE | _PRIVATE), None))
    for source, target in mounts:
        names = (os.fsencode(source), os.fsencode(target))
        _check(libc.mount(*names, None, ctypes.c_ulong(_BIND | _RECURSIVE), None))


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


# The program


def find_program(word: str, directory: str, root: str, path: str) -> str:
    """The file to start. Raises Refused."""
    if os.sep not in word:
        places = (os.path.join(folder, word) for folder in path.split(os.pathsep) if os.path.isabs(folder))
        found = next((place for place in places if os.path.isfile(place) and os.access(place, os.X_OK)), "")
        if not found:
            raise Refused(f'there is no program "{word}" on PATH')
        return found
    found = word if os.path.isabs(word) else os.path.normpath(os.path.join(directory, word))
    if not os.path.isabs(word) and os.path.commonpath([root, found]) != root:
        raise Refused(f'"{word}" leads out of the project; give its absolute path if it is meant')
    if not (os.path.isfile(found) and os.access(found, os.X_OK)):
        raise Refused(f'"{word}" is not a program in the project')
    return found


def start(request: dict[str, Any]) -> int:
    """The process that runs the program, leader of a session of its own. Raises Refused."""
    directory, environment = request["directory"], request["environment"]
    argv = [*request["argv"]]
    program = find_program(argv[0], directory, request["root"], environment.get("PATH", os.defpath))
    reading, writing = os.pipe()  # closed by a successful exec
    child = os.fork()
    if child == 0:
        _become(program, argv, directory, environment, writing)
    os.close(writing)
    with open(reading, "rb") as file:
        trouble = file.read().decode("utf-8", "replace")
    if trouble:
        os.waitpid(child, 0)
        raise Refused(f"it could not be started: {trouble}")
    return child


def _become(
    program: str, argv: list[str], directory: str, environment: dict[str, str], writing: int
) -> NoReturn:
    try:
        os.setsid()
        for number in _RESET:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        os.chdir(directory)
        os.execve(program, argv, environment)  # noqa: S606 - the check, word by word, without a shell
    except OSError as error:
        os.write(writing, (error.strerror or "unknown").encode())
    while True:
        os.kill(os.getpid(), signal.SIGKILL)


# Waiting and ending


def wait(child: int, control: int, grace_seconds: float) -> tuple[int, str]:
    """Wait for the end of the program: its wait status, and how it was ended if it was.

    The first word from Handrail ends it by a signal, and by force after a grace; a closed pipe at once.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    asked, kill_at = "", 0.0
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status, asked
        left = max(0.0, kill_at - time.monotonic()) if kill_at else None
        watched = [reading] if asked else [reading, control]
        ready = select.select(watched, [], [], left)[0]
        if reading in ready:
            os.read(reading, 4096)
        if not asked and control in ready:
            asked = os.read(control, 64).decode("ascii", "replace") or "gone"
            number = (
                signal.SIGKILL if asked == "gone" else signal.SIGINT if asked == "signal" else signal.SIGTERM
            )
            _signal_group(child, number)
            kill_at = time.monotonic() + grace_seconds
        if kill_at and time.monotonic() >= kill_at:
            _signal_group(child, signal.SIGKILL)
            kill_at = 0.0 if asked == "gone" else time.monotonic() + grace_seconds


def end_others(group: int) -> None:
    """Kill what the program left, also in other groups where the system hands orphans to us."""
    _signal_group(group, signal.SIGKILL)
    for _ in range(_MOST_KILLS):
        left = _list_children()
        for number in left:
            with suppress(OSError):
                os.kill(number, signal.SIGKILL)
        try:
            while os.waitpid(-1, 0 if left else os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        if not left:
            return


def _list_children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(number) for number in file.read().split()]
    except (OSError, ValueError):
        return []


def _signal_group(group: int, number: int) -> None:
    with suppress(OSError):
        os.killpg(group, number)


def run(request: dict[str, Any], control: int) -> dict[str, Any]:
    """Do what is asked, and say how it ended."""
    try:
        if request["mounts"]:
            mount_over(request["mounts"])
    except OSError as error:
        return {"trouble": f"the project's path could not be covered: {error.strerror}"}
    if not request["argv"]:
        return {"status": 0, "asked": "", "cpu_ms": 0}
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_SUBREAPER, 1, 0, 0, 0)
    try:
        child = start(request)
    except Refused as error:
        return {"trouble": str(error)}
    status, asked = wait(child, control, request["grace"])
    end_others(child)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "status": os.waitstatus_to_exitcode(status),
        "asked": asked,
        "cpu_ms": int((used.ru_utime + used.ru_stime) * 1000),
    }


def main(control: int, answers: int) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    for descriptor in (control, answers):
        os.set_inheritable(descriptor, False)
    received = b""
    while not received.endswith(b"\n"):
        part = os.read(control, 65_536)
        if not part:
            return
        received += part
    with suppress(OSError), open(answers, "wb") as file:
        file.write(json.dumps(run(json.loads(received), control)).encode() + b"\n")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
