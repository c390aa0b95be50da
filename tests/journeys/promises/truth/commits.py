"""What the rules promise of writes, disclosure and declarations of commands (truth, section 4)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    truth, R22; hardening, H13
      commit.every-write-is-tried: Every operation of the registry that writes is tried with trouble after
          its commit.
      commit.never-a-failure: Nothing that breaks after a commit makes a failure of it, at any door.
      commit.reply-lost-is-told: Where the reply cannot be built, the answer says that it is committed and
          how to read it.
    truth, R22
      commit.refused-before: What can be refused is refused before the store is touched; nothing is used up
          by it.
      commit.budget-warns: A budget never refuses a write: its reply shrinks to the minimal level with a
          notice.
      commit.signals: A signal, a second one, or the deadline after a commit leaves the answer a success.
      commit.undelivered: A change whose answer stdout refuses is told on stderr, with the command that
          reads it.
    truth, R24
      disclosure.every-flag: Every operation works under every disclosure flag that it offers, by execution.
      disclosure.text: Text is a format like the others: every command answers in it under every disclosure
          flag.
      disclosure.budgets: A budget reduces an answer and holds, or is refused with the least value that
          works.
    truth, R24; LAFS 9.1, 9.2
      disclosure.custom: `custom` is what an answer with picked fields says; nobody can ask for it.
    truth, R24; LAFS 5.2
      disclosure.flags-first: A flag beats a variable and a setting, and nothing speaks of flags that nobody
          gave.
    truth, R27
      concurrency.deletes: Deletes, sweeps and listings of different sessions do not disturb each other.
      concurrency.ends-in-time: A deadline or a signal ends a call within a second, also while it waits for
          a lock.
    truth, R28
      gate.lock-before-claim: A lock that stays busy leaves the confirm token usable.
      gate.workspace: A confirm token belongs to a project where its operation does, and nowhere else.
    trust, rule 22
      gate.what-was-checked: What changed between the check of a token and its write is refused, and nothing
          is done.
    trust, section 7
      errors.next-call-leads-on: The call that a refusal names, made word by word, leads on and destroys
          nothing.
    trust, rule 24
      store.newer: A session that a newer version wrote is told as such by every reader, and never as
          damaged.
      cli.stream-follow: A followed stream has no deadline unless one is given, and ends with the call that
          goes on.
    trust, rule 23
      door.repeated-key: JSON with a key twice in one object is refused on every door.
    truth, R25; LAFS 9.4
      declared.paging: A list goes on in the way that `reference` declares, and in no other.
    truth, R25; CLI 11
      declared.doctor: `doctor` and `context` exit with 0 wherever they run; only wrong arguments are
          refused.
    """
)
