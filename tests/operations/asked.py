"""Operations asked by name, on the memory runtime."""

from __future__ import annotations

import json
from typing import Any

from handrail.contract.outcome import Failure, Success
from handrail.runtime.hub import perform
from handrail.runtime.runtime import Runtime


def answered(rt: Runtime, name: str, **params: Any) -> Any:
    """The payload of a call that must succeed; of a list, with its items."""
    outcome = perform(rt, name, params)
    assert isinstance(outcome, Success), outcome
    if outcome.page is not None:
        assert isinstance(outcome.data, dict)
        return {**outcome.data, "items": list(outcome.page.items), "has_more": outcome.page.has_more}
    return outcome.data


def refused(rt: Runtime, name: str, **params: Any) -> Failure:
    """The failure of a call that must fail."""
    outcome = perform(rt, name, params)
    assert isinstance(outcome, Failure), outcome
    return outcome


def text(document: Any, source: str = "flow.json") -> dict[str, str]:
    """A file as surfaces hand it over."""
    return {
        "source": source,
        "text": document if isinstance(document, str) else json.dumps(document, indent=2),
    }


def workflow(**more: Any) -> dict[str, Any]:
    """A workflow without anything wrong."""
    return {
        "id": "project.given",
        "name": "Given",
        "description": "For tests.",
        "steps": [{"id": "work", "title": "Work", "prompt": "Do the work and say what you saw."}],
        **more,
    }
