"""Completion: what a person could mean, by its beginning, at most twenty."""

from __future__ import annotations

import mcp_types
import pytest
from mcp import Client

from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime
from handrail.surfaces.mcp.adapter import filter_by_start, known_addresses, known_arguments
from tests.journeys.conversation import answer
from tests.surfaces.mcp.protocol_client import ERAS, in_eras
from tests.surfaces.mcp.test_prompts import give


@pytest.mark.parametrize(
    ("template", "typed", "values"),
    [
        ("handrail://workflows/{id}", "", ["project.beta", "project.three_steps"]),
        ("handrail://workflows/{id}", "PROJECT.T", ["project.three_steps"]),
        ("handrail://workflows/{id}", "three", []),
        ("handrail://nothing/{id}", "", []),
    ],
)
def test_the_variable_part_of_an_address_is_completed(
    runtime: Runtime, template: str, typed: str, values: list[str]
) -> None:
    give(runtime, "project.beta")

    assert filter_by_start(known_addresses(runtime, template), typed)["values"] == values


def test_sessions_are_offered_latest_first(runtime: Runtime) -> None:
    started = [
        answer(runtime, "run.start", workflowId="project.three_steps", requestId=str(number))["session"]
        for number in range(3)
    ]

    offered = known_arguments(runtime, "resume", "query")
    addresses = known_addresses(runtime, "handrail://sessions/{id}")

    assert list(offered) == list(addresses) == [one["sessionId"] for one in reversed(started)]


def test_a_goal_is_the_persons_own_words(runtime: Runtime) -> None:
    assert known_arguments(runtime, "project.three_steps", "goal") == ()


@in_eras(*ERAS)
async def test_at_most_twenty_values_come_and_the_rest_is_counted(client: Client, runtime: Runtime) -> None:
    for number in range(30):
        perform(runtime, "run.start", {"workflowId": "project.three_steps", "requestId": str(number)})

    reference = mcp_types.ResourceTemplateReference(uri="handrail://sessions/{id}")
    completion = (await client.complete(reference, {"name": "id", "value": "ses_"})).completion
    assert (len(completion.values), completion.total, completion.has_more) == (20, 30, True)
    resume = mcp_types.PromptReference(name="resume")
    again = (await client.complete(resume, {"name": "query", "value": ""})).completion
    assert again.values == completion.values
