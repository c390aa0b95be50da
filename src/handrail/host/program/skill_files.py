"""The agent skill in the user's home: a real copy for every client, a link to it for Claude Code.

A copy that the user changed is moved aside first; a directory of that name that is not ours is left alone.
"""

from __future__ import annotations

import os
import shutil

import msgspec

from handrail.host.private_files import ensure_private_directory, replace_private
from handrail.host.program.installation import read_skill_key, skill_digest
from handrail.ports.program import HeldSkill, SkillCopy

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
    try:
        with open(os.path.join(home, _MANIFEST), "rb") as file:
            return msgspec.json.decode(file.read(4_096), type=_Manifest)
    except (OSError, msgspec.MsgspecError):
        return _Manifest(digest="")
