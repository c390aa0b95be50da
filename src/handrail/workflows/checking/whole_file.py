"""One file as those see it who list, validate and start it: read, and every name in it accounted for. Pure.

The reader alone accepts more: what was pinned under an older rule is still read.
"""

from __future__ import annotations

import msgspec

from handrail.workflows.checking.names import check_names
from handrail.workflows.places import with_places
from handrail.workflows.problem import Problem
from handrail.workflows.reading.findings import Findings
from handrail.workflows.reading.reader import Reading, read_workflow
from handrail.workflows.sound_edits import with_sound_edits


def read_checked(content: bytes) -> Reading:
    """The file with all its problems; without a workflow where one of them is an error."""
    reading = _read(content)
    if not reading.problems:
        return reading
    problems = with_sound_edits(content, reading.problems, _problems_of)
    return msgspec.structs.replace(reading, problems=problems)


def _problems_of(content: bytes) -> tuple[Problem, ...]:
    return _read(content).problems


def _read(content: bytes) -> Reading:
    reading = read_workflow(content)
    if reading.workflow is None or not isinstance(reading.document, dict):
        return reading
    found = Findings("warning" if reading.is_foreign else "error")
    check_names(found, reading.document, is_foreign=reading.is_foreign)
    if not found.problems:
        return reading
    if reading.is_foreign:
        # An edit of the translation says nothing about the file that the author has.
        told = [
            msgspec.structs.replace(one, pointer=reading.origin(one.pointer), edit=())
            for one in found.problems
        ]
    else:
        told = found.problems
    problems = with_places(content.decode(), (*reading.problems, *told))
    kept = reading.workflow if reading.is_foreign else None
    return msgspec.structs.replace(reading, workflow=kept, problems=problems)
