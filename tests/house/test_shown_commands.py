"""The commands in README and tutorial run as they stand and print what the page shows."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.cases import every_case
from tests.house.markdown import fenced_blocks
from tests.house.shown_commands import PAGES, ScratchShell, filled, filled_page, steady
from tests.house.tree import markdown_files, page


@pytest.mark.promise("cli.pages-run")
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.thorough
def test_a_page_shows_what_its_commands_print(path: str) -> None:
    """If only the output changed, write it again with: python -m tests.house.shown_commands"""
    shown = page(path).text

    assert filled_page(path, shown) == shown


def test_outputs_replace_what_stood_below_each_command() -> None:
    text = textwrap.dedent(
        """\
        Save this as `a/b.json`:

        ```json
        {"x": 1}
        ```

        ```console
        $ first
        old output
        $ second
        ```
        Prose stays.
        ```sh
        $ not a shown command
        ```
        """
    )
    saved: dict[str, str] = {}

    written = filled(text, saved.__setitem__, lambda command: f"did {command}\n")

    assert saved == {"a/b.json": '{"x": 1}\n'}
    assert written == textwrap.dedent(
        """\
        Save this as `a/b.json`:

        ```json
        {"x": 1}
        ```

        ```console
        $ first
        did first
        $ second
        did second
        ```
        Prose stays.
        ```sh
        $ not a shown command
        ```
        """
    )


def test_an_excerpt_keeps_the_lines_of_its_pattern_in_its_block_alone() -> None:
    block = "```console\n$ x\n```\n"

    written = filled(f"<!-- shown: ^b -->\n{block}{block}", lambda *_: None, lambda _: "a\nb\nab\n")

    assert written == "<!-- shown: ^b -->\n```console\n$ x\nb\n```\n```console\n$ x\na\nb\nab\n```\n"


def test_only_the_block_below_the_file_name_is_saved() -> None:
    text = "```json\n{}\n```\nSave this as `x`:\n```json\n[]\n```\n```json\n1\n```\n"
    saved: list[tuple[str, str]] = []

    filled(text, lambda path, content: saved.append((path, content)), lambda _: "")

    assert saved == [("x", "[]\n")]


@every_case(
    ("printed", "expected"),
    [
        ("ak1" + "0" * 53, "ak1…"),
        ("st1" + "z" * 46, "st1…"),
        ("ch1" + "0" * 53, "ch1…"),
        ("ak10 is short", "ak10 is short"),
        ("ses_zyxwvtsrqpnm", "ses_0123456789ab"),
        ('"run_count": 1', '"run_count": 1'),
        ('"duration_ms": 41', '"duration_ms": 0'),
        ("2031-01-02T03:04:05.678Z", "2026-11-15T09:30:00.000Z"),
        ("2031-01-02 03:04 UTC", "2026-11-15 09:30 UTC"),
    ],
)
def test_what_differs_each_time_is_shown_as_a_fixed_text(printed: str, expected: str) -> None:
    assert steady(printed) == expected


def test_a_placeholder_stands_for_the_newest_token(tmp_path: Path) -> None:
    shell = ScratchShell(str(tmp_path / "scratch"))
    older, newer = "ak1" + "2" * 53, "ak1" + "3" * 53
    shell.run(f"echo {older}")
    shell.run(f"echo {newer}")

    printed = shell.run("test ak1… = " + newer)

    assert printed == ""


def test_a_failing_command_shows_its_exit_status_and_its_errors(tmp_path: Path) -> None:
    shell = ScratchShell(str(tmp_path / "scratch"))

    printed = shell.run("echo wrong >&2; exit 3")

    assert printed == "wrong\n(exit 3)\n"


def test_saved_files_stand_in_the_folder_of_the_commands(tmp_path: Path) -> None:
    shell = ScratchShell(str(tmp_path / "scratch"))
    shell.save(".handrail/workflows/x.json", "{}\n")

    printed = shell.run("cat .handrail/workflows/x.json; pwd")

    assert printed == "{}\n~/first-run\n"


def python_blocks() -> list[tuple[str, str]]:
    return [
        (source.path, "\n".join(block.lines))
        for source in markdown_files()
        if source.path.startswith(("docs/how-to/", "docs/tutorial/"))
        for block in fenced_blocks(source.text)
        if block.language == "python"
    ]


@every_case(("path", "code"), python_blocks())
def test_python_in_a_page_runs(path: str, code: str) -> None:
    names: dict[str, object] = {}

    exec(compile(code, path, "exec"), names)

    assert len(names) > 1, "the block defines something"
