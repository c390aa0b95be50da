"""Files of agent clients on this machine, and the commands that change them: `ports.ClientFiles`."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256

import msgspec

from handrail.contract.catalogue import E_CONFIG, E_FORBIDDEN, E_IO
from handrail.contract.outcome import Fault
from handrail.contract.released import IS_RELEASED
from handrail.contract.wording import quote
from handrail.host.private_files import (
    ensure_private_directory,
    is_below,
    open_regular_file,
    read_document,
    replace_private,
)
from handrail.host.program.installation import (
    PACKAGE,
    PACKED,
    install_method,
    places_of,
    read_skill_key,
    skill_digest,
)
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

    def resolve(self, path: str, within: str = "") -> str:
        real = os.path.realpath(path)
        if within and not is_below(real, os.path.realpath(within)):
            raise _unusable(path, "is a link that leads out of the project")
        return real

    def read(self, path: str) -> bytes | None:
        try:
            with open(path, "rb", opener=open_regular_file) as file:
                content = file.read(_MOST_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as trouble:
            if trouble.errno == errno.EINVAL:
                raise _unusable(path, "is not a plain file") from trouble
            raise _refused(path, trouble) from trouble
        if len(content) > _MOST_BYTES:
            raise _unusable(path, "is too large")
        return content

    def replace(self, path: str, expected: bytes | None, content: bytes | None) -> bool:
        actual = os.path.realpath(path)
        if actual != path or self.read(actual) != expected:  # a link took its place since the preview
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
        return read_document(self._record(path), KeptFile, 2 * _MOST_BYTES)

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
    if IS_RELEASED and install_method(PACKAGE) == "ephemeral":
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


# The agent skill in the user's home: a real copy for every client, a link to it for Claude Code.
#
# A copy that the user changed is moved aside first; a directory of that name that is not ours is left
# alone.


NAME = "handrail"
_MANIFEST = "skill.json"
_BACKUPS = "skill-backup"


class _Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What was copied last, and in which form."""

    digest: str


def sync_skill(source: str, user: str, home: str) -> SkillCopy:
    """Bring `~/.agents/skills/handrail` to the packed skill. Never raises for the disk."""
    target = os.path.join(user, ".agents", "skills", NAME)
    try:
        if not os.path.isfile(os.path.join(source, "SKILL.md")):
            return SkillCopy(
                status="failed", path=target, trouble="this installation has no skill packed with it"
            )
        if os.path.lexists(target) and not is_ours(target):
            return SkillCopy(
                status="failed", path=target, trouble="a directory of that name is not Handrail's"
            )
        is_equal = skill_digest(target) == skill_digest(source) and not os.path.islink(target)
        moved = "" if is_equal else _copy(source, target, home)
        is_linked = _ensure_link(user, target, home)
        return SkillCopy(
            status="unchanged" if is_equal and is_linked else "synced", path=target, moved_to=moved
        )
    except OSError as trouble:
        return SkillCopy(status="failed", path=target, trouble=trouble.strerror or "the disk refused")


def remove_skill(user: str, home: str) -> SkillCopy:
    """Take away the copy that was made here; one that the user changed stays. Never raises for the disk."""
    target = os.path.join(user, ".agents", "skills", NAME)
    try:
        if not os.path.lexists(target):
            return SkillCopy(status="unchanged", path=target)
        if skill_digest(target) != _manifest(home).digest:
            return SkillCopy(status="unchanged", path=target, trouble="it was changed since it was copied")
        link = _link(user)
        if os.path.islink(link):
            os.unlink(link)
        shutil.rmtree(target)
        os.unlink(os.path.join(home, _MANIFEST))
        return SkillCopy(status="removed", path=target)
    except OSError as trouble:
        return SkillCopy(status="failed", path=target, trouble=trouble.strerror or "the disk refused")


def is_ours(target: str) -> bool:
    """Whether the directory holds a skill by our name."""
    try:
        with open(os.path.join(target, "SKILL.md"), encoding="utf-8", errors="replace") as file:
            return read_skill_key(file.read(65_536), "name") == NAME
    except OSError:
        return False


def held_skill(source: str, user: str, home: str) -> HeldSkill:
    """The state of the copy, for a preview to show and to bind. Never raises for the disk."""
    target = os.path.join(user, ".agents", "skills", NAME)
    if not os.path.lexists(target):
        return HeldSkill(version="absent", state="absent")
    held, copied = skill_digest(target), _manifest(home).digest
    version = f"{held}:{copied}"
    if not is_ours(target):
        return HeldSkill(version=version, state="foreign")
    if held != copied:
        return HeldSkill(version=version, state="changed")
    is_whole = held == skill_digest(source) and not os.path.islink(target) and not _needs_link(user, target)
    return HeldSkill(version=version, state="as_packed" if is_whole else "older")


def _copy(source: str, target: str, home: str) -> str:
    """Stage beside the target, then rename. Returns where a changed copy was moved."""
    os.makedirs(os.path.dirname(target), exist_ok=True)
    staged, old = f"{target}.new-{os.getpid()}", f"{target}.old-{os.getpid()}"
    shutil.rmtree(staged, ignore_errors=True)
    shutil.copytree(source, staged, ignore=shutil.ignore_patterns("__pycache__"))
    moved = ""
    if os.path.islink(target):
        os.unlink(target)
    elif os.path.lexists(target):
        if skill_digest(target) != _manifest(home).digest:
            moved = _keep_copy(target, home)
        os.rename(target, old)
    os.rename(staged, target)
    shutil.rmtree(old, ignore_errors=True)
    ensure_private_directory(home)
    manifest = _Manifest(digest=skill_digest(target))
    replace_private(os.path.join(home, _MANIFEST), msgspec.json.encode(manifest) + b"\n")
    return moved


def _keep_copy(directory: str, home: str) -> str:
    """Keep a copy of the user's version in the home."""
    ensure_private_directory(os.path.join(home, _BACKUPS))
    kept = os.path.join(home, _BACKUPS, skill_digest(directory)[:16])
    if not os.path.lexists(kept):
        shutil.copytree(directory, kept)
    return kept


def _put_aside(link: str, home: str) -> None:
    if os.path.islink(link):
        os.unlink(link)
        return
    _keep_copy(link, home)
    shutil.rmtree(link)


def _link(user: str) -> str:
    return os.path.join(user, ".claude", "skills", NAME)


def _needs_link(user: str, target: str) -> bool:
    """Whether Claude Code is used here and does not see this skill; another's of that name is left alone."""
    link = _link(user)
    if not os.path.isdir(os.path.join(user, ".claude")):
        return False
    if not os.path.lexists(link):
        return True
    return is_ours(link) and skill_digest(link) != skill_digest(target)


def _ensure_link(user: str, target: str, home: str) -> bool:
    """Make the link for Claude Code where it is used; whether it was there already, or is not needed."""
    if not _needs_link(user, target):
        return True
    link = _link(user)
    if os.path.lexists(link):
        _put_aside(link, home)
    os.makedirs(os.path.dirname(link), exist_ok=True)
    try:
        os.symlink(os.path.relpath(target, os.path.dirname(link)), link)
    except OSError:
        shutil.copytree(target, link)
    return False


def _manifest(home: str) -> _Manifest:
    return read_document(os.path.join(home, _MANIFEST), _Manifest, 4_096) or _Manifest(digest="")
