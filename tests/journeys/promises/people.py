"""What the rules promise about evidence: people who confirm a step."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    evidence, section 5
      people.own-door: `run confirm` asks on the terminal itself, whatever stdin is; without one it ends
          with 9.
      people.never-remote: No tool of an agent confirms a step, and an answer in a call counts from the
          Console alone.
      confirm.pinned: A run that began where only a person confirms stays so to its end, whatever the
          settings become; the log says whose settings it were, and stricter ones count from any moment.
      people.confirmed: What a person confirmed is shown as confirmed; an agent's word stays a claim.
      people.insisted-on: Where only a person's word counts, a step blocks until there is one, or leaves a
          critical gap.
      people.only-tightened: A project may ask for a person's word, and cannot take back that its user does.
      people.asked: A client that can ask shows the person a form about the step: a yes lets the same call
          go on.
      people.asked-once: A form that nobody answers records nothing, and the agent's next report counts as
          its word.
      people.asked-unheld: While a person is asked, no lock and no call slot is held, and the blocked reply
          is safe.
      people.asked-same-bytes: A repeat of an answered call asks nobody and gets the same bytes, in both
          eras and transports.
      people.form-safe: A form holds no secret and nothing that steers it; an answer counts for what was
          shown alone.
      people.no-counts: A person's no refuses the report until there is a yes, is told, or leaves a critical
          gap.
      people.chosen: A choice that belongs to the user is asked in the form; the run takes the person's
          option.
    mcp-and-http, section 5
      people.console: A yes in the Console is a person's, recorded with its door, to exactly what was shown
          there.
    trust, section 2
      people.one-ask: A confirmation, a choice, a value and a write are asked of a person in one way: an
          answer counts for what was shown, reaches the agent, and what waits is listed until it is taken
          up.
    trust, rule 18
      gaps.settled: A person settles any gap with a word and a name; an agent's sentence settles no gap that
          evidence opened.
    clarity, section 5
      sessions.title: A session's title is its first goal until a person changes it, at a terminal or in the
          Console; it stands in lists, resume, reports and pages, and travels in a bundle.
    clarity, section 1
      settings.set: Any setting of the user is set by its name after a preview; null brings the default
          back.
      settings.rules-need-a-person: Anyone tightens a rule; only a person at a terminal or in the Console
          loosens one.
      text.for-people: Text for people fits its page, has words in place of keys, and lines that can be run.
    clarity, section 2
      text.printed-as-started: A printed command is typed as the program was started, where its name is not
          on the path.
    evidence, section 6
      people.whole-approval: A person is shown all that they approve; with a secret in it they can only
          decline, and are told where.
      people.not-locked-out: A limit for programs never keeps a person from answering or from loosening it.
      people.recorded: Who answered, when, at which door and what they were shown is in the log and the
          ledger.
      people.replayed: A reply is the same again after a confirmation or another setting.
    """
)
