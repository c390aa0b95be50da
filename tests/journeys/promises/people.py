"""What the rules promise about evidence: people who confirm a step."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

_PEOPLE = "evidence, section 5"
_LOG = "evidence, section 6"

PROMISES: tuple[Promise, ...] = (
    Promise(
        "people.own-door",
        source=_PEOPLE,
        says="`run confirm` asks on the terminal itself, whatever stdin is; without one it ends with 9.",
    ),
    Promise(
        "people.never-remote",
        source=_PEOPLE,
        says="No tool of an agent confirms a step, and an answer in a call counts from the Console alone.",
    ),
    Promise(
        "people.console",
        source="mcp-and-http, section 5",
        says="A yes in the Console is a person's, recorded with its door, to exactly what was shown there.",
    ),
    Promise(
        "confirm.pinned",
        source=_PEOPLE,
        says="A run that began where only a person confirms stays so to its end, whatever the settings "
        "become; the log says whose settings it were, and stricter ones count from any moment.",
    ),
    Promise(
        "people.confirmed",
        source=_PEOPLE,
        says="What a person confirmed is shown as confirmed; an agent's word stays a claim.",
    ),
    Promise(
        "people.insisted-on",
        source=_PEOPLE,
        says="Where only a person's word counts, a step blocks until there is one, or leaves a critical gap.",
    ),
    Promise(
        "people.only-tightened",
        source=_PEOPLE,
        says="A project may ask for a person's word, and cannot take back that its user does.",
    ),
    Promise(
        "people.asked",
        source=_PEOPLE,
        says="A client that can ask shows the person a form about the step: a yes lets the same call go on.",
    ),
    Promise(
        "people.asked-once",
        source=_PEOPLE,
        says="A form that nobody answers records nothing, and the agent's next report counts as its word.",
    ),
    Promise(
        "people.asked-unheld",
        source=_PEOPLE,
        says="While a person is asked, no lock and no call slot is held, and the blocked reply is safe.",
    ),
    Promise(
        "people.asked-same-bytes",
        source=_PEOPLE,
        says="A repeat of an answered call asks nobody and gets the same bytes, in both eras and transports.",
    ),
    Promise(
        "people.form-safe",
        source=_PEOPLE,
        says="A form holds no secret and nothing that steers it; an answer counts for what was shown alone.",
    ),
    Promise(
        "people.no-counts",
        source=_PEOPLE,
        says="A person's no refuses the report until there is a yes, is told, or leaves a critical gap.",
    ),
    Promise(
        "people.chosen",
        source=_PEOPLE,
        says="A choice that belongs to the user is asked in the form; the run takes the person's option.",
    ),
    Promise(
        "people.one-ask",
        source="trust, section 2",
        says="A confirmation, a choice, a value and a write are asked of a person in one way: an answer "
        "counts for what was shown, reaches the agent, and what waits is listed until it is taken up.",
    ),
    Promise(
        "gaps.settled",
        source="trust, rule 18",
        says="A person settles any gap with a word and a name; an agent's sentence settles no gap that "
        "evidence opened.",
    ),
    Promise(
        "sessions.title",
        source="clarity, section 5",
        says="A session's title is its first goal until a person changes it, at a terminal or in the "
        "Console; it stands in lists, resume, reports and pages, and travels in a bundle.",
    ),
    Promise(
        "settings.set",
        source="clarity, section 1",
        says="Any setting of the user is set by its name after a preview; null brings the default back.",
    ),
    Promise(
        "settings.rules-need-a-person",
        source="clarity, section 1",
        says="Anyone tightens a rule; only a person at a terminal or in the Console loosens one.",
    ),
    Promise(
        "text.for-people",
        source="clarity, section 1",
        says="Text for people fits its page, has words in place of keys, and lines that can be run.",
    ),
    Promise(
        "text.printed-as-started",
        source="clarity, section 2",
        says="A printed command is typed as the program was started, where its name is not on the path.",
    ),
    Promise(
        "people.recorded",
        source=_LOG,
        says="Who answered, when, at which door and what they were shown is in the log and the ledger.",
    ),
    Promise(
        "people.replayed",
        source=_LOG,
        says="A reply is the same again after a confirmation or another setting.",
    ),
)
