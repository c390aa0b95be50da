"""What the rules promise of what a step asks for and what a reply tells (truth, section 2)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    truth, R6
      truth.asked: A value that a condition or loop reads is asked for by a step before it, and by inspect.
      truth.skipped-told: A reply that passed steps or a loop by says which and why.
      truth.missing-list: A loop whose list nobody sent blocks, or leaves a gap; it never passes in silence.
      truth.nothing-in-silence: An agent that answers only what it is asked ends no workflow with steps
          skipped in silence.
    truth, R6 and R15
      truth.not-run-counted: What did not run is counted in full, rounds and loops included, at the end and
          in every view.
    truth, R15
      truth.inputs-cut: Inputs of a workflow that do not fit an answer are cut, counted, and the whole is
          named.
    truth, R7
      truth.rounds: A step in a loop says which round it is of how many; a loop that is cut short is told
          and a gap.
      truth.undecided: A decision that nobody made is recorded as missing, not as a condition that did not
          hold.
    truth, R8
      truth.not-asked: Never-stop discloses confirmations, questions and choices that nobody was asked
          about.
      truth.mode-words: A prompt explains the mode in force alone, and asks nobody where nobody will be
          asked.
    truth, R9
      truth.rules-first: The rules for notes stand in the prompt before they can block.
    truth, R16
      truth.whole-call: The next call frames what must be sent; a frame that comes back unfilled is refused
          by name.
    truth, R30
      truth.example-once: A blocked reply shows its example once.
    truth, R18
      truth.nothing-lost: After compaction goal, inputs and what the first step announced for all steps are
          there again.
    truth, R20
      truth.progress: Replies show how far the run is, and its end has a line for the user.
    """
)
