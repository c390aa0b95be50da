"""Law: how a workflow is written never changes its hash, and what it means always does."""

from __future__ import annotations

import json
import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.workflows.compiled import compile_workflow
from handrail.workflows.source import read_source

characters = st.characters(codec="utf-8")
texts = st.text(characters, min_size=1, max_size=30).filter(lambda text: text.strip())
names = st.from_regex(r"[a-z0-9_-]{1,12}", fullmatch=True)
steps: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {"id": names, "title": texts, "prompt": texts},
    optional={"agentRole": texts, "requireConfirmation": st.booleans()},
)
REQUIRED: dict[str, st.SearchStrategy[Any]] = {
    "id": st.from_regex(r"[a-z][a-z0-9_-]{0,8}\.[a-z][a-z0-9_-]{0,8}", fullmatch=True),
    "name": texts,
    "description": texts,
    "steps": st.lists(steps, min_size=1, max_size=4, unique_by=lambda step: step["id"]),
}
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(["workflow", "routine"]),
    "version": st.from_regex(r"[0-9]\.[0-9]", fullmatch=True),
    "agentRole": texts,
}
documents = st.fixed_dictionaries(REQUIRED, optional=OPTIONAL)


def hash_of(content: str) -> str:
    reading = read_source(content.encode())
    assert reading.workflow is not None, reading.problems
    return compile_workflow(reading.workflow).workflow_hash


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    if isinstance(value, list):
        return [shuffled(inner, order) for inner in value]
    return value


@settings(max_examples=60, deadline=None)
@given(
    document=documents,
    seed=st.integers(0, 2**32),
    indent=st.sampled_from([None, 0, 1, 4, "\t"]),
    is_ascii=st.booleans(),
)
def test_the_way_it_is_written_does_not_change_the_hash(
    document: dict[str, Any], seed: int, indent: int | str | None, is_ascii: bool
) -> None:
    rewritten = json.dumps(shuffled(document, random.Random(seed)), indent=indent, ensure_ascii=is_ascii)

    assert hash_of(rewritten) == hash_of(json.dumps(document))


@settings(max_examples=60, deadline=None)
@given(document=documents)
def test_a_default_means_the_same_written_out_or_left_out(document: dict[str, Any]) -> None:
    written = {"kind": "workflow", "version": "1.0.0", "agentRole": ""} | document
    written["steps"] = [{"agentRole": "", "requireConfirmation": False} | step for step in document["steps"]]

    assert hash_of(json.dumps(written)) == hash_of(json.dumps(document))


@settings(max_examples=120, deadline=None)
@given(document=documents, data=st.data())
def test_every_change_of_meaning_changes_the_hash(document: dict[str, Any], data: st.DataObject) -> None:
    changed: dict[str, Any] = json.loads(json.dumps(document))
    step = changed["steps"][data.draw(st.integers(0, len(changed["steps"]) - 1), label="step")]
    match data.draw(st.sampled_from(["text", "step text", "confirm", "more", "order"]), label="change"):
        case "text":
            key = data.draw(st.sampled_from(["name", "description", "id"]), label="key")
            changed[key] += "x"
        case "step text":
            key = data.draw(st.sampled_from(["title", "prompt"]), label="key")
            step[key] += "x"
        case "confirm":
            step["requireConfirmation"] = not step.get("requireConfirmation", False)
        case "more":
            changed["steps"].append({"id": "one-more-step-here", "title": "t", "prompt": "p"})
        case _ if len(changed["steps"]) > 1:
            changed["steps"].reverse()
        case _:
            step["id"] = step["id"] + "-"

    assert hash_of(json.dumps(changed)) != hash_of(json.dumps(document))
