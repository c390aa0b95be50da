"""The cache of summaries saves reading and nothing else: deleted, damaged or stale, no answer changes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

import pytest

from handrail.contract.workflow_files import WorkflowFile
from handrail.host import workflow_library
from handrail.host.workflow_library import SummaryCache
from handrail.workflows.catalog import Catalog, build_catalog


def file(name: str, prompt: str = "Do it.") -> WorkflowFile:
    document = {
        "id": f"project.{name}",
        "name": name,
        "description": "What it is for.",
        "inputs": {"path": {"type": "string"}},
        "steps": [{"id": "only", "title": "Only", "prompt": prompt}],
    }
    return WorkflowFile(
        source_kind="project", source_ref=f"{name}.json", content=json.dumps(document).encode()
    )


FILES = [
    file("one"),
    file("two"),
    WorkflowFile(source_kind="project", source_ref="broken.json", content=b"{"),
    WorkflowFile(source_kind="git", source_ref="r", content=b"", trouble="Not here.", remedy="Fetch it."),
    WorkflowFile(source_kind="project", source_ref="c.json", content=b"{}", holds="contract"),
]
READABLE = 4
"""All but the one that a source could not deliver: it has no content to read."""


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many files were read since the last question."""
    contents: list[bytes] = []

    summarise = workflow_library._summary

    def counted(file: WorkflowFile) -> bytes:
        contents.append(file.content)
        return summarise(file)

    def since() -> int:
        count = len(contents)
        contents.clear()
        return count

    monkeypatch.setattr(workflow_library, "_summary", counted)
    return since


def listed(home: str, files: list[WorkflowFile] = FILES) -> Catalog:
    return build_catalog(SummaryCache(home).with_summaries(files))


def cache_files(home: str) -> list[str]:
    directory = os.path.join(home, "data", "cache", "workflows")
    return sorted(os.path.join(directory, name) for name in os.listdir(directory))


def test_a_listing_is_the_same_with_and_without_the_cache(home: str) -> None:
    without = build_catalog(FILES)

    assert listed(home) == without
    assert listed(home) == without


def test_what_was_read_once_is_not_read_again(home: str, read: Callable[[], int]) -> None:
    listed(home)
    first = read()
    listed(home)

    assert first == READABLE
    assert read() == 0


def test_only_changed_files_are_read_again(home: str, read: Callable[[], int]) -> None:
    listed(home)
    read()
    changed = [file("one", "Do it better."), *FILES[1:]]

    assert listed(home, changed) == build_catalog(changed)
    assert read() == 1


def test_equal_files_are_read_once(home: str, read: Callable[[], int]) -> None:
    listed(home, [file("one"), file("one")])

    assert read() == 1


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"x": 3}', b"\xff\xfe", b'{"a": {"id": 4}}'])
def test_a_damaged_cache_is_ignored_and_replaced(home: str, read: Callable[[], int], damage: bytes) -> None:
    listed(home)
    read()
    (path,) = cache_files(home)
    with open(path, "wb") as cache:
        cache.write(damage)

    assert listed(home) == build_catalog(FILES)
    assert read() == READABLE
    listed(home)
    assert read() == 0


def test_entries_with_a_damaged_summary_are_read_again(home: str) -> None:
    listed(home)
    (path,) = cache_files(home)
    with open(path, "rb") as cache:
        table = json.load(cache)
    with open(path, "w", encoding="utf-8") as cache:
        json.dump({digest: {"id": 3} for digest in table}, cache)

    assert listed(home) == build_catalog(FILES)


def test_a_deleted_cache_is_made_again(home: str, read: Callable[[], int]) -> None:
    listed(home)
    read()
    os.unlink(cache_files(home)[0])

    listed(home)

    assert read() == READABLE
    assert len(cache_files(home)) == 1


def test_another_reader_replaces_the_cache(
    home: str, read: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another reader makes another cache and removes the old one."""
    listed(home)
    read()
    before = cache_files(home)
    monkeypatch.setattr(workflow_library, "_reader_version", lambda: "another")

    listed(home)

    assert read() == READABLE
    assert len(cache_files(home)) == 1
    assert cache_files(home) != before


def test_a_cache_that_cannot_be_written_stops_no_listing(home: str) -> None:
    os.makedirs(home)
    with open(os.path.join(home, "data"), "wb"):
        pass

    assert listed(home) == build_catalog(FILES)


def test_the_cache_is_private_and_leaves_nothing_half_written(home: str) -> None:
    listed(home)

    (path,) = cache_files(home)
    assert os.stat(path).st_mode & 0o777 == 0o600


def test_the_cache_does_not_grow_without_end(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workflow_library, "MOST_ENTRIES", 4)
    for number in range(4):
        listed(home, [file(f"w{number}"), file(f"v{number}")])

    (path,) = cache_files(home)
    with open(path, "rb") as cache:
        assert len(json.load(cache)) <= 4
