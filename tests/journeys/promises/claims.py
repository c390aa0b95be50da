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
      evidence.changed: A list of changed files is held against what changed in the run: a file that did not
          change is refused, and one that is left out is named once.
      evidence.change-word: Added, modified, deleted and renamed are held against both trees; a false word
          is refused with what happened.
      evidence.red-then-green: A fix names the test that guards it: where the run has receipts, one of its
          failure before and one of its success now; a client that tells only of successes stops nobody.
      evidence.arrived-shown: What came with a commit during the run and is not listed is shown by name, and
          not demanded.
    evidence, 1
      evidence.sum: A run ends with the sum of what is verified, unverified, contradicted and stale, in its
          last reply, in session show and in both reports; only the agent's word is never called verified.
      evidence.unknown: What could not be looked at is unknown: it stops nobody and is shown as no more than
          a claim.
      evidence.unlisted: A listed file that trees do not tell about (ignored, of another repository, too
          large, taken back) is unknown with the reason, and never called unchanged.
      evidence.last-files: A verification passes, and a run ends as verified, only on the files that its
          checks ran on and its list of changes names; what changed since is stale, refused once and
          disclosed.
      evidence.failing-at-the-end: No verification passes beside a declared or listed check that fails on
          the present files; a run that ends beside one says so.
      evidence.unproven-end: A verification that failed or is incomplete leads into the bounded repairs of
          every bundled workflow that is no routine, and a run that ends on one has the gap that says so.
    evidence, 3
      evidence.ran: A command counts as run by a receipt with its exit status on the present files: a
          receipt of other files is stale, another status is a contradiction, and none at all is missing.
    evidence, 2 and 7.1
      evidence.odd-but-true: An honest report is never refused for how it names a file: renamed, deleted,
          committed, quoted, absolute, through a link, with other separators or other Unicode.
    trust, 8
      evidence.no-prose: Sentences are the agent's word: no number and no quotation in one is compared with
          anything.
    trust, 19
      evidence.worth: Claims are counted by what they are worth, each once, and only what ran, was seen to
          change or was confirmed by a person is shown as proof; the end of a run names what rests on the
          agent's word.
    trust, 16
      evidence.unseen-leaving: What left git's list since the start has changed, and is named; so are
          changed ignore rules, and files that git does not track and a program loads by itself.
    trust, 14
      evidence.stale-once: A receipt of other files, or of nothing that ran, refuses a report once; then it
          is a gap. What a report leaves out and what declared checks write as reports make nothing stale.
    trust, 10
      evidence.nothing-ran: A check that ran no test has neither passed nor failed, and the reply says so.
    trust, 9
      evidence.whose-status: A line of several programs has no status of its own unless the project declares
          it, at every door; no suggestion names one, and a command behind cd is that command in that
          folder.
    trust, 11
      evidence.red-is-the-change: Red then green names what differs between both trees. It does not hold
          where only tests differ, tests are gone, or no test had failed; the fact says which.
    trust, 12
      evidence.doors: On the same files the word of the stronger door stands, opposite results are told, and
          a claim says through which door it is known.
    trust, 15
      evidence.first-look: A start has looked at the files before it is answered, a fresh clone of 10 000
          files too. Where it has not, the reply, each claim that needs it and the closing line say so.
    trust, 17
      evidence.quoted-code: A quotation of code may differ in white space and in no operator; prose may
          differ in its marks.
    trust, 21
      evidence.no-oracle: No look enters the home, the folder of git or a file of credentials, whatever
          project a call names; a right guess and a wrong one about a private file get the same answer.
    evidence, 7.2
      evidence.cost: Evidence adds at most 25 tokens to a step of an honest agent.
    evidence, 7.1
      evidence.cast: No lie of a dishonest agent ends as verified in any bundled workflow and mode: each is
          named by the reply that refuses it or by the gap that discloses it; the honest agent is never
          refused.
    """
)
