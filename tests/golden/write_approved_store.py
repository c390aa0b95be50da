"""Writes `approved/`, a store of a build without a store key: `python -m tests.golden.write_approved_store`.

Session `done`: a person approved the last report, and the run ended with it. Session `waiting`: a person
approved the last report, and the agent has not sent it again. It was written once, by the build before the
key, and is never written anew.
"""

from __future__ import annotations

import json
import os
from typing import Any

from handrail.ports.workspace import Settings
from handrail.runtime.hub import perform
from tests.conftest import settings_of
from tests.golden.write_store import runtime_on
from tests.journeys.at_a_terminal import Person, seat

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "approved")
DONE: dict[str, Any] = {"output": {"notesMarkdown": "Done."}}


def main() -> None:
    """Refuses to touch a store that exists."""
    os.makedirs(PLACE)
    runtime = runtime_on(os.path.join(PLACE, "home"))
    settings_of(runtime).settings = Settings(confirmations="person")

    def call(operation: str, **params: Any) -> Any:
        outcome: Any = perform(runtime, operation, params)
        return outcome.data

    sessions = {}
    for name in ("done", "waiting"):
        reply = call("run.start", workflowId="project.three_steps", requestId=name, goal=f"Is {name}")
        sessions[name] = reply["session"]["sessionId"]
        for _ in range(3):
            reply = call("run.continue", ackToken=reply["ackToken"], **DONE)
        approved: Any = perform(seat(runtime, Person("y")), "run.confirm", {"session": sessions[name]})
        assert approved.data["answer"] == "confirmed"
        if name == "done":
            assert call("run.continue", ackToken=reply["retryAckToken"], **DONE)["isComplete"]
    with open(os.path.join(PLACE, "sessions.json"), "w", encoding="utf-8") as file:
        json.dump(sessions, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
