"""What the rules promise of what a report is worth (evidence, sections 1 and 2)."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    evidence, 2
      evidence.contradicted: What the working tree contradicts does not pass: the reply names the place, the
          fact and the call.
      evidence.not-example: The printed example is not a report, as a whole or as an entry of a list.
      evidence.replay: A repeated call gets the recorded reply although the files have changed; a dry run
          stores nothing.
    evidence, 1
      evidence.unknown: What could not be looked at is unknown: it stops nobody and is shown as no more than
          a claim.
    evidence, 3
    evidence, 2 and 7.1
      evidence.odd-but-true: An honest report is never refused for how it names a file: renamed, deleted,
          committed, quoted, absolute, through a link, with other separators or other Unicode.
    trust, 10
      evidence.nothing-ran: A check that ran no test has neither passed nor failed, and the reply says so.
    trust, 15
      evidence.first-look: A start has looked at the files before it is answered, a fresh clone of 10 000
          files too. Where it has not, the reply, each claim that needs it and the closing line say so.
    trust, 21
      evidence.no-oracle: No look enters the home, the folder of git or a file of credentials, whatever
          project a call names; a right guess and a wrong one about a private file get the same answer.
    """
)
