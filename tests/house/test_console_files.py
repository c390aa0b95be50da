"""The files of the Console: without markup of their own, and with one place that inserts HTML."""

from __future__ import annotations

import re
from pathlib import Path

STATIC = Path(__file__).parents[2] / "src/handrail_serve/static"


def test_one_module_inserts_markup_through_the_one_policy() -> None:
    sinks = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|createPolicy|document\.write|DOMParser|\beval\b"
    )

    found = {file.name for file in STATIC.glob("*.js") if sinks.search(file.read_text(encoding="utf-8"))}

    assert found == {"html.js"}


def test_the_shell_has_no_data_no_style_and_no_script_of_its_own() -> None:
    shell = (STATIC / "shell.html").read_text(encoding="utf-8")

    assert re.findall(r"<script[^>]*>", shell) == ['<script type="module" src="{{app.js}}">']
    assert "<style" not in shell
    assert not re.search(r"\s(?:style|on\w+)=", shell)
    assert not re.search(r"https?://", shell)


def test_no_file_asks_another_machine() -> None:
    for file in STATIC.iterdir():
        addresses = re.findall(r"https?://[^\s\"')]+", file.read_text(encoding="utf-8"))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, file.name
