"""The examples that fixes show for missing keys."""

from __future__ import annotations

from handrail.workflows.problem import Findings
from handrail.workflows.reading.grammar import SHAPES
from handrail.workflows.reading.shape_check import EXAMPLES, check_shape
from handrail.workflows.reading.shapes import Anything, Record, Word


def test_every_key_that_can_be_missing_has_an_example_that_fits() -> None:
    lacking = []
    for record in SHAPES.values():
        for name, key in record.keys.items() if isinstance(record, Record) else ():
            if not key.is_required or isinstance(key.shape, Word | Anything):
                continue
            trials = [Findings() for _ in EXAMPLES.get(name, ())]
            for trial, made in zip(trials, EXAMPLES.get(name, ()), strict=True):
                check_shape(trial, key.shape, made, "")
            if all(trial.problems for trial in trials):
                lacking.append(name)

    assert lacking == []
