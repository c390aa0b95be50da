"""The tests read and compile what is bundled once in a process: thousands of runs would do it anew."""

from __future__ import annotations

from msgspec.structs import replace

from handrail.host import workflow_library
from handrail.operations import workflow_catalog
from handrail.runtime.runtime import Runtime
from handrail.workflows.catalog import Catalog
from tests.conftest import library_of, memory_runtime


def with_bundled(runtime: Runtime) -> Catalog:
    library_of(runtime).held = list(workflow_library.list_bundled_files())
    return workflow_catalog.load_catalog(runtime, "")


def test_a_bundled_workflow_is_compiled_once_whoever_asks() -> None:
    first, second = with_bundled(memory_runtime()), with_bundled(memory_runtime())

    compiled = [
        workflow_catalog.compile_entry(catalog, *workflow_catalog.find_workflow(catalog, "wr.small_change"))
        for catalog in (first, second)
    ]

    assert compiled[0].pinned is not None
    assert compiled[1] is compiled[0]


def test_the_same_file_among_other_neighbours_is_compiled_anew() -> None:
    whole, alone = with_bundled(memory_runtime()), with_bundled(memory_runtime())
    entry, source = workflow_catalog.find_workflow(whole, "wr.small_change")
    few = [one for one in alone.entries if one.id == entry.id]

    with_routines = workflow_catalog.compile_entry(whole, entry, source)
    without = workflow_catalog.compile_entry(replace(alone, entries=few), entry, source)

    assert with_routines is not without
