"""The places of each manager, in its order, as its documentation has it; typed in by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handrail.host.program.index_sources import PUBLIC_INDEX, Manager, index_sources

A, B, C, D = (f"https://{name}.example.org/simple" for name in "abcd")
Told = list[tuple[str, str]]


def places(manager: Manager, environment: dict[str, str], folder: Path, **more: Any) -> tuple[Told, bool]:
    home = {"HOME": str(folder / "home"), "XDG_CONFIG_DIRS": str(folder / "xdg")}
    choice = index_sources(manager, {**home, **environment}, prefix=str(folder / "prefix"), **more)
    return [(one.url, one.named_by) for one in choice.sources], choice.takes_first


def write(path: Path, text: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


UV: list[tuple[str, dict[str, str], Told]] = [
    ("nothing", {}, [(PUBLIC_INDEX, "nobody")]),
    ("the newer name wins", {"UV_DEFAULT_INDEX": A, "UV_INDEX_URL": B}, [(A, "UV_DEFAULT_INDEX")]),
    ("the older name", {"UV_INDEX_URL": B}, [(B, "UV_INDEX_URL")]),
    ("a name before the address", {"UV_DEFAULT_INDEX": f"internal={A}"}, [(A, "UV_DEFAULT_INDEX")]),
    (
        "others stand before the default",
        {"UV_INDEX": f"one={A} {B}", "UV_EXTRA_INDEX_URL": C, "UV_DEFAULT_INDEX": D},
        [(A, "UV_INDEX"), (B, "UV_INDEX"), (C, "UV_EXTRA_INDEX_URL"), (D, "UV_DEFAULT_INDEX")],
    ),
    ("an address with a question", {"UV_DEFAULT_INDEX": f"{A}?key=x"}, [(f"{A}?key=x", "UV_DEFAULT_INDEX")]),
    (
        "directories instead of an index",
        {"UV_FIND_LINKS": "/wheels,/more", "UV_NO_INDEX": "true", "UV_DEFAULT_INDEX": A},
        [("/wheels", "UV_FIND_LINKS"), ("/more", "UV_FIND_LINKS")],
    ),
    ("pip's variables are not uv's", {"PIP_INDEX_URL": A}, [(PUBLIC_INDEX, "nobody")]),
]


@pytest.mark.parametrize(("_", "environment", "expected"), UV, ids=[one[0] for one in UV])
def test_uv_has_its_places_from_variables(
    tmp_path: Path, _: str, environment: dict[str, str], expected: Told
) -> None:
    assert places("uv tool", environment, tmp_path) == (expected, True)


def test_uv_can_be_told_to_compare_every_index(tmp_path: Path) -> None:
    told, takes_first = places("uv tool", {"UV_INDEX": A, "UV_INDEX_STRATEGY": "unsafe-best-match"}, tmp_path)

    assert (told, takes_first) == ([(PUBLIC_INDEX, "nobody"), (A, "UV_INDEX")], False)


def test_a_receipt_stands_between_the_variables_and_the_files_of_uv(tmp_path: Path) -> None:
    write(
        tmp_path / "home/.config/uv/uv.toml",
        f'[[index]]\nurl = "{C}"\ndefault = true\n[[index]]\nurl = "{D}"\n',
    )
    receipt = {"options": {"index": [{"url": A, "default": True}, {"url": B}]}}

    from_receipt, _ = places("uv tool", {}, tmp_path, receipt=receipt)
    from_variable, _ = places("uv tool", {"UV_INDEX_URL": D}, tmp_path, receipt=receipt)
    older, _ = places("uv tool", {}, tmp_path, receipt={"options": {"index-url": B, "extra-index-url": [A]}})

    assert from_receipt == [(B, "the receipt of uv"), (D, "uv.toml"), (A, "the receipt of uv")]
    assert from_variable[-1] == (D, "UV_INDEX_URL")
    assert [url for url, _ in older] == [A, D, B]


def test_a_file_of_the_user_wins_over_one_of_the_machine_and_a_named_one_over_both(tmp_path: Path) -> None:
    table = (
        '[[index]]\nurl = "{}"\ndefault = true\n[[index]]\nurl = "https://x.example.org"\nexplicit = true\n'
    )
    write(tmp_path / "xdg/uv/uv.toml", table.format(A))
    of_the_machine, _ = places("uv tool", {}, tmp_path)
    write(tmp_path / "home/.config/uv/uv.toml", table.format(B))
    of_the_user, _ = places("uv tool", {}, tmp_path)
    named = write(tmp_path / "own.toml", f'index-url = "{C}"\n')

    assert of_the_machine == [(A, "uv.toml")]
    assert of_the_user == [(B, "uv.toml")]
    assert places("uv tool", {"UV_CONFIG_FILE": named}, tmp_path)[0] == [(C, "own.toml")]
    assert places("uv tool", {"UV_NO_CONFIG": "1"}, tmp_path)[0] == [(PUBLIC_INDEX, "nobody")]


def test_only_what_installs_like_pip_reads_the_table_of_that_name(tmp_path: Path) -> None:
    own = write(tmp_path / "own.toml", f'index-url = "{A}"\n[pip]\nindex-url = "{B}"\n')

    assert places("uv pip", {"UV_CONFIG_FILE": own}, tmp_path)[0] == [(B, "own.toml")]
    assert places("uv tool", {"UV_CONFIG_FILE": own}, tmp_path)[0] == [(A, "own.toml")]


@pytest.mark.parametrize(
    "text", ["index-url = [", "\0", "index = 7\nindex-url = {a = 1}\nfind-links = [1]\n", "["]
)
def test_a_file_that_makes_no_sense_says_nothing(tmp_path: Path, text: str) -> None:
    own = write(tmp_path / "own.toml", text)
    write(tmp_path / "prefix/pip.conf", text)

    assert places("uv tool", {"UV_CONFIG_FILE": own}, tmp_path)[0] == [(PUBLIC_INDEX, "nobody")]
    assert places("pip", {}, tmp_path)[0] == [(PUBLIC_INDEX, "nobody")]


def test_a_missing_file_says_nothing(tmp_path: Path) -> None:
    nowhere = {"UV_CONFIG_FILE": str(tmp_path / "none"), "PIP_CONFIG_FILE": str(tmp_path / "none")}

    assert places("uv tool", nowhere, tmp_path)[0] == places("pip", nowhere, tmp_path)[0]


def test_pip_lets_later_files_win_and_the_section_of_the_command_over_all_of_them(tmp_path: Path) -> None:
    write(tmp_path / "xdg/pip/pip.conf", f"[global]\nindex-url = {A}\nextra-index-url =\n    {B}\n    {C}\n")
    of_the_machine = places("pip", {}, tmp_path)
    write(tmp_path / "home/.pip/pip.conf", f"[global]\nindex-url = {B}\n")
    of_old = places("pip", {}, tmp_path)[0][0]
    write(tmp_path / "home/.config/pip/pip.conf", f"[global]\nindex-url = {C}\n")
    of_the_user = places("pip", {}, tmp_path)[0][0]
    write(tmp_path / "prefix/pip.conf", f"[global]\nindex-url = {D}\n")
    of_the_site = places("pip", {}, tmp_path)[0][0]
    write(tmp_path / "xdg/pip/pip.conf", f"[install]\nindex-url = {A}\n")
    of_the_command = places("pip", {}, tmp_path)[0][0]

    assert of_the_machine == ([(A, "pip.conf"), (B, "pip.conf"), (C, "pip.conf")], False)
    assert [of_old, of_the_user, of_the_site, of_the_command] == [(one, "pip.conf") for one in (B, C, D, A)]


def test_a_file_that_pip_is_told_of_stands_in_for_the_users_and_wins_over_the_site(tmp_path: Path) -> None:
    write(tmp_path / "home/.config/pip/pip.conf", f"[global]\nextra-index-url = {A}\n")
    write(tmp_path / "prefix/pip.conf", f"[global]\nindex-url = {B}\n")
    named = write(tmp_path / "named.conf", f"[global]\nindex-url = {C}\n")

    assert places("pip", {"PIP_CONFIG_FILE": named}, tmp_path)[0] == [(C, "pip.conf")]
    assert places("pip", {"PIP_CONFIG_FILE": "/dev/null"}, tmp_path)[0] == [(PUBLIC_INDEX, "nobody")]


PIP: list[tuple[str, dict[str, str], Told]] = [
    ("variables win", {"PIP_INDEX_URL": B}, [(B, "PIP_INDEX_URL"), (C, "pip.conf")]),
    (
        "each option for itself",
        {"PIP_EXTRA_INDEX_URL": f"{B} {D}"},
        [(A, "pip.conf"), (B, "PIP_EXTRA_INDEX_URL"), (D, "PIP_EXTRA_INDEX_URL")],
    ),
    ("an empty one says nothing", {"PIP_INDEX_URL": " "}, [(A, "pip.conf"), (C, "pip.conf")]),
    (
        "directories only",
        {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/x /y"},
        [("/x", "PIP_FIND_LINKS"), ("/y", "PIP_FIND_LINKS")],
    ),
    ("uv's variables are not pip's", {"UV_DEFAULT_INDEX": D}, [(A, "pip.conf"), (C, "pip.conf")]),
]


@pytest.mark.parametrize(("_", "environment", "expected"), PIP, ids=[one[0] for one in PIP])
def test_pip_has_its_places_from_variables_before_files(
    tmp_path: Path, _: str, environment: dict[str, str], expected: Told
) -> None:
    write(tmp_path / "prefix/pip.conf", f"[global]\nindex-url = {A}\nextra-index-url = {C}\n")

    assert places("pip", environment, tmp_path) == (expected, False)


@pytest.mark.parametrize("arguments", [("--index-url", B), (f"--index-url={B}",), ("-i", B)])
def test_what_pipx_passes_on_each_time_wins(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    told, _ = places("pip", {"PIP_INDEX_URL": A}, tmp_path, arguments=(*arguments, "--extra-index-url", C))

    assert told == [(B, "the arguments of pipx"), (C, "the arguments of pipx")]
