"""The hashes that must not change unseen: small sources in this folder, and every bundled workflow.

Run `python -m tests.golden.hashes_of` to write them anew after a change that is meant to change them.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from handrail.host.workflow_library import DirectoryLibrary
from handrail.operations.workflow_catalog import compile_entry, find_workflow
from handrail.workflows.catalog import build_catalog
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.reading.reader import read_workflow

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hashes")
BUNDLED = os.path.join(FOLDER, "bundled.json")


def small_sources() -> dict[str, dict[str, Any]]:
    """File name to its content: a source and the hash that it has."""
    names = sorted(name for name in os.listdir(FOLDER) if name.endswith(".json") and name != "bundled.json")
    return {name: read(os.path.join(FOLDER, name)) for name in names}


def hash_of(source: dict[str, Any]) -> str:
    reading = read_workflow(json.dumps(source).encode())
    assert reading.workflow is not None, reading.problems
    done = compile_workflow(reading.workflow)
    assert done.pinned is not None, done.problems
    return done.pinned.workflow_hash


def bundled_hashes(home: str) -> dict[str, str]:
    """Id to hash of every bundled workflow and routine; `home` is an empty directory."""
    catalog = build_catalog(
        file for file in DirectoryLibrary(home, {}).files(home) if file.source_kind == "bundled"
    )
    hashes: dict[str, str] = {}
    for entry in catalog.entries:
        done = compile_entry(catalog, *find_workflow(catalog, entry.id))
        assert done.pinned is not None, done.problems
        hashes[entry.id] = done.pinned.workflow_hash
    return hashes


def read(path: str) -> dict[str, Any]:
    with open(path, encoding="utf-8") as file:
        content: dict[str, Any] = json.load(file)
    return content


def write(path: str, content: dict[str, Any]) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def main() -> None:
    for name, held in small_sources().items():
        write(os.path.join(FOLDER, name), held | {"workflowHash": hash_of(held["source"])})
    with tempfile.TemporaryDirectory() as home:
        write(BUNDLED, bundled_hashes(home))


if __name__ == "__main__":
    main()
