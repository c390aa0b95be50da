"""The compiler as a whole: what the hash covers, that pinned bytes are enough, and all problems at once."""

from __future__ import annotations

import hashlib
import json

from handrail.workflows.compiled import Contract, Provenance, decode_compiled
from handrail.workflows.compiling.compilation import Surroundings
from tests.workflows.compiling.written import (
    call,
    choice,
    compilation,
    compiled,
    document,
    loop,
    open_source,
    parts,
    step,
)

PLAIN = document(step("a", "Do a."), step("b", "Do b.", requireConfirmation=True))

RICH = document(
    step("a", "Read {{path}}.", when="large"),
    loop("again", step("b"), step("c"), **{"while": "go"}),
    choice("d", when={"kind": "compare", "input": "path", "op": "exists"}),
    call("wr.templates.handoff_summary"),
    conditions=[
        {"id": "large", "kind": "compare", "input": "size", "op": "gt", "value": 3},
        {"id": "go", "kind": "loop_control"},
    ],
    inputs={"size": {"type": "integer", "default": 1, "description": "Files."}},
    capabilities={"web_browsing": "required"},
    features=["wr.features.mode_guidance"],
    functions={"verify": "Look twice."},
)


def test_hash_is_the_digest_of_canonical_json() -> None:
    done = compilation(PLAIN)

    expected = {
        "v": 1,
        "id": "project.sample",
        "kind": "workflow",
        "name": "Sample",
        "description": "A workflow for tests.",
        "version": "1.0.0",
        "steps": [
            {"kind": "step", "id": "a", "title": "Title of a", "prompt": "Do a."},
            {
                "kind": "step",
                "id": "b",
                "title": "Title of b",
                "prompt": "Do b.",
                "requireConfirmation": True,
            },
        ],
    }
    # For plain ASCII without numbers beyond small integers, sorted compact JSON is RFC 8785.
    content = json.dumps(expected, sort_keys=True, separators=(",", ":")).encode()
    assert done.pinned is not None
    assert done.pinned.content == content
    assert done.pinned.workflow_hash == "sha256:" + hashlib.sha256(content).hexdigest()


def test_pinned_bytes_are_enough_to_run_on() -> None:
    done = compilation(RICH)

    assert done.pinned is not None
    assert decode_compiled(done.pinned.content) == done.pinned.workflow


def test_every_part_says_where_it_came_from() -> None:
    workflow = compiled(RICH)

    assert {name: part.provenance for name, part in parts(workflow).items()} == {
        "probe_web_browsing": Provenance(kind="capability_probe", origin="web_browsing"),
        "a": Provenance(),
        "again": Provenance(),
        "b": Provenance(),
        "c": Provenance(),
        "d": Provenance(),
        "handoff_summary": Provenance(kind="template", origin="wr.templates.handoff_summary"),
    }


def test_parts_keep_the_place_in_the_authors_file() -> None:
    pointers = compilation(RICH).pointers

    assert pointers == {
        "probe_web_browsing": "/capabilities/web_browsing",
        "a": "/steps/0",
        "again": "/steps/1",
        "b": "/steps/1/body/0",
        "c": "/steps/1/body/1",
        "d": "/steps/2",
        "handoff_summary": "/steps/3",
    }


def test_number_that_readers_would_round_is_a_problem() -> None:
    """Workflow files cannot hold one, but a project's contract can."""
    contract = Contract(
        artifact_kind="acme.count",
        schema={"type": "object"},
        example={"kind": "acme.count", "n": 2**53 + 1},
        guidance="Count.",
    )
    written = document(step("a", output={"contractRef": "acme.contracts.count"}))

    done = compilation(written, Surroundings(contracts={"acme.contracts.count": contract}))

    assert done.pinned is None
    assert [(one.severity, one.code) for one in done.problems] == [("error", "bad_value")]


def test_problems_without_end_are_cut_with_a_word_about_the_rest() -> None:
    steps = [step(f"s{number}", when=f"gone-{number}") for number in range(250)]

    done = compilation(document(*steps))

    assert len(done.problems) == 201
    assert done.problems[-1].code == "too_many_problems"
    assert done.pinned is None


def test_error_behind_many_warnings_refuses_the_workflow() -> None:
    """In a file from elsewhere unknown names are warnings; a loop nobody decides is an error."""
    steps = [step(f"s{number}", output={"contractRef": f"x.contracts.c{number}"}) for number in range(250)]
    undecided = loop("l", choice("c"), until={"kind": "loop_control", "continueWhen": "stop"})

    done = compilation(open_source(document(*steps, undecided)))

    assert done.pinned is None
