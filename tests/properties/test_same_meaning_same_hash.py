"""Law: how a workflow is written never changes its hash, and what it means always does."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handrail.contract.wording import explain_unseen
from handrail.contract.workflow_files import WorkflowFile
from handrail.workflows.catalog import build_catalog
from handrail.workflows.compiling.compiler import compile_workflow
from handrail.workflows.reading.reader import read_workflow

pytestmark = pytest.mark.thorough

characters = st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"))
texts = st.text(characters, min_size=1, max_size=30).filter(lambda text: not explain_unseen(text))
numbers = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=4,
)
CONDITION_IDS = ("small", "large", "both")
FEATURES = ("wr.features.mode_guidance", "wr.features.durable_recap_guidance", "wr.features.output_contracts")
CONTRACTS = ("wr.contracts.plan", "wr.contracts.decision", "wr.contracts.handoff")

comparisons = st.fixed_dictionaries(
    {
        "kind": st.just("compare"),
        "input": st.sampled_from(["size", "mode"]),
        "op": st.sampled_from(["equals", "not_equals"]),
        "value": texts | numbers | st.booleans(),
    }
)
conditions = st.recursive(
    comparisons,
    lambda inner: (
        st.builds(
            lambda kind, of: {"kind": kind, "of": of},
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=1, max_size=2),
        )
        | st.builds(lambda of: {"kind": "not", "of": of}, inner)
    ),
    max_leaves=3,
)
blocks = st.fixed_dictionaries(
    {"goal": texts},
    optional={
        "constraints": st.lists(texts, min_size=1, max_size=2),
        "outputRequired": st.dictionaries(texts, texts, min_size=1, max_size=3),
        "verify": st.lists(texts, min_size=1, max_size=2),
    },
)
plain_steps = st.fixed_dictionaries(
    {"title": texts},
    optional={
        "agentRole": texts,
        "requireConfirmation": st.booleans() | st.sampled_from(CONDITION_IDS),
        "when": st.sampled_from(CONDITION_IDS) | conditions,
        "output": st.fixed_dictionaries({"contractRef": st.sampled_from(CONTRACTS)}),
        "guidance": st.lists(texts, max_size=2),
        "promptFragments": st.lists(st.fixed_dictionaries({"text": texts}), max_size=2),
        "notesOptional": st.booleans(),
    },
)
steps = st.one_of(
    st.builds(lambda step, prompt: step | {"prompt": prompt}, plain_steps, texts),
    st.builds(lambda step, parts: step | {"promptBlocks": parts}, plain_steps, blocks),
)
loops = st.builds(
    lambda body, repeat: {"type": "loop", "maxIterations": 3, "body": body} | repeat,
    st.lists(steps, min_size=1, max_size=2),
    st.sampled_from([{"count": 2}, {"while": "small"}, {"forEach": {"input": "files", "as": "file"}}]),
)
choices = st.builds(
    lambda title, prompt, label, sets: {
        "type": "choice",
        "title": title,
        "prompt": prompt,
        "options": [{"id": "a", "label": label, "set": {"mode": sets}}, {"id": "b", "label": "B"}],
    },
    texts,
    texts,
    texts,
    values,
)
REQUIRED: dict[str, st.SearchStrategy[Any]] = {
    "id": st.from_regex(r"[a-z][a-z0-9_-]{0,8}\.[a-z][a-z0-9_-]{0,8}", fullmatch=True),
    "name": texts,
    "description": texts,
    "conditions": st.tuples(conditions, conditions, conditions).map(
        lambda three: [one | {"id": name} for one, name in zip(three, CONDITION_IDS, strict=True)]
    ),
    "steps": st.lists(st.one_of(steps, loops, choices), min_size=1, max_size=3),
}
OPTIONAL: dict[str, st.SearchStrategy[Any]] = {
    "kind": st.sampled_from(["workflow", "routine"]),
    "version": st.from_regex(r"[0-9]\.[0-9]", fullmatch=True),
    "agentRole": texts,
    "guidance": st.lists(texts, max_size=2),
    "preconditions": st.lists(texts, max_size=2),
    "inputs": st.dictionaries(
        st.sampled_from(["size", "mode", "path"]),
        st.fixed_dictionaries(
            {}, optional={"description": texts, "default": values, "required": st.booleans()}
        ),
        max_size=3,
    ),
    "features": st.lists(st.sampled_from(FEATURES), max_size=4),
    "capabilities": st.dictionaries(
        st.sampled_from(["delegation", "web_browsing"]),
        st.sampled_from(["required", "preferred", "disabled"]),
    ),
    "functions": st.dictionaries(st.sampled_from(["f", "g"]), texts, max_size=2),
}


def numbered(document: dict[str, Any]) -> dict[str, Any]:
    """The document with an id on every part, in the order of the file."""
    count = 0
    waiting = list(document["steps"])
    while waiting:
        part = waiting.pop(0)
        part["loopId" if part.get("type") == "loop" else "id"] = f"part-{count}"
        count += 1
        waiting = [*part.get("body", []), *waiting]
    return document


documents = st.fixed_dictionaries(REQUIRED, optional=OPTIONAL).map(
    lambda document: numbered(json.loads(json.dumps(document)))
)


def hash_of(content: str) -> str:
    reading = read_workflow(content.encode())
    assert reading.workflow is not None, reading.problems
    done = compile_workflow(reading.workflow)
    assert done.pinned is not None, done.problems
    return done.pinned.workflow_hash


def shuffled(value: Any, order: random.Random) -> Any:
    """The same value with the keys of every object in another order."""
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys}
    if isinstance(value, list):
        return [shuffled(inner, order) for inner in value]
    return value


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


@settings(max_examples=40)
@given(document=documents, seed=st.integers(0, 2**32))
def test_order_of_features_and_conditions_keeps_the_hash(document: dict[str, Any], seed: int) -> None:
    order = random.Random(seed)
    moved = dict(document)
    for key in ("features", "conditions"):
        moved[key] = list(document.get(key, []))
        order.shuffle(moved[key])

    assert hash_of(json.dumps(moved)) == hash_of(json.dumps(document))


@settings(max_examples=40)
@given(document=documents)
def test_a_default_means_the_same_written_out_or_left_out(document: dict[str, Any]) -> None:
    written = {
        "kind": "workflow",
        "version": "1.0.0",
        "agentRole": "",
        "guidance": [],
        "recommended": {},
    } | document
    written["inputs"] = {
        name: {"type": "any", "required": False, "description": ""} | spec
        for name, spec in document.get("inputs", {}).items()
    }
    written["steps"] = [
        part if "type" in part else {"type": "step", "agentRole": "", "requireConfirmation": False} | part
        for part in document["steps"]
    ]

    assert hash_of(json.dumps(written)) == hash_of(json.dumps(document))


@settings(max_examples=25)
@given(
    several=st.lists(documents, min_size=1, max_size=4, unique_by=lambda one: one["id"]), seed=st.integers()
)
def test_order_of_files_keeps_what_a_project_offers(several: list[dict[str, Any]], seed: int) -> None:
    files = [
        WorkflowFile(source_kind="project", source_ref=f"{one['id']}.json", content=json.dumps(one).encode())
        for one in several
    ]
    moved = list(files)
    random.Random(seed).shuffle(moved)

    assert build_catalog(moved) == build_catalog(files)


def texts_at(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The path of every text that a person or an agent reads."""
    if isinstance(value, str):
        return [path] if path[-1] not in SILENT and path[0] not in ("kind", "version", "features") else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, held in inner for found in texts_at(held, (*path, key))]


SILENT = (
    "kind",
    "type",
    "op",
    "input",
    "as",
    "id",
    "loopId",
    "when",
    "while",
    "contractRef",
    "requireConfirmation",
)


@given(document=documents, data=st.data())
def test_every_change_of_a_text_changes_the_hash(document: dict[str, Any], data: st.DataObject) -> None:
    changed: dict[str, Any] = json.loads(json.dumps(document))
    # The workflow's role means nothing where every step has its own.
    candidates = [path for path in texts_at(changed) if path[0] not in ("capabilities", "agentRole")]
    path = data.draw(st.sampled_from(candidates), label="path")
    holder: Any = changed
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] += "x"

    assert hash_of(json.dumps(changed)) != hash_of(json.dumps(document))


@given(document=documents, data=st.data())
def test_every_change_of_the_course_changes_the_hash(document: dict[str, Any], data: st.DataObject) -> None:
    changed: dict[str, Any] = json.loads(json.dumps(document))
    place = data.draw(st.integers(0, len(changed["steps"]) - 1), label="part")
    part = changed["steps"][place]
    match data.draw(st.sampled_from(["more", "twice", "skip", "loop", "order", "negate"]), label="change"):
        case "more":
            changed["steps"].append({"id": "one-more-step", "title": "t", "prompt": "p"})
        case "twice":
            changed["steps"].insert(place, {"id": "one-more-step", "title": "t", "prompt": "p"})
        case "skip":
            part["when"] = {"kind": "always_false"}
        case "loop":
            changed["steps"][place] = {
                "type": "loop",
                "loopId": "around",
                "maxIterations": 2,
                "count": 1,
                "body": [part],
            }
        case "negate":
            first = {key: held for key, held in changed["conditions"][0].items() if key != "id"}
            changed["conditions"][0] = {"id": CONDITION_IDS[0], "kind": "not", "of": first}
        case _ if len(changed["steps"]) > 1:
            changed["steps"].reverse()
        case _:
            part["loopId" if part.get("type") == "loop" else "id"] = "another-name"

    assert hash_of(json.dumps(changed)) != hash_of(json.dumps(document))
