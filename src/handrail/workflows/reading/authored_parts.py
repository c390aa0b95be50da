"""The parts of a document that may still be broken: walked without trusting any shape. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import msgspec

from handrail.contract.outcome import Json
from handrail.workflows.limits import MAX_LOOP_DEPTH, MAX_PARTS
from handrail.workflows.reading.findings import Findings, child


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A part as it stands in the document; `depth` counts the loops around it."""

    value: dict[str, Json]
    pointer: str
    depth: int

    @property
    def is_loop(self) -> bool:
        return isinstance(self.value.get("body"), list)


def check_size(found: Findings, document: dict[str, Json]) -> None:
    """Report a workflow with too many parts or loops too deep, and close what would be endless to look at."""
    for number, part in enumerate(_parts(document), 1):
        if number > MAX_PARTS:
            fix = "Split the workflow, or move repeated work into a loop."
            found.report("too_large", "/steps", f"The workflow has more than {MAX_PARTS} parts.", fix)
            found.closed.add("/steps")
            return
        if part.is_loop and part.depth >= MAX_LOOP_DEPTH:
            message = f"Loops are nested more than {MAX_LOOP_DEPTH} deep here."
            fix = "Move the inner loops into a routine, or give their work to one step."
            found.report("too_large", part.pointer, message, fix)
            found.closed.add(part.pointer)


def named_ids(document: dict[str, Json]) -> list[tuple[str, str]]:
    """Ids that share one namespace, with their pointers: conditions, then parts in their order."""
    conditions = document.get("conditions")
    ids = [
        (one["id"], f"/conditions/{index}/id")
        for index, one in enumerate(conditions if isinstance(conditions, list) else ())
        if isinstance(one, dict) and isinstance(one.get("id"), str)
    ]
    for part in islice(_parts(document), MAX_PARTS):
        key = "loopId" if "loopId" in part.value else "id"
        if isinstance(part.value.get(key), str):
            ids.append((part.value[key], child(part.pointer, key)))
    return ids


def _parts(document: dict[str, Json]) -> Iterator[Written]:
    """Every part, in the order of the file; inside loops that are nested too deep nothing is looked at."""
    waiting = [_written(document.get("steps"), "/steps", 0)]
    while waiting:
        part = next(waiting[-1], None)
        if part is None:
            waiting.pop()
            continue
        yield part
        if part.is_loop and part.depth < MAX_LOOP_DEPTH:
            waiting.append(_written(part.value["body"], child(part.pointer, "body"), part.depth + 1))


def _written(parts: Json, pointer: str, depth: int) -> Iterator[Written]:
    for index, part in enumerate(parts if isinstance(parts, list) else ()):
        if isinstance(part, dict):
            yield Written(value=part, pointer=child(pointer, index), depth=depth)
