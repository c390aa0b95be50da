"""What the rules promise about work that is handed out."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

_STEP = "delegation, section 1"
_JOIN = "delegation, section 2"
_FILES = "delegation, section 3"

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
        "delegation.rewind",
        source=_JOIN,
        says="A rewind makes new children and offers earlier results of the same work; a fork inside a child "
        "forks it alone.",
    ),
    Promise(
        "delegation.found-again",
        source=_JOIN,
        says="A new chat finds a waiting run with its children, what they delivered, and the work tokens "
        "that are still open.",
    ),
    Promise(
        "delegation.gaps",
        source=_JOIN,
        says="Open gaps of a child are handed up with its name.",
    ),
    Promise(
        "delegation.brief",
        source="delegation, section 6",
        says="A brief has 60 tokens at most, and those of a step 1 000.",
    ),
    Promise(
        "delegation.pinned",
        source=_STEP,
        says="Children are compiled with their parent, at most 16 a step, 64 a run and 3 levels deep; a "
        "workflow without them keeps its hash.",
    ),
    Promise(
        "delegation.files",
        source=_FILES,
        says="What changed while another run of the session was open is shown, demanded of nobody, and makes "
        "nothing stale; a file that two list is told.",
    ),
    Promise(
        "delegation.own-directory",
        source=_FILES,
        says="A child works in its parent's directory or in another worktree of the repository, by its first "
        "call that writes; a call from outside means the child that is named, or alone there.",
    ),
    Promise(
        "delegation.alone",
        source=_JOIN,
        says="An agent without helpers takes the children one after the other, as each reply says.",
    ),
    Promise(
        "delegation.seen",
        source="delegation, section 4",
        says="The graph of a run has its children beside their step, and the Console draws a lane for each; "
        "lists count the parts that are done, report and receipt tell what each child could prove.",
    ),
    Promise(
        "delegation.costs-nothing",
        source="delegation, section 5",
        says="A reply without children has no word and no key more than it would have without delegation.",
    ),
    Promise(
        "delegation.travels",
        source="delegation, section 4",
        says="What a child ran travels in a bundle and is told there as another store's; no receipt of "
        "the new store states it.",
    ),
    Promise(
        "delegation.named",
        source="delegation, section 4",
        says="A helper may name itself; the name is kept once, as its own word, and shown with its work.",
    ),
    Promise(
        "delegation.worker",
        source=_STEP,
        says="A client that knows subagents gets a worker definition with setup, and loses it with Handrail.",
    ),
    Promise(
        "delegation.whose-status",
        source=_JOIN,
        says="The status, the title and the resume entry of a session are those of its newest run without a "
        "parent.",
    ),
)
