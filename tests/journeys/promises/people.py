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
        says="No server offers an operation that confirms a step.",
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
