"""Files of agent clients on this machine, and the commands that change them: `ports.ClientFiles`."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_FORBIDDEN, E_IO
from handrail.contract.outcome import Fault
from handrail.contract.wording import quote
from handrail.host.private_files import ensure_private_directory, replace_private
from handrail.host.program.installation import PACKAGE, PACKED, install_method, places_of
from handrail.host.program.skill_files import held_skill, remove_skill, sync_skill
from handrail.host.programs import find_program, make_child_environment, own_command
from handrail.ports.program import ClientPlaces, HeldSkill, KeptFile, SkillCopy

_PROGRAMS = ("claude", "codex", "gemini")
_MOST_BYTES = 8_388_608
_SECONDS = 30
_KEPT = "client-backup"
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


class LocalClientFiles:
    """The clients of one user."""

    def __init__(self, home: str, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment
        self._user = environment.get("HOME") or os.path.expanduser("~")

    def places(self) -> ClientPlaces:
        found = {name: find_program(name, self._environment) for name in _PROGRAMS}
        return msgspec.structs.replace(
            places_of(self._user, self._environment),
            command=_own_command(self._environment),
            programs={name: path for name, path in found.items() if path},
        )

    def exists(self, path: str) -> bool:
        return os.path.lexists(path)

    def read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise _unusable(path, "is not a plain file")
                content = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except IsADirectoryError as trouble:
            raise _unusable(path, "is a directory") from trouble
        except OSError as trouble:
            raise _refused(path, trouble) from trouble
        if len(content) > _MOST_BYTES:
            raise _unusable(path, "is too large")
        return content

    def replace(self, path: str, expected: bytes | None, content: bytes | None) -> bool:
        actual = os.path.realpath(path)
        if self.read(actual) != expected:
            return False
        if expected is not None and not os.stat(actual).st_mode & stat.S_IWUSR:
            # Another program made it so and owns it; a new file in its place would only hide that.
            raise _refused(path, PermissionError(errno.EACCES, "read-only"))
        try:
            self._keep(path, expected, content)
            if content is None:
                os.unlink(actual)
            else:
                _replaced(actual, content)
        except OSError as trouble:
            raise _refused(path, trouble) from trouble
        return True

    def kept(self, path: str) -> KeptFile | None:
        try:
            with open(self._record(path), "rb") as file:
                return msgspec.json.decode(file.read(), type=KeptFile)
        except (OSError, msgspec.MsgspecError):
            return None

    def forget(self, path: str) -> None:
        with suppress(OSError):
            os.unlink(self._record(path))

    def run(self, command: Sequence[str], project: str) -> str:
        try:
            done = subprocess.run(  # noqa: S603 - a client's own command, found on PATH, with fixed arguments
                list(command),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=project,
                env=make_child_environment(self._environment),
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it did not end within {_SECONDS} seconds"
        except OSError as trouble:
            return f"it could not be started: {trouble.strerror}"
        return f"it ended with the status {done.returncode}" if done.returncode else ""

    def held_skill(self) -> HeldSkill:
        return held_skill(os.path.join(PACKED, "skill"), self._user, self._home)

    def sync_skill(self) -> SkillCopy:
        return sync_skill(os.path.join(PACKED, "skill"), self._user, self._home)

    def remove_skill(self) -> SkillCopy:
        return remove_skill(self._user, self._home)

    def _keep(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Keep the first state to restore, as long as nobody else changed the file since."""
        earlier = self.kept(path)
        held = before
        if earlier is not None and earlier.after_sha256 == _digest(before):
            held = earlier.before
        ensure_private_directory(os.path.join(self._home, _KEPT))
        record = KeptFile(before=held, after_sha256=_digest(after))
        replace_private(self._record(path), msgspec.json.encode(record))

    def _record(self, path: str) -> str:
        return os.path.join(
            self._home, _KEPT, sha256(os.fsencode(os.path.abspath(path))).hexdigest()[:32] + ".json"
        )


def _digest(content: bytes | None) -> str:
    return "absent" if content is None else sha256(content).hexdigest()


def _own_command(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Absolute, because desktop clients often lack the shell's PATH.

    What `uvx` made may be gone tomorrow, so there `uvx` itself is the command.
    """
    if install_method(PACKAGE) == "ephemeral":
        uvx = find_program("uvx", environment)
        if uvx:
            return (uvx, "handrail")
    beside = os.path.join(os.path.dirname(sys.executable), "handrail")
    if os.access(beside, os.X_OK):
        return (beside,)
    return own_command()


def _replaced(path: str, content: bytes) -> None:
    """Whole or not at all; the mode of the old file stays, a new one is for its user alone."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        mode = stat.S_IMODE(os.stat(path).st_mode)
    except FileNotFoundError:
        mode = 0o600
    temporary = f"{path}.{os.urandom(6).hex()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, mode)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _unusable(path: str, why: str) -> Fault:
    return Fault(
        E_CONFIG,
        f"{quote(path)} {why}, so it was left alone.",
        details={"setting": path, "source": "file"},
        hint="Put the entry of the preview into that file by hand.",
    )


def _refused(path: str, trouble: OSError) -> Fault:
    if trouble.errno in _DENIED:
        return Fault(
            E_FORBIDDEN,
            f"{quote(path)} may not be changed.",
            details={"needed": "write access to it"},
            hint="Ask the user: whatever manages that file has to add the entry of the preview.",
        )
    reason = errno.errorcode.get(trouble.errno or 0, "unknown")
    return Fault(E_IO, f"{quote(path)} could not be used.", details={"reason": reason})
