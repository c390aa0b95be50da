"""Completion scripts hold the whole table and work in a real shell."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from handrail.surfaces.cli import _table
from handrail.surfaces.cli.completion import SHELLS, choices_after, words_after
from tests.surfaces.cli.tool import DEADLINE_SECONDS, Tool

CASES = [
    (["handrail", ""], ["run", "session", "workflow"]),
    (["handrail", "ru"], ["run"]),
    (["handrail", "run", ""], ["checkpoint", "continue", "start"]),
    (["handrail", "--compact", "run", "st"], ["start"]),
    (["handrail", "workflow", "list", "--ki"], ["--kind"]),
    (["handrail", "workflow", "list", "--kind", ""], ["routine", "workflow"]),
    (["handrail", "workflow", "list", "--format", "t"], ["text"]),
    (["handrail", "completion", "--shell", "f"], ["fish"]),
]


@pytest.fixture(scope="module")
def scripts(tool: Tool) -> dict[str, str]:
    return {
        shell: tool.run("completion", "--shell", shell, "--format", "raw").out.decode() for shell in SHELLS
    }


def completed(command: list[str], script: str) -> list[str]:
    finished = subprocess.run(
        command, input=script, capture_output=True, encoding="utf-8", timeout=DEADLINE_SECONDS, check=True
    )
    assert finished.stderr == ""
    return finished.stdout.split()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_bash_completes_words_flags_and_choices(
    scripts: dict[str, str], words: list[str], expected: list[str]
) -> None:
    listed = " ".join(f"'{word}'" for word in words)
    script = f"{scripts['bash']}\nCOMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _handrail\n"
    script += 'printf "%s\\n" "${COMPREPLY[@]}"\n'

    found = completed(["bash", "--norc", "--noprofile"], script)

    assert set(expected) <= set(found)
    assert all(one.startswith(words[-1]) for one in found)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_reads_the_script(scripts: dict[str, str]) -> None:
    subprocess.run(
        ["zsh", "-n"], input=scripts["zsh"], encoding="utf-8", timeout=DEADLINE_SECONDS, check=True
    )


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
@pytest.mark.parametrize(("words", "expected"), CASES)
def test_fish_completes_words_flags_and_choices(
    scripts: dict[str, str], words: list[str], expected: list[str]
) -> None:
    script = f"{scripts['fish']}\ncomplete -C '{' '.join(words)}'\n"

    assert set(expected) <= set(completed(["fish", "--no-config"], script))


@pytest.mark.parametrize("shell", SHELLS)
def test_every_script_names_every_command_and_flag(scripts: dict[str, str], shell: str) -> None:
    script = scripts[shell]

    for path, command in _table.COMMANDS.items():
        assert path in script
        for param in command["params"]:
            assert not param["flag"] or param["flag"].removeprefix("--") in script
    assert "handrail reference" not in script  # a key press starts no process


def test_the_table_offers_groups_then_leaves_then_flags() -> None:
    words = words_after()

    assert set(words["run"]) == {"checkpoint", "continue", "start"}
    assert "--ack" in words["run continue"]
    assert "--compact" in words["run continue"]
    assert choices_after()[("", "--format")] == ("json", "text", "raw", "human")


def test_the_document_says_how_to_install_it(tool: Tool) -> None:
    data = tool.data("completion", "--shell", "fish")

    assert list(data) == ["shell", "install", "script"]
    assert data["install"].startswith("handrail completion --shell fish")
