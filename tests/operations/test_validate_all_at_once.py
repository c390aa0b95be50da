"""Mistakes of shape and names that lead nowhere are reported by one validation."""

from __future__ import annotations

from handrail.runtime.runtime import Runtime
from tests.journeys.conversation import refusal

TEXT = """{
  "id": "project.mixed",
  "nme": "x",
  "name": "Mixed",
  "description": "Two kinds of mistakes.",
  "steps": [
    {"id": "a", "title": "A", "prompt": "p", "when": "nowhere"},
    {"id": "b", "title": "B", "prompt": "p", "output": {"contractRef": "wr.contracts.plann"}}
  ]
}"""


def test_shape_and_names_are_told_together_in_the_order_of_the_text(runtime: Runtime) -> None:
    documents = [{"source": "mixed.json", "text": TEXT}]

    failure = refusal(runtime, "workflow.validate", documents=documents)

    problems = failure.details["report"]["items"][0]["problems"]
    assert [(one["code"], one["line"], one["column"]) for one in problems] == [
        ("unknown_key", 3, 3),
        ("unknown_id", 7, 54),
        ("unknown_id", 8, 72),
    ]
    assert "wr.contracts.plan" in problems[2]["fix"]


PAGE = """---
id: project.page
name: Page
description: A fence that cannot be read gives a name to the rest.
---

## Sides {#sides}

```step
delegate:
  children:
    - id: a
      steps: [{id: look, title: Look, prompt: Look at {{what}}.}]
  collect: places
```

## Conclude {#conclude}

Sum up {{places}}.

## Tell {#tell}

Tell {{nothing}}.
"""


def test_a_name_that_an_unreadable_fence_gives_is_no_second_mistake(runtime: Runtime) -> None:
    documents = [{"source": "page.md", "text": PAGE}]

    failure = refusal(runtime, "workflow.validate", documents=documents)

    problems = failure.details["report"]["items"][0]["problems"]
    assert [(one["code"], one["line"]) for one in problems] == [("unreadable", 13), ("undeclared_name", 23)]
    assert "nothing" in problems[1]["message"]
    assert problems[0]["fix"].startswith("Quote each text that has a placeholder")
