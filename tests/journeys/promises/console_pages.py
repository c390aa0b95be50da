"""What is promised to the people at the Console, and to the commands that have the same."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

_PAGES = "mcp-and-http, section 5"

PROMISES: tuple[Promise, ...] = (
    Promise(
        "console.gaps",
        source=_PAGES,
        says="The gaps of all sessions are in one list: open, settled or noted, counted, the worst first.",
    ),
    Promise(
        "console.save",
        source=_PAGES,
        says="An edited workflow is previewed, checked and saved in the project, over nothing unseen.",
    ),
    Promise(
        "console.drift",
        source=_PAGES,
        says="A run keeps the workflow it began with, and lists tell where the files differ from it now.",
    ),
    Promise(
        "console.settings",
        source=_PAGES,
        says="Every setting tells what is asked for, what is in force, from where, and who must start again.",
    ),
    Promise(
        "console.import",
        source=_PAGES,
        says="A bundle that is dropped is checked and shown; nothing is written before a person confirms.",
    ),
    Promise(
        "console.close",
        source=_PAGES,
        says="A run can be closed from its page, with a reason, by the operation that the command line has.",
    ),
)
