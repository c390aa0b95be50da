"""What the rules promise about work that is handed out."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

_STEP = "delegation, section 1"
_JOIN = "delegation, section 2"

PROMISES: tuple[Promise, ...] = (
    Promise(
        "delegation.opened-once",
        source=_STEP,
        says="Arriving at a step opens its children in the same commit; no repeat opens one again.",
    ),
    Promise(
        "delegation.attenuated",
        source=_STEP,
        says="A token of a child reads, reports, saves and checks inside it, and opens nothing else.",
    ),
    Promise(
        "delegation.waits",
        source=_JOIN,
        says="A step whose need is not met offers no ack; one that is sent anyway is STEP_WAITS, uses "
        "nothing up, and names the children.",
    ),
    Promise(
        "delegation.join",
        source=_JOIN,
        says="A met need lets the step go on like any other, with what each child delivered.",
    ),
    Promise(
        "delegation.edges",
        source=_JOIN,
        says="No child passes, fewer than all may do, and more than sixteen items block or become a gap.",
    ),
    Promise(
        "delegation.closed",
        source=_JOIN,
        says="A closed child leaves a choice: again, without it, or stop.",
    ),
    Promise(
        "delegation.gaps",
        source=_JOIN,
        says="Open gaps of a child are handed up with its name.",
    ),
    Promise(
        "delegation.pinned",
        source=_STEP,
        says="Children are compiled with their parent, at most 16 a step, 64 a run and 3 levels deep; a "
        "workflow without them keeps its hash.",
    ),
    Promise(
        "delegation.whose-status",
        source=_JOIN,
        says="The status, the title and the resume entry of a session are those of its newest run without a "
        "parent.",
    ),
)
