"""The compiled form on its own: read back as it was written, and nothing else taken for a workflow."""

from __future__ import annotations

import msgspec
import pytest

from handrail.contract.catalogue import STORE_UNSUPPORTED_VERSION
from handrail.contract.ids import WorkflowId
from handrail.contract.outcome import Fault
from handrail.workflows.compiled import COMPILED_VERSION, CompiledWorkflow, Loop, Step, While, decode_compiled

SMALL = CompiledWorkflow(
    v=COMPILED_VERSION,
    id=WorkflowId("project.two"),
    kind="workflow",
    name="Two",
    description="Two steps.",
    version="1.0.0",
    steps=(
        Loop(
            id="again",
            repeat=While(condition="go"),
            max_iterations=2,
            body=(Step(id="a", title="A", prompt="Do a."),),
        ),
    ),
)


def test_what_is_encoded_is_decoded_to_the_same_value() -> None:
    assert decode_compiled(msgspec.json.encode(SMALL)) == SMALL


def test_bytes_that_lack_a_part_are_not_taken_for_a_workflow() -> None:
    with pytest.raises(Fault, match="STORE_UNSUPPORTED_VERSION"):
        decode_compiled(b'{"v":1,"id":"project.two"}')


def test_a_part_of_an_unknown_kind_is_not_taken_for_a_workflow() -> None:
    content = msgspec.json.encode(SMALL).replace(b'"kind":"loop"', b'"kind":"parallel"')

    with pytest.raises(Fault, match="STORE_UNSUPPORTED_VERSION"):
        decode_compiled(content)


LATER = msgspec.json.encode(SMALL).replace(b'"v":1', b'"v":5')
"""Well-formed, of a version that does not exist yet: it may hold rules that nobody here knows."""


@pytest.mark.parametrize("content", [b'{"v":1}', b"not json", b"[]", LATER])
def test_bytes_of_another_version_are_refused_as_such(content: bytes) -> None:
    with pytest.raises(Fault) as refused:
        decode_compiled(content)

    assert refused.value.kind is STORE_UNSUPPORTED_VERSION
    assert refused.value.details["supported"] == 4
