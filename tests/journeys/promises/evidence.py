"""What the rules promise about evidence: programs that really ran."""

from __future__ import annotations

from tests.journeys.promises.promise import read_table

PROMISES = read_table(
    """
    trust, rule 20
      receipt.travels: A receipt is one in-toto statement in a DSSE envelope about a tree of files: the
          proofs of exactly these files, who approved what, and what is only stated; no server signs one.
      receipt.verified: Elsewhere and offline, a receipt is accepted only whole, byte for byte, signed by a
          key that was given or pinned, and for a commit with its files; the reason against it is named.
    trust, rule 13
      check.approved-by-a-person: Only a person's yes at a terminal or in the Console approves a check: this
          declaration, in this project, on this machine. They are told that code of the project then runs
          without asking.
      check.approved-runs-itself: A report at a step that wants a proof is proven by Handrail itself with
          the approved checks that fit into 40 seconds, once per tree and without a lock; otherwise the
          reply has the command.
    evidence, section 3
      receipt.recorded-as-it-was: A receipt tells the command, how it ended, a digest of its output and the
          step it was for.
      receipt.failing-is-a-fact: A program that fails, is out of time or cannot start is recorded, and the
          call succeeds.
      receipt.one-run: A check is for the run that is named, or the only one in progress here; else nothing
          starts.
      receipt.node-of-its-start: A receipt belongs to the step that was pending when its program began, and
          moves no tip.
      receipt.own-time: A check has its own time, holds no lock while it runs, and leaves no process when it
          is ended.
      receipt.interrupted: A signal to the call ends the program and what it started; that is recorded,
          never as a pass, and the call ends with 130.
      receipt.no-shell: A program is started word by word, without a shell, an input, or a secret of ours.
      receipt.long-output: What a program prints is passed on as it comes, many lines at once, and shown and
          kept the same however it arrives.
      receipt.nothing-ran: A runner that ran nothing has not passed, whatever its exit status is.
      receipt.report-of-this-run: Counts come from a report that this very run of the program wrote, read
          without entities.
      check.declared: A project declares checks in its settings; what is wrong with them is named.
      check.suggested: Setup suggests a first set of checks in a preview; nothing is run, nor changed where
          declared.
      check.pinned: A start pins the declared checks: what runs and counts under a name is what it was then,
          and a change of the declaration since is told.
      receipt.files-changed-meanwhile: A check proves nothing if files changed while it ran, but for the
          report that it declares.
      receipt.imported: A receipt or a person's yes that came with a bundle proves nothing in a report made
          since.
      check.first-use: The first run of a project's check on a machine warns with the command.
    evidence, section 7
      evidence.imported: The evidence of an imported session is told as what another store recorded.
      receipt.no-secret: No secret of the environment or of a known shape gets into log, answer, audit or
          terminal.
      receipt.no-escape: Nothing that a program prints can steer a terminal, and no line is without bound.
      receipt.inside-the-project: A check starts inside the project; what leads out of it is refused or not
          read.
    evidence, section 6
      receipt.never-remote: No server offers an operation that starts programs.
    evidence, section 1
    evidence, section 2
      evidence.own-project: A run is held to the files of the project that it was begun in, wherever a call
          comes from and whichever directory it names; where they are gone, everything is unknown and says
          so.
    """
)
