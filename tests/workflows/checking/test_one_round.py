"""Unrelated mistakes of one file are told in one round, at their places, with fixes in its own spelling."""

from __future__ import annotations

from handrail.host.workflow_library import list_bundled_files
from handrail.operations.workflows.examine_workflows import Examined, WorkflowText, examine_texts
from handrail.workflows.catalog import Catalog, build_catalog
from handrail.workflows.problem import Findings
from handrail.workflows.reading.grammar import SHAPES
from handrail.workflows.reading.shape_check import EXAMPLES, check_shape
from handrail.workflows.reading.shapes import Anything, Record, Word

PAGE = """\
---
id: project.bad
name: Bad
description: A page with unrelated mistakes.
inputs:
  files: {type: array}
  size: {type: string}
---

## Look {#look}

Look at {{fils}}.

## Go through {#each}

```step
type: loop
forEach: files
```

### Read {#look}

Read {{file|upper}} and ${size}.

## Decide {#decide}

```step
type: choice
when: {kind: compare, input: sise, op: equals, value: large}
```

Which way?

## End {#end}

#### Too deep

Say so.
"""

OVERLAY = """\
extends: wr.bug_investigation
id: team.bug
steps:
  reproduc: {append: Read docs first.}
  fix: {skip: true}
contracts:
  wr.contracts.verification_report: {demand: shown}
colour: blue
add:
  - after: verify
    step: {id: post, title: Post, prompt: "Post it in {{channel}}."}
"""


def examine(name: str, text: str, catalog: Catalog | None = None) -> Examined:
    return examine_texts(catalog or Catalog(entries=()), [WorkflowText(source=name, text=text)])[0]


def test_a_page_with_mistakes_of_form_keys_and_names_is_told_all_of_them() -> None:
    found = examine("bad.md", PAGE)

    assert found.workflow_id == "project.bad"
    assert [(one.line, one.code) for one in found.problems] == [
        (12, "undeclared_name"),
        (14, "missing_key"),
        (18, "wrong_type"),
        (21, "duplicate_id"),
        (23, "bad_placeholder"),
        (23, "bad_placeholder"),
        (25, "missing_key"),
        (29, "undeclared_name"),
        (36, "unreadable"),
    ]
    said = {one.line: f"{one.message} {one.fix}" for one in found.problems}
    assert "Add `maxIterations: 5`." in said[14]
    assert "such as `forEach: {as: file, input: files}`." in said[18]
    assert "already used at line 10, column 9." in said[21]


def test_an_overlay_is_told_its_own_mistakes_and_those_with_its_base() -> None:
    found = examine("team.bug.yaml", OVERLAY, build_catalog(list_bundled_files()))

    assert found.workflow_id == "team.bug"
    assert [(one.line, one.pointer) for one in found.problems] == [
        (4, "/steps/reproduc"),
        (5, "/steps/fix/skip"),
        (7, "/contracts/wr.contracts.verification_report/demand"),
        (8, "/colour"),
        (11, "/add/0/step/prompt"),
    ]


def test_a_name_that_went_with_a_mistake_is_not_told_as_another() -> None:
    text = PAGE.replace("  size: {type: string}", "  size: 7").replace("sise", "size")

    told = [one for one in examine("bad.md", text).problems if "size" in one.message]

    assert [(one.code, one.pointer) for one in told] == [("wrong_type", "/inputs/size")]


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
