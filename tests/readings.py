"""Reading and compiling a workflow file depends on bytes alone, so a process of tests does it once.

The bundled files and the modules that read them lie where the program does and stay as they are, so they are
looked at once too; and what a registry says of its commands, half a second's work, is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

import msgspec

from handrail.host import workflow_library
from handrail.operations import workflow_catalog
from handrail.operations.workflows import examine_workflows
from handrail.surfaces.cli.self_description import reference
from handrail.surfaces.cli.self_description.reference_data import cli_reference
from handrail.workflows import catalog
from handrail.workflows.catalog import Catalog, CatalogEntry
from handrail.workflows.compiling.compilation import Compilation
from handrail.workflows.limits import Spelling
from handrail.workflows.model import SourceWorkflow
from handrail.workflows.reading.reader import BaseDocument, Reading

MOST_KEPT = 128


@dataclass(frozen=True)
class CompileCall:
    """One call of the compiler; what its answer depends on is its name."""

    files: tuple[object, ...]
    held: Catalog = field(compare=False)
    entry: CatalogEntry = field(compare=False)
    source: SourceWorkflow = field(compare=False)


def share_readings(put: Callable[[Any, str, object], None]) -> None:
    """Whoever reads or compiles a file in this process gets what the first one got; `put` is `setattr`."""
    read_anew = catalog.read_checked
    read_kept = lru_cache(maxsize=MOST_KEPT)(read_anew)
    compile_anew = workflow_catalog.compile_entry
    compile_kept = lru_cache(maxsize=MOST_KEPT)(lambda call: compile_anew(call.held, call.entry, call.source))

    def read_checked(
        content: bytes, spelling: Spelling = "json", decoded: bytes = b"", base: BaseDocument | None = None
    ) -> Reading:
        kept: Reading = read_kept(content, spelling, decoded)
        return kept if base is None else read_anew(content, spelling, decoded, base)

    def compile_entry(held: Catalog, entry: CatalogEntry, source: SourceWorkflow) -> Compilation:
        read = None if entry.base else read_checked(entry.content, entry.spelling, entry.decoded)
        if read is None or source is not read.workflow:
            return compile_anew(held, entry, source)
        files = (
            (entry.source_kind, entry.spelling, entry.content),
            tuple((one.source_kind, one.id, one.is_usable, one.content) for one in held.entries),
            msgspec.msgpack.encode((held.contracts, held.broken_contracts, held.operations is None)),
        )
        compiled: Compilation = compile_kept(CompileCall(files, held, entry, source))
        return compiled

    put(workflow_library, "list_bundled_files", cache(workflow_library.list_bundled_files))
    put(workflow_library, "_reader_version", cache(workflow_library._reader_version))
    put(reference, "cli_reference", cache(cli_reference))
    for module in (catalog, workflow_catalog):
        put(module, "read_checked", read_checked)
    for module in (workflow_catalog, examine_workflows):
        put(module, "compile_entry", compile_entry)
