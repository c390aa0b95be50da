"""The places of each manager, in its order: uv is really asked, and pip's answers are typed in by hand."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from handrail.host.program import updates
from handrail.host.program.updates import PUBLIC_INDEX, Manager, index_sources

A, B, C, D = (f"https://{name}.example.org/simple" for name in "abcd")
Told = list[str]


def places(manager: Manager, environment: dict[str, str], folder: Path, **more: Any) -> Told:
    home = {"HOME": str(folder), "PATH": os.environ["PATH"], "UV_CACHE_DIR": str(folder / "cache")}
    choice = index_sources(manager, {**home, **environment}, **more)
    assert choice.takes_first is (manager == "uv")
    return [one.url for one in choice.sources]


UV: list[tuple[str, dict[str, str], Told]] = [
    ("nothing", {}, [PUBLIC_INDEX]),
    ("the older name", {"UV_INDEX_URL": B}, [B]),
    ("a name before the address", {"UV_DEFAULT_INDEX": f"internal={A}"}, [A]),
    (
        "others stand before the default",
        {"UV_INDEX": f"one={A} {B}", "UV_EXTRA_INDEX_URL": C, "UV_DEFAULT_INDEX": D},
        [A, B, C, D],
    ),
    ("no index at all", {"UV_NO_INDEX": "true", "UV_DEFAULT_INDEX": A}, []),
    ("a directory", {"UV_FIND_LINKS": "/"}, ["/", PUBLIC_INDEX]),
    ("pip's variables are not uv's", {"PIP_INDEX_URL": A}, [PUBLIC_INDEX]),
    ("a checkout names none", {"PWD": "/"}, [PUBLIC_INDEX]),
]


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
@pytest.mark.parametrize(("_", "environment", "expected"), UV, ids=[one[0] for one in UV])
def test_uv_tells_its_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _: str, environment: dict[str, str], expected: Told
) -> None:
    (tmp_path / "uv.toml").write_text('index-url = "https://hostile.example.org"\n', encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    assert places("uv", environment, tmp_path / "home") == expected


@pytest.mark.skipif(shutil.which("uv") is None, reason="uv is not installed")
def test_uv_reads_its_file_and_a_receipt_wins_over_it_but_not_over_a_variable(tmp_path: Path) -> None:
    (tmp_path / "uv.toml").write_text(f'[[index]]\nurl = "{C}"\ndefault = true\n', encoding="utf-8")
    named = {"UV_CONFIG_FILE": str(tmp_path / "uv.toml")}
    receipt = {"options": {"index": [{"url": A, "default": True}, {"url": B}], "find-links": ["/"]}}

    assert places("uv", named, tmp_path) == [C]
    assert places("uv", named, tmp_path, receipt=receipt) == ["/", B, A]
    assert places("uv", {"UV_INDEX_URL": D}, tmp_path, receipt=receipt) == ["/", B, D]
    assert places("uv", {}, tmp_path, receipt={"options": {"index-url": B, "extra-index-url": [A]}}) == [A, B]


def test_a_place_has_the_name_of_who_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    printed = f":env:.index-url='{A}'\nglobal.extra-index-url='{B}'\nglobal.find-links='{PUBLIC_INDEX}'\n"
    monkeypatch.setattr(updates, "_run", lambda *_: printed)

    choice = index_sources("pip", {"PIP_INDEX_URL": A, "UV_INDEX": B})

    assert [one.named_by for one in choice.sources] == ["PIP_INDEX_URL", "pip", "nobody"]


def test_uv_can_be_told_to_compare_every_index() -> None:
    assert not index_sources("uv", {"PATH": "", "UV_INDEX_STRATEGY": "unsafe-best-match"}).takes_first


def test_a_manager_that_is_not_there_names_nothing() -> None:
    assert [one.url for one in index_sources("uv", {"PATH": ""}).sources] == [PUBLIC_INDEX]


PIP: list[tuple[str, str, Told]] = [
    ("nothing", "", [PUBLIC_INDEX]),
    ("the command wins", f"global.index-url='{A}'\ninstall.index-url='{B}'\n", [B]),
    ("variables win", f"install.index-url='{A}'\n:env:.index-url='{B}'\nglobal.cert='/c'\n", [B]),
    ("others after the default", f"global.extra-index-url='\\n{B}\\n{C}'\n", [PUBLIC_INDEX, B, C]),
    ("an empty one says nothing", f":env:.index-url=' '\nglobal.index-url='{A}'\n", [A]),
    ("directories only", ":env:.no-index='1'\n:env:.find-links='/x /y'\n", ["/x", "/y"]),
    ("what makes no sense", "?\nglobal.index-url=[\n", [PUBLIC_INDEX]),
]


@pytest.mark.parametrize(("_", "printed", "expected"), PIP, ids=[one[0] for one in PIP])
def test_pip_tells_its_places(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _: str, printed: str, expected: Told
) -> None:
    asked: list[Sequence[str]] = []

    def run(argv: Sequence[str], environment: object) -> str:
        asked.append(argv[-4:])
        return printed

    monkeypatch.setattr(updates, "_run", run)

    assert places("pip", {}, tmp_path) == expected
    assert asked == [("-m", "pip", "config", "list")]


@pytest.mark.parametrize("arguments", [("--index-url", B), (f"--index-url={B}",), ("-i", B)])
def test_what_pipx_passes_on_each_time_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setattr(updates, "_run", lambda *_: f":env:.index-url='{A}'\n")

    assert places("pip", {}, tmp_path, arguments=(*arguments, "--extra-index-url", C)) == [B, C]
