"""The page of every message about a run that a person can get, from the module that makes them."""

from __future__ import annotations

from handrail.engine.messages import list_person_messages
from tools.page_parts import page, table


def messages_page() -> str:
    """Why, what is wrong in detail, and what to do, for each thing that a run can wait for."""
    rows = [
        (f"`{one.kind}`, `{one.state}`", " ".join((one.parts.why, *one.parts.faults)), one.parts.fix)
        for one in list_person_messages()
    ]
    return page(
        "# Messages",
        "What people read where a run waits, or went on without something.\n"
        "Each is made from what the run waits for; the names in it are samples.",
        table(("waits for", "what is said", "what to do"), rows),
    )
