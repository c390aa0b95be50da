"""Workflows of installed packages: only those that the config names, and none that stops the others."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import pytest

from handrail.contract.workflow_files import WorkflowFile
from handrail.host.workflow_sources import named


def offers_two() -> dict[str, bytes]:
    return {"b.json": b"{b}", "a.json": b"{a}"}


def offers_text() -> dict[str, str]:
    return {"a.json": "{}"}


def fails() -> dict[str, bytes]:
    raise RuntimeError("no network")


def huge() -> dict[str, bytes]:
    return {"huge.json": b"x" * 1_200_000}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """Five packages that offer something; gives the names of those that were looked at."""
    looked: list[str] = []
    points = [
        EntryPoint(name=name, value=f"{__name__}:{name}", group=named.GROUP)
        for name in ("offers_two", "offers_text", "fails", "huge", "offers_nothing")
    ]

    def load(point: EntryPoint) -> Any:
        looked.append(point.name)
        return globals()[point.name]

    monkeypatch.setattr(EntryPoint, "load", load)
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: points if group == named.GROUP else []
    )
    return lambda: looked


def only(files: list[WorkflowFile]) -> WorkflowFile:
    (file,) = files
    return file


def test_named_plugin_gives_its_files_and_no_other_loads(
    installed: Callable[[], list[str]],
) -> None:
    files = named.read_plugin_files(("offers_two", "offers_two"))

    assert [(file.source_kind, file.source_ref, file.content) for file in files] == [
        ("plugin", "offers_two/a.json", b"{a}"),
        ("plugin", "offers_two/b.json", b"{b}"),
    ]
    assert installed() == ["offers_two"]


def test_missing_plugin_is_told_with_the_nearest_name(
    installed: Callable[[], list[str]],
) -> None:
    file = only(named.read_plugin_files(("ofers_two",)))

    assert file.trouble == 'config.json names the plugin "ofers_two", which is not installed.'
    assert file.remedy == "Did you mean offers_two?"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fails", 'failed with RuntimeError: "no network".'),
        ("offers_nothing", "failed with KeyError"),
        ("offers_text", "does not return file names with their bytes."),
    ],
)
def test_a_plugin_that_fails_is_told_and_stops_no_other(
    installed: Callable[[], list[str]], name: str, words: str
) -> None:
    first, *others = named.read_plugin_files((name, "offers_two"))

    assert words in first.trouble
    assert len(others) == 2


def test_a_huge_file_is_given_just_beyond_the_limit(installed: Callable[[], list[str]]) -> None:
    assert len(only(named.read_plugin_files(("huge",))).content) == 1_000_001
