"""One of several processes that confirm tokens at the same moment, trial after trial."""

from __future__ import annotations

import json
import sys

from handrail.contract.outcome import Failure
from handrail.runtime.hub import perform
from handrail.wiring import build_runtime


def beside(home: str) -> str:
    """Where the workflows go: nobody writes into the home itself."""
    return f"{home}-drafts"


def main(home: str, orders: list[list[str]]) -> None:
    """Confirm each token when the line for its trial comes in; answer with what came of it."""
    runtime = build_runtime({}, home=home)
    for (workflow_id, token), _ in zip(orders, sys.stdin, strict=False):
        params = {"workflowId": workflow_id, "to": beside(home), "confirm": token}
        outcome = perform(runtime, "workflow.new", params)
        told = outcome.details.get("reason", outcome.kind.code) if isinstance(outcome, Failure) else "done"
        sys.stdout.write(f"{told}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
