"""A checkout by somebody who wants programs of theirs to be started, and how one would notice.

`Trap` is a marker file: everything planted below adds a line to it when it is started or imported.

- `plant_directory`: what a working directory can try. Python finds modules there when it is started
  carelessly (`handrail/`, `msgspec/`, `sitecustomize.py`, ...), and a relative entry of PATH makes every
  bare name (`git`, `uv`, `python`, `claude`, ...) a file of the checkout, in `.` and in `bin`.
- `plant_repository`: what a repository can try. `GIT_TRICKS` has every configuration of git that is known to
  start a program, one by one, with the plain git command that falls for it where one is cheap;
  `plant_every_trick` puts all of them into one repository.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import msgspec

MODULES = ("handrail", "msgspec", "apsw", "json")
SINGLE_MODULES = ("sitecustomize", "usercustomize", "typing_extensions", "regex", "subprocess", "gc")
PROGRAMS = (
    *("git", "uv", "uvx", "pip", "pipx", "python", "python3", "sh", "env", "handrail"),
    *(
        "claude",
        "codex",
        "gemini",
        "cursor",
        "code",
        "zed",
        "pager",
        "less",
        "ssh",
        "gpg",
        "ps",
        "id",
        "uname",
    ),
)
HOOKS = ("post-index-change", "pre-commit", "reference-transaction", "post-checkout", "fsmonitor-watchman")
RELATIVE = os.pathsep.join((".", "bin", "./bin/../bin", ""))
"""Entries of PATH that mean the checkout."""


class Trap:
    """A program and a module that tell when they are used."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.mark = folder / "started"
        self.program = folder / "program"
        self.plant_program(self.program)

    def plant_program(self, path: Path) -> None:
        path.write_text(f'#!/bin/sh\necho "$0 $*" >> "{self.mark}"\nexit 1\n', encoding="utf-8")
        path.chmod(0o755)

    def plant_module(self, path: Path) -> None:
        line = f"open({str(self.mark)!r}, 'a').write(__file__ + chr(10))\n"
        path.write_text(line, encoding="utf-8")

    def started(self) -> list[str]:
        """What was started since the last look."""
        if not self.mark.exists():
            return []
        lines = self.mark.read_text(encoding="utf-8").splitlines()
        self.mark.unlink()
        return lines


def plant_directory(directory: Path, trap: Trap) -> None:
    for name in MODULES:
        (directory / name).mkdir()
        for module in ("__init__", "__main__", "main"):
            trap.plant_module(directory / name / f"{module}.py")
    for name in SINGLE_MODULES:
        trap.plant_module(directory / f"{name}.py")
    (directory / "bin").mkdir()
    for name in PROGRAMS:
        if not (directory / name).exists():
            trap.plant_program(directory / name)
        trap.plant_program(directory / "bin" / name)


class GitTrick(msgspec.Struct, frozen=True, kw_only=True):
    """Lines of a configuration, in which PROGRAM is the trap's; `falls` is a git command that starts it."""

    name: str
    config: str
    falls: tuple[str, ...] = ()
    attributes: str = ""
    given: bytes = b""


def _trick(name: str, config: str, falls: str = "", attributes: str = "", given: bytes = b"") -> GitTrick:
    return GitTrick(name=name, config=config, falls=tuple(falls.split()), attributes=attributes, given=given)


GIT_TRICKS = (
    _trick("fsmonitor", "[core]\nfsmonitor = PROGRAM", "status"),
    _trick("hooks", "[core]\nhooksPath = HOOKS", "add kept.txt"),
    _trick("ssh", '[core]\nsshCommand = PROGRAM\n[remote "o"]\nurl = ssh://h/r', "ls-remote o"),
    _trick(
        "ask for a password",
        "[core]\naskPass = PROGRAM",
        "credential fill",
        given=b"protocol=https\nhost=h\n\n",
    ),
    _trick(
        "pager", "[core]\npager = PROGRAM\n[pager]\nstatus = PROGRAM\nls-tree = PROGRAM\nconfig = PROGRAM"
    ),
    _trick("editor", "[core]\neditor = PROGRAM\n[sequence]\neditor = PROGRAM", "commit --allow-empty"),
    _trick("alternates", "[core]\nalternateRefsCommand = PROGRAM", "rev-list --alternate-refs"),
    _trick("proxy", '[core]\ngitProxy = PROGRAM\n[remote "o"]\nurl = git://h/r', "ls-remote o"),
    _trick("clean filter", '[filter "x"]\nclean = PROGRAM', "status", "* filter=x"),
    _trick("filter process", '[filter "x"]\nprocess = PROGRAM\nrequired = true', "", "* filter=x"),
    _trick("external diff", "[diff]\nexternal = PROGRAM", "diff"),
    _trick("diff driver", '[diff "x"]\ncommand = PROGRAM', "diff", "* diff=x"),
    _trick("textconv", '[diff "x"]\ntextconv = PROGRAM', "diff", "* diff=x"),
    _trick("merge driver", '[merge "x"]\ndriver = PROGRAM', "", "* merge=x"),
    _trick(
        "credentials",
        "[credential]\nhelper = PROGRAM",
        "credential fill",
        given=b"protocol=https\nhost=h\n\n",
    ),
    _trick("upload-pack", '[remote "o"]\nurl = REPOSITORY\nuploadpack = PROGRAM', "ls-remote o"),
    _trick(
        "remote helper", '[remote "o"]\nurl = PROGRAM\nvcs = ext\n[protocol]\nallow = always', "ls-remote o"
    ),
    _trick("ext", '[remote "o"]\nurl = ext::PROGRAM\n[protocol "ext"]\nallow = always', "ls-remote o"),
    _trick(
        "promisor",
        "[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = o\n"
        '[remote "o"]\npromisor = true\nurl = ext::PROGRAM\n[protocol "ext"]\nallow = always',
        "cat-file -p 1111111111111111111111111111111111111111",
    ),
    _trick(
        "promisor by a path",
        "[core]\nrepositoryformatversion = 1\n[extensions]\npartialClone = o\n"
        '[remote "o"]\npromisor = true\nurl = REPOSITORY\nuploadpack = PROGRAM',
        "cat-file -p 1111111111111111111111111111111111111111",
    ),
    _trick(
        "rewritten address",
        '[url "ext::PROGRAM "]\ninsteadOf = x:\n[protocol "ext"]\nallow = always',
        "ls-remote x:y",
    ),
    _trick("pack-objects hook", "[uploadpack]\npackObjectsHook = PROGRAM"),
    _trick(
        "signatures", "[gpg]\nprogram = PROGRAM\n[log]\nshowSignature = true", "commit -S --allow-empty -m x"
    ),
    _trick(
        "ssh signatures",
        '[gpg]\nformat = ssh\n[gpg "ssh"]\nprogram = PROGRAM\ndefaultKeyCommand = PROGRAM',
        "commit -S --allow-empty -m x",
    ),
    _trick("included file", "[include]\npath = INCLUDED", "status"),
    _trick("included when it fits", '[includeIf "gitdir:/"]\npath = INCLUDED', "status"),
    _trick(
        "worktree file", "[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true", "status"
    ),
    _trick(
        "submodule",
        '[submodule]\nrecurse = true\n[submodule "s"]\nactive = true\nurl = ext::PROGRAM\nupdate = !PROGRAM',
    ),
    _trick(
        "alias", "[alias]\nstatus = !PROGRAM\ncat-file = !PROGRAM\nls-tree = !PROGRAM\nst = !PROGRAM", "st"
    ),
    _trick(
        "trailers",
        '[trailer "x"]\ncommand = PROGRAM\ncmd = PROGRAM',
        "interpret-trailers --trailer x=y",
        given=b"a\n",
    ),
)
FILTERS = ("clean filter", "filter process")


def run_git(where: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Plain git, as careless as anyone's."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(where),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{
            f"GIT_{who}_{what}": "a@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    }
    done = subprocess.run(
        ["git", "-C", str(where), *arguments], env=environment, input=given, capture_output=True, check=False
    )
    return done.stdout


def make_repository(directory: Path) -> str:
    """One commit of what is there, one file changed after it; the commit's id."""
    (directory / "kept.txt").write_text("kept", encoding="utf-8")
    run_git(directory, "init", "-q", ".")
    run_git(directory, "add", "-A")
    run_git(directory, "commit", "-q", "-m", "one")
    (directory / "kept.txt").write_text("KEPT", encoding="utf-8")  # as long: git has to read it
    os.utime(directory / "kept.txt", (2_000_000_000, 2_000_000_000))
    return run_git(directory, "rev-parse", "HEAD").decode().strip()


def plant_trick(repository: Path, trick: GitTrick, trap: Trap) -> None:
    plant_tricks(repository, (trick,), trap)


def plant_every_trick(repository: Path, trap: Trap, *, but: tuple[str, ...] = ()) -> None:
    plant_tricks(repository, tuple(trick for trick in GIT_TRICKS if trick.name not in but), trap)
    _plant_repositories_inside(repository, trap)


def plant_tricks(repository: Path, tricks: tuple[GitTrick, ...], trap: Trap) -> None:
    inside = repository / ".git"
    included, hooks = inside / "included", inside / "planted-hooks"
    hooks.mkdir()
    for name in HOOKS:
        trap.plant_program(hooks / name)
        trap.plant_program(inside / "hooks" / name)
    monitor = f"[core]\nfsmonitor = {trap.program}\n"
    included.write_text(monitor, encoding="utf-8")
    (inside / "config.worktree").write_text(monitor, encoding="utf-8")
    run_git(repository, "init", "-q", "--bare", str(inside / "other"))
    (inside / "objects" / "info" / "alternates").write_text(f"{inside}/other/objects\n", encoding="utf-8")
    names: Mapping[str, str] = {
        "PROGRAM": str(trap.program),
        "HOOKS": str(hooks),
        "INCLUDED": str(included),
        "REPOSITORY": str(repository),
    }
    config = "\n".join(trick.config for trick in tricks)
    for name, value in names.items():
        config = config.replace(name, value)
    with (inside / "config").open("a", encoding="utf-8") as file:
        file.write(config + "\n")
    attributes = "".join(f"{trick.attributes}\n" for trick in tricks if trick.attributes)
    (repository / ".gitattributes").write_text(attributes, encoding="utf-8")


def _plant_repositories_inside(repository: Path, trap: Trap) -> None:
    """One that is bare by its looks, which git would take for the repository there; and a plain one."""
    bare = repository / "bare"
    run_git(repository, "init", "-q", "--bare", str(bare))
    nested = repository / "nested"
    run_git(repository, "init", "-q", str(nested))
    for config in (bare / "config", nested / ".git" / "config"):
        with config.open("a", encoding="utf-8") as file:
            file.write(f"[core]\nbare = false\nworktree = {repository}\nfsmonitor = {trap.program}\n")
