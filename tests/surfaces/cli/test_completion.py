"""Completion scripts hold the whole table and work in the real shells, typed into on a terminal."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from handrail.surfaces.cli.reading.command_table import COMMANDS
from handrail.surfaces.cli.reading.parse import words_of
from handrail.surfaces.cli.self_description.completion import SHELLS, command_words
from tests.surfaces.cli.tool import DEADLINE_SECONDS, Tool
from tests.surfaces.cli.typist import Typist, bash_typist, zsh_typist

CASES = [
    # words, also after global flags with and without a value
    ("handrail ru", "run"),
    ("handrail run st", "start"),
    ("handrail --compact run st", "start"),
    ("handrail --format text run st", "start"),
    # flags, their own and global ones
    ("handrail --form", "--format"),
    ("handrail workflow list --ki", "--kind"),
    ("handrail session events x --compa", "--compact"),
    # closed sets
    ("handrail workflow list --kind r", "routine"),
    ("handrail --format te", "text"),
    ("handrail completion --shell f", "fish"),
    ("handrail hook PreCompa", "PreCompact"),
    ("handrail hook PreCompact cu", "cursor"),
    ("handrail reference --domain led", "ledger"),
    # everything else is a file
    ("handrail run continue --notes-file no", "notes.md"),
    ("handrail workflow validate a", "a file.json"),
    ("handrail workflow validate notes.md a", "a file.json"),
    ("handrail session import sub", "sub/"),
    ("handrail --project my", "my dir/"),
]
LISTED = [
    ("handrail run ", {"answer", "checkpoint", "close", "continue", "file", "start"}),
    ("handrail workflow list --kind ", {"routine", "workflow"}),
    ("handrail --format ", {"json", "text", "raw", "human"}),
]


@pytest.fixture(scope="module")
def scripts(tool: Tool) -> dict[str, str]:
    return {
        shell: tool.run("completion", "--shell", shell, "--format", "raw").out.decode() for shell in SHELLS
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder whose names need quotes."""
    made = tmp_path_factory.mktemp("typed")
    for name in ("my dir", "sub"):
        (made / name).mkdir()
    for name in ("a file.json", "notes.md", "sub/deep.json"):
        (made / name).write_text("{}", encoding="utf-8")
    return str(made)


def installed(scripts: dict[str, str], shell: str, path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(scripts[shell], encoding="utf-8")
    return str(path)


def environment(home: Path) -> dict[str, str]:
    """A home, and a `handrail` on PATH that leaves a mark if a key press starts it."""
    program = home / "bin" / "handrail"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch '{home}/started'\n", encoding="utf-8")
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ.get('PATH', os.defpath)}"
    return {"PATH": path, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def bash(scripts: dict[str, str], folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typist]:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    home = tmp_path_factory.mktemp("bash")
    typist = bash_typist(installed(scripts, "bash", home / "bash_completion"), folder, environment(home))
    yield typist
    typist.close()
    assert not (home / "started").exists()


@pytest.fixture(scope="module")
def zsh(scripts: dict[str, str], folder: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Typist]:
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed; apt-get install zsh brings it")
    home = tmp_path_factory.mktemp("zsh")
    typist = zsh_typist(installed(scripts, "zsh", home / "site" / "_handrail"), folder, environment(home))
    yield typist
    typist.close()
    assert not (home / "started").exists()


@pytest.fixture(scope="module")
def fish(
    scripts: dict[str, str], folder: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """What fish offers for every line, asked in one process; it loads the script by itself."""
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed; apt-get install fish brings it")
    home = tmp_path_factory.mktemp("fish")
    installed(scripts, "fish", home / "fish" / "completions" / "handrail.fish")
    asked = [line for line, _ in (*CASES, *LISTED)]
    offered = subprocess.run(
        ["fish", "-c", 'while read -l line; complete -C "$line"; echo END; end'],
        input="".join(line + "\n" for line in asked),
        capture_output=True,
        encoding="utf-8",
        cwd=folder,
        env=environment(home),
        timeout=DEADLINE_SECONDS,
        check=True,
    )
    assert offered.stderr == ""
    assert not (home / "started").exists()
    answers = offered.stdout.split("END\n")
    return {
        line: [one.partition("\t")[0] for one in answer.splitlines()]
        for line, answer in zip(asked, answers, strict=False)
    }


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_bash_completes(bash: Typist, line: str, expected: str) -> None:
    assert shlex.split(bash.after_tab(line))[-1] == expected


@pytest.mark.parametrize(("line", "expected"), CASES)
@pytest.mark.thorough
def test_zsh_completes(zsh: Typist, line: str, expected: str) -> None:
    assert shlex.split(zsh.after_tab(line))[-1] == expected


@pytest.mark.parametrize(("line", "expected"), CASES)
def test_fish_completes(fish: dict[str, list[str]], line: str, expected: str) -> None:
    assert fish[line] == [expected]


@pytest.mark.parametrize(("line", "expected"), LISTED)
def test_bash_lists_what_fits(bash: Typist, line: str, expected: set[str]) -> None:
    assert expected <= bash.listed(line)


@pytest.mark.thorough
@pytest.mark.parametrize(("line", "expected"), LISTED)
def test_zsh_lists_what_fits(zsh: Typist, line: str, expected: set[str]) -> None:
    assert expected <= zsh.listed(line)


@pytest.mark.parametrize(("line", "expected"), LISTED)
def test_fish_lists_what_fits(fish: dict[str, list[str]], line: str, expected: set[str]) -> None:
    assert expected == set(fish[line])


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_names_every_command_and_flag(scripts: dict[str, str], shell: str) -> None:
    script = scripts[shell]

    for path, command in COMMANDS.items():
        assert words_of(path) in script
        for param in command["params"]:
            assert not param["flag"] or param["flag"].removeprefix("--") in script
    assert "handrail reference" not in script  # a key press starts no process


def test_the_table_offers_groups_then_leaves_then_flags() -> None:
    words = command_words()

    assert set(words.after["run"]) == {
        "answer",
        "checkpoint",
        "close",
        "continue",
        "file",
        "start",
    }
    assert "--ack" in words.flags["run continue"]
    assert "--compact" in words.flags["run continue"]
    assert words.values[("", "--format")] == ("json", "text", "raw", "human")
    assert ("run continue", "--compact") not in words.values


def test_the_document_says_how_to_install_it(tool: Tool) -> None:
    data = tool.data("completion", "--shell", "fish")

    assert list(data) == ["shell", "install", "script"]
    assert data["install"].startswith("handrail completion --shell fish")
