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
    Promise(
        "console.read.graph",
        source=_PAGES,
        says="A run is told with the way that it took, its forks, what was skipped and what is ahead.",
    ),
    Promise(
        "console.read.node",
        source=_PAGES,
        says="A node tells its report, why it was refused, its worth and what is asked there; no token.",
    ),
    Promise(
        "console.read.compare",
        source=_PAGES,
        says="Two nodes are told from where their ways part, step beside step.",
    ),
    Promise(
        "console.read.needs",
        source=_PAGES,
        says="What waits for a person is in one list, each with the words to paste and without a token.",
    ),
    Promise(
        "console.read.search",
        source=_PAGES,
        says="Words in notes and artifacts lead to their nodes, with the place in words that people read.",
    ),
    Promise(
        "console.read.timeline",
        source=_PAGES,
        says="What happened in a session is told in order, with a lane for each run.",
    ),
    Promise(
        "console.told.person",
        source=_PAGES,
        says="What a person answered stands at the report that it is about, and at no other node.",
    ),
    Promise(
        "console.told.ahead",
        source=_PAGES,
        says="The steps ahead are those of the preferred branch, whatever other branches reached.",
    ),
    Promise(
        "console.told.rail",
        source=_PAGES,
        says="A step that was passed by stands after the step that was done before it.",
    ),
    Promise(
        "console.told.import",
        source=_PAGES,
        says="Every level and count of an imported session says that another store recorded it.",
    ),
    Promise(
        "console.told.preferences",
        source=_PAGES,
        says="The preferences of a session are those in force, with who set them; a preview begins there.",
    ),
)
