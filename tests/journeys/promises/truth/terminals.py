"""Bytes, terminals, the index and the cost of learning (truth, sections 3 and 4)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    truth, R23
      truth.system-bytes: Directories, users and branches that are not UTF-8 never break a call, in any
          locale.
    truth, R26
      truth.no-raw-controls: Control and escape characters never reach a terminal or a prompt raw, whichever
          door brought them.
    truth, R16
      truth.next-command: On the command line every reply with a next call carries the command to run, in
          both dialects.
      truth.repaired-lines: A line with a tool's spelling, a bare token or a bare workflow name is answered
          with the right one.
    truth, R30
      truth.cheap-to-learn: The skill's first step costs at most 600 tokens, the reference of one command at
          most 1 200.
    truth, R29
      truth.index-outage: Whatever status the package index answers with, an update tells it with its stage
          and versions.
    truth, R25
      truth.declared-answers: Answers hold the keys, marks and codes that the reference declares for them,
          and no others.
      truth.shared-skill: The skill is shown as removed, and is removed, only with the last client that
          needs it.
    truth, R11
      truth.nothing-vanishes: A session that a link leads to is listed as unreadable, and doctor and its
          list say so.
    """
)
