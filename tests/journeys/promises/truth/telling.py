"""What the rules promise of what a step asks for and what a reply tells (truth, section 2)."""

from __future__ import annotations

from tests.journeys.promises.promise import Promise

PROMISES: tuple[Promise, ...] = (
    Promise(
        "truth.asked",
        "truth, R6",
        "A value that a condition or loop reads is asked for by a step before it, and by inspect.",
    ),
    Promise(
        "truth.skipped-told",
        "truth, R6",
        "A reply that passed steps or a loop by says which and why.",
    ),
    Promise(
        "truth.not-run-counted",
        "truth, R6 and R15",
        "What did not run is counted in full, rounds and loops included, at the end and in every view.",
    ),
    Promise(
        "truth.inputs-cut",
        "truth, R15",
        "Inputs of a workflow that do not fit an answer are cut, counted, and the whole is named.",
    ),
    Promise(
        "truth.missing-list",
        "truth, R6",
        "A loop whose list nobody sent blocks, or leaves a gap; it never passes in silence.",
    ),
    Promise(
        "truth.nothing-in-silence",
        "truth, R6",
        "An agent that answers only what it is asked ends no workflow with steps skipped in silence.",
    ),
    Promise(
        "truth.rounds",
        "truth, R7",
        "A step in a loop says which round it is of how many; a loop that is cut short is told and a gap.",
    ),
    Promise(
        "truth.undecided",
        "truth, R7",
        "A decision that nobody made is recorded as missing, not as a condition that did not hold.",
    ),
    Promise(
        "truth.not-asked",
        "truth, R8",
        "Never-stop discloses confirmations, questions and choices that nobody was asked about.",
    ),
    Promise(
        "truth.mode-words",
        "truth, R8",
        "A prompt explains the mode in force alone, and asks nobody where nobody will be asked.",
    ),
    Promise(
        "truth.rules-first",
        "truth, R9",
        "The rules for notes stand in the prompt before they can block.",
    ),
    Promise(
        "truth.whole-call",
        "truth, R16",
        "The next call frames what must be sent; a frame that comes back unfilled is refused by name.",
    ),
    Promise(
        "truth.example-once",
        "truth, R30",
        "A blocked reply shows its example once.",
    ),
    Promise(
        "truth.nothing-lost",
        "truth, R18",
        "After compaction goal, inputs and what the first step announced for all steps are there again.",
    ),
    Promise(
        "truth.progress",
        "truth, R20",
        "Replies show how far the run is, and its end has a line for the user.",
    ),
)
