"""Where a run stands, and how a step instance is named."""

from __future__ import annotations

import msgspec
import pytest

from handrail.engine.navigate import Complete, LoopFrame, Running, State, step_key


@pytest.mark.parametrize(
    ("state", "key"),
    [
        (Running(step_id="fix"), "fix"),
        (Running(step_id="fix", loops=(LoopFrame(loop_id="files", iteration=0),)), "files@0::fix"),
        (
            Running(
                step_id="fix",
                loops=(LoopFrame(loop_id="files", iteration=3), LoopFrame(loop_id="hunks", iteration=12)),
            ),
            "files@3/hunks@12::fix",
        ),
    ],
)
def test_a_step_instance_is_named_by_its_loops_and_its_id(state: Running, key: str) -> None:
    assert step_key(state) == key


@pytest.mark.parametrize(
    ("state", "wire"),
    [
        (Running(step_id="fix"), b'{"kind":"running","stepId":"fix"}'),
        (
            Running(step_id="fix", loops=(LoopFrame(loop_id="files", iteration=2),)),
            b'{"kind":"running","stepId":"fix","loops":[{"loopId":"files","iteration":2}]}',
        ),
        (Complete(), b'{"kind":"complete"}'),
    ],
)
def test_a_state_is_written_small_and_read_back(state: State, wire: bytes) -> None:
    assert msgspec.json.encode(state) == wire
    assert msgspec.json.decode(wire, type=Running | Complete) == state
